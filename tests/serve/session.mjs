// A whole session with caucus serve in Chromium: from dropping a file to the downloaded report, numbers on the page held to the model file.
//   node session.mjs PATH-TO-CAUCUS-SERVE SOURCE-DIR [SCREENSHOTS-DIR]        exit 77 where there is no Chromium
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, ended, expect, fitOf, jobFile, labelled, modelOf, narrow, open, picture, room, run, serve, server, source, until } from "./browser.mjs";

async function session() {
  const { context, tab } = await open();
  expect(!(await tab.evaluate(() => location.href)).includes("#"), "the token stays in the address");
  await picture(tab, "home");
  await accessible(tab, "home");
  await narrow(tab, "home");

  // A file that cannot be read: the problems come with their lines.
  writeFileSync(join(room, "bad.soi"), "# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n3: 1,2\n2: 7,1\nfoo\n");
  await tab.setInputFiles("#file", join(room, "bad.soi"));
  await tab.waitForSelector(".serve-problems li");
  const lines = await tab.$$eval(".serve-problems li b", (all) => all.map((one) => one.textContent));
  expect(lines.join() === "Line 5, character 4: ,Line 6, character 1: ", `problems at ${lines}`);

  // A file that can: what was understood, its first ballots, corrections.
  await tab.click(".serve-brand");
  await tab.setInputFiles("#file", join(source, "examples/town.soi"));
  await tab.waitForSelector(".serve-ballots li");
  const chips = () => tab.$$eval(".serve-facts .chips li", (all) => all.map((one) => one.textContent));
  expect((await chips()).includes("2,400 ballots") && (await chips()).includes("8 items"), `understood: ${await chips()}`);
  expect((await tab.textContent(".serve-ballots li")) === "72 × Market hall", "the first ballot as read");
  await picture(tab, "file");
  await tab.click("#items-more summary");
  await tab.fill('[aria-label="Another name for Skate park"]', "Cinema");
  await tab.keyboard.press("Tab");
  await until(tab, () => document.querySelector(".serve-facts .chips")?.textContent.includes("7 items"));
  await tab.check('[aria-label="Leave out Car park"]');
  await until(tab, () => document.querySelector(".serve-facts .chips")?.textContent.includes("6 items"));
  const command = await tab.textContent(".serve-facts .command");
  expect(command === "caucus info town.soi '--exclude=Car park' '--merge=Skate park=Cinema'", `command: ${command}`);
  await accessible(tab, "file");
  await narrow(tab, "file");
  await picture(tab, "file-corrected");
  await tab.uncheck('[aria-label="Leave out Car park"]');
  await tab.fill('[aria-label="Another name for Skate park"]', "");
  await tab.keyboard.press("Tab");
  await until(tab, () => document.querySelector(".serve-facts .chips")?.textContent.includes("8 items"));
  const file = await tab.evaluate(() => location.search);

  // Fits of one to three groups, in the queue; the last is shown when it is done.
  await tab.selectOption(await labelled(tab, "Groups"), "several");
  await tab.fill(await labelled(tab, "How many"), "3");
  await tab.click("text=Find groups");
  await ended(tab);
  const id = await fitOf(tab), model = modelOf(id);
  expect(model.components.length === 3, "three groups were asked for");
  const sizes = await tab.$$eval("#sizes [data-value]", (all) => all.map((one) => Number(one.getAttribute("data-value"))));
  expect(sizes.length === 3 && sizes.every((v, k) => Math.abs(v - model.components[k].weight) < 1e-6), `sizes ${sizes}, the model says ${model.components.map((one) => one.weight)}`);
  const utilities = await tab.$$eval("#utilities [data-value]", (all) => all.map((one) => [one.getAttribute("data-group"), one.getAttribute("data-item"), Number(one.getAttribute("data-value"))]));
  // Reports round to five digits.
  expect(utilities.length > 0 && utilities.every(([g, i, v]) => Math.abs(v - model.components[Number(g) - 1].utilities[Number(i)]) < 1e-4), "utilities on the page are not the model's");
  await picture(tab, "result");
  await picture(tab, "result-top", false);
  await accessible(tab, "result");
  await narrow(tab, "result");

  // The pointer on the map tells of a ballot: its group, and what it ranks first.
  await tab.locator("#map canvas").scrollIntoViewIfNeeded();
  const box = await tab.locator("#map canvas").boundingBox();
  let told = "";
  for (let i = 0; i < 60 && !told; ++i) {
    await tab.mouse.move(box.x + box.width * (0.3 + 0.4 * (i / 60)), box.y + box.height * 0.5);
    told = (await tab.$(".tooltip:not([hidden])")) ? await tab.textContent(".tooltip") : "";
  }
  expect(/Group [123], .*% sure/.test(told) && model.items.some((item) => told.includes(`1.${item}`)), `the pointer on the map tells: ${told}`);

  // A click on a group filters the map.
  const drawnBefore = await tab.$eval("#map canvas", (canvas) => canvas.toDataURL());
  await tab.click(".group-chips .chip");
  await tab.waitForTimeout(200);
  expect((await tab.$eval("#map canvas", (canvas) => canvas.toDataURL())) !== drawnBefore, "a click on a group leaves the map as it was");
  await tab.click(".group-chips .chip");

  // A ballot, picked and typed.
  await tab.click("#tool-ballot summary");
  await tab.selectOption("#tool-ballot select", { label: "Market hall" });
  await tab.waitForSelector("#ballot-answer");
  await tab.selectOption("#tool-ballot select", { label: "Car park" });
  await until(tab, () => document.querySelectorAll(".serve-picked li").length === 2);
  await tab.fill("#tool-ballot input", "park > library");
  await tab.keyboard.press("Enter");
  await tab.waitForTimeout(1500);
  const shares = await tab.$$eval(".serve-bars li", (all) => all.map((one) => Number(one.getAttribute("data-value"))));
  expect(Math.abs(shares.reduce((a, b) => a + b, 0) - 1) < 1e-9, `memberships of a ballot add up to ${shares}`);

  // One candidate left out: the same count from the report's own table.
  await tab.click("#tool-without summary");
  await tab.selectOption("#tool-without select", { label: "Market hall" });
  await tab.waitForSelector("#tool-without tbody tr");
  const report = JSON.parse(readFileSync(join(room, "project/jobs", id, "report.json"), "utf8")).models[0];
  const item = report.items.indexOf("Market hall");
  const then = await tab.$$eval("#tool-without tbody tr", (all) => all.map((one) => [Number(one.getAttribute("data-leader")), Number(one.querySelector("[data-value]").getAttribute("data-value"))]));
  then.forEach(([leader, share], k) => {
    const group = report.counted.groups[k], total = group.first.reduce((a, b) => a + b, 0);
    expect(leader !== item && Math.abs(share - (group.first[leader] + report.counted.second.groups[k][item][leader]) / total) < 1e-9, `without Market hall, group ${k + 1}: ${leader} ${share}`);
  });
  await picture(tab, "tools");
  await tab.setViewportSize({ width: 1280, height: 1180 });
  await picture(tab, "readme", false);
  await tab.setViewportSize({ width: 1280, height: 900 });

  // Names go into the model, the page and the report.
  await tab.click("#tool-names summary");
  await tab.fill("#tool-names input >> nth=0", '<img src=x onerror=alert(1)> "Shopkeepers"');
  await tab.click("text=Save names");
  await until(tab, () => document.querySelector(".card")?.textContent.includes('"Shopkeepers"'));
  expect(modelOf(id).group_names[0] === '<img src=x onerror=alert(1)> "Shopkeepers"', "the name is not in the model");
  expect((await tab.$$("img")).length === 0, "a name became an image");

  // K over the fits already made, and two side by side.
  await tab.focus("#k-slider input");
  await tab.keyboard.press("ArrowLeft");
  await until(tab, (before) => new URLSearchParams(location.search).get("fit") !== before, id);
  await until(tab, () => document.querySelectorAll("#words .card").length === 2);
  const two = await fitOf(tab);
  expect(modelOf(two).components.length === 2, "one step down is two groups");
  await tab.selectOption("#compare-with select", { index: 1 });
  await tab.waitForSelector("#changes");
  expect((await tab.$$("#models tbody tr")).length === 2, "two models side by side");
  await picture(tab, "side-by-side");

  // Leaving with model, memberships and report.
  await tab.goto(`${server.base}?fit=${id}`);
  await ended(tab);
  const take = async (label) => {
    const [file] = await Promise.all([tab.waitForEvent("download"), tab.click(`.serve-downloads >> text=${label}`)]);
    const path = join(room, file.suggestedFilename());
    await file.saveAs(path);
    return { name: file.suggestedFilename(), text: readFileSync(path, "utf8") };
  };
  const taken = await take("Model");
  expect(taken.name === "town-model.json" && JSON.parse(taken.text).fit.loglik === model.fit.loglik, "the model downloaded is another");
  const members = (await take("Memberships")).text.trim().split("\n");
  expect(members.length === 1550 && members[0] === "row,weight,label,group_name,p1,p2,p3" && members.some((line) => line.includes('""Shopkeepers""')), `memberships: ${members[0]}, ${members.length} lines`);
  const page = await take("Report");
  expect(page.name === "town-report.html" && page.text.includes("Shopkeepers") && page.text.startsWith("<!doctype html>"), "the report downloaded");

  // Two browsers at once: what one starts the other sees.
  const other = await open({ colorScheme: "dark", viewport: { width: 390, height: 844 } });
  await other.tab.waitForSelector(".serve-file");
  await picture(other.tab, "phone-dark");

  // A long fit, cancelled; its best so far is kept.
  await tab.goto(server.base + file);
  await tab.waitForSelector(".serve-ballots li");
  await tab.selectOption(await labelled(tab, "Model"), "dpm");
  await tab.click("text=More settings");
  await tab.fill(await labelled(tab, "sweeps"), "100000000");
  await tab.keyboard.press("Tab");
  await tab.click("text=Find groups");
  await until(tab, () => /step [1-9]/.test(document.querySelector("#progress-words")?.textContent ?? ""));
  await tab.waitForSelector(".serve-spark");
  await picture(tab, "progress");
  await accessible(tab, "progress");
  await other.tab.waitForSelector(".serve-state.running");
  await tab.click("#cancel");
  await tab.waitForSelector('.serve-ended[data-state="cancelled"]');
  await other.tab.waitForSelector(".serve-state.cancelled");

  // Killed and started again: files and fits are there, the one under way is interrupted, can be run again, and goes on from its state.
  await tab.waitForSelector("#again");
  await tab.click("#again");
  await tab.waitForSelector("#cancel");
  const step = () => tab.evaluate(() => Number((document.querySelector("#progress-words")?.textContent ?? "").match(/step ([0-9,]+)/)?.[1].replaceAll(",", "") ?? 0));
  const cut = await fitOf(tab);
  while (!existsSync(jobFile(cut, "checkpoint"))) await new Promise((wait) => setTimeout(wait, 100));
  await until(tab, () => /step [0-9,]{3,}/.test(document.querySelector("#progress-words")?.textContent ?? ""));
  const reached = await step();
  server.child.removeAllListeners("exit");
  server.child.kill("SIGKILL");
  await tab.waitForSelector(".serve-light.off");
  await new Promise((wait) => setTimeout(wait, 1500));
  await serve(server.port);
  await tab.waitForSelector(".serve-light.refused");
  await tab.goto(`about:blank`);
  await tab.goto(`${server.base}?fit=${cut}#${server.token}`);
  await tab.waitForSelector('.serve-ended[data-state="interrupted"]');
  await picture(tab, "interrupted");
  await accessible(tab, "interrupted", ".serve-ended");
  await tab.click("#resume");
  await tab.waitForSelector("#cancel");
  await until(tab, () => /step [1-9]/.test(document.querySelector("#progress-words")?.textContent ?? ""));
  expect((await step()) >= reached, `went on at step ${await step()}, was cut at ${reached}`);
  await tab.click("#cancel");
  await tab.waitForSelector('.serve-ended[data-state="cancelled"]');
  await context.close();
  await other.context.close();

  // Names that would do harm if a browser read them as markup.
  const evil = await open();
  const names = ["<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", 'Library & "Park"', "javascript:alert(1)"];
  writeFileSync(join(room, "<img src=x onerror=alert(2)>.soi"), `# NUMBER ALTERNATIVES: 5\n${names.map((name, i) => `# ALTERNATIVE NAME ${i + 1}: ${name}\n`).join("")}120: 1,2,3,4,5\n60: 2,1,3\n40: 5,4,3,2,1\n70: 5,4,3\n30: 4,5\n10: 3,1,5\n`);
  await evil.tab.setInputFiles("#file", join(room, "<img src=x onerror=alert(2)>.soi"));
  await evil.tab.waitForSelector(".serve-ballots li");
  for (const name of names) expect((await evil.tab.textContent("body")).includes(name), `the name ${name} is not shown as it stands`);
  await evil.tab.selectOption(await labelled(evil.tab, "Groups"), "one");
  await evil.tab.click("text=Find groups");
  await ended(evil.tab);
  await evil.tab.click("#tool-ballot summary").catch(() => undefined);
  await evil.tab.selectOption("#tool-ballot select", { label: names[2] });
  await evil.tab.waitForSelector("#ballot-answer");
  const injected = await evil.tab.evaluate(() => [document.scripts.length, document.images.length, document.querySelectorAll("[onerror],[onload],[onclick]").length]);
  expect(injected.join() === "1,0,0", `markup from names: ${injected}`);
  await evil.context.close();
}

await run(session, "a whole session, and nothing to complain of");

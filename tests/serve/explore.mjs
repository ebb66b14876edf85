// What a session does not come by: select, compare and voters from the page, explained groups, two fits side by side, the keyboard alone, and sizes at which
// pages become slow. Numbers on the page are held to files that the command line wrote.
//   node explore.mjs PATH-TO-CAUCUS-SERVE SOURCE-DIR [SCREENSHOTS-DIR]        exit 77 where there is no Chromium
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { accessible, ended, expect, fitOf, jobFile, labelled, modelOf, narrow, open, picture, pictureSet, program, room, run, server, source, until } from "./browser.mjs";

const caucus = (...words) => execFileSync(join(dirname(program), "caucus"), words, { cwd: room, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
const near = (a, b, most = 1e-9) => Math.abs(a - b) <= most * Math.max(1, Math.abs(b));
const texts = (tab, selector) => tab.$$eval(selector, (all) => all.map((one) => one.textContent));
// Numbers that stay the same from run to run.
function random(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

// A file as a person brings it: dropped on the page.
async function drop(tab, name, content) {
  await tab.goto(`${server.base}`);
  await tab.waitForSelector(".serve-drop");
  const data = await tab.evaluateHandle(([title, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], title));
    return transfer;
  }, [name, content]);
  await tab.dispatchEvent(".serve-drop", "dragover", { dataTransfer: data });
  await tab.dispatchEvent(".serve-drop", "drop", { dataTransfer: data });
  await tab.waitForSelector(".serve-ballots li, .serve-problems li");
}
const chips = (tab) => texts(tab, ".serve-facts .chips li");

// Judges with several battles each, of two tastes; what is known of them stands beside.
function battles() {
  const draw = random(7), items = ["Bread", "Cake", "Milk", "Tea"], lines = ["model_a,model_b,winner,judge,language"];
  for (let judge = 0; judge < 60; ++judge)
    for (let n = 0; n < 12; ++n) {
      const a = Math.floor(4 * draw()), b = (a + 1 + Math.floor(3 * draw())) % 4, better = judge % 2 ? a < b : a > b;
      lines.push(`${items[a]},${items[b]},${better === draw() < 0.9 ? "model_a" : "model_b"},judge ${judge},${(judge % 2) === (draw() < 0.9 ? 1 : 0) ? "de" : "en"}`);
    }
  return lines.join("\n") + "\n";
}
// Answers of two tastes that go with age.
function survey() {
  const draw = random(11), items = ["Bread", "Cake", "Milk", "Tea"], lines = ["age,home region,First choice,Second choice,Third choice"];
  for (let n = 0; n < 300; ++n) {
    const young = draw() < 0.5, order = young === draw() < 0.9 ? [...items] : [...items].reverse();
    if (draw() < 0.3) [order[0], order[1]] = [order[1], order[0]];
    lines.push(`${Math.round((young ? 18 : 50) + 25 * draw())},${draw() < 0.5 ? "north" : "south"},${order.slice(0, 3).join()}`);
  }
  return lines.join("\n") + "\n";
}

async function chosen(tab) {
  // As many groups as the ballots show: the choice and its table are those of the command line.
  await drop(tab, "town.soi", readFileSync(join(source, "examples/town.soi"), "utf8"));
  const file = await tab.evaluate(() => location.search);
  await tab.click("#start");
  await ended(tab);
  const selected = await fitOf(tab), model = modelOf(selected);
  expect((await tab.textContent(".kicker")) === `pl, ${model.components.length} groups`, "the choice is not in the heading");
  caucus("select", join(source, "examples/town.soi"), "--family", "pl", "-k", "auto", "--out", "select.json", "-q");
  const same = JSON.parse(readFileSync(join(room, "select.json"), "utf8"));
  expect(model.selection.chosen_k === same.selection.chosen_k && model.fit.loglik === same.fit.loglik, "select from the page and from the command line differ");
  const shown = await tab.$$eval("#selection [data-k]", (all) => all.map((one) => [Number(one.getAttribute("data-k")), Number(one.getAttribute("data-value"))]));
  const rows = new Map(same.selection.table.map((row) => [row.k, row]));
  expect(shown.length === rows.size && shown.every(([k, value]) => near(value, rows.get(k).heldout_mean, 1e-5)), `the table of the choice: ${JSON.stringify(shown)}`);
  await pictureSet(tab, "select");

  // Let unseen ballots choose among families, then fit the best.
  await tab.goto(server.base + file);
  await tab.waitForSelector(".serve-ballots li");
  await tab.selectOption(await labelled(tab, "Model"), "?");
  await tab.check('#compare-families input[value="pl"]');
  await tab.check('#compare-families input[value="mallows"]');
  await tab.selectOption(await labelled(tab, "Groups"), "several");
  await tab.fill(await labelled(tab, "How many"), "2");
  await picture(tab, "compare-form");
  await accessible(tab, "what to compare");
  await tab.click("#start");
  await ended(tab);
  const comparison = await fitOf(tab), table = JSON.parse(readFileSync(jobFile(comparison, "compare.json"), "utf8")).table;
  const compared = await tab.$$eval("#comparison [data-value]", (all) => all.map((one) => [one.getAttribute("data-name"), Number(one.getAttribute("data-value"))]));
  expect(compared.length === 2 && compared.every(([name, value], i) => name === table[i].label && near(value, -table[i].behind_best, 1e-5)), `the comparison shows ${compared}`);
  await accessible(tab, "comparison");
  await narrow(tab, "comparison");
  await pictureSet(tab, "comparison");
  await tab.click("#fit-one button.primary");
  await until(tab, (before) => !location.search.includes(before) && document.querySelector("#words .card"), comparison);
  const best = modelOf(await fitOf(tab));
  expect(best.family === table[0].family && best.components.length === Math.round(table[0].groups), `fitted after the comparison: ${best.family}, ${best.components.length} groups`);

  // Two fits side by side: bands between their groups hold all ballots, and the bars are as large as the groups.
  await tab.goto(`${server.base}?fit=${selected}`);
  await ended(tab);
  await tab.selectOption("#compare-with select", { label: `${best.family}, ${best.components.length} groups` });
  await tab.waitForSelector("#changes .flow");
  const bands = await tab.$$eval("#changes .flow", (all) => all.map((one) => [Number(one.dataset.from), Number(one.dataset.to), Number(one.dataset.value)]));
  const labels = [selected, await tab.evaluate(() => new URLSearchParams(location.search).get("with"))].map((id) =>
    caucus("assign", jobFile(id), join(source, "examples/town.soi"), "--out", "-").trim().split("\n").slice(1).map((line) => line.split(",")).map((cells) => [Number(cells[1]), Number(cells[2]) - 1]));
  for (const [from, to, value] of bands) {
    const counted = labels[0].reduce((sum, [weight, label], i) => sum + (label === from && labels[1][i][1] === to ? weight : 0), 0);
    expect(near(value, counted, 1e-6), `ballots in group ${from + 1} and in group ${to + 1}: ${value} on the page, ${counted} by the memberships`);
  }
  expect(bands.length >= model.components.length, "bands between the groups");
  await accessible(tab, "side by side");
  await narrow(tab, "side by side");
  await pictureSet(tab, "side-by-side");
}

async function voters(tab) {
  // Which column is the voter: battles of one judge belong together.
  await drop(tab, "battles.csv", battles());
  await tab.click("#reading-more summary");
  const box = await labelled(tab, "Voter's column");
  expect((await texts(tab, `${box} option`)).join() === "none: each row is a ballot of its own,judge,language", "the columns offered for the voter");
  await tab.selectOption(box, "judge");
  await until(tab, () => document.querySelector(".serve-facts .chips")?.textContent.includes("60 voters"));
  await picture(tab, "voters");
  await accessible(tab, "voters");
  await tab.selectOption(await labelled(tab, "Groups"), "one");
  await tab.fill(await labelled(tab, "How many"), "2");
  await tab.click("#start");
  await ended(tab);
  const id = await fitOf(tab);
  writeFileSync(join(room, "battles.csv"), battles());
  caucus("fit", "battles.csv", "--voter", "judge", "-k", "2", "--out", "judges.json", "-q");
  expect(modelOf(id).fit.loglik === JSON.parse(readFileSync(join(room, "judges.json"), "utf8")).fit.loglik, "a fit by voter from the page and from the command line differ");
  const [members] = await Promise.all([tab.waitForEvent("download"), tab.click(".serve-downloads >> text=Memberships")]);
  await members.saveAs(join(room, "members.csv"));
  expect(readFileSync(join(room, "members.csv"), "utf8").trim().split("\n").length === 61, "one line of memberships for each of 60 judges");
  await pictureSet(tab, "battles");
  // Corrections outlive a look at the fit.
  await tab.click(".serve-trail a");
  await until(tab, () => document.querySelector(".serve-facts .chips")?.textContent.includes("60 voters"));

  // What puts a voter into a group, where the file says something of them.
  await drop(tab, "survey.csv", survey());
  expect((await chips(tab)).includes("300 ballots"), `the survey: ${await chips(tab)}`);
  await tab.check('#explain input[value="age"]');
  await tab.check('#explain input[value="home region"]');
  expect((await tab.inputValue("#explain input[type=text]")) === "age + `home region`", "the formula of the columns ticked");
  await accessible(tab, "what may explain groups");
  await picture(tab, "explain");
  await tab.selectOption(await labelled(tab, "Groups"), "one");
  await tab.fill(await labelled(tab, "How many"), "2");
  await tab.click("#start");
  await ended(tab);
  const explained = modelOf(await fitOf(tab));
  writeFileSync(join(room, "survey.csv"), survey());
  caucus("fit", "survey.csv", "-k", "2", "--membership", "age + `home region`", "--out", "explained.json", "-q");
  const alone = JSON.parse(readFileSync(join(room, "explained.json"), "utf8"));
  expect(explained.membership?.formula === alone.membership.formula && explained.fit.loglik === alone.fit.loglik, `explained groups: ${explained.membership?.formula}, ${explained.fit.loglik} from the page; ${alone.membership.formula}, ${alone.fit.loglik} from the command line`);
  await pictureSet(tab, "explained");
  // A formula that means nothing is answered with words.
  await tab.click(".serve-trail a");
  await tab.waitForSelector("#explain");
  await tab.fill("#explain input[type=text]", "shoesize +");
  await tab.click("#start");
  await tab.waitForSelector('.serve-ended[data-state="failed"]');
  await picture(tab, "failed");
}

// No pointer: from the file to a named group with keys alone.
async function keyboard(tab) {
  await tab.goto(server.base);
  await tab.waitForSelector(".serve-file");
  const focused = () => tab.evaluate(() => { const one = document.activeElement; return `${one.tagName} ${one.id} ${one.textContent.slice(0, 40)} ${one.getAttribute("aria-label") ?? ""}`; });
  // Every step must be seen: an outline, or that of the box around it.
  const seen = () => tab.evaluate(() => { const one = document.activeElement, of = (e) => getComputedStyle(e).outlineStyle !== "none"; return one === document.body || of(one) || [...document.querySelectorAll(":focus-within")].some(of); });
  const to = async (what, back = false) => {
    for (let n = 0; n < 400; ++n) {
      await tab.keyboard.press(back ? "Shift+Tab" : "Tab");
      if (!(await seen())) problemsOnce(`the focus cannot be seen on ${await focused()}`);
      if (await tab.evaluate((selector) => document.activeElement?.matches(selector), what)) return;
    }
    throw new Error(`Tab does not come to ${what}`);
  };
  await to("#file");
  await to('a[href*="?file="]');
  await tab.keyboard.press("Enter");
  await tab.waitForSelector(".serve-ballots li");
  await to(await labelled(tab, "Groups"));
  await tab.keyboard.press("ArrowDown"); // so many:
  await to(await labelled(tab, "How many"));
  await tab.keyboard.press("ControlOrMeta+a");
  await tab.keyboard.type("2");
  await to("#start");
  await tab.keyboard.press("Enter");
  await ended(tab);
  await to("#tool-names summary");
  await tab.keyboard.press("Enter");
  await to("#tool-names input");
  await tab.keyboard.type("By keys");
  await to("#tool-names button");
  await tab.keyboard.press("Space");
  await until(tab, () => document.querySelector(".card")?.textContent.includes("By keys"));
  await to(".group-chips .chip");
  await tab.keyboard.press("Space");
  await until(tab, () => document.querySelector('.group-chips .chip[aria-pressed="true"]'));
  await to("#sizes svg");
  await tab.keyboard.press("ArrowRight");
  await tab.waitForSelector(".tooltip:not([hidden])");
  const told = await tab.textContent(".tooltip"), share = modelOf(await fitOf(tab)).components[0].weight;
  expect(told.includes("By keys") && told.includes(`${Math.round(100 * share)}%`), `the numbers told for a key: ${told}`);
  await tab.keyboard.press("Escape");
  await to("#map canvas");
  await tab.keyboard.press("ArrowRight");
  await tab.waitForSelector(".tooltip:not([hidden])");
}
const said = new Set();
const problemsOnce = (text) => { if (!said.has(text)) said.add(text), expect(false, text); };

// 500 items, 100 groups, 100,000 ballots: the page's own processor time, so that a busy machine changes nothing.
async function large(tab, context) {
  caucus("generate", "--items", "500", "-k", "100", "--seed", "3", "--out", "truth.json", "-q");
  caucus("sample", "truth.json", "-n", "100000", "--length", "6", "--seed", "4", "--out", "large.soi", "-q");
  await tab.goto(server.base);
  await tab.setInputFiles("#file", join(room, "large.soi"));
  await tab.waitForSelector(".serve-ballots li");
  expect((await chips(tab)).includes("100,000 ballots") && (await chips(tab)).includes("500 items"), `a large file: ${await chips(tab)}`);
  await tab.click("#items-more summary");
  await tab.fill(await labelled(tab, "Find item"), "499");
  await until(tab, () => document.querySelectorAll(".serve-items tbody tr").length === 1);
  await tab.selectOption(await labelled(tab, "Groups"), "one");
  await tab.fill(await labelled(tab, "How many"), "100");
  await tab.click("text=More settings");
  // Some steps are enough: the page is tried here, not the fit.
  await tab.selectOption(await labelled(tab, "init"), "random");
  await tab.selectOption(await labelled(tab, "standard-errors"), "off");
  for (const one of ["restarts", "iterations"]) await tab.fill(await labelled(tab, one), "3");
  await tab.click("#start");
  const session = await context.newCDPSession(tab);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  const measured = async (what, most, act) => {
    const before = await busy();
    const share = (await act()) ?? 1;
    const seconds = ((await busy()) - before) / share;
    console.log(`${what}: ${(1000 * seconds).toFixed(1)} ms`);
    expect(seconds <= most, `${what}: ${(1000 * seconds).toFixed(1)} ms, more than ${1000 * most}`);
  };
  const frames = () => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));
  await measured("from the end of the fit to 500 items, 100 groups and 100,000 ballots on the page", 4, async () => void (await ended(tab)));
  const points = Number(await tab.getAttribute("#map canvas", "data-points"));
  expect(points >= 90000, `only ${points} different ballots on the map`);
  expect(modelOf(await fitOf(tab)).components.length === 100, "100 groups");
  const map = await tab.locator("#map canvas");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  let hovered = 0;
  await measured("the pointer moves on the map", 1 / 60, async () => {
    for (let i = 0; i < 60; ++i) {
      await tab.mouse.move(box.x + box.width * (0.3 + 0.4 * (i / 60)), box.y + box.height * (0.4 + 0.2 * ((i * 7) % 60) / 60));
      hovered += (await tab.$(".tooltip:not([hidden])")) ? 1 : 0;
    }
    return 60;
  });
  expect(hovered > 3, `hover on the map told of ${hovered} places of 60`);
  await measured("a click on a group", 0.5, async () => { await tab.click(".group-chips .chip"); await frames(); });
  expect((await tab.$$("#sizes [data-value]")).length === 1, "a chosen group is shown alone");
  await measured("a letter in the search", 0.5, async () => { await tab.fill("#find", "4"); await frames(); });
  await measured("another order of the items", 0.5, async () => { await tab.selectOption(".toolbar-controls select >> nth=-1", "name"); await frames(); });
  await tab.fill("#find", "");
  await tab.click('.group-chips [data-key="all"]');
  await accessible(tab, "large");
  await narrow(tab, "large");
  await pictureSet(tab, "large");
}

async function odd(tab) {
  // A file that is none, an empty one, a name longer than any screen, several files at once.
  await drop(tab, "nothing.csv", "");
  await accessible(tab, "an empty file");
  await drop(tab, "picture.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
  expect((await texts(tab, ".serve-problems li")).length > 0, "a picture is taken for ballots");
  const long = "Long".repeat(60);
  await drop(tab, `${"very-".repeat(40)}long.csv`, `voter,1,2\na,${long},B\nb,B,${long}\nc,${long},B\nd,B,${long}\n`);
  await narrow(tab, "long names");
  await pictureSet(tab, "long-names");
  await tab.goto(server.base);
  await tab.setInputFiles("#file", [join(source, "examples/town.soi"), join(source, "README.md")]);
  await until(tab, () => document.querySelectorAll(".serve-file").length >= 7);
  await narrow(tab, "many files");
  await pictureSet(tab, "home");
}

await run(async () => {
  const { context, tab } = await open();
  for (const part of [chosen, voters, keyboard, odd, large]) {
    const before = Date.now();
    await part(tab, context);
    console.log(`${part.name}: ${((Date.now() - before) / 1000).toFixed(0)} s`);
  }
  await context.close();
}, "nothing to complain of");

// Opens report pages from disk in Chromium and holds them to what they promise.
//   node tools/browser.mjs PAGE.html...
// For each page: no error, no request but the file itself, every view drawn, numbers in the drawing equal to the data, names shown as text, hover,
// keyboard, search, filter, downloads, 390 px, dark, print, and axe-core's accessibility rules. Exit code 1 where something fails.
// Bars on time are on the page's own processor time, so that a busy machine changes nothing: a page is drawn within a second, the pointer
// moves on the map at 60 frames a second, and a click on a group redraws all views within half a second.
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pages = process.argv.slice(2);
if (pages.length === 0) throw new Error("usage: node tools/browser.mjs PAGE.html...");
const MAX_BYTES = 2e6, MAX_OPEN = 1.0, MAX_HOVER = 1 / 60, MAX_FILTER = 0.5;
let failures = 0;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

async function open(path, options, problems) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const tab = await context.newPage();
  const session = await context.newCDPSession(tab);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  const before = await busy();
  tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(`console: ${message.text()}`); });
  tab.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  tab.on("dialog", (dialog) => { problems.push(`a dialog opened: ${dialog.message()}`); dialog.dismiss(); });
  tab.on("request", (request) => { if (!request.url().startsWith("file:") && !request.url().startsWith("blob:")) problems.push(`request: ${request.url()}`); });
  await tab.goto(pathToFileURL(resolve(path)).href);
  await tab.waitForSelector("main section");
  await twoFrames(tab);
  return { context, tab, busy, seconds: (await busy()) - before };
}

// Drawn, and drawn again where the window changed.
const twoFrames = (tab) => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))));

// Everything read back from the page is compared with the data inside it.
async function checkNumbers(tab, data, problems) {
  const seen = await tab.evaluate(() => {
    const read = (selector, names) => Array.from(document.querySelectorAll(selector), (e) => Object.fromEntries(names.map((n) => [n, e.getAttribute(`data-${n}`)])));
    return {
      views: Array.from(document.querySelectorAll(".view"), (v) => ({ id: v.id, drawn: v.querySelector(".figure")?.childElementCount > 0, box: v.querySelector(".figure > *")?.getBoundingClientRect().height ?? 0 })),
      sizes: read("#sizes [data-value]", ["group", "value"]), utilities: read("#utilities [data-value]", ["group", "item", "value"]), first: read("#first-places [data-value]", ["group", "item", "value"]),
      places: read("#consensus [data-place]", ["group", "place"]), bumpItems: Array.from(document.querySelectorAll("#consensus .bump"), (e) => [Number(e.getAttribute("data-item")), Array.from(e.querySelectorAll("[data-place]"), (d) => [d.getAttribute("data-group"), Number(d.getAttribute("data-place"))])]),
      pairs: read("#head-to-head [data-value]", ["item", "other", "value"]), members: read("#memberships [data-value]", ["group", "level", "value"]), points: document.querySelector("#map canvas")?.getAttribute("data-points"),
      coefficients: read("#coefficients [data-value]", ["class", "feature", "value"]), auc: read("#roc [data-value]", ["class", "value"]), selection: read("#selection [data-k]", ["k", "value"]), compare: read("#comparison [data-value]", ["name", "value"]),
      clusters: read("#cluster-count [data-k]", ["k", "value"]), theta: read("#theta [data-value]", ["group", "place", "value"]), dispersion: read("#dispersion [data-value]", ["group", "value"]), goodness: read("#goodness [data-observed]", ["observed", "expected"]),
      cards: Array.from(document.querySelectorAll(".card"), (c) => c.textContent), title: document.querySelector("h1").textContent,
    };
  });
  const model = data.models[0];
  const near = (text, value, what) => { if (value === undefined || value === null || Math.abs(Number(text) - value) > 1e-9 + 1e-6 * Math.abs(value)) problems.push(`${what}: shows ${text}, the data say ${value}`); };
  for (const view of seen.views) if (!view.drawn || view.box < 10) problems.push(`view ${view.id} is not drawn`);
  if (seen.title !== data.title) problems.push("the title is not the data's");
  const expected = [];
  if (model) {
    const k = model.groups.length;
    if (k > 1) expected.push("sizes");
    if (k > 0 && model.items.length > 1 && !(model.leaderboard && k === 1)) expected.push("consensus");
    if (model.groups.some((g) => g.utilities || g.mean_place)) expected.push("utilities");
    if (model.groups.some((g) => g.first_place) && !model.counted?.battles) expected.push("first-places");
    if (model.pairs || model.counted?.pair_items) expected.push("head-to-head");
    if (model.election) expected.push("winners");
    if (model.election?.stages.length > 1) expected.push("stages");
    if (model.counted?.second) expected.push("second-choices");
    if (model.leaderboard) expected.push("leaderboard");
    if (model.composition) expected.push("composition");
    if (model.memberships && k > 1) expected.push("memberships");
    if (model.map) expected.push("map");
    if (model.goodness) expected.push("goodness");
    if (model.diagnostics.length) expected.push("diagnostics");
    if (model.traces.length) expected.push("traces");
    if (model.clusters) expected.push("cluster-count");
    if (model.clusters?.coclustering) expected.push("coclustering");
    if (model.groups.some((g) => Array.isArray(g.theta) && g.theta.length > 1)) expected.push("theta");
    if (model.regression) expected.push("coefficients");
    if (model.regression?.roc) expected.push("roc", "calibration");
    if (model.regression?.path) expected.push("path");
    const group = (label) => model.groups[Number(label) - 1];
    for (const one of seen.sizes) near(one.value, group(one.group).weight, `size of group ${one.group}`);
    const measure = model.groups.some((g) => g.utilities) ? "utilities" : "mean_place";
    for (const one of seen.utilities) near(one.value, group(one.group)[measure][one.item], `${measure} of item ${one.item} in group ${one.group}`);
    // Counted where there are data, else the model's.
    const tally = (label) => (label === "all" || k === 1 ? model.counted?.everyone : model.counted?.groups[Number(label) - 1]);
    for (const one of seen.first) {
      const found = tally(one.group);
      if (found?.num_rankings === 0) continue;
      near(one.value, found ? found.first[one.item] / found.num_rankings : one.group === "all" ? model.first_place[one.item] : group(one.group).first_place[one.item], `first places of item ${one.item}`);
    }
    for (const [item, places] of seen.bumpItems) for (const [label, place] of places) if ((label === "all" ? model : group(label)).order[place - 1] !== item) problems.push(`consensus: item ${item} is not at place ${place} of group ${label}`);
    for (const one of seen.pairs) {
      const items = model.counted?.pair_items ?? model.pairs.items, m = items.length, a = items.indexOf(Number(one.item)), b = items.indexOf(Number(one.other)), above = model.counted?.everyone.above;
      const sum = above ? above[a * m + b] + above[b * m + a] : 0;
      if (above && sum === 0) continue;
      near(one.value, above ? above[a * m + b] / sum : model.pairs.everyone[a * m + b] / 1000, `pair ${one.item}, ${one.other}`);
    }
    for (const one of seen.members) near(one.value, model.memberships.groups[one.group - 1][one.level], `memberships of group ${one.group}`);
    if (model.map && Number(seen.points) !== model.map.x.length) problems.push("the map has not all points");
    for (const one of seen.coefficients) near(one.value, model.regression.lambda[one.class][one.feature], `coefficient ${one.feature} of class ${one.class}`);
    for (const one of seen.auc) near(one.value, model.regression.roc.find((r) => r.name === one.class)?.auc, `AUC of ${one.class}`);
    for (const one of seen.clusters) near(one.value, model.clusters.num_clusters.find(([c]) => c === Number(one.k))?.[1], `draws with ${one.k} groups`);
    for (const one of seen.theta) near(one.value, group(one.group).theta[one.place - 1], `theta ${one.place} of group ${one.group}`);
    for (const one of seen.dispersion) near(one.value, group(one.group).theta, `theta of group ${one.group}`);
    seen.goodness.forEach((one, i) => near(one.observed, model.goodness.checks[0].rows[i].observed, `goodness row ${i}`));
    if (seen.cards.length !== Math.min(12, k)) problems.push(`${seen.cards.length} cards for ${k} groups`);
    seen.cards.forEach((text, i) => { if (!text.includes(model.groups[i].words)) problems.push(`card ${i + 1} does not say what the data say`); });
    if (Math.min(seen.sizes.length ? 1 : 0, k > 1 ? 1 : 0) !== (k > 1 ? 1 : 0)) problems.push("no sizes were read");
  }
  if (data.selection) { expected.push("selection"); for (const one of seen.selection) { const row = data.selection.table.find((r) => r.k === Number(one.k)); if (![row.bic, row.aic, row.icl, row.heldout_mean, row.loglik].some((v) => typeof v === "number" && Math.abs(v - Number(one.value)) < 1e-6 * Math.abs(v))) problems.push(`selection: ${one.value} for ${one.k}`); } }
  if (data.comparison) { expected.push("comparison"); for (const one of seen.compare) near(one.value, data.comparison.table.length > 1 ? data.comparison.table.find((r) => r.name === one.name)?.difference ?? 0 : data.comparison.table[0].heldout_mean, `held-out of ${one.name}`); }
  if (data.models.length > 1) expected.push("models");
  if (data.changes) expected.push("changes");
  if (data.data) expected.push("mentions");
  const there = new Set(seen.views.map((v) => v.id));
  for (const id of expected) if (!there.has(id)) problems.push(`view ${id} is missing`);
  return seen.views.map((v) => v.id);
}

async function checkUse(tab, data, problems) {
  const model = data.models[0];
  // Hover and keyboard show numbers.
  const chart = tab.locator("svg.chart").first();
  if (await chart.count()) {
    await chart.scrollIntoViewIfNeeded();
    await chart.focus();
    await tab.keyboard.press("ArrowRight");
    if (!(await tab.locator(".tooltip").isVisible())) problems.push("arrow keys show no numbers");
    await tab.keyboard.press("Escape");
    await chart.evaluate((e) => e.blur());
    const ink = tab.locator("svg.chart .mark rect"), mark = ((await ink.count()) ? ink : tab.locator("svg.chart .mark")).first(); // the middle of a group of lines may be empty
    await mark.hover({ force: true });
    if (!(await tab.locator(".tooltip").isVisible())) problems.push("hover shows no numbers");
    await tab.mouse.move(0, 0);
  }
  // Every view gives a CSV and an SVG.
  const tools = await tab.locator(".tools button").count();
  for (let i = 0; i < tools; ++i) {
    const button = tab.locator(".tools button").nth(i), label = (await button.textContent()) ?? "";
    if (label === "Table") continue;
    // The browser drops downloads beyond ten in a second: no person is that fast, but this loop is.
    await tab.waitForTimeout(120);
    const [download] = await Promise.all([tab.waitForEvent("download", { timeout: 60000 }).catch(() => null), button.click()]);
    if (!download) {
      problems.push(`nothing was saved by: ${await button.getAttribute("aria-label")}`);
      continue;
    }
    const text = readFileSync(await download.path(), "utf8");
    if (label === "CSV" && text.trim().split("\r\n").length < 2) problems.push(`${download.suggestedFilename()} is empty`);
    if (label === "SVG") {
      const clean = await tab.evaluate((source) => {
        const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
        const all = [...parsed.querySelectorAll("*")];
        return parsed.documentElement.localName === "svg" && !parsed.querySelector("parsererror, script, foreignObject") && !all.some((e) => [...e.attributes].some((a) => /^on|href$/i.test(a.name)));
      }, text);
      if (!clean) problems.push(`${download.suggestedFilename()} is no clean SVG`);
    }
  }
  if (!model) return;
  // Click a group: the rest goes. Search: only what is found stays.
  if (model.groups.length > 1) {
    await tab.locator(".card").nth(1).click();
    const left = await tab.locator("#utilities [data-value]").evaluateAll((marks) => [...new Set(marks.map((m) => m.getAttribute("data-group")))]);
    if (left.length !== 1 || left[0] !== "2") problems.push(`filter by group 2 leaves groups ${left}`);
    await tab.locator(".card").nth(1).click();
  }
  if (model.items.length > 1) {
    await tab.locator("#find").fill(model.items[0]);
    const items = await tab.locator("#first-places [data-item], #utilities [data-item]").evaluateAll((marks) => [...new Set(marks.map((m) => m.getAttribute("data-item")))]);
    const wanted = model.items.map((_, i) => i).filter((i) => model.items[i].toLocaleLowerCase().includes(model.items[0].toLocaleLowerCase()));
    if (items.length === 0 || items.some((i) => !wanted.includes(Number(i)))) problems.push(`search for item 0 shows ${items}`);
    await tab.locator("#find").fill("");
  }
}

for (const path of pages) {
  const problems = [], notes = [];
  const text = readFileSync(path, "utf8");
  const data = JSON.parse(text.slice(text.indexOf('id="caucus-report-data">') + 24).split("</script>")[0]);
  const policy = text.match(/http-equiv="Content-Security-Policy" content="([^"]+)"/)?.[1] ?? "";
  if (!policy.includes("default-src 'none'") || /unsafe|\*|https?:/.test(policy)) problems.push(`content policy is not strict: ${policy}`);
  const bytes = statSync(path).size;
  const { context, tab, busy, seconds } = await open(path, { viewport: { width: 1280, height: 900 } }, problems);
  notes.push(`${seconds.toFixed(2)} s to open`);
  if (seconds > MAX_OPEN) problems.push(`takes ${seconds.toFixed(2)} s to open, more than ${MAX_OPEN}`);
  // Made-up pages hold 100,000 points, which the command never writes.
  if (bytes > MAX_BYTES && (data.models[0]?.map?.x.length ?? 0) <= 20000) problems.push(`${bytes} bytes, more than ${MAX_BYTES}`);
  const views = await checkNumbers(tab, data, problems);
  const injected = await tab.evaluate(() => ({ scripts: document.scripts.length, images: document.images.length, handlers: document.querySelectorAll("[onerror],[onload],[onclick]").length }));
  if (injected.scripts !== 2 || injected.images !== 0 || injected.handlers !== 0) problems.push(`markup from names: ${JSON.stringify(injected)}`);
  const body = await tab.evaluate(() => document.body.textContent);
  for (const name of data.models[0]?.items.slice(0, 10) ?? []) if (!body.includes(name)) problems.push(`the name ${name} is not shown as it is`);
  if (data.models[0]?.map) {
    // The pointer across the map, then a click on a group, which redraws every view.
    const canvas = tab.locator("#map canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox(), moves = 40;
    let before = await busy();
    for (let i = 0; i < moves; ++i) await tab.mouse.move(box.x + (box.width * (i + 0.5)) / moves, box.y + box.height * (0.3 + 0.4 * ((i * 7) % moves) / moves));
    const hover = ((await busy()) - before) / moves;
    await tab.mouse.move(0, 0);
    notes.push(`${(1000 * hover).toFixed(1)} ms per move on the map`);
    if (hover > MAX_HOVER) problems.push(`a move on the map takes ${(1000 * hover).toFixed(1)} ms`);
    if (data.models[0].groups.length > 1) {
      before = await busy();
      await tab.evaluate(() => document.querySelector(".chip").click());
      await twoFrames(tab);
      const filter = (await busy()) - before;
      await tab.evaluate(() => document.querySelector(".chip").click());
      notes.push(`${(1000 * filter).toFixed(0)} ms to filter`);
      if (filter > MAX_FILTER) problems.push(`filtering by a group takes ${(1000 * filter).toFixed(0)} ms`);
    }
  }
  const axe = await (async () => {
    await tab.evaluate(axeSource + ";0").catch(() => {});
    return tab.evaluate(() => window.axe ? window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }).then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.help} (${v.nodes[0].target})`)) : ["axe did not load"]);
  })();
  for (const one of axe) problems.push(`accessibility: ${one}`);
  if (bytes < 3e6) await checkUse(tab, data, problems);
  const pdf = await tab.pdf({ format: "A4" });
  if (pdf.length < 5000) problems.push("printing gives an empty page");
  // Printed pages are full: not many more than the cards would need one below the other.
  const pages = pdf.toString("latin1").split(/\/Type \/Page\b/).length - 1;
  await tab.emulateMedia({ media: "print" });
  await tab.setViewportSize({ width: 688, height: 1017 }); // A4 less its margins
  await twoFrames(tab);
  const needed = await tab.evaluate(() => document.querySelector("#app").scrollHeight / 1017);
  notes.push(`${pages} pages printed of ${needed.toFixed(1)}`);
  if (pages > 1.25 * needed + 1.5) problems.push(`printing takes ${pages} pages for ${needed.toFixed(1)} pages of cards`);
  await context.close();
  // Opened at 390 px; then the window and the theme change under the open page.
  const small = await open(path, { viewport: { width: 390, height: 844 }, colorScheme: "light" }, problems);
  for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [768, "dark"], [1280, "dark"], [2560, "light"]]) {
    await small.tab.emulateMedia({ colorScheme });
    await small.tab.setViewportSize({ width, height: 844 });
    await twoFrames(small.tab);
    await checkNumbers(small.tab, data, problems);
    const over = await small.tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) problems.push(`at ${width} px the page is ${over} px too wide`);
    const cut = await small.tab.evaluate(() => {
      const bad = [];
      for (const svg of document.querySelectorAll("svg.chart")) {
        const frame = svg.getBoundingClientRect();
        for (const text of svg.querySelectorAll("text")) {
          const box = text.getBoundingClientRect();
          if (box.width > 0 && (box.left < frame.left - 4 || box.right > frame.right + 4 || box.top < frame.top - 4 || box.bottom > frame.bottom + 6)) bad.push(`${svg.closest(".view")?.id}: ${text.textContent}`);
        }
      }
      return bad;
    });
    const overlaps = await small.tab.evaluate(() => {
      const bad = [];
      for (const svg of document.querySelectorAll("svg.chart")) {
        // Labels may be turned: corners on the screen, without the empty rims of the line, and a line that parts the two.
        const labels = [...svg.querySelectorAll("text")].filter((text) => text.getBoundingClientRect().width > 0).map((text) => {
          const { x, y, width, height } = text.getBBox(), matrix = text.getScreenCTM(), top = y + 0.2 * height, low = y + 0.8 * height;
          return { text: text.textContent, box: text.getBoundingClientRect(), corners: [[x + 1, top], [x + width - 1, top], [x + width - 1, low], [x + 1, low]].map(([a, b]) => new DOMPoint(a, b).matrixTransform(matrix)) };
        });
        const parted = (one, other) => [0, 1].some((edge) => {
          const dx = one[edge + 1].x - one[edge].x, dy = one[edge + 1].y - one[edge].y, along = (corners) => corners.map((p) => p.x * dx + p.y * dy);
          const a = along(one), b = along(other);
          return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
        });
        labels.sort((a, b) => a.box.top - b.box.top);
        for (let i = 0; i < labels.length; ++i)
          for (let j = i + 1; j < labels.length && labels[j].box.top < labels[i].box.bottom; ++j)
            if (!parted(labels[i].corners, labels[j].corners) && !parted(labels[j].corners, labels[i].corners)) bad.push(`${svg.closest(".view")?.id}: ${labels[i].text} / ${labels[j].text}`);
      }
      return bad;
    });
    if (overlaps.length) problems.push(`at ${width} px ${overlaps.length} labels overlap: ${overlaps.slice(0, 3).join(" | ")}`);
    if (cut.length) problems.push(`at ${width} px ${cut.length} labels are cut: ${cut.slice(0, 3).join(" | ")}`);
    if (colorScheme === "dark") {
      const ground = await small.tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
      if (!/^rgb\((\d{1,2}), /.test(ground)) problems.push(`dark: the page is ${ground}`);
    }
  }
  await small.context.close();
  const unique = [...new Set(problems)];
  failures += unique.length;
  console.log(`${unique.length ? "FAIL" : "ok  "} ${basename(path)}: ${views.length} views, ${(bytes / 1024).toFixed(0)} kB, ${notes.join(", ")}`);
  for (const problem of unique.slice(0, 20)) console.log(`     ${problem}`);
}
await browser.close();
process.exit(failures ? 1 : 0);

// What the browser tests share: a server in a folder of its own, a browser, and a list of what is wrong.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const [program, source, pictures] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(source, "web/package.json"));
const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => path && existsSync(path));
if (!executablePath) {
  console.log("no Chromium here, so the page was not opened (make test-serve installs it)");
  process.exit(77);
}
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const room = mkdtempSync(join(tmpdir(), "caucus-session-"));
export const problems = [];
export const expect = (fine, what) => { if (!fine) problems.push(what); };

export let server, browser;
// A new server in the same folder; its token is another.
export async function serve(port = 0) {
  server = await new Promise((done, failed) => {
    const child = spawn(program, [join(room, "project"), "--port", String(port)], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (text) => {
      const found = String(text).match(/Open (http:\/\/127\.0\.0\.1:(\d+)\/)#([a-z0-9]{32})/);
      if (found) done({ child, address: found[0].slice(5), base: found[1], port: Number(found[2]), token: found[3] });
    });
    child.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
}

export async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const tab = await context.newPage();
  tab.setDefaultTimeout(90000);
  tab.on("pageerror", (error) => problems.push(`error on the page: ${error.message}`));
  tab.on("console", (message) => { if (message.type() === "error" && !/Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE/.test(message.text())) problems.push(`console: ${message.text()}`); });
  tab.on("dialog", (dialog) => { problems.push(`a dialog opened: ${dialog.message()}`); void dialog.dismiss(); });
  tab.on("request", (request) => { if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) problems.push(`a request leaves the machine: ${request.url()}`); });
  await tab.goto(server.address);
  await tab.waitForSelector("h1");
  return { context, tab };
}
async function rules(tab, where, part) {
  const found = await tab.evaluate((part) => window.axe.run(part ?? document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }).then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.help} (${v.nodes[0].target})`)), part);
  for (const one of found) problems.push(`accessibility, ${where}: ${one}`);
}
// Light and dark; the whole page or, where its views were looked at before, a part of it.
export async function accessible(tab, where, part) {
  // The policy lets no script in but the page's own; the debugger is not bound by it.
  await tab.evaluate(axe + ";0").catch((error) => problems.push(`axe: ${error.message}`));
  for (const colorScheme of ["dark", "light"]) {
    await tab.emulateMedia({ colorScheme });
    await tab.waitForTimeout(100);
    await rules(tab, `${where}, ${colorScheme}`, part);
  }
}
export async function narrow(tab, where) {
  for (const width of [390, 2560, 1280]) {
    await tab.setViewportSize({ width, height: 900 });
    await tab.waitForTimeout(100);
    const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(over <= 0, `${where}: ${over} px too wide at ${width} px`);
  }
}
// The page's policy forbids what waitForFunction does, so ask again and again.
export async function until(tab, true_of, value) {
  for (const end = Date.now() + 90000; Date.now() < end; await new Promise((wait) => setTimeout(wait, 100)))
    if (await tab.evaluate(true_of, value).catch(() => false)) return;
  throw new Error(`90 s, and still not: ${true_of}`);
}
let shot = 0;
export async function picture(tab, name, fullPage = true) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await tab.screenshot({ path: join(pictures, `${String(++shot).padStart(2, "0")}-${name}.png`), fullPage });
}
// The same screen at three widths, light and dark.
export async function pictureSet(tab, name) {
  if (!pictures) return;
  for (const [width, colorScheme] of [[390, "light"], [390, "dark"], [1280, "dark"], [2560, "light"], [1280, "light"]]) {
    await tab.setViewportSize({ width, height: 900 });
    await tab.emulateMedia({ colorScheme });
    await tab.waitForTimeout(200);
    await picture(tab, `${name}-${width}-${colorScheme}`);
  }
}
export const fitOf = (tab) => tab.evaluate(() => new URLSearchParams(location.search).get("fit"));
export const jobFile = (id, name = "model.json") => join(room, "project/jobs", id, name);
export const modelOf = (id) => JSON.parse(readFileSync(jobFile(id), "utf8"));
export const ended = (tab) => tab.waitForSelector(".serve-result main, .serve-ended");
// The field of a label, by its words.
export const labelled = async (tab, text) => `#${await tab.evaluate((words) => [...document.querySelectorAll("label")].find((one) => one.textContent === words)?.htmlFor, text)}`;

// Runs a test from an empty folder to its end, and says what was wrong.
export async function run(test, well) {
  try {
    await serve();
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    await test();
  } catch (error) {
    problems.push(String(error.stack ?? error).split("\n").slice(0, 8).join("\n"));
  }
  await browser?.close();
  server?.child.removeAllListeners("exit");
  server?.child.kill("SIGTERM");
  rmSync(room, { recursive: true, force: true });
  for (const problem of new Set(problems)) console.log(`FAIL ${problem}`);
  console.log(problems.length ? `${new Set(problems).size} problems` : well);
  process.exit(problems.length ? 1 : 0);
}

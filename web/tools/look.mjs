// Pictures of a report page: node tools/look.mjs PAGE.html OUT_DIR [NAME]. Light and dark, 390 to 2560 pixels, and a PDF.
import { mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, out, only] = process.argv.slice(2);
if (!page || !out) throw new Error("usage: node tools/look.mjs PAGE.html OUT_DIR [NAME]");
mkdirSync(out, { recursive: true });
const LOOKS = { light: [1280, "light"], dark: [1280, "dark"], phone: [390, "light"], wide: [2560, "light"] };
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [name, [width, colorScheme]] of Object.entries(LOOKS)) {
  if (only && only !== name) continue;
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, deviceScaleFactor: 1 });
  const tab = await context.newPage();
  tab.on("console", (message) => console.log(name, message.type(), message.text()));
  tab.on("pageerror", (error) => console.log(name, "error", error.message));
  await tab.goto(pathToFileURL(resolve(page)).href);
  await tab.waitForTimeout(400);
  const over = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) console.log(`${name}: ${over} px wider than the window`);
  await tab.screenshot({ path: join(out, `${basename(page, ".html")}-${name}.png`), fullPage: true });
  if (name === "light") await tab.pdf({ path: join(out, `${basename(page, ".html")}.pdf`), format: "A4" });
  await context.close();
}
await browser.close();

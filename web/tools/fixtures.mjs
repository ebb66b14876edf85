// Writes the made-up reports of test/fixtures.ts as pages to look at: node tools/fixtures.mjs OUT_DIR
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { MARKER, makePage } from "./bundle.mjs";

const out = process.argv[2];
if (!out) throw new Error("usage: node tools/fixtures.mjs OUT_DIR");
mkdirSync(out, { recursive: true });
const module = join(out, "fixtures.mjs");
await build({ entryPoints: [join(dirname(fileURLToPath(import.meta.url)), "../test/fixtures.ts")], bundle: true, format: "esm", outfile: module, logLevel: "warning" });
const { everyReport } = await import(pathToFileURL(module).href);
const { page } = await makePage();
for (const [name, data] of Object.entries(everyReport())) {
  const json = JSON.stringify(data).replace(/</g, "\\u003c");
  writeFileSync(join(out, `${name}.html`), page.replace(MARKER, () => json));
  writeFileSync(join(out, `${name}.json`), JSON.stringify(data));
}

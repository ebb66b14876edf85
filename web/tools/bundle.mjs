// Bundles the views and writes the report's page in two halves, with the data to stand between them; and the page of the server.
//   node tools/bundle.mjs OUT_DIR          -> OUT_DIR/page.html (data replaced by a marker) and OUT_DIR/page.cc (bytes for the binary)
//   node tools/bundle.mjs OUT_DIR serve    -> OUT_DIR/serve.html and OUT_DIR/serve.cc
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

export const MARKER = "@caucus-report-data@";
const here = dirname(fileURLToPath(import.meta.url));

const hash = (content) => `'sha256-${createHash("sha256").update(content, "utf8").digest("base64")}'`;

// One script and one style, as text that can stand inside a page.
async function bundled(entry, sheet) {
  const result = await build({
    entryPoints: [join(here, entry), join(here, sheet)],
    bundle: true, minify: true, write: false, outdir: "out", format: "iife", target: ["es2020", "chrome100", "firefox100", "safari15"],
    charset: "ascii", legalComments: "none", logLevel: "warning",
  });
  const text = (end) => result.outputFiles.find((file) => file.path.endsWith(end)).text.trim();
  const script = text(".js"), style = text(".css");
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("the bundle holds text that would end its own element");
  return { script, style };
}

export async function makePage() {
  const { script, style } = await bundled("../src/main.ts", "../src/style.css");
  // Only this script and this style may run; nothing may be fetched, framed or sent.
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>caucus report</title>
<style>${style}</style>
</head>
<body>
<div id="app"><noscript>This report draws its charts with JavaScript, from the data in this file alone. Allow scripts for this file to see it.</noscript></div>
<script type="application/json" id="caucus-report-data">${MARKER}</script>
<script>${script}</script>
</body>
</html>
`;
  return { page, script };
}

// The page of the server: it may talk to the server it came from, and to nobody else.
export async function makeServePage() {
  const { script, style } = await bundled("../src/serve/main.ts", "../src/serve/style.css");
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>caucus</title>
<style>${style}</style>
</head>
<body>
<div id="app"><noscript>This page works with JavaScript, from this machine alone. Allow scripts for it to use it.</noscript></div>
<script>${script}</script>
</body>
</html>
`;
  return { page, script, policy };
}

function array(name, content) {
  const bytes = Buffer.from(content, "utf8");
  const lines = [];
  for (let i = 0; i < bytes.length; i += 40) lines.push(Array.from(bytes.subarray(i, i + 40)).join(","));
  return `const unsigned char ${name}[] = {\n${lines.join(",\n")}};\nconst unsigned long ${name}_size = sizeof(${name});\n`;
}

function asServeSource(page, policy) {
  return `// Made by web/tools/bundle.mjs.\nnamespace caucus::serve_page {\nextern const unsigned char page[];\nextern const unsigned long page_size;\nextern const char policy[];\n${array("page", page)}const char policy[] = ${JSON.stringify(policy)};\n}\n`;
}

// The bytes as C++, in two arrays.
function asSource(page) {
  const [head, tail] = page.split(MARKER);
  return `// Made by web/tools/bundle.mjs.\nnamespace caucus::report_page {\nextern const unsigned char head[];\nextern const unsigned long head_size;\nextern const unsigned char tail[];\nextern const unsigned long tail_size;\n${array("head", head)}${array("tail", tail)}}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [out, which] = process.argv.slice(2);
  if (!out) throw new Error("usage: node tools/bundle.mjs OUT_DIR [serve]");
  const { page, script, policy } = which === "serve" ? await makeServePage() : await makePage();
  if (gzipSync(script).length > 400e3) throw new Error("the script is larger than 400 kB gzipped");
  mkdirSync(out, { recursive: true });
  const name = which === "serve" ? "serve" : "page";
  writeFileSync(join(out, `${name}.html`), page);
  writeFileSync(join(out, `${name}.cc`), which === "serve" ? asServeSource(page, policy) : asSource(page));
  console.log(`${which === "serve" ? "page of the server" : "report page"}: ${(page.length / 1024).toFixed(0)} kB, script ${(gzipSync(script).length / 1024).toFixed(0)} kB gzipped`);
}

// Bundles the views and writes the report's page in two halves, with the data to stand between them.
//   node tools/bundle.mjs OUT_DIR      -> OUT_DIR/page.html (data replaced by a marker) and OUT_DIR/page.cc (bytes for the binary)
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

export const MARKER = "@caucus-report-data@";
const here = dirname(fileURLToPath(import.meta.url));

export async function makePage() {
  const result = await build({
    entryPoints: [join(here, "../src/main.ts"), join(here, "../src/style.css")],
    bundle: true, minify: true, write: false, outdir: "out", format: "iife", target: ["es2020", "chrome100", "firefox100", "safari15"],
    charset: "ascii", legalComments: "none", logLevel: "warning",
  });
  const text = (end) => result.outputFiles.find((file) => file.path.endsWith(end)).text.trim();
  const script = text(".js"), style = text(".css");
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("the bundle holds text that would end its own element");
  const hash = (content) => `'sha256-${createHash("sha256").update(content, "utf8").digest("base64")}'`;
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

// The bytes as C++, in two arrays.
function asSource(page) {
  const [head, tail] = page.split(MARKER);
  const array = (name, content) => {
    const bytes = Buffer.from(content, "utf8");
    const lines = [];
    for (let i = 0; i < bytes.length; i += 40) lines.push(Array.from(bytes.subarray(i, i + 40)).join(","));
    return `const unsigned char ${name}[] = {\n${lines.join(",\n")}};\nconst unsigned long ${name}_size = sizeof(${name});\n`;
  };
  return `// Made by web/tools/bundle.mjs.\nnamespace caucus::report_page {\nextern const unsigned char head[];\nextern const unsigned long head_size;\nextern const unsigned char tail[];\nextern const unsigned long tail_size;\n${array("head", head)}${array("tail", tail)}}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = process.argv[2];
  if (!out) throw new Error("usage: node tools/bundle.mjs OUT_DIR");
  const { page, script } = await makePage();
  if (gzipSync(script).length > 400e3) throw new Error("the script is larger than 400 kB gzipped");
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "page.html"), page);
  writeFileSync(join(out, "page.cc"), asSource(page));
  console.log(`report page: ${(page.length / 1024).toFixed(0)} kB, script ${(gzipSync(script).length / 1024).toFixed(0)} kB gzipped`);
}

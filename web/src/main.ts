// The report's entry: the data stand in the file itself.
import { startApp } from "./app";
import { h } from "./dom";
import type { ReportData } from "./types";

function start(): void {
  const root = document.getElementById("app");
  const source = document.getElementById("caucus-report-data");
  if (!root || !source) return;
  const report = JSON.parse(source.textContent ?? "") as ReportData;
  if (report.schema !== "caucus.report/1") {
    root.replaceChildren(h("p", {}, "This report's data are of a kind this page does not know."));
    return;
  }
  startApp(root, report);
}
start();

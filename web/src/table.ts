// A view's numbers as a table: what CSV downloads hold and "Table" shows.
import { h } from "./dom";
import { number } from "./format";

export type Cell = string | number | null | undefined;
export interface Table {
  columns: string[];
  rows: Cell[][];
}

// RFC 4180. Cells that a spreadsheet would run as a formula get a leading apostrophe; numbers are left alone.
export function toCsv(table: Table): string {
  const cell = (value: Cell): string => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  return [table.columns, ...table.rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

const LIMIT = 500;
export function tableElement(table: Table, caption: string): HTMLElement {
  const numeric = table.columns.map((_, c) => table.rows.some((row) => typeof row[c] === "number"));
  const head = h("tr", {}, ...table.columns.map((name, c) => h("th", { scope: "col", class: numeric[c] ? "number" : null }, name)));
  const body = table.rows.slice(0, LIMIT).map((row) =>
    h("tr", {}, ...row.map((value, c) => h("td", { class: numeric[c] ? "number" : null }, typeof value === "number" ? number(value, 4) : value ?? ""))),
  );
  const more = table.rows.length > LIMIT ? h("p", { class: "note" }, `The first ${LIMIT} of ${table.rows.length} rows; the CSV has all.`) : null;
  return h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, head), h("tbody", {}, ...body)), more);
}

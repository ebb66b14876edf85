// A view's numbers as a table: what CSV downloads hold and "Table" shows.
import { h, s, textWidth } from "./dom";
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

// A table as a picture, for views that are tables themselves.
export function tableSvg(table: Table, title: string): string {
  const text = (value: Cell) => (typeof value === "number" ? number(value, 5) : value ?? "");
  const rows = [table.columns, ...table.rows.slice(0, LIMIT).map((row) => row.map(text))];
  const widths = table.columns.map((_, c) => Math.ceil(Math.max(...rows.map((row) => textWidth(String(row[c]), 13)))) + 24);
  const width = widths.reduce((a, b) => a + b, 0) + 16, height = rows.length * 24 + 16;
  const drawing = s("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, "font-family": "sans-serif", "font-size": 13 }, s("title", {}, title), s("rect", { width, height, fill: "#fff" }));
  rows.forEach((row, r) => {
    let x = 12;
    row.forEach((value, c) => {
      drawing.append(s("text", { x, y: 24 + 24 * r, fill: "#000", "font-weight": r === 0 ? "bold" : null }, String(value)));
      x += widths[c];
    });
  });
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(drawing);
}

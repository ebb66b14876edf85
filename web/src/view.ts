// One view: a heading, a sentence that says how to read it, the drawing, and its numbers as table, CSV and SVG.
import { button, h, s } from "./dom";
import { inLight, save, standaloneSvg } from "./download";
import type { State } from "./state";
import { tableElement, tableSvg, toCsv, type Table } from "./table";
import { listenForTips } from "./tooltip";

export interface View {
  id: string;
  title: string;
  lead: string;
  size?: "wide" | "big"; // the whole row, or two columns
  // The drawing for this width, made anew whenever something changes. `redraw` is for the view's own controls.
  draw(width: number, redraw: () => void): { drawing: Element; controls?: Element[]; note?: string };
  table?(): Table;
  // Where the drawing is not SVG (the ballot map), how to make one.
  svg?(): string;
}
// Nothing where the model has no such numbers.
export type ViewMaker = (state: State) => View | null;

export function svgRoot(width: number, height: number, label: string): SVGSVGElement {
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: height > 0.8 * width ? "chart tall" : "chart", tabindex: 0, role: "graphics-document",
    "aria-roledescription": "chart", "aria-label": `${label}. Arrow keys go through the values.` });
}

export interface Mounted {
  element: HTMLElement;
  redraw(): void;
}

export function mount(view: View, fileStem: string): Mounted {
  const figure = h("div", { class: "figure" });
  const controls = h("div", { class: "controls" });
  const note = h("p", { class: "note" });
  const tableBox = h("div", { class: "table-box", hidden: true });
  const tools = h("div", { class: "tools" });
  const element = h("section", { id: view.id, class: view.size ? `view ${view.size}` : "view", "aria-labelledby": `${view.id}-title` },
    h("header", {}, h("h3", { id: `${view.id}-title` }, view.title), tools), h("p", { class: "lead" }, view.lead), controls, figure, note, tableBox);
  const stem = `${fileStem}-${view.id}`;
  let drawn: Element | undefined;

  const redraw = () => {
    const width = Math.floor(figure.clientWidth) - 6; // without its padding
    if (width < 50) return;
    const focused = document.activeElement instanceof HTMLElement && controls.contains(document.activeElement)
      ? Array.from(controls.querySelectorAll("button, select")).indexOf(document.activeElement) : -1;
    const result = view.draw(width, redraw);
    drawn = result.drawing;
    figure.replaceChildren(drawn);
    listenForTips(drawn);
    controls.replaceChildren(...(result.controls ?? []));
    controls.hidden = !result.controls?.length;
    if (focused >= 0) (controls.querySelectorAll<HTMLElement>("button, select")[focused] ?? controls.querySelector<HTMLElement>("button, select"))?.focus();
    note.textContent = result.note ?? "";
    note.hidden = !result.note;
    if (!tableBox.hidden && view.table) tableBox.replaceChildren(tableElement(view.table(), view.title));
  };

  if (view.table) {
    const makeTable = view.table.bind(view);
    const toggle = button("Table", () => {
      tableBox.hidden = !tableBox.hidden;
      toggle.setAttribute("aria-expanded", String(!tableBox.hidden));
      tableBox.replaceChildren(...(tableBox.hidden ? [] : [tableElement(makeTable(), view.title)]));
    }, { "aria-expanded": "false", "aria-label": `Table: ${view.title}` });
    tools.append(toggle, button("CSV", () => save(`${stem}.csv`, "text/csv;charset=utf-8", toCsv(makeTable())), { "aria-label": `Download CSV: ${view.title}` }));
  }
  tools.append(button("SVG", () => {
    const inside = drawn instanceof SVGSVGElement ? drawn : drawn?.querySelector("svg.chart");
    const text = inLight(() => view.svg ? view.svg() : inside instanceof SVGSVGElement ? standaloneSvg(inside, view.title) : view.table ? tableSvg(view.table(), view.title) : "");
    if (text) save(`${stem}.svg`, "image/svg+xml", text);
  }, { "aria-label": `Download SVG: ${view.title}` }));
  return { element, redraw };
}

export class Pager {
  page = 0;
  size: number;
  constructor(size = 20) {
    this.size = size;
  }
  slice<T>(values: T[]): T[] {
    const pages = Math.max(1, Math.ceil(values.length / this.size));
    this.page = Math.max(0, Math.min(this.page, pages - 1));
    return values.slice(this.page * this.size, (this.page + 1) * this.size);
  }
  control(total: number, what: string, redraw: () => void): Element[] {
    if (total <= this.size) return [];
    const pages = Math.ceil(total / this.size);
    const first = this.page * this.size + 1, last = Math.min(total, first + this.size - 1);
    const go = (page: number) => () => {
      this.page = page;
      redraw();
    };
    return [h("span", { class: "pager" },
      button("‹", go(this.page - 1), { disabled: this.page === 0, "aria-label": `Previous ${what}` }),
      h("span", {}, `${what} ${first}–${last} of ${total}`),
      button("›", go(this.page + 1), { disabled: this.page >= pages - 1, "aria-label": `Next ${what}` }))];
  }
}

// Two models side by side: groups of one at the left, of the other at the right, and bands for the rankings that both put together.
import { colourClass, mark, symbol } from "../chart";
import { fitText, s } from "../dom";
import { count, percent } from "../format";
import { PALETTE_SIZE } from "../state";
import type { ModelReport } from "../types";
import { svgRoot } from "../view";

export const MOST_GROUPS = 12; // on a side
const SLOT = 40; // pixels that a group's two lines of text need

interface Stack {
  groups: { group: number; total: number; top: number; height: number }[]; // from above; `top` and `height` of the bar
  height: number;
}

// Bars of heights by size, each with room for its text, in the order given.
function stack(order: number[], totals: number[], scale: number): Stack {
  let at = 0;
  const groups = order.map((group) => {
    const height = Math.max(1.5, totals[group] * scale), room = Math.max(SLOT, height + 8);
    at += room;
    return { group, total: totals[group], top: at - room + (room - height) / 2, height };
  });
  return { groups, height: at };
}

// The right side in the order of where its rankings come from, so that bands cross little.
export function layFlows(cross: number[][], height = 320): { left: Stack; right: Stack } {
  const rows = cross.map((row) => row.reduce((a, b) => a + b, 0)), columns = (cross[0] ?? []).map((_, c) => cross.reduce((sum, row) => sum + row[c], 0));
  const largest = (totals: number[]) => totals.map((_, i) => i).sort((a, b) => totals[b] - totals[a] || a - b).slice(0, MOST_GROUPS);
  const from = largest(rows), place = new Map(from.map((group, i) => [group, i]));
  const centre = (c: number) => from.reduce((sum, r) => sum + cross[r][c] * place.get(r)!, 0) / Math.max(1e-9, from.reduce((sum, r) => sum + cross[r][c], 0));
  const to = largest(columns).sort((a, b) => centre(a) - centre(b) || a - b);
  const scale = height / Math.max(1e-9, rows.reduce((a, b) => a + b, 0));
  return { left: stack(from, rows, scale), right: stack(to, columns, scale) };
}

export function flows(from: ModelReport, to: ModelReport, cross: number[][], width: number): SVGSVGElement {
  const { left, right } = layFlows(cross), head = 24, tall = Math.max(left.height, right.height), total = cross.flat().reduce((a, b) => a + b, 0);
  const text = Math.min(280, width * 0.32), x0 = text + 10, x1 = width - text - 10, thick = 8;
  const drawing = svgRoot(width, head + tall + 4, `Groups of ${from.name} and of ${to.name}, and the rankings they share`);
  const named = (model: ModelReport, k: number) => model.groups[k].name ?? `Group ${model.groups[k].label}`;
  const colour = (k: number) => (k < PALETTE_SIZE ? k : -1);
  const shift = (side: Stack) => head + (tall - side.height) / 2;
  const used = new Map(right.groups.map((one) => [one.group, 0]));
  for (const a of left.groups) {
    let done = 0;
    for (const b of right.groups) {
      const value = cross[a.group][b.group];
      if (value <= 0 || a.total <= 0) continue;
      const ha = (a.height * value) / a.total, hb = (b.height * value) / b.total, before = used.get(b.group)!;
      const ya = shift(left) + a.top + done, yb = shift(right) + b.top + before, middle = (x0 + thick + x1 - thick) / 2;
      done += ha;
      used.set(b.group, before + hb);
      if (value / total < 0.0005) continue; // thinner than a hair
      const band = s("path", { class: `flow ${colourClass(colour(a.group))}`, "data-from": a.group, "data-to": b.group, "data-value": value,
        d: `M${x0 + thick},${ya}C${middle},${ya} ${middle},${yb} ${x1 - thick},${yb}v${hb}C${middle},${yb + hb} ${middle},${ya + ha} ${x0 + thick},${ya + ha}z` });
      drawing.append(mark(band, `${named(from, a.group)} of ${from.name}`, [`in ${named(to, b.group)} of ${to.name}`, `${count(value)} rankings`], ["of the left group", percent(value / a.total)], ["of the right group", percent(value / b.total)]));
    }
  }
  const side = (model: ModelReport, one: Stack, x: number, end: boolean) => {
    drawing.append(s("text", { class: "column-head", x: end ? width : 0, y: 13, "text-anchor": end ? "end" : "start" }, fitText(model.name, text + 60, 12)));
    for (const { group, total: size, top, height } of one.groups) {
      const y = shift(one) + top, middle = y + height / 2, anchor = end ? "end" : "start", at = end ? width - 18 : 18;
      const likes = model.groups[group].order.slice(0, 3).map((i) => model.items[i]).join(", ");
      drawing.append(mark(s("g", { "data-group": model.groups[group].label, "data-value": size }, s("rect", { class: `bar ${colourClass(colour(group))}`, x, y, width: thick, height, rx: 2 }), symbol(colour(group), end ? width - 7 : 7, middle - 8),
        s("text", { class: "value", x: at, y: middle - 4, "text-anchor": anchor }, fitText(`${named(model, group)}, ${percent(size / total)}`, text - 20)),
        s("text", { class: "column-sub", x: at, y: middle + 12, "text-anchor": anchor }, fitText(likes, text - 20, 11))),
      `${named(model, group)} of ${model.name}`, ["rankings", `${count(size)} (${percent(size / total)})`], ["ranks first", likes]));
    }
  };
  side(from, left, x0, false);
  side(to, right, x1 - thick, true);
  return drawing;
}

// First places (items by groups) and head-to-head (items by items): what was counted, what the model says, and where they part.
import { cell, mark, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, percent } from "../format";
import type { State } from "../state";
import type { Tally } from "../types";
import { Pager, svgRoot, type ViewMaker } from "../view";
import { hidden } from "./utilities";

type Source = "counted" | "model" | "difference";
const SOURCES: [Source, string][] = [["counted", "counted in the data"], ["model", "the model's"], ["difference", "counted less the model's"]];

// One ink for shares; two where a number may be below or above nothing.
function shareCell(x: number, y: number, width: number, height: number, value: number | null, strongest: number, source: Source): SVGGElement {
  if (value === null) return cell(x, y, width, height, 0, "–");
  if (source === "difference") return cell(x, y, width, height, Math.min(1, Math.abs(value) / strongest) * 0.9, points(value), value < 0);
  return cell(x, y, width, height, Math.sqrt(value / strongest) * 0.95, percent(value));
}
function points(value: number): string {
  const rounded = Math.round(100 * value);
  return rounded === 0 ? "0" : `${rounded > 0 ? "+" : "−"}${Math.abs(rounded)}`;
}
const spoken = (value: number | null, source: Source) => (value === null ? "nobody" : source === "difference" ? `${points(value)} points` : percent(value));

export const firstPlaces: ViewMaker = (state) => {
  const model = state.current, counted = model.counted;
  const has = model.groups.some((g) => g.first_place);
  if ((!has && !counted) || counted?.battles) return null; // of a pair the first place is the win
  let source: Source = counted ? "counted" : "model";
  const pager = new Pager(20), across = new Pager(12);
  const share = (tally: Tally | undefined, item: number) => (!tally || tally.num_rankings <= 0 ? null : tally.first[item] / tally.num_rankings);
  const value = (of: number | "all", item: number, from: Source): number | null => {
    const tally = of === "all" || model.groups.length === 1 ? counted?.everyone : counted?.groups[of];
    const own = (of === "all" ? model.first_place : model.groups[of].first_place)?.[item] ?? null;
    const seen = share(tally, item);
    return from === "counted" ? seen : from === "model" ? own : seen === null || own === null ? null : seen - own;
  };
  return {
    id: "first-places",
    title: "Who comes first",
    lead: counted
      ? "The share of first places. Counted: among the rankings assigned to the group. The model's: the probability it gives. Stronger colour is more."
      : "The probability, by the model, that a ranking of the group puts the item first. Stronger colour is more likely.",
    draw(width, redraw) {
      const items = state.items(), shown = pager.slice(items), visible = state.visible();
      const all: (number | "all")[] = [...visible, ...(model.groups.length > 1 && (counted || model.first_place) ? ["all" as const] : [])];
      const left = widestLabel(shown.map((i) => model.items[i]), Math.min(220, width * 0.38)) + 10;
      across.size = Math.max(1, Math.floor((width - left) / 40));
      const columns = across.slice(all), wide = Math.min(96, (width - left) / columns.length), row = 24, head = 26;
      const name = (of: number | "all") => (of === "all" ? "Everyone" : state.name(of));
      const short = (of: number | "all") => (of === "all" ? "All" : String(model.groups[of].label));
      const strongest = Math.max(source === "difference" ? 0.1 : 0.02, ...columns.flatMap((of) => shown.map((i) => Math.abs(value(of, i, source) ?? 0))));
      const drawing = svgRoot(width, head + shown.length * row + 2, "First places");
      const level = columns.every((of) => widestLabel([name(of)], 400, 12) <= wide - 10);
      columns.forEach((of, c) => drawing.append(s("text", { class: "column-head", x: left + (c + 0.5) * wide, y: 15, "text-anchor": "middle" }, level ? name(of) : short(of))));
      shown.forEach((item, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * row, "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[item], left - 10)));
        columns.forEach((of, c) => {
          const p = value(of, item, source), box = shareCell(left + c * wide, head + r * row, wide, row, p, strongest, source);
          box.setAttribute("data-item", String(item));
          box.setAttribute("data-group", of === "all" ? "all" : String(model.groups[of].label));
          box.setAttribute("data-value", String(p));
          const tips: [string, string][] = [];
          if (counted) tips.push(["counted", spoken(value(of, item, "counted"), "counted")]);
          if (value(of, item, "model") !== null) tips.push(["the model's", spoken(value(of, item, "model"), "model")]);
          drawing.append(mark(box, `${model.items[item]}, ${name(of)}: first places`, ...tips));
        });
      });
      const controls = [...(counted && has ? [selectBox("Show", SOURCES, source, (v) => { source = v as Source; redraw(); })] : []), ...across.control(all.length, "Groups", redraw), ...pager.control(items.length, "Items", redraw)];
      const notes = [level ? "" : groupKey(state, columns), source === "difference" ? "Percentage points." : "", hidden(state.selected.size, model.groups.length, visible.length), source === "counted" ? "" : model.probabilities_how];
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), controls, note: notes.filter(Boolean).join(" ") || undefined };
    },
    table: () => {
      const groups = model.groups.map((_, k) => k), of: (number | "all")[] = model.groups.length > 1 ? [...groups, "all"] : groups;
      const head = (who: number | "all", what: string) => `${who === "all" ? "everyone" : state.name(who)}, ${what}`;
      return { columns: ["item", ...of.flatMap((who) => [...(counted ? [head(who, "counted")] : []), head(who, "model")])],
        rows: model.items.map((item, i) => [item, ...of.flatMap((who) => [...(counted ? [value(who, i, "counted")] : []), value(who, i, "model")])]) };
    },
  };
};

// Names of the numbered columns, where the user gave any.
export function groupKey(state: State, columns: (number | "all")[]): string {
  const named = columns.filter((of): of is number => of !== "all" && state.current.groups[of].name !== undefined && state.name(of) !== `Group ${state.current.groups[of].label}`);
  return named.map((k) => `${state.current.groups[k].label}: ${state.name(k)}.`).join(" ");
}

export const headToHead: ViewMaker = (state) => {
  const model = state.current, pairs = model.pairs, counted = model.counted;
  const pairItems = counted?.pair_items ?? pairs?.items ?? [];
  if (pairItems.length < 2) return null;
  let group = "all";
  let source: Source = counted?.everyone.above ? "counted" : "model";
  const pager = new Pager(15);
  const size = pairItems.length, row = new Map(pairItems.map((item, r) => [item, r])), modelRow = new Map((pairs?.items ?? []).map((item, r) => [item, r]));
  const tally = () => (group === "all" || !counted?.groups.length ? counted?.everyone : counted.groups[Number(group)]);
  const votes = (a: number, b: number) => {
    const found = tally(), at = row.get(a)! * size + row.get(b)!, back = row.get(b)! * size + row.get(a)!;
    return found?.above ? { won: found.above[at], lost: found.above[back], tied: found.tied?.[at] ?? 0 } : null;
  };
  const value = (a: number, b: number, from: Source): number | null => {
    const found = votes(a, b), sum = found ? found.won + found.lost : 0, seen = found && sum > 0 ? found.won / sum : null;
    const matrix = group === "all" ? pairs?.everyone : pairs?.groups[Number(group)], ra = modelRow.get(a), rb = modelRow.get(b);
    const own = matrix && ra !== undefined && rb !== undefined ? matrix[ra * modelRow.size + rb] / 1000 : null;
    return from === "counted" ? seen : from === "model" ? own : seen === null || own === null ? null : seen - own;
  };
  const who = () => (group === "all" ? `all ${state.nouns.voters}` : state.name(Number(group)));
  return {
    id: "head-to-head",
    size: size > 8 ? "big" : undefined,
    title: "Head to head",
    lead: counted?.everyone.above
      ? "Of the rankings that place one above the other, the share that puts the item on the left above the item at the top. Blue: more often than not; orange: less often."
      : "The probability, by the model, that the item on the left is placed above the item at the top. Blue: more likely than not; orange: less.",
    draw(width, redraw) {
      if (state.selected.size === 1) {
        const only = [...state.selected][0];
        if (pairs?.groups[only] || counted?.groups[only]) group = String(only);
      }
      const items = state.items().filter((i) => row.has(i));
      const left = widestLabel(items.map((i) => model.items[i]), Math.min(200, width * 0.38)) + 10;
      pager.size = Math.max(4, Math.min(15, Math.floor((width - left) / 27))); // room for two figures in every cell
      const shown = pager.slice(items);
      const across = state.query ? pairItems.slice(0, pager.size) : shown;
      const wide = Math.min(64, (width - left) / Math.max(across.length, 1)), high = Math.max(20, Math.min(30, wide));
      const nameLength = widestLabel(across.map((i) => model.items[i]), 110, 12.5);
      // Names above the columns: level where they fit, slanted, or upright where columns are too narrow for slanted lines of text.
      const level = wide > nameLength + 8, slanted = !level && (width - left - 0.72 * nameLength) / Math.max(across.length, 1) >= 27;
      const head = level ? 24 : (slanted ? nameLength * 0.72 + 12 : nameLength) + 12;
      const step = slanted ? Math.min(wide, (width - left - 0.72 * nameLength - 4) / Math.max(across.length, 1)) : wide;
      const drawing = svgRoot(width, head + shown.length * high + 2, `Head to head, ${who()}`);
      across.forEach((item, c) => {
        const x = left + (c + 0.5) * step;
        const name = fitText(model.items[item], level ? step - 4 : 110, 12.5);
        drawing.append(level ? s("text", { class: "column-head", x, y: 15, "text-anchor": "middle" }, name)
          : s("text", { class: "column-head", "text-anchor": "start", transform: slanted ? `translate(${x + 2},${head - 8}) rotate(-45)` : `translate(${x + 4},${head - 6}) rotate(-90)` }, name));
      });
      shown.forEach((item, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * high, "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[item], left - 10)));
        across.forEach((other, c) => {
          const x = left + c * step, y = head + r * high;
          if (other === item) {
            drawing.append(s("rect", { class: "cell same", x, y, width: step - 1, height: high - 1, rx: 3 }));
            return;
          }
          const p = value(item, other, source), from = source === "difference" ? 0 : 0.5;
          const text = p === null ? "–" : source === "difference" ? points(p) : String(Math.round(100 * p));
          const box = cell(x, y, step, high, p === null ? 0 : Math.abs(p - from) * (source === "difference" ? 3 : 1.9), text, p !== null && p < from);
          box.setAttribute("data-item", String(item));
          box.setAttribute("data-other", String(other));
          box.setAttribute("data-value", String(p));
          const found = votes(item, other), own = value(item, other, "model"), tips: [string, string][] = [["among", who()]];
          if (found) tips.push(["counted", `${count(found.won)} : ${count(found.lost)}${found.tied > 0 ? `, ${count(found.tied)} tied` : ""}`]);
          if (own !== null) tips.push(["the model's", percent(own)]);
          drawing.append(mark(box, `${model.items[item]} above ${model.items[other]}`, ...tips));
        });
      });
      const options: [string, string][] = [["all", `all ${state.nouns.voters}`], ...model.groups.map((_, k) => [String(k), state.name(k)] as [string, string])];
      const controls = [...(counted?.everyone.above && pairs ? [selectBox("Show", SOURCES, source, (v) => { source = v as Source; redraw(); })] : []),
        ...(model.groups.length > 1 ? [selectBox("Among", options, group, (v) => { group = v; redraw(); })] : []), ...pager.control(items.length, "Items", redraw)];
      const notes = [source === "difference" ? "Percentage points." : "Numbers are percent."];
      if (size < model.items.length) notes.push(`The ${size} best-placed of ${model.items.length} items.`);
      if (source !== "counted" && pairs?.how) notes.push(pairs.how);
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item with this name is among the best placed."), controls, note: notes.join(" ") };
    },
    table: () => {
      const of = ["all", ...(model.groups.length > 1 ? model.groups.map((_, k) => String(k)) : [])], before = group;
      const columns = ["item", "above"], rows = pairItems.flatMap((a) => pairItems.filter((b) => b !== a).map((b) => [model.items[a], model.items[b]] as (string | number | null)[]));
      for (const one of of) {
        group = one;
        const name = one === "all" ? "everyone" : state.name(Number(one));
        columns.push(...(counted ? [`${name}: above`, `${name}: below`] : []), `${name}: model`);
        let at = 0;
        for (const a of pairItems)
          for (const b of pairItems) {
            if (a === b) continue;
            const found = votes(a, b);
            rows[at++].push(...(counted ? [found?.won ?? null, found?.lost ?? null] : []), value(a, b, "model"));
          }
      }
      group = before;
      return { columns, rows };
    },
  };
};

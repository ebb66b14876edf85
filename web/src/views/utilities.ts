import { axisBottom, legend, mark, padded, scaleLinear, symbol, widestLabel, colourClass } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { fixed, intervalName, number } from "../format";
import { placesOf } from "../state";
import type { Group } from "../types";
import { Pager, svgRoot, type ViewMaker } from "../view";

type Measure = "utility" | "mean_place";
type Fact = [string, string];

// Of an item that the data do not tie to the rest of its group: how it stands among those that they do compare it with.
function unboundedFacts(group: Group, items: readonly string[], item: number): Fact[] {
  const block = group.blocks?.find((b) => b.items.includes(item)), at = block?.items.indexOf(item) ?? -1;
  const facts: Fact[] = [["utility", "not bounded by the data"]];
  if (!block) return facts;
  const interval = block.utility_intervals?.[at], others = block.items.filter((i) => i !== item).map((i) => items[i]).join(", ");
  facts.push([`compared with ${others} alone`, fixed(block.utilities[at], 2)]);
  if (interval) facts.push([intervalName(block.utility_level), `${fixed(interval[0], 2)} to ${fixed(interval[1], 2)}`]);
  return facts;
}

export const utilities: ViewMaker = (state) => {
  const model = state.current;
  if (model.items.length === 0 || model.groups.length === 0) return null;
  const measures: [Measure, string][] = [];
  if (model.groups.some((g) => g.utilities)) measures.push(["utility", "Strength (utility)"]);
  if (model.groups.some((g) => g.mean_place)) measures.push(["mean_place", "Average place"]);
  if (measures.length === 0) return null;
  let measure = measures[0][0];
  const pager = new Pager(20);
  const values = (k: number) => (measure === "utility" ? model.groups[k].utilities : model.groups[k].mean_place);
  return {
    id: "utilities",
    size: "big",
    title: "What each group likes",
    lead: measures[0][0] === "utility"
      ? `Further right is liked more, by the model. One step to the right makes an item about 2.7 times as likely to be picked first. Lines are ${intervalName(model.groups[0].utility_level)}s: where two lines overlap widely, the order is not sure.`
      : "The average place an item gets in each group's rankings, by the model. Further left is liked more.",
    draw(width, redraw) {
      const items = state.items(), shown = pager.slice(items), visible = state.visible();
      const left = widestLabel(shown.map((i) => model.items[i]), Math.min(220, width * 0.38)) + 12, right = 16;
      const row = Math.max(24, 10 + 7 * Math.min(visible.length, 4)), height = shown.length * row + 44;
      let low = Infinity, high = -Infinity;
      for (const k of visible)
        for (const i of items) {
          const value = values(k)?.[i];
          if (value === undefined || model.groups[k].unbounded?.includes(i)) continue;
          const interval = measure === "utility" ? model.groups[k].utility_intervals?.[i] : undefined;
          low = Math.min(low, interval?.[0] ?? value);
          high = Math.max(high, interval?.[1] ?? value);
        }
      if (measure === "mean_place") { low = 1; high = Math.max(2, high); }
      // Very wide intervals of rare items would squeeze all others: the axis covers the values and a fair part around them.
      if (measure === "utility") {
        const points = visible.flatMap((k) => items.filter((i) => !model.groups[k].unbounded?.includes(i)).map((i) => values(k)?.[i] ?? 0));
        const a = Math.min(...points, 0), b = Math.max(...points, 0), room = 0.35 * (b - a) + 0.2;
        low = Math.max(low, a - room);
        high = Math.min(high, b + room);
      }
      if (!(low <= high)) { low = -1; high = 1; }  // no item has a bounded value
      const x = scaleLinear(padded(low, high, 0.03), [left, width - right]).clamp(true);
      const drawing = svgRoot(width, height, measure === "utility" ? "Utilities of items by group" : "Average places of items by group");
      drawing.append(axisBottom(x, 0, height - 40, { format: (v) => number(v), label: measure === "utility" ? "utility (log-worth) · liked more →" : "← liked more · average place" }));
      shown.forEach((item, r) => {
        const y = r * row + row / 2;
        drawing.append(s("line", { class: "row-line", x1: left, x2: width - right, y1: y + row / 2, y2: y + row / 2 }),
          s("text", { x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[item], left - 12), s("title", {}, model.items[item])));
        const said = new Set<string>(); // "no limit" once at each end of a row
        visible.forEach((k, v) => {
          const group = model.groups[k], value = values(k)?.[item];
          if (value === undefined) return;
          const offset = visible.length === 1 ? 0 : ((v + 0.5) / visible.length - 0.5) * (row - 10);
          const colour = state.colour(k), interval = measure === "utility" ? group.utility_intervals?.[item] : undefined;
          const endless = group.unbounded?.includes(item) ?? false;
          const parts = s("g", { "data-group": group.label, "data-item": item, "data-value": value });
          if (interval && !endless) parts.append(s("line", { class: `whisker ${colourClass(colour)}`, x1: x(interval[0]), x2: x(interval[1]), y1: y + offset, y2: y + offset }));
          parts.append(symbol(colour, x(value), y + offset, visible.length > 4 ? 3.6 : 4.6));
          const low = x(value) < (left + width) / 2, words = low ? "← no limit" : "no limit →";
          if (endless && visible.length <= 3 && !said.has(words)) {
            said.add(words);
            parts.append(s("text", { class: "column-sub", x: x(value), y: y + offset, "text-anchor": low ? "start" : "end", dx: low ? 8 : -8, "dominant-baseline": "central" }, words));
          }
          if (endless) parts.classList.add("faint");
          mark(parts, model.items[item], ["group", state.name(k)],
            ...(measure === "utility" ? endless ? unboundedFacts(group, model.items, item) : [["utility", fixed(value, 2)] as Fact] : [["average place", fixed(value, 1)] as Fact]),
            ...(interval && !endless ? [[intervalName(group.utility_level), `${fixed(interval[0], 2)} to ${fixed(interval[1], 2)}`] as Fact] : []),
            ["place in the group", String(placesOf(group.order)[item])]);
          drawing.append(parts);
        });
      });
      if (shown.length === 0) drawing.append(s("text", { x: 8, y: 20 }, "No item has this name."));
      const controls: Element[] = measures.length > 1 ? [selectBox("Show", measures, measure, (value) => { measure = value as Measure; redraw(); })] : [];
      if (model.groups.length > 1) controls.push(legend(visible.map((k) => [state.colour(k), state.name(k)])));
      controls.push(...pager.control(items.length, "Items", redraw));
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), controls,
        note: hidden(state.selected.size, model.groups.length, visible.length) };
    },
    table: () => ({
      columns: ["item", "group", "place", "utility", "low", "high", "average_place"],
      rows: model.groups.flatMap((g, k) => {
        const places = placesOf(g.order);
        return model.items.map((name, i) => [name, state.name(k), places[i], g.utilities?.[i], g.utility_intervals?.[i]?.[0], g.utility_intervals?.[i]?.[1], g.mean_place?.[i]]);
      }),
    }),
  };
};

export function hidden(selected: number, total: number, visible: number): string | undefined {
  return selected === 0 && visible < total ? `The ${visible} largest of ${total} groups are shown. Choose groups above to see others.` : undefined;
}

// The order of each group: one column per group, every place with its name, lines between where an item stands in the next one.
import { colourClass, mark } from "../chart";
import { fitText, h, s, selectBox, textWidth } from "../dom";
import { ordinal, percent } from "../format";
import { placesOf } from "../state";
import { Pager, svgRoot, type ViewMaker } from "../view";
import { hidden } from "./utilities";

const LEAST_COLUMN = 92; // a name of a dozen letters and the line to the next column
const MOST_COLUMN = 340;

export const bump: ViewMaker = (state) => {
  const model = state.current;
  if (model.items.length < 2 || model.groups.length === 0 || (model.leaderboard && model.groups.length === 1)) return null; // a leaderboard is the order
  let top = 12;
  const several = model.groups.length > 1;
  const columnsOf = (): { name: string; sub: string; order: number[]; colour: number; label: string }[] => [
    ...state.visible().map((k) => ({ name: state.name(k), sub: percent(model.groups[k].weight), order: model.groups[k].order, colour: state.colour(k), label: String(model.groups[k].label) })),
    ...(several ? [{ name: "Everyone", sub: model.counted ? "counted" : "by the model", order: model.order, colour: -1, label: "all" }] : []),
  ];
  let pinned = -1;
  const pager = new Pager(8);
  return {
    id: "consensus",
    size: several ? "big" : undefined,
    title: several ? "The order each group agrees on" : "The order",
    lead: several
      ? `Each column is one group, best at the top, by the model${model.counted ? "; the last is everyone's average place, as counted" : ""}. Lines lead to where an item stands in the next column; the darker or brighter the line, the higher the item stands with everyone. Click a name to keep it marked.`
      : "Best at the top, by the model.",
    draw(width, redraw) {
      const all = columnsOf(), n = model.items.length, depth = Math.min(top, n);
      pager.size = Math.max(2, Math.floor(width / LEAST_COLUMN));
      const columns = pager.slice(all), places = columns.map((c) => placesOf(c.order)), overall = placesOf(model.order);
      const query = state.query.trim() !== "", found = new Set(query ? state.items() : []);
      const gap = Math.min(44, (width / columns.length) * 0.2), step = Math.min(MOST_COLUMN, (width + gap) / columns.length), box = step - gap, row = 26, head = 44; // no gap after the last
      const height = head + depth * row + 6;
      const y = (place: number) => head + (place - 0.5) * row;
      const drawing = svgRoot(width, height, "The order of each group");
      columns.forEach((column, c) => {
        const x = c * step;
        drawing.append(s("rect", { class: `column-mark ${column.label === "all" ? "ink" : colourClass(column.colour)}`, x: x + 1, y: head - 6, width: box - 2, height: 3, rx: 1.5 }),
          s("text", { class: "column-head", x: x + 1, y: 16 }, fitText(textWidth(column.name, 11.5) > box ? (column.label === "all" ? "All" : column.name) : column.name, box, 11.5)),
          s("text", { class: "column-sub", x: x + 1, y: 31 }, fitText(column.sub, box, 11)));
      });
      const focus = pinned >= 0 || query;
      const shown = model.order.filter((i) => places.some((p) => p[i] <= depth));
      for (const item of shown) {
        const strong = item === pinned || found.has(item);
        const parts = s("g", { class: `bump ${focus ? (strong ? "strong" : "weak") : ""}`, "data-item": item });
        const strength = 0.9 - 0.65 * ((overall[item] - 1) / Math.max(1, n - 1));
        columns.forEach((column, c) => {
          const place = places[c][item];
          if (place > depth) return;
          const x = c * step, next = places[c + 1]?.[item];
          if (next !== undefined && next <= depth) {
            const d = `M${x + box},${y(place)}C${x + box + gap / 2},${y(place)} ${x + step - gap / 2},${y(next)} ${x + step},${y(next)}`;
            parts.append(s("path", { class: "bump-hit", d }), s("path", { class: "bump-line", d, "stroke-opacity": strength.toFixed(2) }));
          } else if (next !== undefined) parts.append(s("path", { class: "bump-line off", d: `M${x + box},${y(place)}h${gap * 0.35}`, "stroke-opacity": strength.toFixed(2) }));
          parts.append(s("rect", { class: "bump-box", x: x + 0.5, y: y(place) - row / 2 + 2, width: box - 1, height: row - 4, rx: 5, "data-group": column.label, "data-place": place }),
            s("text", { class: "bump-place", x: x + 7, y: y(place) + 0.5, "dominant-baseline": "central" }, String(place)),
            s("text", { class: "bump-name", x: x + (place > 9 ? 24 : 19), y: y(place) + 0.5, "dominant-baseline": "central" }, fitText(model.items[item], box - (place > 9 ? 30 : 25), 11.5)));
        });
        mark(parts, model.items[item], ...columns.slice(0, 12).map((column, c) => [column.name, ordinal(places[c][item])] as [string, string]));
        const pin = () => { pinned = pinned === item ? -1 : item; redraw(); };
        parts.addEventListener("click", pin);
        parts.addEventListener("keydown", (event) => event.key === "Enter" && pin());
        drawing.append(parts);
      }
      const sizes = [6, 12, 25, 50].filter((size) => size < n).concat(n <= 60 ? [n] : []);
      const controls: Element[] = sizes.length > 1 ? [selectBox("Places", sizes.map((size) => [String(size), size === n ? `all ${n}` : `first ${size}`]), String(Math.min(top, n)), (v) => { top = Number(v); redraw(); })] : [];
      if (pinned >= 0) controls.push(h("span", { class: "note" }, `Marked: ${model.items[pinned]}`));
      controls.push(...pager.control(all.length, "Columns", redraw));
      const missing = [...found].filter((i) => !shown.includes(i)).length;
      const notes = [missing ? `${missing} more found ${missing === 1 ? "item is" : "items are"} below the places shown.` : "", hidden(state.selected.size, model.groups.length, state.visible().length)];
      return { drawing, controls, note: notes.filter(Boolean).join(" ") || undefined };
    },
    table: () => ({
      columns: ["place", ...model.groups.map((_, k) => state.name(k)), ...(several ? [model.counted ? "everyone, counted" : "everyone, model"] : [])],
      rows: model.items.map((_, p) => [p + 1, ...model.groups.map((g) => model.items[g.order[p]]), ...(several ? [model.items[model.order[p]]] : [])]),
    }),
  };
};

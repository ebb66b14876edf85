import { curveBumpX, line } from "d3-shape";
import { colourClass, mark, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { ordinal, percent } from "../format";
import { placesOf } from "../state";
import { svgRoot, type ViewMaker } from "../view";
import { hidden } from "./utilities";

export const bump: ViewMaker = (state) => {
  const model = state.current;
  if (model.items.length < 2 || model.groups.length === 0) return null;
  let top = 12;
  const places = model.groups.map((g) => placesOf(g.order));
  let pinned = -1;
  return {
    id: "consensus",
    size: "big",
    title: model.groups.length > 1 ? "The order each group agrees on" : "The order",
    lead: model.groups.length > 1
      ? "Each line is one item; each column is one group, best at the top. Lines that cross are where the groups disagree. Click a line to keep it marked."
      : "Best at the top.",
    draw(width, redraw) {
      const visible = state.visible(), n = model.items.length, depth = Math.min(top, n);
      const query = state.query.trim() !== "";
      const found = new Set(query ? state.items() : []);
      // An item is drawn if some visible group has it among its first `depth`, or if it was searched for.
      const shown = model.order.filter((i) => visible.some((k) => places[k][i] <= depth) || found.has(i));
      const deepest = Math.min(n, Math.max(depth, ...[...found].map((i) => Math.min(...visible.map((k) => places[k][i])))));
      const narrow = width < 520;
      const firstNames = model.groups[visible[0]].order.slice(0, depth).map((i) => model.items[i]);
      const lastNames = model.groups[visible[visible.length - 1]].order.slice(0, depth).map((i) => model.items[i]);
      const left = widestLabel(firstNames, narrow ? width * 0.38 : Math.min(200, width * 0.26)) + 22;
      const right = visible.length > 1 && !narrow ? widestLabel(lastNames, Math.min(200, width * 0.26)) + 22 : 32;
      const row = 26, head = 44, height = head + depth * row + (n > depth ? 22 : 6);
      const x = (v: number) => (visible.length === 1 ? left : left + (v / (visible.length - 1)) * (width - left - right));
      const limit = head + (depth - 0.35) * row + (n > depth ? 18 : 0);
      const y = (place: number) => Math.min(head + (place - 0.5) * row, limit);
      const drawing = svgRoot(width, height, "Consensus ranking of each group");
      visible.forEach((k, v) => {
        const gap = visible.length > 1 ? x(1) - x(0) : 200, roomy = gap > 64;
        drawing.append(s("text", { class: "column-head", x: x(v), y: 16, "text-anchor": "middle" }, roomy ? `Group ${model.groups[k].label}` : String(model.groups[k].label)),
          s("text", { class: "column-sub", x: x(v), y: 31, "text-anchor": "middle" }, gap > 30 ? percent(model.groups[k].weight) : ""));
        drawing.append(s("line", { class: `column ${colourClass(state.colour(k))}`, x1: x(v), x2: x(v), y1: head, y2: head + depth * row }));
      });
      const path = line<[number, number]>().curve(curveBumpX);
      const focus = pinned >= 0 || query;
      for (const item of shown) {
        const strong = item === pinned || found.has(item);
        const best = places[visible[0]][item];
        const parts = s("g", { class: `bump ${focus ? (strong ? "strong" : "weak") : ""}`, "data-item": item });
        const points = visible.map((k, v) => [x(v), y(places[k][item])] as [number, number]);
        // Piece by piece: between two columns that both have the item below the places shown there is nothing to see.
        for (let v = 0; v + 1 < points.length; ++v) {
          const below = [v, v + 1].filter((c) => places[visible[c]][item] > depth).length;
          if (below === 2) continue;
          const d = path([points[v], points[v + 1]]) ?? "";
          parts.append(s("path", { class: "bump-hit", d }), s("path", { class: `bump-line b${model.order.indexOf(item) % 8}${below ? " faint" : ""}`, d }));
        }
        visible.forEach((k, v) => {
          const place = places[k][item];
          if (place > depth) return;
          parts.append(s("circle", { class: `bump-dot b${model.order.indexOf(item) % 8}`, cx: x(v), cy: y(place), r: 9, "data-group": model.groups[k].label, "data-place": place }),
            s("text", { class: "bump-place", x: x(v), y: y(place) + 0.5, "text-anchor": "middle", "dominant-baseline": "central" }, String(place)));
        });
        if (best <= depth) parts.append(s("text", { x: left - 16, y: y(best), "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[item], left - 18)));
        const last = places[visible[visible.length - 1]][item];
        if (visible.length > 1 && !narrow && last <= depth)
          parts.append(s("text", { x: width - right + 16, y: y(last), "dominant-baseline": "central" }, fitText(model.items[item], right - 18)));
        mark(parts, model.items[item], ...visible.slice(0, 12).map((k) => [`Group ${model.groups[k].label}`, ordinal(places[k][item])] as [string, string]));
        parts.addEventListener("click", () => { pinned = pinned === item ? -1 : item; redraw(); });
        parts.addEventListener("keydown", (event) => { if (event.key === "Enter") { pinned = pinned === item ? -1 : item; redraw(); } });
        drawing.append(parts);
      }
      if (n > depth) drawing.append(s("text", { class: "column-sub", x: left - 16, y: height - 6, "text-anchor": "end" }, "below"));
      const sizes = [6, 12, 25, 50].filter((size) => size < n).concat(n <= 60 ? [n] : []);
      const controls: Element[] = sizes.length > 1 ? [selectBox("Places", sizes.map((size) => [String(size), size === n ? `all ${n}` : `first ${size}`]), String(Math.min(top, n)), (v) => { top = Number(v); redraw(); })] : [];
      if (pinned >= 0) controls.push(h("span", { class: "note" }, `Marked: ${model.items[pinned]}`));
      const missing = [...found].filter((i) => visible.every((k) => places[k][i] > deepest)).length;
      const note = hidden(state.selected.size, model.groups.length, visible.length);
      return { drawing, controls, note: missing ? `${missing} more found items are below the places shown.` : note };
    },
    table: () => ({
      columns: ["place", ...model.groups.map((g) => `group ${g.label}`)],
      rows: model.items.map((_, p) => [p + 1, ...model.groups.map((g) => model.items[g.order[p]])]),
    }),
  };
};

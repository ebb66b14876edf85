// First places (items by groups) and head-to-head (items by items).
import { cell, mark, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";
import { hidden } from "./utilities";

export const firstPlaces: ViewMaker = (state) => {
  const model = state.current;
  if (!model.groups.some((g) => g.first_place)) return null;
  const pager = new Pager(20);
  return {
    id: "first-places",
    title: "Who comes first",
    lead: "The probability that a voter of the group puts the item first. Darker is more likely.",
    draw(width, redraw) {
      const items = state.items(), shown = pager.slice(items), visible = state.visible();
      const columns = [...visible.map((k) => ({ head: String(model.groups[k].label), full: `Group ${model.groups[k].label}`, label: model.groups[k].label as number | "all", values: model.groups[k].first_place }))];
      if (model.groups.length > 1 && model.first_place) columns.push({ head: "All", full: "Everyone", label: "all", values: model.first_place });
      const left = widestLabel(shown.map((i) => model.items[i]), Math.min(220, width * 0.38)) + 10;
      const wide = Math.min(96, (width - left) / columns.length), row = 24, head = 26;
      const strongest = Math.max(0.02, ...columns.flatMap((c) => c.values ?? []));
      const drawing = svgRoot(width, head + shown.length * row + 2, "First-place probabilities");
      columns.forEach((column, c) => drawing.append(s("text", { class: "column-head", x: left + (c + 0.5) * wide, y: 15, "text-anchor": "middle" },
        wide > 64 ? column.full : column.head)));
      shown.forEach((item, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * row, "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[item], left - 10)));
        columns.forEach((column, c) => {
          const p = column.values?.[item] ?? 0;
          const box = cell(left + c * wide, head + r * row, wide, row, Math.sqrt(p / strongest) * 0.95, percent(p));
          box.setAttribute("data-item", String(item));
          box.setAttribute("data-group", String(column.label));
          box.setAttribute("data-value", String(p));
          drawing.append(mark(box, model.items[item], [column.full, `${percent(p)} first places`]));
        });
      });
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), controls: pager.control(items.length, "Items", redraw),
        note: [hidden(state.selected.size, model.groups.length, visible.length), model.probabilities_how].filter(Boolean).join(" ") || undefined };
    },
    table: () => ({
      columns: ["item", ...model.groups.map((g) => `group ${g.label}`), ...(model.first_place ? ["everyone"] : [])],
      rows: model.items.map((name, i) => [name, ...model.groups.map((g) => g.first_place?.[i]), ...(model.first_place ? [model.first_place[i]] : [])]),
    }),
  };
};

export const headToHead: ViewMaker = (state) => {
  const model = state.current, pairs = model.pairs;
  if (!pairs || pairs.items.length < 2) return null;
  let group = "all";
  const pager = new Pager(15);
  const size = pairs.items.length;
  const row = new Map(pairs.items.map((item, r) => [item, r]));
  const values = () => (group === "all" ? pairs.everyone : pairs.groups[Number(group)]);
  const who = () => (group === "all" ? "all voters" : `group ${model.groups[Number(group)].label}`);
  return {
    id: "head-to-head",
    size: size > 8 ? "big" : undefined,
    title: "Head to head",
    lead: "How often the item on the left is placed above the item at the top. Blue: more often than not; orange: less often.",
    draw(width, redraw) {
      if (state.selected.size === 1) {
        const only = [...state.selected][0];
        if (pairs.groups[only]) group = String(only);
      }
      const items = state.sort === "overall" && !state.query ? pairs.items : state.items().filter((i) => row.has(i));
      const shown = pager.slice(items);
      const across = state.query ? pairs.items.slice(0, 15) : shown;
      const left = widestLabel(shown.map((i) => model.items[i]), Math.min(200, width * 0.38)) + 10;
      const wide = Math.min(64, (width - left) / Math.max(across.length, 1)), high = Math.max(20, Math.min(30, wide));
      const nameLength = widestLabel(across.map((i) => model.items[i]), 110, 12.5);
      // Names above the columns: level where they fit, slanted, or upright where columns are too narrow for slanted lines of text.
      const level = wide > nameLength + 8, slanted = !level && (width - left - 0.72 * nameLength) / Math.max(across.length, 1) >= 18;
      const head = level ? 24 : (slanted ? nameLength * 0.72 + 12 : nameLength) + 12;
      const step = slanted ? Math.min(wide, (width - left - 0.72 * nameLength - 4) / Math.max(across.length, 1)) : wide;
      const drawing = svgRoot(width, head + shown.length * high + 2, `Head-to-head probabilities, ${who()}`);
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
          const p = values()[row.get(item)! * size + row.get(other)!] / 1000;
          const box = cell(x, y, step, high, Math.abs(p - 0.5) * 1.9, String(Math.round(100 * p)), p < 0.5);
          box.setAttribute("data-item", String(item));
          box.setAttribute("data-other", String(other));
          box.setAttribute("data-value", String(p));
          drawing.append(mark(box, `${model.items[item]} above ${model.items[other]}`, [who(), percent(p)]));
        });
      });
      const options: [string, string][] = [["all", "all voters"], ...pairs.groups.map((_, k) => [String(k), `group ${model.groups[k].label}`] as [string, string])];
      const controls = [...(pairs.groups.length > 1 ? [selectBox("Among", options, group, (value) => { group = value; redraw(); })] : []), ...pager.control(items.length, "Items", redraw)];
      const notes = ["Numbers are percent."];
      if (size < model.items.length) notes.push(`The ${size} best-placed of ${model.items.length} items.`);
      if (pairs.how) notes.push(pairs.how);
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item with this name is among the best placed."), controls, note: notes.join(" ") };
    },
    table: () => ({
      columns: ["item", "above", "everyone", ...pairs.groups.map((_, k) => `group ${model.groups[k].label}`)],
      rows: pairs.items.flatMap((a, r) => pairs.items.flatMap((b, c) => (r === c ? [] : [[model.items[a], model.items[b], pairs.everyone[r * size + c] / 1000,
        ...pairs.groups.map((v) => v[r * size + c] / 1000)]]))),
    }),
  };
};

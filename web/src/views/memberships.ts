import { axisBottom, cell, mark, scaleLinear, symbol } from "../chart";
import { h, s } from "../dom";
import { count, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";

const LEVELS = [
  { key: "very_sure", name: "very sure (90% or more)", css: "sure-3" },
  { key: "fairly_sure", name: "fairly sure (60% to 90%)", css: "sure-2" },
  { key: "unsure", name: "unsure (below 60%)", css: "sure-1" },
] as const;

export const memberships: ViewMaker = (state) => {
  const model = state.current, members = model.memberships;
  if (!members || model.groups.length < 2) return null;
  const pager = new Pager(20);
  return {
    id: "memberships",
    title: "How sure the memberships are",
    lead: "Each ranking goes to the group it fits best. The bar shows for how many of them that is clear, and for how many another group fits nearly as well.",
    draw(width, redraw) {
      const all = model.groups.map((_, k) => k).filter((k) => state.shows(k)), shown = pager.slice(all);
      const row = 30, left = 92, right = 62, height = shown.length * row + 44;
      const x = scaleLinear([0, 1], [left, width - right]);
      const drawing = svgRoot(width, height, "Certainty of memberships by group");
      drawing.append(axisBottom(x, 4, height - 40, { format: percent, label: "share of the rankings assigned to the group" }));
      shown.forEach((k, i) => {
        const group = model.groups[k], counts = members.groups[k], y = i * row + 5;
        drawing.append(symbol(state.colour(k), 8, y + 10), s("text", { x: 20, y: y + 10, "dominant-baseline": "central" }, `Group ${group.label}`));
        let before = 0;
        for (const level of LEVELS) {
          const share = counts.count > 0 ? counts[level.key] / counts.count : 0;
          if (share <= 0) continue;
          const bar = s("rect", { class: level.css, x: x(before), y, width: Math.max(0.5, x(before + share) - x(before) - 1), height: row - 10, "data-group": group.label, "data-level": level.key, "data-value": counts[level.key] });
          drawing.append(mark(bar, `Group ${group.label}, ${level.name}`, ["rankings", count(counts[level.key])], ["share", percent(share)]));
          before += share;
        }
        drawing.append(s("text", { class: "value", x: width - right + 7, y: y + 10, "dominant-baseline": "central" }, count(counts.count)));
      });
      const key = h("div", { class: "legend" }, ...LEVELS.map((level) => h("span", {}, s("svg", { width: 14, height: 14, class: "swatch", "aria-hidden": "true" }, s("rect", { class: level.css, width: 14, height: 14, rx: 3 })), level.name)));
      return { drawing, controls: [key, ...pager.control(all.length, "Groups", redraw)], note: "Numbers at the right: rankings assigned to the group." };
    },
    table: () => ({
      columns: ["group", "rankings", "very_sure", "fairly_sure", "unsure", ...members.groups[0].bins.map((_, b) => `p_${(b / members.groups[0].bins.length).toFixed(2)}`)],
      rows: members.groups.map((g, k) => [model.groups[k].label, g.count, g.very_sure, g.fairly_sure, g.unsure, ...g.bins]),
    }),
  };
};

export const confusions: ViewMaker = (state) => {
  const model = state.current, average = model.memberships?.average;
  if (!average || average.length < 2) return null;
  const pager = new Pager(15);
  return {
    id: "overlap",
    title: "Which groups overlap",
    lead: "Rankings assigned to the group on the left: their average membership in every group. Off the diagonal, two groups share voters.",
    draw(width, redraw) {
      const all = average.map((_, k) => k).filter((k) => state.shows(k)), shown = pager.slice(all);
      const left = 76, wide = Math.min(84, (width - left) / shown.length), row = 28, head = 26;
      const drawing = svgRoot(width, head + shown.length * row + 2, "Average memberships by assigned group");
      shown.forEach((k, c) => drawing.append(s("text", { class: "column-head", x: left + (c + 0.5) * wide, y: 15, "text-anchor": "middle" }, wide > 64 ? `Group ${model.groups[k].label}` : String(model.groups[k].label))));
      shown.forEach((k, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * row, "text-anchor": "end", "dominant-baseline": "central" }, `Group ${model.groups[k].label}`));
        shown.forEach((other, c) => {
          const p = average[k][other] / 1000;
          drawing.append(mark(cell(left + c * wide, head + r * row, wide, row, p * 0.95, percent(p)), `Assigned to group ${model.groups[k].label}`, [`average membership in group ${model.groups[other].label}`, percent(p)]));
        });
      });
      return { drawing, controls: pager.control(all.length, "Groups", redraw) };
    },
    table: () => ({ columns: ["assigned", ...model.groups.map((g) => `group ${g.label}`)], rows: average.map((values, k) => [model.groups[k].label, ...values.map((v) => v / 1000)]) }),
  };
};

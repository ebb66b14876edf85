import { axisBottom, cell, mark, nameRoom, scaleLinear, symbol } from "../chart";
import { fitText, h, s } from "../dom";
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
  const pager = new Pager(20), voters = members.of === "voters";
  return {
    id: "memberships",
    title: "How sure the memberships are",
    lead: `Each ${voters ? "voter, with all rankings together," : "ranking"} goes to the group ${voters ? "they fit" : "it fits"} best. The bar shows for how many of them that is clear, and for how many another group fits nearly as well.`,
    draw(width, redraw) {
      const all = model.groups.map((_, k) => k).filter((k) => state.shows(k)), shown = pager.slice(all);
      const row = 30, left = nameRoom(shown.map((k) => state.name(k)), width), right = 62, height = shown.length * row + 44;
      const x = scaleLinear([0, 1], [left, width - right]);
      const drawing = svgRoot(width, height, "Certainty of memberships by group");
      drawing.append(axisBottom(x, 4, height - 40, { format: percent, label: `share of the ${members.of} assigned to the group` }));
      shown.forEach((k, i) => {
        const group = model.groups[k], counts = members.groups[k], y = i * row + 5;
        drawing.append(symbol(state.colour(k), 8, y + 10), s("text", { x: 20, y: y + 10, "dominant-baseline": "central" }, fitText(state.name(k), left - 28)));
        let before = 0;
        for (const level of LEVELS) {
          const share = counts.count > 0 ? counts[level.key] / counts.count : 0;
          if (share <= 0) continue;
          const bar = s("rect", { class: level.css, x: x(before), y, width: Math.max(0.5, x(before + share) - x(before) - 1), height: row - 10, "data-group": group.label, "data-level": level.key, "data-value": counts[level.key] });
          drawing.append(mark(bar, `${state.name(k)}, ${level.name}`, [members.of, count(counts[level.key])], ["share", percent(share)]));
          before += share;
        }
        drawing.append(s("text", { class: "value", x: width - right + 7, y: y + 10, "dominant-baseline": "central" }, count(counts.count)));
      });
      const key = h("div", { class: "legend" }, ...LEVELS.map((level) => h("span", {}, s("svg", { width: 14, height: 14, class: "swatch", "aria-hidden": "true" }, s("rect", { class: level.css, width: 14, height: 14, rx: 3 })), level.name)));
      return { drawing, controls: [key, ...pager.control(all.length, "Groups", redraw)], note: `Numbers at the right: ${members.of} assigned to the group.` };
    },
    table: () => ({
      columns: ["group", members.of, "very_sure", "fairly_sure", "unsure", ...members.groups[0].bins.map((_, b) => `p_${(b / members.groups[0].bins.length).toFixed(2)}`)],
      rows: members.groups.map((g, k) => [state.name(k), g.count, g.very_sure, g.fairly_sure, g.unsure, ...g.bins]),
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
    lead: `${model.memberships?.of === "voters" ? "Voters" : "Rankings"} assigned to the group on the left: their average membership in every group. Off the diagonal, two groups share members.`,
    draw(width, redraw) {
      const all = average.map((_, k) => k).filter((k) => state.shows(k)), shown = pager.slice(all);
      const left = nameRoom(shown.map((k) => state.name(k)), width) - 20, wide = Math.min(84, (width - left) / shown.length), row = 28, head = 26;
      const drawing = svgRoot(width, head + shown.length * row + 2, "Average memberships by assigned group");
      shown.forEach((k, c) => drawing.append(s("text", { class: "column-head", x: left + (c + 0.5) * wide, y: 15, "text-anchor": "middle" }, wide > 64 ? fitText(state.name(k), wide - 4, 11.5) : String(model.groups[k].label))));
      shown.forEach((k, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * row, "text-anchor": "end", "dominant-baseline": "central" }, fitText(state.name(k), left - 12)));
        shown.forEach((other, c) => {
          const p = average[k][other] / 1000;
          drawing.append(mark(cell(left + c * wide, head + r * row, wide, row, p * 0.95, percent(p)), `Assigned to ${state.name(k)}`, [`average membership in ${state.name(other)}`, percent(p)]));
        });
      });
      return { drawing, controls: pager.control(all.length, "Groups", redraw) };
    },
    table: () => ({ columns: ["assigned", ...model.groups.map((_, k) => state.name(k))], rows: average.map((values, k) => [state.name(k), ...values.map((v) => v / 1000)]) }),
  };
};

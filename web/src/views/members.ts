// Who is in each group: the columns that stood beside the rankings.
import { axisBottom, colourClass, mark, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, s, selectBox } from "../dom";
import { count, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";
import { legend } from "../chart";

export const composition: ViewMaker = (state) => {
  const model = state.current, all = model.composition ?? [];
  if (all.length === 0) return null;
  let at = 0;
  const pager = new Pager(12);
  return {
    id: "composition",
    title: "Who is in each group",
    size: "big",
    lead: `Of a group, the share with each value; a ${model.memberships?.of === "voters" ? "voter" : "ranking"} counts for each group with the probability that it belongs there. Lines are 95% intervals; bars: everyone, as counted.`,
    draw(width, redraw) {
      const found = all[at], visible = state.visible(), values = found.values.map((_, v) => v), shown = pager.slice(values);
      const total = found.everyone.reduce((a, b) => a + b, 0);
      const left = widestLabel(shown.map((v) => found.values[v]), Math.min(200, width * 0.34)) + 12, right = 20, row = Math.max(24, 10 + 8 * visible.length), height = shown.length * row + 44;
      const top = Math.max(...shown.flatMap((v) => [found.everyone[v] / Math.max(total, 1e-9), ...visible.map((k) => found.groups[k].high[v])]));
      const x = scaleLinear([0, top], [left, width - right]).nice();
      const drawing = svgRoot(width, height, `Groups by ${found.column}`);
      drawing.append(axisBottom(x, 0, height - 40, { format: percent, label: "share of the group" }));
      shown.forEach((v, r) => {
        const y = r * row + row / 2, everyone = found.everyone[v] / Math.max(total, 1e-9);
        drawing.append(mark(s("rect", { class: "bar gx faint", x: left, y: y - row / 2 + 3, width: Math.max(0.5, x(everyone) - left), height: row - 6, rx: 3 }), `${found.column}: ${found.values[v]}`, ["everyone", `${percent(everyone)} (${count(found.everyone[v])})`]),
          s("text", { x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(found.values[v], left - 12)));
        visible.forEach((k, j) => {
          const group = found.groups[k], offset = visible.length === 1 ? 0 : ((j + 0.5) / visible.length - 0.5) * (row - 8), colour = state.colour(k);
          drawing.append(mark(s("g", { "data-group": model.groups[k].label, "data-value": group.share[v] },
            s("line", { class: `whisker ${colourClass(colour)}`, x1: x(group.low[v]), x2: x(group.high[v]), y1: y + offset, y2: y + offset }), symbol(colour, x(group.share[v]), y + offset, 4)),
          `${found.column}: ${found.values[v]}`, [state.name(k), `${percent(group.share[v])} (${count(group.count[v])})`], ["95% interval", `${percent(group.low[v])} to ${percent(group.high[v])}`]));
        });
      });
      return { drawing, controls: [...(all.length > 1 ? [selectBox("Column", all.map((one, i) => [String(i), one.column]), String(at), (v) => { at = Number(v); pager.page = 0; redraw(); })] : []), legend(visible.map((k) => [state.colour(k), state.name(k)])), ...pager.control(values.length, "Values", redraw)],
        note: found.left_out > 0 ? `${count(found.left_out)} rankings with rarer values are not shown.` : undefined };
    },
    table: () => ({ columns: ["column", "value", "everyone", ...model.groups.flatMap((_, k) => [`${state.name(k)}: count`, `${state.name(k)}: share`, `${state.name(k)}: low`, `${state.name(k)}: high`])],
      rows: all.flatMap((one) => one.values.map((value, v) => [one.column, value, one.everyone[v], ...one.groups.flatMap((g) => [g.count[v], g.share[v], g.low[v], g.high[v]])])) }),
  };
};

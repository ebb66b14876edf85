import { axisBottom, colourClass, mark, nameRoom, scaleLinear, symbol } from "../chart";
import { fitText, s } from "../dom";
import { count, intervalName, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";

export const sizes: ViewMaker = (state) => {
  if (state.current.groups.length < 2) return null;
  const pager = new Pager(20);
  return {
    id: "sizes",
    title: "How large the groups are",
    lead: `The share of all ${state.nouns.voters} in each group. Thin lines show how far the share may be off, where the model says so.`,
    draw(width, redraw) {
      const groups = state.current.groups;
      const all = groups.map((_, k) => k).filter((k) => state.shows(k));
      const shown = pager.slice(all);
      const row = 30, left = nameRoom(shown.map((k) => state.name(k)), width), right = 58, height = shown.length * row + 30;
      const top = Math.max(...groups.map((g) => Math.max(g.weight, g.weight_interval?.[1] ?? 0)));
      const x = scaleLinear([0, top], [left, width - right]).nice();
      const drawing = svgRoot(width, height, "Shares of the groups");
      drawing.append(axisBottom(x, 4, height - 26, { format: percent }));
      shown.forEach((k, i) => {
        const group = groups[k], y = i * row + 5, colour = state.colour(k);
        const bar = s("rect", { class: `bar ${colourClass(colour)}`, x: left, y, width: Math.max(1, x(group.weight) - left), height: row - 10, rx: 3,
          "data-group": group.label, "data-value": group.weight });
        const parts = s("g", {}, symbol(colour, 8, y + 10), s("text", { x: 20, y: y + 10, "dominant-baseline": "central" }, fitText(state.name(k), left - 28)), bar);
        let end = x(group.weight);
        if (group.weight_interval) {
          const [low, high] = group.weight_interval;
          parts.append(s("line", { class: "whisker", x1: x(low), x2: x(high), y1: y + 10, y2: y + 10 }));
          end = Math.max(end, x(high));
        }
        parts.append(s("text", { class: "value", x: end + 7, y: y + 10, "dominant-baseline": "central" }, percent(group.weight)));
        mark(parts, state.name(k), ["share", percent(group.weight)],
          ...(group.weight_interval ? [[intervalName(group.weight_level), group.weight_interval.map(percent).join(" to ")] as [string, string]] : []),
          ...(group.size !== undefined ? [["rankings", count(group.size)] as [string, string]] : []));
        parts.classList.add("clickable");
        parts.addEventListener("click", () => state.toggle(k));
        parts.addEventListener("keydown", (event) => event.key === "Enter" && state.toggle(k));
        drawing.append(parts);
      });
      return { drawing, controls: pager.control(all.length, "Groups", redraw) };
    },
    table: () => ({
      columns: ["group", "share", "low", "high", "size"],
      rows: state.current.groups.map((g, k) => [state.name(k), g.weight, g.weight_interval?.[0], g.weight_interval?.[1], g.size]),
    }),
  };
};

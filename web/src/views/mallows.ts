// Views of the Mallows families and of the Dirichlet process: how strictly groups follow their order, number of clusters, co-clustering.
import { line } from "d3-shape";
import { axisBottom, axisLeft, colourClass, legend, mark, nameRoom, scaleLinear, symbol } from "../chart";
import { fitText, s } from "../dom";
import { fixed, intervalName, number, ordinal, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";
import { hidden } from "./utilities";

export const theta: ViewMaker = (state) => {
  const model = state.current;
  if (!model.groups.some((g) => Array.isArray(g.theta) && g.theta.length > 1)) return null;
  return {
    id: "theta",
    title: "How strictly each place follows the order",
    lead: "The higher the line, the more members of the group agree on who takes that place. Near zero the place is given at random.",
    draw(width) {
      const visible = state.visible().filter((k) => Array.isArray(model.groups[k].theta));
      const left = 52, right = 18, height = 270, top = 30, bottom = height - 44;
      const stages = Math.max(...visible.map((k) => (model.groups[k].theta as number[]).length), 2);
      const top95 = Math.max(0.1, ...visible.flatMap((k) => [...(model.groups[k].theta as number[])]));
      const x = scaleLinear([1, stages], [left + 10, width - right]), y = scaleLinear([0, top95 * 1.15], [bottom, top]).nice().clamp(true);
      const drawing = svgRoot(width, height, "Theta by rank");
      drawing.append(axisLeft(y, left, width - right, { format: (v) => number(v), label: "agreement (theta)" }),
        axisBottom(x, top, bottom, { ticks: x.ticks(Math.min(stages, Math.round(width / 60))).filter(Number.isInteger), format: String, label: "place" }));
      for (const k of visible) {
        const group = model.groups[k], values = group.theta as number[], colour = state.colour(k);
        drawing.append(s("path", { class: `curve ${colourClass(colour)}`, d: line<number>((_, j) => x(j + 1), (v) => y(v))(values) ?? "" }));
        const step = Math.max(1, Math.ceil(values.length / 60));
        values.forEach((value, j) => {
          if (j % step !== 0) return;
          const interval = group.theta_intervals?.[j];
          const parts = s("g", { "data-group": group.label, "data-place": j + 1, "data-value": value });
          if (interval) parts.append(s("line", { class: `whisker ${colourClass(colour)}`, x1: x(j + 1), x2: x(j + 1), y1: y(interval[0]), y2: y(interval[1]) }));
          parts.append(symbol(colour, x(j + 1), y(value), 3.6));
          drawing.append(mark(parts, `${state.name(k)}, ${ordinal(j + 1)} place`, ["theta", number(value)], ...(interval ? [[intervalName(group.theta_level), `${number(interval[0])} to ${number(interval[1])}`] as [string, string]] : [])));
        });
      }
      return { drawing, controls: model.groups.length > 1 ? [legend(visible.map((k) => [state.colour(k), state.name(k)]))] : [], note: hidden(state.selected.size, model.groups.length, visible.length) };
    },
    table: () => ({ columns: ["group", "place", "theta", "low", "high"], rows: model.groups.flatMap((g, k) => (Array.isArray(g.theta) ? g.theta : []).map((v, j) => [state.name(k), j + 1, v, g.theta_intervals?.[j]?.[0], g.theta_intervals?.[j]?.[1]])) }),
  };
};

export const dispersion: ViewMaker = (state) => {
  const model = state.current;
  if (!model.groups.some((g) => typeof g.theta === "number")) return null;
  const pager = new Pager(20);
  return {
    id: "dispersion",
    title: "How closely members follow their group's order",
    lead: "Theta: 0 means any order is as likely as any other; the larger it is, the closer the rankings stay to the group's order.",
    draw(width, redraw) {
      const all = model.groups.map((_, k) => k).filter((k) => state.shows(k) && typeof model.groups[k].theta === "number"), shown = pager.slice(all);
      const left = nameRoom(shown.map((k) => state.name(k)), width) - 20, right = 60, row = 30, height = shown.length * row + 30;
      const x = scaleLinear([0, Math.max(0.1, ...model.groups.map((g) => Math.max(g.theta_intervals?.[0]?.[1] ?? 0, typeof g.theta === "number" ? g.theta : 0)))], [left, width - right]).nice();
      const drawing = svgRoot(width, height, "Theta by group");
      drawing.append(axisBottom(x, 4, height - 26, { format: (v) => number(v) }));
      shown.forEach((k, i) => {
        const group = model.groups[k], value = group.theta as number, y = i * row + 15, colour = state.colour(k), interval = group.theta_intervals?.[0];
        const parts = s("g", { "data-group": group.label, "data-value": value }, s("text", { x: 0, y, "dominant-baseline": "central" }, fitText(state.name(k), left - 10)),
          s("line", { class: `stem ${colourClass(colour)}`, x1: left, x2: x(value), y1: y, y2: y }));
        if (interval) parts.append(s("line", { class: "whisker", x1: x(interval[0]), x2: x(interval[1]), y1: y, y2: y }));
        parts.append(symbol(colour, x(value), y, 5.5), s("text", { class: "value", x: Math.max(x(value), interval ? x(interval[1]) : 0) + 10, y, "dominant-baseline": "central" }, fixed(value, 2)));
        drawing.append(mark(parts, state.name(k), ["theta", number(value)], ...(interval ? [[intervalName(group.theta_level), `${number(interval[0])} to ${number(interval[1])}`] as [string, string]] : [])));
      });
      return { drawing, controls: pager.control(all.length, "Groups", redraw) };
    },
    table: () => ({ columns: ["group", "theta", "low", "high"], rows: model.groups.map((g) => [g.label, typeof g.theta === "number" ? g.theta : null, g.theta_intervals?.[0]?.[0], g.theta_intervals?.[0]?.[1]]) }),
  };
};

export const clusterCount: ViewMaker = (state) => {
  const clusters = state.current.clusters;
  if (!clusters || clusters.num_clusters.length === 0) return null;
  const total = clusters.num_clusters.reduce((a, [, c]) => a + c, 0);
  return {
    id: "cluster-count",
    title: "How many groups there may be",
    lead: clusters.words,
    draw(width) {
      const ks = clusters.num_clusters.map(([k]) => k), low = Math.min(...ks), high = Math.max(...ks);
      const left = 52, right = 16, height = 240, top = 26, bottom = height - 44, bar = Math.min(70, (width - left - right) / (high - low + 1));
      const x = scaleLinear([low - 0.5, high + 0.5], [left, left + bar * (high - low + 1)]);
      const y = scaleLinear([0, Math.max(...clusters.num_clusters.map(([, c]) => c)) / total], [bottom, top]).nice();
      const drawing = svgRoot(width, height, "Posterior of the number of groups");
      drawing.append(axisLeft(y, left, width - right, { format: percent, label: "probability" }));
      for (const [k, draws] of clusters.num_clusters)
        drawing.append(mark(s("rect", { class: "bar g0", x: x(k - 0.5) + 1, y: y(draws / total), width: Math.max(1, bar - 2), height: Math.max(0.5, bottom - y(draws / total)), "data-k": k, "data-value": draws }),
          `${k} ${k === 1 ? "group" : "groups"}`, ["probability", percent(draws / total)], ["draws", String(draws)]));
      const every = Math.max(1, Math.ceil(26 / bar)), ticks = [];
      for (let k = low; k <= high; k += every) ticks.push(k);
      drawing.append(axisBottom(x, bottom, bottom, { ticks, format: String, label: "number of groups" }));
      return { drawing };
    },
    table: () => ({ columns: ["groups", "draws", "probability"], rows: clusters.num_clusters.map(([k, c]) => [k, c, c / total]) }),
  };
};

export const coclustering: ViewMaker = (state) => {
  const together = state.current.clusters?.coclustering, model = state.current;
  if (!together || together.labels.length < 2) return null;
  const size = together.labels.length;
  return {
    id: "coclustering",
    title: "Which rankings belong together",
    lead: "Each row and column is a ranking, sorted by group. Dark squares: the two were in one group in nearly all draws. Clean blocks mean clear groups.",
    draw(width) {
      const left = 64, room = Math.min(width - left, 620), step = room / size;
      const drawing = svgRoot(width, Math.ceil(room) + 6, "Co-clustering matrix");
      for (let i = 0; i < size; ++i)
        for (let j = 0; j < size; ++j) {
          const p = together.values[i * size + j] / 1000;
          if (p < 0.02) continue;
          const box = s("rect", { class: "cell plus", x: (left + j * step).toFixed(2), y: (i * step).toFixed(2), width: (step + 0.05).toFixed(2), height: (step + 0.05).toFixed(2), "fill-opacity": p.toFixed(2) });
          if (size <= 60) mark(box, `Rankings ${i + 1} and ${j + 1}`, ["together in", percent(p)], ["groups", `${model.groups[together.labels[i]].label} and ${model.groups[together.labels[j]].label}`]);
          drawing.append(box);
        }
      let from = 0, lastLabel = -100;
      for (let i = 1; i <= size; ++i) {
        if (i < size && together.labels[i] === together.labels[from]) continue;
        const middle = ((from + i) / 2) * step;
        if (middle - lastLabel > 14) {
          drawing.append(s("text", { x: left - 8, y: middle, "text-anchor": "end", "dominant-baseline": "central" }, fitText(state.name(together.labels[from]), left - 10)));
          lastLabel = middle;
        }
        if (i < size) drawing.append(s("line", { class: "block", x1: left, x2: left + room, y1: i * step, y2: i * step }), s("line", { class: "block", x1: left + i * step, x2: left + i * step, y1: 0, y2: room }));
        from = i;
      }
      return { drawing, note: `${size} rankings.` };
    },
    table: () => ({ columns: ["row", "group", ...together.labels.map((_, j) => String(j + 1))], rows: together.labels.map((label, i) => [i + 1, model.groups[label].label, ...together.values.slice(i * size, (i + 1) * size).map((v) => v / 1000)]) }),
  };
};


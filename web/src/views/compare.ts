// Families side by side, models side by side.
import { axisBottom, mark, padded, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, fixed, number, seconds } from "../format";
import { svgRoot, type ViewMaker } from "../view";
import { flows, MOST_GROUPS } from "./flows";

export const comparison: ViewMaker = (state) => {
  const found = state.report.comparison;
  if (!found || found.table.length === 0) return null;
  const rows = [...found.table].sort((a, b) => b.heldout_mean - a.heldout_mean);
  return {
    id: "comparison",
    title: "Which kind of model predicts best",
    lead: found.sentences.join(" "),
    size: "wide",
    draw(width) {
      // The same rankings are held out for every family, so differences are far surer than the values themselves.
      const paired = rows.length > 1 && rows.slice(1).every((r) => typeof r.difference === "number");
      const value = (r: (typeof rows)[number], i: number) => (paired ? (i === 0 ? 0 : r.difference!) : r.heldout_mean);
      const error = (r: (typeof rows)[number], i: number) => (paired ? (i === 0 ? 0 : r.difference_se ?? 0) : r.heldout_se);
      const left = widestLabel(rows.map((r) => r.name), Math.min(180, width * 0.3), 13) + 12, facts = width > 560 ? 190 : 0, right = 16 + facts, row = 34, top = facts ? 22 : 0, height = top + rows.length * row + 44;
      const x = scaleLinear(padded(Math.min(...rows.map((r, i) => value(r, i) - 2 * error(r, i))), Math.max(...rows.map((r, i) => value(r, i) + 2 * error(r, i)))), [left, width - right]);
      const drawing = svgRoot(width, height, paired ? "Held-out log-likelihood per ranking, behind the best" : "Held-out log-likelihood per ranking by family");
      drawing.append(axisBottom(x, top, height - 40, { format: (v) => number(v, paired ? 2 : 4), label: paired ? "held-out log-likelihood per ranking, difference to the best · better →" : "held-out log-likelihood per ranking · better →" }));
      if (paired) drawing.append(s("line", { class: "reference", x1: x(0), x2: x(0), y1: top, y2: height - 40 }));
      if (facts) ["groups", "time"].forEach((name, c) => drawing.append(s("text", { class: "column-head", x: width - facts + 70 + c * 84, y: 13, "text-anchor": "end" }, name)));
      rows.forEach((r, i) => {
        const y = top + i * row + row / 2;
        // The whole row answers to the pointer, not only its ink.
        const parts = s("g", { "data-name": r.name, "data-value": value(r, i) }, s("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row }), s("text", { class: i === 0 ? "value" : "", x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(r.name, left - 12)),
          s("line", { class: "whisker g0", x1: x(value(r, i) - 1.96 * error(r, i)), x2: x(value(r, i) + 1.96 * error(r, i)), y1: y, y2: y }), symbol(i === 0 ? 1 : 0, x(value(r, i)), y, 5.5));
        if (facts) {
          if (typeof r.groups === "number") parts.append(s("text", { x: width - facts + 70, y, "text-anchor": "end", "dominant-baseline": "central" }, number(r.groups)));
          if (typeof r.seconds === "number") parts.append(s("text", { x: width - facts + 154, y, "text-anchor": "end", "dominant-baseline": "central" }, seconds(r.seconds)));
        }
        const tips: [string, string][] = [["held-out per ranking", `${fixed(r.heldout_mean, 4)} ± ${fixed(r.heldout_se, 4)}`]];
        if (typeof r.difference === "number" && i > 0) tips.push(["behind the best by", `${fixed(Math.abs(r.difference), 4)} ± ${fixed(r.difference_se ?? 0, 4)}`]);
        if (typeof r.groups === "number") tips.push(["groups", number(r.groups)]);
        if (typeof r.seconds === "number") tips.push(["time", seconds(r.seconds)]);
        if (typeof r.memory_mb === "number") tips.push(["memory", `${number(r.memory_mb)} MB`]);
        drawing.append(mark(parts, r.name, ...tips));
      });
      const notes = [paired ? `The best has ${fixed(rows[0].heldout_mean, 4)} per ranking. Lines are 95% intervals of the difference, ranking by ranking.` : "", found.left_out.length ? `Left out: ${found.left_out.map((one) => `${one.name} (${one.why})`).join("; ")}.` : ""];
      return { drawing, note: notes.filter(Boolean).join(" ") || undefined };
    },
    table: () => ({ columns: ["family", "heldout_mean", "heldout_se", "difference", "difference_se", "groups", "seconds", "memory_mb"], rows: rows.map((r) => [r.name, r.heldout_mean, r.heldout_se, r.difference, r.difference_se, r.groups, r.seconds, r.memory_mb]) }),
  };
};

export const models: ViewMaker = (state) => {
  const all = state.report.models;
  if (all.length < 2) return null;
  const row = (m: (typeof all)[number]) => [m.name, m.family, m.groups.length || null, m.scores.loglik, m.scores.num_parameters, m.scores.bic, m.scores.icl, m.scores.seconds];
  return {
    id: "models",
    title: "The models side by side",
    lead: "Log-likelihood: higher fits better. BIC and ICL charge for every parameter: lower is better. Compare them only between models of the same data.",
    size: "wide",
    draw() {
      const best = Math.min(...all.map((m) => m.scores.bic ?? Infinity));
      const cells = (m: (typeof all)[number], i: number) => {
        const [name, family, groups, loglik, parameters, bic, icl, time] = row(m);
        const choose = h("button", { type: "button", class: "link" }, String(name));
        choose.addEventListener("click", () => state.choose(i));
        return h("tr", { class: i === state.model ? "current" : "", "data-model": i }, h("th", { scope: "row" }, choose), h("td", {}, String(family)), ...[groups, loglik, parameters, bic, icl].map((v, c) =>
          h("td", { class: c === 3 && v === best ? "number best" : "number" }, typeof v === "number" ? (c === 0 || c === 2 ? count(v) : v.toLocaleString("en-US", { maximumFractionDigits: 1 })) : "–")), h("td", { class: "number" }, typeof time === "number" ? seconds(time) : "–"));
      };
      return { drawing: h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "The models" }, h("table", {}, h("thead", {}, h("tr", {}, ...["model", "family", "groups", "log-likelihood", "parameters", "BIC", "ICL", "time"].map((name, c) => h("th", { scope: "col", class: c > 1 ? "number" : null }, name)))), h("tbody", {}, ...all.map(cells)))) };
    },
    table: () => ({ columns: ["model", "family", "groups", "loglik", "num_parameters", "bic", "icl", "seconds"], rows: all.map(row) }),
  };
};

export const changes: ViewMaker = (state) => {
  const all = state.report.changes;
  if (!all || all.length === 0) return null;
  let at = 0;
  const name = (i: number) => state.report.models[i].name;
  return {
    id: "changes",
    title: "What changed between the models",
    lead: "Groups of two models are matched by who is in them or, without data, by what they like. A band holds the rankings that lie in both of its ends.",
    size: "wide",
    draw(width, redraw) {
      const change = all[at], from = state.report.models[change.from], to = state.report.models[change.to];
      const box = h("div", {}, h("ul", { class: "sentences" }, ...change.sentences.map((text) => h("li", {}, text))));
      if (change.cross) {
        box.append(flows(from, to, change.cross, width));
      }
      const most = Math.max(from.groups.length, to.groups.length);
      return { drawing: box, note: change.cross && most > MOST_GROUPS ? `The ${MOST_GROUPS} largest groups of each; the table has all.` : undefined, controls: all.length > 1 ? [selectBox("Change", all.map((one, i) => [String(i), `${name(one.from)} → ${name(one.to)}`]), String(at), (v) => { at = Number(v); redraw(); })] : [] };
    },
    table: () => ({ columns: ["from", "group", "to", "group", "rankings"], rows: all.flatMap((one) => (one.cross ?? []).flatMap((values, r) => values.map((v, c) => [name(one.from), r + 1, name(one.to), c + 1, v]))) }),
  };
};

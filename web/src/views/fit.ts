// Model selection, convergence, diagnostics, goodness of fit.
import { line } from "d3-shape";
import { axisBottom, axisLeft, colourClass, legend, mark, padded, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, fixed, number, percent } from "../format";
import type { Selection } from "../types";
import { Pager, svgRoot, type ViewMaker } from "../view";

const CRITERIA: [keyof Selection["table"][number], string, string][] = [
  ["bic", "BIC", "lower is better"], ["icl", "ICL", "lower is better"], ["aic", "AIC", "lower is better"],
  ["ebic", "EBIC", "lower is better"], ["heldout_mean", "Held-out log-likelihood per ranking", "higher is better"], ["replication", "Agreement of the halves on the weakest group", "1 is the same group"],
  ["loglik", "Log-likelihood", "always rises with more groups"],
];

export const selection: ViewMaker = (state) => {
  const chosen = state.report.selection;
  if (!chosen || chosen.table.length < 2) return null;
  const has = CRITERIA.filter(([key]) => chosen.table.some((row) => typeof row[key] === "number"));
  if (has.length === 0) return null;
  let key = (has.find(([name]) => name === chosen.criterion || (["cv", "holdout", "halves"].includes(chosen.criterion) && name === "heldout_mean")) ?? has[0])[0];
  return {
    id: "selection",
    title: "How many groups",
    lead: chosen.sentences.join(" "),
    draw(width, redraw) {
      const [, name, better] = CRITERIA.find(([c]) => c === key)!;
      const rows = chosen.table.filter((row) => typeof row[key] === "number");
      const value = (row: Selection["table"][number]) => row[key] as number;
      const error = (row: Selection["table"][number]) => (key === "heldout_mean" ? row.heldout_se ?? 0 : 0);
      const left = 72, right = 24, height = 280, top = 30, bottom = height - 44;
      const ks = rows.map((row) => row.k);
      const x = scaleLinear([Math.min(...ks), Math.max(...ks, Math.min(...ks) + 1)], [left + 12, width - right]);
      const y = scaleLinear(padded(Math.min(...rows.map((r) => value(r) - error(r))), Math.max(...rows.map((r) => value(r) + error(r))), 0.08), [bottom, top]);
      const drawing = svgRoot(width, height, `${name} by number of groups`);
      const every = Math.max(1, Math.ceil(ks.length / ((width - left) / 28)));
      drawing.append(axisLeft(y, left, width - right, { format: (v) => number(v, 5), label: `${name} (${better})` }),
        axisBottom(x, top, bottom, { ticks: ks.filter((_, i) => i % every === 0), format: String, label: "number of groups" }),
        s("path", { class: "curve g0", d: line<Selection["table"][number]>((r) => x(r.k), (r) => y(value(r)))(rows) ?? "" }));
      for (const row of rows) {
        const best = row.k === chosen.chosen_k;
        const parts = s("g", { "data-k": row.k, "data-value": value(row) });
        if (error(row) > 0) parts.append(s("line", { class: "whisker g0", x1: x(row.k), x2: x(row.k), y1: y(value(row) - error(row)), y2: y(value(row) + error(row)) }));
        parts.append(s("circle", { class: best ? "dot g1" : "dot g0", cx: x(row.k), cy: y(value(row)), r: best ? 7 : 4.5 }));
        if (best) parts.append(s("text", { class: "value", x: x(row.k), y: y(value(row)) + (y(value(row)) > height / 2 ? -14 : 22), "text-anchor": row.k === ks[ks.length - 1] ? "end" : "middle" }, "chosen"));
        drawing.append(mark(parts, `${row.k} ${row.k === 1 ? "group" : "groups"}`, [name, number(value(row), 7)], ...(error(row) > 0 ? [["standard error", number(error(row))] as [string, string]] : [])));
      }
      return { drawing, controls: has.length > 1 ? [selectBox("Measure", has.map(([c, n]) => [c, n]), key, (v) => { key = v as typeof key; redraw(); })] : [] };
    },
    table: () => ({ columns: ["k", "loglik", "ebic", "bic", "aic", "icl", "heldout_mean", "heldout_se", "replication", "seconds"],
      rows: chosen.table.map((r) => [r.k, r.loglik, r.ebic, r.bic, r.aic, r.icl, r.heldout_mean, r.heldout_se, r.replication, r.seconds]) }),
  };
};

export const traces: ViewMaker = (state) => {
  const all = state.current.traces.filter((t) => t.chains.some((c) => c.values.length > 1));
  if (all.length === 0) return null;
  let at = 0;
  return {
    id: "traces",
    title: all[0].chains.length > 1 || all.length > 1 ? "How the sampler went" : "How the fit went",
    lead: all[0].words,
    draw(width, redraw) {
      const trace = all[at];
      const left = 72, right = 18, height = 260, top = 30, bottom = height - 44;
      const index = (chain: (typeof trace.chains)[number], i: number) => chain.iterations?.[i] ?? i;
      let low = Infinity, high = -Infinity, last = 1;
      for (const chain of trace.chains) chain.values.forEach((v, i) => { low = Math.min(low, v); high = Math.max(high, v); last = Math.max(last, index(chain, i)); });
      // A first step far below the rest would flatten the part that matters: long traces show the later 90% in full.
      const x = scaleLinear([0, last], [left, width - right]), y = scaleLinear(padded(low, high), [bottom, top]).clamp(true);
      const drawing = svgRoot(width, height, `${trace.name} by iteration`);
      drawing.append(axisLeft(y, left, width - right, { format: (v) => number(v, 5), label: trace.name }), axisBottom(x, top, bottom, { format: (v) => count(v), label: "iteration" }));
      if (trace.burnin) drawing.append(s("rect", { class: "burnin", x: left, y: top, width: Math.max(0, x(trace.burnin) - left), height: bottom - top }));
      trace.chains.forEach((chain, c) => {
        drawing.append(s("path", { class: `curve thin ${colourClass(c % 8)}`, d: line<number>((_, i) => x(index(chain, i)), (v) => y(v))(chain.values) ?? "" }));
        const step = Math.max(1, Math.ceil(chain.values.length / 60));
        chain.values.forEach((v, i) => {
          if (i % step !== 0 && i !== chain.values.length - 1) return;
          drawing.append(mark(s("circle", { class: `dot ${colourClass(c % 8)}`, cx: x(index(chain, i)), cy: y(v), r: chain.values.length > 40 ? 2.2 : 3.5, "data-iteration": index(chain, i), "data-value": v }),
            `${trace.chains.length > 1 ? chain.name + ", " : ""}iteration ${count(index(chain, i))}`, [trace.name, number(v, 8)]));
        });
      });
      const controls: Element[] = all.length > 1 ? [selectBox("Show", all.map((t, i) => [String(i), t.name]), String(at), (v) => { at = Number(v); redraw(); })] : [];
      if (trace.chains.length > 1) controls.push(legend(trace.chains.map((chain, c) => [c % 8, chain.name])));
      return { drawing, controls, note: trace.burnin ? "The shaded part is the warm-up, which is not used." : undefined };
    },
    table: () => ({ columns: ["quantity", "chain", "iteration", "value"], rows: all.flatMap((t) => t.chains.flatMap((c) => c.values.map((v, i) => [t.name, c.name, c.iterations?.[i] ?? i, v]))) }),
  };
};

export const diagnostics: ViewMaker = (state) => {
  const rows = state.current.diagnostics;
  if (rows.length === 0) return null;
  return {
    id: "diagnostics",
    title: "Can the fit be trusted",
    lead: "What the fitting says about itself.",
    draw() {
      return { drawing: h("dl", { class: "facts" }, ...rows.map((row) => h("div", { class: row.good === false ? "bad" : row.good ? "good" : "" },
        h("dt", {}, row.name), h("dd", {}, h("b", {}, row.value), " ", h("span", {}, row.words))))) };
    },
    table: () => ({ columns: ["name", "value", "words"], rows: rows.map((r) => [r.name, r.value, r.words]) }),
  };
};

export const goodness: ViewMaker = (state) => {
  const good = state.current.goodness;
  if (!good || good.checks.length === 0) return null;
  let at = 0;
  const pager = new Pager(20);
  return {
    id: "goodness",
    title: "Does the model fit the data",
    lead: good.sentences.join(" "),
    draw(width, redraw) {
      const check = good.checks[at];
      const query = state.query.trim().toLocaleLowerCase();
      const rows = check.rows.filter((r) => r.label.toLocaleLowerCase().includes(query));
      const shown = pager.slice(rows);
      const text = check.unit === "share" ? percent : count;
      const left = widestLabel(shown.map((r) => r.label), Math.min(260, width * 0.4)) + 12, right = 20, row = 24, height = shown.length * row + 44;
      const all = rows.flatMap((r) => [r.observed, r.low, r.high]);
      const x = scaleLinear(padded(Math.min(0, ...all), Math.max(...all, 0.01), 0.02), [left, width - right]);
      const drawing = svgRoot(width, height, check.name);
      drawing.append(axisBottom(x, 0, height - 40, { format: text, ticks: x.ticks(Math.max(2, (width - left) / 90)).filter((t) => t >= 0), label: check.name }));
      shown.forEach((r, i) => {
        const y = i * row + row / 2, outside = r.observed < r.low || r.observed > r.high;
        const parts = s("g", { "data-observed": r.observed, "data-expected": r.expected },
          s("text", { x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(r.label, left - 12)),
          s("rect", { class: "band", x: x(r.low), y: y - 7, width: Math.max(2, x(r.high) - x(r.low)), height: 14, rx: 3 }),
          s("line", { class: "expected", x1: x(r.expected), x2: x(r.expected), y1: y - 7, y2: y + 7 }), symbol(outside ? 1 : 0, x(r.observed), y, 4.4));
        drawing.append(mark(parts, r.label, ["observed", text(r.observed)], ["the model expects", text(r.expected)], ["95% of repeats", `${text(r.low)} to ${text(r.high)}`]));
      });
      const controls: Element[] = good.checks.length > 1 ? [selectBox("Check", good.checks.map((c, i) => [String(i), c.name]), String(at), (v) => { at = Number(v); pager.page = 0; redraw(); })] : [];
      controls.push(legend([[0, "observed, as expected"], [1, "observed, outside the band"]]), ...pager.control(rows.length, "Rows", redraw));
      return { drawing, controls, note: `${check.words}${check.p_value !== undefined ? ` p = ${check.p_value < 0.001 ? "below 0.001" : fixed(check.p_value, 3)}.` : ""}` };
    },
    table: () => ({ columns: ["check", "label", "observed", "expected", "low", "high"], rows: good.checks.flatMap((c) => c.rows.map((r) => [c.name, r.label, r.observed, r.expected, r.low, r.high])) }),
  };
};

import { line } from "d3-shape";
import { scaleLog } from "d3-scale";
import { axisBottom, axisLeft, cell, colourClass, legend, mark, padded, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, fixed, number, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";

const CLASSES = 8;

export const coefficients: ViewMaker = (state) => {
  const fit = state.current.regression;
  if (!fit) return null;
  const pager = new Pager(20);
  let sort = "size";
  return {
    id: "coefficients",
    size: "big",
    title: "What speaks for each outcome",
    lead: `${fit.scale} Larger means the feature pulls more towards that outcome; zero means it plays no part. Lines are 95% intervals where the method gives them.`,
    draw(width, redraw) {
      const classes = fit.classes.map((_, k) => k).slice(0, CLASSES);
      const query = state.query.trim().toLocaleLowerCase();
      const size = fit.features.map((_, j) => Math.max(...fit.lambda.map((row) => row[j])));
      const features = fit.features.map((_, j) => j).filter((j) => fit.features[j].toLocaleLowerCase().includes(query));
      if (sort === "size") features.sort((a, b) => size[b] - size[a]);
      else if (sort === "name") features.sort((a, b) => fit.features[a].localeCompare(fit.features[b], "en", { numeric: true }));
      const shown = pager.slice(features);
      const left = widestLabel(shown.map((j) => fit.features[j]), Math.min(220, width * 0.36)) + 12, right = 16, row = Math.max(24, 10 + 7 * Math.min(classes.length, 4)), height = shown.length * row + 44;
      const top = Math.max(1e-9, ...features.flatMap((j) => classes.map((k) => fit.lambda[k][j])));
      const high = Math.max(top, Math.min(top * 1.5, ...[Math.max(top, ...features.flatMap((j) => classes.map((k) => fit.intervals?.[k]?.[j]?.[1] ?? 0)))]));
      const least = Math.min(0, ...features.flatMap((j) => classes.map((k) => fit.lambda[k][j])));
      const x = scaleLinear(padded(least, high, 0.02), [left, width - right]).clamp(true);
      const drawing = svgRoot(width, height, "Coefficients by feature and outcome");
      drawing.append(axisBottom(x, 0, height - 40, { format: (v) => number(v), ticks: x.ticks(Math.max(2, (width - left) / 90)).filter((t) => t >= least), label: "coefficient" }));
      shown.forEach((j, r) => {
        const y = r * row + row / 2;
        drawing.append(s("line", { class: "row-line", x1: left, x2: width - right, y1: y + row / 2, y2: y + row / 2 }),
          s("text", { x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(fit.features[j], left - 12)));
        classes.forEach((k, v) => {
          const offset = classes.length === 1 ? 0 : ((v + 0.5) / classes.length - 0.5) * (row - 10), value = fit.lambda[k][j], interval = fit.intervals?.[k]?.[j];
          const parts = s("g", { "data-class": k, "data-feature": j, "data-value": value });
          if (interval) parts.append(s("line", { class: `whisker ${colourClass(v)}`, x1: x(interval[0]), x2: x(interval[1]), y1: y + offset, y2: y + offset }));
          parts.append(symbol(v, x(value), y + offset, classes.length > 4 ? 3.6 : 4.6));
          drawing.append(mark(parts, fit.features[j], ["outcome", fit.classes[k]], ["coefficient", number(value)], ...(interval ? [["95% interval", `${number(interval[0])} to ${number(interval[1])}`] as [string, string]] : [])));
        });
      });
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No feature has this name."), controls: [
        selectBox("Sort", [["size", "largest first"], ["name", "by name"], ["file", "as in the model"]], sort, (v) => { sort = v; redraw(); }),
        legend(classes.map((k) => [k, fit.classes[k]])), ...pager.control(features.length, "Features", redraw)],
        note: [fit.classes.length > CLASSES ? `The first ${CLASSES} of ${fit.classes.length} outcomes; the table has all.` : "", fit.left_out ? `${count(fit.left_out)} features with smaller coefficients are left out.` : ""].join(" ").trim() || undefined };
    },
    table: () => ({ columns: ["feature", "class", "coefficient", "low", "high"], rows: fit.classes.flatMap((name, k) => fit.features.map((f, j) => [f, name, fit.lambda[k][j], fit.intervals?.[k]?.[j]?.[0], fit.intervals?.[k]?.[j]?.[1]])) }),
  };
};

export const path: ViewMaker = (state) => {
  const found = state.current.regression?.path;
  if (!found || found.values.length < 2) return null;
  const estimators = [...new Set(found.series.map((one) => one.estimator))];
  let estimator = estimators[0];
  return {
    id: "path",
    title: "How the coefficients grow and vanish",
    lead: `Each line is one coefficient as the prior (${found.parameter}) goes from strict, at the left, to loose. Lines that stay at zero longest matter least.`,
    draw(width, redraw) {
      const series = found.series.filter((one) => one.estimator === estimator);
      const largest = (one: (typeof series)[number]) => Math.max(...one.values.map(Math.abs));
      const strongest = [...series].sort((a, b) => largest(b) - largest(a)).slice(0, 8);
      const left = 56, right = 18, height = 320, top = 30, bottom = height - 44;
      const positive = found.values.every((v) => v > 0) && Math.max(...found.values) / Math.min(...found.values) > 20;
      const domain = [Math.min(...found.values), Math.max(...found.values)];
      const x = positive ? scaleLog(domain, [left, width - right]) : scaleLinear(domain, [left, width - right]);
      const all = series.flatMap((one) => one.values);
      const y = scaleLinear(padded(Math.min(0, ...all), Math.max(...all)), [bottom, top]);
      const drawing = svgRoot(width, height, "Regularization path");
      drawing.append(axisLeft(y, left, width - right, { format: (v) => number(v), label: "coefficient" }), axisBottom(x, top, bottom, { ticks: positive ? x.ticks(4).filter((t) => Math.abs(Math.log10(t) % 1) < 1e-6 ) : undefined, format: (v) => number(v), label: found.parameter }));
      for (const one of series) {
        const c = strongest.indexOf(one);
        const curve = s("path", { class: c < 0 ? "curve thin gx faint" : `curve ${colourClass(c)}`, d: line<number>((_, i) => x(found.values[i]), (v) => y(v))(one.values) ?? "", "data-series": one.name });
        drawing.append(mark(curve, one.name, ["largest", number(largest(one))], ["at the loosest", number(one.values[one.values.length - 1])]));
      }
      return { drawing, controls: [...(estimators.length > 1 ? [selectBox("Estimate", estimators.map((e) => [e, e]), estimator, (v) => { estimator = v; redraw(); })] : []), legend(strongest.map((one, c) => [c, one.name]))] };
    },
    table: () => ({ columns: ["estimator", "series", found.parameter, "value"], rows: found.series.flatMap((one) => one.values.map((v, i) => [one.estimator, one.name, found.values[i], v])) }),
  };
};

export const roc: ViewMaker = (state) => {
  const curves = state.current.regression?.roc;
  if (!curves || curves.length === 0) return null;
  return {
    id: "roc",
    title: "How well the outcomes are told apart",
    lead: "The closer a curve comes to the upper left corner, the better. The diagonal is guessing. AUC is the chance that a case with the outcome gets a higher score than one without.",
    draw(width) {
      const side = Math.min(width - 76, 400), left = 52, top = 26, bottom = top + side;
      const x = scaleLinear([0, 1], [left, left + side]), y = scaleLinear([0, 1], [bottom, top]);
      const drawing = svgRoot(width, bottom + 46, "ROC curves");
      drawing.append(axisLeft(y, left, left + side, { format: percent, label: "found (true positives)" }), axisBottom(x, top, bottom, { count: 5, format: percent, label: "false alarms" }),
        s("line", { class: "reference", x1: x(0), x2: x(1), y1: y(0), y2: y(1) }));
      curves.slice(0, CLASSES).forEach((curve, c) => drawing.append(mark(s("path", { class: `curve ${colourClass(c)}`, d: line<number>((_, i) => x(curve.fpr[i]), (v) => y(v))(curve.tpr) ?? "", "data-class": curve.name, "data-value": curve.auc }), curve.name, ["AUC", fixed(curve.auc, 3)])));
      return { drawing, controls: [legend(curves.slice(0, CLASSES).map((curve, c) => [c, `${curve.name}: AUC ${fixed(curve.auc, 3)}`]))] };
    },
    table: () => ({ columns: ["class", "auc", "false_positive_rate", "true_positive_rate"], rows: curves.flatMap((c) => c.fpr.map((f, i) => [c.name, c.auc, f, c.tpr[i]])) }),
  };
};

export const calibration: ViewMaker = (state) => {
  const points = state.current.regression?.calibration;
  if (!points || points.length === 0) return null;
  return {
    id: "calibration",
    title: "Do the probabilities hold",
    lead: "Where the model says 70%, it should be right in 70% of the cases: points on the diagonal.",
    draw(width) {
      const side = Math.min(width - 76, 400), left = 52, top = 26, bottom = top + side, most = Math.max(...points.map((p) => p.count));
      const x = scaleLinear([0, 1], [left, left + side]), y = scaleLinear([0, 1], [bottom, top]);
      const drawing = svgRoot(width, bottom + 46, "Calibration curve");
      drawing.append(axisLeft(y, left, left + side, { format: percent, label: "what happened" }), axisBottom(x, top, bottom, { count: 5, format: percent, label: "what the model said" }),
        s("line", { class: "reference", x1: x(0), x2: x(1), y1: y(0), y2: y(1) }));
      for (const point of points)
        drawing.append(mark(s("g", { "data-predicted": point.predicted, "data-observed": point.observed }, s("line", { class: "whisker g0", x1: x(point.predicted), x2: x(point.predicted), y1: y(point.low), y2: y(point.high) }),
          s("circle", { class: "dot g0", cx: x(point.predicted), cy: y(point.observed), r: 3 + 6 * Math.sqrt(point.count / most) })),
          `Predicted ${percent(point.predicted)}`, ["observed", percent(point.observed)], ["95% interval", `${percent(point.low)} to ${percent(point.high)}`], ["cases", count(point.count)]));
      return { drawing, note: "Larger points stand for more cases." };
    },
    table: () => ({ columns: ["predicted", "observed", "low", "high", "count"], rows: points.map((p) => [p.predicted, p.observed, p.low, p.high, p.count]) }),
  };
};

export const confusion: ViewMaker = (state) => {
  const fit = state.current.regression;
  if (!fit?.confusion) return null;
  const table = fit.confusion, total = table.map((row) => row.reduce((a, b) => a + b, 0));
  const pager = new Pager(12);
  return {
    id: "confusion",
    title: "Right and wrong predictions",
    lead: "Rows are what was true, columns what was predicted. The diagonal is right.",
    draw(width, redraw) {
      const all = fit.classes.map((_, k) => k), shown = pager.slice(all);
      const left = widestLabel(fit.classes, Math.min(160, width * 0.3)) + 10, wide = Math.min(110, (width - left) / shown.length), row = 30, head = 26;
      const drawing = svgRoot(width, head + shown.length * row + 2, "Confusion table");
      shown.forEach((k, c) => drawing.append(s("text", { class: "column-head", x: left + (c + 0.5) * wide, y: 15, "text-anchor": "middle" }, fitText(fit.classes[k], wide - 6))));
      shown.forEach((k, r) => {
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * row, "text-anchor": "end", "dominant-baseline": "central" }, fitText(fit.classes[k], left - 10)));
        shown.forEach((other, c) => {
          const value = table[k][other], share = total[k] > 0 ? value / total[k] : 0;
          drawing.append(mark(cell(left + c * wide, head + r * row, wide, row, share * 0.95, count(value), k !== other), `True: ${fit.classes[k]}`, ["predicted", fit.classes[other]], ["cases", `${count(value)} (${percent(share)})`]));
        });
      });
      return { drawing, controls: pager.control(all.length, "Classes", redraw) };
    },
    table: () => ({ columns: ["true", ...fit.classes], rows: table.map((row, k) => [fit.classes[k], ...row]) }),
  };
};

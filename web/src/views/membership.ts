// What puts a voter into a group, and what a group values in an item: shares by value, and coefficients with their intervals.
import { axisBottom, colourClass, legend, mark, padded, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { number, percent } from "../format";
import type { State } from "../state";
import type { Coefficients } from "../types";
import { Pager, svgRoot, type View, type ViewMaker } from "../view";

// A row per label, in it a point with its interval for every group that is shown.
function points(state: State, width: number, name: string, rows: { label: string; of: (k: number) => { value: number; low?: number; high?: number } }[],
  groups: number[], format: (value: number) => string, axis: string, domain: [number, number]): SVGSVGElement {
  const left = widestLabel(rows.map((row) => row.label), Math.min(220, width * 0.36)) + 12, right = 20;
  const row = Math.max(24, 10 + 9 * groups.length), height = rows.length * row + 44;
  const x = scaleLinear(domain, [left, width - right]).nice();
  const drawing = svgRoot(width, height, name);
  drawing.append(axisBottom(x, 0, height - 40, { format, label: axis }));
  if (domain[0] < 0 && domain[1] > 0) drawing.append(s("line", { class: "reference", x1: x(0), x2: x(0), y1: 0, y2: height - 40 }));
  rows.forEach((one, r) => {
    const y = r * row + row / 2;
    drawing.append(s("text", { x: left - 12, y, "text-anchor": "end", "dominant-baseline": "central" }, fitText(one.label, left - 12)));
    groups.forEach((k, j) => {
      const { value, low, high } = one.of(k), at = y + (groups.length === 1 ? 0 : ((j + 0.5) / groups.length - 0.5) * (row - 8)), colour = state.colour(k);
      const lines: [string, string][] = [[state.name(k), format(value)]];
      if (low !== undefined && high !== undefined) lines.push(["95% interval", `${format(low)} to ${format(high)}`]);
      drawing.append(mark(s("g", { "data-group": state.current.groups[k].label, "data-value": value },
        ...(low !== undefined && high !== undefined ? [s("line", { class: `whisker ${colourClass(colour)}`, x1: x(low), x2: x(high), y1: at, y2: at })] : []),
        symbol(colour, x(value), at, 4)), one.label, ...lines));
    });
  });
  return drawing;
}

export const membershipShares: ViewMaker = (state) => {
  const found = state.current.membership, terms = (found?.terms ?? []).filter((term) => term.values.length > 0);
  if (!found || terms.length === 0) return null;
  let at = 0;
  const pager = new Pager(12);
  return {
    id: "membership-shares",
    title: "Who is in which group",
    size: "big",
    lead: "How large the groups would be if all voters had this value and were otherwise as they are. Lines are 95% intervals.",
    draw(width, redraw) {
      const term = terms[at], visible = state.visible(), shown = pager.slice(term.values);
      const top = Math.min(1, Math.max(...term.values.flatMap((value) => visible.map((k) => value.groups[k].high))));
      const drawing = h("div", {}, ...term.words.map((words) => h("p", { class: "lead" }, `${words}.`)),
        points(state, width, `Groups by ${term.name}`, shown.map((value) => ({ label: value.value, of: (k) => ({ value: value.groups[k].share, low: value.groups[k].low, high: value.groups[k].high }) })),
          visible, percent, "share of the voters", [0, top]));
      return { drawing, controls: [...(terms.length > 1 ? [selectBox("What is known", terms.map((one, i) => [String(i), one.name]), String(at), (v) => { at = Number(v); pager.page = 0; redraw(); })] : []),
        legend(visible.map((k) => [state.colour(k), state.name(k)])), ...pager.control(term.values.length, "Values", redraw)],
      note: term.p_value === undefined ? undefined : term.p_value < 0.0005 ? "Without it the model fits clearly worse (p < 0.0005)." : `Likelihood-ratio test of ${term.name}: p = ${term.p_value.toFixed(3)}.` };
    },
    table: () => ({ columns: ["term", "value", ...state.current.groups.flatMap((_, k) => [`${state.name(k)}: share`, `${state.name(k)}: low`, `${state.name(k)}: high`])],
      rows: terms.flatMap((term) => term.values.map((value) => [term.name, value.value, ...value.groups.flatMap((g) => [g.share, g.low, g.high])])) }),
  };
};

function coefficientView(state: State, all: Coefficients[], skipFirst: boolean, view: Pick<View, "id" | "title" | "lead">, axis: string): View {
  const pager = new Pager(14);
  return {
    ...view,
    size: "big",
    draw(width, redraw) {
      const groups = state.visible().filter((k) => !skipFirst || k > 0), shown = pager.slice(all);
      if (groups.length === 0) return { drawing: h("p", { class: "lead" }, `${state.name(0)} is what the others are compared with; choose another group.`) };
      const ends = all.flatMap((one) => groups.flatMap((k) => [one.groups[k].value, one.groups[k].low ?? 0, one.groups[k].high ?? 0]));
      return { drawing: points(state, width, view.title, shown.map((one) => ({ label: one.column, of: (k) => one.groups[k] })), groups, (v) => number(v, 2), axis, padded(Math.min(0, ...ends), Math.max(0, ...ends))),
        controls: [legend(groups.map((k) => [state.colour(k), state.name(k)])), ...pager.control(all.length, "Columns", redraw)] };
    },
    table: () => ({ columns: ["column", "group", "coefficient", "low", "high"], rows: all.flatMap((one) => one.groups.map((g, k) => [one.column, state.name(k), g.value, g.low, g.high])) }),
  };
}

export const membershipCoefficients: ViewMaker = (state) => {
  const found = state.current.membership;
  if (!found) return null;
  const all = found.coefficients.filter((one) => one.column !== "(intercept)");
  if (all.length === 0) return null;
  return coefficientView(state, all, true, { id: "membership-coefficients", title: "What puts a voter into a group",
    lead: `Per unit of a column, or for a value instead of the most common one: by how much the log odds of a group against ${state.name(0)} change. Right of the line: more likely there. Lines are 95% intervals; one that crosses the line of zero may be chance.` }, `log odds against ${state.name(0)}`);
};

export const itemValues: ViewMaker = (state) => {
  const found = state.current.item_values;
  if (!found || found.coefficients.length === 0) return null;
  return coefficientView(state, found.coefficients, false, { id: "item-values", title: "What a group values in an item",
    lead: "How much an item's utility rises per unit of a column, or for a value instead of the most common one. Lines are 95% intervals." }, "utility");
};

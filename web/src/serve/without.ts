// What each group would do if one candidate did not stand: counted in the ballots where the report holds second choices, else from the model.
import type { ModelReport } from "../types";

export interface Without {
  how: "ballots" | "model";
  // By group: shares of first places now and without the candidate, by item; ballots that then list nobody.
  groups: { now: number[]; then: number[]; nobody: number }[];
}

export function without(model: ModelReport, item: number): Without | null {
  const counted = model.counted, second = counted?.second?.groups;
  if (counted && second && second.length === counted.groups.length) {
    // A ballot that put the candidate first passes to its second choice: its row of the table, the last column for "nobody else listed".
    return {
      how: "ballots",
      groups: counted.groups.map((group, k) => {
        const total = Math.max(group.first.reduce((a, b) => a + b, 0), 1e-300), moves = second[k][item];
        return {
          now: group.first.map((v) => v / total),
          then: group.first.map((v, i) => (i === item ? 0 : (v + (moves[i] ?? 0)) / total)),
          nobody: (moves[group.first.length] ?? 0) / total,
        };
      }),
    };
  }
  // Plackett-Luce: the choice between the others does not depend on who else stands, so first places are shared out again.
  if (model.family === "pl" && model.groups.every((group) => group.utilities))
    return {
      how: "model",
      groups: model.groups.map((group) => {
        const top = Math.max(...group.utilities!), strength = group.utilities!.map((u) => Math.exp(u - top));
        const all = strength.reduce((a, b) => a + b, 0);
        return { now: strength.map((v) => v / all), then: strength.map((v, i) => (i === item ? 0 : v / (all - strength[item]))), nobody: 0 };
      }),
    };
  return null;
}

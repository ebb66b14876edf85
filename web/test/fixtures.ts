// Report data for every family, made up by rule: for the views' tests and for looking at the page without a model.
import type { BallotMap, Group, Interval, ModelReport, Pairs, ReportData, Tally, Winners } from "../src/types";

export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const SUSHI = ["ebi (shrimp)", "anago (sea eel)", "maguro (tuna)", "ika (squid)", "uni (sea urchin)", "sake (salmon roe)", "tamago (egg)", "toro (fatty tuna)", "tekka-maki (tuna roll)", "kappa-maki (cucumber roll)"];
export const EVIL = ["<script>alert(1)</script>", "</script>", "<img src=x onerror=alert(1)>", "=HYPERLINK(\"http://x\")", "a\"b'c&amp;d", "<!--", "日本語の長い名前の候補者 الاسم", "Zoë 🗳️"];
const ascending = (n: number) => Array.from({ length: n }, (_, i) => i);
const softmax = (u: number[]) => { const e = u.map(Math.exp), t = e.reduce((a, b) => a + b, 0); return e.map((v) => v / t); };
const round = (v: number) => Number(v.toPrecision(6));

export interface Shape { items?: string[]; groups?: number; family?: string; points?: number; seed?: number }

function weights(count: number): number[] {
  const raw = ascending(count).map((k) => 1 / (k + 1.6)), total = raw.reduce((a, b) => a + b, 0);
  return raw.map((w) => round(w / total));
}

export function mixture({ items = SUSHI, groups = 5, family = "pl", points = 3000, seed = 7 }: Shape = {}): ModelReport {
  const draw = random(seed), n = items.length, share = weights(groups);
  const gauss = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(6.283185 * draw());
  const made: Group[] = share.map((weight, k) => {
    const raw = items.map(() => 1.1 * gauss()), mean = raw.reduce((a, b) => a + b, 0) / n, utilities = raw.map((v) => round(v - mean));
    const order = ascending(n).sort((a, b) => utilities[b] - utilities[a]);
    const mean_place = utilities.map((u, i) => round(1 + utilities.reduce((t, v, j) => (j === i ? t : t + 1 / (1 + Math.exp(u - v))), 0)));
    const sure = round(0.5 + 0.5 * draw());
    const likes = order.slice(0, 2), rejects = order.slice(-1);
    const group: Group = { label: k + 1, weight, weight_interval: [round(weight * 0.93), round(weight * 1.07)], words: `${Math.round(100 * weight)}% of voters: prefers ${items[likes[0]]} and ${items[likes[1] ?? likes[0]]}, rejects ${items[rejects[0]]}; very sure of ${Math.round(100 * sure)}% of its members.`,
      sure, likes, rejects, order, mean_place, first_place: softmax(utilities).map(round) };
    if (family === "pl") {
      group.utilities = utilities;
      group.utility_intervals = utilities.map((u) => { const e = 0.1 + 0.3 * draw(); return [round(u - e), round(u + e)] as Interval; });
    } else if (family === "mallows") {
      group.theta = round(0.2 + draw());
      group.theta_intervals = [[round((group.theta as number) * 0.9), round((group.theta as number) * 1.1)]];
    } else {
      group.theta = ascending(Math.max(1, n - 1)).map((j) => round((1.6 + draw()) / (1 + 0.25 * j)));
      group.theta_intervals = (group.theta as number[]).map((t) => [round(t * 0.85), round(t * 1.15)]);
    }
    return group;
  });
  const overall = items.map((_, i) => round(made.reduce((t, g) => t + g.weight * g.mean_place![i], 0)));
  const order = ascending(n).sort((a, b) => overall[a] - overall[b]);
  const first = items.map((_, i) => round(made.reduce((t, g) => t + g.weight * g.first_place![i], 0)));
  const limit = Math.min(n, groups > 20 ? 12 : 24), chosen = order.slice(0, limit);
  const matrix = (g: Group) => chosen.flatMap((a) => chosen.map((b) => { const d = g.mean_place![b] - g.mean_place![a]; return Math.round(1000 / (1 + Math.exp(-0.6 * d))); }));
  const perGroup = made.map(matrix);
  const pairs: Pairs = { items: chosen, how: family === "pl" || family === "mallows" ? "" : "By simulation, give or take 1%.", groups: perGroup, everyone: chosen.flatMap((_, r) => chosen.map((__, c) => Math.round(made.reduce((t, g, k) => t + g.weight * perGroup[k][r * limit + c], 0)))) };
  const map: BallotMap = { total: points * 1.5, x: [], y: [], group: [], certainty: [], weight: [], ballots: [], axes: ["", ""], words: "Each point is one ranking; rankings that agree on many pairs lie close together. The map keeps the two directions in which the rankings differ most (31% of the differences)." };
  const centers = made.map((_, k) => [700 * Math.cos((6.28 * k) / groups), 600 * Math.sin((6.28 * k) / groups)]);
  for (let i = 0; i < points; ++i) {
    let k = 0, u = draw();
    while (k < groups - 1 && u > share[k]) u -= share[k++];
    map.x.push(Math.round(centers[k][0] + 210 * gauss()));
    map.y.push(Math.round(centers[k][1] + 210 * gauss()));
    map.group.push(k);
    map.certainty.push(Math.round(100 * (1 - 0.6 * draw() * draw())));
    map.weight.push(draw() < 0.9 ? 1 : 1 + Math.floor(8 * draw()));
    if (i < 4000) map.ballots.push(made[k].order.slice(0, 6));
  }
  const titles: Record<string, [string, string]> = {
    pl: ["Plackett-Luce mixture", "In a Plackett-Luce model every item has a strength; a voter picks the favourite with odds given by the strengths, then the next among the rest, and so on. Each group has its own strengths."],
    mallows: ["Mallows mixture", "In a Mallows model every group has one agreed order; the more pairs a ranking turns around, the rarer it is."],
    gmallows: ["Generalized Mallows mixture", "Like a Mallows model, but each place has its own strictness."], m4: ["Multiplicative Mallows mixture", "Every voter blends the orders of two groups."],
    dpm: ["Dirichlet process mixture", "The number of groups is not set beforehand but found with its uncertainty."], kde: ["Kernel density", "No groups: every ranking in the data spreads some probability around itself."], ebms: ["Mean shift", "Rankings drift to the centers of their neighbourhoods."],
  };
  return {
    name: `${family}.json`, family, family_title: titles[family][0], family_words: titles[family][1], method: "em",
    sentences: [`The ${points * 1.5} rankings fall into ${groups} groups.`, "All groups like toro; they differ most on uni."],
    items, order, mean_place: overall, first_place: first, groups: made, pairs,
    memberships: groups > 1 ? { of: "rankings", num_members: points * 1.5, mean_certainty: 0.84, groups: made.map((g) => { const c = Math.round(g.weight * points * 1.5), v = Math.round(c * g.sure!), f = Math.round((c - v) * 0.7); return { count: c, very_sure: v, fairly_sure: f, unsure: c - v - f, bins: ascending(10).map((b) => Math.round((c * b) / 45)) }; }),
      average: groups <= 30 ? made.map((_, k) => made.map((__, j) => (j === k ? 820 : Math.round(180 / (groups - 1))))) : undefined } : undefined,
    map,
    traces: [{ name: "log-likelihood", words: "The log-likelihood after each round. It should rise and level off.", chains: [{ name: "fit", values: ascending(40).map((i) => round(-70000 - 4000 * Math.exp(-i / 5))) }] }],
    diagnostics: [{ name: "Ended because", value: "converged", words: "the last round changed nothing that matters.", good: true }, { name: "Log-likelihood", value: "−70,012.3", words: "of all rankings under the model." }, { name: "Time", value: "0.12 s", words: "for 40 rounds." }],
    goodness: { sentences: ["The model reproduces the first places: 9 of 10 items are where 95% of repeats would put them."], checks: [
      { name: "First places", words: "Share of rankings that put the item first.", p_value: 0.21, unit: "share", rows: order.map((i) => ({ label: items[i], observed: round(first[i] * (0.95 + 0.1 * draw())), expected: first[i], low: round(first[i] * 0.93), high: round(first[i] * 1.07) })) },
      { name: "Ballot lengths", words: "Rankings by length.", unit: "count", rows: ascending(5).map((i) => ({ label: `${i + 1} items`, observed: 100 + i, expected: 101, low: 90, high: 112 })) }] },
    scores: { loglik: -70012.3, num_rankings: points * 1.5, num_parameters: groups * n - 1, aic: 140120, bic: 140420.5, icl: 141100.2, seconds: 0.12 },
  };
}

// Counts that go with the model's probabilities, an election and a column beside the ballots.
export function withCounts(model: ModelReport, battles = false): ModelReport {
  const n = model.items.length, all = 4000, chosen = model.pairs!.items, m = chosen.length, draw = random(31);
  const whole = (values: number[], total: number) => { const counts = values.map((v) => Math.floor(v * total)); counts[0] += total - counts.reduce((a, b) => a + b, 0); return counts; };
  const tally = (first: number[], place: number[], pairs: number[], total: number): Tally => ({ num_rankings: total, first: whole(first, total), listed: first.map((v) => Math.round(total * Math.min(1, 0.4 + v))), mean_place: place,
    above: pairs.map((v, c) => (Math.floor(c / m) === c % m ? 0 : Math.round((total * v) / 1000))), ...(battles ? { win_rate: place.map((p) => round(1 - (p - 1) / (n - 1))), battles: place.map(() => Math.round(200 + 900 * draw())) } : {}) });
  const sizes = whole(model.groups.map((g) => g.weight), all);
  const groups = model.groups.map((g, k) => tally(g.first_place!, g.mean_place!, model.pairs!.groups[k], sizes[k]));
  const everyone = tally(model.first_place!, model.mean_place!, model.pairs!.everyone, all);
  model.counted = { unranked: battles ? "absent" : "last", battles, order: model.order, everyone, groups: model.groups.length > 1 ? groups : [], pair_items: chosen };
  model.caveats = ["The groups do not explain everything: pairs in the data differ from what the model gives by more than chance.", `The number of groups, ${model.groups.length}, was set by hand; 'caucus select' compares it with others.`];
  if (battles) {
    model.leaderboard = { groups: model.groups.map((g) => g.order.map((item, p) => ({ item, elo: round(1000 + 173.7 * g.utilities![item]), low: round(960 + 173.7 * g.utilities![item]), high: round(1040 + 173.7 * g.utilities![item]), rank_low: Math.max(1, p), rank_high: Math.min(n, p + 2) }))) };
    return model;
  }
  model.counted.second = { everyone: everyone.first.map((f, a) => { const row = model.items.map((_, b) => (a === b ? 0 : Math.floor(f / (n + 1)))); return [...row, f - row.reduce((x, y) => x + y, 0)]; }) };
  const winners = (t: Tally): Winners => { const first = t.first.indexOf(Math.max(...t.first)); return { num_rankings: t.num_rankings, first_past_the_post: [first], borda: [first], condorcet: null, runoff: [first], transferable: [first, (first + 1) % n], quota: Math.floor(t.num_rankings / 3) + 1, lot: false }; };
  const out = everyone.first.indexOf(Math.min(...everyone.first)), gets = everyone.first.indexOf(Math.max(...everyone.first)), moved = everyone.first.map((_, i) => (i === out ? -everyone.first[out] : i === gets ? Math.floor(everyone.first[out] / 2) : 0));
  const after = everyone.first.map((v, i) => v + moved[i]);
  model.election = { seats: 2, surplus: "scottish", everyone: winners(everyone), groups: groups.map(winners), stages: [{ what: "first", votes: everyone.first, moved: everyone.first, exhausted: 0, elected: [] }, { what: "exclusion", from: out, votes: after, moved, exhausted: all - after.reduce((a, b) => a + b, 0), elected: [gets] }] };
  model.composition = [{ column: "<b>town</b>", values: ["North & South", "East", "other"], everyone: [2000, 1500, 500], left_out: 12, groups: sizes.map((size) => ({ count: [0.5, 0.3, 0.2].map((v) => Math.round(v * size)), share: [0.5, 0.3, 0.2], low: [0.45, 0.26, 0.17], high: [0.55, 0.34, 0.23] })) }];
  return model;
}

export function report(models: ModelReport[], title = "sushi.soc"): ReportData {
  const items = models[0]?.items ?? [], n = items.length;
  const result: ReportData = {
    schema: "caucus.report/1", title, sentences: [], models, warnings: [{ text: "Item 'kappa-maki' never beats 'toro' in group 3; its strength there is a lower bound.", source: models[0]?.name }],
    provenance: { command: "caucus fit sushi.soc --family pl -k 5 --out pl.json --report report.html", version: "0.1.0", facts: [["Seed", "1"], ["Threads", "2"], ["Data", "sushi.soc"], ["Data digest", "xxh128:0f343b0931126a20f133d67c2b018a3b"], ["Method", "em"]] },
  };
  if (n > 0)
    result.data = { source: title, digest: "xxh128:0f343b0931126a20f133d67c2b018a3b", num_rankings: 4500, num_unique: 4300, num_items: n, kind: "partial", min_length: 1, max_length: Math.min(n, 10), has_ties: false, unranked: "last",
      lengths: ascending(Math.min(n, 10)).map((i) => [i + 1, 100 + 90 * i]), items, first_places: items.map((_, i) => 40 + ((i * 137) % 600)), mentions: items.map((_, i) => 900 + ((i * 331) % 3500)), sentences: ["4,500 rankings of 10 items, 4,300 of them different. Items that a ranking does not list count as below the listed ones."] };
  return result;
}

function named(model: ModelReport): ModelReport {
  model.groups.forEach((g, k) => (g.name = EVIL[k]));
  return model;
}

export function dpm(): ModelReport {
  const model = mixture({ family: "dpm", groups: 6, seed: 3 });
  const labels = ascending(48).map((i) => Math.floor(i / 8)), draw = random(5);
  model.clusters = { words: "The probability of each number of groups, given the data. Small groups come and go; the point estimate has 6.", num_clusters: [[4, 12], [5, 120], [6, 420], [7, 260], [8, 130], [9, 40], [11, 18]],
    coclustering: { labels, values: labels.flatMap((a, i) => labels.map((b, j) => (i === j ? 1000 : Math.round((a === b ? 800 : 60) + 150 * draw())))) } };
  const chain = (seed: number, center: number) => { const r = random(seed); return ascending(250).map((i) => Math.round(center + 4 * Math.exp(-i / 12) + 3 * (r() - 0.5))); };
  model.traces = [{ name: "number of groups", words: "Each line is one run of the sampler. Runs that mingle agree with each other.", burnin: 60, chains: ascending(4).map((c) => ({ name: `chain ${c + 1}`, values: chain(c + 1, 6) })) },
    { name: "log joint", words: "", burnin: 60, chains: ascending(4).map((c) => ({ name: `chain ${c + 1}`, values: chain(c + 11, -70000) })) }];
  model.diagnostics = [{ name: "R-hat", value: "1.01", words: "The runs agree (below 1.05 is good).", good: true }, { name: "Effective draws", value: "84", words: "Fewer than 100: run longer for intervals you can lean on.", good: false }];
  return model;
}

export function regression(classes = ["setosa", "versicolor", "virginica"], features = ["offset", "+sepal length", "−sepal length", "+sepal width", "−sepal width", "+petal length", "−petal length", "+petal width", "−petal width"]): ModelReport {
  const draw = random(9), lambda = classes.map(() => features.map(() => (draw() < 0.4 ? 0 : round(2 * draw()))));
  const a = ascending(12).map((i) => round(0.05 * Math.pow(1.4, i)));
  const fpr = ascending(21).map((i) => i / 20);
  return {
    name: "iris.json", family: "pl-regression", family_title: "Plackett-Luce regression", family_words: "Each feature gives each outcome a share in a race; the larger an outcome's total, the likelier it wins.", method: "gibbs",
    sentences: ["petal length speaks most clearly: high values for virginica, low ones for setosa.", "On the data given, 4% of the predictions are wrong."], items: [], order: [], groups: [],
    traces: [{ name: "log posterior", words: "Each line is one run of the sampler.", chains: [{ name: "chain 1", values: ascending(100).map((i) => -40 - 3 * Math.sin(i)) }, { name: "chain 2", values: ascending(100).map((i) => -40 - 3 * Math.cos(i)) }] }],
    diagnostics: [{ name: "R-hat", value: "1.00", words: "The runs agree.", good: true }],
    regression: { classes, features, ranking: false, lambda, intervals: lambda.map((row) => row.map((v) => (v === 0 ? null : [round(v * 0.6), round(v * 1.5)]))), scale: "Coefficients lambda, posterior means.",
      path: { parameter: "a", values: a, series: ["MAP", "posterior mean"].flatMap((estimator) => classes.flatMap((c, k) => features.slice(0, 5).map((f, j) => ({ name: `${c}: ${f}`, estimator, values: a.map((v) => round(Math.max(0, lambda[k][j] * (1 - 0.3 / (v + 0.1))))) })))) },
      roc: classes.map((name, k) => ({ name, auc: round(0.99 - 0.03 * k), fpr, tpr: fpr.map((f) => round(Math.pow(f, 0.1 + 0.1 * k))) })), calibration: ascending(8).map((i) => ({ predicted: (i + 0.5) / 8, observed: round(Math.min(1, (i + 0.5) / 8 + 0.08 * (draw() - 0.5))), count: 10 + 4 * i, low: Math.max(0, (i + 0.5) / 8 - 0.12), high: Math.min(1, (i + 0.5) / 8 + 0.12) })),
      confusion: classes.map((_, k) => classes.map((__, j) => (k === j ? 48 : 1))), scores: [["Misclassification", "4.0%"], ["Log loss", "0.121"]] },
    scores: { loglik: -18.2, num_rankings: 150, seconds: 1.2 },
  };
}

export function everyReport(): Record<string, ReportData> {
  const many = mixture({ items: Array.from({ length: 500 }, (_, i) => `Candidate ${i + 1}${i % 7 === 0 ? " of the quite long-named Party for Progress and Order" : ""}`), groups: 100, points: 100000, seed: 21 });
  const kde = mixture({ family: "kde", groups: 1, seed: 12 });
  kde.groups[0].theta = undefined;
  kde.groups[0].theta_intervals = undefined;
  const select = report([mixture()]);
  select.selection = { family: "pl", criterion: "bic", chosen_k: 5, sentences: ["BIC is lowest with 5 groups; 6 are nearly as good."], table: ascending(8).map((i) => ({ k: i + 1, loglik: -72000 + 400 * Math.log(i + 1), bic: 144000 - 800 * Math.log(i + 1) + 60 * i, aic: 143900 - 800 * Math.log(i + 1), icl: null, heldout_mean: -14.4 + 0.08 * Math.log(i + 1) - 0.008 * i, heldout_se: 0.03, seconds: 0.1 * (i + 1) })) };
  const compare = report([mixture(), mixture({ family: "mallows", seed: 4 }), mixture({ family: "gmallows", groups: 4, seed: 5 })]);
  compare.comparison = { sentences: ["Plackett-Luce predicts held-out rankings best; generalized Mallows is not clearly worse."], folds: 5, table: [
    { name: "pl", heldout_mean: -14.21, heldout_se: 0.03, difference: 0, difference_se: 0, groups: 5, seconds: 0.4, memory_mb: 12 }, { name: "gmallows", heldout_mean: -14.25, heldout_se: 0.03, difference: -0.04, difference_se: 0.025, groups: 4, seconds: 1.9, memory_mb: 14 },
    { name: "mallows", heldout_mean: -14.5, heldout_se: 0.035, difference: -0.29, difference_se: 0.03, groups: 5, seconds: 0.9, memory_mb: 14 }, { name: "kde", heldout_mean: -15.02, heldout_se: 0.04, difference: -0.81, difference_se: 0.04, seconds: 22, memory_mb: 40 }], left_out: [{ name: "m4", why: "takes complete rankings only" }] };
  compare.changes = [{ from: 0, to: 1, sentences: ["Group 1 of mallows.json is group 1 of pl.json with 82% of its rankings.", "Group 4 of pl.json has no counterpart."], match: [0, 1, 2, -1, 4], cross: ascending(5).map((r) => ascending(5).map((c) => (r === c ? 700 - 90 * r : 30 + 7 * c))) },
    { from: 1, to: 2, sentences: ["One group fewer: groups 3 and 5 were joined."], match: [0, 1, 2, 3], cross: ascending(5).map((r) => ascending(4).map((c) => (r % 4 === c ? 600 : 20))) }];
  return {
    pl: report([mixture()]), election: report([withCounts(mixture({ groups: 8, seed: 33 }))], "election.blt"), battles: report([withCounts(mixture({ groups: 1, seed: 34 }), true)], "arena.csv"), single: report([mixture({ groups: 1 })]), mallows: report([mixture({ family: "mallows", groups: 3, seed: 4 })]), gmallows: report([mixture({ family: "gmallows", groups: 3, seed: 5 })]), m4: report([mixture({ family: "m4", groups: 3, seed: 6 })]),
    dpm: report([dpm()]), kde: report([kde]), regression: report([regression()], "iris.csv"), select, compare, evil: report([withCounts(named(mixture({ items: EVIL, groups: 3, points: 200, seed: 8 })))], "<script>alert(1)</script>"), large: report([many], "500 candidates, 100 groups"),
  };
}

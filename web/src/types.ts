// The report data, schema caucus.report/1 (docs/report-data.md). Views read this and nothing else.
// Items are 0-based positions in a model's `items`; groups are 0-based positions in its `groups`.

export type Interval = [number, number];

export interface ReportData {
  schema: "caucus.report/1";
  title: string;
  sentences: string[];
  nouns?: Nouns;
  data?: DataSummary;
  models: ModelReport[];
  selection?: Selection;
  comparison?: Comparison;
  changes?: Change[];
  warnings: Warning[];
  provenance: Provenance;
}

// What the page calls those who rank, what they rank, and what they hand in.
export interface Nouns {
  voters: string;
  items: string;
  rankings: string;
}

export interface Warning {
  text: string;
  source?: string;
}

export interface Provenance {
  command?: string;
  version: string;
  facts: [string, string][];
}

export interface DataSummary {
  source: string;
  digest: string;
  num_rankings: number;
  num_blank?: number;
  num_overvoted?: number;
  num_skipped?: number;
  num_unique: number;
  num_items: number;
  kind: string;
  min_length: number;
  max_length: number;
  has_ties: boolean;
  unranked: string;
  lengths: [number, number][]; // items listed, number of rankings
  items: string[];
  first_places: number[]; // rankings that put the item first (ties share)
  mentions: number[]; // rankings that list the item
  sentences: string[];
}

export interface Group {
  label: number;
  name?: string; // as the user calls it
  weight: number;
  weight_interval?: Interval;
  weight_level?: number; // what the interval covers; 0.95 where nothing is said
  size?: number;
  words: string;
  sure?: number; // share of its members that belong here with probability 0.9 or more
  likes: number[];
  rejects: number[];
  order: number[]; // best first
  utilities?: number[];
  utility_intervals?: (Interval | null)[];
  utility_level?: number;
  unbounded?: number[]; // items whose utility the data do not bound
  blocks?: { items: number[]; utilities: number[]; utility_intervals?: (Interval | null)[]; utility_level?: number }[]; // of these, compared among themselves
  mean_place?: number[];
  first_place?: number[];
  theta?: number | number[];
  theta_intervals?: (Interval | null)[];
  theta_level?: number;
}

// Counted in the rankings, with no model: of everyone, or of the rankings that carry a group's label.
export interface Tally {
  num_rankings: number;
  first: number[]; // rankings that put the item first (ties share)
  listed: number[];
  mean_place: (number | null)[];
  win_rate?: (number | null)[]; // battles
  battles?: number[];
  above?: number[]; // rankings that put row above column, row-major over pair_items
  tied?: number[];
}

export interface Counted {
  unranked: string;
  battles: boolean;
  order: number[];
  everyone: Tally;
  groups: Tally[];
  pair_items?: number[];
  second?: { everyone: number[][]; groups?: number[][][] }; // by first choice; the last column: nobody else is listed
}

export interface Winners {
  num_rankings: number;
  first_past_the_post: number[];
  borda: number[];
  condorcet: number | null;
  runoff: number[];
  transferable: number[];
  quota: number;
  lot: boolean; // a tie was broken by the order of the file
}

export interface Election {
  seats: number;
  surplus: string; // "scottish" or "irish"
  everyone: Winners;
  groups: Winners[];
  stages: { what: "first" | "surplus" | "exclusion"; from?: number; votes: number[]; moved: number[]; exhausted: number; elected: number[] }[];
}

// Strengths on Elo's scale, best first.
export interface Leaderboard {
  groups: { item: number; elo: number; low?: number | null; high?: number | null; rank_low?: number; rank_high?: number }[][];
}

// A column beside the rankings: how many of each group, by memberships, have each value.
export interface Composition {
  column: string;
  values: string[];
  everyone: number[]; // rankings by value
  groups: { count: number[]; share: number[]; low: number[]; high: number[] }[];
  left_out: number; // rankings with rarer values
}

export interface Coefficients {
  column: string;
  groups: { value: number; low?: number; high?: number }[];
}

export interface MembershipModel {
  formula: string;
  terms: { name: string; p_value?: number; words: string[]; values: { value: string; groups: { share: number; low: number; high: number }[] }[] }[];
  coefficients: Coefficients[]; // against the first group
  ridge?: number;
}

export interface Pairs {
  items: number[];
  how: string;
  everyone: number[]; // per mille, row before column, row-major
  groups: number[][];
}

export interface Memberships {
  of: "rankings" | "voters"; // who belongs to groups
  num_members: number;
  mean_certainty: number;
  groups: { count: number; very_sure: number; fairly_sure: number; unsure: number; bins: number[] }[];
  average?: number[][]; // per mille: rows the group assigned, columns the average membership
}

export interface BallotMap {
  total: number; // rankings in the data
  x: number[];
  y: number[];
  group: number[];
  certainty: number[]; // percent
  weight: number[];
  ballots: number[][]; // the first items of each, best first; may be shorter than x
  axes: [string, string];
  words: string;
}

export interface Trace {
  name: string;
  words: string;
  chains: { name: string; iterations?: number[]; values: number[] }[];
  burnin?: number;
}

export interface Diagnostic {
  name: string;
  value: string;
  words: string;
  good?: boolean;
}

export interface Check {
  name: string;
  words: string;
  p_value?: number;
  unit: "share" | "count";
  rows: { label: string; observed: number; expected: number; low: number; high: number }[];
}

export interface Goodness {
  sentences: string[];
  checks: Check[];
}

export interface Clusters {
  num_clusters: [number, number][]; // number of clusters, draws
  coclustering?: { labels: number[]; values: number[] }; // per mille, row-major, in the order of labels (groups)
  words: string;
}

export interface Regression {
  classes: string[];
  features: string[];
  ranking: boolean;
  lambda: number[][]; // per class, per feature
  intervals?: (Interval | null)[][];
  scale: string; // what the numbers are
  left_out?: number; // features of smaller coefficients that the report does not hold
  path?: { parameter: string; values: number[]; series: { name: string; estimator: string; values: number[] }[] };
  roc?: { name: string; auc: number; fpr: number[]; tpr: number[] }[];
  calibration?: { predicted: number; observed: number; count: number; low: number; high: number }[];
  confusion?: number[][]; // rows true, columns predicted
  scores: [string, string][];
}

export interface ModelReport {
  name: string;
  family: string;
  family_title: string;
  family_words: string;
  method: string;
  sentences: string[];
  items: string[];
  order: number[]; // all rankings together, best first
  mean_place?: number[];
  first_place?: number[];
  probabilities_how?: string;
  groups: Group[];
  pairs?: Pairs;
  counted?: Counted;
  election?: Election;
  leaderboard?: Leaderboard;
  composition?: Composition[];
  membership?: MembershipModel;
  item_values?: { formula: string; coefficients: Coefficients[] };
  caveats?: string[]; // what to know first, gravest first
  memberships?: Memberships;
  map?: BallotMap;
  traces: Trace[];
  diagnostics: Diagnostic[];
  goodness?: Goodness;
  clusters?: Clusters;
  regression?: Regression;
  scores: { loglik?: number; num_rankings?: number; num_parameters?: number; aic?: number; bic?: number; icl?: number; seconds?: number };
}

export interface Selection {
  family: string;
  criterion: string;
  chosen_k: number;
  sentences: string[];
  words?: string[]; // the same without the criterion's name
  table: {
    k: number;
    loglik?: number | null;
    bic?: number | null;
    aic?: number | null;
    icl?: number | null;
    ebic?: number | null;
    heldout_mean?: number | null;
    heldout_se?: number | null;
    replication?: number | null; // of the weakest group, between two halves
    seconds?: number | null;
  }[];
}

export interface Comparison {
  sentences: string[];
  folds?: number;
  table: {
    name: string;
    heldout_mean: number;
    heldout_se: number;
    difference?: number | null; // to the best, paired
    difference_se?: number | null;
    groups?: number | null;
    seconds?: number | null;
    memory_mb?: number | null;
  }[];
  left_out: { name: string; why: string }[];
}

export interface Change {
  from: number; // models
  to: number;
  sentences: string[];
  cross?: number[][]; // rankings by group of `from` and group of `to`
  match: number[]; // for each group of `to` the group of `from` most like it, -1: none
}

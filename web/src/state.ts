// What the reader has chosen; views draw from it and hear of changes.
import type { ModelReport, Nouns, ReportData } from "./types";

export const PALETTE_SIZE = 8;

export type SortKey = "overall" | "name" | "spread" | "file" | `group:${number}`;

const NO_MODEL: ModelReport = { name: "", family: "", family_title: "", family_words: "", method: "", sentences: [], items: [], order: [], groups: [], traces: [], diagnostics: [], scores: {} };

export class State {
  model = 0;
  selected = new Set<number>(); // groups; empty: all
  query = "";
  sort: SortKey = "overall";
  private listeners: (() => void)[] = [];

  constructor(readonly report: ReportData) {}

  // What a group is called; where room is short its number will do.
  name(group: number): string {
    const found = this.current.groups[group];
    return found.name ?? `Group ${found.label}`;
  }
  get nouns(): Nouns {
    return this.report.nouns ?? { voters: "voters", items: "items", rankings: "rankings" };
  }
  get current(): ModelReport {
    return this.report.models[this.model] ?? NO_MODEL;
  }
  listen(listener: () => void): void {
    this.listeners.push(listener);
  }
  private changed(): void {
    for (const listener of this.listeners) listener();
  }
  toggle(group: number): void {
    if (!this.selected.delete(group)) this.selected.add(group);
    if (this.selected.size === this.current.groups.length) this.selected.clear();
    this.changed();
  }
  clear(): void {
    this.selected.clear();
    this.changed();
  }
  search(query: string): void {
    this.query = query;
    this.changed();
  }
  sortBy(sort: SortKey): void {
    this.sort = sort;
    this.changed();
  }
  choose(model: number): void {
    this.model = model;
    this.selected.clear();
    if (this.sort.startsWith("group:")) this.sort = "overall";
    this.changed();
  }
  // The groups that views with one series per group show: those chosen, else the largest that have a colour each.
  visible(): number[] {
    const groups = this.current.groups.map((_, k) => k);
    return this.selected.size > 0 ? groups.filter((k) => this.selected.has(k)) : groups.slice(0, PALETTE_SIZE);
  }
  shows(group: number): boolean {
    return this.selected.size === 0 || this.selected.has(group);
  }
  // Colour and shape: the group's own number where there are enough, else its place among the visible ones; -1: none.
  colour(group: number): number {
    if (this.current.groups.length <= PALETTE_SIZE) return group;
    const place = this.visible().indexOf(group);
    return place < 0 ? -1 : place % PALETTE_SIZE;
  }
  // Items found by the search, in the chosen order.
  items(): number[] {
    return orderItems(this.current, this.sort, this.query, this.visible());
  }
}

export function orderItems(model: ModelReport, sort: SortKey, query: string, visible: number[]): number[] {
  const wanted = query.trim().toLocaleLowerCase();
  const found = (item: number) => wanted === "" || model.items[item].toLocaleLowerCase().includes(wanted);
  let order: number[];
  if (sort === "name") {
    order = model.items.map((_, i) => i).sort((a, b) => model.items[a].localeCompare(model.items[b], "en", { numeric: true }));
  } else if (sort === "file") {
    order = model.items.map((_, i) => i);
  } else if (sort === "spread") {
    const spread = placeSpread(model, visible);
    order = model.order.slice().sort((a, b) => spread[b] - spread[a]);
  } else if (sort.startsWith("group:")) {
    order = model.groups[Number(sort.slice(6))]?.order ?? model.order;
  } else {
    order = model.order;
  }
  return order.filter(found);
}

// How far apart the groups place each item: the largest minus the smallest place.
export function placeSpread(model: ModelReport, visible: number[]): number[] {
  const low = model.items.map(() => Infinity), high = model.items.map(() => -Infinity);
  for (const k of visible)
    placesOf(model.groups[k].order).forEach((place, item) => {
      low[item] = Math.min(low[item], place);
      high[item] = Math.max(high[item], place);
    });
  return low.map((value, item) => (high[item] >= value ? high[item] - value : 0));
}

// Place (from 1) of each item in an order.
export function placesOf(order: number[]): number[] {
  const places: number[] = new Array(order.length).fill(0);
  order.forEach((item, position) => (places[item] = position + 1));
  return places;
}

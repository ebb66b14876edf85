// Corrections to how a file is read, as the command line takes them.
import type { Reading } from "./api";

export interface Corrections {
  flags: Record<string, string>; // one value each: unranked, format, contest, voter, ...
  lists: Record<string, string>; // columns, drop: as typed
  out: Set<string>; // items left out
  names: Map<string, string>; // another name for an item; that of another item: the two become one
}
export function noCorrections(): Corrections {
  return { flags: {}, lists: {}, out: new Set(), names: new Map() };
}

// Corrections outlive a look at a fit, and go with the tab.
export function recallCorrections(upload: string): Corrections {
  try {
    const { flags, lists, out, names } = JSON.parse(sessionStorage.getItem(`caucus-reading-${upload}`) ?? "");
    return { flags, lists, out: new Set(out), names: new Map(names) };
  } catch {
    return noCorrections();
  }
}
export function rememberCorrections(upload: string, { flags, lists, out, names }: Corrections): void {
  sessionStorage.setItem(`caucus-reading-${upload}`, JSON.stringify({ flags, lists, out: [...out], names: [...names] }));
}

// A star stands for any text, so a name that has one cannot be told from a pattern.
export function canEdit(item: string): boolean {
  return !item.includes("*");
}

export function readingOf(corrections: Corrections, items: string[], withItems = true): Reading {
  const reading: Reading = {};
  for (const [name, value] of Object.entries(corrections.flags)) if (value !== "") reading[name] = value;
  for (const [name, value] of Object.entries(corrections.lists)) if (value.trim() !== "") reading[name] = [value.trim()];
  if (!withItems) return reading;
  const exclude = items.filter((item) => corrections.out.has(item));
  if (exclude.length) reading.exclude = exclude;
  const target = (item: string) => corrections.names.get(item)?.trim() || item;
  const merge: string[] = [], rename: string[] = [];
  for (const item of items) {
    if (corrections.out.has(item) || target(item) === item) continue;
    const shared = items.some((other) => other !== item && !corrections.out.has(other) && target(other) === target(item));
    (shared ? merge : rename).push(`${item}=${target(item)}`);
  }
  if (merge.length) reading.merge = merge;
  if (rename.length) reading.rename = rename;
  return reading;
}

// "votes.soi:6:4: found ..." as line, character and text.
export function placeOf(problem: string, file: string): { line?: number; column?: number; text: string } {
  const rest = problem.startsWith(`${file}:`) ? problem.slice(file.length + 1) : undefined;
  const found = rest?.match(/^(\d+)(?::(\d+))?: (.*)$/s);
  if (!found) return { text: rest !== undefined && rest.startsWith(" ") ? rest.trim() : problem };
  return { line: Number(found[1]), column: found[2] ? Number(found[2]) : undefined, text: found[3] };
}

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

// Where the tool's patterns would read a name otherwise than it stands, it cannot be named.
export function canEdit(item: string): boolean {
  return !/[*=,]/.test(item);
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

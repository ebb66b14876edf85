// What the choices on the page ask of the server.
import type { JobRequest } from "./api";

export const COMPARE = "?"; // in place of a family
const MOST = 20; // fits from one click

// A term of a formula: odd names stand in backquotes.
export function term(column: string): string {
  return /^[A-Za-z_][A-Za-z0-9_.]*$/.test(column) ? column : `\`${column}\``;
}

// One request for each fit to make.
export function requestsOf(base: JobRequest, chosen: { family: string; families: string[]; components: boolean; groups: string; many: number; options: Record<string, string> }): JobRequest[] {
  const { groups, many } = chosen;
  if (chosen.family === COMPARE)
    return [{ ...base, command: "compare", ...(chosen.families.length ? { families: chosen.families } : {}), ...(groups === "auto" ? {} : { groups: groups === "one" ? `${many}` : `1..${many}` }) }];
  const one: JobRequest = { ...base, family: chosen.family, ...(Object.keys(chosen.options).length ? { options: chosen.options } : {}) };
  if (!chosen.components) return [one];
  if (groups === "auto") return [{ ...one, command: "select", groups: "auto" }];
  if (groups === "one") return [{ ...one, groups: many }];
  return Array.from({ length: Math.min(many, MOST) }, (_, k) => ({ ...one, groups: k + 1 }));
}

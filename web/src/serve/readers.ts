// How to read a file otherwise: each field is a flag of the command line.
import { h } from "../dom";
import type { Info } from "./api";
import { choice, field } from "./parts";
import type { Corrections } from "./reading";

const FORMATS = ["preflib", "preflib-old", "csv-wide", "csv-matrix", "csv-long", "csv-pairwise", "csv-ratings", "csv-order", "jsonl", "blt", "cds"];

export interface ReadingForm {
  element: HTMLElement;
  understood(info: Info | undefined): void;
}

export function readingForm(flags: Set<string>, corrections: Corrections, read: () => void): ReadingForm {
  const element = h("div", { class: "serve-form" });
  const pick = (flag: string, label: string, options: [string, string][], help = "") => {
    const box = choice(options, corrections.flags[flag] ?? "");
    box.addEventListener("change", () => {
      corrections.flags[flag] = box.value;
      read();
    });
    if (flags.has(flag)) element.append(field(label, box, help));
    return box;
  };
  const type = (flag: string, label: string, help: string, list = false) => {
    if (!flags.has(flag)) return;
    const kept = list ? corrections.lists : corrections.flags;
    const input = h("input", { type: "text", maxlength: 500, value: kept[flag] ?? "" });
    input.addEventListener("change", () => {
      kept[flag] = input.value.trim();
      read();
    });
    element.append(field(label, input, help));
  };
  pick("unranked", "Unlisted items", [["", "as the format says"], ["last", "rank below the listed ones"], ["absent", "took no part"]]);
  const voter = pick("voter", "Voter's column", [["", "none: each row is a ballot of its own"]], "all rows of one voter belong to one group");
  pick("format", "Format", [["", "find out"], ...FORMATS.map((one) => [one, one] as [string, string])]);
  type("contest", "Contest", "a part of its name, where the file holds several");
  type("columns", "Columns", "CSV: those to use, separated by commas", true);
  type("weight-column", "Weight's column", "how often a row counts");
  type("drop", "Names of nobody", "besides skipped, overvote and the like; * is any text", true);
  type("top", "Ratings: the best", "keep only so many of each voter");
  return {
    element,
    // The columns beside the rankings are those that may tell the voter.
    understood(info) {
      const chosen = corrections.flags.voter ?? "", columns = [...new Set([...(info?.covariates ?? []), ...(chosen ? [chosen] : [])])];
      voter.replaceChildren(h("option", { value: "" }, columns.length ? "none: each row is a ballot of its own" : "the file has no such column"), ...columns.map((one) => h("option", { value: one }, one)));
      voter.value = chosen;
      voter.disabled = columns.length === 0;
    },
  };
}

// Ballots counted by the rules of elections: who wins, the count stage by stage, and where second choices go.
import { cell, mark, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, percent } from "../format";
import type { DataSummary, Winners } from "../types";
import { Pager, svgRoot, type ViewMaker } from "../view";

const RULES: [string, string, (w: Winners) => number[]][] = [
  ["Most first places", "first past the post", (w) => w.first_past_the_post],
  ["Instant runoff", "the last goes, its ballots pass to their next choice", (w) => w.runoff],
  ["Transferable vote", "for all seats", (w) => w.transferable],
  ["Beats every other", "Condorcet", (w) => (w.condorcet === null ? [] : [w.condorcet])],
  ["Most points", "Borda: one for each ranked below", (w) => w.borda],
];

// What the ballots hold besides choices.
function cast(data: DataSummary | undefined): string {
  const parts = [[data?.num_blank, "blank"], [data?.num_overvoted, "with an overvote, read as an empty place"], [data?.num_skipped, "that skip a place, where later choices move up"]] as const;
  const said = parts.filter(([number]) => number).map(([number, words]) => `${count(number!)} ${words}`);
  return said.length ? `Among the ballots cast: ${said.join("; ")}.` : "";
}

export const winners: ViewMaker = (state) => {
  const model = state.current, election = model.election;
  if (!election) return null;
  const rules = RULES.filter(([name]) => name !== "Transferable vote" || election.seats > 1);
  const columns = (): [string, Winners][] => [["Everyone", election.everyone], ...(election.groups.map((w, k) => [state.name(k), w] as [string, Winners]).filter((_, k) => state.shows(k)))];
  const names = (items: number[]) => items.map((i) => model.items[i]);
  return {
    id: "winners",
    title: "Who would win",
    size: "wide",
    lead: `Counted over all ballots${election.groups.length ? " and within each group (the ballots assigned to it)" : ""}, for ${election.seats} ${election.seats === 1 ? "seat" : "seats"}.`,
    draw() {
      const head = h("tr", {}, h("th", { scope: "col" }, "ballots of"), ...rules.map(([rule, words]) => h("th", { scope: "col", class: "wrap" }, rule, h("span", { class: "sub" }, words))));
      const cellOf = (items: number[], w: Winners) => h("td", {}, ...(items.length ? names(items).map((name) => h("div", {}, name)) : [h("span", { class: "sub" }, w.num_rankings > 0 ? "nobody" : "no ballots")]));
      const body = columns().map(([name, w]) => h("tr", {}, h("th", { scope: "row" }, name, h("span", { class: "sub" }, `${count(w.num_rankings)} ballots`)), ...rules.map(([, , of]) => cellOf(of(w), w))));
      const lot = columns().some(([, w]) => w.lot);
      return { drawing: h("div", { class: "table-scroll whole", tabindex: 0, role: "region", "aria-label": "Winners by rule" }, h("table", { class: "winners" }, h("thead", {}, head), h("tbody", {}, ...body))),
        note: [cast(state.report.data), election.seats > 1 ? `Transferable vote: Droop quota, surpluses by the ${election.surplus === "irish" ? "Irish rule (last parcel)" : "Scottish rule (weighted inclusive Gregory)"}.` : "", lot ? "Some ties were broken by the order of the file, where an office would draw lots." : ""].filter(Boolean).join(" ") || undefined };
    },
    table: () => ({ columns: ["rule", ...columns().map(([name]) => name)], rows: rules.map(([rule, , of]) => [rule, ...columns().map(([, w]) => names(of(w)).join("; "))]) }),
  };
};

export const stages: ViewMaker = (state) => {
  const model = state.current, election = model.election;
  if (!election || election.stages.length < 2) return null;
  const last = new Map<number, number>(); // the stage each candidate left at, elected or not
  election.stages.forEach((stage, r) => { if (stage.what === "exclusion") last.set(stage.from!, r); });
  const order = model.items.map((_, i) => i).sort((a, b) => (last.get(b) ?? 999) - (last.get(a) ?? 999) || election.stages[0].votes[b] - election.stages[0].votes[a]);
  const chosen = new Map(election.everyone.transferable.map((item, place) => [item, place + 1]));
  const title = (r: number) => {
    const stage = election.stages[r];
    return stage.what === "first" ? "First places" : stage.what === "surplus" ? `${model.items[stage.from!]}: surplus` : `${model.items[stage.from!]} out`;
  };
  const pager = new Pager(6);
  return {
    id: "stages",
    title: election.seats > 1 ? "The count, stage by stage" : "The runoff, round by round",
    size: "wide",
    lead: `Votes after each ${election.seats > 1 ? "stage" : "round"}; the quota is ${count(election.everyone.quota)}. Small numbers: what moved. Exhausted: ballots that name nobody still standing${election.seats > 1 ? ", and what rounding lost" : ""}.`,
    draw(width, redraw) {
      pager.size = Math.max(2, Math.floor((width - 210) / 105));
      const all = election.stages.map((_, r) => r), shown = pager.slice(all);
      const moved = (value: number) => (Math.abs(value) < 0.005 ? null : h("span", { class: "sub" }, `${value > 0 ? "+" : "−"}${count(Math.abs(value))}`));
      const head = h("tr", {}, h("th", { scope: "col" }, "candidate"), ...shown.map((r) => h("th", { scope: "col", class: "number wrap" }, title(r))));
      const body = order.map((item) => h("tr", { class: chosen.has(item) ? "current" : "" }, h("th", { scope: "row" }, model.items[item], chosen.has(item) ? h("span", { class: "sub" }, `elected, ${chosen.get(item) === 1 ? "1st" : `number ${chosen.get(item)}`}`) : null),
        ...shown.map((r) => h("td", { class: "number" }, election.stages[r].elected.includes(item) ? h("b", {}, count(election.stages[r].votes[item])) : (last.get(item) ?? 999) <= r ? "–" : count(election.stages[r].votes[item]), r > 0 ? moved(election.stages[r].moved[item]) : null))));
      body.push(h("tr", {}, h("th", { scope: "row" }, "exhausted"), ...shown.map((r) => h("td", { class: "number" }, count(election.stages[r].exhausted)))));
      return { drawing: h("div", { class: "table-scroll whole", tabindex: 0, role: "region", "aria-label": "The count" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...body))), controls: pager.control(all.length, "Stages", redraw) };
    },
    table: () => ({ columns: ["stage", "what", "candidate", "votes", "moved"], rows: election.stages.flatMap((stage, r) => [...order.map((i) => [r + 1, title(r), model.items[i], stage.votes[i], stage.moved[i]] as (string | number)[]), [r + 1, title(r), "exhausted", stage.exhausted, null as unknown as number]]) }),
  };
};

export const secondChoices: ViewMaker = (state) => {
  const model = state.current, second = model.counted?.second;
  if (!second) return null;
  let group = "all";
  const pager = new Pager(15), n = model.items.length;
  const rows = () => (group === "all" ? second.everyone : second.groups?.[Number(group)] ?? second.everyone);
  return {
    id: "second-choices",
    title: "Second choices",
    size: "big",
    lead: "Counted: of the ballots that put the candidate on the left first, the share that puts the one at the top second. Nobody: ballots that list no second.",
    draw(width, redraw) {
      if (state.selected.size === 1 && second.groups?.[[...state.selected][0]]) group = String([...state.selected][0]);
      const items = state.items(), left = widestLabel(items.map((i) => model.items[i]), Math.min(200, width * 0.38)) + 10;
      pager.size = Math.max(4, Math.min(15, Math.floor((width - left - 60) / 30)));
      const shown = pager.slice(items), across = [...(state.query ? model.order.slice(0, pager.size) : shown), n];
      const name = (i: number) => (i === n ? "nobody" : model.items[i]);
      const nameLength = widestLabel(across.map(name), 110, 12.5), head = nameLength * 0.72 + 22, high = 24;
      const step = Math.min(64, (width - left - 0.72 * nameLength - 4) / across.length);
      const drawing = svgRoot(width, head + shown.length * high + 2, "Second choices by first choice");
      across.forEach((i, c) => drawing.append(s("text", { class: "column-head", "text-anchor": "start", transform: `translate(${left + (c + 0.5) * step + 2},${head - 8}) rotate(-45)` }, fitText(name(i), 110, 12.5))));
      shown.forEach((a, r) => {
        const counts = rows()[a], total = counts.reduce((x, v) => x + v, 0);
        drawing.append(s("text", { x: left - 10, y: head + (r + 0.5) * high, "text-anchor": "end", "dominant-baseline": "central" }, fitText(model.items[a], left - 10)));
        across.forEach((b, c) => {
          const x = left + c * step, y = head + r * high;
          if (a === b) { drawing.append(s("rect", { class: "cell same", x, y, width: step - 1, height: high - 1, rx: 3 })); return; }
          const p = total > 0 ? counts[b] / total : 0;
          drawing.append(mark(cell(x, y, step, high, Math.sqrt(p) * 0.95, total > 0 ? String(Math.round(100 * p)) : "–"), `${model.items[a]} first, ${name(b)} second`, ["ballots", `${count(counts[b])} of ${count(total)}`], ["share", percent(p)]));
        });
      });
      const options: [string, string][] = [["all", `all ${state.nouns.voters}`], ...(second.groups ?? []).map((_, k) => [String(k), state.name(k)] as [string, string])];
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), note: "Numbers are percent of the row.",
        controls: [...(second.groups?.length ? [selectBox("Among", options, group, (v) => { group = v; redraw(); })] : []), ...pager.control(items.length, "Items", redraw)] };
    },
    table: () => ({ columns: ["first", "second", "everyone", ...(second.groups ?? []).map((_, k) => state.name(k))],
      rows: model.items.flatMap((a, i) => [...model.items, "nobody"].flatMap((b, j) => (i === j ? [] : [[a, b, second.everyone[i][j], ...(second.groups ?? []).map((g) => g[i][j])]]))) }),
  };
};

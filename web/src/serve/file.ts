// One file: what was understood of it, what to correct, and what to fit.
import { button, h } from "../dom";
import { count, percent } from "../format";
import { post, remove, type FamilyOption, type Info, type Job, type JobRequest, type Understood, type Upload } from "./api";
import { STATE_WORDS } from "./home";
import { choice, commandBox, field, go, link, say, sayError, type Screen, when } from "./parts";
import { canEdit, noCorrections, placeOf, readingOf } from "./reading";
import { jobTitle, type Store } from "./store";

const KINDS: Record<string, string> = { complete: "complete rankings", partial: "partial rankings", "top-t": "the first places of each ranking", pairwise: "pairs", subset: "rankings of some items" };
const SHOWN = 60;

export function fileScreen(place: HTMLElement, store: Store, upload: Upload): Screen {
  const corrections = noCorrections();
  let base: Info | undefined; // as read without corrections of items: what can be corrected
  let understood: Understood | undefined;
  let asking: AbortController | undefined;
  let query = "";

  const facts = h("div", { class: "serve-facts", "aria-live": "polite" });
  const items = h("div", {});
  const fits = h("section", { "aria-labelledby": "fits-title" });
  const start = button("Find groups", () => void begin(), { class: "primary", disabled: true });

  const read = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    facts.classList.add("busy");
    start.disabled = true;
    try {
      const plain = JSON.stringify(readingOf(corrections, [], false));
      const edited = corrections.out.size > 0 || corrections.names.size > 0;
      if (edited && (!base || plain !== basis)) {
        const first = await post<Understood>(`uploads/${upload.id}/reading`, { reading: JSON.parse(plain) }, mine.signal);
        if (first.ok) (base = first.info), (basis = plain);
      }
      const answer = await post<Understood>(`uploads/${upload.id}/reading`, { reading: readingOf(corrections, base?.items ?? []) }, mine.signal);
      understood = answer;
      if (!edited && answer.ok) (base = answer.info), (basis = plain);
      drawFacts();
      drawItems();
      start.disabled = !answer.ok;
      if (answer.ok) say("");
    } catch (error) {
      sayError(error);
    }
    if (mine === asking) facts.classList.remove("busy");
  };
  let basis = "";

  const drawFacts = () => {
    if (!understood) return;
    facts.replaceChildren();
    if (!understood.ok) {
      const problems = understood.problems ?? [];
      facts.append(h("div", { class: "warnings", role: "alert" }, h("h3", {}, problems.length === 1 ? "This file could not be read" : `${problems.length} places could not be read`),
        h("ol", { class: "serve-problems" }, ...problems.slice(0, 50).map((one) => {
          const at = placeOf(one, upload.file);
          return h("li", {}, at.line ? h("b", {}, `Line ${at.line}${at.column ? `, character ${at.column}` : ""}: `) : null, at.text);
        }))), commandBox(understood.command));
      return;
    }
    const info = understood.info!;
    const length = info.kind === "complete" ? "all items in each" : info.min_length === info.max_length ? `${info.min_length} listed in each` : `${info.min_length} to ${info.max_length} listed`;
    const chips = [`${count(info.num_rankings)} ballots`, `${count(info.num_items)} items`, KINDS[info.kind] ?? info.kind, length, info.has_ties ? "with ties" : "no ties"];
    if (info.kind !== "complete") chips.push(info.unranked === "last" ? "unlisted items rank last" : "unlisted items took no part");
    if (info.num_blank > 0) chips.push(`${count(info.num_blank)} blank ballots`);
    facts.append(h("ul", { class: "chips" }, ...chips.map((text) => h("li", {}, text))));
    const warnings = [...info.warnings, ...(info.strongly_connected || !info.connectivity ? [] : [info.connectivity])];
    if (warnings.length) facts.append(h("div", { class: "warnings", role: "note" }, h("h3", {}, "To know first"), h("ul", {}, ...warnings.map((text) => h("li", {}, text)))));
    const ballots = understood.ballots ?? [];
    facts.append(h("h3", {}, ballots.length === 1 ? "The ballot as read" : `The first ${ballots.length} ballots as read`), h("ol", { class: "serve-ballots" }, ...ballots.map((ballot) =>
      h("li", {}, ballot.weight && ballot.weight !== 1 ? h("b", {}, `${count(ballot.weight)} × `) : null,
        ballot.ranking.length ? ballot.ranking.map((one) => (Array.isArray(one) ? one.join(" = ") : one)).join(" > ") : "blank"))), commandBox(understood.command));
  };

  const drawItems = () => {
    if (!base) return void items.replaceChildren();
    const shown = base, order = shown.items.map((_, i) => i).sort((a, b) => shown.first[b] - shown.first[a]).filter((i) => shown.items[i].toLocaleLowerCase().includes(query.toLocaleLowerCase()));
    const rows = order.slice(0, SHOWN).map((i) => {
      const item = shown.items[i], fixed = !canEdit(item);
      const out = h("input", { type: "checkbox", "aria-label": `Leave out ${item}`, disabled: fixed });
      out.checked = corrections.out.has(item);
      out.addEventListener("change", () => {
        if (out.checked) corrections.out.add(item);
        else corrections.out.delete(item);
        void read();
      });
      const name = h("input", { type: "text", value: corrections.names.get(item) ?? "", placeholder: item, "aria-label": `Another name for ${item}`, maxlength: 200, disabled: fixed, list: "item-names" });
      name.addEventListener("change", () => {
        if (name.value.trim() && name.value.trim() !== item) corrections.names.set(item, name.value);
        else corrections.names.delete(item);
        void read();
      });
      return h("tr", {}, h("th", { scope: "row" }, item), h("td", { class: "number" }, percent(shown.first[i] / shown.num_rankings)), h("td", { class: "number" }, percent(shown.listed[i] / shown.num_rankings)), h("td", {}, out), h("td", {}, name));
    });
    const find = h("input", { type: "search", value: query, placeholder: "Find" });
    find.addEventListener("input", () => {
      query = find.value;
      drawItems();
      items.querySelector<HTMLInputElement>("input[type=search]")?.focus();
    });
    items.replaceChildren(field("Find item", find), h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Items" }, h("table", { class: "serve-items" },
      h("thead", {}, h("tr", {}, ...["item", "first", "listed", "leave out", "call it (the name of another item makes the two one)"].map((text, c) => h("th", { scope: "col", class: c === 1 || c === 2 ? "number" : "wrap" }, text)))), h("tbody", {}, ...rows))),
      order.length > SHOWN ? h("p", { class: "note" }, `${SHOWN} of ${order.length} items: find the others by name.`) : "",
      h("datalist", { id: "item-names" }, ...shown.items.slice(0, 500).map((item) => h("option", { value: item }))));
  };

  // How to read the file, each with the words of the command line.
  const readers = h("div", { class: "serve-form" });
  const has = (flag: string) => store.readFlags.has(flag);
  const pick = (flag: string, label: string, options: [string, string][], help = "") => {
    if (!has(flag)) return;
    const box = choice(options, corrections.flags[flag] ?? "");
    box.addEventListener("change", () => {
      corrections.flags[flag] = box.value;
      void read();
    });
    readers.append(field(label, box, help));
  };
  const type = (flag: string, label: string, help: string, list = false) => {
    if (!has(flag)) return;
    const input = h("input", { type: "text", maxlength: 500 });
    input.addEventListener("change", () => {
      (list ? corrections.lists : corrections.flags)[flag] = input.value.trim();
      void read();
    });
    readers.append(field(label, input, help));
  };
  pick("unranked", "Unlisted items", [["", "as the format says"], ["last", "rank below the listed ones"], ["absent", "took no part"]]);
  pick("format", "Format", [["", "find out"], ...["preflib", "preflib-old", "csv-wide", "csv-matrix", "csv-long", "csv-pairwise", "csv-ratings", "csv-order", "jsonl", "blt"].map((one) => [one, one] as [string, string])]);
  type("contest", "Contest", "a part of its name, where the file holds several");
  type("columns", "Columns", "CSV: those to use, separated by commas", true);
  type("voter", "Voter's column", "where one voter has several rows");
  type("weight-column", "Weight's column", "how often a row counts");
  type("drop", "Names of nobody", "besides skipped, overvote and the like; * is any text", true);
  type("top", "Ratings: the best", "keep only so many of each voter");

  // What to fit.
  const family = choice([...store.families.map((one) => [one.name, `${one.name}: ${one.summary}`] as [string, string]), ["?", "compare families, and let unseen ballots choose"]], store.families[0]?.name ?? "pl");
  const groups = choice([["auto", "as many as the ballots show"], ["one", "so many:"], ["several", "one fit for each from 1 to:"]], "auto");
  const number = h("input", { type: "number", min: 1, max: 100, value: 3, "aria-label": "Number of groups" });
  const seed = h("input", { type: "number", min: 1, value: 1 }), limit = h("input", { type: "number", min: 0, value: 0 });
  const options = h("div", { class: "serve-form" });
  let settings: Record<string, string> = {};
  const about = () => store.families.find((one) => one.name === family.value);
  const drawOptions = () => {
    settings = {};
    const known = about(), components = known?.options.some((one) => one.name === "components");
    groups.disabled = family.value !== "?" && !components;
    number.disabled = groups.disabled || groups.value === "auto";
    options.replaceChildren(...(known?.options ?? []).filter((one) => one.name !== "components" && (one.choices || one.min !== null)).map((one: FamilyOption) => {
      const input = one.choices ? choice(one.choices.map((text) => [text, text]), one.default) : h("input", { type: "text", value: one.default });
      input.addEventListener("change", () => {
        if (input.value.trim() === one.default) delete settings[one.name];
        else settings[one.name] = input.value.trim();
      });
      return field(one.name, input, one.help);
    }));
  };
  family.addEventListener("change", drawOptions);
  groups.addEventListener("change", () => (number.disabled = groups.disabled || groups.value === "auto"));

  const begin = async () => {
    const request: JobRequest = { upload: upload.id, command: "fit", reading: readingOf(corrections, base?.items ?? []) };
    if (Number(seed.value) > 1) request.seed = Number(seed.value);
    if (Number(limit.value) > 0) request.time_limit = Number(limit.value);
    const many = Math.max(1, Math.round(Number(number.value) || 1));
    const requests: JobRequest[] = [];
    if (family.value === "?") requests.push({ ...request, command: "compare", ...(groups.value === "auto" ? {} : { groups: groups.value === "one" ? `${many}` : `1..${many}` }) });
    else {
      request.family = family.value;
      if (Object.keys(settings).length) request.options = settings;
      const components = about()?.options.some((one) => one.name === "components");
      if (!components) requests.push(request);
      else if (groups.value === "auto") requests.push({ ...request, command: "select", groups: "auto" });
      else if (groups.value === "one") requests.push({ ...request, groups: many });
      else for (let k = 1; k <= Math.min(many, 20); ++k) requests.push({ ...request, groups: k });
    }
    try {
      let last: Job | undefined;
      for (const one of requests) store.put((last = await post<Job>("jobs", one)));
      if (last) go(`?fit=${last.id}`);
    } catch (error) {
      sayError(error);
    }
  };

  const update = () => {
    const jobs = store.jobsOf(upload.id);
    fits.hidden = jobs.length === 0;
    fits.replaceChildren(h("h2", { id: "fits-title" }, "Fits of this file"), h("ul", { class: "serve-jobs" }, ...jobs.map((job) =>
      h("li", {}, link(jobTitle(job), `?fit=${job.id}`), h("span", { class: `serve-state ${job.state}` }, STATE_WORDS[job.state]), h("span", { class: "note" }, when(job.created)),
        ["queued", "running"].includes(job.state) ? null : button("Remove", () => void remove(`jobs/${job.id}`).then(() => store.load()).catch(sayError), { "aria-label": `Remove the fit ${jobTitle(job)}` })))));
  };

  drawOptions();
  place.replaceChildren(h("main", {}, h("div", { class: "page-head" }, h("p", { class: "kicker" }, "File"), h("h1", {}, upload.name)),
    h("section", { "aria-labelledby": "understood-title" }, h("h2", { id: "understood-title" }, "What was understood"), facts,
      h("details", { class: "serve-more" }, h("summary", {}, "Read it otherwise"), readers),
      h("details", { class: "serve-more", id: "items-more" }, h("summary", {}, "Items: leave out, merge, rename"), items)),
    h("section", { "aria-labelledby": "fit-title" }, h("h2", { id: "fit-title" }, "Find the groups"),
      h("div", { class: "serve-form" }, field("Model", family), field("Groups", groups), field("How many", number)),
      h("details", { class: "serve-more" }, h("summary", {}, "More settings"), h("div", { class: "serve-form" }, field("Seed", seed, "the same seed gives the same result"), field("Time limit, seconds", limit, "0: none; what is there by then is kept")), options),
      start), fits));
  document.title = `${upload.name} – caucus`;
  facts.append(h("p", { class: "say" }, "Reading …"));
  update();
  void read();
  return { update, leave: () => asking?.abort() };
}

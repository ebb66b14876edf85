// One file: what was understood of it, what to correct, and what to fit.
import { button, h } from "../dom";
import { count, percent } from "../format";
import { post, remove, type Info, type Understood, type Upload } from "./api";
import { STATE_WORDS } from "./home";
import { commandBox, field, link, say, sayError, type Screen, when } from "./parts";
import { readingForm } from "./readers";
import { canEdit, placeOf, readingOf, recallCorrections, rememberCorrections } from "./reading";
import { startForm } from "./start";
import { jobTitle, type Store } from "./store";

const KINDS: Record<string, string> = { complete: "complete rankings", partial: "partial rankings", "top-t": "the first places of each ranking", pairwise: "pairs", subset: "rankings of some items" };
const SHOWN = 60;

export function fileScreen(place: HTMLElement, store: Store, upload: Upload): Screen {
  const corrections = recallCorrections(upload.id);
  let base: Info | undefined; // as read without corrections of items: what can be corrected
  let understood: Understood | undefined;
  let asking: AbortController | undefined;
  let query = "";

  const facts = h("div", { class: "serve-facts", "aria-live": "polite" });
  const items = h("div", {});
  const fits = h("section", { "aria-labelledby": "fits-title" });

  const read = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    facts.classList.add("busy");
    start.understood(undefined);
    rememberCorrections(upload.id, corrections);
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
      start.understood(answer.info);
      if (answer.ok) readers.understood(answer.info), say("");
    } catch (error) {
      sayError(error);
    }
    if (mine === asking) facts.classList.remove("busy");
  };
  let basis = "";
  const readers = readingForm(store.readFlags, corrections, () => void read());
  const start = startForm(store, upload.id, () => readingOf(corrections, base?.items ?? []));

  const drawFacts = () => {
    if (!understood) return;
    facts.replaceChildren();
    if (!understood.ok) {
      const problems = understood.problems ?? [];
      const places = problems.map((one) => placeOf(one, upload.file)), lines = places.filter((at) => at.line).length;
      facts.append(h("div", { class: "warnings", role: "alert" }, h("h3", {}, lines > 1 ? `${lines} places could not be read` : "This file could not be read"),
        h("ul", { class: "serve-problems" }, ...places.slice(0, 50).map((at) => h("li", {}, at.line ? h("b", {}, `Line ${at.line}${at.column ? `, character ${at.column}` : ""}: `) : null, at.text)))), commandBox(understood.command));
      return;
    }
    const info = understood.info!;
    const length = info.kind === "complete" ? "all items in each" : info.min_length === info.max_length ? `${info.min_length} listed in each` : `${info.min_length} to ${info.max_length} listed`;
    const chips = [`${count(info.num_rankings)} ballots`, `${count(info.num_items)} items`, KINDS[info.kind] ?? info.kind, length, info.has_ties ? "with ties" : "no ties"];
    if (info.kind !== "complete") chips.push(info.unranked === "last" ? "unlisted items rank last" : "unlisted items took no part");
    if (info.num_voters) chips.splice(1, 0, `${count(info.num_voters)} voters`);
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
        if (name.value.includes("=")) return say("A name cannot have = in it: it divides the old name from the new.", true);
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

  const update = () => {
    const jobs = store.jobsOf(upload.id);
    fits.hidden = jobs.length === 0;
    fits.replaceChildren(h("h2", { id: "fits-title" }, "Fits of this file"), h("ul", { class: "serve-jobs" }, ...jobs.map((job) =>
      h("li", {}, link(jobTitle(job), `?fit=${job.id}`), h("span", { class: `serve-state ${job.state}` }, STATE_WORDS[job.state]), h("span", { class: "note" }, when(job.created)),
        ["queued", "running"].includes(job.state) ? null : button("Remove", () => void remove(`jobs/${job.id}`).then(() => store.load()).catch(sayError), { "aria-label": `Remove the fit ${jobTitle(job)}` })))));
  };

  const corrected = (some: boolean) => (some ? { open: true } : {});
  place.replaceChildren(h("main", {}, h("div", { class: "page-head" }, h("p", { class: "kicker" }, "File"), h("h1", {}, upload.name)),
    h("section", { "aria-labelledby": "understood-title" }, h("h2", { id: "understood-title" }, "What was understood"), facts,
      h("details", { class: "serve-more", id: "reading-more", ...corrected(Object.keys(readingOf(corrections, [], false)).length > 0) }, h("summary", {}, "Read it otherwise"), readers.element),
      h("details", { class: "serve-more", id: "items-more", ...corrected(corrections.out.size + corrections.names.size > 0) }, h("summary", {}, "Items: leave out, merge, rename"), items)),
    start.element, fits));
  document.title = `${upload.name} – caucus`;
  facts.append(h("p", { class: "say" }, "Reading …"));
  update();
  void read();
  return { update, leave: () => asking?.abort() };
}

// The page: plain words first, then the views in sections. It knows the data and the element to fill, not where they come from.
import { swatch } from "./chart";
import { button, h, selectBox } from "./dom";
import { count, percent } from "./format";
import { State, type SortKey } from "./state";
import type { ReportData } from "./types";
import { mount, type Mounted, type ViewMaker } from "./view";
import { bump } from "./views/bump";
import { changes, comparison, models } from "./views/compare";
import { lengths, mentions } from "./views/data";
import { diagnostics, goodness, selection, traces } from "./views/fit";
import { leaderboard } from "./views/battles";
import { secondChoices, stages, winners } from "./views/election";
import { firstPlaces, headToHead } from "./views/heat";
import { clusterCount, coclustering, dispersion, theta } from "./views/mallows";
import { ballotMap } from "./views/map";
import { composition } from "./views/members";
import { itemValues, membershipCoefficients, membershipShares } from "./views/membership";
import { confusions, memberships } from "./views/memberships";
import { calibration, coefficients, confusion, path, roc } from "./views/regression";
import { sizes } from "./views/sizes";
import { utilities } from "./views/utilities";

interface Section {
  id: string;
  title: string;
  views: ViewMaker[];
}
const SECTIONS: Section[] = [
  { id: "choice", title: "Which model", views: [comparison, models, changes, selection] },
  { id: "groups", title: "The groups", views: [bump, sizes, firstPlaces, utilities, itemValues, headToHead, dispersion, theta] },
  { id: "results", title: "Results", views: [leaderboard, winners, stages, secondChoices] },
  { id: "outcomes", title: "The outcomes", views: [coefficients, roc, calibration, confusion, path] },
  { id: "voters", title: "Who is in the groups", views: [membershipShares, membershipCoefficients, composition, ballotMap, memberships, confusions, clusterCount, coclustering] },
  { id: "trust", title: "Can it be trusted", views: [goodness, diagnostics, traces] },
  { id: "data", title: "The data", views: [mentions, lengths] },
];
const CARDS = 12;
const CHIPS = 12;
const CAVEATS = 3;

export interface App {
  state: State;
  stop(): void; // for a page that goes on to something else
}

// What a page that is no file says otherwise.
export interface Words {
  kicker: string;
  closing: string;
}
const OF_A_FILE: Words = { kicker: "caucus report", closing: "This file needs no network and sends nothing." };

export function startApp(root: HTMLElement, report: ReportData, say: Words = OF_A_FILE): App {
  const state = new State(report);
  const stem = report.title.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40).toLowerCase() || "caucus";
  let mounted: Mounted[] = [];
  const header = h("header", { class: "page-head" });
  const bar = h("div", { class: "toolbar", role: "region", "aria-label": "Sections and filters" });
  const words = h("section", { id: "words", class: "words", "aria-labelledby": "words-title" });
  const body = h("div", {});
  let showAllCards = false;
  const severalModels = report.models.length > 1 || report.comparison !== undefined;

  const drawHeader = () => {
    const model = report.models.length ? state.current : undefined;
    const facts: string[] = [];
    if (report.data) facts.push(`${count(report.data.num_rankings)} ${state.nouns.rankings}`, `${count(report.data.num_items)} ${state.nouns.items}`);
    else if (model?.scores.num_rankings) facts.push(`${count(model.scores.num_rankings)} ${state.nouns.rankings}`);
    if (!report.data && model?.items.length) facts.push(`${count(model.items.length)} ${state.nouns.items}`);
    if (model && model.groups.length > 0) facts.push(model.groups.length === 1 ? "1 group" : `${model.groups.length} groups`);
    if (model?.regression) facts.push(`${count(model.regression.classes.length)} outcomes`, `${count(model.regression.features.length)} features`);
    header.replaceChildren(h("p", { class: "kicker" }, say.kicker), h("h1", {}, report.title),
      h("ul", { class: "chips" }, ...facts.map((fact) => h("li", {}, fact)), model ? h("li", { title: model.family_words }, model.family_title) : null));
  };

  const drawWords = () => {
    const model = report.models.length ? state.current : undefined;
    words.replaceChildren(h("h2", { id: "words-title" }, "In plain words"));
    // What was found comes before how many groups were looked for; of several models, which one comes first.
    const own = model?.sentences ?? [], sentences = severalModels ? [...report.sentences, ...own] : [...own, ...report.sentences];
    for (const sentence of sentences) words.append(h("p", { class: "say" }, sentence));
    const caveats = model?.caveats ?? [];
    if (caveats.length)
      words.append(h("div", { class: "warnings", role: "note", "aria-label": "Caveats" }, h("h3", {}, caveats.length === 1 ? "One thing to know first" : "To know first"),
        h("ul", {}, ...caveats.slice(0, CAVEATS).map((text) => h("li", {}, text))),
        caveats.length > CAVEATS || report.warnings.length ? h("p", { class: "note" }, h("a", { href: "#trust" }, "More under “Can it be trusted”")) : null));
    if (!model || model.groups.length === 0) return;
    const shown = showAllCards ? model.groups : model.groups.slice(0, CARDS);
    words.append(h("div", { class: "cards" }, ...shown.map((group, k) => {
      const card = button(null, () => state.toggle(k), { class: `card ${state.colour(k) < 0 ? "gx" : `g${state.colour(k)}`}`, "aria-pressed": String(state.selected.has(k)), "data-group": group.label,
        disabled: model.groups.length < 2 });
      card.append(h("span", { class: "card-head" }, swatch(state.colour(k)), h("span", {}, model.groups.length > 1 ? state.name(k) : `All ${state.nouns.voters}`), model.groups.length > 1 ? h("b", {}, percent(group.weight)) : null),
        h("span", { class: "card-words" }, group.words));
      if (state.selected.size > 0 && !state.selected.has(k)) card.classList.add("dim");
      return card;
    })));
    if (model.groups.length > CARDS)
      words.append(button(showAllCards ? "Show fewer groups" : `Show all ${model.groups.length} groups`, () => { showAllCards = !showAllCards; drawWords(); }, { class: "more" }));
  };

  const search = h("input", { type: "search", id: "find", placeholder: "Find", autocomplete: "off" });
  search.addEventListener("input", () => state.search(search.value));
  const theme = button("Dark", () => {
    const dark = isDark();
    document.documentElement.setAttribute("data-theme", dark ? "light" : "dark");
    nameTheme();
    for (const view of mounted) view.redraw();
  }, { class: "theme" });
  const isDark = () => (document.documentElement.getAttribute("data-theme") ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const nameTheme = () => (theme.textContent = isDark() ? "Light" : "Dark");

  const drawBar = (sections: [string, string][]) => {
    const model = report.models.length ? state.current : undefined;
    const focused = document.activeElement instanceof HTMLElement && bar.contains(document.activeElement) ? document.activeElement.getAttribute("data-key") : null;
    const nav = h("nav", { "aria-label": "Sections" }, ...sections.map(([id, title]) => h("a", { href: `#${id}` }, title)));
    const controls = h("div", { class: "toolbar-controls" });
    if (report.models.length > 1) controls.append(selectBox("Model", report.models.map((m, i) => [String(i), m.name]), String(state.model), (v) => state.choose(Number(v))));
    if (model && model.groups.length > 1) {
      const chips = h("div", { class: "group-chips", role: "group", "aria-label": "Filter by group" });
      const listed = model.groups.map((_, k) => k).filter((k) => k < CHIPS || state.selected.has(k));
      for (const k of listed) {
        const chip = button(null, () => state.toggle(k), { class: "chip", "aria-pressed": String(state.selected.has(k)), "data-key": `g${k}`, "aria-label": `${state.name(k)}, ${percent(model.groups[k].weight)}`, title: model.groups[k].words });
        chip.append(swatch(state.colour(k)), String(model.groups[k].label));
        chips.append(chip);
      }
      if (model.groups.length > CHIPS) {
        const rest = model.groups.map((_, k) => k).filter((k) => !listed.includes(k));
        if (rest.length) chips.append(selectBox("More", [["", `+ ${rest.length} more`], ...rest.map((k) => [String(k), `${state.name(k)} · ${percent(model.groups[k].weight)}`] as [string, string])], "", (v) => v && state.toggle(Number(v))));
      }
      if (state.selected.size) chips.append(button("All", () => state.clear(), { class: "chip", "data-key": "all", "aria-label": "Show all groups" }));
      controls.append(chips);
    }
    if (model) {
      controls.append(h("span", { class: "control" }, h("label", { for: "find" }, model.regression ? "Find" : "Find item"), search));
      if (model.items.length > 1) {
        const sorts: [SortKey, string][] = [["overall", model.counted ? "overall, as counted" : "overall order"], ["name", "by name"], ["file", "as in the file"]];
        if (model.groups.length > 1) sorts.splice(1, 0, ["spread", "most disputed first"]);
        if (model.groups.length > 1) for (const k of state.visible()) sorts.push([`group:${k}`, `order of ${state.name(k)}`]);
        if (!sorts.some(([key]) => key === state.sort)) state.sort = "overall";
        controls.append(selectBox(`Sort ${state.nouns.items}`, sorts, state.sort, (v) => state.sortBy(v as SortKey)));
      }
    }
    controls.append(theme);
    const typing = document.activeElement === search;
    bar.replaceChildren(nav, controls);
    if (typing) search.focus();
    else if (focused) bar.querySelector<HTMLElement>(`[data-key="${focused}"]`)?.focus();
  };

  // What the page does not open with: lesser caveats, and what the fit and the reader of the data had to say.
  const furtherNotes = (): HTMLElement | null => {
    const texts = [...(report.models.length ? state.current.caveats ?? [] : []).slice(CAVEATS), ...report.warnings.map((one) => (one.source && report.models.length > 1 ? `${one.source}: ${one.text}` : one.text))];
    return texts.length ? h("div", { class: "warnings", role: "note", "aria-label": "Notes" }, h("h3", {}, "Notes"), h("ul", {}, ...texts.map((text) => h("li", {}, text)))) : null;
  };

  let sections: [string, string][] = [];
  let builtFor = -1;
  const build = () => {
    builtFor = state.model;
    mounted = [];
    sections = [["words", "In plain words"]];
    body.replaceChildren();
    // Of battles the leaderboard is what people come for.
    const first = report.models.length && state.current.leaderboard ? "results" : "", late = severalModels ? "" : "choice";
    const rank = (id: string) => (id === first ? -1 : id === late ? SECTIONS.findIndex((one) => one.id === "trust") - 0.5 : SECTIONS.findIndex((one) => one.id === id));
    const order = [...SECTIONS].sort((a, b) => rank(a.id) - rank(b.id));
    for (const section of order) {
      const views = section.views.map((maker) => maker(state)).filter((view) => view !== null);
      const notes = section.id === "trust" ? furtherNotes() : null;
      if (views.length === 0 && !notes) continue;
      const grid = h("div", { class: "views" });
      for (const view of views) {
        const one = mount(view, stem);
        mounted.push(one);
        grid.append(one.element);
      }
      const intro = section.id === "data" && report.data ? report.data.sentences.join(" ") : "";
      body.append(h("section", { id: section.id, class: "section", "aria-labelledby": `${section.id}-title` }, h("h2", { id: `${section.id}-title` }, section.title), intro ? h("p", { class: "say" }, intro) : null, notes, grid));
      sections.push([section.id, section.title]);
    }
    const model = report.models.length ? state.current : undefined;
    body.append(h("section", { id: "provenance", class: "section", "aria-labelledby": "provenance-title" }, h("h2", { id: "provenance-title" }, "Where this comes from"),
      model ? h("p", { class: "say" }, model.family_words) : null,
      report.provenance.command ? h("pre", { class: "command", tabindex: 0 }, report.provenance.command) : null,
      h("dl", { class: "provenance" }, ...report.provenance.facts.flatMap(([name, value]) => [h("div", {}, h("dt", {}, name), h("dd", {}, value))])),
      h("p", { class: "note" }, `Made by caucus ${report.provenance.version}. ${say.closing}`)));
    sections.push(["provenance", "Where from"]);
  };

  const all = () => {
    if (builtFor !== state.model) {
      build();
      drawHeader();
    }
    drawBar(sections);
    drawWords();
    for (const view of mounted) view.redraw();
  };
  root.replaceChildren(header, bar, h("main", {}, words, body));
  document.title = `${report.title} – caucus report`;
  state.listen(all);
  nameTheme();
  all();

  let width = root.clientWidth, waiting = 0;
  const resized = () => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => mounted.forEach((view) => view.redraw()));
  };
  const sizes = new ResizeObserver(resized);
  sizes.observe(root);
  const everywhere = () => mounted.forEach((view) => view.redraw());
  const recolor = () => {
    nameTheme();
    everywhere();
  };
  const print = window.matchMedia("print"), dark = window.matchMedia("(prefers-color-scheme: dark)");
  print.addEventListener("change", everywhere);
  dark.addEventListener("change", recolor);
  return {
    state,
    stop() {
      sizes.disconnect();
      print.removeEventListener("change", everywhere);
      dark.removeEventListener("change", recolor);
    },
  };
}

// What to fit: a family or a comparison of several, the number of groups, what may explain the groups.
import { button, h } from "../dom";
import { post, type FamilyOption, type Info, type Job, type JobRequest, type Reading } from "./api";
import { choice, field, go, sayError } from "./parts";
import { COMPARE, requestsOf, term } from "./requests";
import type { Store } from "./store";

const FORMULA = "membership"; // the option that explains groups by columns of the file

export interface StartForm {
  element: HTMLElement;
  understood(info: Info | undefined): void; // nothing: the file cannot be read
}

export function startForm(store: Store, upload: string, reading: () => Reading): StartForm {
  let info: Info | undefined, offered = "", settings: Record<string, string> = {};
  const family = choice([...store.families.map((one) => [one.name, `${one.name}: ${one.summary}`] as [string, string]), [COMPARE, "compare families, and let unseen ballots choose"]], store.families[0]?.name ?? "pl");
  const groups = choice([["auto", "as many as the ballots show"], ["one", "so many:"], ["several", "one fit for each from 1 to:"]], "auto");
  const number = h("input", { type: "number", min: 1, max: 100, value: 3 });
  const seed = h("input", { type: "number", min: 1, value: 1 }), limit = h("input", { type: "number", min: 0, value: 0 });
  const options = h("div", { class: "serve-form" }), extra = h("div", {});
  const start = button("Find groups", () => void begin(), { class: "primary", id: "start", disabled: true });
  const about = () => store.families.find((one) => one.name === family.value);
  const has = (name: string) => about()?.options.some((one) => one.name === name) ?? false;

  const drawNumber = () => {
    groups.disabled = family.value !== COMPARE && !has("components");
    number.disabled = groups.disabled || groups.value === "auto";
  };
  const drawOptions = () => {
    settings = {};
    drawNumber();
    options.replaceChildren(...(about()?.options ?? []).filter((one) => one.name !== "components" && (one.choices || one.min !== null)).map((one: FamilyOption) => {
      const input = one.choices ? choice(one.choices.map((text) => [text, text]), one.default) : h("input", { type: "text", value: one.default });
      input.addEventListener("change", () => {
        if (input.value.trim() === one.default) delete settings[one.name];
        else settings[one.name] = input.value.trim();
      });
      return field(one.name, input, one.help);
    }));
    drawExtra();
  };
  const boxes = (names: [string, string][], changed: () => void) => names.map(([name, title]) => {
    const box = h("input", { type: "checkbox", value: name });
    box.addEventListener("change", changed);
    return h("label", { class: "serve-check", title }, box, name);
  });
  const checked = () => [...extra.querySelectorAll<HTMLInputElement>("input:checked")].map((one) => one.value);
  const formula = h("input", { type: "text", maxlength: 900, placeholder: "age + factor(region)" });
  // What goes with the choice of a family: those to compare, or the columns that may explain its groups.
  const drawExtra = () => {
    const columns = (info?.covariates ?? []).filter((one) => one !== reading().voter);
    formula.value = "";
    if (family.value === COMPARE)
      extra.replaceChildren(h("fieldset", { class: "serve-set", id: "compare-families" }, h("legend", {}, "Which families (none ticked: pl, mallows and gmallows)"), ...boxes(store.families.map((one) => [one.name, one.summary]), () => undefined)));
    else if (columns.length && has(FORMULA))
      extra.replaceChildren(h("fieldset", { class: "serve-set", id: "explain" }, h("legend", {}, "What may explain who is in which group"), ...boxes(columns.map((one) => [one, ""]), () => (formula.value = checked().map(term).join(" + "))),
        field("as a formula", formula, "columns with + between; factor(x) for numbers that are categories; empty: nothing")));
    else extra.replaceChildren();
  };
  family.addEventListener("change", drawOptions);
  groups.addEventListener("change", drawNumber);

  const begin = async () => {
    const base: JobRequest = { upload, command: "fit", reading: reading() };
    if (Number(seed.value) > 1) base.seed = Number(seed.value);
    if (Number(limit.value) > 0) base.time_limit = Number(limit.value);
    const explained: Record<string, string> = formula.value.trim() ? { [FORMULA]: formula.value.trim() } : {};
    const requests = requestsOf(base, { family: family.value, families: family.value === COMPARE ? checked() : [], components: has("components"), groups: groups.value, many: Math.max(1, Math.round(Number(number.value) || 1)), options: { ...settings, ...explained } });
    start.disabled = true;
    try {
      let last: Job | undefined;
      for (const one of requests) store.put((last = await post<Job>("jobs", one)));
      if (last) go(`?fit=${last.id}`);
    } catch (error) {
      sayError(error);
    }
    start.disabled = !info;
  };

  drawOptions();
  return {
    element: h("section", { "aria-labelledby": "fit-title" }, h("h2", { id: "fit-title" }, "Find the groups"),
      h("div", { class: "serve-form" }, field("Model", family), field("Groups", groups), field("How many", number)), extra,
      h("details", { class: "serve-more" }, h("summary", {}, "More settings"), h("div", { class: "serve-form" }, field("Seed", seed, "the same seed gives the same result"), field("Time limit, seconds", limit, "0: none; what is there by then is kept")), options),
      start),
    understood(found) {
      info = found;
      start.disabled = !found;
      // A reading under way, or one that finds the same columns, takes nothing away that was ticked or typed.
      const columns = JSON.stringify([info?.covariates, reading().voter]);
      if (!found || columns === offered) return;
      offered = columns;
      drawExtra();
    },
  };
}

// What one can do with a result besides looking at it: tools above the report's views.
import { startApp } from "../app";
import { colourClass, swatch } from "../chart";
import { button, h } from "../dom";
import { count, percent } from "../format";
import { State } from "../state";
import type { ReportData } from "../types";
import { blob, get, post, type Job, type JobRequest, type Upload } from "./api";
import { choice, commandBox, field, go, link, say, sayError } from "./parts";
import { jobTitle, type Store } from "./store";
import { without } from "./without";

function tool(id: string, title: string, ...children: (Node | null)[]): HTMLDetailsElement {
  const box = h("details", { class: "serve-tool", id }, h("summary", {}, title), h("div", { class: "serve-tool-body" }, ...children));
  // A tool that was open stays open when another fit is looked at.
  const key = `caucus-open-${id}`;
  box.open = sessionStorage.getItem(key) === "1";
  box.addEventListener("toggle", () => sessionStorage.setItem(key, box.open ? "1" : "0"));
  return box;
}

async function download(path: string, name: string): Promise<void> {
  say(`Making ${name} …`);
  try {
    const url = URL.createObjectURL(await blob(path));
    const anchor = h("a", { href: url, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    say(`${name} is downloaded.`);
  } catch (error) {
    sayError(error);
  }
}

// A share as a bar in its group's colour; the number stands beside it.
function bar(colour: number, share: number): HTMLElement {
  const inside = h("span", { class: colourClass(colour) });
  inside.style.setProperty("width", `${Math.max(1, 100 * share)}%`);
  return h("span", { class: "serve-share", "aria-hidden": "true" }, inside);
}

function ballotTool(job: Job, state: State): HTMLElement {
  const model = state.current, typed = h("input", { type: "text", placeholder: "best first: A > B = C", maxlength: 5000 });
  const order: string[] = [];
  const picked = h("ol", { class: "serve-picked" }), out = h("div", { "aria-live": "polite" });
  const ask = async (body: unknown) => {
    try {
      const answer = await post<{ rows: { label: number; p: number[] }[] }>(`jobs/${job.id}/ballot`, body);
      const p = answer.rows?.[0]?.p ?? [];
      const best = p.indexOf(Math.max(...p));
      out.replaceChildren(h("p", { class: "say", id: "ballot-answer", "data-group": String(best + 1) }, `This ballot falls in ${state.name(best)}, with probability ${percent(p[best])}.`),
        h("ul", { class: "serve-bars" }, ...p.map((value, k) => ({ value, k })).sort((a, b) => b.value - a.value).slice(0, 12).map(({ value, k }) =>
          h("li", { "data-group": String(k + 1), "data-value": String(value) }, swatch(state.colour(k)), h("span", {}, state.name(k)), bar(state.colour(k), value), h("b", {}, percent(value))))));
    } catch (error) {
      out.replaceChildren();
      sayError(error);
    }
  };
  const draw = () => {
    picked.replaceChildren(...order.map((item, i) => h("li", {}, item, button("×", () => {
      order.splice(i, 1);
      draw();
      if (order.length) void ask({ order });
    }, { "aria-label": `Take ${item} off the ballot` }))));
  };
  const add = choice([["", "next choice …"], ...model.items.map((item, i) => [String(i), item] as [string, string])], "");
  add.addEventListener("change", () => {
    const item = model.items[Number(add.value)];
    if (add.value !== "" && !order.includes(item)) order.push(item);
    add.value = typed.value = "";
    draw();
    if (order.length) void ask({ order });
  });
  typed.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !typed.value.trim()) return;
    order.length = 0; // one ballot at a time
    draw();
    void ask({ ballot: typed.value });
  });
  return tool("tool-ballot", "Which group does a ballot fall in?", h("div", { class: "serve-form" }, field("Pick, best first", add), field("or type it", typed, "Enter asks")), picked, out);
}

function withoutTool(state: State, upload: Upload): HTMLElement {
  const model = state.current, out = h("div", { "aria-live": "polite" });
  const box = choice([["", "nobody"], ...model.order.map((i) => [String(i), model.items[i]] as [string, string])], "");
  box.addEventListener("change", () => {
    if (box.value === "") return out.replaceChildren();
    const item = Number(box.value), found = without(model, item);
    if (!found) {
      out.replaceChildren(h("p", { class: "say" }, "Neither second choices nor strengths are at hand for this. ", link("Read the file without this item and fit again", `?file=${upload.id}`), " to see."));
      return;
    }
    const shown = found.groups.slice(0, 20);
    const leader = (values: number[]) => values.indexOf(Math.max(...values));
    const rows = shown.map((group, k) => {
      const now = leader(group.now), then = leader(group.then);
      const gains = group.then.map((v, i) => [v - group.now[i], i] as [number, number]).filter(([d, i]) => i !== item && d > 0.0005).sort((a, b) => b[0] - a[0]).slice(0, 3);
      return h("tr", { "data-group": String(k + 1), "data-leader": String(then) }, h("th", { scope: "row" }, swatch(state.colour(k)), " ", model.groups.length > 1 ? state.name(k) : "All"), h("td", {}, `${model.items[now]} (${percent(group.now[now])})`),
        h("td", { class: then !== now ? "best" : "", "data-value": String(group.then[then]) }, `${model.items[then]} (${percent(group.then[then])})`),
        h("td", {}, gains.map(([d, i]) => `${model.items[i]} +${percent(d)}`).join(", ") || "–"), h("td", { class: "number" }, percent(group.now[item])), h("td", { class: "number" }, percent(group.nobody)));
    });
    out.replaceChildren(h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `Without ${model.items[item]}` }, h("table", {}, h("caption", { class: "hidden" }, `First choices without ${model.items[item]}`),
      h("thead", {}, h("tr", {}, ...["group", "first choice now", "then", "who gains", "had it first", "then rank nobody"].map((text, c) => h("th", { scope: "col", class: c > 3 ? "number" : null }, text)))), h("tbody", {}, ...rows))),
      h("p", { class: "note" }, found.how === "ballots" ? "Counted: ballots that put it first pass to their next choice. Groups stay as they are; nothing is fitted anew." : "From the model: under Plackett-Luce the others keep their proportions. Nothing is fitted anew."));
  });
  return tool("tool-without", "What if one were not there?", h("div", { class: "serve-form" }, field("Leave out", box)), out);
}

function namesTool(job: Job, state: State, renamed: () => void): HTMLElement {
  const groups = state.current.groups.slice(0, 100);
  const inputs = groups.map((group) => h("input", { type: "text", maxlength: 100, value: group.name ?? "", placeholder: `Group ${group.label}` }));
  const save = button("Save names", () => {
    const names = inputs.map((input, k) => input.value.trim() || `Group ${groups[k].label}`);
    post(`jobs/${job.id}/names`, { names }).then(() => {
      say("Named: reports and memberships use the names from now on.");
      renamed();
    }).catch(sayError);
  }, { class: "primary" });
  return tool("tool-names", "Name the groups", h("div", { class: "serve-form" }, ...groups.map((group, k) => field(`Group ${group.label}, ${percent(group.weight)}`, inputs[k]))), save);
}

// What a comparison is for: to fit what came out best, or another of the families.
function fitOneOf(report: ReportData, store: Store, job: Job): HTMLElement {
  const begin = (request: JobRequest) => post<Job>("jobs", request).then((started) => {
    store.put(started);
    go(`?fit=${started.id}`);
  }).catch(sayError);
  const rows = (report.comparison?.table ?? []).filter((row) => store.families.some((one) => one.name === row.name));
  return h("div", { class: "serve-downloads", role: "group", "aria-label": "Fit one of them", id: "fit-one" }, h("span", {}, "Fit one of them:"), ...rows.map((row, i) => {
    const groups = row.groups ? Math.round(row.groups) : 0;
    return button(`${row.name}${groups > 0 ? `, ${groups === 1 ? "1 group" : `${groups} groups`}` : ""}`,
      () => void begin({ upload: job.upload, command: "fit", family: row.name, ...(groups > 0 ? { groups } : {}), reading: job.request.reading }), i === 0 ? { class: "primary" } : {});
  }));
}

// A slider that was moved by keys keeps the focus in the next fit's page.
let sliding = false;

// Fills `place` with tools and views; the answer ends them.
export async function explore(place: HTMLElement, store: Store, job: Job, upload: Upload, other: string, signal: AbortSignal): Promise<() => void> {
  const second = store.jobs.get(other);
  const report = await get<ReportData>(`jobs/${job.id}/report${second ? `?with=${second.id}` : ""}`, signal);
  const tools = h("section", { class: "serve-tools", "aria-label": "Tools" }), root = h("div", { class: "serve-result" });
  place.replaceChildren(root);
  const app = startApp(root, report, { kicker: second ? `${jobTitle(job)}, and ${jobTitle(second)}` : jobTitle(job), closing: "Nothing leaves this machine." });
  document.title = `${jobTitle(job)} – ${upload.name}`;
  root.querySelector(".page-head")?.after(tools);
  const stem = upload.file.replace(/\.[a-z0-9.]+$/i, "");

  const first = h("div", { class: "serve-form" });
  const family = store.siblings(job);
  if (job.model && family.length > 1) {
    // Over fits already made: each stop is one of them.
    const at = family.findIndex((one) => one.id === job.id);
    const slider = h("input", { type: "range", min: 0, max: family.length - 1, step: 1, value: at, "aria-valuetext": `${family[at].result!.groups} groups` });
    slider.addEventListener("change", () => {
      sliding = document.activeElement === slider;
      go(`?fit=${family[Number(slider.value)].id}`);
    });
    slider.addEventListener("input", () => {
      const groups = family[Number(slider.value)].result!.groups;
      slider.setAttribute("aria-valuetext", `${groups} groups`);
      shown.textContent = String(groups);
    });
    const shown = h("b", {}, String(family[at].result!.groups));
    const box = field("Groups", slider, `fitted: ${family.map((one) => one.result!.groups).join(", ")}`);
    box.id = "k-slider";
    box.append(shown);
    first.append(box);
  }
  const others = store.jobsOf(upload.id).filter((one) => one.model && one.id !== job.id);
  if (job.model && others.length) {
    const box = choice([["", "no other fit"], ...others.map((one) => [one.id, jobTitle(one)] as [string, string])], other);
    box.addEventListener("change", () => go(`?fit=${job.id}${box.value ? `&with=${box.value}` : ""}`));
    const with_ = field("Side by side with", box);
    with_.id = "compare-with";
    first.append(with_);
  }
  const downloads = h("div", { class: "serve-downloads", role: "group", "aria-label": "Downloads" }, h("span", {}, "Take along:"));
  const offer = (what: string, path: string, name: string) => downloads.append(button(what, () => void download(`jobs/${job.id}/${path}`, name)));
  offer(job.comparison ? "Table" : "Model", "model", `${stem}-${job.comparison ? "comparison" : "model"}.json`);
  if (job.model && (job.result?.groups ?? 0) > 0) offer("Memberships", "memberships", `${stem}-members.csv`);
  offer("Report", `page${second ? `?with=${second.id}` : ""}`, `${stem}-report.html`);
  tools.append(...(first.children.length ? [first] : []), ...(report.comparison ? [fitOneOf(report, store, job)] : []), downloads);
  if (sliding) first.querySelector<HTMLElement>("#k-slider input")?.focus();
  sliding = false;
  if (job.model && report.models.length && report.models[0].groups.length > 0) {
    const several = report.models[0].groups.length > 1;
    const own = new State(report); // of the first model, whichever the views show
    const grid = h("div", { class: "serve-tool-grid" });
    if (several) grid.append(ballotTool(job, own));
    grid.append(withoutTool(own, upload));
    if (several) grid.append(namesTool(job, own, () => window.dispatchEvent(new CustomEvent("caucus-renamed"))));
    tools.append(grid);
    if (job.result?.loglik !== undefined) tools.append(h("p", { class: "note" }, `Log-likelihood ${job.result.loglik.toLocaleString("en-US", { maximumFractionDigits: 2 })}, ${count(own.current.scores.num_rankings ?? 0)} ballots.`));
  }
  tools.append(tool("tool-command", "The command line that does the same", commandBox(job.command)));
  return () => app.stop();
}

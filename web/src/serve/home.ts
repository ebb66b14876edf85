// Where one begins: drop a file, or go on with one of those the project holds.
import { button, h } from "../dom";
import { remove, upload } from "./api";
import { bytes, go, link, say, sayError, type Screen, when } from "./parts";
import { jobTitle, type Store } from "./store";

export const STATE_WORDS: Record<string, string> = { queued: "waiting", running: "running", done: "done", failed: "failed", cancelled: "cancelled", interrupted: "interrupted" };

export function home(place: HTMLElement, store: Store): Screen {
  const input = h("input", { type: "file", id: "file", class: "hidden", multiple: true });
  const bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Upload" });
  const drop = h("div", { class: "serve-drop" }, h("p", {}, h("label", { for: "file", class: "serve-pick" }, "Choose a file of ballots"), input, " or drop it here"),
    h("p", { class: "note" }, "PrefLib (.soc, .soi, .toc, .toi, .cat), CSV of any layout, JSON lines, BLT, caucus data sets (.cds); .gz and .zst too. It stays on this machine."), bar);
  const list = h("section", { "aria-labelledby": "files-title" });

  // One file is looked at at once; several are taken one after the other, and wait in the list.
  const take = async (files: File[]) => {
    bar.hidden = files.length === 0;
    try {
      for (const file of files) {
        say(`Taking ${file.name} …`);
        const taken = await upload(file, (share) => (bar.value = share));
        store.uploads.set(taken.id, taken);
        say("");
        if (files.length === 1) go(`?file=${taken.id}`);
        else update();
      }
    } catch (error) {
      sayError(error);
    }
    bar.hidden = true;
  };
  input.addEventListener("change", () => void take([...(input.files ?? [])]));
  drop.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    void take([...(event.dataTransfer?.files ?? [])]);
  });

  const update = () => {
    const files = [...store.uploads.values()].sort((a, b) => (a.time < b.time ? 1 : -1));
    list.replaceChildren(h("h2", { id: "files-title" }, files.length ? "Files of this project" : "No files yet"));
    if (!files.length) list.append(h("p", { class: "say" }, "What you drop above is kept in the project's folder, with all fits made of it."));
    for (const file of files) {
      const jobs = store.jobsOf(file.id);
      list.append(h("article", { class: "serve-file" },
        h("header", {}, h("h3", {}, link(file.name, `?file=${file.id}`)), h("span", { class: "note" }, `${bytes(file.size)} · ${when(file.time)}`),
          button("Remove", () => {
            if (!window.confirm(`Remove ${file.name} and its ${jobs.length} fits from the project?`)) return;
            remove(`uploads/${file.id}`).then(() => store.load()).catch(sayError);
          }, { "aria-label": `Remove ${file.name}` })),
        jobs.length ? h("ul", { class: "serve-jobs" }, ...jobs.map((job) => h("li", {}, link(jobTitle(job), `?fit=${job.id}`), h("span", { class: `serve-state ${job.state}` }, STATE_WORDS[job.state])))) : null));
    }
  };
  place.replaceChildren(h("main", {}, h("div", { class: "page-head" }, h("p", { class: "kicker" }, "caucus"), h("h1", {}, "Find the groups in ranked data")), drop, list));
  document.title = "caucus";
  update();
  return { update };
}

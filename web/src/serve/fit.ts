// One fit: its progress while it runs, then its result.
import { button, h, s } from "../dom";
import { number, seconds } from "../format";
import { post, type Job, type Upload } from "./api";
import { explore } from "./explore";
import { commandBox, go, link, sayError, type Screen } from "./parts";
import { jobTitle, type Store } from "./store";

const under = (job: Job) => job.state === "queued" || job.state === "running";

// The objective so far, as a line.
function sparkline(values: number[]): SVGSVGElement {
  const width = 320, height = 60, low = Math.min(...values), span = Math.max(...values) - low || 1;
  const points = values.map((v, i) => `${((i / Math.max(values.length - 1, 1)) * width).toFixed(1)},${(height - 4 - ((v - low) / span) * (height - 8)).toFixed(1)}`).join(" ");
  return s("svg", { class: "serve-spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Objective so far" }, s("polyline", { class: "curve g0", points }));
}

export function fitScreen(place: HTMLElement, store: Store, begun: Job, upload: Upload, other: string): Screen {
  const history: number[] = [];
  let drawn = "", left = false, stop: (() => void) | undefined, loading: AbortController | undefined;

  const head = (job: Job) => h("div", { class: "page-head" }, h("p", { class: "kicker" }, upload.name), h("h1", {}, jobTitle(job)));
  const waiting = h("section", { class: "serve-progress", "aria-label": "Progress" });
  const drawProgress = (job: Job) => {
    const progress = job.progress;
    const cancel = button("Cancel", () => void post<Job>(`jobs/${job.id}/cancel`).then((answer) => store.put(answer)).catch(sayError), { class: "primary", id: "cancel" });
    if (typeof progress?.objective === "number") history.push(progress.objective);
    if (history.length > 400) history.splice(0, history.length - 400);
    const bar = h("progress", { "aria-label": "Progress", ...(progress && progress.limit > 0 ? { max: progress.limit, value: Math.min(progress.step, progress.limit) } : {}) });
    const words = job.state === "queued" ? "Waiting for the fits before it." : progress ? `${progress.phase}: step ${number(progress.step, 6)}${progress.limit > 0 ? ` of at most ${number(progress.limit, 6)}` : ""}, ${seconds(progress.seconds)}` : "Reading the ballots …";
    const keep = waiting.contains(document.activeElement);
    waiting.replaceChildren(h("p", { class: "say", id: "progress-words" }, words), bar, history.length > 2 ? sparkline(history) : "", history.length ? h("p", { class: "note" }, `Objective ${number(history[history.length - 1], 8)}`) : "",
      h("p", {}, cancel, " ", h("span", { class: "note" }, "keeps the best result so far")));
    if (keep) cancel.focus();
  };

  const update = () => {
    const job = store.jobs.get(begun.id);
    if (!job) return go("", true);
    if (under(job)) {
      if (drawn !== "under way") {
        loading?.abort();
        stop?.();
        stop = undefined;
        drawn = "under way";
        place.replaceChildren(h("main", {}, head(job), waiting, commandBox(job.command)));
        document.title = `${jobTitle(job)} – caucus`;
      }
      return drawProgress(job);
    }
    if (drawn === "ended") return;
    drawn = "ended";
    stop?.();
    const again = button("Run again", () => void post<Job>(`jobs/${job.id}/again`).then((answer) => {
      store.put(answer);
      go(`?fit=${answer.id}`);
    }).catch(sayError), { id: "again" });
    // The same fit, on from the state it left.
    const resume = job.resumable ? button("Go on from where it was", () => void post<Job>(`jobs/${job.id}/resume`).then((answer) => store.put(answer)).catch(sayError), { id: "resume", class: "primary" }) : null;
    const note = job.state === "done" && !job.message ? null : h("section", { class: "warnings serve-ended", "aria-label": "How it ended", "data-state": job.state }, h("h2", {}, job.state === "done" ? "To know first" : job.state === "failed" ? "This fit failed" : job.state === "cancelled" ? "This fit was cancelled" : "This fit was interrupted"),
      ...job.message.split("\n").map((line) => h("p", {}, line)), job.state === "done" ? null : h("p", { class: "serve-buttons" }, resume, again, link("Ask for something else", `?file=${upload.id}`)));
    if (!job.model && !job.comparison) {
      place.replaceChildren(h("main", {}, head(job), note, commandBox(job.command)));
      return;
    }
    const body = h("div", {}, h("main", {}, head(job), h("p", { class: "say" }, "Making the views …")));
    place.replaceChildren(...(note ? [note] : []), body);
    loading = new AbortController();
    explore(body, store, job, upload, other, loading.signal).then((end) => (left ? end() : (stop = end)), (error) => {
      sayError(error);
      if (!(error instanceof DOMException)) body.replaceChildren(h("main", {}, head(job), h("p", { class: "say" }, error instanceof Error ? error.message : ""), commandBox(job.command)));
    });
  };
  const renamed = () => {
    drawn = "";
    update();
  };
  window.addEventListener("caucus-renamed", renamed);
  update();
  return {
    update,
    leave() {
      left = true;
      window.removeEventListener("caucus-renamed", renamed);
      loading?.abort();
      stop?.();
    },
  };
}

// The page of 'caucus serve': one bar, one screen at a time, chosen by the address.
import { h } from "../dom";
import { fileScreen } from "./file";
import { home } from "./home";
import { fitScreen } from "./fit";
import { link, sayer, type Screen } from "./parts";
import { Store } from "./store";

function start(root: HTMLElement): void {
  const store = new Store();
  const trail = h("span", { class: "serve-trail" });
  const light = h("span", { class: "serve-light", role: "status" });
  const place = h("div", { class: "serve-screen" });
  root.replaceChildren(h("nav", { class: "serve-bar", "aria-label": "Project" }, link("caucus", "", { class: "serve-brand" }), trail, light, sayer()), place);

  let screen: Screen = {}, shown: string | null = null;
  const show = () => {
    const query = new URLSearchParams(location.search);
    const job = store.jobs.get(query.get("fit") ?? ""), upload = store.uploads.get(job?.upload ?? query.get("file") ?? "");
    const wanted = job ? `fit:${job.id}:${query.get("with") ?? ""}` : upload ? `file:${upload.id}` : "home";
    trail.replaceChildren(...(upload ? [link(upload.name, `?file=${upload.id}`)] : []));
    if (wanted === shown) return;
    screen.leave?.();
    shown = wanted;
    screen = job && upload ? fitScreen(place, store, job, upload, query.get("with") ?? "") : upload ? fileScreen(place, store, upload) : home(place, store);
    window.scrollTo(0, 0);
  };
  window.addEventListener("popstate", show);
  store.onChange(() => {
    light.className = `serve-light ${store.connection}`;
    light.textContent = store.connection === "on" ? "" : store.connection === "off" ? "The server does not answer" : "The server was started anew: open the address it printed";
    if (!loaded) return;
    show();
    screen.update?.();
  });
  let loaded = false;
  const load = () =>
    store.load().then(() => {
      loaded = true;
      show();
    }).catch((error) => {
      place.replaceChildren(h("main", {}, h("div", { class: "page-head" }, h("h1", {}, "This page needs its key")), h("p", { class: "say" }, error instanceof Error ? `${error.message}.` : ""), h("p", { class: "say" }, "Open the address that caucus serve printed, with all that stands after #.")));
    });
  void load();
  store.start();
}

const root = document.getElementById("app");
if (root) start(root);

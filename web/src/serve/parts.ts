// Small pieces that several screens use.
import { button, h, type Child } from "../dom";
import { Refused } from "./api";

export interface Screen {
  update?(): void; // the project changed
  leave?(): void;
}

export function go(query: string, replace = false): void {
  if (replace) history.replaceState(null, "", `/${query}`);
  else history.pushState(null, "", `/${query}`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

// A link inside the page.
export function link(text: Child, query: string, attributes: Record<string, string> = {}): HTMLAnchorElement {
  const element = h("a", { href: `/${query}`, ...attributes }, text);
  element.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(query);
  });
  return element;
}

// For eyes and screen readers alike: one place says what happened last.
const teller = h("p", { class: "serve-say", role: "status", "aria-live": "polite" });
export function sayer(): HTMLElement {
  return teller;
}
export function say(text: string, bad = false): void {
  teller.textContent = text;
  teller.classList.toggle("bad", bad);
}
export function sayError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  say(error instanceof Refused ? `${error.message[0].toUpperCase()}${error.message.slice(1)}` : error instanceof Error ? error.message : String(error), true);
}

let counter = 0;
export function field(label: string, input: HTMLInputElement | HTMLSelectElement, help = ""): HTMLElement {
  input.id = `field-${++counter}`;
  const note = help ? h("span", { class: "serve-help", id: `${input.id}-help` }, help) : null;
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("div", { class: "serve-field" }, h("label", { for: input.id }, label), input, note);
}

export function choice(options: [string, string][], value: string): HTMLSelectElement {
  return h("select", {}, ...options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
}

export function commandBox(command: string): HTMLElement {
  const copy = button("Copy", () => {
    navigator.clipboard?.writeText(command).then(() => say("Copied."), () => say("The browser does not allow copying: select the line.", true));
  }, { "aria-label": "Copy the command line" });
  return h("div", { class: "serve-command" }, h("pre", { class: "command", tabindex: 0, "aria-label": "Command line" }, command), copy);
}

export function bytes(size: number): string {
  return size < 1000 ? `${size} bytes` : size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(1)} GB`;
}
export function when(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

// Hover and keyboard: any element registered by mark() shows its numbers.
import { h } from "./dom";

export interface Tip {
  title: string;
  rows: [string, string][];
}
const tips = new WeakMap<Element, Tip>();

export function mark<T extends SVGElement | HTMLElement>(element: T, title: string, ...rows: [string, string][]): T {
  tips.set(element, { title, rows });
  element.classList.add("mark");
  element.setAttribute("tabindex", "-1");
  element.setAttribute("role", "graphics-symbol");
  element.setAttribute("aria-roledescription", "value");
  element.setAttribute("aria-label", [title, ...rows.map(([name, value]) => (name ? `${name}: ${value}` : value))].join("; "));
  return element;
}

let box: HTMLElement | undefined;
function tooltip(): HTMLElement {
  if (!box) {
    box = h("div", { class: "tooltip", role: "tooltip", hidden: true });
    document.body.append(box);
  }
  return box;
}

export function showTip(tip: Tip, x: number, y: number): void {
  const element = tooltip();
  element.replaceChildren(h("strong", {}, tip.title), ...tip.rows.map(([name, value]) => h("div", {}, name ? h("span", {}, name) : null, h("b", {}, value))));
  element.hidden = false;
  const { width, height } = element.getBoundingClientRect();
  const left = Math.max(6, Math.min(x + 14, document.documentElement.clientWidth - width - 6));
  const top = y + 18 + height > window.innerHeight ? y - height - 12 : y + 18;
  element.style.setProperty("left", `${left}px`);
  element.style.setProperty("top", `${Math.max(6, top)}px`);
}

export function hideTip(): void {
  if (box) box.hidden = true;
}

// Pointer and arrow keys on a drawing with marks: left and right go through all of them, up and down too; Home, End, Escape.
export function listenForTips(drawing: Element): void {
  const under = (event: Event) => (event.target instanceof Element ? event.target.closest(".mark") : null);
  drawing.addEventListener("pointermove", (event) => {
    const found = under(event);
    const tip = found && tips.get(found);
    if (tip) showTip(tip, (event as PointerEvent).clientX, (event as PointerEvent).clientY);
    else hideTip();
  });
  drawing.addEventListener("pointerleave", hideTip);
  drawing.addEventListener("focusin", (event) => {
    const found = under(event);
    const tip = found && tips.get(found);
    if (!found || !tip || !(found.matches(":focus-visible") || found.matches(":focus"))) return;
    const place = found.getBoundingClientRect();
    showTip(tip, place.left + place.width / 2, place.top + place.height / 2);
  });
  drawing.addEventListener("focusout", hideTip);
  drawing.addEventListener("keydown", (raw) => {
    const event = raw as KeyboardEvent;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined && !["Home", "End", "Escape"].includes(event.key)) return;
    const marks = Array.from(drawing.querySelectorAll<SVGElement>(".mark"));
    if (marks.length === 0) return;
    event.preventDefault();
    if (event.key === "Escape") return hideTip();
    const at = marks.indexOf(document.activeElement as SVGElement);
    const next = event.key === "Home" ? 0 : event.key === "End" ? marks.length - 1 : at < 0 ? 0 : (at + (step ?? 0) + marks.length) % marks.length;
    marks[next].focus();
  });
}

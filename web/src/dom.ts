// Elements are made here and nowhere else. Texts become text nodes and attributes are set one by one, so names from the
// data are never read as markup.
const SVG = "http://www.w3.org/2000/svg";

export type Attributes = Record<string, string | number | boolean | null | undefined>;
export type Child = Node | string | number | null | undefined | false;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag) as SVGElementTagNameMap[K];
  fill(element, attributes, children);
  return element;
}

export function button(label: Child, onclick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", onclick);
  return element;
}

let counter = 0;
export function selectBox(label: string, options: [string, string][], value: string, onchange: (value: string) => void): HTMLElement {
  const id = `select-${++counter}`;
  const box = h("select", { id });
  for (const [key, text] of options) box.append(h("option", { value: key, selected: key === value }, text));
  box.addEventListener("change", () => onchange(box.value));
  return h("span", { class: "control" }, h("label", { for: id }, label), box);
}

// Width of a text in the charts' font, for labels that must fit.
let measuring: CanvasRenderingContext2D | null | undefined;
export function textWidth(text: string, size = 12): number {
  if (measuring === undefined) {
    measuring = document.createElement("canvas").getContext("2d");
    if (measuring) measuring.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  }
  return measuring ? (measuring.measureText(text).width * size) / 12 : text.length * size * 0.6;
}

export function fitText(text: string, width: number, size = 12): string {
  if (textWidth(text, size) <= width) return text;
  const letters = Array.from(text);
  let low = 0, high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(letters.slice(0, middle).join("") + "…", size) <= width) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("").trimEnd() + "…";
}

// What drawings share: axes, group symbols, heat-map cells.
import { scaleLinear, type ScaleContinuousNumeric } from "d3-scale";
import { fitText, h, s, textWidth } from "./dom";
import { mark } from "./tooltip";

export { scaleLinear };
export type Scale = ScaleContinuousNumeric<number, number>;

export interface AxisOptions {
  ticks?: number[];
  count?: number;
  format: (value: number) => string;
  label?: string;
}

export function axisBottom(scale: Scale, top: number, bottom: number, options: AxisOptions): SVGGElement {
  const [from, to] = scale.range();
  const ticks = options.ticks ?? scale.ticks(options.count ?? Math.max(3, Math.round((to - from) / 90)));
  const group = s("g", { class: "axis" });
  const low = Math.min(from, to), high = Math.max(from, to);
  for (const tick of ticks) {
    const x = scale(tick), text = options.format(tick), half = textWidth(text) / 2;
    group.append(s("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }),
      s("text", { x: Math.max(half, x), y: bottom + 16, "text-anchor": "middle" }, text));
  }
  if (options.label) {
    // Under the middle of the axis, or as far left as it must be to stay whole.
    const label = fitText(options.label, high + 10), half = textWidth(label) / 2;
    group.append(s("text", { class: "axis-label", x: Math.max(half, Math.min((low + high) / 2, high + 10 - half)), y: bottom + 34, "text-anchor": "middle" }, label));
  }
  return group;
}

export function axisLeft(scale: Scale, left: number, right: number, options: AxisOptions): SVGGElement {
  const [from, to] = scale.range();
  const ticks = options.ticks ?? scale.ticks(options.count ?? Math.max(2, Math.round(Math.abs(to - from) / 50)));
  const group = s("g", { class: "axis" });
  for (const tick of ticks) {
    const y = scale(tick);
    group.append(s("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
      s("text", { x: left - 8, y, "text-anchor": "end", "dominant-baseline": "central" }, options.format(tick)));
  }
  if (options.label) group.append(s("text", { class: "axis-label", x: 0, y: Math.min(from, to) - 12, "text-anchor": "start" }, fitText(options.label, right)));
  return group;
}

export function widestLabel(texts: string[], limit: number, size = 12): number {
  return Math.min(limit, Math.ceil(Math.max(20, ...texts.map((text) => textWidth(text, size)))));
}

// One shape per colour, so that groups differ without colour.
const SHAPES = [
  (r: number) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
  (r: number) => `M${-0.9 * r},${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
  (r: number) => `M0,${-1.2 * r}L${1.1 * r},${0.8 * r}L${-1.1 * r},${0.8 * r}z`,
  (r: number) => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0z`,
  (r: number) => `M0,${1.2 * r}L${1.1 * r},${-0.8 * r}L${-1.1 * r},${-0.8 * r}z`,
  (r: number) => `M${-0.4 * r},${-1.2 * r}h${0.8 * r}v${0.8 * r}h${0.8 * r}v${0.8 * r}h${-0.8 * r}v${0.8 * r}h${-0.8 * r}v${-0.8 * r}h${-0.8 * r}v${-0.8 * r}h${0.8 * r}z`,
  (r: number) => `M${-1.25 * r},0L${-0.6 * r},${-1.1 * r}h${1.2 * r}L${1.25 * r},0L${0.6 * r},${1.1 * r}h${-1.2 * r}z`,
  (r: number) => `M${-1.1 * r},${-1.1 * r}L${1.1 * r},${-1.1 * r}L${-1.1 * r},${1.1 * r}L${1.1 * r},${1.1 * r}z`,
];
export function colourClass(colour: number): string {
  return colour < 0 ? "gx" : `g${colour}`;
}
export function symbol(colour: number, x: number, y: number, r = 5): SVGPathElement {
  return s("path", { class: `symbol ${colourClass(colour)}`, d: SHAPES[Math.max(colour, 0) % SHAPES.length](r), transform: `translate(${x},${y})` });
}

export function swatch(colour: number): SVGSVGElement {
  return s("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", class: "swatch", "aria-hidden": "true" }, symbol(colour, 0, 0, 4.6));
}

// Room at the left of rows that begin with a symbol and a group's name.
export function nameRoom(names: string[], width: number): number {
  return widestLabel(names, Math.min(180, width * 0.36)) + 34;
}

export function legend(entries: [number, string][]): HTMLElement {
  return h("div", { class: "legend" }, ...entries.map(([colour, name]) => h("span", {}, swatch(colour), name)));
}

// A cell of a heat map: the value is the opacity of one ink on the card's ground, so light, dark and print all work.
export function cell(x: number, y: number, width: number, height: number, strength: number, text: string, negative = false): SVGGElement {
  const group = s("g", {},
    s("rect", { class: negative ? "cell minus" : "cell plus", x, y, width: Math.max(1, width - 1), height: Math.max(1, height - 1), rx: Math.min(3, width / 6),
      "fill-opacity": Math.max(0.03, Math.min(1, strength)).toFixed(3) }));
  if (text && textWidth(text, 11) <= width - 4 && height >= 14)
    group.append(s("text", { class: strength > 0.75 ? "cell-text strong" : "cell-text", x: x + width / 2, y: y + height / 2 + 0.5, "text-anchor": "middle",
      "dominant-baseline": "central" }, text));
  return group;
}
export { mark };

export function padded(low: number, high: number, share = 0.05): [number, number] {
  if (!(high > low)) return [low - 1, high + 1];
  const gap = (high - low) * share;
  return [low - gap, high + gap];
}

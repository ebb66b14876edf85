// The map of ballots: a canvas, because a hundred thousand elements are too many for a page.
import { h } from "../dom";
import { percent, count } from "../format";
import { hideTip, showTip } from "../tooltip";
import { colourClass, legend } from "../chart";
import type { View, ViewMaker } from "../view";
import { hidden } from "./utilities";

// Points in square cells, to find the nearest one under the pointer without looking at all.
export class PointGrid {
  private cells = new Map<number, number[]>();
  constructor(private x: ArrayLike<number>, private y: ArrayLike<number>, private size: number) {
    for (let i = 0; i < x.length; ++i) {
      const key = this.key(Math.floor(x[i] / size), Math.floor(y[i] / size));
      const list = this.cells.get(key);
      if (list) list.push(i);
      else this.cells.set(key, [i]);
    }
  }
  private key(cx: number, cy: number): number {
    return (cx + 4096) * 65536 + cy + 4096;
  }
  nearest(px: number, py: number, reach: number, wanted: (i: number) => boolean): number {
    const span = Math.ceil(reach / this.size), cx = Math.floor(px / this.size), cy = Math.floor(py / this.size);
    let best = -1, least = reach * reach;
    for (let a = cx - span; a <= cx + span; ++a)
      for (let b = cy - span; b <= cy + span; ++b)
        for (const i of this.cells.get(this.key(a, b)) ?? []) {
          const distance = (this.x[i] - px) ** 2 + (this.y[i] - py) ** 2;
          if (distance <= least && wanted(i)) {
            best = i;
            least = distance;
          }
        }
    return best;
  }
}

export const ballotMap: ViewMaker = (state) => {
  const model = state.current, map = model.map;
  if (!map || map.x.length === 0) return null;
  const n = map.x.length;
  const extent = (values: number[]) => {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    return high > low ? [low, high] : [low - 1, high + 1];
  };
  const [x0, x1] = extent(map.x), [y0, y1] = extent(map.y);
  // By group, unsure points first: painting goes through every point once, however many groups there are.
  const points = model.groups.map((): [number[], number[]] => [[], []]);
  for (let i = 0; i < n; ++i) points[map.group[i]]?.[map.certainty[i] >= 80 ? 1 : 0].push(i);
  let canvas: HTMLCanvasElement | undefined;
  let px = new Float32Array(n), py = new Float32Array(n), radius = 2;
  const tip = (i: number) => {
    const rows: [string, string][] = [["group", model.groups.length > 1 ? `${state.name(map.group[i])}, ${percent(map.certainty[i] / 100)} sure` : "all"]];
    if (map.weight[i] > 1) rows.push(["rankings like this", count(map.weight[i])]);
    const ballot = map.ballots[i];
    (ballot ?? []).slice(0, 6).forEach((item, p) => rows.push([`${p + 1}.`, model.items[item]]));
    return { title: "One ranking", rows };
  };
  const place = (width: number, height: number) => {
    px = new Float32Array(n);
    py = new Float32Array(n);
    const pad = 12;
    // One scale for both axes: distances on the map mean the same in all directions.
    const scale = Math.min((width - 2 * pad) / (x1 - x0), (height - 2 * pad) / (y1 - y0));
    const ox = (width - scale * (x1 - x0)) / 2, oy = (height - scale * (y1 - y0)) / 2;
    for (let i = 0; i < n; ++i) {
      px[i] = ox + (map.x[i] - x0) * scale;
      py[i] = height - oy - (map.y[i] - y0) * scale;
    }
    radius = n > 20000 ? 1.2 : n > 3000 ? 1.8 : n > 600 ? 2.6 : 3.6;
  };
  const size = (i: number) => radius * Math.min(3, Math.sqrt(Math.sqrt(Math.max(1, map.weight[i]))));
  const paint = (target: HTMLCanvasElement, ratio: number) => {
    const context = target.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, target.width, target.height);
    const style = getComputedStyle(document.documentElement);
    const colours = model.groups.map((_, k) => style.getPropertyValue(state.colour(k) < 0 ? "--gx" : `--${colourClass(state.colour(k))}`).trim() || "#888");
    const few = n <= 6000;
    // The chosen groups are painted last, so they lie on top.
    for (const chosen of [false, true]) {
      for (let k = 0; k < model.groups.length; ++k) {
        if (state.shows(k) !== chosen) continue;
        context.fillStyle = chosen ? colours[k] : style.getPropertyValue("--gx").trim() || "#888";
        for (const sure of [0, 1] as const) {
          context.globalAlpha = chosen ? (sure ? 0.85 : 0.4) : 0.12;
          for (const i of points[k][sure]) {
            const r = size(i);
            if (few) {
              context.beginPath();
              context.arc(px[i], py[i], r, 0, 6.2832);
              context.fill();
            } else context.fillRect(px[i] - r, py[i] - r, 2 * r, 2 * r);
          }
        }
      }
    }
    context.globalAlpha = 1;
  };
  const view: View = {
    id: "map",
    size: "big",
    title: "A map of the rankings",
    lead: map.words,
    draw(width) {
      const height = Math.round(Math.min(560, Math.max(280, width * 0.62)));
      canvas = h("canvas", { class: "chart", tabindex: 0, role: "img", "data-points": n, "aria-label": `Map of ${n} rankings, coloured by group. The table and the CSV hold its numbers.` });
      const ratio = Math.min(3, window.devicePixelRatio || 1), target = canvas;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.setProperty("width", `${width}px`);
      canvas.style.setProperty("height", `${height}px`);
      place(width, height);
      const grid = new PointGrid(px, py, 12);
      const find = (event: PointerEvent | MouseEvent) => {
        const box = target.getBoundingClientRect();
        return grid.nearest(event.clientX - box.left, event.clientY - box.top, 14, (i) => state.shows(map.group[i]));
      };
      canvas.addEventListener("pointermove", (event) => {
        const i = find(event);
        event.stopImmediatePropagation(); // those who listen for marks would find none here, and hide the tip
        if (i >= 0) showTip(tip(i), event.clientX, event.clientY);
        else hideTip();
      });
      canvas.addEventListener("click", (event) => {
        const i = find(event);
        if (i >= 0 && model.groups.length > 1) state.toggle(map.group[i]);
      });
      let at = -1;
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        const order = [...px.keys()].filter((i) => state.shows(map.group[i]));
        if (order.length === 0) return;
        at = (at + step + order.length) % order.length;
        const i = order[at], box = target.getBoundingClientRect();
        showTip(tip(i), box.left + px[i], box.top + py[i]);
      });
      canvas.addEventListener("blur", hideTip);
      paint(target, ratio);
      const visible = state.visible(), notes = [];
      const drawn = map.weight.reduce((a, b) => a + b, 0);
      if (drawn < map.total - 0.5) notes.push(`A sample of ${count(n)} different rankings out of ${count(map.total)} rankings in all.`);
      notes.push("Faint points are unsure of their group; larger points stand for several equal rankings.");
      const rest = hidden(state.selected.size, model.groups.length, visible.length);
      if (rest) notes.push("The largest groups are coloured; others are grey.");
      return { drawing: canvas, controls: model.groups.length > 1 ? [legend(visible.map((k) => [state.colour(k), state.name(k)]))] : [], note: notes.join(" ") };
    },
    table: () => ({
      columns: ["x", "y", "group", "certainty", "weight", "first items"],
      rows: map.x.map((x, i) => [x, map.y[i], model.groups[map.group[i]].label, map.certainty[i] / 100, map.weight[i], (map.ballots[i] ?? []).map((item) => model.items[item]).join(" > ")]),
    }),
    svg() {
      if (!canvas) return "";
      const width = canvas.clientWidth, height = canvas.clientHeight;
      // Written out point by point with its own colours: a hundred thousand elements would take a page minutes to style.
      const style = getComputedStyle(document.documentElement), paint = (name: string) => style.getPropertyValue(name).trim();
      const rest = paint("--gx"), colours = model.groups.map((_, k) => (state.colour(k) < 0 ? rest : paint(`--${colourClass(state.colour(k))}`)));
      const circles = [];
      for (let i = 0; i < n; ++i) {
        const shown = state.shows(map.group[i]);
        circles.push(`<circle cx="${px[i].toFixed(1)}" cy="${py[i].toFixed(1)}" r="${size(i).toFixed(1)}" fill="${shown ? colours[map.group[i]] : rest}" fill-opacity="${shown ? (map.certainty[i] >= 80 ? 0.85 : 0.4) : 0.12}"/>`);
      }
      return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><title>A map of the rankings</title>` +
        `<rect width="${width}" height="${height}" fill="${paint("--card")}"/>${circles.join("")}</svg>\n`;
    },
  };
  return view;
};

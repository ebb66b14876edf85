// The data themselves: ballot lengths, first places and mentions.
import { axisBottom, axisLeft, mark, scaleLinear, widestLabel } from "../chart";
import { fitText, h, s } from "../dom";
import { count, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";

export const lengths: ViewMaker = (state) => {
  const data = state.report.data;
  if (!data || data.lengths.length < 2) return null;
  return {
    id: "lengths",
    title: `How many ${state.nouns.items} ${state.nouns.voters} list`,
    lead: `Rankings by the number of items they list${data.unranked === "last" ? "; items not listed count as below all listed ones." : "; items not listed took no part."}`,
    draw(width) {
      const left = 64, right = 16, height = 240, top = 26, bottom = height - 44;
      const low = data.min_length, high = data.max_length, bar = (width - left - right) / (high - low + 1);
      const y = scaleLinear([0, Math.max(...data.lengths.map(([, c]) => c))], [bottom, top]).nice();
      const x = scaleLinear([low - 0.5, high + 0.5], [left, width - right]);
      const drawing = svgRoot(width, height, "Rankings by length");
      const every = Math.max(1, Math.ceil(24 / bar));
      drawing.append(axisLeft(y, left, width - right, { format: count, label: "rankings" }));
      const ticks = [];
      for (let k = low; k <= high; k += every) ticks.push(k);
      for (const [length, number] of data.lengths)
        drawing.append(mark(s("rect", { class: "bar g0", x: left + (length - low) * bar + 1, y: y(number), width: Math.max(1, bar - 2), height: Math.max(0.5, bottom - y(number)), "data-length": length, "data-value": number }),
          `${length} ${length === 1 ? "item" : "items"} listed`, ["rankings", count(number)], ["share", percent(number / data.num_rankings)]));
      drawing.append(axisBottom(x, bottom, bottom, { ticks, format: String, label: "items listed" }));
      return { drawing };
    },
    table: () => ({ columns: ["length", "rankings"], rows: data.lengths }),
  };
};

export const mentions: ViewMaker = (state) => {
  const data = state.report.data;
  if (!data || data.items.length === 0) return null;
  const pager = new Pager(20);
  return {
    id: "mentions",
    title: "First places and mentions in the data",
    lead: "Counted. Whole bar: rankings that list the item. Solid part: rankings that put it first.",
    draw(width, redraw) {
      const query = state.query.trim().toLocaleLowerCase();
      const items = data.items.map((_, i) => i).filter((i) => data.items[i].toLocaleLowerCase().includes(query)).sort((a, b) => data.first_places[b] - data.first_places[a] || data.mentions[b] - data.mentions[a]);
      const shown = pager.slice(items);
      const left = widestLabel(shown.map((i) => data.items[i]), Math.min(220, width * 0.38)) + 12, right = 62, row = 24, height = shown.length * row + 26;
      const x = scaleLinear([0, Math.max(1, ...data.mentions)], [left, width - right]);
      const drawing = svgRoot(width, height, "First places and mentions by item");
      drawing.append(axisBottom(x, 0, height - 22, { format: count, count: Math.max(2, Math.round((width - left - right) / 100)) }));
      shown.forEach((i, r) => {
        const y = r * row + 3;
        drawing.append(mark(s("g", { "data-item": i, "data-value": data.first_places[i] },
          s("text", { x: left - 12, y: y + 9, "text-anchor": "end", "dominant-baseline": "central" }, fitText(data.items[i], left - 12)),
          s("rect", { class: "bar pale", x: left, y, width: Math.max(0.5, x(data.mentions[i]) - left), height: 18, rx: 3 }),
          s("rect", { class: "bar g0", x: left, y, width: Math.max(0.5, x(data.first_places[i]) - left), height: 18, rx: 3 }),
          s("text", { class: "value", x: x(data.mentions[i]) + 6, y: y + 9, "dominant-baseline": "central" }, count(data.first_places[i]))),
        data.items[i], ["first places", `${count(data.first_places[i])} (${percent(data.first_places[i] / data.num_rankings)})`], ["listed by", `${count(data.mentions[i])} (${percent(data.mentions[i] / data.num_rankings)})`]));
      });
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), controls: pager.control(items.length, "Items", redraw), note: "Numbers: first places." };
    },
    table: () => ({ columns: ["item", "first_places", "mentions"], rows: data.items.map((name, i) => [name, data.first_places[i], data.mentions[i]]) }),
  };
};

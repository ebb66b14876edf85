// A leaderboard: strengths on Elo's scale with the ranks they allow, beside the battles that were counted.
import { axisBottom, colourClass, mark, padded, scaleLinear, symbol, widestLabel } from "../chart";
import { fitText, h, s, selectBox } from "../dom";
import { count, percent } from "../format";
import { Pager, svgRoot, type ViewMaker } from "../view";

export const leaderboard: ViewMaker = (state) => {
  const model = state.current, board = model.leaderboard, counted = model.counted;
  if (!board || board.groups.length === 0) return null;
  let group = 0;
  const pager = new Pager(25);
  const tally = () => (model.groups.length === 1 ? counted?.everyone : counted?.groups[group]);
  const ranks = (low?: number, high?: number) => (low === undefined || high === undefined ? "" : low === high ? String(low) : `${low}–${high}`);
  const level = Math.round(100 * (model.groups[0].utility_level ?? 0.95));
  return {
    id: "leaderboard",
    title: "Leaderboard",
    size: "wide",
    lead: `Strength by the model on Elo's scale: 1,000 is the average, and 400 points more win ten battles out of eleven. Lines are ${level}% intervals; rank: the places that remain possible when only clear differences count. Battles and wins are counted (a tie is half a win).`,
    draw(width, redraw) {
      if (state.selected.size === 1) group = [...state.selected][0];
      const query = state.query.trim().toLocaleLowerCase();
      const rows = board.groups[group].map((row, place) => ({ ...row, place: place + 1 })).filter((row) => model.items[row.item].toLocaleLowerCase().includes(query)), shown = pager.slice(rows);
      const wide = width > 620, facts = wide ? 190 : 0, number = 46;
      const left = number + widestLabel(shown.map((r) => model.items[r.item]), Math.min(260, width * 0.36)) + 12, right = facts + 52, row = 24, head = 20, height = head + shown.length * row + 40;
      const ends = board.groups[group].flatMap((r) => [r.low ?? r.elo, r.high ?? r.elo]);
      const x = scaleLinear(padded(Math.min(...ends), Math.max(...ends), 0.03), [left, width - right]);
      const drawing = svgRoot(width, height, "Leaderboard");
      drawing.append(s("text", { class: "column-head", x: 0, y: 12 }, "rank"), axisBottom(x, head, height - 36, { format: (v) => count(v), label: "Elo · stronger →" }));
      if (wide) ["battles", "won"].forEach((name, c) => drawing.append(s("text", { class: "column-head", x: width - facts + 90 + c * 84, y: 12, "text-anchor": "end" }, name)));
      shown.forEach((r, i) => {
        const y = head + (i + 0.5) * row, colour = state.colour(group), found = tally();
        const parts = s("g", { "data-item": r.item, "data-value": r.elo }, s("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row }),
          s("text", { class: "value", x: 0, y, "dominant-baseline": "central" }, ranks(r.rank_low, r.rank_high) || String(r.place)),
          s("text", { x: number, y, "dominant-baseline": "central" }, fitText(model.items[r.item], left - number - 12)));
        if (typeof r.low === "number" && typeof r.high === "number") parts.append(s("line", { class: `whisker ${colourClass(colour)}`, x1: x(r.low), x2: x(r.high), y1: y, y2: y }));
        const end = x(typeof r.high === "number" ? r.high : r.elo);
        parts.append(symbol(colour, x(r.elo), y, 4.4), s("text", { x: Math.min(end + 8, width - right + 8), y, "dominant-baseline": "central" }, count(Math.round(r.elo))));
        const fights = found?.battles?.[r.item], rate = found?.win_rate?.[r.item];
        if (wide && fights !== undefined) parts.append(s("text", { x: width - facts + 90, y, "text-anchor": "end", "dominant-baseline": "central" }, count(fights)), s("text", { x: width - facts + 174, y, "text-anchor": "end", "dominant-baseline": "central" }, typeof rate === "number" ? percent(rate) : "–"));
        drawing.append(mark(parts, model.items[r.item], ["Elo, by the model", count(Math.round(r.elo))], ...(typeof r.low === "number" && typeof r.high === "number" ? [[`${level}% interval`, `${count(Math.round(r.low))} to ${count(Math.round(r.high))}`] as [string, string]] : []),
          ["possible ranks", ranks(r.rank_low, r.rank_high) || "not known"], ...(fights !== undefined ? [["battles, counted", count(fights)], ["won, counted", typeof rate === "number" ? percent(rate) : "–"]] as [string, string][] : [])));
      });
      const options: [string, string][] = board.groups.map((_, k) => [String(k), state.name(k)]);
      return { drawing: shown.length ? drawing : h("p", { class: "note" }, "No item has this name."), controls: [...(board.groups.length > 1 ? [selectBox("Among", options, String(group), (v) => { group = Number(v); redraw(); })] : []), ...pager.control(rows.length, "Items", redraw)],
        note: board.groups[group].length < model.items.length ? `${model.items.length - board.groups[group].length} items whose strength the data do not bound are left out.` : undefined };
    },
    table: () => ({ columns: ["group", "item", "elo", "low", "high", "rank_low", "rank_high", "battles", "win_rate"],
      rows: board.groups.flatMap((rows, k) => rows.map((r) => { const found = model.groups.length === 1 ? counted?.everyone : counted?.groups[k]; return [state.name(k), model.items[r.item], r.elo, r.low, r.high, r.rank_low, r.rank_high, found?.battles?.[r.item], found?.win_rate?.[r.item]]; })) }),
  };
};

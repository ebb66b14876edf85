import { describe, expect, it } from "vitest";
import { count, intervalName, list, number, ordinal, percent, seconds } from "../src/format";
import { orderItems, placeSpread, placesOf, State } from "../src/state";
import { toCsv } from "../src/table";
import { Pager } from "../src/view";
import { groupKey } from "../src/views/heat";
import { PointGrid } from "../src/views/map";
import { EVIL, everyReport, mixture, random, report } from "./fixtures";
import { layFlows } from "../src/views/flows";

describe("numbers as people read them", () => {
  it("percent keeps small and nearly whole shares honest", () => {
    expect([0, 0.0004, 0.004, 0.0123, 0.314, 0.994, 0.9996, 1].map(percent)).toEqual(["0%", "<0.1%", "0.4%", "1%", "31%", "99.4%", ">99.9%", "100%"]);
  });
  it("number gives significant digits and no NaN", () => {
    expect([0, 1234.5678, -0.012345, 1e-7, Infinity, NaN].map((v) => number(v))).toEqual(["0", "1,235", "−0.0123", "1.00e−7", "∞", "–"]);
  });
  it("counts, ordinals, lists, times", () => {
    expect(count(1234567)).toBe("1,234,567");
    expect([1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal)).toEqual(["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]);
    expect(list(["a"])).toBe("a");
    expect(list(["a", "b", "c"])).toBe("a, b and c");
    expect([0.0001, 0.12, 4, 600].map(seconds)).toEqual(["under 1 ms", "120 ms", "4 s", "10 min"]);
  });
});

describe("CSV", () => {
  it("quotes what needs quoting and disarms formulas, but not numbers", () => {
    const text = toCsv({ columns: ["item", "value"], rows: [['a,"b"', -1.5], ["=1+1", 2], ["-x", null], ["line\nbreak", NaN]] });
    expect(text).toBe('item,value\r\n"a,""b""",-1.5\r\n\'=1+1,2\r\n\'-x,\r\n"line\nbreak",\r\n');
  });
  it("holds every name as it is", () => {
    const text = toCsv({ columns: ["item"], rows: EVIL.map((name) => [name]) });
    expect(text).toContain("<script>alert(1)</script>");
    expect(text.split("\r\n")).toHaveLength(EVIL.length + 2);
  });
});

describe("order and search of items", () => {
  const model = mixture({ groups: 3 });
  const all = [0, 1, 2];
  it("follows the overall order, names, the file, a group, and disagreement", () => {
    expect(orderItems(model, "overall", "", all)).toEqual(model.order);
    expect(orderItems(model, "file", "", all)).toEqual(model.items.map((_, i) => i));
    expect(orderItems(model, "group:1", "", all)).toEqual(model.groups[1].order);
    const names = orderItems(model, "name", "", all).map((i) => model.items[i]);
    expect(names).toEqual([...names].sort((a, b) => a.localeCompare(b, "en")));
    const spread = placeSpread(model, all), disputed = orderItems(model, "spread", "", all).map((i) => spread[i]);
    for (let i = 1; i < disputed.length; ++i) expect(disputed[i]).toBeLessThanOrEqual(disputed[i - 1]);
  });
  it("finds by part of a name in any case", () => {
    expect(orderItems(model, "overall", "TUNA", all).map((i) => model.items[i]).every((name) => name.includes("tuna"))).toBe(true);
    expect(orderItems(model, "overall", "no such", all)).toEqual([]);
  });
  it("places are the inverse of an order", () => {
    const places = placesOf([2, 0, 1]);
    expect(places).toEqual([2, 3, 1]);
  });
});

describe("groups have names", () => {
  it("the user's, else their number", () => {
    const model = mixture({ groups: 2 }), state = new State(report([model]));
    model.groups[1].name = "The others";
    expect([state.name(0), state.name(1)]).toEqual(["Group 1", "The others"]);
    expect(groupKey(state, [0, 1, "all"])).toBe("2: The others.");
  });
});

describe("intervals say what they cover", () => {
  it("95% only where nothing else is said", () => {
    expect([intervalName(), intervalName(0.9)]).toEqual(["95% interval", "90% interval"]);
  });
});

describe("state", () => {
  it("selecting a group filters, selecting all is no filter", () => {
    const state = new State(report([mixture({ groups: 3 })]));
    let calls = 0;
    state.listen(() => ++calls);
    state.toggle(1);
    expect(state.visible()).toEqual([1]);
    expect(state.shows(0)).toBe(false);
    state.toggle(0);
    state.toggle(2);
    expect(state.selected.size).toBe(0);
    expect(calls).toBe(3);
  });
  it("with 100 groups every visible one has its own colour and the rest none", () => {
    const state = new State(report([mixture({ groups: 100, points: 10 })]));
    expect(new Set(state.visible().map((k) => state.colour(k))).size).toBe(8);
    expect(state.colour(50)).toBe(-1);
    state.toggle(50);
    expect(state.colour(50)).toBe(0);
    expect(state.colour(0)).toBe(-1);
  });
  it("a report without models has nothing to show and does not fail", () => {
    const state = new State({ ...report([mixture()]), models: [] });
    expect(state.visible()).toEqual([]);
    expect(state.items()).toEqual([]);
  });
});

describe("pager", () => {
  it("stays inside when the list shrinks", () => {
    const pager = new Pager(20);
    pager.page = 4;
    expect(pager.slice(Array.from({ length: 100 }, (_, i) => i))).toEqual(Array.from({ length: 20 }, (_, i) => 80 + i));
    expect(pager.slice([1, 2, 3])).toEqual([1, 2, 3]);
    expect(pager.slice([])).toEqual([]);
  });
});

describe("points under the pointer", () => {
  it("agrees with looking at all points, for 100,000 of them", () => {
    const draw = random(1), n = 100000;
    const x = Float32Array.from({ length: n }, () => 1200 * draw()), y = Float32Array.from({ length: n }, () => 600 * draw());
    const grid = new PointGrid(x, y, 12);
    for (let t = 0; t < 25; ++t) {
      const px = 1240 * draw() - 20, py = 640 * draw() - 20;
      let best = -1, least = 14 * 14;
      for (let i = 0; i < n; ++i) {
        const d = (x[i] - px) ** 2 + (y[i] - py) ** 2;
        if (d <= least && i % 3 !== 0) { best = i; least = d; }
      }
      const found = grid.nearest(px, py, 14, (i) => i % 3 !== 0);
      if (best < 0) expect(found).toBe(-1);
      else expect((x[found] - px) ** 2 + (y[found] - py) ** 2).toBeCloseTo(least, 6);
    }
  });
});

describe("fixtures", () => {
  it("are of the schema and consistent", () => {
    for (const data of Object.values(everyReport())) {
      expect(data.schema).toBe("caucus.report/1");
      for (const model of data.models)
        for (const group of model.groups) {
          expect([...group.order].sort((a, b) => a - b)).toEqual(model.items.map((_, i) => i));
          if (group.first_place) expect(group.first_place.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 2);
        }
    }
  });
});

describe("two models side by side", () => {
  it("lays the groups of the second where their rankings come from, and loses none", () => {
    const { left, right } = layFlows([[0, 0, 60], [5, 30, 0]], 100);
    expect(left.groups.map((one) => one.group)).toEqual([0, 1]);
    expect(right.groups.map((one) => one.group)).toEqual([2, 0, 1]);
    const sum = (side: typeof left) => side.groups.reduce((total, one) => total + one.total, 0);
    expect([sum(left), sum(right)]).toEqual([95, 95]);
    // Bars do not lie over one another.
    for (const side of [left, right]) side.groups.slice(1).forEach((one, i) => expect(one.top).toBeGreaterThan(side.groups[i].top + side.groups[i].height));
  });
});

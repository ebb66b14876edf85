import { describe, expect, it } from "vitest";
import type { Job, JobState, Project } from "../src/serve/api";
import { canEdit, noCorrections, placeOf, readingOf } from "../src/serve/reading";
import { requestsOf, term } from "../src/serve/requests";
import { Store } from "../src/serve/store";
import { without } from "../src/serve/without";
import type { ModelReport } from "../src/types";

describe("corrections", () => {
  it("are nothing where nothing was corrected", () => {
    expect(readingOf(noCorrections(), ["A", "B"])).toEqual({});
  });
  it("merge items of one name, rename others, and leave out", () => {
    const corrections = noCorrections();
    corrections.flags.unranked = "absent";
    corrections.flags.contest = "";
    corrections.lists.columns = " first, second ";
    corrections.out.add("D");
    corrections.names.set("A", "C").set("B", "Bo").set("D", "C");
    expect(readingOf(corrections, ["A", "B", "C", "D"])).toEqual({ unranked: "absent", columns: ["first, second"], exclude: ["D"], merge: ["A=C"], rename: ["B=Bo"] });
    expect(readingOf(corrections, [], false)).toEqual({ unranked: "absent", columns: ["first, second"] });
  });
  it("do not touch names that the command line would read as patterns", () => {
    expect([canEdit("Park"), canEdit("a*"), canEdit("a=b"), canEdit("Smith, Ann")]).toEqual([true, false, true, true]);
  });
  it("find the line of a problem", () => {
    expect(placeOf("a.soi:6:4: found item 7", "a.soi")).toEqual({ line: 6, column: 4, text: "found item 7" });
    expect(placeOf("a.soi:6: found: item", "a.soi")).toEqual({ line: 6, column: undefined, text: "found: item" });
    expect(placeOf("a.soi: no rankings", "a.soi")).toEqual({ text: "no rankings" });
    expect(placeOf("out of memory", "a.soi")).toEqual({ text: "out of memory" });
  });
});

describe("answers and events that overtake each other", () => {
  const job = (id: string, version: number, state: JobState) => ({ id, version, state, upload: "u" }) as Job;
  const project = (version: number, ...jobs: Job[]): Project => ({ version, jobs, uploads: [], families: [], read_flags: [] });
  it("a job that failed before its own request was answered stays failed", () => {
    const store = new Store();
    store.put(job("a", 5, "failed"));
    store.put(job("a", 3, "queued"));
    expect(store.jobs.get("a")!.state).toBe("failed");
    store.put(job("a", 6, "queued")); // begun again
    expect(store.jobs.get("a")!.state).toBe("queued");
  });
  it("a list asked for earlier loses no job and no state", () => {
    const store = new Store();
    store.put(job("a", 5, "done"), job("b", 6, "queued"));
    store.take(project(4, job("a", 3, "running"), job("c", 2, "done")));
    expect([...store.jobs.values()].map((one) => `${one.id} ${one.state}`).sort()).toEqual(["a done", "b queued", "c done"]);
    store.take(project(7, job("a", 5, "done"))); // the others were removed
    expect([...store.jobs.keys()]).toEqual(["a"]);
    store.take(project(4, job("b", 3, "queued")));
    expect([...store.jobs.keys()]).toEqual(["a"]);
  });
});

describe("what is asked for", () => {
  const base = { upload: "u", command: "fit" as const }, chosen = { family: "pl", families: [], components: true, groups: "auto", many: 3, options: {} };
  it("a number of groups, each up to it, or a choice by the ballots", () => {
    expect(requestsOf(base, chosen)).toEqual([{ upload: "u", command: "select", family: "pl", groups: "auto" }]);
    expect(requestsOf(base, { ...chosen, groups: "one" })).toEqual([{ upload: "u", command: "fit", family: "pl", groups: 3 }]);
    expect(requestsOf(base, { ...chosen, groups: "several" }).map((one) => one.groups)).toEqual([1, 2, 3]);
    expect(requestsOf(base, { ...chosen, components: false })).toEqual([{ upload: "u", command: "fit", family: "pl" }]);
  });
  it("a comparison of some families or of all", () => {
    expect(requestsOf(base, { ...chosen, family: "?" })).toEqual([{ upload: "u", command: "compare" }]);
    expect(requestsOf(base, { ...chosen, family: "?", families: ["pl", "mallows"], groups: "several" })).toEqual([{ upload: "u", command: "compare", families: ["pl", "mallows"], groups: "1..3" }]);
  });
  it("columns with odd names stand in backquotes", () => {
    expect([term("age"), term("data.x"), term("first choice"), term("2nd")]).toEqual(["age", "data.x", "`first choice`", "`2nd`"]);
  });
});

describe("without one candidate", () => {
  const base = { name: "", family: "pl", family_title: "", family_words: "", method: "", sentences: [], items: ["A", "B", "C"], order: [0, 1, 2], traces: [], diagnostics: [], scores: {} };
  const group = { label: 1, weight: 1, words: "", likes: [], rejects: [], order: [0, 1, 2] };
  it("ballots pass to their second choice", () => {
    const tally = { num_rankings: 10, first: [5, 3, 2], listed: [10, 8, 6], mean_place: [1, 2, 3] };
    const model = { ...base, groups: [group], counted: { unranked: "last", battles: false, order: [0, 1, 2], everyone: tally, groups: [tally], second: { everyone: [], groups: [[[0, 1, 3, 1], [0, 0, 0, 3], [0, 0, 0, 2]]] } } } as ModelReport;
    const found = without(model, 0)!;
    expect(found.how).toBe("ballots");
    expect(found.groups[0].then).toEqual([0, 0.4, 0.5]);
    expect(found.groups[0].nobody).toBeCloseTo(0.1);
    // All ballots are somewhere.
    expect(found.groups[0].then.reduce((a, b) => a + b, 0) + found.groups[0].nobody).toBeCloseTo(1);
  });
  it("Plackett-Luce keeps the proportions of the others", () => {
    const model = { ...base, groups: [{ ...group, utilities: [Math.log(6), Math.log(3), Math.log(1)] }] } as ModelReport;
    const found = without(model, 0)!;
    expect(found.how).toBe("model");
    found.groups[0].then.forEach((value, i) => expect(value).toBeCloseTo([0, 0.75, 0.25][i]));
  });
  it("is not known of other families without counts", () => {
    expect(without({ ...base, family: "mallows", groups: [group] } as ModelReport, 0)).toBeNull();
  });
});

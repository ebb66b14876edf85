#!/usr/bin/env python3
"""The slow corners, each measured in one run and held to its figure: docs/performance.md.

  corners.py CAUCUS [NAME...]     all lines, or those named; corners.py CAUCUS --list says which there are

Answers are checked first, against peers or against likelihoods written out in numpy; a wrong one is said and ends in exit 1. Times are user and system seconds of
one thread, the better of two runs, unless a line says clock. Data of CAUCUS_DATA or packages that are missing are said and left out. BENCH_LIMIT: seconds a run may
take (600). BENCH_FOLDER keeps what is drawn for the next run.
"""
import csv
import os
import sys
import tempfile
import traceback

import numpy as np

import likelihoods
import made
import peers
from measure import Figure, Missing, Program, WrongAnswer, agree, hold

SUSHI, WEST, NASCAR = "preflib/00014-00000001.soc", "preflib/00001-00000002.soi", "classic/nascar2002.soi"
CATEGORIES = "preflib/00069-00000009.cat"  # 50 items in three categories: ties of all sizes
# CPU seconds of packages of R that cannot be had from PyPI or Debian, measured beside each other on one machine (bench/peers.R runs them).
KERNRANK_START, MSMIX_START, BAYESMALLOWS_SWEEPS, PERMALLOWS, PLMIX = 0.44, 0.6, 85.0, {20: 0.14, 100: 1.4}, 0.12


def check_mixture(name, model, density, tolerance=1e-9):
    """The log-likelihood of a model file against one written out; `density(component)` gives log probabilities of the rankings."""
    parts = model["components"]
    agree(f"{name}: log-likelihood", model["fit"]["loglik"], likelihoods.log_mixture([c["weight"] for c in parts], [density(c) for c in parts]).sum(), tolerance)


def check_ties(name, model, path):
    rows, strengths = likelihoods.read_ties(path), {1: 1.0, **{int(d): v for d, v in model["ties"].items()}}
    check_mixture(name, model, lambda c: likelihoods.davidson_luce(rows, np.array(c["utilities"]), strengths))


def check_battles(name, model, counts):
    agree(f"{name}: log-likelihood", model["fit"]["loglik"], likelihoods.davidson_battles(counts, model["items"], model["components"], model["ties"]["2"]), 1e-9)


def counted(path):
    ends = {"model_a": 0, "model_b": 1, "tie": 2}
    return [(a, b, ends[w], many) for a, b, w, many in peers.polars_counts(path).iter_rows()]


def ties(program):
    path = made.tied_people(program.folder)
    ran, model = program.fit(path, "-k", 4)
    check_ties("ties", model, path)
    yield Figure("500 people, 12 % tied, fit -k 4", ran.cpu, "s", 3)
    ran = program.run("select", path, "-k", "1..6", "--json", "-q")
    hold("ties: four groups are chosen", ran.json()["chosen_k"] == 4)
    yield Figure("500 people, 12 % tied, select 1..6", ran.cpu, "s", 3)


def tie_sizes(program):
    path = os.path.join(program.folder, "categories.toc")
    program.run("convert", program.shared(CATEGORIES), path, threads=None)
    ran, model = program.fit(path, "-k", 3)
    check_ties("tie-sizes", model, path)
    yield Figure("204 people, 50 items in three categories, fit -k 3", ran.cpu, "s", 10)


def tied_battles(program):
    path = made.battles(program.folder, "battles_ties3.csv", groups=3)
    ran, model = program.fit(path, "-k", 3)
    check_battles("tied-battles", model, counted(path))
    yield Figure("a million battles with ties, 100 items, K = 3", ran.cpu, "s", 20)


def weighted_battles(program):
    path = made.counted_battles(program.folder)
    ran, model = program.fit(path, "-k", 4)
    with open(path, encoding="ascii") as file:
        rows = list(csv.reader(file))[1:]
    counts = [(row[0], row[1], end, int(row[2 + end])) for row in rows for end in range(3) if int(row[2 + end])]
    check_battles("weighted-battles", model, counts)
    yield Figure(f"{len(counts)} distinct battles with weights, K = 4", ran.cpu, "s", 2)


def time_limit(program):
    million = made.pl_mixture(program.folder, "million20.soc", 20, 5, 1_000_000)
    hundred = made.pl_mixture(program.folder, "long100.soc", 100, 5, 200_000)
    pairs = made.battles(program.folder, "battles_ties3.csv", groups=3)
    for what, path, words in (("pl K = 5, a million of 20 items", million, ["-k", 5]), ("mallows K = 5, the same", million, ["-k", 5, "--family", "mallows"]),
                              ("pl K = 5, 200,000 of 100 items", hundred, ["-k", 5]), ("pl K = 4, a million battles with ties", pairs, ["-k", 4])):
        ran, model = program.fit(path, *words, "--time-limit", 8, threads=0, repeats=1)
        hold(f"time-limit, {what}: a model with a log-likelihood", model["fit"]["loglik"] < 0 and len(model["components"]) == words[1])
        yield Figure(f"--time-limit 8, {what}, by the clock", ran.clock, "s", 10, note=model["fit"]["stop_reason"])


def mallows_starts(program):
    path, orders = program.shared(SUSHI), peers.read_orders(program.shared(SUSHI))
    ran, model = program.fit(path, "--family", "mallows", "-k", 3, "--init", "random", "--restarts", 20)
    check_mixture("mallows-starts", model, lambda c: likelihoods.mallows(orders, c["consensus"], c["theta"]))
    hold("mallows-starts: no worse than the best of the peers", model["fit"]["loglik"] > -68981.8858)
    yield Figure("Mallows K = 3, Sushi, a start of 20, against kernrank", KERNRANK_START / (ran.cpu / 20), "times", 20, True, f"{ran.cpu / 20:.3f} s")
    ran, model = program.fit(path, "--family", "mallows", "--distance", "spearman", "-k", 3, "--restarts", 5)
    check_mixture("spearman", model, lambda c: likelihoods.spearman(orders, c["consensus"], c["theta"]), 1e-8)
    yield Figure("Spearman Mallows K = 3, Sushi, 5 starts, against MSmix", 5 * MSMIX_START / ran.cpu, "times", 10, True, f"{ran.cpu:.2f} s")


def sweep_seconds(program, path, method, few, many, *words):
    """Seconds of a sweep once the chain has begun: the difference of two lengths."""
    short, long = (program.fit(path, "--family", "dpm", "--method", method, "--sweeps", sweeps, "--burnin", 10, "--predictive-draws", 1, *words)
                   for sweeps in (few, many))
    return (long[0].cpu - short[0].cpu) / (many - few), long[1]


def dpm_sweeps(program):
    path = program.shared(SUSHI)
    for method, wanted in (("exact-gibbs", 3), ("beta-gibbs", 10), ("slice-gibbs", None)):
        seconds, model = sweep_seconds(program, path, method, 30, 80, "--alpha", 0.001, "--start-clusters", 5, "--gibbs-steps", 1)
        hold(f"dpm-sweeps: {method} explains Sushi better than one Mallows model", model["fit"]["loglik"] > -71353.035)
        yield Figure(f"dpm {method}, Sushi held at 5 clusters, a draw of each center a sweep, against BayesMallows with K = 5",
                     1 / seconds / BAYESMALLOWS_SWEEPS, "times", wanted, True, f"{1 / seconds:.0f} sweeps/s")


def dpm_ratio(program):
    path = made.mallows_mixture(program.folder, "top5.soi", 10, 3, 2000, 0.5, top=5)
    (exact, first), (slices, second) = (sweep_seconds(program, path, method, 30, 230) for method in ("exact-gibbs", "slice-gibbs"))
    agree("dpm-ratio: predictive log-likelihood of the two samplers", first["fit"]["loglik"], second["fit"]["loglik"], 0.002)
    yield Figure("dpm, a sweep of exact-gibbs over one of slice-gibbs, n = 10, top 5", exact / slices, "times", 3, note=f"{1000 * exact:.1f} and {1000 * slices:.1f} ms")


def gmallows_select(program):
    for name, data in (("Sushi", SUSHI), ("Dublin West", WEST)):
        path = program.shared(data)
        rows = [[group[0] for group in row] for row in likelihoods.read_ties(path)]
        ran = program.run("select", path, "--family", "gmallows", "-k", "1..6", "--json", "-q")
        check_mixture("gmallows-select", ran.json()["fitted"], lambda c: likelihoods.stagewise(rows, c["consensus"], c["theta"]))
        yield Figure(f"gmallows select 1..6, {name}", ran.cpu, "s", 8, note=f"K = {ran.json()['chosen_k']} chosen")


def mallows_items(program):
    for name, theta in (("far", 0.1), ("near", 0.002)):
        path = made.mallows_mixture(program.folder, f"{name}1000x200.soc", 200, 3, 1000, theta)
        ran, model = program.fit(path, "--family", "mallows", "-k", 3)
        orders = peers.read_orders(path)
        check_mixture("mallows-items", model, lambda c: likelihoods.mallows(orders, c["consensus"], c["theta"]))
        truth = [likelihoods.mallows(orders, center, theta) for center in made.centers(200, 3)]
        hold("mallows-items: no worse than the truth", model["fit"]["loglik"] >= likelihoods.log_mixture([1 / 3] * 3, truth).sum())
        yield Figure(f"mallows K = 3, 1000 rankings of 200 items, groups {name} apart", ran.cpu, "s", 10)


def drawn(program, model, count, items):
    path = program.scratch("drawn.soc")
    ran = program.run("sample", model, "-n", count, "--out", path, "-q")
    orders = peers.read_orders(path)
    hold("sampling: as many complete orders as asked for", orders.shape == (count, items) and (np.sort(orders, axis=1) == np.arange(items)).all())
    return ran, orders


def sampling_pl(program):
    utilities = np.random.default_rng(1).normal(0, 1, 20)
    model = made.model(program.folder, "pl20.json", "pl", [{"weight": 1.0, "utilities": utilities.tolist()}], 20)
    ran, orders = drawn(program, model, 100_000, 20)
    theirs, seconds = peers.gumbel(utilities, 100_000)
    chances = np.exp(utilities) / np.exp(utilities).sum()
    for who, first in (("caucus", orders[:, 0]), ("numpy", theirs[:, 0])):
        off = np.abs(np.bincount(first, minlength=20) / 1e5 - chances) / np.sqrt(chances * (1 - chances) / 1e5)
        hold(f"sampling-pl: first places of {who}", off.max() < 5)
    yield Figure("sampling 10^5 Plackett-Luce orders n = 20, written, against numpy's Gumbel argsort in memory", seconds / ran.cpu, "times", 3, True,
                 f"{ran.cpu:.3f} and {seconds:.3f} s")


def sampling_mallows(program):
    for n, seconds in PERMALLOWS.items():
        model = made.model(program.folder, f"mallows{n}.json", "mallows", [{"weight": 1.0, "consensus": list(range(n)), "theta": 0.1}], n)
        ran, orders = drawn(program, model, 100_000, n)
        far = sum((orders[:20000, i:i + 1] > orders[:20000, i + 1:]).sum(axis=1) for i in range(n - 1))
        stages = [(np.arange(i + 1), np.exp(-0.1 * np.arange(i + 1))) for i in range(1, n)]
        means = [(r * p).sum() / p.sum() for r, p in stages]
        spread = sum((r * r * p).sum() / p.sum() - mean * mean for (r, p), mean in zip(stages, means))
        hold("sampling-mallows: mean distance", abs(far.mean() - sum(means)) < 5 * np.sqrt(spread / 20000))
        yield Figure(f"sampling 10^5 Mallows orders n = {n}, written, against PerMallows in memory", seconds / ran.cpu, "times", 10, True, f"{ran.cpu:.3f} s")


def nascar(program):
    path = program.shared(NASCAR)
    lengths = [len(row) for row in likelihoods.read_ties(path)]
    uniform = -sum(np.log(np.arange(1, length + 1)).sum() for length in lengths)
    few, one = program.fit(path, "--unranked", "absent", "--family", "mallows", "-k", 2, "--restarts", 1)
    many, five = program.fit(path, "--unranked", "absent", "--family", "mallows", "-k", 2, "--restarts", 5)
    hold("nascar: above equal chances, and five starts no worse than one", uniform < one["fit"]["loglik"] < five["fit"]["loglik"] + 1e-6 * abs(uniform))
    yield Figure("Mallows K = 2 with subsets of 87 items (NASCAR), a fit of one start", few.cpu, "s", 5)
    yield Figure("the same, a start of five", many.cpu / 5, "s", 5)


def sushi_one(program):
    path, orders = program.shared(SUSHI), peers.read_orders(program.shared(SUSHI))
    ran, model = program.fit(path, "-k", 1, repeats=10)
    found, seconds = peers.choix_rankings(orders)
    agree("sushi-one: log-likelihood of choix", model["fit"]["loglik"], peers.plackett_luce(orders, found), 1e-9)
    nothing = program.run("--version", threads=None, repeats=10)
    yield Figure("K = 1 on Sushi, whole process, against choix without its start", seconds / ran.cpu, "times", 100, True, f"{1000 * ran.cpu:.1f} ms and {seconds:.2f} s")
    yield Figure("the same against PLMIX without its start", PLMIX / ran.cpu, "times", 20, True)
    yield Figure("start-up (caucus --version)", 1000 * nothing.cpu, "ms", 5, note=f"{1000 * nothing.clock:.1f} ms by the clock")


def compare_dpm(program):
    path = made.pl_mixture(program.folder, "people2400.soc", 10, 3, 2400)
    ran = program.run("compare", path, "--families", "pl:3,dpm", "--json", "-q")
    rows = {row["family"]: row for row in ran.json()["table"]}
    hold("compare-dpm: the family that made the data is ahead, dpm within a nat", 0 < rows["pl"]["heldout_mean"] - rows["dpm"]["heldout_mean"] < 1)
    yield Figure("compare pl:3,dpm on 2,400 ballots", ran.cpu, "s", 20)


def bootstrap(program):
    path = made.battles(program.folder, "battles.csv", tie=0.0)
    plain, _ = program.fit(path, "-k", 1)
    ran, model = program.fit(path, "-k", 1, "--bootstrap", 100, "--bootstrap-kind", "nonparametric")
    (found, errors), seconds = peers.bootstrap_counts(path, model["items"])
    utilities = np.array(model["components"][0]["utilities"])
    hold("bootstrap: utilities of choix", np.abs(utilities - utilities.mean() - found + found.mean()).max() < 1e-5)
    ours = np.array(model["components"][0]["bootstrap"]["standard_errors"])
    agree("bootstrap: mean standard error of utilities", float(ours.mean()), float(errors.mean()), 0.1)
    yield Figure("--bootstrap 100 on a million battles, whole, against polars, numpy and choix", seconds / ran.cpu, "times", 5, True,
                 f"{ran.cpu:.2f} s, {plain.cpu:.2f} without samples, and {seconds:.2f} s")


def evalica(program):
    for name, tie, wanted in (("ties", 0.4, 3), ("no ties", 0.0, 3)):
        path = made.battles(program.folder, "battles_ties.csv" if tie else "battles.csv", tie=tie)
        ran, model = program.fit(path, "-k", 1)
        scores, seconds = peers.evalica_battles(path)
        ours = np.array(model["components"][0]["utilities"])
        theirs = np.log(np.array([scores[item] for item in model["items"]]))
        if tie:  # evalica halves ties, which is another model: ours is held to its own equations, theirs to be alike
            hold("evalica: Davidson's equations hold", peers.davidson_gradient(path, model["items"], ours, model["ties"]["2"]) < 1e-6)
            hold("evalica: much the same order", np.corrcoef(ours, theirs)[0, 1] > 0.999)
        else:
            hold("evalica: the same utilities", np.abs(ours - ours.mean() - theirs + theirs.mean()).max() < 1e-3)
        hold("evalica: errors included", all(error > 0 for error in model["components"][0]["standard_errors"]))
        yield Figure(f"a million battles, {name}, K = 1, errors included, against evalica on counts of polars", seconds / ran.cpu, "times", wanted, True,
                     f"{ran.cpu:.2f} and {seconds:.2f} s")


def arena(program):
    """Decided battles of a leaderboard, counted."""
    path = program.scratch("arena_decided.csv")
    with open(program.shared("pairwise/chatbot_arena_20240814_counts.csv"), encoding="utf-8") as file:
        rows = [row[:4] for row in csv.reader(file)]
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(rows)
    counts = [[row[i] if i < 2 else int(row[i]) for row in rows[1:]] for i in range(4)]
    ran, model = program.fit(path, "-k", 1)
    found, seconds = peers.logistic(counts)
    ours = dict(zip(model["items"], model["components"][0]["utilities"]))
    mean = np.mean(list(ours.values()))
    hold("arena: coefficients of the logistic regression", max(abs(ours[name] - mean - found[name]) for name in ours) < 1e-3)
    yield Figure("arena, decided battles, K = 1, whole process, against scikit-learn's logistic regression on counts in memory", seconds / ran.cpu, "times", 1, True,
                 f"{ran.cpu:.3f} and {seconds:.3f} s")


def consensus(program):
    files = [(f"uniform, n = 50, {count} of them", made.uniform_orders(program.folder, 50, count)) for count in (10, 100)]
    files.append(("n = 100, theta = .01, 1000 of them", made.mallows_mixture(program.folder, "weak100.soc", 100, 1, 1000, 0.01)))
    for name, path in files:
        orders = peers.read_orders(path)
        theirs, seconds = peers.highs_consensus(orders)
        ran, model = program.fit(path, "--family", "mallows", "-k", 1, "--consensus", "exact")
        cost, found = peers.disagreements(orders), model["components"][0]
        ours = peers.kemeny_cost(cost, np.array(found["consensus"]))
        if theirs is not None:
            least = peers.kemeny_cost(cost, theirs)
            hold(f"consensus, {name}: proven and no better than the optimum, {ours} and {least}", ours == least if found["consensus_gap"] == 0 else ours >= least)
        yield Figure(f"exact consensus, {name}, whole process, against HiGHS", seconds / ran.cpu, "times", 1, True, f"{ran.cpu:.2f} and {seconds:.2f} s")


def reading_wide(program):
    path = made.wide_table(program.folder)
    ran = program.run("info", path, "--json", threads=None, repeats=3)
    for name, read in (("pandas", peers.read_pandas), ("polars", peers.read_polars)):
        try:
            table, seconds = read(path)
        except ImportError as error:
            raise Missing(str(error)) from error
        hold(f"reading-wide: as many rows as {name} reads", ran.json()["num_rows"] == table.shape[0])
        columns = [table[f"rank{i}"] for i in range(1, 11)]
        named = sum(column.count() for column in columns)
        hold(f"reading-wide: as many names as {name} reads", sum(ran.json()["listed"]) == named)
        yield Figure(f"reading a wide CSV, info, by the clock against {name}", seconds / ran.clock, "times", 3, True, f"{ran.clock:.2f} and {seconds:.2f} s, CPU {ran.cpu:.2f} s")


def reading_short(program):
    path = made.short_lines(program.folder)
    ran = program.run("info", path, "--json", threads=None, repeats=3)
    size = os.path.getsize(path) / 1e6
    hold("reading-short: every line is a ballot of six", ran.json()["num_rankings"] == (100 << 20) // 17 and sum(ran.json()["listed"]) == 6 * ((100 << 20) // 17))
    yield Figure("lines of 17 bytes, info, by the clock", size / ran.clock, "MB/s", 200, True, f"CPU {ran.cpu:.2f} s")


def threads(program):
    sushi = program.shared(SUSHI)
    jobs = (("pl, a million of 20 items", ["fit", made.pl_mixture(program.folder, "million20.soc", 20, 5, 1_000_000), "-k", 5]),
            ("pl with ties, a million battles", ["fit", made.battles(program.folder, "battles_ties3.csv", groups=3), "-k", 3]),
            ("pl gibbs, Sushi", ["fit", sushi, "-k", 3, "--method", "gibbs", "--sweeps", 3000]),
            ("mallows, Sushi", ["fit", sushi, "--family", "mallows", "-k", 5]),
            ("mallows by Spearman, Sushi", ["fit", sushi, "--family", "mallows", "--distance", "spearman", "-k", 5]),
            ("mallows, NASCAR", ["fit", program.shared(NASCAR), "--unranked", "absent", "--family", "mallows", "-k", 2, "--restarts", 4]),
            ("gmallows, Dublin West", ["fit", program.shared(WEST), "--family", "gmallows", "-k", 5]),
            ("m4, Sushi", ["fit", sushi, "--family", "m4", "-k", 2]),
            ("dpm, two chains, Sushi", ["fit", sushi, "--family", "dpm", "--method", "slice-gibbs", "--chains", 2, "--sweeps", 100, "--burnin", 10]),
            ("kde, Sushi", ["fit", sushi, "--family", "kde"]),
            ("ebms, Sushi", ["fit", sushi, "--family", "ebms"]))
    for name, words in jobs:
        load = os.getloadavg()[0]  # this bench itself is about 1; with more the clock cannot tell, and there is no verdict
        one, two = (program.run(*words, "--json", "-q", threads=count) for count in (1, 2))
        hold(f"threads, {name}: the same bits", one.json()["components"] == two.json()["components"])
        if one.cpu >= 1:
            yield Figure(f"2 threads against 1 by the clock, {name}", one.clock / two.clock, "times", 1.8 if load < 1.5 else None, True,
                         f"{one.clock:.1f} and {two.clock:.1f} s, CPU {one.cpu:.1f} and {two.cpu:.1f} s, load {load:.1f}")


LINES = {"ties": ties, "tie-sizes": tie_sizes, "tied-battles": tied_battles, "weighted-battles": weighted_battles, "time-limit": time_limit, "mallows-starts": mallows_starts,
         "dpm-sweeps": dpm_sweeps, "dpm-ratio": dpm_ratio, "gmallows-select": gmallows_select, "mallows-items": mallows_items, "sampling-pl": sampling_pl,
         "sampling-mallows": sampling_mallows, "nascar": nascar, "sushi-one": sushi_one, "compare-dpm": compare_dpm, "bootstrap": bootstrap, "evalica": evalica,
         "arena": arena, "consensus": consensus, "reading-wide": reading_wide, "reading-short": reading_short, "threads": threads}


def measure(program, names):
    """Prints as it goes. How many figures were met, how many not, and which lines had wrong answers."""
    met, short, wrong = 0, 0, []
    for name in names:
        try:
            for figure in LINES[name](program):
                print(f"{name:16} {figure.text()}", flush=True)
                met, short = (met + figure.met(), short + (not figure.met())) if figure.wanted is not None else (met, short)
        except (Missing, ImportError) as missing:
            print(f"{name:16} left out: {missing}", flush=True)
        except WrongAnswer as error:
            print(f"{name:16} WRONG ANSWER: {error}", flush=True)
            wrong.append(name)
        except Exception:  # a peer that fails must not hide the lines after it
            print(f"{name:16} FAILED\n{traceback.format_exc()}", flush=True)
            wrong.append(name)
    return met, short, wrong


def main():
    if len(sys.argv) < 2 or sys.argv[2:] == ["--list"]:
        sys.exit(__doc__ if len(sys.argv) < 2 else print("\n".join(LINES)))
    names = sys.argv[2:] or list(LINES)
    if unknown := [name for name in names if name not in LINES]:
        sys.exit(f"no such line: {', '.join(unknown)}; there are {', '.join(LINES)}")
    data = os.environ.get("CAUCUS_DATA", "../shared/data")
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.environ.get("BENCH_FOLDER", scratch)
        os.makedirs(folder, exist_ok=True)
        met, short, wrong = measure(Program(os.path.abspath(sys.argv[1]), folder, data, scratch), names)
    print(f"{met} figures met, {short} not" + (f"; WRONG or FAILED: {', '.join(wrong)}" if wrong else ", every answer right"))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

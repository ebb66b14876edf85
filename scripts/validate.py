#!/usr/bin/env python3
"""Calibration of every sampler and interval, by simulation through the command line.

  validate.py run --caucus PATH [--out FOLDER] [--count 1000] [--quick] [STUDY...]   simulate; a run that was stopped goes on
  validate.py summary [--out FOLDER] [--results FILE]                               count what was simulated; other studies stay as they are
  validate.py table [--results FILE]                                                docs/validation.md, on standard output

Coverage: parameters are drawn, data are drawn from them, the interval that caucus prints is held against the truth. Simulation-based
calibration (Talts et al. 2018): parameters are drawn from the prior, and the rank of the truth among the sampler's draws must be uniform;
the log-likelihood is the quantity that does not depend on the names of the groups (Modrak et al. 2023). Every data set has a seed of its
own, so that any one can be made again.
"""
import argparse
import datetime
import json
import math
import os
import sys
import tempfile

from validation_studies import DRAWS, STUDIES, Tool

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(HERE, "experiments", "results", "validation.json")
RUNS = os.path.join(HERE, "experiments", "results", "validation-runs.md")
QUICK = 12  # data sets of each study with --quick


def rows_of(path):
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    row = json.loads(line)
                    rows[row["seed"]] = row
                except ValueError:
                    pass  # cut short by a stop
    return rows


def run(args):
    os.makedirs(args.out, exist_ok=True)
    count = QUICK if args.quick else args.count
    for name in args.studies or STUDIES:
        path = os.path.join(args.out, name + ".jsonl")
        done = rows_of(path)
        with open(path, "a", encoding="utf-8") as log, tempfile.TemporaryDirectory() as folder:
            tool = Tool(os.path.abspath(args.caucus), folder)
            for seed in range(1, count + 1):
                if seed in done:
                    continue
                try:
                    row = STUDIES[name][1](tool, seed)
                except Exception as failure:
                    raise RuntimeError(f"study {name}, data set {seed}: {failure}") from failure
                log.write(json.dumps({"seed": seed, **row}) + "\n")
                log.flush()
        print(f"{name}: {count} data sets", flush=True)


def chi_square_p(statistic, freedom):
    """P(chi-square with an odd or even number of degrees of freedom >= statistic), by the series of the incomplete gamma function."""
    a, x = freedom / 2.0, statistic / 2.0
    if x <= 0.0:
        return 1.0
    term = total = 1.0 / a
    for k in range(1, 1000):
        term *= x / (a + k)
        total += term
    return max(0.0, 1.0 - total * math.exp(-x + a * math.log(x) - math.lgamma(a)))


def summarize(name, rows):
    """Per quantity: share covered and its standard error over data sets, or the p-value of uniform ranks."""
    result = []
    nominal = STUDIES[name][2]
    for quantity in ("utilities", "theta", "places", "weights", "ties", "exponents", "coefficients", "membership effects"):
        shares = [sum(row[quantity]) / len(row[quantity]) for row in rows if quantity in row]
        if len(shares) > 1:
            mean = sum(shares) / len(shares)
            error = math.sqrt(sum((share - mean) ** 2 for share in shares) / (len(shares) - 1) / len(shares))
            result.append({"quantity": quantity, "data_sets": len(shares), "nominal": nominal, "covered": mean, "error": error})
    quantities = sorted({quantity for row in rows for quantity in row.get("ranks", {})})
    for quantity in quantities:
        ranks = [row["ranks"][quantity] for row in rows if quantity in row.get("ranks", {})]
        bins = [0] * ((DRAWS + 1) // 2)
        for rank in ranks:
            bins[rank // 2] += 1
        expected = len(ranks) / len(bins)
        statistic = sum((one - expected) ** 2 / expected for one in bins)
        result.append({"quantity": quantity, "data_sets": len(ranks), "bins": bins, "p_value": chi_square_p(statistic, len(bins) - 1)})
    return result


def is_wrong(one):
    """Far beyond chance: five standard errors outside of 2 points about the nominal level (and three more), p below 1e-6."""
    if "p_value" in one:
        return one["p_value"] < 1e-6
    slack = 0.02 + 5.0 * max(one["error"], math.sqrt(one["nominal"] * (1 - one["nominal"]) / one["data_sets"]))
    return abs(one["covered"] - one["nominal"]) > slack


# Known to be off, and said in the documentation: no failure.
KNOWN = {
    ("pl-information-close", "weights"), ("pl-information-close", "utilities"), ("dpm-theta", "theta"), ("dpm-theta", "places"), ("dpm-theta-prior", "theta"),
    ("dpm-theta-prior", "places"), ("pl-credible", "utilities"),
    *((f"dpm-beta-gibbs{moves}", quantity) for moves in ("", "-split-merge") for quantity in ("number of groups", "largest share")),
}


def summary(args):
    before, studies, wrong = {}, {}, []
    if os.path.exists(args.results):
        with open(args.results, encoding="utf-8") as file:
            before = json.load(file)["studies"]
    for name in STUDIES:
        rows = list(rows_of(os.path.join(args.out, name + ".jsonl")).values())
        if not rows:  # what was counted before stands
            if name in before:
                studies[name] = before[name]
            continue
        studies[name] = summarize(name, rows)
        for one in studies[name]:
            if is_wrong(one) and (name, one["quantity"]) not in KNOWN:
                wrong.append(f"{name}, {one['quantity']}: {one}")
    with open(args.results, "w", encoding="utf-8") as out:
        json.dump({"date": datetime.date.today().isoformat(), "studies": studies}, out, indent=1)
        out.write("\n")
    for line in wrong:
        print("not calibrated: " + line, file=sys.stderr)
    return 1 if wrong else 0


def verdict(name, one):
    """Within two points of its level; or so near that this many data sets cannot tell."""
    known = ", known" if (name, one["quantity"]) in KNOWN else ""
    if "p_value" in one:
        return "yes" if one["p_value"] >= 0.001 else "no" + known
    beyond = abs(one["covered"] - one["nominal"]) - 0.02
    return "yes" if beyond <= 0.0 else "cannot tell" if beyond <= 1.96 * one["error"] else "no" + known


WHAT_TO_USE = """
## Where an interval falls short

- **Weights of groups that are hard to tell apart.** Two groups whose utilities of an item are about 1.3 apart, 500 ballots of 5 items: the estimate itself is off (a group of 60 % comes out at 90 %), and the information
  matrix does not know. Intervals are made on the scale of log odds, which is worth three points. Tried as well: profile likelihood covers 91 % (81 % in the worst eighth), percentiles of the
  bootstrap 89 % (parametric) and 91 % (nonparametric). Use `--bootstrap 199 --bootstrap-kind nonparametric`: its standard error on the scale of log odds covers 94.5 %.
- **Parametric bootstrap of two groups.** Utilities 92.7 and 92.8 %, weights of close groups 91.9 %; the nonparametric one covers 93.1 to 94.9 % on the same data sets: prefer it.
- **`dpm --method beta-gibbs`** is the paper's approximation: theta is drawn as if a sum of geometric numbers, and the ranks show it (its largest group is too small). Use `exact-gibbs`, the
  default, or `slice-gibbs`.
- **`dpm`, theta**: 90 % intervals cover 85 % of thetas drawn evenly from 0.4 to 1.4, and 85 % of thetas drawn from the prior (40 ballots, one true group): the prior says that there are several groups, and ballots that the
  sampler sets apart are missed. For an interval that
  covers whatever theta is, fit `gmallows -k 1` to the ballots of the group. Intervals of places cover more than they say, because places are whole numbers.
- **Utilities of two opposite groups with 200 ballots** (80 of them in the smaller group, utilities up to 4): credible intervals of `--method gibbs` cover 90.4 %, and standard errors 92.5 % (1000 data sets each): the
  shortfall is that of so few ballots, and with 2000 they cover 93.6 %. Eight times as many sweeps (91 % of 60 data sets instead of 92) and a weaker prior (92 %) change nothing. With 500 ballots standard
  errors cover as they should.
- **Items that never win, or never lose**: they have no finite estimate; they are named, have no interval, and are not counted above.
"""


def table(args):
    with open(args.results, encoding="utf-8") as file:
        results = json.load(file)
    print(f"""# Validation

Calibration made by `make validate` ({results['date']}), by simulation through the command line; `scripts/validate.py` holds every study, and each data set can be made again by its
seed. `COUNT=1000` data sets of each study; a run that was stopped goes on, and the tables say how many there were so far. `make validate QUICK=1`, part of the suite, takes {QUICK} of each and fails where something is off beyond
chance. [How many digits of each special function are right](special-functions.md): `make special-functions`. [Which planted errors the tests notice](mutations.md):
`make mutations`. Sanitizers, valgrind, fuzzing and the price of hardening are [below](#other-runs).

## Intervals

Parameters are drawn, data are drawn from them, and the printed interval either holds the true value or not. An interval is good where it
covers its level within two points; "cannot tell": the figure is further off, but by no more than its own error.

| what | quantity | data sets | level | covered | good |
|---|---|---|---|---|---|""")
    for name, found in results["studies"].items():
        for one in found:
            if "covered" in one:
                print(f"| {STUDIES[name][0]} | {one['quantity']} | {one['data_sets']} | {100 * one['nominal']:.0f} % | "
                      f"{100 * one['covered']:.1f} % ± {196 * one['error']:.1f} | {verdict(name, one)} |")
    print("""
## Samplers

Simulation-based calibration (Talts et al. 2018): parameters from the prior, data from them, and the rank of the truth among 19 thinned
draws, which is uniform for a right sampler. The p-value is of a chi-square test with 10 bins; the log-likelihood is the quantity that does
not depend on the names of the groups.

| sampler | quantity | data sets | p-value | ranks in 10 bins | good |
|---|---|---|---|---|---|""")
    for name, found in results["studies"].items():
        for one in found:
            if "p_value" in one:
                print(f"| {STUDIES[name][0]} | {one['quantity']} | {one['data_sets']} | {one['p_value']:.3f} | "
                      f"{' '.join(map(str, one['bins']))} | {verdict(name, one)} |")
    print(WHAT_TO_USE)
    if missing := [STUDIES[name][0] for name in STUDIES if name not in results["studies"]]:
        print("\n## Not run yet\n\n" + "\n".join(f"- {one}" for one in missing))
    if os.path.exists(RUNS):
        with open(RUNS, encoding="utf-8") as file:
            print("\n" + file.read().rstrip("\n"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "summary", "table"])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="of: " + ", ".join(STUDIES))
    parser.add_argument("--caucus", default=os.path.join(HERE, "build", "release", "caucus"))
    parser.add_argument("--out", default=os.path.join(HERE, "build", "validation"))
    parser.add_argument("--results", default=RESULTS)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_intermixed_args()
    for name in args.studies:
        if name not in STUDIES:
            parser.error(f"there is no study {name}; there are: {', '.join(STUDIES)}")
    sys.exit({"run": run, "summary": summary, "table": table}[args.what](args))


if __name__ == "__main__":
    main()

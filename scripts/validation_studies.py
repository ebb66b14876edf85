"""The studies of validate.py: a function of (tool, seed) each, that draws parameters and data, fits, and says what held.

Coverage studies answer, quantity by quantity, with 0 or 1 for each interval; calibration studies with the rank of the truth among the draws.
"""
import json
import math
import os
import random
import subprocess

DRAWS = 19  # kept of each chain: ranks from 0 to 19


class Tool:
    """The program, in a folder of its own."""

    def __init__(self, caucus, folder):
        self.caucus, self.folder = caucus, folder

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def run(self, *args):
        result = subprocess.run([self.caucus, *map(str, args)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise RuntimeError(f"caucus {' '.join(map(str, args))}: exit {result.returncode}: {result.stderr}")
        return result.stdout

    def model(self, family, components, items, **keys):
        names = [f"i{j}" for j in range(items)]
        return self.path("truth.json", {"schema": "caucus.model/1", "family": family, "items": names, "components": components, **keys})

    def sample(self, truth, count, seed, length=0):
        data = self.path("data.soi")
        self.run("sample", truth, "-n", count, "--seed", seed, "--length", length, "--out", data, "-q", "--threads", 1)
        return data

    def fit(self, data, *args):
        out = self.path("model.json")
        self.run("fit", data, "--out", out, "-q", "--threads", 1, *args)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


# --- coverage -----------------------------------------------------------------------------------------------------------------------

def covers(low, value, high):
    return int(low <= value <= high)


def normal(estimate, error, truth):
    return covers(estimate - 1.96 * error, truth, estimate + 1.96 * error)


def weight_covered(group, truth):
    """Of a group that has errors: does its interval hold the true weight? From a standard error it is made on the scale of log odds."""
    if "weight_interval" in group:
        return [covers(group["weight_interval"]["low"], truth, group["weight_interval"]["high"])]
    weight = group["weight"]
    if "weight_standard_error" not in group or not 0.0 < weight < 1.0:
        return []
    odds = lambda share: math.log(share / (1.0 - share))
    return [normal(odds(weight), group["weight_standard_error"] / (weight * (1.0 - weight)), odds(truth))]


def centered(values):
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def matched(truth, found, distance):
    """The order of the found groups that is nearest to the true ones; two groups at most."""
    if len(truth) == 1:
        return [0]
    straight = distance(truth[0], found[0]) + distance(truth[1], found[1])
    crossed = distance(truth[0], found[1]) + distance(truth[1], found[0])
    return [0, 1] if straight <= crossed else [1, 0]


def gap(a, b):
    return sum((x - y) ** 2 for x, y in zip(a, b))


def kendall(a, b):
    place = {item: p for p, item in enumerate(b)}
    return sum(place[a[i]] > place[a[j]] for i in range(len(a)) for j in range(i + 1, len(a)))


def pl_coverage(groups, items, ballots, length=0, apart=0.0, flags=()):
    """Utilities (all items and groups) and the first weight; from standard errors, or from intervals where there are any."""

    def study(tool, seed):
        draw = random.Random(seed)
        base = centered([draw.gauss(0, 1) for _ in range(items)])
        truth = [base] if groups == 1 else [centered([s * apart * u + 0.5 * draw.gauss(0, 1) for u in base]) for s in (1, -1)]
        weights = [1.0] if groups == 1 else [0.6, 0.4]
        data = tool.sample(tool.model("pl", [{"weight": w, "utilities": u} for w, u in zip(weights, truth)], items), ballots, seed, length)
        model = tool.fit(data, "-k", groups, *flags)
        found = model["components"]
        order = matched(truth, [one["utilities"] for one in found], gap)
        inside = {"utilities": [], "weights": []}
        for k, at in enumerate(order):
            one = found[at]
            for i in range(items):
                if "utility_intervals" in one:
                    ends = one["utility_intervals"]
                    if ends["low"][i] is not None:
                        inside["utilities"].append(covers(ends["low"][i], truth[k][i], ends["high"][i]))
                elif "standard_errors" in one and one["standard_errors"][i] is not None:
                    inside["utilities"].append(normal(one["utilities"][i], one["standard_errors"][i], truth[k][i]))
        if groups > 1:
            inside["weights"] = weight_covered(found[order[0]], weights[0])
        return {name: values for name, values in inside.items() if values}

    return study


def mallows_coverage(family, groups, items, ballots, length=0, flags=(), from_prior=False):
    """theta (by stage for gmallows and dpm) and the first weight."""

    def study(tool, seed):
        draw = random.Random(seed)
        truth, center = [], list(range(items))
        for _ in range(groups):
            draw.shuffle(center)
            stages = 1 if family == "mallows" else items - 1
            truth.append((center[:], [draw_theta(items - j, draw) if from_prior else draw.uniform(0.4, 1.4) for j in range(stages)]))
        if groups == 2:
            truth[1] = (truth[0][0][::-1], truth[1][1])
        weights = [1.0] if groups == 1 else [0.6, 0.4]
        kind = "mallows" if family == "mallows" else "gmallows"
        parts = [{"weight": w, "consensus": c, "theta": t[0] if family == "mallows" else t} for w, (c, t) in zip(weights, truth)]
        data = tool.sample(tool.model(kind, parts, items), ballots, seed, length)
        model = tool.fit(data, "--family", family, *(["-k", groups] if family != "dpm" else []), *flags)
        found = model["components"]
        if family == "dpm" and len(found) < groups:
            return {}
        order = matched([c for c, _ in truth], [one["consensus"] for one in found[:groups]], kendall)
        inside = {"theta": [], "weights": [], "places": []}
        for k, at in enumerate(order):
            one = found[at]
            if (places := one.get("place_intervals")) is not None:
                inside["places"] += [covers(places["low"][j], truth[k][0].index(item) + 1, places["high"][j])
                                     for j, item in enumerate(one["consensus"][:len(places["low"])])]
            listed = one["theta"] if isinstance(one["theta"], list) else [one["theta"]]
            errors, ends = one.get("theta_standard_errors"), one.get("theta_intervals")
            as_list = lambda value: value if isinstance(value, list) else [value]
            for j, value in enumerate(listed):
                if ends is not None:
                    low, high = as_list(ends["low"]), as_list(ends["high"])
                    if j < len(low) and low[j] is not None:
                        inside["theta"].append(covers(low[j], truth[k][1][j], high[j]))
                elif errors is not None and as_list(errors)[j] is not None:
                    inside["theta"].append(normal(value, as_list(errors)[j], truth[k][1][j]))
        if groups > 1:
            inside["weights"] = weight_covered(found[order[0]], weights[0])
        return {name: values for name, values in inside.items() if values}

    return study


def pl_ties(tool, seed):
    """Strength of ties of two, and utilities beside it."""
    draw = random.Random(seed)
    items, strength = 5, draw.uniform(0.1, 0.6)
    utilities = centered([draw.gauss(0, 1) for _ in range(items)])
    data = tool.sample(tool.model("pl", [{"weight": 1.0, "utilities": utilities}], items, ties={"2": strength}), 150, seed)
    model = tool.fit(data, "-k", 1)
    one = model["components"][0]
    return {"ties": [normal(model["ties"]["2"], model["ties_standard_errors"]["2"], strength)],
            "utilities": [normal(u, e, t) for u, e, t in zip(one["utilities"], one["standard_errors"], utilities) if e is not None]}


def pl_dampening(tool, seed):
    """Exponents of later choices (Benter): the truth is 1, 0.8, 0.6, 0.4."""
    draw = random.Random(seed)
    items, stages, exponents = 6, 4, [1.0, 0.8, 0.6, 0.4]
    utilities = centered([draw.gauss(0, 1) for _ in range(items)])
    lines = []
    for _ in range(300):
        left, ballot = list(range(items)), []
        for stage in range(stages):
            pick = draw.choices(left, [math.exp(exponents[stage] * utilities[i]) for i in left])[0]
            left.remove(pick)
            ballot.append(pick)
        lines.append("1: " + ",".join(str(item + 1) for item in ballot))
    head = [f"# NUMBER ALTERNATIVES: {items}"] + [f"# ALTERNATIVE NAME {i + 1}: i{i}" for i in range(items)]
    model = tool.fit(tool.path("data.soi", "\n".join(head + lines) + "\n"), "-k", 1, "--dampening", "on", "--standard-errors", "on")
    found, errors = model["components"][0]["dampening"], model.get("dampening_standard_errors", [])
    inside = [normal(a, e, t) for a, e, t in zip(found, errors, exponents[1:]) if e is not None]
    return {"exponents": inside} if inside else {}


def pl_items(tool, seed):
    """Utilities explained by two features of the items."""
    draw = random.Random(seed)
    items, slopes = 6, [draw.gauss(0, 0.7), draw.gauss(0, 0.7)]
    table = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(items)]
    utilities = centered([sum(a * b for a, b in zip(slopes, row)) for row in table])
    data = tool.sample(tool.model("pl", [{"weight": 1.0, "utilities": utilities}], items), 100, seed)
    features = tool.path("items.csv", "name,x,y\n" + "".join(f"i{i},{row[0]!r},{row[1]!r}\n" for i, row in enumerate(table)))
    told = tool.fit(data, "-k", 1, "--items", features, "--utilities", "x + y", "--standard-errors", "on")["item_utilities"]
    return {"coefficients": [normal(c, e, t) for c, e, t in zip(told["coefficients"][0], told["standard_errors"][0], slopes)]}


def mallows_pairs(tool, seed):
    """Comparisons of two of five items: theta from the exact probability of a pair."""
    draw = random.Random(seed)
    items, theta = 5, draw.uniform(0.4, 1.4)
    center = list(range(items))
    draw.shuffle(center)
    lines = []
    for _ in range(300):
        order = []  # repeated insertion
        for j, item in enumerate(center):
            place = draw.choices(range(j + 1), [math.exp(-theta * (j - p)) for p in range(j + 1)])[0]
            order.insert(place, item)
        pair = sorted(draw.sample(range(items), 2))
        lines.append("1: " + ",".join(str(order[p] + 1) for p in pair))
    head = [f"# NUMBER ALTERNATIVES: {items}"] + [f"# ALTERNATIVE NAME {i + 1}: i{i}" for i in range(items)]
    one = tool.fit(tool.path("data.soi", "\n".join(head + lines) + "\n"), "--family", "mallows", "-k", 1, "--unranked", "absent",
                   "--standard-errors", "on")["components"][0]
    error = one.get("theta_standard_errors")
    return {"theta": [normal(one["theta"], error, theta)]} if error is not None else {}


def membership(*flags):
    """Two groups of opposite taste over six items, a voter lists three; log odds of the second -0.4 + 0.8 age - 1.0 west."""

    def study(tool, seed):
        draw = random.Random(seed)
        truth, taste, names = {"(intercept)": -0.4, "age": 0.8, "town=west": -1.0}, [1.5, 0.9, 0.3, -0.3, -0.9, -1.5], "abcdef"
        lines = ["age,town,rank1,rank2,rank3"]
        for _ in range(400):
            age, west = draw.gauss(0, 1), draw.random() < 0.4
            odds = truth["(intercept)"] + truth["age"] * age + truth["town=west"] * west
            sign = -1 if draw.random() < 1 / (1 + math.exp(-odds)) else 1
            left, order = list(range(6)), []
            for _ in range(3):
                pick = draw.choices(left, [math.exp(sign * taste[i]) for i in left])[0]
                left.remove(pick)
                order.append(names[pick])
            lines.append(f"{age:.6f},{'west' if west else 'east'}," + ",".join(order))
        model = tool.fit(tool.path("data.csv", "\n".join(lines) + "\n"), "-k", 2, "--membership", "age + town", "--restarts", 2, *flags)
        told, one = model["membership"], model["components"][0]
        place = {name: i for i, name in enumerate(model["items"])}
        sign = 1 if one["utilities"][place["a"]] > one["utilities"][place["f"]] else -1
        if "standard_errors" not in told:
            return {}
        return {"membership effects": [normal(sign * value, error, truth[name])
                                       for name, value, error in zip(told["columns"], told["coefficients"][1], told["standard_errors"][1])]}

    return study


# --- simulation-based calibration ---------------------------------------------------------------------------------------------------

def rank_of(truth, draws, tie):
    """Rank among the draws, ties broken at random."""
    same = sum(one == truth for one in draws)
    return sum(one < truth for one in draws) + tie.randint(0, same)


def pl_gibbs(groups, items, ballots, length=0):
    def study(tool, seed):
        draw = random.Random(seed)
        shape = 2.0
        total = [draw.gammavariate(1.0, 1.0) for _ in range(groups)]
        parts = [{"weight": one / sum(total), "utilities": centered([math.log(draw.gammavariate(shape, 1.0)) for _ in range(items)])}
                 for one in total]
        truth = tool.model("pl", parts, items, unranked="last")
        data = tool.sample(truth, ballots, seed, length)
        step = 60 if groups == 1 else 100
        model = tool.fit(data, "-k", groups, "--method", "gibbs", "--prior-shape", shape, "--prior-rate", 1, "--prior-weight", 1, "--sweeps",
                         step * (DRAWS + 2), "--burnin", 2 * step, "--seed", seed)
        loglik = json.loads(tool.run("score", truth, data, "--json"))["loglik"]
        trace = model["posterior"]["traces"][0]["loglik"]
        stride = len(trace) / DRAWS
        ranks = {"log-likelihood": rank_of(loglik, [trace[int((i + 1) * stride) - 1] for i in range(DRAWS)], draw)}
        if groups == 1:
            ends = model["components"][0]["utility_intervals"]
            return {"ranks": ranks, "utilities": [covers(ends["low"][i], parts[0]["utilities"][i], ends["high"][i]) for i in range(items)
                                                  if ends["low"][i] is not None]}
        return {"ranks": ranks}

    return study


def pl_credible(ballots):
    """Credible intervals of two opposite groups, so far apart that the chain does not exchange them; the prior is flat by comparison."""

    def study(tool, seed):
        return pl_coverage(2, 5, ballots, 0, 2.0, ("--method", "gibbs", "--sweeps", 1500, "--burnin", 300, "--seed", seed))(tool, seed)

    return study


def table_data(draw, rows):
    return [[draw.choice("pq"), draw.choice("st")] for _ in range(rows)]


def regress(tool, cells, labels, *flags):
    text = "u,v,y\n" + "".join(f"{u},{v},{y}\n" for (u, v), y in zip(cells, labels))
    out = tool.path("model.json")
    tool.run("regress", tool.path("data.csv", text), "--target", "y", "--chains", 1, "--draws", DRAWS, "--out", out, "-q", "--threads", 1, *flags)
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def regression_gibbs(tool, seed):
    draw = random.Random(seed)
    shape, rows = 1.5, 40
    names = ["u=p", "u=q", "v=s", "v=t", "offset"]
    while True:  # all classes and levels occur: an event of the data, which leaves ranks uniform
        cells = table_data(draw, rows)
        lam = {c: [draw.gammavariate(shape, 1.0) for _ in names] for c in "AB"}
        w = [[u == "p", u == "q", v == "s", v == "t", 1] for u, v in cells]
        labels = []
        for row in w:
            strength = {c: sum(x * y for x, y in zip(row, lam[c])) for c in "AB"}
            labels.append("A" if draw.random() * sum(strength.values()) < strength["A"] else "B")
        if len(set(labels)) == 2 and all(len({row[j] for row in cells}) == 2 for j in (0, 1)):
            break
    step = 40
    model = regress(tool, cells, labels, "--method", "gibbs", "--a", shape, "--b", 1, "--sweeps", step * (DRAWS + 5), "--burnin", 5 * step, "--thin",
                    step, "--seed", seed)
    assert [one["name"] for one in model["features"]] == names and model["classes"] == ["A", "B"]

    def loglik(weights):
        total = 0.0
        for row, label in zip(w, labels):
            strength = [sum(x * y for x, y in zip(row, one)) for one in weights]
            total += math.log(strength["AB".index(label)] / sum(strength))
        return total

    whole = sum(map(sum, lam.values()))
    truth = [[x / whole for x in lam[c]] for c in "AB"]
    return {"ranks": {"log-likelihood": rank_of(loglik(truth), [loglik(one) for one in model["draws"]], draw),
                      "first coefficient": rank_of(truth[0][0], [one[0][0] / sum(map(sum, one)) for one in model["draws"]], draw)}}


def logit_lasso(tool, seed):
    draw = random.Random(seed)
    rows, variance = 40, 4.0
    while True:
        cells = table_data(draw, rows)
        theta = draw.gammavariate(1.0, 1.0)
        beta = [draw.gauss(0, 1) * math.sqrt(draw.expovariate(1.0) * 2.0 / theta) for _ in range(4)] + [draw.gauss(0, 1) * math.sqrt(variance)]
        x = [[u == "p", u == "q", v == "s", v == "t", 1] for u, v in cells]
        eta = [sum(a * b for a, b in zip(row, beta)) for row in x]
        labels = ["A" if draw.random() < 1.0 / (1.0 + math.exp(-max(-700, min(700, e)))) else "B" for e in eta]
        if len(set(labels)) == 2 and all(len({row[j] for row in cells}) == 2 for j in (0, 1)):
            break
    step = 80
    model = regress(tool, cells, labels, "--method", "logit-lasso", "--lasso-shape", 1, "--lasso-rate", 1, "--intercept-variance", variance, "--sweeps",
                    step * (DRAWS + 5), "--burnin", 5 * step, "--thin", step, "--seed", seed)

    def loglik(weights):
        total = 0.0
        for row, label in zip(x, labels):
            e = sum(a * b for a, b in zip(row, weights))
            e = e if label == "A" else -e
            total -= math.log1p(math.exp(-e)) if e > -30 else -e
        return total

    return {"ranks": {"log-likelihood": rank_of(loglik(beta), [loglik(one[0]) for one in model["draws"]], draw),
                      "first coefficient": rank_of(beta[0], [one[0][0] for one in model["draws"]], draw)}}


def draw_theta(m, draw, strength=1.0, mean=1.0):
    """From exp(-nu (r theta + log Z_m(theta))), by its grid of values."""
    grid = [0.005 + 0.01 * i for i in range(2500)]
    mass = [math.exp(-strength * (mean * t + math.log(sum(math.exp(-t * s) for s in range(m))))) for t in grid]
    left = draw.random() * sum(mass)
    for t, one in zip(grid, mass):
        left -= one
        if left < 0.0:
            return t + 0.01 * (draw.random() - 0.5)
    return grid[-1]


def dpm(method, split_merge):
    def study(tool, seed):
        draw = random.Random(seed)
        items, length, ballots, alpha = 4, 2, 8, 1.0
        clusters, lines = [], []
        for _ in range(ballots):
            sizes = [one[0] for one in clusters] + [alpha]
            pick = draw.choices(range(len(sizes)), sizes)[0]
            if pick == len(clusters):
                center = list(range(items))
                draw.shuffle(center)
                clusters.append([0, center, [draw_theta(items - j, draw) for j in range(length)]])
            clusters[pick][0] += 1
            left, ballot = clusters[pick][1][:], []
            for theta in clusters[pick][2]:
                ballot.append(left.pop(draw.choices(range(len(left)), [math.exp(-theta * s) for s in range(len(left))])[0]))
            lines.append("1: " + ",".join(str(item + 1) for item in ballot))
        head = [f"# NUMBER ALTERNATIVES: {items}"] + [f"# ALTERNATIVE NAME {i + 1}: i{i}" for i in range(items)]
        data = tool.path("data.soi", "\n".join(head + lines) + "\n")
        step, out = 15, tool.path("draws.csv")
        tool.fit(data, "--family", "dpm", "--method", method, "--alpha", alpha, "--chains", 1, "--sweeps", step * (DRAWS + 5), "--burnin", 5 * step,
                 "--thin", step, "--draws", out, "--predictive-draws", 0, "--split-merge", split_merge, "--seed", seed)
        with open(out, encoding="utf-8") as file:
            rows = [line.rstrip("\n").split(",") for line in file if not line.startswith("#")]
        column = lambda name: [float(row[rows[0].index(name)]) for row in rows[1:]]
        return {"ranks": {"number of groups": rank_of(float(len(clusters)), column("num_clusters"), draw),
                          "largest share": rank_of(max(one[0] for one in clusters) / ballots, column("largest_share"), draw)}}

    return study


# name: (what a reader is told, study, what the interval should cover)
STUDIES = {
    "pl-information": ("pl, one group, 5 items, 150 ballots: standard errors", pl_coverage(1, 5, 150), 0.95),
    "pl-information-top2": ("pl, one group, top 2 of 6, 250 ballots: standard errors", pl_coverage(1, 6, 250, 2), 0.95),
    "pl-information-two": ("pl, two opposite groups, 5 items, 500 ballots: standard errors", pl_coverage(2, 5, 500, 0, 2.0, ("--restarts", 3)), 0.95),
    "pl-information-close": ("pl, two groups that are hard to tell apart: standard errors", pl_coverage(2, 5, 500, 0, 0.7, ("--restarts", 3)), 0.95),
    "pl-bootstrap-parametric": ("pl, one group, 5 items, 150 ballots: parametric bootstrap", pl_coverage(1, 5, 150, 0, 0.0, ("--bootstrap", 199)), 0.95),
    "pl-bootstrap-nonparametric": ("pl, one group, 5 items, 150 ballots: nonparametric bootstrap",
                                   pl_coverage(1, 5, 150, 0, 0.0, ("--bootstrap", 199, "--bootstrap-kind", "nonparametric")), 0.95),
    "pl-bootstrap-two-parametric": ("pl, two opposite groups, 5 items, 500 ballots: parametric bootstrap",
                                    pl_coverage(2, 5, 500, 0, 2.0, ("--restarts", 3, "--bootstrap", 199)), 0.95),
    "pl-bootstrap-two-nonparametric": ("pl, two opposite groups, 5 items, 500 ballots: nonparametric bootstrap",
                                       pl_coverage(2, 5, 500, 0, 2.0, ("--restarts", 3, "--bootstrap", 199, "--bootstrap-kind", "nonparametric")), 0.95),
    "pl-bootstrap-close-parametric": ("pl, two groups that are hard to tell apart: parametric bootstrap",
                                      pl_coverage(2, 5, 500, 0, 0.7, ("--restarts", 3, "--bootstrap", 199)), 0.95),
    "pl-bootstrap-close-nonparametric": ("pl, two groups that are hard to tell apart: nonparametric bootstrap",
                                         pl_coverage(2, 5, 500, 0, 0.7, ("--restarts", 3, "--bootstrap", 199, "--bootstrap-kind", "nonparametric")), 0.95),
    "pl-information-two-200": ("pl, two opposite groups, 5 items, 200 ballots: standard errors",
                               pl_coverage(2, 5, 200, 0, 2.0, ("--restarts", 3)), 0.95),
    "pl-credible": ("pl gibbs, two opposite groups, 5 items, 200 ballots: credible intervals", pl_credible(200), 0.95),
    "pl-credible-2000": ("pl gibbs, two opposite groups, 5 items, 2000 ballots: credible intervals", pl_credible(2000), 0.95),
    "pl-ties": ("pl with ties, 5 items, 150 ballots: standard errors", pl_ties, 0.95),
    "pl-dampening": ("pl with exponents, 4 choices of 6 items, 300 ballots: standard errors", pl_dampening, 0.95),
    "pl-items": ("pl, two features of 6 items, 100 ballots: standard errors", pl_items, 0.95),
    "membership": ("pl, two groups with covariates, 3 choices of 6 items, 400 voters: standard errors", membership(), 0.95),
    "mallows-information": ("mallows, one group, 6 items, 100 ballots: standard errors", mallows_coverage("mallows", 1, 6, 100), 0.95),
    "mallows-information-top3": ("mallows, one group, top 3 of 6, 100 ballots: standard errors", mallows_coverage("mallows", 1, 6, 100, 3), 0.95),
    "mallows-information-two": ("mallows, two opposite groups, 6 items, 300 ballots: standard errors",
                                mallows_coverage("mallows", 2, 6, 300, 0, ("--restarts", 3)), 0.95),
    "mallows-pairs": ("mallows, one group, 300 pairs of 5 items: standard errors", mallows_pairs, 0.95),
    "mallows-bootstrap-two": ("mallows, two opposite groups, 6 items, 300 ballots: bootstrap",
                              mallows_coverage("mallows", 2, 6, 300, 0, ("--restarts", 3, "--bootstrap", 199)), 0.95),
    "gmallows-information-two": ("gmallows, two opposite groups, 6 items, 500 ballots: standard errors",
                                 mallows_coverage("gmallows", 2, 6, 500, 0, ("--restarts", 3)), 0.95),
    "mallows-bootstrap": ("mallows, one group, 6 items, 100 ballots: bootstrap", mallows_coverage("mallows", 1, 6, 100, 0, ("--bootstrap", 199)), 0.95),
    "gmallows-information": ("gmallows, one group, 6 items, 200 ballots: standard errors", mallows_coverage("gmallows", 1, 6, 200), 0.95),
    "dpm-theta": ("dpm, one true group, 5 items, 40 ballots: 90 % credible intervals of theta",
                  mallows_coverage("dpm", 1, 5, 40, 0, ("--sweeps", 400, "--burnin", 100, "--predictive-draws", 0)), 0.9),
    "dpm-theta-prior": ("dpm, one true group with theta from the prior, 5 items, 40 ballots: 90 % credible intervals of theta",
                        mallows_coverage("dpm", 1, 5, 40, 0, ("--sweeps", 400, "--burnin", 100, "--predictive-draws", 0), True), 0.9),
    "pl-gibbs-1": ("pl gibbs, one group, 4 items, 40 ballots", pl_gibbs(1, 4, 40), 0.95),
    "pl-gibbs-1-top2": ("pl gibbs, one group, top 2 of 5, 40 ballots", pl_gibbs(1, 5, 40, 2), 0.95),
    "pl-gibbs-2": ("pl gibbs, two groups, 4 items, 20 ballots", pl_gibbs(2, 4, 20), 0.95),
    "pl-gibbs-2-top2": ("pl gibbs, two groups, top 2 of 5, 20 ballots", pl_gibbs(2, 5, 20, 2), 0.95),
    "pl-gibbs-3": ("pl gibbs, three groups, 4 items, 20 ballots", pl_gibbs(3, 4, 20), 0.95),
    "regress-gibbs": ("regress gibbs, two classes, five features, 40 rows", regression_gibbs, None),
    "regress-logit-lasso": ("regress logit-lasso, two classes, four features, 40 rows", logit_lasso, None),
    **{f"dpm-{method}{'-split-merge' if moves else ''}": (f"dpm {method}{' with split-merge' if moves else ''}, top 2 of 4, 8 ballots", dpm(method, moves), None)
       for method in ("exact-gibbs", "beta-gibbs", "slice-gibbs") for moves in (0, 2)},
}

#!/usr/bin/env python3
"""Every family and method on data that hold next to nothing: it ends within a bound with numbers or with an error that says why.

Usage: test_degenerate.py PATH-TO-CAUCUS SOURCE-DIR [WORDS...], where only cases whose name contains all WORDS are run

Of all cases every fourth is run, so that each method and each data set is met; CAUCUS_WHOLE=1 runs them all, and those with 300 items, where a fit
takes many seconds.

"""
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import jsonschema

CAUCUS, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WORDS = sys.argv[3:]
BOUND = 30.0  # CPU seconds of any one fit with its report, all cores together; three ballots of 300 items are the longest (em-gmm: 22)
with open(os.path.join(SOURCE, "docs", "model-file.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


def soi(ballots, items):
    head = [f"# NUMBER ALTERNATIVES: {items}"] + [f"# ALTERNATIVE NAME {i + 1}: item {i + 1}" for i in range(items)]
    return "\n".join(head + ballots) + "\n"


def shuffled(n, seed):
    order = list(range(1, n + 1))
    random.Random(seed).shuffle(order)
    return ",".join(map(str, order))


LARGE = "three ballots of 300 items"
# name: (text, flags, groups asked for)
DATA = {
    "identical": (soi(["20: 1,2,3,4"], 4), [], 2),
    "opposite": (soi(["10: 1,2,3,4", "10: 4,3,2,1"], 4), [], 2),
    "disconnected": (soi(["9: 1,2", "3: 2,1", "5: 3,4", "4: 4,3"], 4), ["--unranked", "absent"], 2),
    "disconnected, many groups": (soi(["9: 1,2", "5: 3,4", "2: 5,6"], 6), ["--unranked", "absent"], 10),
    "all tied": (soi(["7: {1,2,3,4}"], 4), [], 2),
    "one item": (soi(["5: 1"], 1), [], 1),
    "two items": (soi(["5: 1,2"], 2), [], 2),
    "one ballot": (soi(["1: 2,1,3"], 3), [], 2),
    "more groups than ballots": (soi(["1: 1,2,3", "1: 3,1,2"], 3), [], 5),
    "first places only": (soi(["3: 1", "2: 2"], 5), [], 2),
    "an item nobody lists": (soi(["3: 1,2", "4: 2,1"], 3), [], 2),
    "tiny weights": (soi(["1e-12: 1,2,3,4", "2e-12: 2,1,3,4", "1e-12: 4,3,2,1"], 4), [], 2),
    "huge weight": (soi(["1000000000000000: 1,2,3,4", "1: 2,1,4,3", "3: 4,3,2,1"], 4), [], 2),
    LARGE: (soi([f"1: {shuffled(300, seed)}" for seed in range(3)], 300), [], 2),
}
SHORT = {"iterations": 50, "sweeps": 40, "burnin": 10, "chains": 2}
ODD = re.compile(r"(?<![a-z])-?(nan|inf)(?![a-z])", re.IGNORECASE)


def families():
    return json.loads(subprocess.run([CAUCUS, "families", "--json"], capture_output=True, text=True, check=True).stdout)["families"]


def cases():
    """(name, data set, flags): all methods, and what has an algorithm of its own besides."""
    for family in families():
        options = {option["name"] for option in family["options"]}
        for method in family["methods"]:
            flags = ["--family", family["name"]] + (["--method", method] if "method" in options else [])
            for data in DATA:
                yield f"{family['name']} {method}: {data}", data, flags, options
    for data in DATA:
        for distance in ("spearman", "footrule", "hamming", "cayley", "ulam"):
            yield f"mallows {distance}: {data}", data, ["--family", "mallows", "--distance", distance], {"components", "restarts"}
        for family, bootstrap in (("pl", "parametric"), ("pl", "nonparametric"), ("mallows", ""), ("gmallows", "")):
            flags = ["--family", family, "--bootstrap", "10"] + (["--bootstrap-kind", bootstrap] if bootstrap else [])
            yield f"{family} bootstrap {bootstrap}: {data}", data, flags, {"components", "restarts"}


def chosen_cases():
    every = list(cases())
    if WORDS or os.environ.get("CAUCUS_WHOLE"):
        return [case for case in every if all(word in case[0] for word in WORDS)]
    small = [case for case in every if case[1] != LARGE]  # 13 data sets by methods, then 9 variants by data sets: four divides neither
    return small[::4]


class Degenerate(unittest.TestCase):
    def one(self, folder, data, flags, options):
        text, reading, groups = DATA[data]
        path = os.path.join(folder, "votes.soi")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        command = [CAUCUS, "fit", path, *flags, *reading, "--json", "--report", os.path.join(folder, "page.json")]
        if "components" in options:
            command += ["-k", "2" if "tensor" in flags else str(groups)]
        for name, value in SHORT.items():
            command += [f"--{name}", str(value)] if name in options else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=6 * BOUND)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertLess(seconds, BOUND, "slow")
        self.assertIn(result.returncode, (0, 65), result.stderr)
        if result.returncode == 65:
            self.assertGreater(len(result.stderr), 30)
            return seconds
        model = json.loads(result.stdout)
        VALIDATOR.validate(model)
        self.assertIsNotNone(model["fit"]["loglik"])
        with open(os.path.join(folder, "page.json"), encoding="utf-8") as page:
            self.assertIsNone(ODD.search(re.sub(r'"digest": *"[^"]*"', "", page.read())))
        self.assertIsNone(ODD.search(result.stderr))
        return seconds

    def test_every_family_and_method(self):
        slowest = (0.0, "")
        for name, data, flags, options in chosen_cases():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                slowest = max(slowest, (self.one(folder, data, flags, options), name))
        print("slowest: %.1f CPU seconds, %s" % slowest)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""Several rankings by one voter, and what is known of the voters: read, fitted, assigned, scored and sampled, checked by hand.

Usage: test_voters.py PATH-TO-CAUCUS
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

CAUCUS = os.path.abspath(sys.argv[1])
ITEMS = ["a", "b", "c", "d"]
UTILITIES = [[1.5, 0.5, -0.5, -1.5], [-1.5, -0.5, 0.5, 1.5]]
WEIGHTS = [0.6, 0.4]
MODEL = {
    "schema": "caucus.model/1",
    "family": "pl",
    "items": ITEMS,
    "unranked": "absent",
    "components": [{"weight": w, "utilities": u} for w, u in zip(WEIGHTS, UTILITIES)],
}


def caucus(*args, stdin=None):
    return subprocess.run([CAUCUS, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


def voter_joint(battles):
    """log weight + sum of log win probabilities, for each group: by hand."""
    joint = []
    for weight, utilities in zip(WEIGHTS, UTILITIES):
        u = dict(zip(ITEMS, utilities))
        joint.append(math.log(weight) + sum(-math.log1p(math.exp(u[loser] - u[winner])) for winner, loser in battles))
    return joint


class Voters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def ok(self, *args, **kwargs):
        result = caucus(*args, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, code, words, *args):
        result = caucus(*args)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(words, result.stderr)

    def battles(self, judges=30, each=8):
        """Judges of two kinds, found in the ages of their table."""
        draw = random.Random(4)
        lines, ages, cast = ["judge,model_a,model_b,winner"], ["judge,age,town"], {}
        for j in range(judges):
            kind = j % 2
            name = f"j{j:02d}"
            ages.append(f"{name},{20 + 30 * kind + draw.randrange(20)},{draw.choice(['north', 'south'])}")
            u = dict(zip(ITEMS, UTILITIES[kind]))
            for _ in range(each):
                first, second = draw.sample(ITEMS, 2)
                wins = draw.random() < 1 / (1 + math.exp(u[second] - u[first]))
                lines.append(f"{name},{first},{second},{'model_a' if wins else 'model_b'}")
                cast.setdefault(name, []).append((first, second) if wins else (second, first))
        return self.path("b.csv", "\n".join(lines) + "\n"), self.path("v.csv", "\n".join(ages) + "\n"), cast

    def test_info_counts_them(self):
        data, table, cast = self.battles()
        info = json.loads(self.ok("info", data, "--voter", "judge", "--voters", table, "--json").stdout)
        self.assertEqual(info["num_voters"], 30)
        self.assertEqual(info["num_rankings"], 240)
        self.assertEqual(info["rankings_per_voter"], {"min": 8, "mean": 8.0, "max": 8})
        self.assertEqual(info["voter_covariates"], ["age", "town"])
        self.assertNotIn("num_voters", json.loads(self.ok("info", data, "--json").stdout))
        self.assertIn("cast by 30 voters", self.ok("info", data, "--voter", "judge").stdout)

    def test_assign_and_score_speak_of_voters(self):
        data, table, cast = self.battles()
        model = self.path("m.json", MODEL)
        out = self.path("members.csv")
        self.ok("assign", model, data, "--voter", "judge", "--voters", table, "--out", out)
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["voter"] for row in rows], list(cast))
        self.assertEqual(list(rows[0])[:5], ["voter", "weight", "label", "p1", "p2"])
        self.assertIn("age", rows[0])
        loglik = 0.0
        for row in rows:
            joint = voter_joint(cast[row["voter"]])
            total = math.log(sum(map(math.exp, joint)))
            loglik += total
            for k in range(2):
                self.assertAlmostEqual(float(row[f"p{k + 1}"]), math.exp(joint[k] - total), places=9)
        scored = json.loads(self.ok("score", model, data, "--voter", "judge", "--json").stdout)
        self.assertAlmostEqual(scored["loglik"], loglik, places=8)
        self.assertEqual(scored["num_voters"], 30)
        self.assertEqual(len(scored["voters"]), 30)
        by = self.ok("assign", model, data, "--voter", "judge", "--voters", table, "--by", "town").stdout
        self.assertIn("Who is in each group, by town", by)

    def test_fit_finds_the_kinds_of_judges_and_remembers_the_column(self):
        data, table, cast = self.battles()
        model = self.path("m.json")
        fitted = json.loads(self.ok("fit", data, "--voter", "judge", "-k", 2, "--out", model, "--json").stdout)
        self.assertEqual(fitted["fit"]["num_voters"], 30)
        self.assertEqual(fitted["reading"]["voter"], "judge")
        assigned = json.loads(self.ok("assign", model, data, "--json").stdout)
        labels = {one["voter"]: one["label"] for one in assigned["voters"]}
        kinds = [{labels[f"j{j:02d}"] for j in range(first, 30, 2)} for first in (0, 1)]
        self.assertEqual([len(kind) for kind in kinds], [1, 1])
        self.assertNotEqual(*kinds)
        # The BIC counts voters.
        p, ll = fitted["fit"]["num_parameters"], fitted["fit"]["loglik"]
        self.assertAlmostEqual(fitted["fit"]["bic"], -2 * ll + p * math.log(30), places=6)

    def test_select_splits_by_voter(self):
        data, table, cast = self.battles(judges=60, each=20)
        grouped = json.loads(self.ok("select", data, "--voter", "judge", "--json").stdout)
        self.assertEqual(grouped["chosen_k"], 2)
        alone = json.loads(self.ok("select", data, "--json").stdout)
        self.assertEqual(alone["chosen_k"], 1)

    def test_membership_says_what_puts_a_judge_into_a_group(self):
        data, table, cast = self.battles(judges=80)
        # Ages of the two kinds overlap a little, so that the coefficient is finite.
        model = self.path("m.json")
        run = self.ok("fit", data, "--voter", "judge", "--voters", table, "-k", 2, "--membership", "age + town", "--out", model)
        self.assertIn("What age says of a voter's group", run.stdout)
        with open(model, encoding="utf-8") as stored:
            file = json.load(stored)
        membership = file["membership"]
        self.assertEqual(membership["formula"], "age + town")
        self.assertEqual([test["term"] for test in membership["tests"]], ["age", "town"])
        self.assertLess(membership["tests"][0]["p_value"], 1e-3)
        # A new voter, of whom the age is known alone: the group of that age.
        row = json.loads(self.ok("predict", model, "--row", "age=25,town=north", "--json").stdout)["rows"][0]
        old = json.loads(self.ok("predict", model, "--row", "age=65,town=north", "--json").stdout)["rows"][0]
        self.assertNotEqual(row["label"], old["label"])
        for one in (row, old):
            self.assertAlmostEqual(sum(one["p"]), 1.0)
            self.assertTrue(all(low <= p <= high for low, p, high in zip(one["p_low"], one["p"], one["p_high"])))
        # By hand from the coefficients of the file.
        names = membership["columns"]
        x = [1.0] + [65.0 if name == "age" else 1.0 if name == "town=north" else 0.0 for name in names[1:]]
        odds = math.exp(sum(c * value for c, value in zip(membership["coefficients"][1], x)))
        self.assertAlmostEqual(old["p"][1], odds / (1 + odds), places=9)
        scored = json.loads(self.ok("score", model, data, "--voter", "judge", "--voters", table, "--json").stdout)
        self.assertAlmostEqual(scored["loglik"], file["fit"]["loglik"], places=5)

    def test_one_battle_each_shows_one_group(self):
        """Two kinds of judges: with one battle each nothing tells them apart, and `select` says one group."""
        data, table, cast = self.battles(judges=600, each=1)
        chosen = json.loads(self.ok("select", data, "--voter", "judge", "--json").stdout)
        self.assertEqual(chosen["chosen_k"], 1)

    def test_sample_draws_voters(self):
        model = self.path("m.json", MODEL)
        data, labels = self.path("d.jsonl"), self.path("l.csv")
        self.ok("sample", model, "-n", 200, "--per-voter", "15..25", "--menu", 2, "--out", data, "--labels", labels)
        info = json.loads(self.ok("info", data, "--json").stdout)
        self.assertEqual(info["num_voters"], 200)
        self.assertEqual((info["min_length"], info["max_length"], info["unranked"]), (2, 2, "absent"))
        per = info["rankings_per_voter"]
        self.assertTrue(15 <= per["min"] <= per["mean"] <= per["max"] <= 25)
        assigned = json.loads(self.ok("assign", model, data, "--truth", labels, "--json").stdout)
        self.assertLess(assigned["truth"]["misclassification"], 0.05)
        self.refused(64, "--menu 9 is outside [2, 4]", "sample", model, "-n", 2, "--menu", 9)
        self.refused(64, "--per-voter", "sample", model, "-n", 2, "--per-voter", "0")

    def test_convert_keeps_them(self):
        data, table, cast = self.battles(judges=4)
        for name in ("x.jsonl", "x.csv"):
            out = self.path(name)
            self.ok("convert", data, out, "--voter", "judge")
            info = json.loads(self.ok("info", out, "--voter", "judge", "--json").stdout)
            self.assertEqual(info["num_voters"], 4)
            self.assertEqual(info["num_rankings"], 32)

    def test_families_that_group_rankings_refuse(self):
        data = self.path("r.csv", "judge,rank1,rank2,rank3\nx,a,b,c\nx,b,a,c\ny,c,b,a\ny,c,a,b\n")
        for family in ("m4", "dpm", "kde", "ebms"):
            self.refused(65, "several rankings by one voter", "fit", data, "--voter", "judge", "--family", family)
        for family in ("mallows", "gmallows"):
            self.ok("fit", data, "--voter", "judge", "--family", family, "-k", 2)

    def test_bad_input_is_named(self):
        data, table, cast = self.battles(judges=6)
        self.refused(64, "--voter juror", "info", data, "--voter", "juror")
        self.refused(64, "--voters needs --voter", "info", data, "--voters", table)
        self.refused(65, "no column 'judge'", "info", data, "--voter", "judge", "--voters", self.path("t.csv", "who,age\nj00,3\n"))
        twice = self.path("t2.csv", "judge,age\nj00,3\nj00,4\n")
        self.refused(65, "more than one line: 'j00'", "info", data, "--voter", "judge", "--voters", twice)
        some = self.path("t3.csv", "judge,age\nj00,3\nj01,4\nj02,5\nj03,7\nj04,9\n")
        known = ["fit", data, "--voter", "judge", "--voters", some, "-k", 2, "--membership", "age"]
        result = caucus(*known)
        self.assertEqual(result.returncode, 65, result.stderr)
        self.assertIn("1 of 6 voters are not in", result.stderr)
        self.assertIn("voter j05: 'age' is missing", result.stderr)
        self.assertIn("1 of 6 voters were left out", caucus(*known, "--missing", "drop").stderr)
        self.refused(64, "neither a column nor arithmetic", *known[:-1], "income")
        self.refused(64, "no option --membership", *known[:-4], "--family", "mallows", "--membership", "age")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

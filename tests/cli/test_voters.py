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
        # A town that was not there at the fit counts as the most common one, and that is said.
        unseen = self.ok("predict", model, "--row", "age=25,town=mars", "--json")
        self.assertIn("'mars' in column 'town'", unseen.stderr)
        said = unseen.stderr.split("counts as '")[1].split("'")[0]
        common = json.loads(self.ok("predict", model, "--row", f"age=25,town={said}", "--json").stdout)["rows"][0]
        self.assertEqual(json.loads(unseen.stdout)["rows"][0]["p"], common["p"])
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

    def items_table(self, names="abcd"):
        return self.path(f"items-{names}.csv", "name,price,origin\n" + "".join(f"{name},{1.5 * (ord(name) - 97)},{'far' if ord(name) % 2 else 'near'}\n" for name in names))

    def test_new_items_are_predicted(self):
        data, table, cast = self.battles(judges=60)
        model = self.path("m.json")
        fit = ["fit", data, "--voter", "judge", "-k", 2, "--utilities", "price + origin", "--out", model, "--items"]
        self.ok(*fit, self.items_table())
        with open(model, encoding="utf-8") as stored:
            file = json.load(stored)
        known = file["item_utilities"]
        row = json.loads(self.ok("predict", model, "--row", "price=2.5,origin=far", "--json").stdout)["rows"][0]
        # By hand from the coefficients of the file; an item of the model has the utility it had there.
        x = [2.5 - known["center"][0], (1.0 if known["columns"][1] == "origin=far" else 0.0) - known["center"][1]]
        for k in range(2):
            utility = sum(c * value for c, value in zip(known["coefficients"][k], x))
            variance = sum(known["covariances"][k][2 * i + j] * x[i] * x[j] for i in range(2) for j in range(2))
            self.assertAlmostEqual(row["utilities"][k], utility, places=9)
            self.assertAlmostEqual(row["high"][k] - row["low"][k], 2 * 1.959964 * math.sqrt(variance), places=9)
            others = file["components"][k]["utilities"]
            self.assertEqual(row["place"][k], 1 + sum(u > utility for u in others))
            self.assertAlmostEqual(row["first"][k], math.exp(utility) / (math.exp(utility) + sum(map(math.exp, others))), places=9)
        again = json.loads(self.ok("predict", model, self.items_table(), "--json").stdout)["rows"]
        for i, one in enumerate(again):
            for k in range(2):
                self.assertAlmostEqual(one["utilities"][k], file["components"][k]["utilities"][i], places=6)
        out = self.path("p.csv")
        self.ok("predict", model, self.items_table(), "--out", out)
        with open(out, encoding="utf-8", newline="") as written:
            self.assertEqual(list(csv.DictReader(written))[0].keys(), {"row", "u1", "u1_low", "u1_high", "place1", "first1", "u2", "u2_low", "u2_high", "place2", "first2"})
        unknown = caucus("predict", model, "--row", "price=2.5,origin=mars")
        self.assertEqual(unknown.returncode, 0)
        self.assertIn("'mars' in column 'origin'", unknown.stderr)
        self.refused(65, "the column 'origin'", "predict", model, "--row", "price=2.5")
        self.refused(65, "has no line for 1 of 4 items: 'd'", *fit, self.items_table("abc"))
        self.refused(65, "two lines for item 'a'", *fit, self.items_table("abcda"))
        self.refused(64, "go together", *fit[:-5], "--items", self.items_table())

    def test_everything_together(self):
        """Voters' covariates, items' covariates, dampening and a bootstrap of voters in one fit."""
        draw = random.Random(5)
        lines = ["judge,age,rank1,rank2,rank3"]
        for j in range(120):
            age = draw.randrange(20, 70)
            u = dict(zip(ITEMS, UTILITIES[draw.random() < 1 / (1 + math.exp((45 - age) / 6))]))
            for _ in range(3):
                left, order = list(ITEMS), []
                for stage in range(3):
                    pick = draw.choices(left, [math.exp((1, 0.6, 0.5)[stage] * u[i]) for i in left])[0]
                    left.remove(pick)
                    order.append(pick)
                lines.append(f"j{j:03d},{age}," + ",".join(order))
        data, model = self.path("p.csv", "\n".join(lines) + "\n"), self.path("m.json")
        for kind in ("parametric", "nonparametric"):
            self.ok("fit", data, "--voter", "judge", "-k", 2, "--membership", "age", "--dampening", "on", "--items", self.items_table(), "--utilities", "price", "--bootstrap", 8,
                    "--bootstrap-kind", kind, "--out", model)
            with open(model, encoding="utf-8") as stored:
                file = json.load(stored)
            self.assertLess(file["membership"]["tests"][0]["p_value"], 1e-3)
            for part in (file["membership_bootstrap"], file["item_utilities"]["bootstrap"]):
                self.assertTrue(all(low <= high for lows, highs in zip(part["low"], part["high"]) for low, high in zip(lows, highs)))
            self.assertEqual(len(file["components"][0]["dampening"]), 2)
        scored = json.loads(self.ok("score", model, data, "--json").stdout)
        self.assertAlmostEqual(scored["loglik"], file["fit"]["loglik"], places=6)
        # Which of the two a table is about is told by its columns.
        self.assertEqual(json.loads(self.ok("predict", model, "--row", "age=30", "--json").stdout)["predicted"], "voters")
        self.assertEqual(json.loads(self.ok("predict", model, "--row", "price=3", "--json").stdout)["predicted"], "items")
        self.refused(65, "leave out those that are not meant", "predict", model, "--row", "price=3,age=30")
        self.refused(65, "lacks 'age' to be a table of voters, and 'price' to be one of items", "predict", model, "--row", "town=x")
        self.refused(64, "free and the same at every stage", "fit", data, "--voter", "judge", "-k", 2, "--dampening", "on", "--method", "gibbs")

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
        for family in ("m4", "kde", "ebms"):
            self.refused(65, f"family {family} does not take several rankings by one voter; its groups are groups of rankings", "fit", data, "--voter", "judge", "--family", family)
        for method in ("em-cml", "em-gmm", "em-slsr", "spectral"):
            self.refused(65, f"method {method} does not take several rankings by one voter; its groups are groups of rankings", "fit", data, "--voter", "judge", "-k", 2, "--method", method)
        self.refused(65, "several rankings by one voter", "fit", data, "--voter", "judge", "-k", 2, "--family", "mallows", "--method", "tensor")
        for family in ("mallows", "gmallows"):
            self.ok("fit", data, "--voter", "judge", "--family", family, "-k", 2)

    def test_dpm_seats_voters(self):
        """Two kinds of panellists with six rankings each: the process finds both, and puts nobody into two groups."""
        draw = random.Random(9)
        lines = ["judge,rank1,rank2,rank3"]
        for j in range(40):
            u = dict(zip(ITEMS, UTILITIES[j % 2]))
            for _ in range(6):
                left, order = list(ITEMS), []
                for _ in range(3):
                    pick = draw.choices(left, [math.exp(u[i]) for i in left])[0]
                    left.remove(pick)
                    order.append(pick)
                lines.append(f"j{j:02d}," + ",".join(order))
        data = self.path("p.csv", "\n".join(lines) + "\n")
        model, labels = self.path("m.json"), self.path("l.csv")
        for method in ("exact-gibbs", "slice-gibbs", "beta-gibbs"):
            fitted = json.loads(self.ok("fit", data, "--voter", "judge", "--family", "dpm", "--method", method, "--sweeps", 300, "--burnin", 150, "--out", model,
                                        "--draw-assignments", labels, "--json").stdout)
            self.assertEqual(fitted["fit"]["num_voters"], 40)
            with open(labels, encoding="utf-8") as file:
                self.assertEqual(len(file.readline().strip().split(",")), 2 + 40)
            if method == "beta-gibbs":  # an approximation that is poor for three of four items
                continue
            assigned = json.loads(self.ok("assign", model, data, "--json").stdout)
            by_kind = [[one["label"] for one in assigned["voters"][first::2]] for first in (0, 1)]
            for own, other in (by_kind, by_kind[::-1]):
                most = max(set(own), key=own.count)
                self.assertGreaterEqual(own.count(most), 18)
                self.assertLessEqual(other.count(most), 2)
            scored = json.loads(self.ok("score", model, data, "--json").stdout)
            self.assertAlmostEqual(scored["loglik"], fitted["fit"]["loglik"], places=6)
            self.assertEqual(len(scored["voters"]), 40)
        # A checkpoint of ballots is none of voters.
        state = self.path("state")
        self.ok("fit", data, "--family", "dpm", "--sweeps", 20, "--burnin", 10, "--checkpoint", state)
        self.assertEqual(caucus("fit", data, "--voter", "judge", "--family", "dpm", "--sweeps", 20, "--burnin", 10, "--checkpoint", state).returncode, 65)

    def test_report_counts_voters(self):
        """Who belongs to groups are the judges: groups are counted in them, and a group's battles are those of its judges."""
        data, table, cast = self.battles(judges=40, each=15)
        model, page = self.path("m.json"), self.path("page.json")
        self.ok("fit", data, "--voter", "judge", "--voters", table, "-k", 2, "--membership", "age", "--out", model)
        self.refused(65, "--voters FILE", "report", model, "--data", data, "--out", page)
        if caucus("report", "--help").returncode != 0:
            self.skipTest("built without the report")
        self.ok("report", model, "--data", data, "--voters", table, "--out", page, "--tables", self.path("tables"))
        with open(page, encoding="utf-8") as file:
            report = json.load(file)["models"][0]
        assigned = self.ok("assign", model, data, "--voters", table, "--out", "-").stdout
        labels = {row["voter"]: int(row["label"]) for row in csv.DictReader(assigned.splitlines())}
        self.assertEqual(len(labels), 40)
        memberships = report["memberships"]
        self.assertEqual((memberships["of"], memberships["num_members"]), ("voters", 40))
        for k in range(2):
            judges = [name for name, label in labels.items() if label == k + 1]
            self.assertEqual(memberships["groups"][k]["count"], len(judges))
            battles = [battle for name in judges for battle in cast[name]]
            counted = report["counted"]["groups"][k]
            self.assertEqual(counted["num_rankings"], len(battles))
            self.assertEqual(counted["first"], [sum(winner == item for winner, _ in battles) for item in report["items"]])
        self.assertIn("The 40 voters fall into 2 groups.", report["sentences"])
        for caveat in report["caveats"]:
            self.assertNotIn("of the rankings belong", caveat)
        self.assertIn("of the voters", next(row["words"] for row in report["diagnostics"] if row["name"] == "Clear memberships"))
        with open(os.path.join(self.path("tables"), "memberships.csv"), encoding="utf-8") as file:
            self.assertEqual(file.readline().strip().split(",")[2], "voters")

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
        dropped = caucus(*known, "--missing", "drop", "--json")
        self.assertIn("1 of 6 voters were left out", dropped.stderr)
        self.assertEqual((json.loads(dropped.stdout)["fit"]["num_voters"], json.loads(dropped.stdout)["fit"]["num_rankings"]), (5, 40))
        single = self.path("t4.csv", "judge,age,same\n" + "".join(f"{name},{20 + i},x\n" for i, name in enumerate(cast)))
        only = caucus("fit", data, "--voter", "judge", "--voters", single, "-k", 2, "--membership", "same")
        self.assertEqual(only.returncode, 0, only.stderr)
        self.assertIn("'same' has one value only and tells nothing: it is left out", only.stderr)
        self.refused(64, "Dirichlet", *known, "--missing", "mean", "--method", "gibbs")
        self.refused(65, "em-cml does not take several rankings by one voter", *known, "--missing", "mean", "--method", "em-cml")
        self.refused(64, "neither a column nor arithmetic", *known[:-1], "income")
        self.refused(64, "no option --membership", *known[:-4], "--family", "mallows", "--membership", "age")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""A family that is one folder and one line in the list is everywhere: fit, select, compare, score, assign, sample, distance, report,
help and the table of options. Usage: test_new_family.py PATH-TO-CAUCUS-WITH-THE-FAMILY
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

CAUCUS = os.path.abspath(sys.argv[1])
NAME = "babington-smith"


class NewFamily(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        draw = random.Random(1)
        lines = ["# NUMBER ALTERNATIVES: 4"] + [f"# ALTERNATIVE NAME {i + 1}: {name}" for i, name in enumerate("abcd")]
        for _ in range(300):
            sign = 1 if draw.random() < 0.7 else -1
            order = sorted(range(4), key=lambda i: sign * i + draw.gauss(0, 1))
            lines.append("1: " + ",".join(str(i + 1) for i in order))
        cls.data = cls.path("votes.soc")
        with open(cls.data, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def ok(self, *args):
        result = subprocess.run([CAUCUS, *map(str, args)], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def fit(self, name="m.json", groups=2, seed=1):
        out = self.path(name)
        self.ok("fit", self.data, "--family", NAME, "-k", groups, "--seed", seed, "--out", out, "--quiet")
        return out

    def test_fit_score_assign_sample_check(self):
        model = self.fit()
        with open(model, encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written["family"], NAME)
        scored = json.loads(self.ok("score", model, self.data, "--json"))
        self.assertAlmostEqual(scored["loglik"], written["fit"]["loglik"], places=6)
        self.assertIn("Group 2", self.ok("fit", self.data, "--family", NAME, "-k", 2))
        self.ok("assign", model, self.data, "--out", self.path("members.csv"))
        self.ok("sample", model, "-n", 50, "--out", self.path("draws.soc"))
        self.ok("check", model, self.data, "--replicates", 19)

    def test_select_and_compare(self):
        selected = json.loads(self.ok("select", self.data, "--family", NAME, "-k", "1..2", "--criterion", "bic", "--json"))
        self.assertIn(selected["chosen_k"], (1, 2))
        compared = json.loads(self.ok("compare", self.data, "--families", f"{NAME}:2,{NAME}:1", "--folds", 2, "--json"))
        self.assertEqual([row["family"] for row in compared["table"]], [NAME, NAME])
        self.assertNotIn("refused", compared["table"][0])

    def test_distance_and_report(self):
        self.assertIn("pairs of items", self.ok("distance", self.fit("a.json"), self.fit("b.json", seed=2)))
        report = self.path("report.json")
        self.ok("report", self.fit(), "--data", self.data, "--out", report)
        with open(report, encoding="utf-8") as file:
            model = json.load(file)["models"][0]
        self.assertEqual(model["family_title"], "Babington Smith mixture")
        self.assertEqual(len(model["groups"]), 2)

    def test_help_and_options(self):
        self.assertIn(NAME, self.ok("families"))
        self.assertIn(f"## {NAME}", self.ok("families", "--markdown"))
        self.assertIn(NAME, self.ok("fit", "--help"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

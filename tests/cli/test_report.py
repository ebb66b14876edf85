#!/usr/bin/env python3
"""Reports from the command line: counted numbers against a count of the file itself, tables, names, what a page must not hold.

Usage: test_report.py PATH-TO-CAUCUS SOURCE-DIR
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

CAUCUS, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOWN = os.path.join(SOURCE, "examples", "town.soi")


def read_town():
    """Names and (count, ballot) pairs, read without caucus."""
    names, ballots = [], []
    with open(TOWN, encoding="utf-8") as file:
        for line in file:
            if match := re.match(r"# ALTERNATIVE NAME \d+: (.*)", line):
                names.append(match[1].strip())
            elif not line.startswith("#") and line.strip():
                count, ballot = line.split(":")
                ballots.append((int(count), [int(i) - 1 for i in ballot.split(",")]))
    return names, ballots


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = os.path.join(cls.folder.name, "model.json")
        cls.run_caucus("fit", TOWN, "-k", "3", "--out", cls.model, "--quiet")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_caucus(cls, *args):
        return subprocess.run([CAUCUS, *args], capture_output=True, text=True, timeout=300)

    def ok(self, *args):
        result = self.run_caucus(*args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def table(self, name):
        with open(self.path(name), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_counted_numbers_equal_a_count_of_the_file(self):
        self.ok("report", self.model, "--data", TOWN, "--tables", self.path("tables"), "--seats", "2", "--quiet")
        names, ballots = read_town()
        first, listed, place, above = collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
        total = sum(count for count, _ in ballots)
        for count, ballot in ballots:
            first[ballot[0]] += count
            rest = [i for i in range(len(names)) if i not in ballot]
            for p, item in enumerate(ballot):
                listed[item] += count
                place[item] += count * (p + 1)
                for below in ballot[p + 1:] + rest:
                    above[item, below] += count
            for item in rest:
                place[item] += count * (len(ballot) + 1 + len(names)) / 2
        everyone = [row for row in self.table("tables/items.csv") if row["group"] == "everyone"]
        self.assertEqual(len(everyone), len(names))
        for row in everyone:
            item = names.index(row["item"])
            self.assertEqual(float(row["first_counted"]), first[item])
            self.assertEqual(float(row["listed_counted"]), listed[item])
            self.assertAlmostEqual(float(row["mean_place_counted"]), place[item] / total, places=4)
        pairs = [row for row in self.table("tables/pairs.csv") if row["group"] == "everyone"]
        self.assertEqual(len(pairs), len(names) * (len(names) - 1))
        for row in pairs:
            a, b = names.index(row["item"]), names.index(row["other"])
            self.assertEqual((float(row["above_counted"]), float(row["below_counted"])), (above[a, b], above[b, a]))
        # The members of each group are those that `assign` lists.
        self.ok("assign", self.model, TOWN, "--out", self.path("members.csv"), "--quiet")
        members = collections.Counter()
        for row in self.table("members.csv"):
            members[row["label"]] += float(row["weight"])
        for k, row in enumerate(self.table("tables/groups.csv")):
            self.assertEqual(float(row["rankings"]), members[str(k + 1)])
        stages = [row for row in self.table("tables/count.csv") if row["stage"] == "1" and row["candidate"] != "exhausted"]
        self.assertEqual({row["candidate"]: float(row["votes"]) for row in stages}, {name: first[i] for i, name in enumerate(names)})
        seats = [row for row in self.table("tables/winners.csv") if row["group"] == "everyone" and row["rule"] == "transferable"]
        self.assertEqual(len(seats[0]["winners"].split("; ")), 2)

    def test_names_stay_with_the_model_and_nouns_with_the_page(self):
        named = self.path("named.json")
        self.ok("name", self.model, "Families", "Traders, and drivers", "--out", named)
        self.ok("report", named, "--data", TOWN, "--out", self.path("r.json"), "--call-voters", "citizens", "--title", "The lot", "--quiet")
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([g["name"] for g in report["models"][0]["groups"]], ["Families", "Traders, and drivers", "Group 3"])
        self.assertEqual((report["title"], report["nouns"]["voters"]), ("The lot", "citizens"))
        result = self.run_caucus("name", self.model, "a", "b", "c", "d")
        self.assertEqual(result.returncode, 64)
        self.assertIn("4 names; the model has 3 groups", result.stderr)

    def test_the_reasons_for_the_number_of_groups_are_on_the_page(self):
        chosen = self.path("chosen.json")
        shown = self.ok("fit", TOWN, "--out", chosen, "--report", self.path("chosen-page.json")).stdout
        with open(self.path("chosen-page.json"), encoding="utf-8") as file:
            report = json.load(file)
        with open(chosen, encoding="utf-8") as file:
            selection = json.load(file)["selection"]
        self.assertEqual(report["selection"]["sentences"], selection["why"])
        self.assertIn(" ".join(selection["why"][0].split()), " ".join(shown.split()))
        self.assertEqual(report["sentences"], ["3 groups are as many as hold up: two halves of the rankings, each taken alone, show the same ones."])
        self.assertEqual([row["replication"] > 0.9 for row in report["selection"]["table"]][:4], [True, True, True, False])
        self.assertFalse(any("set by hand" in text for text in report["models"][0]["caveats"]))

    def test_a_page_names_no_folders(self):
        page = self.path("page.html")
        self.ok("report", self.model, "--data", TOWN, "--out", page, "--quiet")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(self.folder.name, text)
        self.assertNotIn(SOURCE, text)

    def test_no_two_groups_are_described_alike_and_the_opening_has_no_jargon(self):
        self.ok("report", self.model, "--data", TOWN, "--out", self.path("w.json"), "--quiet")
        with open(self.path("w.json"), encoding="utf-8") as file:
            report = json.load(file)
        model = report["models"][0]
        words = [g["words"] for g in model["groups"]]
        self.assertEqual(len(set(words)), len(words))
        for text in report["sentences"] + model["sentences"] + model["caveats"] + words:
            self.assertNotRegex(text, r"EBIC|R-hat|exp\(|singular")

    def test_nothing_to_write_is_a_usage_error(self):
        result = self.run_caucus("report", self.model)
        self.assertEqual(result.returncode, 64)
        self.assertIn("--tables", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

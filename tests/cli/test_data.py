#!/usr/bin/env python3
"""Files as people have them: every row keeps its number, every count is counted again here, memberships are worked out again.

Usage: test_data.py PATH-TO-CAUCUS
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import trial_files
from trial_files import CANDIDATES

CAUCUS = os.path.abspath(sys.argv[1])
UTILITIES = [[1.2, 0.6, 0.0, -0.6, -1.2], [-1.0, -0.5, 0.0, 0.5, 1.0]]
WEIGHTS = [0.6, 0.4]
READY = ["wide", "long", "preflib", "blt", "jsonl"]


def caucus(*args, stdin=None):
    return subprocess.run([CAUCUS, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


def memberships(ranking, items):
    """Posterior of a top-t ballot under the mixture of Plackett-Luce models above: eq. by hand."""
    joint = []
    for weight, utilities in zip(WEIGHTS, UTILITIES):
        utility = dict(zip(items, utilities))
        left, probability = list(items), weight
        for name in ranking:
            probability *= math.exp(utility[name]) / sum(math.exp(utility[other]) for other in left)
            left.remove(name)
        joint.append(probability)
    return [one / sum(joint) for one in joint], math.log(sum(joint))


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "w", encoding="utf-8", newline="") as out:
                out.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def ok(self, *args, **kwargs):
        result = caucus(*args, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def model(self, items, **more):
        return self.path("m.json", {"schema": "caucus.model/1", "family": "pl", "items": items, "unranked": "last", "components": [
            {"weight": w, "utilities": u[:len(items)]} for w, u in zip(WEIGHTS, UTILITIES)], **more})


def names_in(layout):
    return [c.replace('"', "'") for c in CANDIDATES] if layout == "blt" else CANDIDATES


class Layouts(Files):
    def test_every_layout_counts_as_the_truth_does(self):
        ballots = trial_files.election()
        listed = [b for b in ballots if b.ranking]
        for layout in READY:
            with self.subTest(layout=layout):
                path, flags, columns = trial_files.write(self.folder.name, layout, ballots)
                info = json.loads(self.ok("info", path, "--json", *flags).stdout)
                self.assertEqual(info["num_blank"], len(ballots) - len(listed))
                self.assertEqual(info["num_rankings"], len(listed))
                self.assertEqual(info["num_rows"], len(ballots))
                self.assertEqual(sorted(info["items"]), sorted(names_in(layout)))
                self.assertEqual(info["num_unique"], len({tuple(b.ranking) for b in listed}))
                self.assertLessEqual(set(columns), set(info["covariates"]))

    def test_rows_and_memberships_of_every_layout(self):
        ballots = trial_files.election()
        for layout in READY:
            with self.subTest(layout=layout):
                path, flags, columns = trial_files.write(self.folder.name, layout, ballots)
                names = names_in(layout)
                model, out = self.model(names), self.path("out.csv")
                self.ok("assign", model, path, *flags, "--out", out, "--quiet")
                rows = read_csv(out)
                self.assertEqual(list(rows[0])[:5], ["row", "weight", "label", "p1", "p2"])
                self.assertEqual([row["row"] for row in rows], [str(i + 1) for i in range(len(ballots))])
                self.ok("score", model, path, *flags, "--out", out, "--quiet")
                scores = read_csv(out)
                for ballot, row, score in zip(ballots, rows, scores):
                    self.assertEqual(row["weight"], "1")
                    for column in columns:
                        self.assertEqual(row[column], trial_files.value_of(ballot, column))
                        self.assertEqual(score[column], row[column])
                    if not ballot.ranking:
                        self.assertEqual([row["label"], row["p1"], row["p2"], score["loglik"]], [""] * 4)
                        continue
                    ranking = [names[CANDIDATES.index(c)] for c in ballot.ranking]
                    expected, loglik = memberships(ranking, names)
                    self.assertAlmostEqual(float(row["p1"]), expected[0], places=9)
                    self.assertEqual(row["label"], "1" if expected[0] > expected[1] else "2")
                    self.assertAlmostEqual(float(score["loglik"]), loglik, places=9)

    def test_weights_count_ballots_not_lines(self):
        path = self.path("w.soi", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n19: \n3: 1,2\n0: 2\n2: 2\n")
        result = self.ok("info", path, "--json")
        info = json.loads(result.stdout)
        self.assertEqual((info["num_blank"], info["num_rankings"], info["num_rows"]), (19, 5, 4))
        self.assertIn("19 blank ballots", result.stderr)
        self.assertIn("19 blank ballots", self.ok("info", path).stdout)
        out = self.path("out.csv")
        self.ok("assign", self.model(["a", "b"]), path, "--out", out)
        rows = read_csv(out)
        self.assertEqual([row["row"] for row in rows], ["1", "2", "3", "4"])
        self.assertEqual([row["weight"] for row in rows], ["19", "3", "0", "2"])
        self.assertEqual([row["label"] == "" for row in rows], [True, False, True, False])

    def test_columns_that_share_a_name_with_ours_stay_apart(self):
        path = self.path("c.csv", "row,label,rank1,rank2\nx,7,a,b\n")
        out = self.path("out.csv")
        self.ok("assign", self.model(["a", "b"]), path, "--out", out)
        self.assertEqual(list(read_csv(out)[0]), ["row", "weight", "label", "p1", "p2", "data.row", "data.label"])

    def test_known_groups_stand_beside_every_row(self):
        path = self.path("t.csv", "rank1,rank2\na,b\nskipped,\nb,a\n")
        truth = self.path("truth.csv", "label\n1\n2\n2\n")
        result = json.loads(self.ok("assign", self.model(["a", "b"]), path, "--truth", truth, "--json").stdout)
        self.assertEqual(result["truth"]["misclassification"], 0)
        self.assertEqual((result["num_rankings"], result["num_blank"]), (2, 1))

    def test_conversion_to_json_lines_keeps_blanks(self):
        ballots = trial_files.election(60)
        path, flags, _ = trial_files.write(self.folder.name, "wide", ballots)
        out = self.path("c.jsonl")
        self.ok("convert", path, out, *flags)
        for key in ("num_blank", "num_rankings", "num_rows", "digest", "covariates"):
            self.assertEqual(json.loads(self.ok("info", path, "--json").stdout)[key],
                             json.loads(self.ok("info", out, "--json").stdout)[key])
        self.assertIn("blank", self.ok("convert", path, self.path("c.soi")).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""The model file of every family and method against docs/model-file.schema.json, and what the keys promise.

Usage: test_model_files.py PATH-TO-CAUCUS SOURCE-DIR
"""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

CAUCUS, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHORT = {"components": 2, "iterations": 24, "sweeps": 24, "burnin": 8, "restarts": 2, "chains": 2}
with open(os.path.join(SOURCE, "docs", "model-file.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
# What the documentation says of keys: the page of the model file and the families' own.
PAGES = "\n".join(page.read_text(encoding="utf-8")
                  for page in [pathlib.Path(SOURCE, "docs", "model-file.md"), *pathlib.Path(SOURCE, "src").rglob("README.md")])
NAMED = set(re.findall(r"[`\".]([a-z][a-z0-9_]*)(?=[`\".\[(])", PAGES))


def unnamed_keys(model):
    """Keys of the model file that neither the schema nor a page names: somebody writes what nobody can read."""
    places = [("", model, SCHEMA), ("fit.", model["fit"], SCHEMA["properties"]["fit"])]
    places += [("components.", one, SCHEMA["properties"]["components"]["items"]) for one in model["components"]]
    return {at + key for at, written, schema in places for key in written if key not in schema["properties"] and key not in NAMED}


def run(*args):
    return subprocess.run([CAUCUS, *map(str, args)], capture_output=True, text=True, timeout=300)


class ModelFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        draw = random.Random(3)
        ballots = []
        for _ in range(200):
            sign = 1 if draw.random() < 0.6 else -1
            ballots.append(sorted(range(5), key=lambda i: sign * i + draw.gauss(0, 1.2)))
        cls.data = cls.write("votes.soc", ballots)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, ballots, items="abcde"):
        path = os.path.join(cls.folder.name, name)
        lines = [f"# NUMBER ALTERNATIVES: {len(items)}"] + [f"# ALTERNATIVE NAME {i + 1}: {n}" for i, n in enumerate(items)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines + ["1: " + ",".join(str(i + 1) for i in ballot) for ballot in ballots]) + "\n")
        return path

    def fit(self, data, *args):
        out = os.path.join(self.folder.name, "m.json")
        result = run("fit", data, "--out", out, "--quiet", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(out, encoding="utf-8") as file:
            model = json.load(file)
        jsonschema.validate(model, SCHEMA)
        self.assertEqual(unnamed_keys(model), set())
        return model, out

    def test_every_family_and_method(self):
        for family in json.loads(run("families", "--json").stdout)["families"]:
            options = {option["name"] for option in family["options"]}
            for method in family["methods"]:
                with self.subTest(family=family["name"], method=method):
                    flags = ["--family", family["name"]] + (["--method", method] if "method" in options else [])
                    for name, value in SHORT.items():
                        flags += [f"--{name}", value] if name in options else []
                    model, path = self.fit(self.data, *flags)
                    fit = model["fit"]
                    scored = json.loads(run("score", path, self.data, "--json").stdout)
                    self.assertAlmostEqual(fit["loglik"], scored["loglik"], delta=1e-8 * abs(fit["loglik"]))
                    self.assertAlmostEqual(fit["aic"], -2 * fit["loglik"] + 2 * fit["num_parameters"], places=6)
                    self.assertAlmostEqual(fit["bic"], -2 * fit["loglik"] + fit["num_parameters"] * math.log(200), places=6)
                    self.assertAlmostEqual(fit["ebic"], fit["bic"] + 2 * fit["log_discrete_values"], places=6)
                    if fit["trace_measures"] == "log-likelihood":
                        self.assertEqual(fit["trace"][-1], fit["loglik"])
                    if "consensus" in model["components"][0]:
                        expected = len(model["components"]) * math.lgamma(6)
                        self.assertAlmostEqual(fit["log_discrete_values"], expected, places=9)
                    else:
                        self.assertEqual(fit["log_discrete_values"], 0)

    def test_intervals_say_what_they_cover(self):
        model, _ = self.fit(self.data, "--family", "dpm", "--burnin", 8)
        for component in model["components"]:
            self.assertEqual(component["theta_intervals"]["level"], 0.9)
            for low, value, high in zip(component["theta_intervals"]["low"], component["theta"], component["theta_intervals"]["high"]):
                self.assertTrue(low <= value <= high or low <= high)
        model, _ = self.fit(self.data, "-k", 1, "--bootstrap", 20)
        component = model["components"][0]
        self.assertEqual(component["utility_intervals"]["level"], 0.95)
        self.assertEqual(len(component["utility_intervals"]["low"]), 5)
        model, _ = self.fit(self.data, "--family", "mallows", "-k", 1, "--bootstrap", 20)
        component = model["components"][0]
        self.assertEqual(component["theta_intervals"]["level"], 0.95)
        self.assertEqual(component["stability"]["resamples"], 20)
        self.assertEqual(component["consensus_gap"], 0)

    def test_an_item_without_a_finite_estimate_is_said_everywhere(self):
        data = self.write("d.soc", [[0, 1, 2]] * 5 + [[0, 2, 1]] * 3, "abc")  # a never loses
        model, _ = self.fit(data, "-k", 1)
        self.assertEqual(model["components"][0]["unbounded"], [0])
        self.assertIn("(no finite estimate)", run("fit", data, "-k", 1).stdout)

    def test_blocks_that_nothing_ties_together(self):
        draw = random.Random(3)
        favourites = [draw.sample(range(3), 3) for _ in range(80)]
        data = self.write("b.soi", favourites + [[0, 1, 2, *(3 + i for i in draw.sample(range(3), 3))] for _ in range(30)], "abcdef")
        model, path = self.fit(data, "-k", 1)
        component = model["components"][0]
        self.assertEqual(component["unbounded"], [3, 4, 5])
        self.assertEqual([sorted(block["items"]) for block in component["blocks"]], [[3, 4, 5]])
        self.assertEqual(component["standard_errors"][3:], [None] * 3)
        self.assertTrue(all(0 < error < 1 for error in component["blocks"][0]["standard_errors"] + component["standard_errors"][:3]))
        shown = run("fit", data, "-k", 1).stdout
        self.assertEqual(shown.count("-- no finite distance --"), 1)
        self.assertNotIn("(no finite estimate)", shown)
        self.assertIn("mean zero between dashed lines", shown)
        lines = [line.split() for line in shown.splitlines() if "±" in line and line.split()[0].endswith(".")]
        for part in (lines[:3], lines[3:]):
            self.assertAlmostEqual(sum(float(words[2]) for words in part), 0.0, delta=0.02)
        # What a file says of them is read again.
        page = os.path.join(self.folder.name, "b.json")
        self.assertEqual(run("report", path, "--data", data, "--out", page).returncode, 0)
        with open(page, encoding="utf-8") as file:
            again = json.load(file)
        self.assertEqual(len(again["models"][0]["groups"][0]["blocks"][0]["utility_intervals"]), 3)

    def test_errors_do_not_depend_on_the_scale_of_weights_that_are_no_counts(self):
        draw = random.Random(5)
        ballots = [sorted(range(5), key=lambda i: i + draw.gauss(0, 2)) for _ in range(120)]
        found = []
        for scale in (0.5, 0.5 / 128):
            path = os.path.join(self.folder.name, "w.soc")
            head = ["# NUMBER ALTERNATIVES: 5"] + [f"# ALTERNATIVE NAME {i + 1}: {n}" for i, n in enumerate("abcde")]
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(head + [f"{scale}: " + ",".join(str(i + 1) for i in ballot) for ballot in ballots]) + "\n")
            for flags in (["--family", "mallows"], ["--family", "gmallows"], ["--family", "mallows", "--bootstrap", 30]):
                found.append(self.fit(path, "-k", 1, *flags)[0]["components"][0])
        for one, other in zip(found[:3], found[3:]):
            errors = lambda part: part["theta_standard_errors"] if isinstance(part["theta_standard_errors"], list) else [part["theta_standard_errors"]]
            for a, b in zip(errors(one), errors(other)):
                self.assertAlmostEqual(a, b, delta=1e-6)
        self.assertAlmostEqual(found[2]["theta_intervals"]["low"], found[5]["theta_intervals"]["low"], delta=1e-6)
        # 120 ballots of weight one half: the error of 120, not of 60.
        whole, _ = self.fit(self.write("one.soc", ballots), "-k", 1, "--family", "mallows")
        self.assertAlmostEqual(whole["components"][0]["theta_standard_errors"], found[0]["theta_standard_errors"], delta=1e-6)

    def test_a_file_that_was_tampered_with_is_refused_or_used(self):
        """A sample of what tests/contract/model_files_test.cc does by the thousand, through every command that reads a model."""
        for family in ("pl", "mallows", "dpm"):
            model, path = self.fit(self.data, "--family", family, *(["-k", 2] if family != "dpm" else ["--sweeps", 24, "--burnin", 8]))
            good = os.path.join(self.folder.name, "good.json")
            with open(good, "w", encoding="utf-8") as out:
                json.dump(model, out)
            page = os.path.join(self.folder.name, "page.html")
            commands = [("score", path, self.data), ("assign", path, self.data), ("sample", path, "-n", 3, "--to", "jsonl"),
                        ("distance", good, path), ("check", path, self.data, "--replicates", 19, "--max-ballots", 50),
                        ("report", path, "--out", page), ("name", path, "a")]
            parameter = "utilities" if family == "pl" else "theta"
            for where in (("components", 0, "weight"), ("components", 0, parameter), ("fit", "loglik"), ("fit", "num_rankings")):
                for value in ("1e308", "1e-320", "1e400", "null", '"x"'):
                    changed = json.loads(json.dumps(model))
                    at = changed
                    for key in where[:-1]:
                        at = at[key]
                    if isinstance(at[where[-1]], list):
                        at[where[-1]][0] = "@here@"
                    else:
                        at[where[-1]] = "@here@"
                    with open(path, "w", encoding="utf-8") as out:
                        out.write(json.dumps(changed).replace('"@here@"', value))
                    for command in commands:
                        with self.subTest(family=family, where=where, value=value, command=command[0]):
                            result = run(*command)
                            self.assertIn(result.returncode, (0, 65), result.stderr)
                            self.assertNotRegex(result.stdout + result.stderr, r"(?i)(^|[^a-z])-?(nan|inf)([^a-z]|$)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""caucus regress and caucus predict as a user meets them.

Usage: test_regress.py PATH-TO-CAUCUS
"""
import csv
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CAUCUS = os.path.abspath(sys.argv[1])


def caucus(*args):
    return subprocess.run([CAUCUS, *map(str, args)], capture_output=True, text=True, timeout=300)


def example(rows, seed):
    draw = random.Random(seed)
    table = []
    for _ in range(rows):
        kind = draw.choice(["ant", "bee", "cow"])
        center = {"ant": 0.0, "bee": 2.0, "cow": 5.0}[kind]
        table.append({"size": round(draw.gauss(center, 1.5), 3), "age": round(draw.gauss(40, 9), 2), "colour": draw.choice(["red", "blue"]), "kind": kind})
    return table


def features(model, row):
    """W(x) of one row, by the meaning of the kinds in the model file."""
    columns = {c["name"]: c for c in model["covariates"]}
    values = []
    for feature in model["features"]:
        name, kind = feature["name"], feature["kind"]
        if kind == "offset":
            values.append(1.0)
        elif kind == "indicator":
            column = columns[name]
            values.append(1.0 if row[column["column"]] == column["level"] else 0.0)
        else:
            column = name[5:-1] if kind == "exp-minus" else name[4:-1]
            x = (row[column] - feature["mean"]) / feature["scale"]
            values.append(math.exp(x if kind == "exp" else -x))
    return values


class Regression(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.rows = example(120, 1)
        self.train = self.write("train.csv", self.rows)
        self.test = self.write("test.csv", example(80, 2))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, rows, order=None):
        with open(self.path(name), "w", newline="", encoding="utf-8") as out:
            writer = csv.DictWriter(out, order or list(rows[0]), extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return self.path(name)

    def ok(self, *args):
        result = caucus(*args)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def fit(self, *args):
        result = json.loads(self.ok("regress", self.train, "--target", "kind", "--json", "--out", self.path("m.json"), *args).stdout)
        with open(self.path("m.json"), encoding="utf-8") as file:
            return result, json.load(file)

    def loglik(self, model):
        total = 0.0
        for row in self.rows:
            w = features(model, row)
            strength = [sum(a * b for a, b in zip(w, weights)) for weights in model["lambda"]]
            total += math.log(strength[model["classes"].index(row["kind"])] / sum(strength))
        return total

    def test_em_reports_what_the_file_holds(self):
        for shape, rate in (("1", None), ("0.5", "1"), ("2", "3")):
            result, model = self.fit("--method", "em", "--a", shape, *(["--b", rate] if rate else []))
            self.assertEqual(model["schema"], "caucus.regression/1")
            self.assertEqual(model["family"], "pl-regression")
            self.assertEqual(model["classes"], ["ant", "bee", "cow"])
            self.assertAlmostEqual(self.loglik(model), result["loglik"], places=6)
            a, b = float(shape), float(rate or 0)
            prior = sum((a - 1) * math.log(v) - b * v for weights in model["lambda"] for v in weights if v > 0)
            self.assertAlmostEqual(result["log_posterior"], result["loglik"] + prior, places=6)
            self.assertEqual(result["num_nonzero"], sum(v > 0 for weights in model["lambda"] for v in weights))
            self.assertEqual(result["stop_reason"], "converged")

    def test_standardised_with_the_population_deviation(self):
        _, model = self.fit()
        sizes = [row["size"] for row in self.rows]
        mean = sum(sizes) / len(sizes)
        self.assertAlmostEqual(model["features"][0]["mean"], mean, places=9)
        self.assertAlmostEqual(model["features"][0]["scale"], math.sqrt(sum((s - mean) ** 2 for s in sizes) / len(sizes)), places=9)

    def test_maximum_likelihood_is_stationary(self):
        result, model = self.fit()
        for k, weights in enumerate(model["lambda"]):
            for j, value in enumerate(weights):
                if value == 0:
                    continue
                slopes = []
                for step in (1e-5, -1e-5):
                    model["lambda"][k][j] = value * math.exp(step)
                    slopes.append(self.loglik(model))
                model["lambda"][k][j] = value
                self.assertLess(abs(slopes[0] - slopes[1]) / 2e-5, 1e-3)

    def test_a_report_has_the_coefficients_the_path_and_the_scores(self):
        if "--report" not in caucus("regress", "--help").stdout:
            self.skipTest("this build has no report")
        model, page = os.path.join(self.folder.name, "m.json"), os.path.join(self.folder.name, "r.json")
        path = os.path.join(self.folder.name, "path.csv")
        run = caucus("regress", self.train, "--target", "kind", "--path", path, "--path-grid", "1,0.5", "--out", model, "--report", page, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["report"], page)
        with open(page) as file:
            report = json.load(file)
        with open(model) as file:
            fitted = json.load(file)
        shown = report["models"][0]["regression"]
        self.assertEqual(report["title"], "train.csv")
        self.assertEqual(shown["classes"], fitted["classes"])
        for ours, theirs in zip(shown["lambda"], fitted["lambda"]):
            for a, b in zip(ours, theirs):
                self.assertAlmostEqual(a, b, delta=1e-4 * max(1.0, abs(b)))
        self.assertEqual(shown["path"]["values"], [0.5, 1])
        self.assertEqual(sum(map(sum, shown["confusion"])), len(self.rows))
        self.assertTrue(shown["scored_on_fitted_data"])
        self.assertRegex(fitted["data"]["digest"], "^xxh128:[0-9a-f]{32}$")
        self.assertIn(["Data digest", fitted["data"]["digest"]], report["provenance"]["facts"])
        wrong = json.loads(caucus("predict", model, self.train, "--json").stdout)["misclassification"]
        self.assertAlmostEqual(shown["misclassification"], wrong, delta=1e-6)

    def test_samplers_report_mixing_and_do_not_depend_on_threads(self):
        for method in ("gibbs", "logit-lasso"):
            first, model = self.fit("--method", method, "--sweeps", "1000", "--seed", "7", "--threads", "1")
            second, again = self.fit("--method", method, "--sweeps", "1000", "--seed", "7", "--threads", "2")
            self.assertGreater(first["ess_min"], 1)
            self.assertGreater(first["rhat_max"], 0.9)
            key = "lambda" if method == "gibbs" else "beta"
            self.assertEqual(model[key], again[key])
            self.assertEqual(model["draws"], again["draws"])
            other, _ = self.fit("--method", method, "--sweeps", "1000", "--seed", "8")
            self.assertNotEqual(first["loglik"], other["loglik"])

    def test_predict_finds_columns_in_any_order(self):
        for method in ("em", "gibbs", "variational", "logit-lasso"):
            self.fit("--method", method, *(["--sweeps", "600"] if method in ("gibbs", "logit-lasso") else []))
            shuffled = self.write("shuffled.csv", example(80, 2), ["kind", "colour", "age", "size"])
            scores = [json.loads(self.ok("predict", self.path("m.json"), table, "--out", self.path(name), "--json").stdout)
                      for table, name in ((self.test, "p.csv"), (shuffled, "q.csv"))]
            with open(self.path("p.csv"), encoding="utf-8") as p, open(self.path("q.csv"), encoding="utf-8") as q:
                text = p.read()
                self.assertEqual(text, q.read())
            rows = list(csv.DictReader(text.splitlines()))
            self.assertEqual(list(rows[0]), ["row", "predicted", "p_ant", "p_bee", "p_cow"])
            self.assertEqual([row["row"] for row in rows], [str(i + 1) for i in range(80)])
            wrong, loss = 0, 0.0
            for row, truth in zip(rows, example(80, 2)):
                p = {kind: float(row["p_" + kind]) for kind in ("ant", "bee", "cow")}
                self.assertAlmostEqual(sum(p.values()), 1.0, places=9)
                self.assertEqual(row["predicted"], max(p, key=p.get))
                wrong += row["predicted"] != truth["kind"]
                loss -= math.log(p[truth["kind"]])
            self.assertAlmostEqual(scores[0]["misclassification"], wrong / 80, places=9)
            self.assertAlmostEqual(scores[0]["log_loss"], loss / 80, places=9)
            self.assertLess(wrong / 80, 0.45)

    def test_predict_takes_one_row_on_the_command_line(self):
        self.fit("--method", "em")
        one = example(80, 2)[:1]
        table = self.write("one.csv", one, ["kind", "colour", "age", "size"])
        expected = self.ok("predict", self.path("m.json"), table, "--out", "-").stdout
        cells = ",".join(f"{name}={one[0][name]}" for name in ("size", "age", "colour"))
        self.assertEqual(self.ok("predict", self.path("m.json"), "--row", cells).stdout, expected)
        self.assertEqual(caucus("predict", self.path("m.json"), "--row", "size=2,age=3").returncode, 65)
        self.assertEqual(caucus("predict", self.path("m.json")).returncode, 64)
        self.assertEqual(caucus("predict", self.path("m.json"), table, "--row", cells).returncode, 64)

    def test_predict_without_the_target(self):
        self.fit()
        unknown = self.write("unknown.csv", example(5, 3), ["size", "age", "colour"])
        result = json.loads(self.ok("predict", self.path("m.json"), unknown, "--out", self.path("p.csv"), "--json").stdout)
        self.assertNotIn("misclassification", result)
        self.assertEqual(result["num_rows"], 5)

    def test_a_class_that_training_did_not_see_is_an_error(self):
        self.fit()
        rows = example(20, 3)
        strange = [dict(row, kind="dog") if i < 5 else row for i, row in enumerate(rows)]
        path = lambda name, table: self.write(name, table, ["size", "age", "colour", "kind"])
        score = lambda table: json.loads(self.ok("predict", self.path("m.json"), table, "--out", self.path("p.csv"), "--json").stdout)
        known, mixed = score(path("known.csv", rows[5:])), score(path("mixed.csv", strange))
        self.assertEqual((known["num_scored"], known["num_unseen"]), (15, 0))
        self.assertEqual((mixed["num_scored"], mixed["num_unseen"], mixed["log_loss"]), (20, 5, None))
        self.assertAlmostEqual(mixed["misclassification"], (15 * known["misclassification"] + 5) / 20, places=12)
        shown = self.ok("predict", self.path("m.json"), self.path("mixed.csv"), "--out", self.path("p.csv"))
        self.assertIn("log loss infinite", shown.stdout)
        self.assertIn("5 rows have a class that the model has not seen", shown.stderr)

    def test_a_regression_is_no_model_of_rankings(self):
        self.fit()
        result = caucus("score", self.path("m.json"), self.train)
        self.assertEqual(result.returncode, 65, result.stderr)
        self.assertIn("caucus.model/1", result.stderr)

    def test_formula_features(self):
        _, model = self.fit("--features", "exp(x1 + x2)", "--features", "gauss(size, 0.5, 1) * exp(age); bumps(size, 3)")
        names = [f["name"] for f in model["features"] if f["kind"] == "formula"]
        self.assertEqual(names[0], "exp(size + age)")
        self.assertEqual(len(names), 5)
        self.ok("predict", self.path("m.json"), self.test, "--out", self.path("p.csv"))

    def test_path(self):
        self.fit("--path", self.path("path.csv"), "--path-grid", "1,0.3", "--sweeps", "200")
        with open(self.path("path.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["estimate"] for row in rows}, {"map", "posterior-mean", "posterior-median", "variational-mean"})
        with open(self.path("path.svg"), encoding="utf-8") as file:
            self.assertIn("</svg>", file.read())
        piped = self.ok("regress", self.train, "--target", "kind", "--path", "-", "--path-grid", "1,0.3", "--sweeps", "200")
        self.assertEqual(len(list(csv.DictReader(piped.stdout.splitlines()))), len(rows))
        self.assertFalse(os.path.exists("-.svg"))
        both = caucus("regress", self.train, "--target", "kind", "--path", "-", "--json")
        self.assertEqual((both.returncode, both.stdout), (64, ""))

    def test_the_summary_names_only_what_counts(self):
        shown = self.ok("regress", self.train, "--target", "kind", "--method", "variational").stdout
        self.assertNotIn(" 0 %", shown)
        shown = self.ok("regress", self.train, "--target", "kind", "--method", "logit-lasso", "--sweeps", "200").stdout
        self.assertIn("coefficients not zero", shown)

    def test_wrong_input_is_refused_with_a_remedy(self):
        holes = [dict(row) for row in self.rows]
        holes[3]["size"] = ""
        cases = [
            (["regress", self.train], 64, "--target"),
            (["regress", self.train, "--target", "kind", "--ranking"], 64, "leave --target out"),
            (["regress", self.train, "--target", "kinds"], 65, "kinds"),
            (["regress", self.path("none.csv"), "--target", "kind"], 66, "none.csv"),
            (["regress", self.train, "--target", "kind", "--a", "2", "--b", "0"], 64, "b > 0"),
            (["regress", self.train, "--target", "kind", "--a", "x"], 64, "'x'"),
            (["regress", self.train, "--target", "kind", "--chains", "0"], 64, "chains"),
            (["regress", self.train, "--target", "kind", "--features", "exp(height)"], 64, "height"),
            (["regress", self.train, "--target", "age"], 65, "classes"),
            (["regress", self.write("holes.csv", holes), "--target", "kind"], 65, "--missing"),
            (["predict", self.train, self.test], 65, "model"),
            (["predict", self.train, self.test, "--curves"], 64, "--json"),
        ]
        for args, code, word in cases:
            result = caucus(*args)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stdout, "")
        for missing in ("drop", "mean"):
            self.ok("regress", self.path("holes.csv"), "--target", "kind", "--missing", missing)

    def test_ballots_with_covariates(self):
        draw = random.Random(4)
        ballots = []
        for _ in range(200):
            age = draw.gauss(0, 1)
            left, order = {"x": math.exp(2 * age), "y": 1.0, "z": math.exp(-2 * age)}, []
            while left:
                order.append(draw.choices(list(left), list(left.values()))[0])
                del left[order[-1]]
            ballots.append({"age": round(age, 4), **{f"rank_{item}": order.index(item) + 1 for item in "xyz"}})
        table = self.write("ballots.csv", ballots)
        for method in ("em", "gibbs", "variational"):
            extra = ["--sweeps", "600"] if method == "gibbs" else []
            result = json.loads(self.ok("regress", table, "--ranking", "--method", method, "--json", "--out", self.path("r.json"), *extra).stdout)
            self.assertLess(result["loglik"], 0)
            self.assertGreater(result["loglik"], -200 * math.log(6))
        young = self.write("young.csv", [{"age": 2.5}, {"age": -2.5}])
        self.ok("predict", self.path("r.json"), young, "--out", self.path("p.csv"))
        with open(self.path("p.csv"), encoding="utf-8") as file:
            first, second = list(csv.DictReader(file))
        self.assertNotEqual(first["predicted"], second["predicted"])
        scores = json.loads(self.ok("predict", self.path("r.json"), table, "--json").stdout)
        self.assertEqual(scores["num_scored"], 200)
        self.assertLess(scores["log_loss"], math.log(6))
        self.assertIn("whole ballots", self.ok("predict", self.path("r.json"), table, "--out", self.path("p.csv")).stdout)

    def test_interrupt_keeps_the_draws_and_the_checkpoint_goes_on(self):
        command = ["regress", self.train, "--target", "kind", "--method", "gibbs", "--burnin", "10", "--chains", "1", "--checkpoint", self.path("c.cbor"),
                   "--out", self.path("m.json"), "--json", "--thin", "50"]
        process = subprocess.Popen([CAUCUS, *command, "--sweeps", "100000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        result = json.loads(out)
        self.assertEqual(result["stop_reason"], "interrupted")
        self.assertGreater(result["num_draws"], 0)
        longer = result["iterations"] + 1000
        resumed = json.loads(self.ok(*command, "--sweeps", longer).stdout)
        os.remove(self.path("c.cbor"))
        straight = json.loads(self.ok(*command, "--sweeps", longer).stdout)
        self.assertEqual(resumed["loglik"], straight["loglik"])
        self.assertEqual(resumed["ess_min"], straight["ess_min"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

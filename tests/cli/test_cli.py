#!/usr/bin/env python3
"""The command line as a user meets it: what it prints, where, and with which exit code.

Usage: test_cli.py PATH-TO-CAUCUS SOURCE-DIR
"""
import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
import unittest

from support import CAUCUS, HAND_MODEL, SOURCE, TOWN, Case, caucus


def pl_probability(utilities, ballot):
    """A top-t ballot, unlisted items last: the product of choices."""
    left, probability = list(range(len(utilities))), 1.0
    for item in ballot:
        probability *= math.exp(utilities[item]) / sum(math.exp(utilities[i]) for i in left)
        left.remove(item)
    return probability


class CommandLine(Case):
    # fit
    def test_fit_writes_the_model_file_of_the_contract(self):
        out = self.path("m.json")
        result = self.ok("fit", TOWN, "-k", 1, "--out", out, "--json")
        printed = json.loads(result.stdout)
        with open(out, encoding="utf-8") as file:
            model = json.load(file)
        self.assertEqual(printed["model"], out)
        self.assertEqual({key: value for key, value in printed.items() if key != "model"}, model)
        self.assertEqual(model["schema"], "caucus.model/1")
        self.assertEqual(model["family"], "pl")
        self.assertEqual(len(model["items"]), 8)
        utilities = model["components"][0]["utilities"]
        self.assertAlmostEqual(sum(utilities), 0.0, places=9)
        fit = model["fit"]
        self.assertEqual(fit["num_rankings"], 2400)
        self.assertEqual(fit["num_parameters"], 7)
        self.assertEqual(fit["stop_reason"], "converged")
        self.assertAlmostEqual(fit["bic"], -2 * fit["loglik"] + 7 * math.log(2400), places=6)
        self.assertEqual(fit["trace"][-1], fit["loglik"])
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is missing")
        with open(os.path.join(SOURCE, "docs", "model-file.schema.json"), encoding="utf-8") as file:
            jsonschema.validate(model, json.load(file))

    def test_fit_is_reproducible_and_threads_do_not_matter(self):
        models = []
        for threads in (1, 2, 4):
            out = self.path(f"m{threads}.json")
            self.ok("fit", TOWN, "-k", 3, "--seed", 7, "--threads", threads, "--out", out, "--quiet")
            with open(out, encoding="utf-8") as file:
                models.append(json.load(file))
        for model in models[1:]:
            self.assertEqual(model["components"], models[0]["components"])
            self.assertEqual(model["fit"]["loglik"], models[0]["fit"]["loglik"])
        weights = [component["weight"] for component in models[0]["components"]]
        self.assertEqual(weights, sorted(weights, reverse=True))
        self.assertAlmostEqual(sum(weights), 1.0)

    def test_fit_prints_for_a_person_and_notes_go_to_stderr(self):
        out = self.path("m.json")
        result = self.ok("fit", TOWN, "-k", 1, "--out", out)
        self.assertIn("log-likelihood", result.stdout)
        self.assertIn("Park", result.stdout)
        self.assertIn("Model written", result.stderr)
        self.assertNotIn("\033", result.stdout + result.stderr)
        self.assertEqual(self.ok("fit", TOWN, "-k", 1, "--quiet", "--out", out).stderr, "")

    def test_standard_input_is_read(self):
        with open(TOWN, encoding="utf-8") as file:
            piped = json.loads(self.ok("fit", "-", "-k", 1, "--json", stdin=file.read()).stdout)
        named = json.loads(self.ok("fit", TOWN, "-k", 1, "--json").stdout)
        self.assertEqual(piped["fit"]["loglik"], named["fit"]["loglik"])

    def test_disconnected_data_are_flagged(self):
        data = self.soi("d.soi", ["5: 1,2,3", "3: 1,3,2"], items=["Anchor", "Buoy", "Chain"])  # Anchor never loses
        result = self.ok("fit", data, "--json")
        warnings = [line for line in result.stderr.splitlines() if line.startswith("warning")]
        self.assertTrue(any("Anchor" in line for line in warnings), result.stderr)
        for value in json.loads(result.stdout)["fit"]["trace"]:
            self.assertTrue(math.isfinite(value))

    # score, assign, sample
    def test_score_of_a_model_written_by_hand(self):
        model = self.path("hand.json", HAND_MODEL)
        data = self.soi("d.soi", ["2: 1,2,3", "3: 3", "1: 2,1"])
        out = self.path("s.csv")
        scored = json.loads(self.ok("score", model, data, "--out", out, "--json").stdout)
        ballots = [(2, [0, 1, 2]), (3, [2]), (1, [1, 0])]
        expected = [math.log(sum(c["weight"] * pl_probability(c["utilities"], ballot) for c in HAND_MODEL["components"])) for _, ballot in ballots]
        total = sum(weight * value for (weight, _), value in zip(ballots, expected))
        self.assertAlmostEqual(scored["loglik"], total, places=10)
        self.assertAlmostEqual(scored["mean_loglik"], total / 6, places=10)
        self.assertEqual(scored["num_rankings"], 6)
        with open(out, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["row"], float(row["weight"])) for row in rows], [("1", 2), ("2", 3), ("3", 1)])
        for row, value in zip(rows, expected):
            self.assertAlmostEqual(float(row["loglik"]), value, places=10)

    def test_rows_follow_the_file_where_equal_ballots_were_merged(self):
        model = self.path("hand.json", HAND_MODEL)
        data = self.soi("d.soi", ["1: 1,2,3", "4: 3,2,1", "2: 1,2,3"])
        out = self.path("m.csv")
        self.ok("assign", model, data, "--out", out)
        with open(out, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["row", "weight", "label", "p1", "p2"])
        self.assertEqual([row["label"] for row in rows], ["1", "2", "1"])
        self.assertEqual([float(row["weight"]) for row in rows], [1, 4, 2])
        p1 = 0.75 * pl_probability([1, 0, -1], [0, 1, 2])
        p2 = 0.25 * pl_probability([-1, 0, 1], [0, 1, 2])
        self.assertAlmostEqual(float(rows[0]["p1"]), p1 / (p1 + p2), places=10)

    def test_items_are_matched_by_name(self):
        model = self.path("hand.json", HAND_MODEL)
        swapped = self.soi("d.soi", ["1: 1,2,3"], items="cba")
        straight = self.soi("e.soi", ["1: 3,2,1"])
        score = lambda data: json.loads(self.ok("score", model, data, "--json").stdout)["loglik"]
        self.assertAlmostEqual(score(swapped), score(straight), places=12)
        stranger = self.soi("f.soi", ["1: 1,2"], items=["a", "Zebra"])
        result = caucus("score", model, stranger)
        self.assertEqual(result.returncode, 65)
        self.assertIn("Zebra", result.stderr)

    def test_generate_and_distance(self):
        truth = self.path("truth.json")
        self.ok("generate", "--items", 8, "-k", 2, "--informative", 3, "--seed", 4, "--out", truth)
        with open(truth, encoding="utf-8") as file:
            model = json.load(file)
        utilities = [c["utilities"] for c in model["components"]]
        for group in utilities:
            self.assertAlmostEqual(sum(group), 0, places=12)
            self.assertEqual(len(set(group[3:])), 1)  # only the first three items tell the groups apart
        # Groups in the other order, items in the other order, one utility moved by 1: centering takes an eighth of it away from all.
        moved = [list(reversed(group)) for group in reversed(utilities)]
        moved[0][0] += 1
        other = self.path("other.json", {**model, "items": model["items"][::-1], "components": [{"weight": 0.5, "utilities": u} for u in moved]})
        result = json.loads(self.ok("distance", truth, other, "--json").stdout)
        self.assertAlmostEqual(result["distance"], math.sqrt((7 / 8) ** 2 + 7 / 64), places=12)
        self.assertEqual([(pair["first"], pair["second"]) for pair in result["groups"]], [(0, 1), (1, 0)])
        self.assertEqual(result["groups"][0]["kendall"], 0)
        mallows = self.path("mallows.json", {"schema": "caucus.model/1", "family": "mallows", "items": model["items"],
                                             "components": [{"weight": 1, "consensus": list(range(8)), "theta": 1}]})
        backwards = self.path("backwards.json", {"schema": "caucus.model/1", "family": "mallows", "items": model["items"],
                                                 "components": [{"weight": 1, "consensus": list(range(8))[::-1], "theta": 1}]})
        result = json.loads(self.ok("distance", mallows, backwards, "--json").stdout)
        self.assertEqual(result["groups"], [{"first": 0, "second": 0, "kendall": 28, "spearman": 168}])
        # b a c and b c a: a and c change places, one rank each.
        orders = [self.path(f"order{i}.json", {"schema": "caucus.model/1", "family": "mallows", "items": list("abc"),
                                               "components": [{"weight": 1, "consensus": order, "theta": 1}]}) for i, order in enumerate(([1, 0, 2], [1, 2, 0]))]
        self.assertEqual(json.loads(self.ok("distance", *orders, "--json").stdout)["groups"], [{"first": 0, "second": 0, "kendall": 1, "spearman": 2}])
        self.assertIn("rank correlation 0.500", " ".join(self.ok("distance", *orders).stdout.split()))
        self.assertEqual(caucus("distance", truth, self.path("hand.json", HAND_MODEL)).returncode, 65)
        self.assertEqual(caucus("generate", "--items", 3, "--informative", 4).returncode, 64)

    def test_sample_is_reproducible_and_follows_the_model(self):
        model = self.path("hand.json", HAND_MODEL)
        one, two = self.path("one.soc"), self.path("two.soc")
        self.ok("sample", model, "-n", 4000, "--seed", 5, "--out", one, "--labels", self.path("labels.csv"))
        self.ok("sample", model, "-n", 4000, "--seed", 5, "--out", two)
        with open(one, encoding="utf-8") as a, open(two, encoding="utf-8") as b:
            self.assertEqual(a.read().replace("one", "two"), b.read())
        info = json.loads(self.ok("info", one, "--json").stdout)
        self.assertEqual((info["num_rankings"], info["num_items"], info["kind"]), (4000, 3, "complete"))
        mean = json.loads(self.ok("score", model, one, "--json").stdout)["mean_loglik"]
        outcomes = [[i, j, k] for i in range(3) for j in range(3) for k in range(3) if len({i, j, k}) == 3]
        p = [sum(c["weight"] * pl_probability(c["utilities"], o) for c in HAND_MODEL["components"]) for o in outcomes]
        entropy = -sum(x * math.log(x) for x in p)
        spread = math.sqrt(sum(x * (math.log(x) + entropy) ** 2 for x in p) / 4000)
        self.assertLess(abs(mean + entropy), 6 * spread)  # false alarm below 2e-9

    def test_sample_pipes_into_fit(self):
        model = self.path("hand.json", HAND_MODEL)
        drawn = self.ok("sample", model, "-n", 500)
        fitted = json.loads(self.ok("fit", "-", "--json", stdin=drawn.stdout).stdout)
        self.assertEqual(fitted["fit"]["num_rankings"], 500)

    def mallows_pair(self):
        return self.path("pair.json", {"schema": "caucus.model/1", "family": "mallows", "items": [f"i{i}" for i in range(10)], "components": [
            {"weight": 0.6, "consensus": list(range(10)), "theta": 0.9}, {"weight": 0.4, "consensus": [3, 1, 0, 2, 9, 8, 4, 5, 7, 6], "theta": 0.6}]})

    def test_sample_in_blocks_writes_the_same_bytes(self):
        # A .soc file counts its rankings in the header and is drawn at once; JSON lines are drawn block by block.
        model = self.mallows_pair()
        whole, blocks = self.path("whole.soc"), self.path("blocks.jsonl")
        self.ok("sample", model, "-n", 20000, "--seed", 7, "--out", whole, "--labels", self.path("one.csv"))
        self.ok("sample", model, "-n", 20000, "--seed", 7, "--out", blocks, "--labels", self.path("two.csv"))
        piped = self.ok("sample", model, "-n", 20000, "--seed", 7)
        self.ok("convert", whole, self.path("whole.jsonl"))
        texts = [open(self.path(name), encoding="utf-8").read() for name in ("whole.jsonl", "blocks.jsonl", "one.csv", "two.csv")]
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], piped.stdout)
        self.assertEqual(texts[2], texts[3])

    def test_tensor_streams_from_pipe_and_file(self):
        model = self.mallows_pair()
        data, soc = self.path("draws.jsonl"), self.path("draws.soc")
        self.ok("sample", model, "-n", 30000, "--out", data)
        self.ok("convert", data, soc)
        fit = ("--family", "mallows", "--method", "tensor", "--polish", "off", "--json")
        with open(data, encoding="utf-8") as file:
            piped = json.loads(self.ok("fit", "-", *fit, "--out", self.path("piped.json"), stdin=file.read()).stdout)
        direct = json.loads(self.ok("fit", data, *fit, "--out", self.path("direct.json")).stdout)
        other = json.loads(self.ok("fit", soc, *fit).stdout)
        self.assertEqual(piped["fit"]["loglik"], direct["fit"]["loglik"])
        self.assertEqual(piped["data"]["digest"], direct["data"]["digest"])
        self.assertEqual(other["data"]["digest"], direct["data"]["digest"])
        self.assertEqual(direct["fit"]["num_rankings"], 30000)
        models = [json.load(open(self.path(name), encoding="utf-8")) for name in ("piped.json", "direct.json")]
        self.assertEqual(models[0]["components"], models[1]["components"])
        self.assertEqual([c["consensus"] for c in models[0]["components"]], [list(range(10)), [3, 1, 0, 2, 9, 8, 4, 5, 7, 6]])
        score = json.loads(self.ok("score", self.path("direct.json"), data, "--json").stdout)
        self.assertAlmostEqual(score["loglik"] / direct["fit"]["loglik"], 1.0, places=11)
        polished = json.loads(self.ok("fit", data, *fit[:4], "--json").stdout)
        self.assertGreaterEqual(polished["fit"]["loglik"], direct["fit"]["loglik"])

    def test_memory_of_sample_and_tensor_does_not_grow_with_the_data(self):
        with open(CAUCUS, "rb") as binary:
            if b"__asan_init" in binary.read():
                self.skipTest("the sanitizer keeps freed memory")
        model, peaks = self.mallows_pair(), {}
        for count in (100000, 600000):
            sample = subprocess.Popen([CAUCUS, "sample", model, "-n", str(count)], stdout=subprocess.PIPE)
            fit = subprocess.Popen([CAUCUS, "fit", "-", "--family", "mallows", "--method", "tensor", "--polish", "off", "--json"],
                                   stdin=sample.stdout, stdout=subprocess.DEVNULL)
            sample.stdout.close()
            peaks[count] = []
            for process in (sample, fit):
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                peaks[count].append(usage.ru_maxrss / 1024)
        for small, large in zip(peaks[100000], peaks[600000]):
            self.assertLess(large, small + 8, peaks)  # the text of the other 500,000 alone is 27 MB

    # info, convert, families
    def test_info_keys(self):
        info = json.loads(self.ok("info", TOWN, "--json").stdout)
        for key in ("num_items", "num_rankings", "num_unique", "kind", "min_length", "max_length", "has_ties", "strongly_connected", "items", "warnings"):
            self.assertIn(key, info)
        self.assertEqual((info["num_rankings"], info["kind"], info["has_ties"]), (2400, "partial", False))
        self.assertIn("2400 rankings", self.ok("info", TOWN).stdout)

    def test_order_of_categories_can_be_said(self):
        # Two items, one in each category; the names of the categories say nothing of their order.
        path = self.path("votes.cat", "# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n"
                         "# NUMBER CATEGORIES: 2\n# CATEGORY NAME 1: red\n# CATEGORY NAME 2: blue\n3: 1,2\n")
        for order, first in (("best-first", ["a", "b"]), ("worst-first", ["b", "a"])):
            lines = self.ok("convert", path, "-", "--to", "jsonl", "--categories", order).stdout.splitlines()
            self.assertEqual(json.loads(lines[-1])["ranking"], first)
        self.assertEqual(caucus("info", path, "--categories", "sideways").returncode, 64)

    def test_convert_says_what_was_lost_and_round_trips(self):
        there, back = self.path("town.jsonl"), self.path("town.soi")
        self.ok("convert", TOWN, there)
        self.ok("convert", there, back)
        digests = [json.loads(self.ok("info", path, "--json").stdout)["digest"] for path in (TOWN, there, back)]
        self.assertEqual(len(set(digests)), 1)

    def test_families_json_and_fresh_options_page(self):
        listed = json.loads(self.ok("families", "--json").stdout)["families"]
        pl = next(family for family in listed if family["name"] == "pl")
        self.assertTrue(pl["summary"] and pl["methods"] and pl["accepts"])
        for option in pl["options"]:
            self.assertLessEqual({"name", "default", "min", "max", "help"}, set(option))
        with open(os.path.join(SOURCE, "docs", "options.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.ok("families", "--markdown").stdout, "docs/options.md is stale: run 'make docs'")

    def test_help_of_every_command_has_examples(self):
        top = self.ok("--help").stdout
        for command in ("fit", "score", "assign", "sample", "info", "convert", "families", "completion"):
            self.assertIn(command, top)
            self.assertIn("Examples:", self.ok(command, "--help").stdout)
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("caucus", self.ok("completion", shell).stdout)
        subprocess.run(["bash", "-n"], input=self.ok("completion", "bash").stdout, text=True, check=True)

    # errors
    def test_exit_codes_and_messages(self):
        broken = self.soi("broken.soi", ["1: 1,2", "2: 1,1,3", "x: 2", "1: 9,1"])
        cases = [
            (("fit",), 64, "data"),
            (("nonsense",), 64, ""),
            (("fit", TOWN, "-k", "0"), 64, "components = 0 is outside [1, 1000]"),
            (("fit", TOWN, "--family", "none"), 64, "none"),
            (("fit", TOWN, "--no-such-flag"), 64, "no-such-flag"),
            (("fit", TOWN, "--family", "mallows", "--starts", "3"), 64, "--starts is now called --restarts"),
            (("fit", TOWN, "--family", "mallows", "--errors=off"), 64, "--errors is now called --standard-errors"),
            (("fit", TOWN, "--max-iterations", "3"), 64, "--max-iterations is now called --iterations"),
            (("fit", TOWN, "--centre", "off"), 64, "--centre is now called --center"),
            (("fit", TOWN, "--family", "dpm", "--iterations", "10"), 64, "--iterations is now called --sweeps"),
            (("select", TOWN, "--family", "mallows", "--set", "starts=3"), 64, "'starts' is now called 'restarts'"),
            (("compare", TOWN, "--families", "dpm:iterations=10"), 64, "'iterations' is now called 'sweeps'"),
            (("regress", TOWN, "--target", "x", "--max-steps", "3"), 64, "--max-steps is now called --iterations"),
            (("regress", TOWN, "--target", "x", "--method", "gibbs", "--iterations", "3"), 64, "--sweeps"),
            (("info", broken), 65, "broken.soi:6:"),
            (("info", self.path("missing.soi")), 66, "missing.soi"),
            (("score", self.path("m.json", "{]"), TOWN), 65, "m.json:1:"),
            (("score", self.path("n.json", {"schema": "other"}), TOWN), 65, "caucus.model/1"),
            (("fit", TOWN, "-k", 1, "--out", "/no/such/folder/m.json"), 74, "/no/such/folder"),
        ]
        for args, code, text in cases:
            with self.subTest(args=args):
                result = caucus(*args)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(text, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_all_diagnostics_of_a_bad_file_are_shown_up_to_twenty(self):
        bad = self.soi("bad.soi", ["1: 1,1"] * 50)
        result = caucus("info", bad)
        self.assertEqual(result.returncode, 65)
        shown = [line for line in result.stderr.splitlines() if "bad.soi:" in line]
        self.assertTrue(15 <= len(shown) <= 21, result.stderr)

    def test_a_failed_run_leaves_no_file(self):
        out = self.path("out.jsonl")
        self.assertEqual(caucus("convert", self.soi("b.soi", ["1: 1,1"]), out).returncode, 65)
        self.assertFalse(os.path.exists(out))

    def test_known_groups_are_compared_with(self):
        model = self.path("hand.json", HAND_MODEL)
        data, labels, out = self.path("drawn.soc"), self.path("labels.csv"), self.path("m.csv")
        self.ok("sample", model, "-n", 200, "--out", data, "--labels", labels)
        truth = json.loads(self.ok("assign", model, data, "--truth", labels, "--out", out, "--json").stdout)["truth"]
        self.assertTrue(0.0 <= truth["misclassification"] <= 0.5, truth)
        self.assertTrue(0.0 <= truth["calibration_error"] <= 1.0 and truth["calibration"], truth)
        os.remove(out)
        short = self.path("short.csv")
        with open(short, "w", encoding="utf-8") as file:
            file.write("label\n1\n")
        result = caucus("assign", model, data, "--truth", short, "--out", out)
        self.assertEqual(result.returncode, 65, result.stderr)
        self.assertIn("short.csv", result.stderr)
        self.assertFalse(os.path.exists(out))

    # select, compare, check
    def test_select_chooses_and_writes_the_model(self):
        _, data = self.two_groups()
        out, report = self.path("chosen.json"), self.path("chosen.html")
        for criterion in ("halves", "ebic", "bic", "aic", "icl", "cv", "holdout"):
            result = json.loads(self.ok("select", data, "-k", "1..3", "--criterion", criterion, "--folds", 3, "--out", out, "--json").stdout)
            self.assertEqual((result["criterion"], result["model"]), (criterion, out))
            self.assertEqual([row["k"] for row in result["table"]], [1, 2, 3])
            self.assertEqual(set(result["table"][0]) >= {"k", "loglik", "bic", "aic", "icl", "heldout_mean", "heldout_se", "seconds"}, True)
            self.assertEqual(result["table"][0]["heldout_mean"] is None, criterion not in ("halves", "cv", "holdout"))
            if criterion in ("halves", "ebic", "bic", "icl"):
                self.assertEqual(result["chosen_k"], 2, result)
            with open(out, encoding="utf-8") as file:
                model = json.load(file)
            self.assertEqual(len(model["components"]), result["chosen_k"])
            self.assertEqual(model["selection"]["chosen_k"], result["chosen_k"])
        shown = self.ok("select", data, "--criterion", "cv", "--one-se", "-k", "1..3", "--report", report)
        self.assertIn("<- chosen", shown.stdout)
        self.assertIn("2 groups by held-out likelihood", shown.stdout)
        self.assertTrue(os.path.getsize(report) > 10000)
        self.assertIn("-k auto goes on", self.ok("select", data, "-k", "1,2").stderr)
        self.assertEqual(caucus("select", data, "-k", "4..2").returncode, 64)
        self.assertEqual(caucus("select", data, "--family", "kde").returncode, 64)

    def test_select_interrupted_keeps_the_rows_that_are_done(self):
        _, data = self.two_groups()
        out = self.path("chosen.json")
        # Forty times thirty-one fits: some are done after a moment, not all.
        process = subprocess.Popen([CAUCUS, "select", data, "-k", "1..40", "--criterion", "cv", "--folds", "30", "--out", out, "--json", "--threads", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, stderr)
        table = json.loads(stdout)["table"]
        self.assertTrue(1 <= len(table) < 40, table)
        self.assertEqual([row["k"] for row in table], list(range(1, len(table) + 1)))
        self.assertTrue(os.path.exists(out))

    def test_compare_on_the_same_folds(self):
        _, data = self.two_groups()
        out = self.path("compare.json")
        result = json.loads(self.ok("compare", data, "--families", "pl:1,pl:1..3,mallows:2,gmallows:2,m4:2,dpm:sweeps=60;burnin=30,kde,ebms",
                                    "--folds", 3, "--out", out, "--json").stdout)
        with open(out, encoding="utf-8") as file:
            self.assertEqual(json.load(file), result)
        self.assertEqual(len(result["table"]), 8)
        means = [row["heldout_mean"] for row in result["table"]]
        self.assertEqual(means, sorted(means, reverse=True))
        for row in result["table"]:
            self.assertAlmostEqual(row["behind_best"], means[0] - row["heldout_mean"], places=9)
            self.assertTrue(row["seconds"] > 0 and row["peak_bytes"] > 1e6 and row["groups"] >= 1)
        rows = {row["label"]: row for row in result["table"]}
        self.assertEqual(rows["pl:1..3"]["groups"], 2)
        self.assertGreater(rows["pl:1"]["behind_best"], 4 * rows["pl:1"]["behind_se"])
        # Families that cannot take the data say why and are left out.
        races = self.soi("races.soi", ["3: 1,2", "2: 2,3", "2: 3,1", "1: 2,1,3", "2: 1,3,2"])
        table = json.loads(self.ok("compare", races, "--unranked", "absent", "--families", "pl:1,m4:2,mallows:1", "--folds", 2, "--json").stdout)["table"]
        refused = {row["label"]: row["refused"] for row in table if "refused" in row}
        self.assertIn("m4:2", refused)
        self.assertNotIn("pl:1", refused)
        self.assertIn("left out: ", self.ok("compare", races, "--unranked", "absent", "--families", "pl:1,m4:2", "--folds", 2).stdout)

    def test_compare_does_not_rank_different_sample_spaces(self):
        data = self.soi("tied.toc", ["5: 1,2,3", "4: 2,{1,3}", "6: 3,1,2", "3: {1,2},3", "4: 2,3,1"])
        result = json.loads(self.ok("compare", data, "--families", "pl:1,mallows:1", "--folds", 2, "--json").stdout)
        self.assertIn("sample space", result["note"])
        self.assertIn("refused", {row["label"]: row for row in result["table"]}["pl:1"])

    def test_check_tells_a_model_that_fits_from_one_that_does_not(self):
        model, data = self.two_groups(1000)
        one = self.path("one.json")
        self.ok("fit", data, "-k", 1, "--out", one)
        good = json.loads(self.ok("check", model, data, "--json").stdout)["checks"]
        bad = json.loads(self.ok("check", one, data, "--json").stdout)["checks"]
        self.assertEqual([check["name"] for check in good], ["first places", "pairs"])
        self.assertTrue(all(check["p_value"] > 0.01 for check in good), good)
        self.assertEqual(min(check["p_value"] for check in bad), 0.01)

    def test_control_characters_in_names_do_not_reach_the_terminal(self):
        data = self.soi("c.soi", ["1: 1,2", "1: 2,1"], items=["\033[31mred", "plain"])
        self.assertNotIn("\033", self.ok("fit", data).stdout)

    def test_interrupt_keeps_the_best_result(self):
        model = self.path("hand.json", {**HAND_MODEL, "items": [f"i{i}" for i in range(30)], "components": [
            {"weight": 0.5, "utilities": [math.sin(k + i) for i in range(30)]} for k in range(2)]})
        data, out = self.path("big.soc"), self.path("m.json")
        self.ok("sample", model, "-n", 5000, "--out", data)
        # A chain so long that only the signal can end it.
        process = subprocess.Popen([CAUCUS, "fit", data, "-k", "2", "--method", "gibbs", "--sweeps", "100000000", "--burnin", "10", "--out", out, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("sweep", process.stderr.readline())  # it is at work
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertEqual(json.loads(stdout)["fit"]["stop_reason"], "interrupted")
        with open(out, encoding="utf-8") as file:
            self.assertTrue(math.isfinite(json.load(file)["fit"]["loglik"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)

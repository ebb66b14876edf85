#!/usr/bin/env python3
"""What all commands have in common: help, the manual, where output goes, how many groups.

Usage: test_commands.py PATH-TO-CAUCUS SOURCE-DIR
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

from support import TOWN, Case, caucus

COMMANDS = ("fit", "score", "assign", "sample", "generate", "info", "convert", "select", "compare", "check", "distance", "families", "name", "regress",
            "predict", "completion", "help", "man")


class Commands(Case):
    def battles(self):
        return self.path("battles.csv", "model_a,model_b,winner\n" + "a,b,model_a\nb,c,model_a\nc,a,model_a\na,c,model_a\nb,a,model_a\n" * 20)

    # help
    def test_caucus_alone_and_help_explain(self):
        top = self.ok("--help").stdout
        self.assertEqual(self.ok().stdout, top)
        self.assertEqual(self.ok("help").stdout, top)
        for command in COMMANDS:
            self.assertIn(command, top)
            self.assertEqual(self.ok("help", command).stdout, self.ok(command, "--help").stdout)

    def test_mistyped_words_are_guessed(self):
        cases = [
            (("fti", TOWN), "there is no command 'fti'; did you mean fit?"),
            (("selct", TOWN), "did you mean select?"),
            (("compar",), "did you mean compare?"),
            (("help", "asign"), "did you mean assign?"),
            (("fit", TOWN, "--component", "3"), "caucus fit has no option --component; did you mean --components?"),
            (("fit", TOWN, "--familly=pl"), "did you mean --family?"),
            (("fit", TOWN, "-k", "2", "--sede", "3"), "did you mean --seed?"),
            (("xyzzy",), "there is no command 'xyzzy'"),
            (("fit", TOWN, "--xyzzy"), "caucus fit has no option --xyzzy"),
        ]
        for args, text in cases:
            with self.subTest(args=args):
                result = caucus(*args)
                self.assertEqual((result.returncode, result.stdout), (64, ""))
                self.assertIn(text, result.stderr)
                self.assertEqual("did you mean" in text, "did you mean" in result.stderr)

    def test_pages_of_the_manual(self):
        folder = self.path("man1")
        self.ok("man", "--out", folder)
        self.assertEqual({"caucus.1"} | {f"caucus-{command}.1" for command in COMMANDS}, set(os.listdir(folder)) - {"caucus-report.1"})
        with open(os.path.join(folder, "caucus-fit.1"), encoding="utf-8") as page:
            self.assertEqual(page.read(), self.ok("man", "fit").stdout)
        self.assertEqual(caucus("man", "fti").returncode, 64)
        if shutil.which("man") is None:
            self.skipTest("man is missing")
        for name in os.listdir(folder):
            shown = subprocess.run(["man", "--warnings", "-l", os.path.join(folder, name)], capture_output=True, text=True,
                                   env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)
            if name == "caucus-fit.1":
                for text in ("NAME", "caucus-fit", "--components", "--time-limit", "EXAMPLES", "caucus fit votes.soi -k 3"):
                    self.assertIn(text, shown.stdout)

    # where output goes
    def test_json_holds_the_model_and_what_the_terminal_shows(self):
        out = self.path("m.json")
        fitted = json.loads(self.ok("fit", TOWN, "-k", 2, "--out", out, "--json").stdout)
        self.assertEqual(fitted.pop("model"), out)
        self.assertEqual(fitted, self.read("m.json"))
        selected = json.loads(self.ok("select", TOWN, "-k", "1,2", "--out", out, "--json").stdout)
        self.assertEqual(selected["fitted"]["components"], self.read("m.json")["components"])
        self.assertTrue(selected["why"])
        info = json.loads(self.ok("info", TOWN, "--json").stdout)
        self.assertEqual(sum(info["first"]), info["num_rankings"])
        self.assertTrue(all(first <= listed for first, listed in zip(info["first"], info["listed"])))
        self.assertEqual(len(info["listed"]), info["num_items"])
        self.assertIn(info["first_ranking"][0], info["items"])
        table = self.path("t.csv", "x,kind\n" + "1,a\n2,b\n3,a\n4,b\n" * 5)
        regressed = json.loads(self.ok("regress", table, "--target", "kind", "--out", out, "--json").stdout)
        for key, value in self.read("m.json").items():
            self.assertEqual(regressed[key], value)

    def test_out_dash_writes_data_alone(self):
        _, data = self.two_groups(100)
        for args in (("fit", data, "-k", 2), ("select", data, "-k", "1..2"), ("compare", data, "--families", "pl:1,pl:2", "--folds", 2)):
            with self.subTest(args=args):
                result = self.ok(*args, "--out", "-")
                self.assertIn("schema", json.loads(result.stdout))
                self.assertNotIn("written to", result.stderr)
                both = caucus(*args, "--out", "-", "--json")
                self.assertEqual((both.returncode, both.stdout), (64, ""))
                self.assertIn("standard output", both.stderr)

    def test_quiet_is_quiet(self):
        unconnected = self.soi("d.soi", ["5: 1,2,3", "3: 1,3,2"] * 5)  # a never loses
        out = self.path("m.json")
        self.assertIn("warning", self.ok("fit", unconnected, "-k", 1).stderr)
        result = self.ok("fit", unconnected, "-k", 1, "-q", "--out", out)
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        result = self.ok("fit", unconnected, "-k", 1, "-q")
        self.assertEqual(result.stderr, "")
        self.assertIn("Group 1", result.stdout)
        result = self.ok("select", unconnected, "-k", "1,2", "-q", "--json", "--out", out)
        self.assertEqual(result.stderr, "")
        self.assertIn("table", json.loads(result.stdout))

    def test_no_warning_twice(self):
        unconnected = self.soi("d.soi", ["5: 1,2,3", "3: 1,3,2"] * 5)
        _, data = self.two_groups(100)
        for args in (("fit", unconnected, "-k", 2), ("fit", unconnected), ("select", unconnected, "-k", "1..3"), ("fit", self.battles(), "-k", 2),
                     ("compare", data, "--families", "pl:1,pl:2", "--folds", 2)):
            warnings = [line for line in self.ok(*args).stderr.splitlines() if line.startswith("warning")]
            self.assertEqual(len(warnings), len(set(warnings)), warnings)

    def test_tables_fit_eighty_columns(self):
        model, data = self.two_groups(200)
        cases = [("info", TOWN), ("info", data), ("distance", model, model), ("check", model, data), ("select", data, "-k", "1..2"),
                 ("compare", data, "--families", "pl:k=2;method=em;restarts=3;tolerance=1e-7,m4:2,kde", "--folds", 2)]
        cases += [("select", TOWN, "-k", "1..2", "--criterion", criterion, "--folds", 2) for criterion in ("ebic", "cv")]
        one = self.path("one.json")
        self.ok("fit", TOWN, "-k", 1, "--out", one)
        cases.append(("check", one, TOWN))
        cases += [("fit", TOWN, "-k", 2), ("fit", data, "--family", "mallows", "-k", 2), ("fit", data), ("fit", data, "--family", "dpm", "--sweeps", 60, "--burnin", 20)]
        for args in cases:
            for line in self.ok(*args).stdout.splitlines():
                self.assertLessEqual(len(line), 80, (args, line))

    def test_check_says_how_many_ballots_and_why(self):
        model, data = self.two_groups(300)
        self.assertIn("All 300 ballots", self.ok("check", model, data).stdout)
        some = self.ok("check", model, data, "--max-ballots", 100)
        result = json.loads(self.ok("check", model, data, "--max-ballots", 100, "--json").stdout)
        self.assertEqual(result["num_rankings"], 300)
        self.assertIn(f"{result['num_ballots']} of 300 ballots, drawn at random to save time (--max-ballots 300 takes all)", " ".join(some.stdout.split()))

    def test_check_says_which_kind_its_p_values_are(self):
        model, data = self.two_groups(200)
        one, two = self.path("one.json"), self.path("fitted.json")
        self.ok("fit", data, "-k", 1, "--out", one)
        self.ok("fit", data, "-k", 2, "--out", two)
        plain = self.ok("check", two, data, "--replicates", 19)
        self.assertIn("were not fitted again", " ".join(plain.stdout.split()))
        anew = self.ok("check", two, data, "--replicates", 19, "--refit")
        self.assertIn("19 data sets simulated from the model, the model fitted anew to each", " ".join(anew.stdout.split()))
        for flags, kind in (((), False), (("--refit",), True)):
            result = json.loads(self.ok("check", two, data, "--replicates", 19, "--json", *flags).stdout)
            self.assertIs(result["refitted"], kind)
            self.assertIn(" ".join(result["note"].split()), " ".join((anew if kind else plain).stdout.split()))
        bad = json.loads(self.ok("check", one, data, "--replicates", 19, "--refit", "--json").stdout)
        self.assertEqual(bad["checks"][0]["p_value"], 0.05)
        again = json.loads(self.ok("check", one, data, "--replicates", 19, "--refit", "--json", "--threads", 1).stdout)
        self.assertEqual(bad, again)
        for family in ("mallows", "dpm"):
            self.ok("fit", data, "--family", family, *(["-k", 1] if family != "dpm" else ["--sweeps", 30, "--burnin", 10]), "--out", one)
            self.assertEqual(len(json.loads(self.ok("check", one, data, "--replicates", 19, "--refit", "--json", "--max-ballots", 60).stdout)["checks"]), 2)
        late = caucus("check", two, data, "--refit", "--replicates", 90000, "--time-limit", 0.05)
        self.assertEqual(late.returncode, 75)
        self.assertIn("allow more time", late.stderr)

    # how many groups
    def test_fit_chooses_the_number_of_groups_and_says_why(self):
        _, data = self.two_groups()
        out = self.path("m.json")
        shown = self.ok("fit", data, "--out", out).stdout
        self.assertTrue(shown.startswith("2 groups: "), shown)
        for text in ("than 1 group by", "agreement", "The answer is", "3 groups: ", "Group 2"):
            self.assertIn(text, " ".join(shown.split()))
        model = self.read("m.json")
        self.assertEqual((model["selection"]["criterion"], model["selection"]["chosen_k"], len(model["components"])), ("halves", 2, 2))
        self.assertEqual(self.ok("fit", data, "-k", "auto").stdout.split("\n\n")[0], shown.split("\n\n")[0])
        chosen = json.loads(self.ok("select", data, "--json").stdout)
        self.assertEqual(chosen["why"], model["selection"]["why"])
        self.assertEqual(chosen["fitted"]["components"], model["components"])
        given = self.path("given.json")
        self.ok("fit", data, "-k", 2, "--out", given)
        self.assertNotIn("selection", self.read("given.json"))
        self.assertEqual(caucus("fit", data, "--family", "kde", "-k", "auto").returncode, 64)

    def test_groups_that_cannot_be_told_apart_are_not_looked_for(self):
        words = "cannot tell groups of voters from one another"
        single = self.soi("single.soi", ["9: 1", "5: 2", "12: 3"])
        for data, what in ((self.battles(), "single comparison of two items"), (single, "lists one item only")):
            shown = self.ok("fit", data)
            self.assertIn(words, " ".join(shown.stdout.split()).split("1 group in")[0])
            self.assertIn(what, " ".join(shown.stdout.split()))
            self.assertEqual(json.loads(self.ok("select", data, "--json").stdout)["chosen_k"], 1)
            told = self.ok("fit", data, "-k", 3)
            self.assertIn(words, told.stderr.splitlines()[0])
            self.assertIn(words, self.ok("select", data, "-k", "1..2").stderr.splitlines()[0])
            self.assertIn(words, json.loads(self.ok("fit", data, "-k", 3, "--json", "-q").stdout)["fit"]["warnings"][0])
            self.assertEqual(self.ok("fit", data, "-k", 1, "--json").stderr.count(words), 0)
        few = self.soi("few.soi", ["3: 1,2,3", "2: 3,2,1"])
        self.assertIn("5 ballots are too few to look for groups", self.ok("fit", few).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)

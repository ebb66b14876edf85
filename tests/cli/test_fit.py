#!/usr/bin/env python3
"""Fits through the command line: options, help and time limits mean the same in fit, select and compare.

Usage: test_fit.py PATH-TO-CAUCUS SOURCE-DIR
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CAUCUS, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOWN = os.path.join(SOURCE, "examples", "town.soi")
UNFINISHED = 75


def caucus(*args, cwd=None):
    return subprocess.run([CAUCUS, *map(str, args)], capture_output=True, text=True, timeout=300, cwd=cwd)


class Fits(unittest.TestCase):
    def test_json_is_the_model_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "m.json")
            printed = json.loads(caucus("fit", TOWN, "-k", 2, "--out", out, "--json").stdout)
            with open(out, encoding="utf-8") as file:
                model = json.load(file)
        self.assertEqual(printed.pop("model"), out)
        self.assertEqual(printed, model)
        self.assertEqual(len(printed["components"]), 2)

    def test_an_empty_text_is_not_a_switch(self):
        with tempfile.TemporaryDirectory() as folder:
            result = caucus("fit", TOWN, "--family", "dpm", "--burnin", 2, "--checkpoint", "", cwd=folder)
            self.assertEqual(os.listdir(folder), [], result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_help_of_a_family_shows_its_own_options_and_defaults(self):
        families = {one["name"]: one for one in json.loads(caucus("families", "--json").stdout)["families"]}
        of_the_command = {"checkpoint", "checkpoint-every"}  # families that keep a file of their own read these too
        for name, family in families.items():
            shown = " ".join(caucus("fit", "--family", name, "--help").stdout.split())
            own = {option["name"] for option in family["options"]}
            for option in family["options"]:
                self.assertIn("--" + option["name"], shown)
                if option["name"] in of_the_command:
                    continue
                default = "auto: chosen" if option["name"] == "components" else option["default"]
                self.assertIn(f"[{default}]", shown, (name, option["name"]))
            for other in families.values():
                for option in other["options"]:
                    if option["name"] not in own | of_the_command:
                        self.assertNotIn(f"--{option['name']} ", shown, name)
        everything = caucus("fit", "--help").stdout
        for family in families.values():
            for option in family["options"]:
                self.assertIn("--" + option["name"], everything)

    def test_select_says_which_fits_the_time_limit_left_out(self):
        result = caucus("select", TOWN, "-k", "1..9", "--criterion", "cv", "--time-limit", 0.05, "--json")
        self.assertEqual(result.returncode, UNFINISHED, result.stderr)
        selected = json.loads(result.stdout)
        self.assertIn(9, selected["unfinished"])
        self.assertFalse({row["k"] for row in selected["table"]} & set(selected["unfinished"]))
        self.assertIn("time limit", result.stderr)
        self.assertIn("9", result.stderr)

    def test_compare_does_not_rank_what_the_time_limit_cut_short(self):
        result = caucus("compare", TOWN, "--families", "pl:9,dpm", "--time-limit", 0.05, "--json")
        self.assertEqual(result.returncode, UNFINISHED, result.stderr)
        for row in json.loads(result.stdout)["table"]:
            self.assertIn("time limit", row["refused"])

    def test_fit_keeps_what_it_has_at_the_time_limit(self):
        result = caucus("fit", TOWN, "--family", "dpm", "--time-limit", 0.1, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["fit"]["stop_reason"], "time_limit")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""bench/corners.py: a right answer is measured, a wrong one ends in exit 1, what is missing is said. Usage: test_corners.py CAUCUS SOURCE. 77 without numpy."""
import importlib.util
import os
import stat
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("numpy") is None:
    print("numpy is not installed", file=sys.stderr)
    sys.exit(77)
CAUCUS, SOURCE = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
CORNERS = os.path.join(SOURCE, "bench", "corners.py")

# caucus whose log-likelihoods are off by a tenth, and one that fails.
LIAR = """#!/bin/sh
"{caucus}" "$@" | sed 's/"loglik": -6/"loglik": -5/'
"""
FAILS = "#!/bin/sh\necho no such thing >&2\nexit 70\n"


class Corners(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def program(self, text):
        path = os.path.join(self.folder.name, "other")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(caucus=CAUCUS))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def run_lines(self, program, *names):
        return subprocess.run([sys.executable, CORNERS, program, *names], capture_output=True, text=True, check=False,
                              env={**os.environ, "BENCH_FOLDER": self.folder.name, "CAUCUS_DATA": os.path.join(self.folder.name, "none")})

    def test_a_right_answer_is_measured(self):
        ran = self.run_lines(CAUCUS, "weighted-battles")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"weighted-battles 198 distinct battles with weights, K = 4: [0-9.e+]+ s \| wanted at most 2 s \| (NOT )?met\n")

    def test_a_wrong_answer_is_an_error(self):
        ran = self.run_lines(self.program(LIAR), "weighted-battles")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn("WRONG ANSWER: weighted-battles: log-likelihood", ran.stdout)
        self.assertNotIn("wanted", ran.stdout)

    def test_a_failure_is_an_error_and_told(self):
        ran = self.run_lines(self.program(FAILS), "weighted-battles")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("exit 70, no such thing", ran.stdout)

    def test_missing_data_are_said_and_left_out(self):
        ran = self.run_lines(CAUCUS, "nascar", "gmallows-select")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(ran.stdout.count("left out:"), 2)

    def test_unknown_lines_are_refused(self):
        ran = self.run_lines(CAUCUS, "nosuch")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no such line: nosuch", ran.stderr)


if __name__ == "__main__":
    unittest.main()

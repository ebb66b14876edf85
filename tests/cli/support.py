"""What the tests of the command line share. They are called as: test_X.py PATH-TO-CAUCUS"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CAUCUS = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOWN = os.path.join(SOURCE, "examples", "town.soi")
HAND_MODEL = {
    "schema": "caucus.model/1", "family": "pl", "items": ["a", "b", "c"],
    "components": [{"weight": 0.75, "utilities": [1.0, 0.0, -1.0]}, {"weight": 0.25, "utilities": [-1.0, 0.0, 1.0]}],
}


def caucus(*args, stdin=None):
    return subprocess.run([CAUCUS, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, "w", encoding="utf-8") as out:
                out.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def soi(self, name, ballots, items="abc"):
        lines = [f"# NUMBER ALTERNATIVES: {len(items)}"] + [f"# ALTERNATIVE NAME {i + 1}: {n}" for i, n in enumerate(items)]
        return self.path(name, "\n".join(lines + ballots) + "\n")

    def ok(self, *args, **kwargs):
        result = caucus(*args, **kwargs)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def two_groups(self, count=600):
        model = self.path("two.json", {**HAND_MODEL, "items": list("abcde"), "components": [
            {"weight": 0.6, "utilities": [2.4, 1.2, 0.0, -1.2, -2.4]}, {"weight": 0.4, "utilities": [-2.4, -1.2, 0.0, 1.2, 2.4]}]})
        data = self.path("two.soc")
        self.ok("sample", model, "-n", count, "--seed", 3, "--out", data)
        return model, data

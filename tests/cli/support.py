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


def run(*words, expect=0, **more):
    done = subprocess.run([CAUCUS, *words], check=False, **{"capture_output": True, "text": True, **more})
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{words}: exit {done.returncode}, not {expect}\n{done.stderr}")
    return done


def without_time(path):
    """A model file without what a clock or the command line put there."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    model.pop("command", None)
    model.pop("created", None)

    def strip(value):
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in ("seconds", "command", "file", "source", "path", "threads", "checkpoint", "checkpoint-every")}
        return [strip(v) for v in value] if isinstance(value, list) else value

    return strip(model)


class OneFolder(unittest.TestCase):
    """A folder that all tests of a class share: what is dear to make is made once."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)


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

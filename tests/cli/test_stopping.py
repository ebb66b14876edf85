#!/usr/bin/env python3
"""Every command and method ends within two seconds of a signal or of its time limit, with what it has found.

Usage: test_stopping.py PATH-TO-CAUCUS [--quick | WORDS...], where only cases whose name contains all WORDS are run, or with --quick
time limits of those where a single step is long (many items, many groups, many ballots) and signals to the slowest

The seconds are those of the process's own CPU clock: a loaded machine does not make a test fail.
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CAUCUS = os.path.abspath(sys.argv[1])
QUICK = sys.argv[2:] == ["--quick"]
WORDS = [] if QUICK else sys.argv[2:]
AFTER = 2.0   # CPU seconds between the signal and the end
BEFORE = 0.4  # CPU seconds of work before the signal
TICK = os.sysconf("SC_CLK_TCK")
SLOWEST = {"fit ebms blurring on many", "fit mallows ulam on few", "fit m4 searchpi on few"}  # with --quick: these took more than 2 s once


def cpu_of(process):
    """CPU seconds of a running process, or None where it has ended."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else (int(fields[11]) + int(fields[12])) / TICK


def ballots(path, items, count, length=None, noise=0.4, seed=1):
    """Noisy copies of two opposite orders: work for minutes in most families."""
    draw = random.Random(seed)
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# NUMBER ALTERNATIVES: {items}\n" + "".join(f"# ALTERNATIVE NAME {i + 1}: item {i + 1}\n" for i in range(items)))
        for b in range(count):
            sign = 1 if b % 2 == 0 else -1
            order = sorted(range(1, items + 1), key=lambda i, s=sign: s * i + noise * items * draw.gauss(0, 1))
            out.write("1: " + ",".join(map(str, order[:length])) + "\n")
    return path


class Stopping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = lambda name: os.path.join(cls.folder.name, name)
        cls.many = ballots(path("many.soc"), 12, 3000)
        cls.wide = ballots(path("wide.soc"), 300, 40)
        cls.few = ballots(path("few.soc"), 300, 3, noise=5.0)
        cls.nascar = ballots(path("long.soi"), 885, 120, length=40)
        cls.small = ballots(path("small.soc"), 6, 100)
        cls.model = path("model.json")
        subprocess.run([CAUCUS, "fit", cls.many, "-k", "4", "--restarts", "1", "--iterations", "5", "--quiet", "--out", cls.model], check=True)
        with open(path("table.csv"), "w", encoding="utf-8") as out:
            draw = random.Random(2)
            out.write(",".join(f"x{j}" for j in range(30)) + ",y\n")
            for _ in range(3000):
                out.write(",".join(f"{draw.gauss(0, 1):.4f}" for _ in range(30)) + f",{draw.choice('abcd')}\n")
        cls.table = path("table.csv")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def cases(self):
        families = json.loads(subprocess.run([CAUCUS, "families", "--json"], capture_output=True, check=True).stdout)["families"]
        for family in families:
            options = {option["name"] for option in family["options"]}
            for method in family["methods"]:
                flags = ["--family", family["name"]] + (["--method", method] if "method" in options else [])
                flags += ["-k", "2" if method == "tensor" else "5"] if "components" in options else []
                sets = {"many": self.many, "wide": self.wide, "few": self.few}
                for name, data in sets.items():
                    yield f"fit {family['name']} {method} on {name}", ["fit", data, *flags]
        for family in ("pl", "mallows", "gmallows"):
            yield f"fit {family} with 885 items", ["fit", self.nascar, "--family", family, "-k", "3"]
            yield f"fit {family} bootstrap", ["fit", self.many, "--family", family, "-k", "2", "--restarts", "1", "--bootstrap", "10000"]
        for distance in ("spearman", "footrule", "hamming", "cayley", "ulam"):
            yield f"fit mallows {distance} on wide", ["fit", self.wide, "--family", "mallows", "-k", "2", "--distance", distance]
            yield f"fit mallows {distance} on few", ["fit", self.few, "--family", "mallows", "-k", "2", "--distance", distance]
        yield "fit dpm split-merge", ["fit", self.many, "--family", "dpm", "--split-merge", "50", "--sweeps", "100000"]
        yield "fit, groups chosen", ["fit", self.many]
        yield "select", ["select", self.many]
        yield "select cv", ["select", self.many, "--criterion", "cv"]
        yield "compare", ["compare", self.many]
        yield "compare all", ["compare", self.many, "--families", ",".join(family["name"] for family in families)]
        for method in ("em", "gibbs", "variational", "logit-lasso"):
            flags = ["--sweeps", "1000000"] if method in ("gibbs", "logit-lasso") else ["--a", "cv"] if method == "em" else []
            yield f"regress {method}", ["regress", self.table, "--target", "y", "--method", method, *flags]
        yield "check", ["check", self.model, self.many, "--replicates", "100000"]
        yield "sample", ["sample", self.model, "-n", "100000000", "--to", "jsonl", "--out", "/dev/null"]
        yield "sample at once", ["sample", self.model, "-n", "30000000", "--out", os.path.join(self.folder.name, "s.soc")]
        yield "score", ["score", self.model, self.many]
        yield "report", ["report", self.model, "--data", self.many, "--out", os.path.join(self.folder.name, "page.html")]

    def run_case(self, words, which):
        process = subprocess.Popen([CAUCUS, *words, "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        used, sent = 0.0, None
        begun = time.monotonic()
        while (now := cpu_of(process)) is not None:
            used = now
            if sent is None and used >= BEFORE:
                process.send_signal(which)
                sent = used
            if sent is not None and used - sent > 15 * AFTER or time.monotonic() - begun > 400:
                process.kill()
                break
            time.sleep(0.02)
        error = process.stderr.read().decode()
        process.wait()
        process.stderr.close()
        return process.returncode, used - sent if sent is not None else None, error

    def long_steps(self):
        """Cases that went on for minutes after their limit: what is long in each is no loop of the method, but one step of it."""
        wide, pairs, panel = self.path("very-wide.soi"), self.path("pairs.csv"), self.path("panel.soi")
        ballots(wide, 2000, 4, length=700, noise=2.0)
        draw = random.Random(3)
        with open(pairs, "w", encoding="utf-8") as out:
            out.write("a,b,winner\n")
            for _ in range(20000):
                a, b = draw.sample(range(100), 2)
                out.write(f"m{a},m{b},{draw.choice(['a', 'b', 'tie'])}\n")
        with open(panel, "w", encoding="utf-8") as out:
            out.write("# NUMBER ALTERNATIVES: 400\n" + "".join(f"# ALTERNATIVE NAME {i + 1}: item {i + 1}\n" for i in range(400)))
            for _ in range(10000):
                out.write("1: " + ",".join(str(i + 1) for i in draw.sample(range(400), 5)) + "\n")
        for family in ("mallows", "gmallows"):  # directions in 2000 dimensions
            yield f"fit {family}, 2000 items", ["fit", wide, "--family", family, "-k", "5"]
        yield "fit mallows, pairs", ["fit", pairs, "--family", "mallows", "-k", "5"]  # one search for a center
        yield "fit pl, 100 groups", ["fit", panel, "-k", "100"]  # hundreds of moves
        for name, data in (("2000 items", wide), ("300 items", self.wide)):  # one draw of a center, one table
            yield f"fit dpm, {name}", ["fit", data, "--family", "dpm"]
        yield "fit dpm, many ballots", ["fit", self.many, "--family", "dpm"]  # what is told of the clusters
        yield "fit m4, 300 items", ["fit", self.wide, "--family", "m4", "-k", "3"]  # normalisers
        yield "fit mallows ulam, 300 items", ["fit", self.few, "--family", "mallows", "-k", "2", "--distance", "ulam"]  # the normaliser, twice
        yield "fit ebms, many ballots", ["fit", self.many, "--family", "ebms"]  # every ballot a cluster
        ballots(self.path("ballots.soc"), 12, 20000)
        yield "fit kde, many ballots", ["fit", self.path("ballots.soc"), "--family", "kde"]  # every ballot with every other
        yield "compare kde, many ballots", ["compare", self.path("ballots.soc"), "--families", "kde"]
        yield "fit pl, bootstrap", ["fit", panel, "-k", "1", "--iterations", "2", "--bootstrap", "100"]  # a sample of 10,000 ballots of 400 items
        yield "compare, 300 items", ["compare", self.wide, "--families", "pl,mallows,gmallows,m4,kde"]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_signals(self):
        for number, (name, words) in enumerate(self.cases()):
            if not all(word in name for word in WORDS) or (QUICK and name not in SLOWEST):
                continue
            with self.subTest(name):
                code, after, error = self.run_case(words, signal.SIGTERM if number % 2 else signal.SIGINT)
                if WORDS:
                    print(f"{name}: exit {code}, {after} s after the signal")
                if after is None:  # done before it was told to end
                    self.assertEqual(code, 0, error)
                    continue
                self.assertLess(after, AFTER)
                self.assertIn(code, (0, 130, -signal.SIGINT, -signal.SIGTERM), error)

    def test_time_limit(self):
        """The limit counts seconds of the clock; a loaded machine gives fewer of the CPU, never more."""
        for name, words in self.long_steps() if QUICK else [*self.cases(), *self.long_steps()]:
            if not all(word in name for word in WORDS) or words[0] not in ("fit", "select", "compare", "regress", "check"):
                continue
            with self.subTest(name):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                result = subprocess.run([CAUCUS, *words, "--threads", "1", "--time-limit", "0.5", "--quiet"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=400)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                if WORDS:
                    print(f"{name}: {seconds:.1f} s with a limit of 0.5, exit {result.returncode}")
                self.assertLess(seconds, 0.5 + AFTER)
                self.assertIn(result.returncode, (0, 65, 75), result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""caucus-mpi gives the bits of caucus on 1, 2, 3 and 5 processes, and ends when one of them does.

Usage: test_mpi.py PATH-TO-CAUCUS PATH-TO-CAUCUS-MPI
"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from support import TOWN, OneFolder, run, without_time

MPI = os.path.abspath(sys.argv[2])


def mpirun(ranks, *words, expect=0, timeout=300):
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), MPI, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"{words}: exit {done.returncode}, not {expect}\n{done.stderr}")
    return done


class Mpi(OneFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.town = TOWN
        cls.cds = cls.path("large.cds")
        # So many that starts see a part, and passes over all are shared.
        run("generate", "--items", "12", "-k", "3", "--out", cls.path("truth.json"))
        run("sample", cls.path("truth.json"), "-n", "60000", "--out", cls.path("large.soc"))
        run("convert", cls.path("large.soc"), cls.cds)

    def same(self, name, words, ranks=(1, 2, 3, 5)):
        alone, shared = self.path(f"{name}.json"), self.path(f"{name}-mpi.json")
        run(*words, "-q", "--threads", "1", "--out", alone)
        for size in ranks:
            mpirun(size, *words, "-q", "--threads", "1", "--out", shared)
            self.assertEqual(without_time(shared), without_time(alone), f"{name} on {size} processes")

    def test_starts(self):
        self.same("town", ["fit", self.town, "-k", "3"])
        self.same("restarts", ["fit", self.town, "-k", "3", "--restarts", "6", "--init", "random"], ranks=(2, 3))

    def test_passes(self):
        self.same("pl", ["fit", self.cds, "-k", "3", "--restarts", "3"], ranks=(1, 2, 3, 5))
        self.same("emm", ["fit", self.cds, "-k", "3", "--method", "emm", "--iterations", "30", "--restarts", "2"], ranks=(2, 3))
        self.same("one", ["fit", self.cds, "-k", "1"], ranks=(3,))
        self.same("mallows", ["fit", self.cds, "--family", "mallows", "-k", "2", "--restarts", "3"], ranks=(2, 3))
        self.same("gmallows", ["fit", self.cds, "--family", "gmallows", "-k", "2", "--restarts", "2"], ranks=(2,))

    def test_chains_and_samples(self):
        draws = self.path("draws.soc")
        run("sample", self.path("truth.json"), "-n", "100", "--seed", "4", "--out", draws)
        self.same("dpm", ["fit", draws, "--family", "dpm", "--chains", "3", "--sweeps", "12", "--burnin", "4"], ranks=(2, 5))
        self.same("bootstrap", ["fit", draws, "-k", "2", "--bootstrap", "20"], ranks=(3,))
        self.same("stability", ["fit", draws, "--family", "mallows", "-k", "2", "--bootstrap", "10"], ranks=(2,))
        self.same("ebms", ["fit", draws, "--family", "ebms"], ranks=(3,))

    def test_regression(self):
        table = self.path("table.csv")
        draw = random.Random(2)
        with open(table, "w", encoding="utf-8") as file:
            file.write("x,y,kind\n")
            for _ in range(4000):
                x, y = draw.random(), draw.random()
                file.write(f"{x},{y},{'abc'[min(2, int(2 * x + y + draw.random()))]}\n")
        for method in ("em", "variational", "gibbs"):
            more = ["--sweeps", "40", "--burnin", "10", "--chains", "2"] if method == "gibbs" else []
            self.same(method, ["regress", table, "--target", "kind", "--method", method, *more], ranks=(2, 3))

    def test_a_chain_goes_on_from_its_checkpoint(self):
        draws, out = self.path("few.soc"), [self.path("chain1.json"), self.path("chain2.json")]
        run("sample", self.path("truth.json"), "-n", "60", "--seed", "9", "--out", draws)
        words = ["fit", draws, "--family", "dpm", "--chains", "3", "--burnin", "10", "-q", "--threads", "1"]
        run(*words, "--sweeps", "60", "--out", out[0])
        state = self.path("chain.ckpt")
        mpirun(2, *words, "--sweeps", "60", "--time-limit", "0.2", "--checkpoint", state, "--out", out[1], expect=None)
        mpirun(3, *words, "--sweeps", "60", "--checkpoint", state, "--out", out[1])
        models = [without_time(path) for path in out]
        for model in models:
            model["fit"]["options"] = None
        self.assertEqual(*models)

    def test_select_and_compare(self):
        self.same("select", ["select", self.town, "-k", "1..3"], ranks=(2, 3))
        out = [self.path("c1.json"), self.path("c2.json")]
        words = ["compare", self.town, "--families", "pl:2,mallows:2", "--folds", "3", "-q"]
        run(*words, "--out", out[0])
        mpirun(3, *words, "--out", out[1])
        tables = []
        for path in out:
            table = without_time(path)
            for row in table["table"]:
                row.pop("peak_bytes", None)
            tables.append(table)
        self.assertEqual(*tables)

    def test_what_is_not_shared_is_refused_by_name(self):
        self.assertIn("info is for one process", mpirun(2, "info", self.town, expect=None).stderr)
        for words in (["--family", "kde"], ["-k", "2", "--method", "gibbs"]):
            done = mpirun(2, "fit", self.town, *words, expect=None)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words[-1], done.stderr)
            self.assertIn("run it with caucus", done.stderr)

    def test_errors_are_said_once(self):
        done = mpirun(3, "fit", "/nowhere.soi", expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("/nowhere.soi"), 1, done.stderr)

    def test_one_of_four_is_killed(self):
        checkpoint, out = self.path("dead.ckpt"), self.path("dead.json")
        fit = ["fit", self.cds, "-k", "4", "--restarts", "6", "-q", "--threads", "1"]
        words = [*fit, "--out", out, "--checkpoint", checkpoint, "--checkpoint-every", "0", "--resume"]
        run(*fit, "--out", self.path("whole.json"))
        process = subprocess.Popen(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", MPI, *words],
                                   stderr=subprocess.PIPE, text=True)
        children = []
        until = time.monotonic() + 60
        while time.monotonic() < until:
            listed = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
            children = [int(word) for word in listed.stdout.split()]
            if len(children) == 4 and os.path.exists(checkpoint) and os.path.getsize(checkpoint) > 1000:
                break
            if process.poll() is not None:
                break
            time.sleep(0.02)
        self.assertEqual(len(children), 4)
        killed = time.monotonic()
        if process.poll() is None:
            os.kill(children[2], signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - killed, 60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("signal 9", said)
        mpirun(2, *words)
        self.assertEqual(without_time(out), without_time(self.path("whole.json")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/env python3
"""caucus-mpi gives the bits of caucus on 1, 2, 3 and 5 processes, and ends when one of them does.

Usage: test_mpi.py PATH-TO-CAUCUS PATH-TO-CAUCUS-MPI
"""
import json
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

    def test_each_has_a_part(self):
        """Texts of ballots of many lengths: every process lays out its own blocks, and all map one copy of the rankings."""
        draw = random.Random(11)
        mixed = self.path("mixed.soi")
        with open(mixed, "w", encoding="utf-8") as out:
            for _ in range(50000):
                items = draw.sample(range(1, 11), 10)
                items.sort(key=lambda item: item * draw.random())
                out.write(f"{draw.choice((1, 1, 2, 0.3))}: {','.join(map(str, items[:draw.randint(1, 10)]))}\n")
        for name, words in {"em": ["-k", "3", "--restarts", "2"],
                            "emm": ["-k", "3", "--method", "emm", "--iterations", "20"],
                            "em-lsr": ["-k", "2", "--method", "em-lsr", "--iterations", "12"],
                            "em-lsr-products": ["-k", "2", "--method", "em-lsr", "--chain", "implicit", "--iterations", "6"],
                            "subsets": ["-k", "2", "--restarts", "2", "--unranked", "absent"],
                            "mallows": ["--family", "mallows", "-k", "2", "--restarts", "2"],
                            "mallows1": ["--family", "mallows", "-k", "1"],
                            "gmallows": ["--family", "gmallows", "-k", "2", "--restarts", "2"]}.items():
            self.same(name, ["fit", mixed, *words], ranks=(2, 5) if name in ("em", "mallows") else (3,))
        self.same("gmallows-v", ["fit", self.cds, "--family", "gmallows", "-k", "2", "--code", "v", "--restarts", "2"], ranks=(3,))

    def test_ties_and_voters(self):
        draw = random.Random(5)
        ties, battles = self.path("ties.jsonl"), self.path("battles.csv")
        with open(ties, "w", encoding="utf-8") as out:
            for _ in range(4000):
                order = sorted(range(7), key=lambda i, turn=draw.choice((1, -1)): turn * i + 2 * draw.gauss(0, 1))
                groups, at = [], 0
                while at < len(order):
                    size = draw.choice((1, 1, 1, 2))
                    groups.append([f"i{i}" for i in order[at:at + size]])
                    at += size
                out.write(json.dumps({"ranking": groups}) + "\n")
        with open(battles, "w", encoding="utf-8") as out:
            out.write("rank1,rank2,rank3,who,age\n")
            for i in range(6000):
                order = sorted(range(9), key=lambda j, turn=1 if i // 4 % 3 else -1: turn * j + 3 * draw.gauss(0, 1))
                out.write(",".join(f"i{j}" for j in order[:3]) + f",v{i // 4},{20 + i // 4 % 50}\n")
        self.same("ties", ["fit", ties, "-k", "2", "--restarts", "2", "--iterations", "40"], ranks=(2, 3))
        self.same("ties-emm", ["fit", ties, "-k", "2", "--method", "emm", "--restarts", "1", "--iterations", "10"], ranks=(3,))
        voters = ["fit", battles, "--voter", "who", "-k", "2", "--restarts", "2"]
        self.same("voters", voters, ranks=(2, 5))
        self.same("voters-age", [*voters, "--membership", "age", "--iterations", "30"], ranks=(3,))
        self.same("voters-lsr", [*voters, "--method", "em-lsr", "--iterations", "12"], ranks=(2,))

    def test_spectral_ranking(self):
        self.same("lsr", ["fit", self.cds, "-k", "3", "--method", "em-lsr", "--restarts", "1", "--iterations", "10"], ranks=(2, 3))
        self.same("lsr-product", ["fit", self.cds, "-k", "2", "--method", "em-lsr", "--chain", "implicit", "--restarts", "1", "--iterations", "6"], ranks=(3,))
        self.same("spectral", ["fit", self.cds, "-k", "3", "--method", "spectral"], ranks=(2,))

    def test_every_process_reads_its_part(self):
        # What is read in parts, or file by file from a folder, and what is said of it, is what one process reads and says.
        draw = random.Random(8)
        folder, table = self.path("shards"), self.path("ballots.csv")
        os.mkdir(folder)
        rows = [",".join(draw.choice(('"Lee, A"', "Bo", "Cy", "Di", "skipped", "")) for _ in range(4)) + f",{draw.randint(18, 80)}\n" for _ in range(9000)]
        head = "rank1,rank2,rank3,rank4,age\n"
        with open(table, "w", encoding="utf-8") as out:
            out.write(head + "".join(rows))
        for shard in range(5):
            with open(os.path.join(folder, f"part{shard}.csv"), "w", encoding="utf-8") as out:
                out.write(head + "".join(rows[shard * 1800:(shard + 1) * 1800]))
        for data in (table, folder):
            words = ["fit", data, "-k", "2", "--restarts", "2", "--iterations", "20", "--threads", "1"]
            models, said = [], []
            for size in (0, 2, 3, 5):
                out = self.path("read.json")
                done = mpirun(size, *words, "--out", out) if size else run(*words, "--out", out)
                models.append(without_time(out))
                said.append([line for line in done.stderr.splitlines() if "warning" in line])
            for model, warnings in zip(models[1:], said[1:]):
                self.assertEqual(model, models[0])
                self.assertEqual(warnings, said[0])
            self.assertTrue(said[0])

    def test_two_machines(self):
        # Two network namespaces with names and addresses of their own, and a wire between them: only TCP connects the processes.
        names, net = (f"cau{os.getpid()}a", f"cau{os.getpid()}b"), "10.77.3"
        commands = [["ip", "netns", "add", name] for name in names]
        commands.append(["ip", "link", "add", "caua", "netns", names[0], "type", "veth", "peer", "name", "caub", "netns", names[1]])
        for name, wire, number in ((names[0], "caua", 1), (names[1], "caub", 2)):
            commands += [["ip", "-n", name, "addr", "add", f"{net}.{number}/24", "dev", wire], ["ip", "-n", name, "link", "set", wire, "up"],
                         ["ip", "-n", name, "link", "set", "lo", "up"]]
        self.addCleanup(lambda: [subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False) for name in names])
        for command in commands:
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                self.skipTest("there is no 'ip' here")
            if done.returncode != 0:
                self.skipTest(f"network namespaces are not permitted here: {done.stderr.strip()}")
        agent = self.path("agent")
        with open(agent, "w", encoding="utf-8") as out:
            out.write('#!/bin/sh\nhost=$1; shift\nexec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        os.chmod(agent, 0o755)
        alone, shared = self.path("wire1.json"), self.path("wire2.json")
        words = ["fit", self.cds, "-k", "3", "--restarts", "2", "-q", "--threads", "1"]
        run(*words, "--out", alone)
        launch = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", f"{net}.0/24",
                  "--mca", "oob_tcp_if_include", f"{net}.0/24", "-host", f"{names[0]}:1,{names[1]}:1", "-n", "2"]
        inside = ["ip", "netns", "exec", names[0], "unshare", "--uts", "sh", "-c", f'hostname {names[0]}; "$@"', "sh"]
        where = subprocess.run([*inside, *launch, "hostname"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(sorted(where.stdout.split()), sorted(names), where.stderr)
        done = subprocess.run([*inside, *launch, MPI, *words, "--out", shared], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(without_time(shared), without_time(alone))

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
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

#!/usr/bin/env python3
"""Mapped data sets, checkpoints and their ends: kill -9 at any moment, full disks, damaged files.

Usage: test_scale.py PATH-TO-CAUCUS
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from support import CAUCUS, TOWN, OneFolder, run, without_time

MOMENTS = int(os.environ.get("CAUCUS_TEST_MOMENTS", "12"))


class Scale(OneFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.town = TOWN
        cls.cds = cls.path("town.cds")
        run("convert", cls.town, cls.cds)
        # Groups that are hard to tell apart: a fit that takes its time.
        draw = random.Random(3)
        cls.hard = cls.path("hard.soi")
        with open(cls.hard, "w", encoding="utf-8") as out:
            out.write("# NUMBER ALTERNATIVES: 9\n" + "".join(f"# ALTERNATIVE NAME {i + 1}: i{i + 1}\n" for i in range(9)))
            for b in range(1500):
                order = sorted(range(1, 10), key=lambda i, b=b: (i if b % 3 else -i) + 5 * draw.gauss(0, 1))
                out.write("1: " + ",".join(map(str, order[: draw.randint(3, 9)])) + "\n")

    # Data sets

    def test_every_command_reads_a_mapped_file(self):
        text = json.loads(run("info", self.town, "--json").stdout)
        mapped = json.loads(run("info", self.cds, "--json").stdout)
        for key in ("num_rankings", "num_items", "num_unique", "num_rows", "strongly_connected"):
            self.assertEqual(text[key], mapped[key], key)
        for family in ("pl", "mallows", "gmallows"):
            models = []
            for data in (self.town, self.cds):
                out = self.path(f"{family}.json")
                run("fit", data, "--family", family, "-k", "2", "-q", "--out", out)
                models.append(without_time(out))
            self.assertEqual(*models)
        run("fit", self.cds, "-k", "3", "-q", "--out", self.path("m.json"))
        rows = [run("assign", self.path("m.json"), data, "--out", "-").stdout for data in (self.town, self.cds)]
        self.assertEqual(*rows)
        with open(self.cds, "rb") as file:
            piped = run("info", "-", "--json", text=None, input=file.read())
        self.assertEqual(json.loads(piped.stdout)["num_rankings"], text["num_rankings"])

    def test_round_trip_loses_nothing(self):
        back = self.path("back.soi")
        self.assertIn("nothing lost", run("convert", self.cds, back).stderr)
        self.assertEqual(run("convert", back, "-", "--to", "jsonl").stdout, run("convert", self.town, "-", "--to", "jsonl").stdout)

    def test_samples_go_to_disk_piece_by_piece(self):
        # More than one piece; the same file as from JSON lines, which are written line by line.
        for name in ("drawn.cds", "drawn.jsonl"):
            run("sample", self.model(), "-n", "530000", "--length", "3", "--seed", "6", "-q", "--out", self.path(name))
        run("convert", self.path("drawn.jsonl"), self.path("converted.cds"), "-q")
        with open(self.path("drawn.cds"), "rb") as drawn, open(self.path("converted.cds"), "rb") as converted:
            self.assertEqual(drawn.read(), converted.read())

    def test_damaged_files_are_refused_by_name(self):
        with open(self.cds, "rb") as file:
            sound = file.read()
        broken = self.path("broken.cds")
        for change, words in ((sound[:-100], "cut off"), (sound[:3000] + b"\0" + sound[3001:], "checksum"), (b"PK" + sound, "begins with"),
                              (b"hello", "not a caucus data set"), (sound[:8] + b"\x09" + sound[9:], "version 9")):
            with open(broken, "wb") as file:
                file.write(change)
            done = run("fit", broken, "-k", "2", expect=65)
            self.assertIn("broken.cds", done.stderr)
            if words != "begins with":
                self.assertIn(words, done.stderr)
            self.assertNotIn("internal", done.stderr)

    # Checkpoints

    def fit(self, *more, out, expect=0):
        return run("fit", self.hard, "-k", "4", "-q", "--threads", "1", "--out", out, *more, expect=expect)

    def test_resume_needs_a_file(self):
        self.assertIn("--checkpoint", run("fit", self.town, "-k", "2", "--resume", expect=64).stderr)

    def test_kill_at_any_moment(self):
        whole = self.path("whole.json")
        begun = time.monotonic()
        self.fit(out=whole)
        length = time.monotonic() - begun
        expected = without_time(whole)
        draw = random.Random(7)
        found = 0
        for moment in range(MOMENTS):
            checkpoint, out = self.path(f"k{moment}.ckpt"), self.path("killed.json")
            words = [CAUCUS, "fit", self.hard, "-k", "4", "-q", "--threads", "1", "--out", out, "--checkpoint", checkpoint, "--checkpoint-every", "0"]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.0, 1.2 * length))
            process.send_signal(signal.SIGKILL)
            process.wait()
            found += os.path.exists(checkpoint) and os.path.getsize(checkpoint) > 2000
            done = self.fit("--checkpoint", checkpoint, "--resume", out=out)
            self.assertEqual(without_time(out), expected, f"moment {moment}: {done.stderr}")
        self.assertGreater(found, MOMENTS // 4, "most were killed before anything was kept")

    def test_resume_is_faster_than_the_run(self):
        checkpoint, out = self.path("fast.ckpt"), self.path("fast.json")
        self.fit("--checkpoint", checkpoint, "--checkpoint-every", "0", out=out)
        self.assertGreater(os.path.getsize(checkpoint), 2000)
        first = without_time(out)
        before = os.times().children_user
        self.fit(out=out)
        between = os.times().children_user
        self.fit("--checkpoint", checkpoint, "--resume", out=out)
        after = os.times().children_user
        self.assertEqual(without_time(out), first)
        self.assertLess(after - between, 0.6 * (between - before))

    def test_select_and_compare_resume(self):
        for name, words in (("select", ["select", self.town, "-k", "1..4"]),
                            ("cv", ["select", self.town, "-k", "1..3", "--criterion", "cv", "--folds", "3"]),
                            ("compare", ["compare", self.town, "--families", "pl:2,mallows:2", "--folds", "3"])):
            out, checkpoint = self.path(f"{name}.json"), self.path(f"{name}.ckpt")
            run(*words, "-q", "--out", out)
            expected = json.loads(json.dumps(without_time(out)))
            strip = lambda model: json.dumps({k: v for k, v in model.items() if k != "peak_bytes"}, sort_keys=True)
            for pause in (0.15, 0.4):
                process = subprocess.Popen([CAUCUS, *words, "-q", "--out", out, "--checkpoint", checkpoint, "--checkpoint-every", "0", "--resume"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(pause)
                process.kill()
                process.wait()
            run(*words, "-q", "--out", out, "--checkpoint", checkpoint, "--resume")
            again = without_time(out)
            if name == "compare":
                for table in (expected, again):
                    for row in table["table"]:
                        row.pop("peak_bytes", None)
            self.assertEqual(strip(again), strip(expected), name)

    def test_every_iterative_method_resumes(self):
        complete, small = self.path("complete.soc"), self.path("small.soc")
        run("sample", self.model(), "-n", "600", "--out", complete)
        run("sample", self.model(), "-n", "250", "--seed", "5", "--out", small)
        for name, words in (("gibbs", ["fit", complete, "-k", "2", "--method", "gibbs", "--sweeps", "1500", "--burnin", "300"]),
                            ("bootstrap", ["fit", complete, "-k", "2", "--bootstrap", "40"]),
                            ("em-lsr", ["fit", complete, "-k", "3", "--method", "em-lsr"]),
                            ("mallows", ["fit", complete, "--family", "mallows", "-k", "3"]),
                            ("footrule", ["fit", complete, "--family", "mallows", "-k", "3", "--distance", "footrule"]),
                            ("gmallows", ["fit", complete, "--family", "gmallows", "-k", "3"]),
                            ("m4", ["fit", complete, "--family", "m4", "-k", "2"]),
                            ("ebms", ["fit", small, "--family", "ebms"]),
                            ("dpm", ["fit", complete, "--family", "dpm", "--sweeps", "60", "--burnin", "20"])):
            with self.subTest(name=name):
                whole, out, checkpoint = self.path(f"{name}-whole.json"), self.path(f"{name}.json"), self.path(f"{name}.ckpt")
                begun = time.monotonic()
                run(*words, "-q", "--threads", "1", "--out", whole)
                length = time.monotonic() - begun
                more = ["-q", "--threads", "1", "--out", out, "--checkpoint", checkpoint, "--checkpoint-every", "0", "--resume"]
                for share in (0.5, 0.7):
                    process = subprocess.Popen([CAUCUS, *words, *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    time.sleep(share * length)
                    process.kill()
                    process.wait()
                self.assertTrue(os.path.exists(checkpoint))
                run(*words, *more)
                self.assertEqual(without_time(out), without_time(whole))

    @classmethod
    def model(cls):
        path = cls.path("truth.json")
        if not os.path.exists(path):
            run("fit", cls.hard, "-k", "3", "--restarts", "1", "-q", "--out", path)
        return path

    def test_interrupted_runs_keep_nothing_that_a_whole_run_would_not_do(self):
        whole, out, checkpoint = self.path("i-whole.json"), self.path("i.json"), self.path("i.ckpt")
        self.fit(out=whole)
        for pause in (0.1, 0.2, 0.4):
            process = subprocess.Popen([CAUCUS, "fit", self.hard, "-k", "4", "-q", "--threads", "1", "--out", out, "--checkpoint", checkpoint,
                                        "--checkpoint-every", "0", "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
            process.wait()
        self.fit("--checkpoint", checkpoint, "--resume", "--time-limit", "0.05", out=out, expect=None)
        self.fit("--checkpoint", checkpoint, "--resume", out=out)
        self.assertEqual(without_time(out), without_time(whole))

    def test_other_runs_are_refused_by_name(self):
        checkpoint, out = self.path("other.ckpt"), self.path("other.json")
        self.fit("--checkpoint", checkpoint, out=out)
        for more in (["--seed", "2"], ["--tolerance", "1e-6"]):
            self.assertIn("other.ckpt", self.fit("--checkpoint", checkpoint, "--resume", *more, out=out, expect=65).stderr)
        self.assertIn("other.ckpt", run("fit", self.town, "-k", "4", "--checkpoint", checkpoint, "--resume", expect=65).stderr)
        with open(checkpoint, "r+b") as file:
            file.write(b"nonsense")
        self.assertIn("damaged", self.fit("--checkpoint", checkpoint, "--resume", out=out, expect=65).stderr)

    def test_damaged_end_is_said_and_what_stands_before_used(self):
        checkpoint, out = self.path("end.ckpt"), self.path("end.json")
        self.fit("--checkpoint", checkpoint, "--checkpoint-every", "0", out=out)
        expected = without_time(out)
        size = os.path.getsize(checkpoint)
        with open(checkpoint, "r+b") as file:
            file.seek(size * 2 // 3)
            byte = file.read(1)
            file.seek(size * 2 // 3)
            file.write(bytes([byte[0] ^ 1]))
        done = run("fit", self.hard, "-k", "4", "--threads", "1", "--out", out, "--checkpoint", checkpoint, "--resume")
        self.assertIn("is damaged", done.stderr)
        self.assertEqual(without_time(out), expected)

    def test_full_disk_loses_nothing(self):
        disk = self.path("disk")
        os.mkdir(disk)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", disk], capture_output=True, check=False).returncode != 0:
            self.skipTest("no small disk can be mounted here")
        try:
            checkpoint, out = os.path.join(disk, "c.ckpt"), self.path("full.json")
            done = run("fit", self.hard, "-k", "4", "--threads", "1", "--out", out, "--checkpoint", checkpoint, "--checkpoint-every", "0")
            self.assertIn("No space left", done.stderr)
            expected = without_time(out)
            shutil.copy(checkpoint, self.path("rescued.ckpt"))
        finally:
            subprocess.run(["umount", disk], check=True)
        done = run("fit", self.hard, "-k", "4", "--threads", "1", "--out", out, "--checkpoint", self.path("rescued.ckpt"), "--resume")
        self.assertNotIn("damaged", done.stderr)
        self.assertEqual(without_time(out), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])

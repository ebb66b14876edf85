#!/usr/bin/env python3
"""Files and targets that nobody should have to give: a clear error or a right answer, soon, and nothing left behind.

Usage: test_abuse.py PATH-TO-CAUCUS SOURCE-DIR
"""
import gzip
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import time
import unittest

from support import CAUCUS, HAND_MODEL, TOWN, Case, caucus

GIGABYTE = 1 << 30


def limited(*args, memory=2 * GIGABYTE, seconds=60, **kwargs):
    """Runs with a bound on memory and on CPU seconds; tells the seconds too."""

    def bounds():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    result = subprocess.run([CAUCUS, *map(str, args)], capture_output=True, preexec_fn=bounds, timeout=600, **kwargs)
    result.text = result.stdout.decode(errors="replace") + result.stderr.decode(errors="replace")
    return result


def on_terminal(*args):
    """What the command writes to a terminal, both streams."""
    parent, child = pty.openpty()
    process = subprocess.Popen([CAUCUS, *map(str, args)], stdout=child, stderr=child, env={**os.environ, "NO_COLOR": "1"})
    os.close(child)
    text = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:  # closed
            break
        if not piece:
            break
        text += piece
    os.close(parent)
    return process.wait(), text


class Inputs(Case):
    def refused(self, result, *words):
        self.assertEqual(result.returncode, 65, result.text[:2000])
        for word in words:
            self.assertIn(word, result.text)

    def test_weights(self):
        for weight in ("-3", "nan", "inf", "1e400", "x"):
            with self.subTest(weight):
                self.refused(limited("info", self.soi("w.soi", ["2: 1,2,3", f"{weight}: 3,2,1"])), "w.soi:6")
        result = limited("fit", self.soi("w.soi", ["5: 1,2,3", "0: 3,2,1", "3: 2,1,3"]), "-k", "1", "--json")
        self.assertEqual(result.returncode, 0, result.text)
        result = limited("fit", self.soi("w.soi", ["1000000000: 1,2,3", "3: 3,2,1", "3: 2,1,3"]), "-k", "1", "--json")
        self.assertEqual(json.loads(result.stdout)["fit"]["num_rankings"], 1000000006)

    def test_a_million_items(self):
        ballot = ",".join(map(str, range(1, 1000001)))
        data = self.path("big.soi", f"# NUMBER ALTERNATIVES: 1000000\n1: {ballot}\n")
        self.assertEqual(limited("info", data).returncode, 0)
        self.assertIn(limited("fit", data, "--family", "m4", "-k", "1", seconds=30).returncode, (0, 65))

    def test_a_line_of_200_megabytes(self):
        data = self.path("line.soi")
        with open(data, "w", encoding="ascii") as out:
            out.write("# NUMBER ALTERNATIVES: 3\n1: 1,2,")
            for _ in range(200):
                out.write("3" * (1 << 20))
        self.refused(limited("info", data, seconds=20), "line.soi:2")
        self.assertLess(len(limited("info", data, seconds=20).text), 5000)

    def test_names(self):
        self.assertIn(limited("info", self.path("e.csv", "rank1,rank2\n,a\n\"\",b\n")).returncode, (0, 65))
        long = "x" * (1 << 20)
        data = self.path("long.jsonl", json.dumps(["a", long]) + "\n" + json.dumps([long, "a"]) + "\n")
        result = limited("fit", data, "-k", "1")
        self.assertEqual(result.returncode, 0)
        self.assertLess(len(result.text), 5000)
        scripts = ["Ärger", "東京", "עברית", "ไทย", "हिन्दी", "𝔘𝔫𝔦", "👩‍👩‍👧", "Ω", "ß", "a\u0301"]
        data = self.path("s.jsonl", json.dumps(scripts) + "\n" + json.dumps(scripts[::-1]) + "\n")
        model = self.path("s.json")
        self.ok("fit", data, "-k", 1, "--out", model)
        self.assertEqual(sorted(self.read("s.json")["items"]), sorted(scripts))

    def test_no_escape_sequence_from_a_file_reaches_a_terminal(self):
        evil = "\x1b]0;gotcha\x07\x1b[2J\u009b31mred"
        data = self.path("evil.jsonl", "".join(json.dumps(b) + "\n" for b in [[evil, "b", "c"], ["b", "c", evil], ["c", evil, "b"]] * 5))
        model = self.path("evil.json")
        self.ok("fit", data, "-k", 2, "--out", model)
        csv = self.path("evil.csv", f"rank1,rank2,{evil}\n" + f"{evil},b,{evil}\nb,{evil},x\n" * 5)
        for words in (("info", data), ("fit", data, "-k", 2), ("select", data, "--components", "1..2"), ("check", model, data),
                      ("compare", data, "--families", "pl,mallows"), ("score", model, data), ("assign", model, data), ("info", csv),
                      ("distance", model, model), ("fit", self.path(f"no\x1b[2Jfile")), ("fit", data, "-k", "\x1b[2J"),
                      ("assign", model, data, "--by", evil)):
            with self.subTest(words[0]):
                _, text = on_terminal(*words)
                for sequence in (b"\x1b]0;", b"\x1b[2J", b"\x07", b"\xc2\x9b"):
                    self.assertNotIn(sequence, text)

    def test_mixed_line_ends(self):
        text = "# NUMBER ALTERNATIVES: 3\r\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\r\n# ALTERNATIVE NAME 3: c\n2: 1,2,3\r\n3: 3,2,1\n1: 2\r\n"
        data = self.path("m.soi")
        with open(data, "w", encoding="ascii", newline="") as out:
            out.write(text)
        result = limited("info", data, "--json")
        self.assertEqual(json.loads(result.stdout)["num_rankings"], 6)

    def test_devices_and_pipes_that_never_end(self):
        self.refused(limited("info", "/dev/zero", seconds=10), "zero byte")
        fifo = self.path("pipe")
        os.mkfifo(fifo)
        writer = subprocess.Popen(["sh", "-c", f"exec yes 'a,b,c' > '{fifo}'"])
        result = limited("info", fifo, memory=6 * GIGABYTE, seconds=30)
        writer.wait()
        self.refused(result, "2048 MB")

    def test_bombs(self):
        bomb = self.path("bomb.csv.gz")
        with gzip.open(bomb, "wb", compresslevel=9) as out:
            for _ in range(700):
                out.write(b"a" * (1 << 20))
        self.refused(limited("info", bomb, memory=GIGABYTE, seconds=10), "unpack it first")
        if shutil.which("zstd"):
            packed = self.path("bomb.csv.zst")
            with open("/dev/zero", "rb") as zeros, open(packed, "wb") as out:
                subprocess.run(["sh", "-c", "head -c 2000000000 | zstd -q -c"], stdin=zeros, stdout=out, check=True)
            self.refused(limited("info", packed, memory=GIGABYTE, seconds=10), "unpack it first")

    def test_a_blt_ballot_that_was_cut(self):
        head, tail = "3 1\n4 1 2 0\n", "0\n\"A\"\n\"B\"\n\"C\"\n\"Ward\"\n"
        self.refused(limited("info", self.path("cut.blt", head + "3 2 1\n" + tail)), "cut.blt:3")
        self.assertEqual(limited("info", self.path("whole.blt", head + "3 2 1 0\n" + tail)).returncode, 0)


class Writers(Case):
    def setUp(self):
        super().setUp()
        self.model = self.path("model.json", HAND_MODEL)

    def left(self):
        return sorted(os.listdir(self.folder.name))

    def test_a_full_device(self):
        for words in (("sample", self.model, "-n", 5, "--to", "jsonl", "--out", "/dev/full"), ("fit", TOWN, "-k", 1, "--out", "/dev/full", "-q"),
                      ("assign", self.model, self.soi("v.soi", ["3: 1,2,3"]), "--out", "/dev/full")):
            self.assertEqual(caucus(*words).returncode, 74)

    def test_a_full_disk_leaves_the_old_file(self):
        out = self.path("draws.jsonl", "old\n")
        before = self.left()
        result = subprocess.run([CAUCUS, "sample", self.model, "-n", "200000", "--out", out], capture_output=True, text=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16)))
        self.assertEqual(result.returncode, 74, result.stderr)
        self.assertIn("draws.jsonl", result.stderr)
        self.assertEqual(self.left(), before)
        with open(out, encoding="ascii") as file:
            self.assertEqual(file.read(), "old\n")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_is_read_only(self):
        folder = self.path("locked")
        os.mkdir(folder)
        os.chmod(folder, 0o500)
        self.assertEqual(caucus("sample", self.model, "-n", 5, "--out", os.path.join(folder, "x.soc")).returncode, 74)

    def test_the_input_itself(self):
        data = self.soi("votes.soi", ["3: 1,2,3", "2: 3,2,1"])
        with open(data, encoding="ascii") as file:
            old = file.read()
        link = self.path("link.soi")
        os.symlink(data, link)
        before = self.left()
        for words in (("fit", data, "-k", 1, "--out", data), ("fit", data, "-k", 1, "--out", link), ("fit", data, "-k", 1, "--report", data),
                      ("assign", self.model, data, "--out", data), ("score", self.model, data, "--out", self.model),
                      ("sample", self.model, "-n", 5, "--out", self.model), ("convert", data, data),
                      ("select", data, "--components", "1..2", "--out", data)):
            with self.subTest(words):
                result = caucus(*words)
                self.assertEqual(result.returncode, 74, result.stderr)
                self.assertIn("name another file", result.stderr)
                with open(data, encoding="ascii") as file:
                    self.assertEqual(file.read(), old)
        self.assertEqual(self.left(), before)

    def test_a_link_is_followed(self):
        target, link = self.path("target.json", "old"), self.path("link.json")
        os.symlink(target, link)
        self.ok("fit", TOWN, "-k", 1, "--out", link, "-q")
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.read("target.json")["family"], "pl")

    def test_a_pipe(self):
        fifo = self.path("pipe")
        os.mkfifo(fifo)
        reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True)
        self.ok("sample", self.model, "-n", 3, "--to", "jsonl", "--out", fifo)
        self.assertEqual(len(reader.communicate()[0].splitlines()), 4)

    def test_killed_while_writing(self):
        before = self.left()
        for trial in range(5):
            process = subprocess.Popen([CAUCUS, "sample", self.model, "-n", "100000000", "--out", self.path("draws.jsonl")])
            time.sleep(0.3 + 0.1 * trial)
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.ok("sample", self.model, "-n", 3, "--out", self.path("draws.jsonl"))
        self.assertEqual(self.left(), sorted(before + ["draws.jsonl"]))


class Resume(Case):
    def test_a_chain_that_was_killed_goes_on_as_if_it_had_not(self):
        """After kill -9 at any moment the checkpoint is whole, and the resumed fit is the one that was not stopped."""
        _, data = self.two_groups(300)
        flags = ["--family", "dpm", "--sweeps", 400, "--burnin", 50, "--chains", 1, "--threads", 1, "--predictive-draws", 0]
        whole = json.loads(self.ok("fit", data, *flags, "--json").stdout)
        for trial in range(3):
            saved = self.path(f"chain{trial}")
            command = [CAUCUS, "fit", data, *map(str, flags), "--checkpoint", saved, "--checkpoint-every", "0", "--json"]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            begun = time.monotonic()
            while not os.path.exists(saved) and process.poll() is None and time.monotonic() - begun < 100:
                time.sleep(0.01)
            time.sleep(0.05 * trial)
            process.kill()
            process.wait()
            resumed = json.loads(self.ok(*command[1:]).stdout)
            self.assertEqual(resumed["components"], whole["components"])
            self.assertEqual(resumed["fit"]["loglik"], whole["fit"]["loglik"])

    def test_a_checkpoint_that_was_damaged_is_refused(self):
        _, data = self.two_groups(100)
        saved = self.path("chain")
        flags = ["--family", "dpm", "--sweeps", 60, "--burnin", 10, "--chains", 1, "--checkpoint", saved, "--checkpoint-every", "0"]
        whole = json.loads(self.ok("fit", data, *flags, "--json").stdout)
        if not os.path.exists(saved):
            self.skipTest("no checkpoint is left after a fit that ended")
        with open(saved, "rb") as file:
            good = file.read()
        for at in range(0, len(good), max(1, len(good) // 40)):
            with open(saved, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
            # The one before it goes on to the same end, and is not lost by that; alone, the damaged one is refused.
            resumed = self.ok("fit", data, *flags, "--json")
            self.assertIn("damaged", resumed.stderr)
            self.assertEqual(json.loads(resumed.stdout)["components"], whole["components"])
        os.remove(saved + ".previous")
        for at in range(0, len(good), max(1, len(good) // 40)):
            with open(saved, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
            result = limited("fit", data, *flags, "-q", seconds=20)
            self.assertIn(result.returncode, (64, 65), result.text)


if __name__ == "__main__":
    unittest.main(argv=["test_abuse.py"])

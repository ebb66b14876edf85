#!/usr/bin/env python3
"""Damaged models and checkpoints, and option lines put together by chance: a clear error or an answer, soon, and within memory.

Usage: scripts/fuzz-commands.py CAUCUS SECONDS [model|checkpoint|options ...] [--seed N] [--findings FOLDER]

The parsers of data have libFuzzer targets (scripts/fuzz.sh); what reads models, checkpoints and options needs the whole program. Every trial is a process of its own, so
that a build with sanitizers tells what it sees: an exit code that the documentation does not name, the words "internal error" or "Sanitizer", a run of more than
20 CPU seconds, or NaN in a result is a finding. It is kept in FOLDER (build/fuzz/findings) with its command, and the exit code is 1.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

CPU_SECONDS = 20
CODES = {0, 64, 65, 66, 74, 75}
ODD = re.compile(r"(?<![\w.])-?(nan|inf)(?![\w.])", re.IGNORECASE)
VALUES = ["1e308", "-1e308", "1e-320", "1e400", "-1", "0", "null", '"x"', "[]", "{}", "99999999999999999999", "true", "0.5", '"\\u0000"', "[[[[[[[[[[]]]]]]]]]]", "NaN"]
FITS = [("pl", "-k 2"), ("pl", "-k 1 --dampening on"), ("pl", "-k 2 --method gibbs --sweeps 40 --burnin 10"), ("mallows", "-k 2"),
        ("mallows", "-k 1 --distance ulam"), ("mallows", "-k 1 --distance spearman"), ("gmallows", "-k 2"), ("m4", "-k 2 --iterations 20"),
        ("dpm", "--sweeps 40 --burnin 10 --chains 1"), ("kde", ""), ("ebms", "")]
DATA = "# NUMBER ALTERNATIVES: 4\n" + "".join(f"# ALTERNATIVE NAME {i}: item {i}\n" for i in range(1, 5)) + \
    "5: 1,2,3,4\n4: 4,3,2,1\n3: 3,4,1,2\n1: 2,3,1,4\n"
PARTIAL = DATA + "2: 2,1\n1: 4\n"


class Fuzzer:
    def __init__(self, caucus, folder, findings, draw):
        self.caucus, self.folder, self.findings, self.draw = caucus, pathlib.Path(folder), pathlib.Path(findings), draw
        self.trials, self.found = 0, 0
        self.data = self.folder / "votes.soi"
        self.data.write_text(DATA)
        self.partial = self.folder / "partial.soi"
        self.partial.write_text(PARTIAL)

    def plain(self, *words):
        """A command that must work."""
        return subprocess.run([self.caucus, *map(str, words)], cwd=self.folder, capture_output=True, check=True, text=True).stdout

    def trial(self, name, words, keep=(), json_out=False):
        limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        done = subprocess.run([self.caucus, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=limits)
        self.trials += 1
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        wrong = ("exit code %d" % done.returncode if done.returncode not in CODES else "internal error" if "internal error" in err
                 else "sanitizer" if "Sanitizer" in err or "runtime error:" in err
                 else "not a number" if done.returncode == 0 and json_out and ODD.search(re.sub(r'"(?:[^"\\]|\\.)*"', "", out)) else "")
        if wrong:
            self.found += 1
            place = self.findings / f"{name}-{self.found}"
            place.mkdir(parents=True, exist_ok=True)
            for path in keep:
                if pathlib.Path(path).exists():
                    shutil.copy(path, place)
            (place / "command.txt").write_text(f"{wrong}\n{' '.join(map(str, words))}\n{err[-4000:]}\n")
            print(f"{name}: {wrong}: see {place}", file=sys.stderr, flush=True)

    # --- models -------------------------------------------------------------------------------------------------------------------

    def spoiled(self, text):
        """Bytes of a JSON text: values replaced, parts left out, doubled, cut, or turned over."""
        draw = self.draw
        for _ in range(draw.choice([1, 1, 1, 2, 4])):
            kind = draw.randrange(6)
            numbers = list(re.finditer(rb"-?\d+\.?\d*(?:[eE][-+]?\d+)?|\"(?:[^\"\\]|\\.)*\"|true|false|null", text))
            if kind <= 2 and numbers:
                one = draw.choice(numbers)
                new = draw.choice(VALUES).encode() if draw.random() < 0.8 else draw.choice(numbers).group()
                text = text[:one.start()] + new + text[one.end():]
            elif kind == 3 and len(text) > 2:  # left out or doubled
                begin = draw.randrange(len(text))
                end = min(len(text), begin + draw.randrange(1, 60))
                text = text[:begin] + (text[begin:end] * 2 if draw.random() < 0.5 else b"") + text[end:]
            elif kind == 4 and len(text) > 2:
                at = draw.randrange(len(text))
                text = text[:at] + bytes([draw.randrange(256)]) + text[at + 1:]
            elif kind == 5 and draw.random() < 0.2:
                text = text[:draw.randrange(len(text) + 1)]
        return text

    def model(self):
        if not hasattr(self, "models"):
            self.models = []
            for i, (family, flags) in enumerate(FITS):
                self.plain("fit", self.data, "--family", family, *flags.split(), "--threads", 1, "-q", "--out", f"seed{i}.json")
                self.models.append((self.folder / f"seed{i}.json").read_bytes())
            self.table = self.folder / "table.csv"
            self.table.write_text("a,b,y\n" + "".join(f"{x},{x % 3},{'p' if x % 2 else 'q'}\n" for x in range(12)))
            self.plain("regress", self.table, "--target", "y", "--method", "gibbs", "--draws", 5, "--sweeps", 40, "--burnin", 5, "-q", "--out", "r.json")
            self.models.append((self.folder / "r.json").read_bytes())
        spoiled = self.folder / "spoiled.json"
        which = self.draw.randrange(len(self.models))
        spoiled.write_bytes(self.spoiled(self.models[which]))
        if which == len(self.models) - 1:
            commands = [["predict", spoiled, self.table, "--json"]]
        else:
            other = self.folder / f"seed{which}.json"
            commands = [["score", spoiled, self.data, "--json"], ["assign", spoiled, self.partial], ["score", spoiled, self.partial, "--json"], ["sample", spoiled, "-n", 5, "--to", "jsonl"],
                        ["distance", spoiled, other, "--json"], ["report", spoiled, "--data", self.data, "--out", self.folder / "page.html"],
                        ["check", spoiled, self.data, "--replicates", 3, "--time-limit", 2, "--json"]]
        words = self.draw.choice(commands)
        self.trial("model", words, [spoiled], "--json" in words)

    # --- checkpoints --------------------------------------------------------------------------------------------------------------

    def checkpoint(self):
        saved = self.folder / "chain"
        if not hasattr(self, "chains"):
            self.chains = []
            for flags in ("--family dpm --sweeps 60 --burnin 10 --chains 1", "-k 2 --method gibbs --sweeps 60 --burnin 10", "-k 2 --restarts 3",
                          "--family mallows -k 2 --restarts 3"):
                words = ["fit", self.data, *flags.split(), "--threads", 1, "--checkpoint", saved, "--checkpoint-every", 0, "-q"]
                for old in self.folder.glob("chain*"):
                    old.unlink()
                self.plain(*words, "--json")
                if saved.exists():
                    self.chains.append((words, saved.read_bytes()))
        words, good = self.draw.choice(self.chains)
        text = bytearray(good)
        for _ in range(self.draw.choice([1, 1, 2, 8])):
            if not text:
                break
            at = self.draw.randrange(len(text))
            kind = self.draw.randrange(4)
            if kind == 0:
                text[at] ^= 1 << self.draw.randrange(8)
            elif kind == 1:
                text[at:at + 8] = self.draw.choice([b"\xff" * 8, b"\0" * 8, bytes(self.draw.randrange(256) for _ in range(8))])
            elif kind == 2:
                del text[at:at + self.draw.randrange(1, 40)]
            elif self.draw.random() < 0.3:
                del text[at:]
        for old in self.folder.glob("chain*"):
            old.unlink()
        saved.write_bytes(bytes(text))
        self.trial("checkpoint", [*words, "--resume", "--json"], [saved], True)

    # --- options ------------------------------------------------------------------------------------------------------------------

    def options(self):
        if not hasattr(self, "words"):
            self.plain("fit", self.data, "-k", 2, "-q", "--out", "good.json")
            self.words = {}
            for command in ("fit", "select", "compare", "score", "assign", "sample", "check", "info", "convert", "distance", "predict", "families"):
                text = self.plain(command, "--help")
                self.words[command] = sorted(set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", text)) - {"--help", "-h", "--report", "--tables", "--checkpoint"})
            families = json.loads(self.plain("families", "--json"))["families"]
            self.words["fit"] += [f"--{option['name']}" for family in families for option in family["options"]]
            self.values = ["0", "1", "2", "-1", "1e9", "1e-9", "nan", "inf", "", "auto", "on", "off", "x", "1..3", "3..1", "99999999999999999999", "0.5", "-", "\u00e9",
                           "a,b", "pl", "dpm", "m4", "mallows", "jsonl", "em", "gibbs", "spectral", "last", "absent", "votes.soi", "good.json", "/dev/null", "."]
        draw = self.draw
        command = draw.choice(list(self.words))
        places = {"score": ["good.json", "votes.soi"], "assign": ["good.json", "votes.soi"], "check": ["good.json", "votes.soi"],
                  "distance": ["good.json", "good.json"], "sample": ["good.json", "-n", "3"], "convert": ["votes.soi", "out.jsonl"],
                  "predict": ["good.json", "votes.soi"], "families": []}.get(command, ["votes.soi"])
        words = [command, *places]
        for _ in range(draw.randrange(1, 5)):
            name = draw.choice(self.words[command]) if draw.random() < 0.95 else draw.choice(["--", "---", "-", "--x", "-zz"])
            if command == "sample" and name in ("-n", "--count"):
                continue
            words.append(name)
            if draw.random() < 0.85:
                words.append(draw.choice(self.values))
        if command in ("fit", "select", "compare", "check"):
            words += ["--time-limit", "1", "--threads", "1"]
        self.data.write_text(DATA)
        before = (self.folder / "good.json").read_bytes()
        self.trial("options", words)
        (self.folder / "good.json").write_bytes(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("caucus")
    parser.add_argument("seconds", type=float)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", default="build/fuzz/findings")
    args = parser.parse_intermixed_args()
    failed = 0
    for target in args.targets or ["model", "checkpoint", "options"]:
        if target not in ("model", "checkpoint", "options"):
            parser.error(f"there is no target {target}")
        with tempfile.TemporaryDirectory() as folder:
            fuzzer = Fuzzer(os.path.abspath(args.caucus), folder, os.path.abspath(args.findings), random.Random(f"{target} {args.seed}"))
            begun = time.monotonic()
            while time.monotonic() - begun < args.seconds:
                getattr(fuzzer, target)()
            print(f"{target}: {fuzzer.trials} trials in {args.seconds:g} s, {fuzzer.found} findings", flush=True)
            failed += fuzzer.found
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

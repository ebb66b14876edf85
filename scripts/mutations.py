#!/usr/bin/env python3
"""Plants the errors of tests/mutations/table.txt one at a time; a test must fail for each.

Usage: scripts/mutations.py BUILD [--out PAGE] [--dry] [WORDS...]: only errors whose source or description holds one of the WORDS

BUILD holds the test programs, built. Only the changed source is compiled; it is linked before the libraries, so that its symbols win: position-independent code
calls global functions by name, also within a library. Before any error of a source is planted, the source as it is goes the same way, and its tests must pass;
that run also tells what each test costs: the quick ones come first. --dry only looks whether every error can be planted, --page only writes the page. What was found is kept in BUILD/mutations.json, and a run that was stopped goes on; --out writes a page of it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CPU_SECONDS = 300  # of one test program as it is
QUICK = 0.5        # seconds of a test that goes into the first round


def table():
    """(source, [(program, filter)], what, old, new) for every error; source: "HEADER via SOURCE" where it is a header."""
    errors, source, programs, what, old = [], "", [], "", ""
    for line in (SOURCE / "tests/mutations/table.txt").read_text(encoding="utf-8").splitlines():
        mark, text = line[:2], line[2:].replace("\\n", "\n")
        if line.startswith("file "):
            source, words = (part.strip() for part in line[5:].split("|"))
            programs = []
            for word in words.split():
                if word.endswith("_test"):
                    programs.append((word, "*"))
                else:
                    programs[-1] = (programs[-1][0], word)
        elif mark == "! ":
            what = text
        elif mark == "- ":
            old = text
        elif mark.startswith("+"):
            errors.append((source, programs, what, old, text))
    return errors


def planted(text, old, new):
    return text.replace(old, new, 1) if old in text else None


class Planter:
    def __init__(self, build, folder):
        self.build, self.folder, self.links, self.times = build, folder, {}, {}

    def compile(self, source, text):
        header, _, unit = source.partition(" via ")
        path = self.folder / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        # The planted copy first: Highway has a source include itself, once for each instruction set.
        flags = ["-std=c++20", "-O1", "-DNDEBUG", "-fPIC", "-w", f"-I{self.folder}/src", f"-I{SOURCE}/src", "-I/usr/include/eigen3"]
        done = subprocess.run(["g++", *flags, "-c", SOURCE / unit if unit else path, "-o", self.folder / "error.o"], capture_output=True, text=True)
        path.unlink()  # others include the header as it is
        return done

    def link(self, program):
        if program not in self.links:
            commands = subprocess.run(["ninja", "-C", self.build, "-t", "commands", program], capture_output=True, text=True, check=True).stdout
            command = next(line for line in commands.splitlines()[::-1] if f"-o {program} " in line)
            command = command.split("&&")[1] if "&&" in command else command
            words = shlex.split(command)
            at = words.index("-o")
            words[at + 1] = str(self.folder / "program")
            first = next(i for i, word in enumerate(words) if word.endswith(".o"))
            self.links[program] = words[:first] + ["-Wl,--allow-multiple-definition", str(self.folder / "error.o")] + words[first:]
        return subprocess.run(self.links[program], cwd=self.build, capture_output=True, text=True)

    def run(self, tests, seconds, *flags):
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        run = [self.folder / "program", f"--gtest_filter={tests}", "--gtest_brief=1", "--gtest_fail_fast", *flags]
        return subprocess.run(run, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit).returncode == 0

    def passes(self, program, tests):
        """All tests of the program; the cheap ones first where their cost is known. One that runs on, three times and ten seconds longer, has noticed too."""
        if (program, tests) not in self.times:
            report = self.folder / "times.json"
            if not self.run(tests, CPU_SECONDS, f"--gtest_output=json:{report}"):
                return False
            self.times[program, tests] = {f"{suite['name']}.{test['name']}": float(test["time"].rstrip("s"))
                                          for suite in json.loads(report.read_text())["testsuites"] for test in suite["testsuite"]}
            return True
        times = self.times[program, tests]
        for chosen in ([name for name in times if times[name] < QUICK], [name for name in times if times[name] >= QUICK]):
            if chosen and not self.run(":".join(chosen), int(10 + 3 * sum(times[name] for name in chosen))):
                return False
        return True

    def verdict(self, source, programs, text):
        """The program that noticed, or 'survived', or what went wrong."""
        done = self.compile(source, text)
        if done.returncode:
            return "does not compile: " + done.stderr[:300]
        for program, tests in programs:
            done = self.link(program)
            if done.returncode:
                return "does not link: " + done.stderr[:300]
            if not self.passes(program, tests):
                return f"killed by {program}"
        return "survived"


def page(found, errors):
    known = {tuple(key.split("\t")[:2]): value for key, value in found.items()}
    rows, counts = [], {"killed": 0, "survived": 0}
    for source, _, what, _, _ in errors:
        verdict = known.get((source, what), "not run")
        for word in counts:
            counts[word] += verdict.startswith(word)
        rows.append(f"| {source.removeprefix('src/caucus/')} | {what} | {verdict} |")
    notes = (SOURCE / "tests/mutations/survivors.md").read_text(encoding="utf-8")
    done = counts["killed"] + counts["survived"]
    head = f"""# Planted errors

Made by `make mutations` ({datetime.date.today()}). Errors of the kinds that people make (a sign, an index, a term or a weight left out, N for N - 1, a threshold) are planted one at a time in
the sources; the tests of that part must fail. `tests/mutations/table.txt` has each one. Of {len(errors)} planted errors {done} were run: {counts["killed"]} were noticed, {counts["survived"]} survived
({100 * counts["killed"] / max(done, 1):.0f} % noticed).

"""
    return head + notes + "\n| source | error | verdict |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def main():
    words = sys.argv[1:]
    out = words.pop(words.index("--out") + 1) if "--out" in words else None
    dry = "--dry" in words
    only_page = "--page" in words
    words = [word for word in words if not word.startswith("--")]
    build, words = pathlib.Path(words[0]).resolve(), words[1:]
    errors = table()
    store = build / "mutations.json"
    found = json.loads(store.read_text()) if store.exists() and not dry else {}
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        planter = Planter(build, pathlib.Path(folder))
        sound = {}
        for source, programs, what, old, new in errors:
            if words and not any(word in source or word in what for word in words):
                continue
            text = (SOURCE / source.partition(" via ")[0]).read_text(encoding="utf-8")
            changed = planted(text, old, new)
            if changed is None:
                print(f"DOES NOT APPLY: {source}: {what}")
                bad += 1
                continue
            key = "\t".join((source, what, hashlib.sha1((changed + str(programs)).encode()).hexdigest()[:12]))
            if dry or only_page or key in found:
                continue
            if source not in sound:
                sound[source] = planter.verdict(source, programs, text)
                if sound[source] != "survived":
                    print(f"NOT SOUND: {source} as it is: {sound[source]}")
                    bad += 1
            if sound[source] != "survived":
                continue
            verdict = planter.verdict(source, programs, changed)
            print(f"{verdict}: {source}: {what}", flush=True)
            found = {k: v for k, v in found.items() if k.split("\t")[:2] != [source, what]} | {key: verdict}
            store.write_text(json.dumps(found, indent=1))
    if out:
        pathlib.Path(out).write_text(page(found, errors), encoding="utf-8")
    survived = [key for key, verdict in found.items() if not verdict.startswith("killed")]
    print(f"{len(errors)} errors in the table, {len(found)} run, {len(survived)} survived, {bad} cannot be planted")
    return 1 if bad else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())

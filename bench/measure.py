"""Runs the program, takes its times, and prints a line for each figure."""
import dataclasses
import json
import os
import subprocess
import threading
import time


class Missing(Exception):
    """A data file or a package that is not there: the line is left out."""


class WrongAnswer(Exception):
    """Two answers that should be the same are not."""


def agree(what, ours, theirs, tolerance):
    """Relative to the larger of the two."""
    if not abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs), 1e-300):
        raise WrongAnswer(f"{what}: {ours!r} and {theirs!r}")


def hold(what, holds):
    if not holds:
        raise WrongAnswer(what)


@dataclasses.dataclass
class Figure:
    """One measured number. `more`: larger is better."""
    what: str
    value: float
    unit: str
    wanted: float | None = None
    more: bool = False
    note: str = ""

    def met(self):
        return self.wanted is None or (self.value >= self.wanted if self.more else self.value <= self.wanted)

    def text(self):
        wanted = "" if self.wanted is None else f" | wanted {'at least' if self.more else 'at most'} {self.wanted:g} {self.unit}"
        verdict = "" if self.wanted is None else " | met" if self.met() else " | NOT met"
        return f"{self.what}: {self.value:.3g} {self.unit}{' (' + self.note + ')' if self.note else ''}{wanted}{verdict}"


@dataclasses.dataclass
class Ran:
    cpu: float
    clock: float
    said: str

    def json(self):
        return json.loads(self.said)


class Program:
    """caucus as a process: user and system time of the child as the system counts them, so that other work on the machine counts little."""

    def __init__(self, path, folder, data, passing):
        """`folder` keeps what is drawn, `passing` is for this run alone."""
        self.path, self.folder, self.data, self.passing = path, folder, data, passing
        self.limit = float(os.environ.get("BENCH_LIMIT", "600"))

    def shared(self, name):
        path = os.path.join(self.data, name)
        if not os.path.exists(path):
            raise Missing(f"{path} is not there")
        return path

    def scratch(self, name):
        return os.path.join(self.passing, name)

    def once(self, words):
        said = self.scratch("said")
        with open(said, "wb") as out, open(self.scratch("errors"), "w+b") as errors:
            begun = time.perf_counter()
            process = subprocess.Popen([self.path, *words], stdout=out, stderr=errors)
            late = threading.Timer(self.limit, process.kill)
            late.start()
            _, status, used = os.wait4(process.pid, 0)
            clock = time.perf_counter() - begun
            late.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            if process.returncode < 0 and clock >= self.limit:
                raise WrongAnswer(f"{' '.join(words)}: not done after {self.limit:g} s")
            if process.returncode != 0:
                raise WrongAnswer(f"{' '.join(words)}: exit {process.returncode}, {errors.read().decode(errors='replace').strip()}")
        with open(said, encoding="utf-8") as file:
            return Ran(used.ru_utime + used.ru_stime, clock, file.read())

    def run(self, *words, threads=1, repeats=2):
        """The better of two runs; one alone where it takes long."""
        words = [str(word) for word in words] + ([] if threads is None else ["--threads", str(threads)])
        best = self.once(words)
        for _ in range(repeats - 1):
            if best.cpu > 20:
                break
            again = self.once(words)
            best = Ran(min(best.cpu, again.cpu), min(best.clock, again.clock), again.said)
        return best

    def fit(self, *words, **more):
        ran = self.run("fit", *words, "--json", "-q", **more)
        return ran, ran.json()

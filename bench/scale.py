#!/usr/bin/env python3
"""Mapped against read data, two processes against one, in one run; answers are compared first.

  scale.py CAUCUS CAUCUS-MPI BALLOTS [FOLDER]     top-10 ballots of 20 items, five groups; CAUCUS-MPI may be -
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

CAUCUS, MPI, BALLOTS = sys.argv[1], sys.argv[2], int(float(sys.argv[3]))
PASSES = "12"


def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def fit(data, out, ranks=0):
    # One start, a fixed number of passes over all ballots.
    words = ["fit", data, "-k", "5", "--method", "emm", "--init", "random", "--restarts", "1", "--iterations", PASSES, "--threads", "1", "-q", "--out", out]
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), MPI] if ranks else [CAUCUS]
    return timed(launch + words)


def model_of(path):
    with open(path, encoding="utf-8") as file:
        model = json.load(file)
    return model["fit"]["seconds"], (model["components"], model["fit"]["trace"])


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[4] if len(sys.argv) > 4 else None) as folder:
        path = lambda name: os.path.join(folder, name)
        subprocess.run([CAUCUS, "generate", "--items", "20", "-k", "5", "-q", "--out", path("truth.json")], check=True)
        subprocess.run([CAUCUS, "sample", path("truth.json"), "-n", str(BALLOTS), "--length", "10", "-q", "--out", path("b.soi")], check=True)
        subprocess.run([CAUCUS, "convert", path("b.soi"), path("b.cds"), "-q"], check=True)
        print(f"{BALLOTS} ballots: {os.path.getsize(path('b.soi')) / 1e6:.0f} MB as text, {os.path.getsize(path('b.cds')) / 1e6:.0f} MB mapped")
        runs = [("read", "b.soi", 0), ("mapped", "b.cds", 0)] + ([("1 process", "b.cds", 1), ("2 processes", "b.cds", 2)] if MPI != "-" else [])
        answers, seconds = [], {}
        for name, data, ranks in runs:
            wall, user, system = fit(path(data), path("m.json"), ranks)
            seconds[name], answer = model_of(path("m.json"))
            answers.append(answer)
            print(f"  {name:12} {wall:8.2f} s wall, {user:8.2f} user, {system:6.2f} system; the fit alone {seconds[name]:8.2f} s")
        if any(answer != answers[0] for answer in answers):
            sys.exit("the answers differ")
        print(f"  mapped / read {seconds['mapped'] / seconds['read']:.2f}")
        if MPI != "-":
            print(f"  1 process / 2 processes {seconds['1 process'] / seconds['2 processes']:.2f} (where two cores are free)")


main()

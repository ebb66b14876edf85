#!/usr/bin/env python3
"""Mapped against read data, two processes against one, in one run; answers are compared first.

  scale.py CAUCUS CAUCUS-MPI BALLOTS [FOLDER]     top-10 ballots of 20 items, five groups; CAUCUS-MPI may be -. REPEATS=1 TOGETHER=23 for a short run

Ratios of the clock need free cores, and the load stands beside them; ratios of processor time do not.
  scale.py CAUCUS - BALLOTS FOLDER --large        a sample and a fit that need more than memory: what they take of it, and the time of a pass
  scale.py CAUCUS CAUCUS-MPI BALLOTS [FOLDER] --model      docs/scale.md: constants from 1 and 2 processes; what they predict for 3 to 8 and for 3 BALLOTS, and what is so
  scale.py CAUCUS - BALLOTS FOLDER --in-memory    the same file mapped, and unpacked into memory: a pass of each
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

WORDS = [word for word in sys.argv[1:] if not word.startswith("--")]
CAUCUS, MPI, BALLOTS = WORDS[0], WORDS[1], int(float(WORDS[2]))
FOLDER = WORDS[3] if len(WORDS) > 3 else None
ITEMS, GROUPS, LENGTH, PASSES = 20, 5, 10, tuple(map(int, os.environ.get("PASSES", "3,33").split(",")))
TOGETHER = int(os.environ.get("TOGETHER", "103"))  # passes of a fit, one process against two
REPEATS = int(os.environ.get("REPEATS", "3"))
TRAFFIC = {**os.environ, "CAUCUS_MPI_TRAFFIC": "1"}


def watch(process, most):
    """The largest anonymous and resident memory of a process, as the system counts it."""
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name in ("RssAnon", "VmHWM"):
                        most[name] = max(most.get(name, 0), int(rest.split()[0]))
        except OSError:
            pass
        time.sleep(0.02)


def timed(command, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)
    most = {}
    watcher = threading.Thread(target=watch, args=(process, most))
    watcher.start()
    said = process.communicate()[1]
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{said}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": time.monotonic() - begun, "user": after.ru_utime - before.ru_utime, "system": after.ru_stime - before.ru_stime, "said": said,
            "anonymous": most.get("RssAnon", 0) / 1024, "resident": most.get("VmHWM", 0) / 1024}


def fit(data, out, passes, ranks=0, **more):
    # One start, a fixed number of passes over all ballots.
    words = ["fit", data, "-k", str(GROUPS), "--method", "emm", "--init", "random", "--restarts", "1", "--iterations", str(passes), "--tolerance", "1e-300",
             "--threads", "1", "-q", "--out", out]
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), MPI] if ranks else [CAUCUS]
    run = timed(launch + words, **more)
    with open(out, encoding="utf-8") as file:
        model = json.load(file)
    run["processor"] = run["user"] + run["system"]
    run.update(fit=model["fit"]["seconds"], passes=model["fit"]["iterations"], answer=(model["components"], model["fit"]["trace"]))
    return run


def per_pass(data, out, passes=15):
    """From what one fit says of its progress: seconds of one pass by the clock and of the processor; and the fit."""
    reading, writing = os.pipe()
    seen = []

    def listen():
        with os.fdopen(reading) as lines:
            for line in lines:
                step = json.loads(line)
                seen.append((step["step"], step["seconds"], processor_of("fit", data)))

    listener = threading.Thread(target=listen)
    listener.start()
    run = fit(data, out, passes, env={**os.environ, "CAUCUS_PROGRESS_FD": str(writing)}, pass_fds=(writing,))
    os.close(writing)
    listener.join()
    if len(seen) < 2 or seen[0][0] == seen[-1][0]:
        sys.exit("so few ballots that a pass cannot be timed: take more")
    first, last = seen[0], seen[-1]
    return [(last[i] - first[i]) / (last[0] - first[0]) for i in (1, 2)], run


def processor_of(*words):
    """Processor seconds so far of the process with these words on its command line."""
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", encoding="utf-8") as file:
                line = file.read().split("\0")
            if os.path.basename(line[0]) == os.path.basename(CAUCUS) and all(word in line for word in words):
                with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                    numbers = file.read().rsplit(")", 1)[1].split()
                return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return 0.0


def load():
    return f"load average {os.getloadavg()[0]:.1f}"


def make(path, name, ballots=BALLOTS):
    subprocess.run([CAUCUS, "generate", "--items", str(ITEMS), "-k", str(GROUPS), "-q", "--out", path("truth.json")], check=True)
    return timed([CAUCUS, "sample", path("truth.json"), "-n", str(ballots), "--length", str(LENGTH), "-q", "--threads", "1", "--out", path(name)])


def megabytes(run):
    return f"{run['anonymous']:.0f} MB of its own, {run['resident']:.0f} MB with mapped pages"


def mapped_against(path, name, data):
    """A pass over b.cds, mapped, and over the same ballots in `data`, by turns; both ratios of the least of each, answers checked."""
    answers, best = [], {}
    for one, file in ((name, data), ("mapped", "b.cds")) * REPEATS:
        seconds, long = per_pass(path(file), path("m.json"))
        answers.append(long["answer"])
        best[one] = [min(pair) for pair in zip(seconds, best.get(one, seconds))]
        print(f"  {one:8} {seconds[0]:8.3f} s a pass, {seconds[1]:8.3f} s of the processor; {megabytes(long)}; {load()}", flush=True)
    if any(answer != answers[0] for answer in answers):
        sys.exit("the answers differ")
    clock, processor = (best["mapped"][i] / best[name][i] for i in (0, 1))
    print(f"  {BALLOTS} ballots: mapped / {name}, a pass: {clock:.2f} by the clock, {processor:.2f} of the processor", flush=True)


def ratios(path):
    drawn = make(path, "b.cds")
    print(f"{BALLOTS} ballots: {os.path.getsize(path('b.cds')) / 1e6:.0f} MB mapped; drawn in {drawn['wall']:.1f} s, {megabytes(drawn)}; {load()}")
    subprocess.run([CAUCUS, "convert", path("b.cds"), path("b.soi"), "-q"], check=True)
    mapped_against(path, "read", "b.soi")
    if MPI != "-":
        times = []
        for _ in range(REPEATS):
            one, two = (fit(path("b.cds"), path("m.json"), TOGETHER, ranks, env=TRAFFIC) for ranks in (1, 2))
            if one["answer"] != two["answer"]:
                sys.exit("the answers differ")
            worked = [max(worker[3] for worker in traffic(run["said"])) for run in (one, two)]
            times.append((one["fit"], two["fit"], *worked))
            print(f"  1 process {one['fit']:.2f} s, 2 processes {two['fit']:.2f} s; the busiest worked {worked[0]:.2f} and {worked[1]:.2f} s of the processor; {load()}", flush=True)
        least = [min(column) for column in zip(*times)]
        print(f"  1 process / 2 processes, a fit of {TOGETHER} passes, least of {REPEATS}: {least[0] / least[1]:.2f} by the clock, {least[2] / least[3]:.2f} of the processor")


def large(path):
    drawn = make(path, "b.cds")
    print(f"{BALLOTS} ballots: {os.path.getsize(path('b.cds')) / 1e6:.0f} MB; drawn in {drawn['wall']:.0f} s, {drawn['user']:.0f} user; {megabytes(drawn)}; {load()}")
    seconds, long = per_pass(path("b.cds"), path("m.json"))
    print(f"  {seconds[0]:.2f} s a pass, {seconds[1]:.2f} s of the processor ({1e9 * seconds[1] / BALLOTS:.1f} ns a ballot); {megabytes(long)}; {load()}")


def in_memory(path):
    """The same bytes: a .cds file that is mapped, and a packed one, which is unpacked into memory; arrays made of it lie there too."""
    make(path, "b.cds")
    subprocess.run(["zstd", "-q", "-1", path("b.cds"), "-o", path("b.cds.zst")], check=True)
    mapped_against(path, "memory", "b.cds.zst")


def traffic(said):
    """By process: exchanges, bytes, seconds that it waited, processor seconds that it worked."""
    found = re.findall(r"traffic: process \d+ exchanges (\d+) bytes (\d+) waited ([\d.]+) worked ([\d.]+)", said)
    return [(int(a), int(b), float(c), float(d)) for a, b, c, d in found]


def blocks_of(ballots):
    return min(max(ballots >> 18, 64), 1024)


def share_of(ranks, ballots):
    """Of all blocks, what the busiest process does."""
    blocks = blocks_of(ballots)
    return max(blocks * (r + 1) // ranks - blocks * r // ranks for r in range(ranks)) / blocks


def work_of(data, out, ranks):
    """The least of several runs: bytes that one sends in a pass, the busiest one's work in a pass and besides, and a pass by the clock."""
    return [min(values) for values in zip(*(work_once(data, out, ranks) for _ in range(REPEATS)))]


def work_once(data, out, ranks):
    short, long = (fit(data, out, passes, ranks, env=TRAFFIC) for passes in PASSES)
    between = long["passes"] - short["passes"]
    first, second = traffic(short["said"]), traffic(long["said"])
    if len(first) != ranks or len(second) != ranks:
        sys.exit("some process did not say what it did:\n" + long["said"])
    sent = max(b[1] - a[1] for a, b in zip(sorted(first), sorted(second))) / between
    worked = max((b[3] - a[3]) / between for a, b in zip(sorted(first, key=lambda one: one[3]), sorted(second, key=lambda one: one[3])))
    besides = max(a[3] for a in first) - worked * short["passes"]
    return sent, worked, besides, (long["fit"] - short["fit"]) / between


def model(path):
    """The constants come from one and two processes on BALLOTS; all other processes, and three times as many ballots, are predicted."""
    lanes = 8  # five groups in vectors of eight
    partial = 8 * (1 + lanes + 2 * ITEMS * lanes + 3)  # sums of a block, with the lengths of three arrays
    cores = os.cpu_count()
    errors = []
    fitted = {}
    for ballots in (BALLOTS, 3 * BALLOTS):
        make(path, "b.cds", ballots)
        print(f"{ballots} ballots, {blocks_of(ballots)} blocks of {partial} bytes, {cores} cores; {load()}")
        print("  processes | bytes that one sends in a pass: model, measured | work of one in a pass, ms | work besides, s | a pass by the clock, ms")
        for ranks in (1, 2, 3, 4, 5, 6, 8) if ballots == BALLOTS else (1, 2, 3, 5, 8):
            sent, worked, besides, wall = work_of(path("b.cds"), path("m.json"), ranks)
            share = share_of(ranks, ballots)
            fitting = ballots == BALLOTS and ranks <= 2
            if fitting:
                fitted[ranks] = (worked, besides)
                each = (worked / share if ranks == 1 else (fitted[1][0] + worked / share) / 2) / ballots
                shared = 0.0 if ranks == 1 else 2 * (fitted[1][1] - besides) / ballots
                everybody = fitted[1][1] / ballots - shared
            says = (0 if ranks == 1 else share * blocks_of(ballots) * partial, each * ballots * share, (everybody + shared / ranks) * ballots)
            says += (says[1] * max(1.0, ranks / cores),)
            found = (sent, worked, besides, wall)
            words = " | ".join(f"{a * unit:.{digits}f}, {b * unit:.{digits}f}" for a, b, unit, digits in zip(says, found, (1, 1e3, 1, 1e3), (0, 1, 2, 1)))
            if not fitting:
                errors.append([abs(a / b - 1) if b else 0.0 for a, b in zip(says, found)])
            print(f"  {ranks} | {words} | {'fitted' if fitting else 'predicted'}; {load()}", flush=True)
            if fitting and ranks == 2:
                print(f"  fitted: {1e9 * each:.1f} ns a ballot in a pass; besides {1e6 * everybody:.2f} us a ballot by everybody, {1e6 * shared:.2f} shared")
    names = ("bytes", "work of a pass", "work besides", "clock of a pass")
    print("  errors of the predictions, mean and largest: " + "; ".join(
        f"{name} {100 * sum(column) / len(column):.0f} %, {100 * max(column):.0f} %" for name, column in zip(names, zip(*errors))))


def main():
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = lambda name: os.path.join(folder, name)
        (large if "--large" in sys.argv else model if "--model" in sys.argv else in_memory if "--in-memory" in sys.argv else ratios)(path)


main()

#!/usr/bin/env python3
"""Plackett-Luce fits against choix (PyPI) in one run. Answers are compared first, then CPU times.

  pl_peers.py BENCH SUSHI     BENCH: the program pl_speed_bench; SUSHI: PrefLib 00014-00000001.soc (left out if missing)
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

import choix
import numpy as np


def read_soc(path):
    rankings, items = [], 0
    for line in open(path, encoding="utf-8"):
        if line.startswith("# NUMBER ALTERNATIVES:"):
            items = int(line.split(":")[1])
        elif not line.startswith("#"):
            count, order = line.split(":")
            rankings += [[int(i) - 1 for i in order.split(",")]] * int(count)
    return items, rankings


def write_soc(path, items, rankings):
    with open(path, "w", encoding="utf-8") as out:
        out.write("# DATA TYPE: soc\n# NUMBER ALTERNATIVES: %d\n# NUMBER VOTERS: %d\n# NUMBER UNIQUE ORDERS: %d\n" % (items, len(rankings), len(rankings)))
        for i in range(items):
            out.write("# ALTERNATIVE NAME %d: %d\n" % (i + 1, i + 1))
        for ranking in rankings:
            out.write("1: " + ",".join(str(i + 1) for i in ranking) + "\n")


def loglik(params, rankings):
    worths = np.exp(params - params.max())
    total = 0.0
    for ranking in rankings:
        w = worths[ranking]
        total += float(np.sum(np.log(w) - np.log(np.cumsum(w[::-1])[::-1])))
    return total


def compare(name, bench, path):
    items, rankings = read_soc(path)
    begun = time.process_time()
    params = choix.ilsr_rankings(items, rankings, alpha=0.0, tol=1e-8)
    theirs = time.process_time() - begun
    ours = json.loads(subprocess.run([bench, "fit", path, "1"], check=True, capture_output=True, text=True).stdout)
    reference = loglik(params, rankings)
    if abs(ours["loglik"] - reference) > 1e-7 * abs(reference):
        sys.exit("%s: DIFFERENT ANSWERS %.6f and %.6f" % (name, ours["loglik"], reference))
    print("%s, K = 1: choix %.3f s, caucus %.5f s with standard errors, %.0f times as fast (at least 100 wanted), same log-likelihood %.5f"
          % (name, theirs, ours["cpu_seconds"], theirs / ours["cpu_seconds"], ours["loglik"]))


def main():
    bench, sushi = sys.argv[1], sys.argv[2]
    if os.path.exists(sushi):
        compare("Sushi 5000 x 10", bench, sushi)
    else:
        print("Sushi: left out, %s is missing" % sushi)
    rng = random.Random(1)
    utilities = [rng.gauss(0, 1) for _ in range(100)]
    rankings = [sorted(range(100), key=lambda i: -math.log(rng.expovariate(1.0)) + utilities[i], reverse=True) for _ in range(5000)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "drawn.soc")
        write_soc(path, 100, rankings)
        compare("drawn 5000 x 100", bench, path)


if __name__ == "__main__":
    main()

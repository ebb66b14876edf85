#!/usr/bin/env python3
"""How often the intervals of --membership hold the truth: data sets drawn from a known model, fitted, counted.

Usage: voters-coverage.py PATH-TO-CAUCUS [DATA-SETS [VOTERS [FIRST-SEED]]]

Two groups of opposite taste over six items; a voter lists three. The log odds of the second group are 0.4 + 0.8 age - 1.0 west, age
standard normal, two in five voters in the west. Prints, coefficient by coefficient, the share of 95 % intervals that hold the truth.
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

ITEMS = "abcdef"
TASTE = [1.5, 0.9, 0.3, -0.3, -0.9, -1.5]
TRUTH = {"(intercept)": -0.4, "age": 0.8, "town=west": -1.0}


def draw(voters, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(voters):
        age, west = rng.gauss(0, 1), rng.random() < 0.4
        odds = TRUTH["(intercept)"] + TRUTH["age"] * age + TRUTH["town=west"] * west
        sign = -1 if rng.random() < 1 / (1 + math.exp(-odds)) else 1
        left, order = list(range(6)), []
        for _ in range(3):
            pick = rng.choices(left, [math.exp(sign * TASTE[i]) for i in left])[0]
            left.remove(pick)
            order.append(ITEMS[pick])
        rows.append([f"{age:.6f}", "west" if west else "east", *order])
    return rows


def main():
    program = sys.argv[1]
    sets, voters, first = (int(sys.argv[i]) if len(sys.argv) > i else default for i, default in ((2, 500), (3, 400), (4, 1)))
    inside = dict.fromkeys(TRUTH, 0)
    counted = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "d.csv")
        for seed in range(first, first + sets):
            with open(path, "w", newline="", encoding="utf-8") as out:
                csv.writer(out).writerows([["age", "town", "rank1", "rank2", "rank3"], *draw(voters, seed)])
            run = subprocess.run([program, "fit", path, "-k", "2", "--membership", "age + town", "--restarts", "2", "--threads", "1", "--json"],
                                 capture_output=True, text=True, check=True)
            model = json.loads(run.stdout)
            membership = model["membership"]
            # Which of the fitted groups is the first of the truth: the one that likes item a.
            first_group = model["components"][0]["utilities"][0] > model["components"][0]["utilities"][5]
            sign = 1 if first_group else -1
            if "standard_errors" not in membership:
                continue
            counted += 1
            for name, value, error in zip(membership["columns"], membership["coefficients"][1], membership["standard_errors"][1]):
                inside[name] += abs(sign * value - TRUTH[name]) <= 1.959964 * error
            if counted % 50 == 0:
                print(counted, {name: round(count / counted, 4) for name, count in inside.items()}, flush=True)
    print(f"{counted} of {sets} data sets of {voters} voters:", {name: round(count / counted, 4) for name, count in inside.items()})


if __name__ == "__main__":
    main()

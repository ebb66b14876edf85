#!/usr/bin/env python3
"""Makes the bundled example: an invented town votes on what to do with its empty lot.

Three groups of voters, each with a Plackett-Luce preference; ballots list 1 to 8 of the 8 proposals.
The numbers are drawn here, from a fixed seed; the data describe nobody.
"""
import math
import random
from collections import Counter

PROPOSALS = ["Park", "Playground", "Library", "Swimming pool", "Market hall", "Cinema", "Skate park", "Car park"]
GROUPS = [  # share, log-worths, chance to stop after each listed proposal
    ("families", 0.45, [1.2, 1.9, 0.8, 1.3, -0.4, -0.9, -0.6, -1.6], 0.10),
    ("shops", 0.30, [-0.3, -1.1, -0.5, -0.8, 1.9, 0.4, -1.7, 1.8], 0.20),
    ("young", 0.25, [0.1, -1.3, -0.6, 0.9, -0.2, 1.6, 1.7, -1.4], 0.15),
]


def draw_ballot(rng):
    _, _, utilities, stop = rng.choices(GROUPS, [group[1] for group in GROUPS])[0]
    left = list(range(len(PROPOSALS)))
    ballot = []
    while left:
        chosen = rng.choices(left, [math.exp(utilities[item]) for item in left])[0]
        ballot.append(chosen + 1)
        left.remove(chosen)
        if rng.random() < stop:
            break
    return tuple(ballot)


def main():
    rng = random.Random(20240501)
    ballots = Counter(draw_ballot(rng) for _ in range(2400))
    with open("town.soi", "w", encoding="utf-8", newline="\n") as out:
        out.write("# FILE NAME: town.soi\n# TITLE: What to do with the empty lot (invented)\n# DATA TYPE: soi\n")
        out.write(f"# NUMBER ALTERNATIVES: {len(PROPOSALS)}\n# NUMBER VOTERS: {sum(ballots.values())}\n")
        out.write(f"# NUMBER UNIQUE ORDERS: {len(ballots)}\n")
        for number, name in enumerate(PROPOSALS, 1):
            out.write(f"# ALTERNATIVE NAME {number}: {name}\n")
        for ballot, count in sorted(ballots.items(), key=lambda pair: (-pair[1], pair[0])):
            out.write(f"{count}: {','.join(map(str, ballot))}\n")


if __name__ == "__main__":
    main()

"""Synthetic data of the bench: numpy draws, written once into a folder. Same seed, same file."""
import json
import os

import numpy as np


def kept(folder, name, write):
    """The path of a file, which `write(path)` makes where it is not there yet."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        part = path + ".part" + os.path.splitext(name)[1]
        write(part)
        os.replace(part, path)
    return path


def gumbel_orders(rng, utilities, count):
    return np.argsort(-(utilities + rng.gumbel(size=(count, len(utilities)))), axis=1)


def mallows_orders(rng, center, theta, count):
    """Repeated insertion: item i goes to one of the places 0..i, the j-th from the end with probability exp(-theta j)."""
    orders = np.empty((count, len(center)), dtype=int)
    for i, item in enumerate(center):
        chances = np.exp(-theta * np.arange(i + 1))
        place = i - np.searchsorted(np.cumsum(chances / chances.sum())[:-1], rng.random(count))
        for p in np.unique(place):
            rows = place == p
            orders[rows, p + 1:i + 1] = orders[rows, p:i]
            orders[rows, p] = item
    return orders


def write_preflib(path, items, lines, kind):
    with open(path, "w", encoding="ascii") as out:
        out.write(f"# DATA TYPE: {kind}\n# NUMBER ALTERNATIVES: {items}\n")
        out.writelines(f"# ALTERNATIVE NAME {i}: i{i}\n" for i in range(1, items + 1))
        out.writelines(lines)


def write_orders(path, orders, items=None, kind="soc"):
    words = [str(i + 1) for i in range(items or orders.shape[1])]
    write_preflib(path, len(words), ("1: " + ",".join([words[i] for i in order]) + "\n" for order in orders.tolist()), kind)


def mixture(folder, name, seed, groups, count, draw, **more):
    """`draw(rng, group, how many)` gives the orders of a group; groups are equally large."""
    def write(path):
        rng = np.random.default_rng(seed)
        orders = np.concatenate([draw(rng, k, count // groups + (k < count % groups)) for k in range(groups)])
        write_orders(path, orders[rng.permutation(len(orders))], **more)
    return kept(folder, name, write)


def pl_mixture(folder, name, items, groups, count, spread=1.0, top=None, seed=1):
    utilities = np.random.default_rng(seed + 1000).normal(0, spread, (groups, items))
    more = {"items": items, "kind": "soi"} if top else {}
    return mixture(folder, name, seed, groups, count, lambda rng, k, many: gumbel_orders(rng, utilities[k], many)[:, :top], **more)


def centers(items, groups, seed=1):
    return [np.random.default_rng([seed, k]).permutation(items) for k in range(groups)]


def mallows_mixture(folder, name, items, groups, count, theta, top=None, seed=1):
    middle = centers(items, groups, seed)
    more = {"items": items, "kind": "soi"} if top else {}
    return mixture(folder, name, seed, groups, count, lambda rng, k, many: mallows_orders(rng, middle[k], theta, many)[:, :top], **more)


def tied_people(folder, people=500, items=10, groups=4, tied=0.12, seed=1):
    """Complete rankings of several groups; 12 % of neighbours are tied, at most three in a row."""
    def write(path):
        rng = np.random.default_rng(seed)
        utilities = rng.normal(0, 1.5, (groups, items))
        def line(order, ties):
            text, inside = "", False
            for place, item in enumerate(order):
                follows = place < len(ties) and ties[place]
                text += ("," if place else "") + ("{" if follows and not inside else "") + str(item + 1) + ("}" if inside and not follows else "")
                inside = follows
            return f"1: {text}\n"
        def ties():
            drawn = (rng.random(items - 1) < tied).tolist()
            return [tie and not (place >= 2 and drawn[place - 1] and drawn[place - 2]) for place, tie in enumerate(drawn)]
        rows = [gumbel_orders(rng, utilities[i % groups], 1)[0].tolist() for i in range(people)]
        write_preflib(path, items, [line(row, ties()) for row in rows], "toc")
    return kept(folder, "tied_people.toc", write)


def davidson(rng, utilities, groups, a, b, tie):
    """Outcomes of battles under Davidson's model: 0 the first wins, 1 the second, 2 a tie."""
    first, second = np.exp(utilities[groups, a]), np.exp(utilities[groups, b])
    ties = tie * np.sqrt(first * second)
    draw = rng.random(len(a)) * (first + second + ties)
    return np.where(draw < first, 0, np.where(draw < first + second, 1, 2))


def battles(folder, name, count=1_000_000, items=100, groups=1, tie=0.4, seed=1):
    """A table model_a,model_b,winner, a line for each battle."""
    def write(path):
        rng = np.random.default_rng(seed)
        utilities = rng.normal(0, 0.7, (groups, items))
        a = rng.integers(items, size=count)
        b = (a + 1 + rng.integers(items - 1, size=count)) % items
        outcome = davidson(rng, utilities, rng.integers(groups, size=count), a, b, tie)
        words, ends = [f"model-{i:02d}" for i in range(items)], ("model_a", "model_b", "tie")
        with open(path, "w", encoding="ascii") as out:
            out.write("model_a,model_b,winner\n")
            out.writelines(f"{words[i]},{words[j]},{ends[w]}\n" for i, j, w in zip(a.tolist(), b.tolist(), outcome.tolist()))
    return kept(folder, name, write)


def counted_battles(folder, items=12, seed=1):
    """66 pairs, each with wins, losses and ties: 198 distinct battles with weights."""
    def write(path):
        rng = np.random.default_rng(seed)
        with open(path, "w", encoding="ascii") as out:
            out.write("a,b,win_a,win_b,tie\n")
            for a in range(items):
                for b in range(a):
                    many = int(rng.integers(200, 2000))
                    groups = rng.integers(4, size=many)
                    won = davidson(rng, np.random.default_rng(seed + 1).normal(0, 1.5, (4, items)), groups, np.full(many, a), np.full(many, b), 0.5)
                    out.write(f"i{a},i{b},{int((won == 0).sum())},{int((won == 1).sum())},{int((won == 2).sum())}\n")
    return kept(folder, "counted_battles.csv", write)


def wide_table(folder, rows=500_000, items=20, places=10, seed=1):
    """A cast-vote record: an id, a precinct and ten places with names; some ballots stop early."""
    def write(path):
        rng = np.random.default_rng(seed)
        orders = gumbel_orders(rng, rng.normal(0, 1, items), rows)[:, :places]
        lengths = rng.integers(1, places + 1, size=rows)
        names = [f"Candidate {chr(65 + i)}. Surname{i:02d}" for i in range(items)]
        with open(path, "w", encoding="ascii") as out:
            out.write("Ballot ID,Precinct," + ",".join(f"rank{i}" for i in range(1, places + 1)) + "\n")
            out.writelines(f"{row + 1:06d},P-{row % 97}," + ",".join([names[i] for i in order[:length]]) + "," * (places - length) + "\n"
                           for row, (order, length) in enumerate(zip(orders.tolist(), lengths.tolist())))
    return kept(folder, "wide.csv", write)


def short_lines(folder, megabytes=100, seed=1):
    """PrefLib lines of 17 bytes, end of line included: seven of twelve items, the longest names of two digits."""
    def write(path):
        rng = np.random.default_rng(seed)
        need, lines = (megabytes << 20) // 17, []
        while len(lines) < need:
            orders = np.argsort(rng.random((200_000, 12)), axis=1)[:, :6] + 1
            lines += [line for line in ("1: " + ",".join(map(str, order)) + "\n" for order in orders.tolist()) if len(line) == 17]
        write_preflib(path, 12, lines[:need], "soi")
    return kept(folder, f"short{megabytes}.soi", write)


def uniform_orders(folder, items, count, seed=1):
    return kept(folder, f"uniform{items}x{count}.soc", lambda path: write_orders(path, np.argsort(np.random.default_rng(seed).random((count, items)), axis=1)))


def model(folder, name, family, components, items):
    """A model file written by hand, to sample from."""
    def write(path):
        with open(path, "w", encoding="ascii") as out:
            json.dump({"schema": "caucus.model/1", "family": family, "items": [f"i{i}" for i in range(items)], "unranked": "last", "components": components}, out)
    return kept(folder, name, write)

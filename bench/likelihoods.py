"""Log-likelihoods written out in numpy from their definitions, to check what caucus reports. Slow and plain on purpose."""
import functools

import numpy as np


def log_mixture(weights, parts):
    """Rows of log probabilities, a column for each group, to log probabilities of the mixture."""
    table = np.stack(parts, axis=1) + np.log(weights)
    top = table.max(axis=1)
    return top + np.log(np.exp(table - top[:, None]).sum(axis=1))


def plackett_luce(orders, utilities):
    w = np.exp(utilities - np.max(utilities))[orders]
    return np.sum(np.log(w) - np.log(np.cumsum(w[:, ::-1], axis=1)[:, ::-1]), axis=1)


def mallows(orders, center, theta):
    """Complete orders, Kendall's distance."""
    n = len(center)
    places = np.argsort(center)[orders]
    far = sum((places[:, i:i + 1] > places[:, i + 1:]).sum(axis=1) for i in range(n - 1))
    stages = [np.log(np.exp(-theta * np.arange(i + 1)).sum()) for i in range(1, n)]
    return -theta * far - sum(stages)


def spearman(orders, center, theta):
    """Complete orders, sum of squared differences of places. The normaliser is a permanent: Ryser's formula over all subsets of columns."""
    n = len(center)
    places = np.argsort(orders, axis=1)
    far = ((places - np.argsort(center)) ** 2).sum(axis=1)
    kernel = np.exp(-theta * (np.arange(n)[:, None] - np.arange(n)[None, :]) ** 2)
    subsets = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    signs = (-1.0) ** (n - subsets.sum(axis=1))
    return -theta * far - np.log((signs * np.prod(subsets @ kernel.T, axis=1)).sum())


def stagewise(rows, center, thetas):
    """Generalized Mallows by place in the ballot: rows may be the best few of all items."""
    n, values = len(center), []
    norms = [[np.log(np.exp(-theta * np.arange(n - j)).sum()) for j in range(n)] for theta in thetas]
    place = np.argsort(center)
    for row in rows:
        left, total = sorted(place.tolist()), 0.0
        for j, item in enumerate(row[:n - 1]):
            code = left.index(place[item])
            left.pop(code)
            total -= thetas[j] * code + norms[j][j]
        values.append(total)
    return np.array(values)


def davidson_luce(rows, utilities, strengths):
    """Rankings with ties: a set of d tied items has the weight strengths[d] times the geometric mean of its worths. Rows are lists of tie groups; what
    they do not list is below."""
    worths, most = np.exp(utilities - np.mean(utilities)), max(strengths)

    @functools.cache
    def sums(left):
        total = 0.0
        for d in range(1, min(most, len(left)) + 1):
            if strengths.get(d, 0.0) > 0:
                e = [1.0] + [0.0] * d  # elementary symmetric sums of the d-th roots
                for item in left:
                    root = worths[item] ** (1.0 / d)
                    for k in range(d, 0, -1):
                        e[k] += root * e[k - 1]
                total += strengths[d] * e[d]
        return total
    values = []
    for row in rows:
        left, total = tuple(range(len(worths))), 0.0
        for group in row:
            if len(left) > 1:
                total += np.log(strengths[len(group)]) + np.mean([np.log(worths[item]) for item in group]) - np.log(sums(left))
            left = tuple(item for item in left if item not in group)
        values.append(total)
    return np.array(values)


def davidson_battles(counts, names, components, tie):
    """Mixture of Davidson's models over counted battles (a, b, outcome or winner, how many): the weighted sum."""
    place = {name: i for i, name in enumerate(names)}
    a, b = np.array([place[c[0]] for c in counts]), np.array([place[c[1]] for c in counts])
    outcome, many = np.array([c[2] for c in counts]), np.array([c[3] for c in counts], dtype=float)
    parts = []
    for component in components:
        w = np.exp(np.array(component["utilities"]))
        first, second, ties = w[a], w[b], tie * np.sqrt(w[a] * w[b])
        parts.append(np.log(np.choose(outcome, [first, second, ties])) - np.log(first + second + ties))
    return float((many * log_mixture([c["weight"] for c in components], parts)).sum())


def read_ties(path):
    """PrefLib rows with ties, items from 0: lists of tie groups."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            count, text = line.split(":")
            groups, inside = [], False
            for word in text.strip().split(","):
                item = int(word.strip("{} ")) - 1
                if inside:
                    groups[-1].append(item)
                else:
                    groups.append([item])
                inside = (inside or "{" in word) and "}" not in word
            rows += [groups] * int(count)
    return rows

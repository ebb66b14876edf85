"""What others do with the same data: packages of PyPI, each called as its documentation says. A peer returns its answer and its seconds.

Seconds are CPU time of this process without the import, as `work` takes them. Where a package is missing, its import fails and the line says so.
"""
import time

import numpy as np


def work(call, repeats=2, clock=time.process_time):
    """The answer of a call and the better of its times."""
    best = None
    for _ in range(repeats):
        begun = clock()
        answer = call()
        taken = clock() - begun
        best = taken if best is None else min(best, taken)
    return answer, best


def read_orders(path):
    """Complete PrefLib orders from 0, each as often as it counts."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                count, order = line.split(":")
                rows += [[int(item) - 1 for item in order.split(",")]] * int(count)
    return np.array(rows)


def plackett_luce(orders, utilities):
    """Log-likelihood of complete orders."""
    w = np.exp(utilities - np.max(utilities))[orders]
    return float(np.sum(np.log(w) - np.log(np.cumsum(w[:, ::-1], axis=1)[:, ::-1])))


def choix_rankings(orders):
    import choix
    rows = orders.tolist()
    return work(lambda: choix.ilsr_rankings(orders.shape[1], rows, alpha=0.0, tol=1e-8))


def gumbel(utilities, count):
    """Orders in memory: the usual line of numpy."""
    rng = np.random.default_rng(1)
    return work(lambda: np.argsort(-(utilities + rng.gumbel(size=(count, len(utilities)))), axis=1), repeats=3)


def polars_counts(path):
    """Battles of a table, counted: pairs with the number of wins, losses and ties."""
    import polars
    return polars.scan_csv(path).group_by("model_a", "model_b", "winner").len().collect()


def wins_of(counts, names):
    """Matrices of wins and of ties (half in each place) from counted battles."""
    place = {name: i for i, name in enumerate(names)}
    wins, ties = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for a, b, winner, many in counts.iter_rows():
        i, j = place[a], place[b]
        if winner == "model_a":
            wins[i, j] += many
        elif winner == "model_b":
            wins[j, i] += many
        else:
            ties[i, j] += many / 2
            ties[j, i] += many / 2
    return wins, ties


def bootstrap_counts(path, names, samples=100):
    """Battles counted by polars, fitted by choix; samples drawn from the counts by numpy and refitted from the fit."""
    import choix
    def run():
        wins, _ = wins_of(polars_counts(path), names)
        fit = choix.ilsr_pairwise_dense(wins, tol=1e-8)
        rng, total = np.random.default_rng(1), int(wins.sum())
        chances = (wins / wins.sum()).ravel()
        refits = [choix.ilsr_pairwise_dense(rng.multinomial(total, chances).reshape(wins.shape).astype(float), initial_params=fit, tol=1e-8)
                  for _ in range(samples)]
        refits = np.array(refits)
        return fit, np.std(refits - refits.mean(axis=1, keepdims=True), axis=0, ddof=1)
    return work(run)


def evalica_battles(path):
    """Bradley-Terry scores by evalica on counts made by polars; ties are half a win each, errors there are none."""
    import evalica
    import polars
    outcome = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    def run():
        counts = polars_counts(path)
        result = evalica.bradley_terry(counts["model_a"].to_list(), counts["model_b"].to_list(), [outcome[w] for w in counts["winner"].to_list()],
                                       weights=counts["len"].cast(polars.Float64).to_list(), tolerance=1e-8, limit=10000)
        return result.scores
    return work(run)


def davidson_gradient(path, names, utilities, tie):
    """Derivatives of Davidson's log-likelihood at given parameters, over the number of battles: zero at the maximum."""
    wins, ties = wins_of(polars_counts(path), names)
    u = np.asarray(utilities)
    total = wins + wins.T + 2 * ties
    w = np.exp(u)
    root = np.sqrt(np.outer(w, w))
    bottom = w[:, None] + w[None, :] + tie * root
    expected = total * (w[:, None] + tie * root / 2) / bottom
    gradient = (wins + ties - expected).sum(axis=1)
    tied = ties.sum() - np.triu(total * tie * root / bottom, 1).sum()
    return float(max(np.abs(gradient).max(), abs(tied)) / wins.sum())


def logistic(counts):
    """Bradley-Terry by scikit-learn's logistic regression, as leaderboards of chat models do: a row for each side of a pair, weights, hardly any penalty."""
    import scipy.sparse
    from sklearn.linear_model import LogisticRegression
    names = sorted(set(counts[0]) | set(counts[1]))
    place = {name: i for i, name in enumerate(names)}
    a, b = np.array([place[name] for name in counts[0]]), np.array([place[name] for name in counts[1]])
    first, second = np.array(counts[2], dtype=float), np.array(counts[3], dtype=float)
    def run():
        rows = np.arange(len(a))
        x = scipy.sparse.csr_matrix((np.r_[np.ones(len(a)), -np.ones(len(a))], (np.r_[rows, rows], np.r_[a, b])), shape=(len(a), len(names)))
        kept = np.r_[first, second] > 0
        model = LogisticRegression(C=1e10, fit_intercept=False, tol=1e-10, max_iter=10000)
        model.fit(scipy.sparse.vstack([x, x])[kept], np.r_[np.ones(len(a)), np.zeros(len(a))][kept], sample_weight=np.r_[first, second][kept])
        return model.coef_[0] - model.coef_[0].mean()
    found, seconds = work(run)
    return dict(zip(names, found)), seconds


def disagreements(orders):
    """cost[i, j]: how many orders have j before i, which is what putting i before j costs."""
    places = np.argsort(orders, axis=1)
    return sum((row[:, None] > row[None, :]).astype(int) for row in places)


def kemeny_cost(cost, order):
    return int(sum(cost[order[i], order[i + 1:]].sum() for i in range(len(order))))


def triangles(x, n, most):
    """The most violated x_ij + x_jk + x_ki <= 2 of a point, each triangle once."""
    sums = x[:, :, None] + x[None, :, :] + x.T[:, None, :]
    i, j, k = np.nonzero(sums > 2 + 1e-6)
    first = (i < j) & (i < k)  # a cycle is the same from each of its items
    i, j, k = i[first], j[first], k[first]
    best = np.argsort(-sums[i, j, k], kind="stable")[:most]
    return np.stack([i[best], j[best], k[best]], axis=1)


class Kemeny:
    """The linear ordering problem in HiGHS: a variable for each pair, triangle cuts added in rounds, first of the linear program, then of the integer one."""

    def __init__(self, cost, limit):
        import highspy
        self.cost, self.n, self.highs = cost, len(cost), highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.limit, self.kinds = limit, highspy.HighsVarType
        self.pairs = [(i, j) for i in range(self.n) for j in range(i + 1, self.n)]
        self.column = {pair: c for c, pair in enumerate(self.pairs)}
        self.constant = sum(cost[j, i] for i, j in self.pairs)
        for i, j in self.pairs:
            self.highs.addVar(0.0, 1.0)
            self.highs.changeColCost(self.column[i, j], float(cost[i, j] - cost[j, i]))

    def add(self, cuts):
        for i, j, k in cuts.tolist():
            columns, signs, bound = [], [], 2.0
            for a, b in ((i, j), (j, k), (k, i)):
                columns.append(self.column[min(a, b), max(a, b)])
                signs.append(1.0 if a < b else -1.0)
                bound -= 0.0 if a < b else 1.0
            self.highs.addRow(-np.inf, bound, 3, np.array(columns, dtype=np.int32), np.array(signs))

    def point(self):
        x = np.zeros((self.n, self.n))
        for (i, j), value in zip(self.pairs, self.highs.getSolution().col_value):
            x[i, j], x[j, i] = value, 1.0 - value
        return x

    def rounds(self, begun, most):
        while True:
            left = self.limit - (time.process_time() - begun)
            if left <= 0:
                return None
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + left)
            self.highs.run()
            x = self.point()
            cuts = triangles(x, self.n, most)
            if len(cuts) == 0:
                return x
            self.add(cuts)

    def solve(self):
        begun = time.process_time()
        x = self.rounds(begun, 2000)
        if x is not None and np.abs(x - np.round(x)).max() > 1e-6:
            for c in range(len(self.pairs)):
                self.highs.changeColIntegrality(c, self.kinds.kInteger)
            x = self.rounds(begun, 500)
        if x is None:
            return None, time.process_time() - begun
        return np.argsort(-x.sum(axis=1), kind="stable"), time.process_time() - begun


def highs_consensus(orders, limit=300):
    """An order of least cost and seconds; None as order where the time was not enough."""
    return Kemeny(disagreements(orders), limit).solve()


def read_pandas(path):
    import pandas
    return work(lambda: pandas.read_csv(path), clock=time.perf_counter)


def read_polars(path):
    import polars
    return work(lambda: polars.read_csv(path), clock=time.perf_counter)

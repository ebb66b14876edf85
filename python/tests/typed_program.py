"""What a typed program may rely on: checked by mypy --strict, not run."""

from __future__ import annotations

import numpy as np

import caucus

votes: caucus.Rankings = caucus.Rankings([["a", "b"], ["b", ("a", "c")]], weights=[2, 1])
part: caucus.Rankings = votes[:1]
one: caucus.Ranking = votes[0]
model = caucus.PlackettLuceMixture(3, method="em-lsr", init="spectral", regularization="auto", random_state=1).fit(votes)
kept: caucus.PlackettLuceMixture = model
weights: float = float(model.weights_.sum())
labels: int = int(model.predict(votes)[0])
table: caucus.Frame = caucus.select(votes, caucus.MallowsMixture(distance="kendall"), components=[1, 2])
chosen: int = caucus.select(votes).chosen_k
drawn, groups = model.sample(3)
first: float = float(np.max(table["bic"]))
any_model: caucus.RankingModel = caucus.load("model.json")
page: str = model.report("out.html")

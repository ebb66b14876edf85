"""Plackett-Luce regression: classes and ballots explained by covariates."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import caucus
from caucus import PlackettLuceRegression, Rankings

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    age, city = rng.normal(40, 10, 150).round(3), rng.choice(["Bern", "Chur"], 150)
    label = np.where(age + 8 * (city == "Bern") + rng.normal(0, 6, 150) > 44, "yes", "no")
    return pd.DataFrame({"age": age, "city": city}), label


@pytest.mark.parametrize("params", [{}, {"a": 0.5}, {"method": "gibbs", "sweeps": 60}, {"method": "variational"}, {"method": "logit-lasso", "sweeps": 60}], ids=str)
def test_same_as_the_command_line(params, table, cli, tmp_path):
    X, y = table
    X.assign(target=y).to_csv(tmp_path / "train.csv", index=False)
    words = [word for name, value in params.items() for word in (f"--{name}", value)]
    cli("regress", "train.csv", "--target", "target", "--seed", 3, *words, "--quiet", "--out", "theirs.json")
    theirs = caucus.load("theirs.json")
    ours = PlackettLuceRegression(random_state=3, **params).fit(X, y)
    assert isinstance(theirs, PlackettLuceRegression) and {**theirs.get_params(), "a": str(theirs.a)} == {**ours.get_params(), "a": str(ours.a)}
    assert ours.coef_.tolist() == theirs.coef_.tolist() and ours.loglik_ == theirs.loglik_
    assert ours.classes_.tolist() == theirs.classes_.tolist() == ["no", "yes"]
    assert ours.coef_.shape[1] == len(ours.feature_names_)
    cli("predict", "theirs.json", "train.csv", "--quiet", "--out", "predicted.csv")
    predicted = pd.read_csv("predicted.csv")
    np.testing.assert_allclose(predicted[["p_no", "p_yes"]].to_numpy(), ours.predict_proba(X), rtol=1e-12)
    assert predicted["predicted"].tolist() == ours.predict(X).tolist()
    assert ours.score(X, y) == (ours.predict(X) == y).mean() > 0.7


def test_files_pickles_and_words(table, tmp_path):
    X, y = table
    model = PlackettLuceRegression().fit(X, y)
    model.save("m.json")
    assert caucus.load("m.json").predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert json.loads((tmp_path / "m.json").read_text())["schema"] == "caucus.regression/1"
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    weights = model.weights()
    assert set(weights["class"]) == {"no", "yes"} and abs(weights["share"].sum() - 2) < 1e-9
    assert "<" in model.report("r.html") and (tmp_path / "r.html").exists()
    assert model._repr_html_().startswith("<iframe")
    with pytest.raises(caucus.UsageError, match="which classes"):
        PlackettLuceRegression().fit(X)
    with pytest.raises(caucus.DataError, match="one class each"):
        PlackettLuceRegression().fit(X, y[:5])
    with pytest.raises(caucus.UsageError, match="method"):
        PlackettLuceRegression(method="guess").fit(X, y)
    with pytest.raises(caucus.DataError, match="age"):
        PlackettLuceRegression().fit(X.assign(age=np.nan), y)
    with pytest.raises(caucus.NotFittedError):
        PlackettLuceRegression().predict(X)


def test_numbers_as_classes_and_arrays(table):
    X, y = table
    numbers = (y == "yes").astype(int)
    array = X[["age"]].to_numpy()
    model = PlackettLuceRegression().fit(array, numbers)
    assert model.classes_.tolist() == [0, 1] and model.predict(array).dtype.kind == "i"
    assert model.n_features_in_ == 1
    frame = PlackettLuceRegression().fit(X[["age"]], numbers)
    assert frame.predict_proba(X[["age"]]).tolist() == model.predict_proba(array).tolist()
    sklearn = pytest.importorskip("sklearn.model_selection")
    search = sklearn.GridSearchCV(PlackettLuceRegression(), {"a": [1, 2]}, cv=2).fit(array, numbers)
    assert search.best_score_ > 0.6


def test_ballots(cli, tmp_path):
    rng = np.random.default_rng(2)
    age = rng.normal(0, 1, 80).round(3)
    ballots = [["Park", "Pool", "Hall"] if a + rng.normal() > 0 else ["Hall", "Pool"] for a in age]
    votes = Rankings(ballots, covariates={"age": age})
    votes.write("votes.jsonl")
    model = PlackettLuceRegression().fit(votes)
    same = PlackettLuceRegression().fit({"age": age}, Rankings(ballots))
    assert model.coef_.tolist() == same.coef_.tolist()
    cli("regress", "votes.jsonl", "--ranking", "--quiet", "--out", "theirs.json")
    assert caucus.load("theirs.json").coef_.tolist() == model.coef_.tolist()
    assert model.score(votes) == pytest.approx(model.loglik_ / 80, rel=1e-9) and model.score({"age": age}, Rankings(ballots)) == model.score(votes)
    assert set(model.classes_) == {"Park", "Pool", "Hall"}
    assert model.predict({"age": [3.0, -3.0]}).tolist() == ["Park", "Hall"]


def test_draws_become_arviz(table):
    pytest.importorskip("arviz")
    X, y = table
    draws = PlackettLuceRegression(method="gibbs", sweeps=60, chains=2).fit(X, y).to_arviz()
    assert "weight" in draws.posterior
    with pytest.raises(caucus.UsageError, match="sampler"):
        PlackettLuceRegression().fit(X, y).to_arviz()

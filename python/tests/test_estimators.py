"""The estimators: what they give, what they refuse, and that they are right."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import caucus
from caucus import Rankings

SHORT = {"pl": {"components": 2}, "mallows": {"components": 2}, "gmallows": {"components": 2}, "m4": {"components": 2, "restarts": 2},
         "dpm": {"sweeps": 30, "burnin": 10}, "kde": {"theta": 0.8}, "ebms": {"iterations": 20}}


@pytest.mark.parametrize("family", caucus.FAMILIES)
def test_every_estimator(family, complete):
    estimator = caucus.FAMILIES[family](**SHORT[family])
    assert not estimator.__sklearn_is_fitted__() and not hasattr(estimator, "weights_")
    with pytest.raises(caucus.NotFittedError, match="call fit first"):
        estimator.predict(complete)
    assert estimator.fit(complete) is estimator
    groups = estimator.n_components_
    memberships = estimator.predict_proba(complete)
    assert memberships.shape == (len(complete), groups)
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0, rtol=1e-9)
    assert (estimator.predict(complete) == memberships.argmax(axis=1)).all()
    assert estimator.weights_.shape == (groups,) and abs(estimator.weights_.sum() - 1) < 1e-6
    assert len(estimator.orders_) == groups and estimator.items_ == list("abcdef")
    scores = estimator.score_samples(complete)
    assert math.isclose(scores.sum(), estimator.loglik_, rel_tol=1e-9)
    assert math.isclose(estimator.score(complete), scores.mean(), rel_tol=1e-12)
    drawn, labels = estimator.sample(50, random_state=2)
    assert len(drawn) == len(labels) == 50 and drawn.facts()["kind"] == "complete" and labels.max() < groups
    assert list(estimator.sample(50, random_state=2)[0]) == list(drawn)
    places = estimator.places()
    assert len(places) == groups * 6
    for group in range(groups):
        assert abs(places["first"][places["group"] == group].sum() - 1) < 1e-6
    names, pairs = estimator.pairs()
    off = ~np.eye(len(names), dtype=bool)
    np.testing.assert_allclose((pairs + pairs.T)[off], 1.0, atol=1e-9)
    assert estimator.summary().startswith(f"{groups} group")
    assert json.loads(json.dumps(estimator.to_dict()))["family"] == family


def test_probabilities_add_up_over_all_rankings(complete):
    every = Rankings(list(itertools.permutations("abcdef")))
    for family in caucus.FAMILIES:
        model = caucus.FAMILIES[family](**SHORT[family]).fit(complete)
        assert abs(np.exp(model.score_samples(every)).sum() - 1) < 1e-6, family


def test_parameters_follow_the_tables():
    for family in caucus._core.families():
        kind = caucus.FAMILIES[family["name"]]
        names = [option["name"].replace("-", "_") for option in family["options"]]
        assert list(kind._own) == names
        assert set(names) | {"arrays", "random_state", "threads", "time_limit", "progress"} == set(kind().get_params())
        for option in family["options"]:
            assert option["help"].split(";")[0].split()[0] in kind.__doc__
            # The defaults, written out, are what the library takes them for: setting them changes nothing, and they are read.
            value = kind().get_params()[option["name"].replace("-", "_")]
            if option["name"] != "components":
                text = caucus._parameters.text_of(option["name"], value)
                number = option["min"] is not None and text != "auto"
                assert float(text) == float(option["default"]) if number else text == option["default"], (family["name"], option)


def test_bad_options_are_refused_by_the_tables(town):
    for params, words in [
        ({"components": 0}, r"components = 0 is outside \[1, 1000\]"),
        ({"components": 2.5}, "components"),
        ({"method": "guess"}, "method"),
        ({"tolerance": "small"}, "tolerance"),
        ({"regularization": -1}, "regularization"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "x"}, "random_state"),
        ({"init": object()}, "init"),
    ]:
        with pytest.raises(caucus.UsageError, match=words):
            caucus.PlackettLuceMixture(**params).fit(town)
    with pytest.raises(TypeError):
        caucus.PlackettLuceMixture(componets=3)
    with pytest.raises(ValueError, match="Invalid parameter 'componets'"):
        caucus.PlackettLuceMixture().set_params(componets=3)


def test_number_of_groups_is_chosen(town):
    model = caucus.PlackettLuceMixture().fit(town)
    assert model.n_components_ == 3 and model.selection_["k"].tolist()[:3] == [1, 2, 3]
    assert caucus.PlackettLuceMixture(components="auto").fit(town).loglik_ == model.loglik_
    with pytest.raises(AttributeError, match="given, not chosen"):
        caucus.PlackettLuceMixture(2).fit(town).selection_


def test_weights_are_copies(town):
    twice = caucus.PlackettLuceMixture(2).fit(town[np.repeat(np.arange(len(town)), 2)])
    doubled = caucus.PlackettLuceMixture(2).fit(town, sample_weight=2 * town.weights)
    assert twice.loglik_ == pytest.approx(doubled.loglik_, rel=1e-9)
    assert doubled.score(town) == pytest.approx(caucus.PlackettLuceMixture(2).fit(town).score(town), rel=1e-6)


def test_blank_ballots_keep_their_rows():
    votes = Rankings([["a", "b"], [], ["b", "a"], ["a", "b", "c"], ["c", "a"]])
    model = caucus.PlackettLuceMixture(1).fit(votes)
    assert model.predict(votes).tolist() == [0, -1, 0, 0, 0]
    assert np.isnan(model.score_samples(votes)).tolist() == [False, True, False, False, False]
    assert model.score(votes) == pytest.approx(np.nanmean(model.score_samples(votes)))


def test_items_are_matched_by_name(town):
    model = caucus.PlackettLuceMixture(3).fit(town)
    other = Rankings([["Cinema", "Park"], ["Park"]])
    full = Rankings([["Cinema", "Park"], ["Park"]], items=town.items)
    assert model.score_samples(other).tolist() == model.score_samples(full).tolist() == model.score_samples([["Cinema", "Park"], ["Park"]]).tolist()
    with pytest.raises(caucus.DataError, match="Zoo"):
        model.predict([["Zoo"]])


def test_deterministic_with_random_state_and_threads(town):
    first = caucus.MallowsMixture(2, random_state=4, threads=1).fit(town)
    second = caucus.MallowsMixture(2, random_state=4, threads=2).fit(town)
    assert first.to_dict()["components"] == second.to_dict()["components"]
    seed = np.random.RandomState(3).randint(2**31 - 1)
    assert caucus.MallowsMixture(2, random_state=np.random.RandomState(3)).fit(town).summary_["seed"] == seed
    assert caucus.MallowsMixture(1, random_state=None).fit(town).summary_["seed"] == 1


def test_time_limit(town):
    model = caucus.DirichletProcessMallows(sweeps=1_000_000, time_limit=0.3).fit(town)
    assert model.stop_reason_ == "time_limit" and not model.converged_


def test_choix_finds_the_same_strengths():
    """K = 1 without regularization is the maximum of the Plackett-Luce likelihood, as choix finds it by another method."""
    choix = pytest.importorskip("choix")
    rng = np.random.default_rng(11)
    truth = rng.normal(0, 1, 12)
    full = [np.argsort(-(truth + rng.gumbel(size=12))).tolist() for _ in range(400)]
    top = [ranking[: rng.integers(1, 12)] for ranking in full]
    complete = caucus.PlackettLuceMixture(1, regularization=0).fit(Rankings.from_orders(np.array(full)))
    ours = complete.utilities_[0]
    theirs = choix.ilsr_rankings(12, full, max_iter=1000, tol=1e-12)
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=1e-6)
    pairs = [(int(a), int(b)) for ranking in full for a, b in itertools.pairwise(ranking[:3])]
    battles = caucus.PlackettLuceMixture(1, regularization=0).fit(Rankings([[a, b] for a, b in pairs], items=range(12), unranked="absent"))
    theirs = choix.ilsr_pairwise(12, pairs, max_iter=1000, tol=1e-12)
    np.testing.assert_allclose(battles.utilities_[0] - battles.utilities_[0].mean(), theirs - theirs.mean(), atol=1e-6)
    # Ballots that stop early: the chosen item against all that were left.
    choices = [(ranking[place], [item for item in range(12) if item not in ranking[: place + 1]]) for ranking in top for place in range(len(ranking))]
    partial = caucus.PlackettLuceMixture(1, regularization=0).fit(Rankings(top, items=range(12)))
    theirs = choix.ilsr_top1(12, [choice for choice in choices if choice[1]], max_iter=1000, tol=1e-12)
    np.testing.assert_allclose(partial.utilities_[0] - partial.utilities_[0].mean(), theirs - theirs.mean(), atol=1e-6)


def test_mallows_finds_the_center_it_was_drawn_from():
    truth = caucus.MallowsMixture(1).fit(Rankings([list("cadbe")] * 30 + [list("acdbe")] * 10))
    drawn, _ = truth.sample(2000, random_state=9)
    found = caucus.MallowsMixture(1).fit(drawn)
    assert found.orders_ == truth.orders_ == [list("cadbe")]
    assert found.theta_[0] == pytest.approx(truth.theta_[0], rel=0.1)  # 2000 draws: a standard error of about 2 %

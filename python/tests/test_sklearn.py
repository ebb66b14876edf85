"""In the manner of scikit-learn: clone, pipelines, searches, and its own checks where they apply."""

from __future__ import annotations

import numpy as np
import pytest

import caucus

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


def test_clone(town):
    model = caucus.MallowsMixture(2, consensus="borda", random_state=5).fit(town)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not copy.__sklearn_is_fitted__()
    check_is_fitted(model)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(copy)


def test_pipeline(town):
    reading = FunctionTransformer(caucus.Rankings.read)
    line = make_pipeline(reading, caucus.PlackettLuceMixture(3))
    path = caucus.examples.town_path()
    line.fit(path)
    assert line.predict(path).tolist() == caucus.PlackettLuceMixture(3).fit(town).predict(town).tolist()
    assert line.score(path) == line[-1].score(town)


def test_grid_search(town):
    rows = town[np.repeat(np.arange(len(town)), town.weights.astype(int))].with_weights(np.ones(2400))
    search = GridSearchCV(caucus.PlackettLuceMixture(), {"components": [1, 3]}, cv=3).fit(rows)
    assert search.best_params_ == {"components": 3} and search.best_estimator_.n_components_ == 3
    assert len(cross_val_score(caucus.MallowsMixture(1), rows[:600], cv=3)) == 3


# scikit-learn's checks fit tables of random numbers. With arrays="ratings" every such table holds rankings (more is better), so they run. Not
# inherited from its BaseEstimator, which would make scikit-learn a package that caucus needs. Those that do not apply, and why:
ANY = {"check_dtype_object": "a text among the numbers is refused in numpy's words, not in those the check expects"}
NOT_APPLICABLE = {
    "PlackettLuceMixture": ANY,
    "MallowsMixture": ANY | {"check_fit2d_1feature": "one item alone can be ranked in one way: a Mallows model has nothing to fit, and says so"},
    "MallowsKDE": ANY
    | dict.fromkeys(
        ["check_estimators_pickle", "check_estimators_pickle(readonly_memmap=True)"],
        "the check plants missing values; a missing rating is an item that took no part, and kernel densities take no rankings of a subset",
    ),
}


def estimators():
    return [
        caucus.PlackettLuceMixture(1, arrays="ratings"),
        caucus.MallowsMixture(1, arrays="ratings"),
        caucus.MallowsKDE(theta=0.5, arrays="ratings"),
    ]


@parametrize_with_checks(estimators(), expected_failed_checks=lambda estimator: NOT_APPLICABLE[type(estimator).__name__])
def test_scikit_learn_checks(estimator, check):
    check(estimator)

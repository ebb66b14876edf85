"""How many groups, which family, does it fit: answers as tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._base import RankingModel, of_model
from ._errors import UsageError
from ._frame import Frame
from ._parameters import seed_of, tables_as_files, text_of, warn_all
from ._progress import Progress, running
from ._rankings import as_rankings

__all__ = ["Check", "Comparison", "Selection", "check", "compare", "select"]

_SELECT_COLUMNS = [
    "k", "loglik", "ebic", "bic", "aic", "icl", "heldout_mean", "heldout_se", "gain", "gain_se", "behind_best", "behind_se", "agreement",
    "smallest_share", "seconds",
]  # fmt: skip


class Selection(Frame):
    """How many groups: one row per number of groups tried.

    Attributes
    ----------
    chosen_k : int
        The number of groups chosen.
    why : list of str
        Why, in plain words.
    criterion : str
        By what.
    model : RankingModel
        The chosen model, fitted to all ballots.
    unfinished : list of int
        Numbers that the time limit or an interruption left out.
    """

    def __init__(self, facts: dict[str, Any], model: RankingModel) -> None:
        columns = self._of_rows(facts["table"], _SELECT_COLUMNS)
        super().__init__({name: values for name, values in columns.items() if any(value is not None for value in values)})
        self.chosen_k: int = facts["chosen_k"]
        self.why: list[str] = facts["why"]
        self.criterion: str = facts["criterion"]
        self.unfinished: list[int] = facts["unfinished"]
        self.model = model

    def plot(self, *, ax: Any = None) -> Any:
        """The criterion over the number of groups: :func:`caucus.plots.plot_selection`."""
        from . import plots

        return plots.plot_selection(self, ax=ax)


class Comparison(Frame):
    """Which family: one row per contender, best first, then those that are left out.

    Attributes
    ----------
    note : str
        On sample spaces, where they differ, and on numbers of groups that wanted to be larger.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        names = ["label", "family", "heldout_mean", "heldout_se", "behind_best", "behind_se", "groups", "seconds", "refused"]
        super().__init__(self._of_rows(facts["table"], names))
        self.note: str = facts["note"]


class Check(Frame):
    """Does the model fit: one row per check with its p-value; small ones tell of misfit.

    Attributes
    ----------
    worst : Frame
        The numbers that the data and the model disagree on most.
    num_ballots, replicates : int
        Ballots compared, data sets simulated.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__(self._of_rows(facts["table"], ["name", "statistic", "p_value"]))
        rows = [row for one in facts["table"] for row in one["worst"]]
        self.worst = Frame(self._of_rows(rows, ["check", "what", "observed", "expected", "z"]))
        self.num_ballots: int = facts["num_ballots"]
        self.replicates: int = facts["replicates"]


def _candidates(components: int | Sequence[int] | str | None) -> str:
    if components is None:
        return "auto"
    if isinstance(components, (str, int, np.integer)):
        return str(components)
    return ",".join(str(int(k)) for k in components)


def select(
    X: Any,
    model: RankingModel | str = "pl",
    *,
    components: int | Sequence[int] | str | None = None,
    criterion: Literal["halves", "ebic", "bic", "aic", "icl", "cv", "holdout"] = "halves",
    folds: int = 5,
    holdout: float = 0.2,
    one_standard_error: bool = False,
    arrays: Literal["orders", "ranks", "ratings"] | None = None,
    random_state: Any = None,
    threads: int = 0,
    time_limit: float | None = None,
    progress: Progress = None,
) -> Selection:
    """How many groups: fits over the number of groups, and chooses.

    Parameters
    ----------
    X : as for fit
    model : RankingModel or name of a family
        An estimator whose options are used; its own number of groups is not.
    components : numbers, or text such as "1..8"; None: 1, 2, ... as long as the criterion asks for more
    criterion : str
        halves (groups that predict the other half of the ballots and come back there), ebic, bic, aic, icl, cv or holdout.
    folds : int
        Folds of cv.
    holdout : float
        Share of the ballots held out.
    one_standard_error : bool
        cv, holdout: the smallest number within one standard error of the best.
    arrays, random_state, threads, time_limit, progress
        As in the estimators.

    >>> import caucus
    >>> votes = caucus.examples.town()
    >>> found = caucus.select(votes, components=[1, 2, 3, 4], criterion="bic")
    >>> found.chosen_k, found.model.weights_.round(2)
    (3, array([0.48, 0.29, 0.24]))
    """
    estimator = _estimator(model)
    rankings = as_rankings(X, arrays=arrays or estimator.arrays)
    own = [name for name in estimator._own if name != "components"]
    seed = seed_of(estimator.random_state if random_state is None else random_state)
    with tables_as_files(estimator, own) as (options, recorded), running(seed, threads, time_limit, progress) as run:
        facts, chosen, raised = _core.select(
            rankings._data, estimator._family, options, _candidates(components), criterion, folds, holdout, one_standard_error, run,
            "caucus.select", recorded,
        )  # fmt: skip
    fitted = of_model(chosen, rankings)
    warn_all(fitted.warnings_)
    selection = Selection(facts, fitted)
    if raised is not None:
        setattr(raised, "result", selection)
        raise raised
    return selection


def compare(
    X: Any,
    models: Sequence[RankingModel | str] | None = None,
    *,
    components: int | Sequence[int] | str = "1..4",
    folds: int = 5,
    arrays: Literal["orders", "ranks", "ratings"] | None = None,
    random_state: Any = None,
    threads: int = 0,
    time_limit: float | None = None,
    progress: Progress = None,
) -> Comparison:
    """Which family predicts ballots it has not seen best, on the same folds.

    Parameters
    ----------
    X : as for fit
    models : estimators, or texts as on the command line: "pl", "pl:3", "mallows:1..8", "pl:k=2;method=emm"; None: the usual ones
    components : numbers, or text such as "1..4"
        Numbers of groups to choose from, where a model does not say its own.
    folds : int
    arrays, random_state, threads, time_limit, progress
        As in the estimators.

    >>> import caucus
    >>> table = caucus.compare(caucus.examples.town(), ["pl:3", "mallows:1"], folds=2)
    >>> table["label"].tolist()
    ['pl:3', 'mallows:1']
    """
    rankings = as_rankings(X, arrays=arrays)
    contenders = [_contender(model) for model in models or ()]
    with running(seed_of(random_state), threads, time_limit, progress) as run:
        facts, raised = _core.compare(rankings._data, contenders, _candidates(components), folds, run)
    comparison = Comparison(facts)
    if raised is not None:
        setattr(raised, "result", comparison)
        raise raised
    return comparison


def check(
    model: RankingModel | str | os.PathLike[str],
    X: Any = None,
    *,
    replicates: int = 99,
    max_ballots: int = 20000,
    random_state: Any = None,
    threads: int = 0,
) -> Check:
    """Does a model fit: first places, pairs and ballot lengths against data sets simulated from it.

    Parameters
    ----------
    model : fitted model, or path of a model file
    X : as for fit; None: the rankings of the fit
        A model that was fitted to these ballots has adapted to them: then a small p-value counts, a large one says little.
    replicates : int
        Simulated data sets.
    max_ballots : int
        Compare at most so many ballots, drawn at random.
    random_state, threads
        As in the estimators.
    """
    from ._base import load

    fitted: RankingModel = model if isinstance(model, RankingModel) else load(model)
    if X is None and fitted._rankings is None:
        raise UsageError("which rankings? This model was not fitted in this session: give X")
    rankings = fitted._rankings if X is None else fitted._match(X)
    assert rankings is not None
    return Check(_core.check(fitted._fitted(), rankings._data, replicates, max_ballots, seed_of(random_state), threads))


def _estimator(model: RankingModel | str) -> RankingModel:
    if isinstance(model, RankingModel):
        return model
    from ._families import FAMILIES

    if model not in FAMILIES:
        raise UsageError(f"there is no family '{model}'; there are: {', '.join(FAMILIES)}")
    return FAMILIES[model]()


def _contender(model: RankingModel | str) -> str:
    if isinstance(model, str):
        return model
    options = model._options(model._own)
    components = options.pop("components", None)
    settings = ([f"k={components}"] if components else []) + [f"{name}={text_of(name, value)}" for name, value in options.items()]
    return model._family + (":" + ";".join(settings) if settings else "")

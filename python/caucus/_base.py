"""What all estimators share: fitting, scoring, drawing, saving, showing."""

from __future__ import annotations

import html
import json
import numbers
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from . import _core
from ._errors import DataError, UsageError
from ._fitted import Array, FittedAttributes, Labels
from ._frame import Frame
from ._optional import require
from ._parameters import seed_of, tables_as_files, warn_all
from ._progress import Progress, running
from ._rankings import Rankings, as_rankings
from ._sources import column_names, is_frame
from ._tables import covariates_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankingModel", "load"]

SelfModel = TypeVar("SelfModel", bound="RankingModel")


def report_page(
    path: str | os.PathLike[str] | None,
    models: list[tuple[str, str]],
    data: Rankings | None,
    *,
    title: str = "",
    names: Sequence[str] = (),
    voters: str = "",
    items: str = "",
    rankings: str = "",
    seats: int = 1,
    threads: int = 0,
) -> str:
    """A report of model files by name, written where a path is given."""
    as_json = path is not None and os.fspath(path).endswith(".json")
    of = None if data is None else data._data
    page = _core.report(models, of, title, list(names), voters, items, rankings, seats, 1, threads, as_json)
    if path is not None:
        _core.write_file(os.fspath(path), page)
    return page


def shown_inline(model: Any) -> str:
    """A fitted model's report within a notebook; the page is a document of its own, so that neither disturbs the other."""
    if not model.__sklearn_is_fitted__():
        return f"<pre>{html.escape(repr(model))}</pre>"
    try:
        page = model.report()
    except UsageError:  # a build without the report
        return f"<pre>{html.escape(repr(model))}</pre>"
    return f'<iframe sandbox="allow-scripts" style="width:100%;height:600px;border:0" srcdoc="{html.escape(page)}"></iframe>'


def arviz_of(draws: dict[str, Array]) -> Any:
    """Arrays of (chain, draw, ...) as ArviZ has them."""
    arviz = require("arviz", "to_arviz")
    try:
        return arviz.from_dict(posterior=draws)
    except TypeError:  # ArviZ 1
        return arviz.from_dict({"posterior": draws})


class RankingModel(FittedAttributes):
    """A model of rankings: the base of the estimators. Use one of its subclasses.

    Attributes that end in an underscore are there once the model is fitted; groups come largest first, everywhere.
    """

    _family: ClassVar[str] = ""
    _own: ClassVar[tuple[str, ...]] = ()  # parameters that are options of the family

    arrays: str | None
    random_state: Any
    threads: int
    time_limit: float | None
    progress: Progress

    _rankings: Rankings | None = None

    # ---- fitting -----------------------------------------------------------------------------------------------------------------

    def fit(self: SelfModel, X: Any, y: Any = None, sample_weight: Any = None) -> SelfModel:
        """Fits the model.

        Parameters
        ----------
        X : Rankings, list of rankings, path, VoteKit profile, preflibtools instance
            Arrays and frames too, where ``arrays`` says what they hold.
        y : ignored
        sample_weight : array of numbers, optional
            Weights in the place of those that ``X`` has; the rows of a voter have the same one.

        Ctrl-C, or a progress function that raises, ends the fit: what was found by then stays in the estimator (``stop_reason_`` is
        ``"interrupted"``), and the exception goes on its way.
        """
        rankings = as_rankings(X, arrays=self.arrays)
        if sample_weight is not None:
            rankings = rankings.with_weights(sample_weight)
            if not rankings.num_rankings:
                raise DataError("sample_weight: every weight is zero, or every ranking is blank")
        seed = seed_of(self.random_state)
        with tables_as_files(self, self._own) as (options, recorded), running(seed, self.threads, self.time_limit, self.progress) as run:
            model, raised = _core.fit(rankings._data, self._family, options, run, f"caucus.{self._call()}.fit", recorded)
        self._take(model, rankings)
        warn_all(self.warnings_)
        if raised is not None:
            raise raised
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Labels:
        """Fits the model and returns the group of every ranking."""
        rankings = as_rankings(X, arrays=self.arrays)
        return self.fit(rankings, y, sample_weight).predict(rankings)

    def _take(self, model: _core.Model, rankings: Rankings | None) -> None:
        self._model = model
        self._rankings = rankings
        self.__dict__.pop("_file", None)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _match(self, X: Any) -> Rankings:
        model = self._fitted()
        if isinstance(X, np.ndarray) and self.arrays in ("ranks", "ratings") and X.ndim == 2 and X.shape[1] != len(model.items):
            raise DataError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {len(model.items)} features as input")
        return as_rankings(X, arrays=self.arrays, items=model.items, unranked=model.unranked, model=model)

    # ---- what the model says of rankings -----------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """The probability that a ranking belongs to each group: one row per ranking, NaN for blank ballots.

        Where ``X`` has voters, one row per voter, in the order of ``X.voters``: that of their first rankings, then those whose rankings
        are all blank, with NaN.
        """
        rankings = self._match(X)
        return self._fitted().memberships(rankings._data, self.threads)

    def predict(self, X: Any) -> Labels:
        """The likeliest group of every ranking (of every voter, where ``X`` has voters), from 0; -1 for blank ballots. (The command line
        counts groups from 1.)"""
        memberships = self.predict_proba(X)
        blank = np.isnan(memberships[:, 0])
        labels: Labels = np.where(blank[:, None], 0.0, memberships).argmax(axis=1).astype(np.int64)
        labels[blank] = -1
        return labels

    def score_samples(self, X: Any) -> Array:
        """The log-probability of every ranking, or of all rankings of every voter, in the order of ``X.voters``; NaN for blank ballots."""
        rankings = self._match(X)
        return self._fitted().log_probs(rankings._data, self.threads)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of a ranking (of a voter, where ``X`` has voters), weighted: higher is better, also on rankings that
        the fit has not seen."""
        rankings = self._match(X)
        if sample_weight is not None:
            rankings = rankings.with_weights(sample_weight)
        scores, weights = self.score_samples(rankings), rankings._unit_weights()
        listed = ~np.isnan(scores)
        total = weights[listed].sum()
        return float((scores[listed] * weights[listed]).sum() / total) if total > 0 else 0.0

    def sample(
        self, n_samples: int = 1, *, random_state: Any = None, length: int = 0, per_voter: int | tuple[int, int] | None = None, menu: int = 0
    ) -> tuple[Rankings, Labels]:
        """Draws rankings from the model, and the group of each.

        Parameters
        ----------
        n_samples : int
            How many rankings, or voters with ``per_voter`` or ``menu``.
        random_state : seed
        length : int
            List only so many items; 0: all.
        per_voter : int, or the least and the most
            Every voter casts so many rankings, all from one group; the groups are then the voters'.
        menu : int
            Each ranking orders so many items chosen at random (2: battles); the others are absent.
        """
        if n_samples < 1:
            raise UsageError(f"n_samples = {n_samples}: expected at least 1")
        seed = seed_of(random_state)
        if per_voter is None and not menu:
            data, labels = self._fitted().sample(n_samples, seed, length, self.threads)
        else:
            each = 1 if per_voter is None else per_voter
            least, most = each if isinstance(each, tuple) else (each, each)
            if not 1 <= least <= most:
                raise UsageError(f"per_voter = {per_voter}: expected a number from 1 on, or the least and the most")
            data, labels = self._fitted().sample_voters(n_samples, least, most, menu, seed, length, self.threads)
        return Rankings._wrap(data), labels.astype(np.int64)

    def predict_voters(self, table: Any) -> Frame:
        """The groups and preferences of voters of whom no ranking is known, from a model fitted with ``membership``.

        Parameters
        ----------
        table : frame or mapping of columns
            What is known of them: the columns of the formula, one row per voter.

        Returns
        -------
        Frame
            ``group``, the likeliest; ``p0``, ``p1``, ... the probabilities of the groups; ``u_ITEM`` the expected utility of every item; each
            with the ends of its 95 % interval under ``_low`` and ``_high``.
        """
        found = self._fitted().predict_voters(_one_row_each(table))
        warn_all(found["warnings"], 2)
        groups = found["groups"]
        columns: dict[str, Any] = {"group": groups["value"].argmax(axis=1).astype(np.int64)}
        columns |= _with_intervals([f"p{group}" for group in range(self.n_components_)], groups)
        return Frame(columns | _with_intervals([f"u_{item}" for item in self.items_], found["utilities"]))

    def predict_items(self, table: Any) -> Frame:
        """What items that nobody has ranked are worth to each group, from a model fitted with ``utilities``.

        Parameters
        ----------
        table : frame or mapping of columns
            What is known of them: the columns of the formula, one row per item.

        Returns
        -------
        Frame
            ``u0``, ``u1``, ...: the utility in every group, on the scale on which the mean of the model's items is zero, with the ends of its
            95 % interval under ``_low`` and ``_high``.
        """
        found = self._fitted().predict_items(_one_row_each(table))
        warn_all(found["warnings"], 2)
        return Frame(_with_intervals([f"u{group}" for group in range(self.n_components_)], found))

    def check(self, X: Any = None, *, replicates: int = 99, max_ballots: int = 20000, random_state: Any = None) -> Frame:
        """Does the model fit: see :func:`caucus.check`."""
        from ._searches import check

        return check(self, X, replicates=replicates, max_ballots=max_ballots, random_state=random_state)

    # ---- files -------------------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, which the command line reads too; :func:`caucus.load` reads it again."""
        _core.write_file(os.fspath(path), self._fitted().text)

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        data: Any = None,
        *,
        title: str = "",
        names: Sequence[str] = (),
        voters: str = "",
        items: str = "",
        rankings: str = "",
        seats: int = 1,
    ) -> str:
        """One HTML page to look at, in plain words first.

        Parameters
        ----------
        path : path, optional
            The file to write; a name that ends in ``.json`` gets the page's data alone.
        data : as for fit, optional
            The rankings to show; those of the fit where it was in this session.
        title : str
        names : sequence of str
            Names of the groups, largest first.
        voters, items, rankings : str
            What the page calls those who rank, the items and the rankings: "judges", "films", "lists".
        seats : int
            Ballots: seats to fill by transferable vote.

        Returns
        -------
        str
            The page.
        """
        shown = self._rankings if data is None else self._match(data)
        return report_page(
            path, [(type(self).__name__, self._fitted().text)], shown, title=title, names=names, voters=voters, items=items, rankings=rankings,
            seats=seats, threads=self.threads,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return shown_inline(self)

    def to_arviz(self) -> Any:
        """The chains of a sampler as ArviZ's ``InferenceData``."""
        posterior = self._content().get("posterior", {})
        chains = posterior.get("traces", [])
        if not chains:
            raise UsageError(f"{self._call()} was not fitted by a sampler: there are no chains")
        return arviz_of({name: np.array([chain[name] for chain in chains], dtype=np.float64) for name in chains[0]})

    # ---- pictures ----------------------------------------------------------------------------------------------------------------

    def plot_groups(self, *, names: Sequence[str] = (), ax: Any = None) -> Any:
        """Each group's items by utility with intervals, or by mean place: :func:`caucus.plots.plot_groups`."""
        from . import plots

        return plots.plot_groups(self, names=names, ax=ax)

    def plot_first_places(self, *, names: Sequence[str] = (), ax: Axes | None = None) -> Axes:
        """Who comes first in each group: :func:`caucus.plots.plot_first_places`."""
        from . import plots

        return plots.plot_first_places(self, names=names, ax=ax)

    def plot_pairs(self, group: int | None = None, *, ax: Axes | None = None) -> Axes:
        """Who stands above whom: :func:`caucus.plots.plot_pairs`."""
        from . import plots

        return plots.plot_pairs(self, group, ax=ax)

    def plot_memberships(self, X: Any = None, *, names: Sequence[str] = (), ax: Axes | None = None) -> Axes:
        """How surely ballots belong to their groups: :func:`caucus.plots.plot_memberships`."""
        from . import plots

        return plots.plot_memberships(self, X, names=names, ax=ax)

    def plot_trace(self, *, ax: Axes | None = None) -> Axes:
        """The objective step by step: :func:`caucus.plots.plot_trace`."""
        from . import plots

        return plots.plot_trace(self, ax=ax)

    # ---- pickles and scikit-learn ------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_rankings", "_file", "progress")} | {
            "progress": None if callable(self.progress) else self.progress
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        kinds = self.arrays in ("ranks", "ratings")
        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=kinds, allow_nan=True),
        )


def _one_row_each(table: Any) -> list[Any]:
    if not is_frame(table):
        raise UsageError("expected a frame or a mapping of columns, with one row each")
    single = {name: table[name] for name in column_names(table)} if isinstance(table, Mapping) else None
    if single and all(isinstance(value, (str, numbers.Real)) for value in single.values()):  # {"age": 31}: one voter
        table = {name: [value] for name, value in single.items()}
    return covariates_of(table)


def _with_intervals(names: Sequence[str], found: dict[str, Array]) -> dict[str, Array]:
    columns: dict[str, Array] = {}
    for place, name in enumerate(names[: found["value"].shape[1]]):
        columns |= {name: found["value"][:, place], f"{name}_low": found["low"][:, place], f"{name}_high": found["high"][:, place]}
    return columns


def load(path: str | os.PathLike[str]) -> Any:
    """Reads a model file, written here or by the command line, as a fitted estimator: of its family, or of the regression.

    >>> import caucus
    >>> model = caucus.PlackettLuceMixture(components=1).fit([["a", "b"], ["b", "a"], ["a", "b"]])
    >>> model.save("model.json")
    >>> caucus.load("model.json").weights_
    array([1.])
    """
    text = _core.read_text(os.fspath(path))
    if _core.is_regression(text):
        from ._regression import of_regression

        return of_regression(_core.parse_regression(text, os.fspath(path)))
    return of_model(_core.parse_model(text, os.fspath(path)))


def params_of(options: dict[str, str], table: list[dict[str, Any]]) -> dict[str, Any]:
    """The parameters that the options of a model file stand for, where they are not the defaults."""
    known = {option["name"]: option for option in table}
    return {
        name.replace("-", "_"): _value_of(text, known[name])
        for name, text in options.items()
        if name in known and (text != known[name]["default"] or name == "components")
    }


def of_model(model: _core.Model, rankings: Rankings | None = None) -> RankingModel:
    """The estimator of a model's family, fitted, with the parameters that the model file holds."""
    from . import _families

    kind = _families.FAMILIES[model.family]
    content = json.loads(model.text)
    table = next(family["options"] for family in _core.families() if family["name"] == model.family)
    estimator = kind(**params_of(content.get("fit", {}).get("options", {}), table))
    if "seed" in content.get("fit", {}):
        estimator.random_state = content["fit"]["seed"]
    estimator._take(model, rankings)
    return estimator


def _value_of(text: str, option: dict[str, Any]) -> Any:
    if option["choices"] == ["on", "off"]:
        return text == "on"
    if text == "auto" or option["min"] is None:
        return text
    return float(text) if set(text) & set(".einf") else int(text)

"""What all estimators share: fitting, scoring, drawing, saving, showing."""

from __future__ import annotations

import html
import inspect
import json
import numbers
import os
import sys
import warnings as python_warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from . import _core
from ._errors import CaucusWarning, DataError, NotFittedError, UsageError
from ._frame import Frame
from ._optional import require
from ._progress import Progress, running
from ._rankings import Rankings, as_rankings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankingModel"]

Array = np.ndarray[Any, np.dtype[np.float64]]
Labels = np.ndarray[Any, np.dtype[np.int64]]
Self = TypeVar("Self", bound="Parameters")
SelfModel = TypeVar("SelfModel", bound="RankingModel")


def seed_of(random_state: Any) -> int:
    """The seed that a ``random_state`` stands for: 1 for None, so that every result can be had again."""
    if random_state is None:
        return 1
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if random_state < 0:
            raise UsageError(f"random_state = {random_state}: expected a number not below 0")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise UsageError(f"random_state = {random_state!r}: expected a whole number, None or a generator of numpy")


def text_of(name: str, value: Any) -> str:
    """An option's value as the tables of the library read it."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return ",".join(text_of(name, one) for one in value)
    raise UsageError(f"{name} = {value!r}: expected a number, a text, True or False")


class Parameters:
    """Parameters as scikit-learn knows them: those of ``__init__``, kept as they were given."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters by name."""
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise UsageError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {sorted(known)!r}.")
            setattr(self, name, value)
        return self

    def _call(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if not _same(value, self._defaults()[name])]
        return f"{type(self).__name__}({', '.join(given)})"

    def __repr__(self) -> str:
        return self._call()

    def _options(self, own: Iterable[str]) -> dict[str, str]:
        """The options that differ from their defaults, as text; the library's tables check them."""
        defaults = self._defaults()
        options = {}
        for name in own:
            value = getattr(self, name)
            if value is not None and not _same(value, defaults[name]):
                options[name.replace("_", "-")] = text_of(name, value)
        return options


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def warn_all(messages: Iterable[str], stacklevel: int = 3) -> None:
    """Passes warnings of the library on."""
    for message in messages:
        python_warnings.warn(message, CaucusWarning, stacklevel=stacklevel + 1)


def not_fitted(estimator: object) -> Exception:
    """The exception for an estimator that is not fitted; scikit-learn's too, where it is loaded."""
    words = f"This {type(estimator).__name__} instance is not fitted yet: call fit first"
    known = sys.modules.get("sklearn.exceptions")
    if known is None:
        return NotFittedError(words)
    both: type[Exception] = type("NotFittedError", (NotFittedError, known.NotFittedError), {})
    return both(words)


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


class RankingModel(Parameters):
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

    _model: _core.Model
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
            Weights in the place of those that ``X`` has.

        Ctrl-C, or a progress function that raises, ends the fit: what was found by then stays in the estimator (``stop_reason_`` is
        ``"interrupted"``), and the exception goes on its way.
        """
        rankings = as_rankings(X, arrays=self.arrays)
        if sample_weight is not None:
            rankings = rankings.with_weights(sample_weight)
            if not rankings.num_rankings:
                raise DataError("sample_weight: every weight is zero, or every ranking is blank")
        options = self._options(self._own)
        with running(seed_of(self.random_state), self.threads, self.time_limit, self.progress) as run:
            model, raised = _core.fit(rankings._data, self._family, options, run, f"caucus.{self._call()}.fit")
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

    def _fitted(self) -> _core.Model:
        if "_model" not in self.__dict__:
            raise not_fitted(self)
        return self._model

    def _match(self, X: Any) -> Rankings:
        model = self._fitted()
        if isinstance(X, np.ndarray) and self.arrays in ("ranks", "ratings") and X.ndim == 2 and X.shape[1] != len(model.items):
            raise DataError(f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {len(model.items)} features as input")
        return as_rankings(X, arrays=self.arrays, items=model.items, unranked=model.unranked)

    # ---- what the model says of rankings -----------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """The probability that a ranking belongs to each group: one row per ranking, NaN for blank ballots."""
        rankings = self._match(X)
        return self._fitted().memberships(rankings._data, self.threads)

    def predict(self, X: Any) -> Labels:
        """The likeliest group of every ranking, from 0; -1 for blank ballots. (The command line counts groups from 1.)"""
        memberships = self.predict_proba(X)
        blank = np.isnan(memberships[:, 0])
        labels: Labels = np.where(blank[:, None], 0.0, memberships).argmax(axis=1).astype(np.int64)
        labels[blank] = -1
        return labels

    def score_samples(self, X: Any) -> Array:
        """The log-probability of every ranking; NaN for blank ballots."""
        rankings = self._match(X)
        return self._fitted().log_probs(rankings._data, self.threads)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of a ranking, weighted: higher is better, also on rankings that the fit has not seen."""
        rankings = self._match(X)
        if sample_weight is not None:
            rankings = rankings.with_weights(sample_weight)
        scores, weights = self.score_samples(rankings), rankings.weights
        listed = ~np.isnan(scores)
        total = weights[listed].sum()
        return float((scores[listed] * weights[listed]).sum() / total) if total > 0 else 0.0

    def sample(self, n_samples: int = 1, *, random_state: Any = None, length: int = 0) -> tuple[Rankings, Labels]:
        """Draws rankings from the model, and the group of each. ``length``: list only so many items; 0: all."""
        if n_samples < 1:
            raise UsageError(f"n_samples = {n_samples}: expected at least 1")
        data, labels = self._fitted().sample(n_samples, seed_of(random_state), length, self.threads)
        return Rankings._wrap(data), labels.astype(np.int64)

    # ---- what was fitted ---------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The model file, as Python objects (docs/model-file.md)."""
        model: dict[str, Any] = json.loads(self._fitted().text)
        return model

    def _content(self) -> dict[str, Any]:
        if "_file" not in self.__dict__:
            self.__dict__["_file"] = self.to_dict()
        content: dict[str, Any] = self.__dict__["_file"]
        return content

    @property
    def items_(self) -> list[str]:
        """The names of the items."""
        return self._fitted().items

    @property
    def n_features_in_(self) -> int:
        """The number of items."""
        return len(self._fitted().items)

    @property
    def n_components_(self) -> int:
        """The number of groups."""
        return self._fitted().num_components

    @property
    def weights_(self) -> Array:
        """The share of the ballots in each group."""
        components = self._content()["components"]
        return np.array([component.get("weight", 1.0 / len(components)) for component in components])

    @property
    def orders_(self) -> list[list[str]]:
        """The items of each group, best first: its consensus, or by utility."""
        items = self.items_
        return [[items[item] for item in order] for order in self._fitted().orders]

    @property
    def utilities_(self) -> Array:
        """Plackett-Luce: log-worths of the items, one row per group."""
        return np.array(self._component_values("utilities"), dtype=np.float64)

    @property
    def standard_errors_(self) -> Array:
        """Of the utilities; NaN where there is none."""
        return np.array(self._component_values("standard_errors"), dtype=np.float64)

    @property
    def consensus_(self) -> Labels:
        """Mallows: the center of each group, item numbers best first."""
        return np.array(self._component_values("consensus"), dtype=np.int64)

    @property
    def theta_(self) -> Any:
        """Mallows: the dispersion of each group, one number or one per stage; larger is closer to the center."""
        values = self._component_values("theta")
        if len({np.size(value) for value in values}) > 1:
            return [np.array(value, dtype=np.float64) for value in values]
        return np.array(values, dtype=np.float64)

    def _component_values(self, key: str) -> list[Any]:
        components = self._content()["components"]
        if not all(key in component for component in components):
            raise AttributeError(f"this {type(self).__name__} has no {key}")
        return [component[key] for component in components]

    @property
    def summary_(self) -> dict[str, Any]:
        """How the fit went: the "fit" object of the model file."""
        summary: dict[str, Any] = self._content().get("fit", {})
        return summary

    def _number(self, key: str) -> float:
        value = self.summary_.get(key)
        return float("nan") if value is None else float(value)

    @property
    def loglik_(self) -> float:
        """The log-likelihood of the data, weighted by counts, without a prior or a penalty."""
        return self._number("loglik")

    @property
    def aic_(self) -> float:
        """Akaike's criterion: lower is better."""
        return self._number("aic")

    @property
    def bic_(self) -> float:
        """Schwarz's criterion: lower is better."""
        return self._number("bic")

    @property
    def ebic_(self) -> float:
        """BIC that counts consensus rankings too."""
        return self._number("ebic")

    @property
    def icl_(self) -> float:
        """BIC plus twice the entropy of the memberships."""
        return self._number("icl")

    @property
    def n_iter_(self) -> int:
        """Steps of the fit."""
        return int(self.summary_.get("iterations", 0))

    @property
    def stop_reason_(self) -> str:
        """Why the fit ended: converged, iteration_limit, time_limit, interrupted, closed_form."""
        return str(self.summary_.get("stop_reason", ""))

    @property
    def converged_(self) -> bool:
        """Did the fit come to its end?"""
        return self.stop_reason_ in ("converged", "closed_form")

    @property
    def trace_(self) -> Array:
        """The objective step by step."""
        return np.array(self.summary_.get("trace", []), dtype=np.float64)

    @property
    def warnings_(self) -> list[str]:
        """What the fit warns of, in plain words."""
        return list(self.summary_.get("warnings", []))

    @property
    def selection_(self) -> Frame:
        """The table by which the number of groups was chosen, where it was."""
        selection = self._content().get("selection")
        if selection is None:
            raise AttributeError("the number of groups was given, not chosen")
        names = [name for name, value in selection["table"][0].items() if not isinstance(value, (list, dict))]
        return Frame({name: [row.get(name) for row in selection["table"]] for name in names})

    # ---- tables ------------------------------------------------------------------------------------------------------------------

    def places(self, *, random_state: Any = None) -> Frame:
        """Who comes first and at which place on average, by group: by formula where there is one, else by simulation."""
        found = self._fitted().places(seed_of(random_state), self.threads)
        columns: dict[str, list[Any]] = {"group": [], "item": [], "place": [], "first": [], "mean_place": []}
        for group, one in enumerate(found["groups"]):
            for place, item in enumerate(one["order"]):
                columns["group"].append(group)
                columns["item"].append(self.items_[item])
                columns["place"].append(place + 1)
                columns["first"].append(float(one["first"][item]))
                columns["mean_place"].append(float(one["mean_place"][item]))
        return Frame(columns)

    def pairs(self, group: int | None = None, *, random_state: Any = None) -> tuple[list[str], Array]:
        """The probability that the item of a row stands above that of a column, in a group or (None) in all ballots together; the
        best-placed items, and their names."""
        found = self._fitted().places(seed_of(random_state), self.threads)
        one = found["everyone"] if group is None else found["groups"][group]
        return [self.items_[item] for item in found["pair_items"]], np.array(one["pairs"])

    def check(self, X: Any = None, *, replicates: int = 99, max_ballots: int = 20000, random_state: Any = None) -> Frame:
        """Does the model fit: see :func:`caucus.check`."""
        from ._searches import check

        return check(self, X, replicates=replicates, max_ballots=max_ballots, random_state=random_state)

    def summary(self) -> str:
        """The fit in a few lines of plain words."""
        fit = self.summary_
        groups = self.n_components_
        lines = [f"{groups} group{'s' if groups != 1 else ''} in {fit.get('num_rankings', 0):g} rankings of {len(self.items_)} items: {self._call()}"]
        lines.append(f"log-likelihood {self.loglik_:.4f}   BIC {self.bic_:.1f}   AIC {self.aic_:.1f}   {self.stop_reason_}")
        for group, (weight, order) in enumerate(zip(self.weights_, self.orders_)):
            lines.append(f"Group {group}, {100 * weight:.1f} %: {' > '.join(order[:8])}{' > ...' if len(order) > 8 else ''}")
        return "\n".join(lines)

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

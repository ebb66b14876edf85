"""What covariates say about classes or whole ballots."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from . import _core
from ._base import arviz_of, params_of, report_page, shown_inline
from ._errors import DataError, UsageError
from ._fitted import Array
from ._frame import Frame
from ._parameters import Parameters, not_fitted, seed_of, warn_all
from ._progress import Progress, running
from ._rankings import Rankings
from ._sources import Column, column_names, column_of, covariate_of, is_frame

__all__ = ["RegressionModel"]

SelfRegression = TypeVar("SelfRegression", bound="RegressionModel")
_TARGET = "target"


class RegressionModel(Parameters):
    """A regression of classes or ballots: the base of the estimators. Use its subclass."""

    _own: ClassVar[tuple[str, ...]] = ()
    _estimator_type = "classifier"

    features: Sequence[str]
    categorical: Sequence[str]
    ignore: Sequence[str]
    missing: str
    random_state: Any
    threads: int
    time_limit: float | None
    progress: Progress

    _model: _core.Regression

    def fit(self: SelfRegression, X: Any, y: Any = None) -> SelfRegression:
        """Fits the regression.

        Parameters
        ----------
        X : frame or 2-D array
            One row per outcome. Columns of numbers are standardized; columns with text are categories. Or rankings with covariates, without ``y``.
        y : labels, or Rankings
            The class of every row, or a whole ballot each.
        """
        options = self._options(self._own)
        ballots = X if y is None and isinstance(X, Rankings) else y
        columns: list[Column] | None = None
        data = None
        target = ""
        names: list[str] = []
        if isinstance(ballots, Rankings):
            data = ballots._data if y is None else ballots.with_covariates(X)._data
            rows = len(ballots)
        else:
            if y is None:
                raise UsageError("which classes? requires y to be passed, but the target y is None: fit(X, labels), fit(X, rankings), or fit(rankings) with covariates")
            columns, rows = table_of(X)
            names = [name for name, _, _ in columns]
            labels = np.asarray(y)
            if labels.ndim == 2 and labels.shape[1] == 1:
                labels = labels[:, 0]
            if labels.ndim != 1 or len(labels) != rows:
                raise DataError(f"y: found shape {labels.shape} for {rows} rows; expected one class each")
            target = _TARGET
            while target in names:
                target += "_"
            self._labels = _labels_by_name(labels)
            columns = [*columns, (target, None, [str(label) for label in labels.tolist()])]
        with running(seed_of(self.random_state), self.threads, self.time_limit, self.progress) as run:
            model, raised = _core.regress(
                columns, rows, data, target, list(self.features), list(self.categorical), list(self.ignore), self.missing, options, run,
                f"caucus.{self._call()}.fit",
            )  # fmt: skip
        self._take(model)
        if names:
            self.n_features_in_ = len(names)
        warn_all(self.warnings_)
        if raised is not None:
            raise raised
        return self

    def _take(self, model: _core.Regression) -> None:
        self._model = model
        self.__dict__.pop("_file", None)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _fitted(self) -> _core.Regression:
        if "_model" not in self.__dict__:
            raise not_fitted(self)
        return self._model

    def predict_proba(self, X: Any) -> Array:
        """The probability of every class (or that an item comes first), averaged over the posterior: one row per row of ``X``, NaN for rows left out."""
        model = self._fitted()
        columns, rows = table_of(X.covariates if isinstance(X, Rankings) else X)
        expected = getattr(self, "n_features_in_", len(columns))
        if not is_frame(X) and not isinstance(X, Rankings) and len(columns) != expected:
            raise DataError(f"X has {len(columns)} features, but {type(self).__name__} is expecting {expected} features as input")
        return model.predict(columns, rows)

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """The likeliest class of every row (or the item most likely first)."""
        labels: np.ndarray[Any, Any] = self.classes_[np.nan_to_num(self.predict_proba(X)).argmax(axis=1)]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; for ballots the mean log-probability of the whole ballot."""
        ballots = X if y is None and isinstance(X, Rankings) else y
        if isinstance(ballots, Rankings):
            return self._fitted().score_ballots((ballots if y is None else ballots.with_covariates(X))._data)
        return float(np.average(np.asarray(y) == self.predict(X), weights=sample_weight))

    # ---- what was fitted ---------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The model file, as Python objects (docs/regression.md)."""
        model: dict[str, Any] = json.loads(self._fitted().text)
        return model

    def _content(self) -> dict[str, Any]:
        if "_file" not in self.__dict__:
            self.__dict__["_file"] = self.to_dict()
        content: dict[str, Any] = self.__dict__["_file"]
        return content

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The classes, or the items of ballots."""
        names = self._fitted().classes
        labels = self.__dict__.get("_labels")
        return np.array(names) if labels is None else np.array([labels[name] for name in names])

    @property
    def feature_names_(self) -> list[str]:
        """What the columns of ``coef_`` are of."""
        return self._fitted().column_names

    @property
    def coef_(self) -> Array:
        """The weights, one row per class: what each feature gives to it, never below zero (logit-lasso: coefficients against the last class)."""
        content = self._content()
        return np.array(content["lambda"] if "lambda" in content else content["beta"], dtype=np.float64)

    @property
    def summary_(self) -> dict[str, Any]:
        """How the fit went: the "fit" object of the model file."""
        summary: dict[str, Any] = self._content().get("fit", {})
        return summary

    @property
    def loglik_(self) -> float:
        """The log-likelihood at the weights, without the prior."""
        return float(self.summary_["loglik"])

    @property
    def n_iter_(self) -> int:
        """Steps or sweeps of the fit."""
        return int(self.summary_.get("iterations", 0))

    @property
    def stop_reason_(self) -> str:
        """Why the fit ended."""
        return str(self.summary_.get("stop_reason", ""))

    @property
    def warnings_(self) -> list[str]:
        """What the fit warns of, in plain words."""
        return list(self.summary_.get("warnings", []))

    def weights(self) -> Frame:
        """The weights as a table: class, feature, weight, and its share of the class."""
        coef, features, classes = self.coef_, self.feature_names_, self._fitted().classes
        share = np.abs(coef) / np.maximum(np.abs(coef).sum(axis=1, keepdims=True), np.finfo(float).tiny)
        pairs = [(k, j) for k in range(len(coef)) for j in range(len(features))]
        return Frame(
            {
                "class": [classes[k] for k, _ in pairs],
                "feature": [features[j] for _, j in pairs],
                "weight": [float(coef[k, j]) for k, j in pairs],
                "share": [float(share[k, j]) for k, j in pairs],
            }
        )

    def to_arviz(self) -> Any:
        """The draws of a sampler, as far as the model file keeps them, as ArviZ's ``InferenceData``."""
        draws = self._content().get("draws")
        if not draws:
            raise UsageError(f"{self._call()} was not fitted by a sampler: there are no draws")
        return arviz_of({"weight": np.array(draws, dtype=np.float64)[None]})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, which the command line reads too; :func:`caucus.load` reads it again."""
        _core.write_file(os.fspath(path), self._fitted().text)

    def report(self, path: str | os.PathLike[str] | None = None, *, title: str = "") -> str:
        """One HTML page to look at. Returns it."""
        return report_page(path, [(type(self).__name__, self._fitted().text)], None, title=title, threads=self.threads)

    def _repr_html_(self) -> str:
        return shown_inline(self)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_file"}
        return state | {"progress": None if callable(self.progress) else self.progress}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            classifier_tags=ClassifierTags(),
            target_tags=TargetTags(required=True),
            input_tags=InputTags(two_d_array=True, categorical=True, string=True),
        )


def table_of(X: Any) -> tuple[list[Column], int]:
    """The columns of a frame or a 2-D array, and how many rows there are."""
    if is_frame(X):
        columns = [covariate_of(name, column_of(X, name)) for name in column_names(X)]
        rows = len(column_of(X, column_names(X)[0])) if columns else 0
        return columns, rows
    if hasattr(X, "toarray"):
        raise TypeError("sparse tables are not taken: pass X.toarray()")
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold real numbers")
    if array.ndim != 2:
        raise DataError(f"X: found an array of {array.ndim} dimensions, expected 2: one row per outcome. Reshape your data")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise DataError(f"Found array with {array.shape[0]} sample(s) and {array.shape[1]} feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return [covariate_of(f"x{place}", array[:, place]) for place in range(array.shape[1])], len(array)


def _labels_by_name(labels: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {str(label): label for label in np.unique(labels).tolist()}


def of_regression(model: _core.Regression) -> RegressionModel:
    """The estimator of a model file, fitted, with the parameters that the file holds."""
    from ._families import PlackettLuceRegression

    content = json.loads(model.text)
    fit = content.get("fit", {})
    estimator = PlackettLuceRegression(**params_of(fit.get("options", {}), _core.regression_families()[0]["options"]))
    if "seed" in fit:
        estimator.random_state = fit["seed"]
    estimator._take(model)
    return estimator

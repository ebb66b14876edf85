"""What a fitted model tells: attributes that end in an underscore, and tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._frame import Frame
from ._parameters import Parameters, not_fitted, seed_of

__all__ = ["Array", "FittedAttributes", "Labels"]

Array = np.ndarray[Any, np.dtype[np.float64]]
Labels = np.ndarray[Any, np.dtype[np.int64]]


class FittedAttributes(Parameters):
    """A model's attributes once it is fitted."""

    threads: int
    _model: _core.Model

    def _fitted(self) -> _core.Model:
        if "_model" not in self.__dict__:
            raise not_fitted(self)
        return self._model

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
    def membership_(self) -> Frame:
        """What puts a voter into a group (``membership``): the coefficients of the multinomial logit in the units of the columns, those of
        group 0 zero, with standard errors."""
        return self._coefficients("membership")

    @property
    def membership_tests_(self) -> Frame:
        """The likelihood-ratio test of every term of ``membership``."""
        tests = self._part("membership").get("tests", [])
        return Frame({name: [test[name] for test in tests] for name in ("term", "statistic", "degrees", "p_value")})

    @property
    def membership_words_(self) -> list[str]:
        """What the terms of ``membership`` do to the shares of the groups, in plain words."""
        told = self._content().get("membership_words", []) if "membership" in self._content() else []
        return [f"{fact['name']}: {fact['value']}{'; ' if fact['words'] else ''}{fact['words']}" for fact in told]

    @property
    def item_coefficients_(self) -> Frame:
        """What a group values in an item (``utilities``): utility per unit of the column, with standard errors."""
        return self._coefficients("item_utilities")

    @property
    def dampening_(self) -> Array:
        """The exponents of the second choice and later ones (``dampening``), one row per group; 1 is as sure as the first, 0 chance."""
        return np.array(self._component_values("dampening"), dtype=np.float64)

    def _part(self, key: str) -> dict[str, Any]:
        part: dict[str, Any] | None = self._content().get(key)
        if part is None:
            raise AttributeError(f"this {type(self).__name__} was fitted without {'utilities' if key == 'item_utilities' else key}")
        return part

    def _coefficients(self, key: str) -> Frame:
        part = self._part(key)
        names, values = part["columns"], part["coefficients"]
        errors = part.get("standard_errors") or [[None] * len(names)] * len(values)
        rows = [(group, place) for group in range(len(values)) for place in range(len(names))]
        return Frame(
            {
                "group": [group for group, _ in rows],
                "column": [names[place] for _, place in rows],
                "coefficient": [float(values[group][place]) for group, place in rows],
                "standard_error": np.array([errors[group][place] for group, place in rows], dtype=np.float64),
            }
        )

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

    def summary(self) -> str:
        """The fit in a few lines of plain words."""
        fit = self.summary_
        groups = self.n_components_
        by = f" by {fit['num_voters']:g} voters" if "num_voters" in fit else ""
        lines = [f"{groups} group{'s' if groups != 1 else ''} in {fit.get('num_rankings', 0):g} rankings{by} of {len(self.items_)} items: {self._call()}"]
        lines.append(f"log-likelihood {self.loglik_:.4f}   BIC {self.bic_:.1f}   AIC {self.aic_:.1f}   {self.stop_reason_}")
        for group, (weight, order) in enumerate(zip(self.weights_, self.orders_)):
            lines.append(f"Group {group}, {100 * weight:.1f} %: {' > '.join(order[:8])}{' > ...' if len(order) > 8 else ''}")
        lines += self.membership_words_
        return "\n".join(lines)

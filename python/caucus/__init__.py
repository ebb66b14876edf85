"""caucus finds the groups in ranked data: which groups there are, what each prefers, how sure we may be.

>>> import caucus
>>> votes = caucus.Rankings.read(caucus.examples.town_path())
>>> model = caucus.PlackettLuceMixture(components=3).fit(votes)
>>> model.weights_.round(2)
array([0.48, 0.29, 0.24])
"""

from __future__ import annotations

from . import examples
from ._base import RankingModel, load
from ._core import version as _version
from ._errors import CaucusWarning, DataError, Error, IoError, NoInputError, NotFittedError, UnfinishedError, UsageError
from ._families import (
    EBMS,
    FAMILIES,
    DirichletProcessMallows,
    GeneralizedMallowsMixture,
    MallowsKDE,
    MallowsMixture,
    MultiplicativeMallows,
    PlackettLuceMixture,
    PlackettLuceRegression,
)
from ._frame import Frame
from ._rankings import Ranking, Rankings
from ._regression import RegressionModel
from ._searches import Check, Comparison, Selection, check, compare, select

__version__ = _version()

__all__ = [
    "Rankings",
    "PlackettLuceMixture",
    "MallowsMixture",
    "GeneralizedMallowsMixture",
    "MultiplicativeMallows",
    "DirichletProcessMallows",
    "MallowsKDE",
    "EBMS",
    "PlackettLuceRegression",
    "RankingModel",
    "RegressionModel",
    "load",
    "select",
    "compare",
    "check",
    "Selection",
    "Comparison",
    "Check",
    "Frame",
    "Error",
    "UnfinishedError",
    "UsageError",
    "DataError",
    "NoInputError",
    "IoError",
    "NotFittedError",
    "CaucusWarning",
    "examples",
    "FAMILIES",
    "Ranking",
    "__version__",
]

"""Parameters of estimators, and how they reach the library."""

from __future__ import annotations

import inspect
import numbers
import os
import sys
import tempfile
import warnings as python_warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ._errors import CaucusWarning, Error, NotFittedError, UsageError
from ._sources import is_frame
from ._tables import csv_text

__all__ = ["Parameters", "not_fitted", "seed_of", "tables_as_files", "text_of", "warn_all"]

Self = TypeVar("Self", bound="Parameters")


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
        given = [f"{name}={_shown(value)}" for name, value in self.get_params().items() if not _same(value, self._defaults()[name])]
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


@contextmanager
def tables_as_files(model: Parameters, own: Iterable[str]) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The options as text, where a frame that stands for a table is a file as long as this lasts; and what is to be remembered of those."""
    frames = {name: getattr(model, name) for name in own if is_frame(getattr(model, name))}
    options = model._options(name for name in own if name not in frames)
    if not frames:
        yield options, {}
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in frames.items():
            path = os.path.join(folder, f"{name}.csv")
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(csv_text(frame))
            options[name.replace("_", "-")] = path
        try:
            yield options, {name.replace("_", "-"): "(a frame)" for name in frames}
        except Error as error:  # the file is gone when its words are read
            told = str(error)
            for name in frames:
                told = told.replace(os.path.join(folder, f"{name}.csv"), f"the frame {name}")
            raise type(error)(told) from None


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _shown(value: Any) -> str:
    return "<frame>" if is_frame(value) else repr(value)


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

"""From what people have (frames, tables, other packages' objects) to columns of numbers and names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._errors import DataError, UsageError

__all__ = ["Column", "ItemNames", "column_of", "column_names", "covariate_of", "factorize", "is_frame", "numbers_of", "one_chunk", "package_of"]

#: A covariate as the extension takes it: name, numbers, texts; one of the two is None.
Column = tuple[str, "np.ndarray[Any, np.dtype[np.float64]] | None", "list[str] | None"]


def package_of(value: object) -> str:
    """The package that the type of this value comes from."""
    return type(value).__module__.partition(".")[0]


def is_frame(value: object) -> bool:
    """A pandas or polars frame, an Arrow table or record batch, or a mapping of columns."""
    if isinstance(value, Mapping):
        return True
    if package_of(value) in ("pandas", "polars"):
        return hasattr(value, "columns")
    return package_of(value) == "pyarrow" and hasattr(value, "column_names")


def column_names(frame: Any) -> list[str]:
    """The names of a frame's columns, in order."""
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    if package_of(frame) == "pyarrow":
        return list(frame.column_names)
    return [str(name) for name in frame.columns]


def column_of(frame: Any, name: str) -> Any:
    """One column of a frame, as the frame has it."""
    names = column_names(frame)
    if name not in names:
        raise UsageError(f"there is no column '{name}'; there are: {', '.join(names)}")
    if isinstance(frame, Mapping):
        return next(column for key, column in frame.items() if str(key) == name)
    if package_of(frame) == "pyarrow":
        return frame.column(names.index(name))
    if package_of(frame) == "polars":
        return frame.get_column(name)
    return frame.iloc[:, names.index(name)]  # names may be other things than texts


def _is_missing(value: object) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")  # noqa: PLR0124


def name_of(value: object) -> str:
    """What an item of this value is called: 3.0 is 3."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def factorize(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.int32]], list[str]]:
    """Codes from 0 in order of first sight, -1 for what is missing or names nobody, and the names of the codes."""
    codes, values = _codes_of(column)
    names: list[str] = []
    places: dict[str, int] = {}
    renumbered = np.full(len(values) + 1, -1, dtype=np.int32)  # the last stands for the missing code -1
    for code, value in enumerate(values):
        if _is_missing(value):
            continue
        name = name_of(value)
        if isinstance(value, str):
            name = name.strip()
            if _core.names_nobody(name):
                continue
        renumbered[code] = places.setdefault(name, len(places))
        if places[name] == len(names):
            names.append(name)
    return renumbered[codes], names


def one_chunk(column: Any) -> Any:
    """An Arrow column in one piece; where it is one already, without a copy."""
    if not hasattr(column, "chunks"):
        return column
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return one_chunk(array) if hasattr(array, "chunks") and array.num_chunks else array


def _codes_of(column: Any) -> tuple[np.ndarray[Any, Any], list[Any]]:
    package = package_of(column)
    if package == "pyarrow":
        array = one_chunk(column)
        if not hasattr(array, "dictionary"):
            array = array.dictionary_encode()
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return codes.astype(np.int64, copy=False), array.dictionary.to_pylist()
    if package == "polars":
        if column.dtype.is_numeric():
            return _unique(column.to_numpy())
        return _codes_of(column.to_arrow())
    if package == "pandas":
        import pandas

        codes, values = pandas.factorize(column)
        return codes, list(values)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return _unique(column)
    places: dict[Hashable, int] = {}
    codes = np.fromiter((-1 if _is_missing(value) else places.setdefault(value, len(places)) for value in column), dtype=np.int64)
    return codes, list(places)


def _unique(column: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    values, codes = np.unique(column, return_inverse=True)
    codes = codes.astype(np.int64)
    if column.dtype.kind == "f":
        codes[np.isnan(column)] = -1
        values = values[~np.isnan(values)]
    return codes, values.tolist()


def numbers_of(column: Any, what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column as numbers, NaN where one is missing; without a copy where its memory allows."""
    package = package_of(column)
    if getattr(getattr(column, "dtype", None), "kind", "") == "c":
        raise DataError(f"{what}: Complex data not supported")
    try:
        if package == "pyarrow":
            column = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        elif package == "polars":
            column = column.cast(__import__("polars").Float64).to_numpy()
        elif package == "pandas":
            column = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.ascontiguousarray(column, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise DataError(f"{what}: expected numbers ({failure})") from failure


def covariate_of(name: str, column: Any) -> Column:
    """A column beside the rankings: numbers where all its values are, texts otherwise."""
    values = list(column.to_pylist() if package_of(column) == "pyarrow" else column)
    known = [value for value in values if not _is_missing(value)]
    if all(isinstance(value, (int, float, np.number, np.bool_)) for value in known):
        numbers = np.array([np.nan if _is_missing(value) else float(value) for value in values], dtype=np.float64)
        return name, numbers, None
    return name, None, ["" if _is_missing(value) else name_of(value) for value in values]


class ItemNames:
    """Items in the order given, or as they turn up and then ordered by name as files have them."""

    def __init__(self, items: Sequence[Any] | None) -> None:
        self.given = items is not None
        self.names: list[str] = [] if items is None else [name_of(item) for item in items]
        self._places = {name: place for place, name in enumerate(self.names)}
        if len(self._places) < len(self.names):
            twice = next(name for place, name in enumerate(self.names) if self._places[name] != place)
            raise UsageError(f"items: '{twice}' is there twice")

    def place(self, name: str) -> int:
        """The number of an item; a new one where it was never seen and the items are not given."""
        place = self._places.get(name)
        if place is not None:
            return place
        if self.given:
            raise DataError(f"'{name}' is none of the {len(self.names)} items: {', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}")
        self._places[name] = len(self.names)
        self.names.append(name)
        return len(self.names) - 1

    def places(self, names: Iterable[str]) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The numbers of several items; the last entry, for the code -1, is -1."""
        return np.array([*(self.place(name) for name in names), -1], dtype=np.int32)

    def settle(self, entries: np.ndarray[Any, np.dtype[np.int32]]) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Orders items that turned up by name, and renumbers the entries."""
        if self.given:
            return entries
        order = _core.natural_order(self.names)
        new = np.empty(len(order) + 1, dtype=np.int32)
        new[order] = np.arange(len(order), dtype=np.int32)
        new[-1] = -1
        self.names = [self.names[place] for place in order]
        settled: np.ndarray[Any, np.dtype[np.int32]] = new[entries]
        return settled

"""Tables of rankings: the columns that hold them, and the columns beside them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._errors import DataError, UsageError
from ._sources import Column, column_names, column_of, covariate_of, is_frame, name_of, numbers_of, package_of

__all__ = ["RankTable", "covariates_of", "csv_text", "factorize_all", "holds_numbers", "item_numbers", "item_table", "name_voters", "voter_column", "weights_of"]


def weights_of(weights: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """One number per ranking."""
    if weights is None:
        return None
    numbers = numbers_of(weights, "weights")
    if numbers.ndim != 1:
        raise DataError(f"weights: found {numbers.ndim} dimensions, expected one number per ranking")
    return numbers


def covariates_of(covariates: Any) -> list[Column]:
    """The columns of a frame as the extension takes them."""
    if covariates is None:
        return []
    if not is_frame(covariates):
        raise UsageError("covariates: expected a frame or a mapping of columns")
    return [covariate_of(name, column_of(covariates, name)) for name in column_names(covariates)]


def voter_column(voters: Any, covariates: list[Column]) -> tuple[list[Column], str]:
    """The columns with that of the voters among them, and its name: that of a column, or of an array (by itself ``voter``)."""
    if voters is None or isinstance(voters, str):
        return covariates, voters or ""
    own = getattr(voters, "name", None)
    name = own if isinstance(own, str) and own else "voter"
    return [column for column in covariates if column[0] != name] + [covariate_of(name, voters)], name


def name_voters(data: _core.Data, column: str, table: Any) -> _core.Data:
    """The rankings with voters named by a column beside them, and what a table (a frame, or the path of a CSV) knows of them."""
    if not column and table is None:
        return data
    if table is None:
        return _core.with_voters(data, column)
    path = isinstance(table, (str, os.PathLike))
    columns = _core.read_table(os.fspath(table)) if path else covariates_of(table)
    rows = {len(numbers if numbers is not None else texts or []) for _, numbers, texts in columns}
    if len(rows) > 1:
        raise DataError("table of voters: the columns are not equally long")
    return _core.with_voters(data, column, columns, rows.pop() if rows else 0, os.fspath(table) if path else "table of voters")


def csv_text(frame: Any) -> str:
    """A frame as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = column_names(frame)
    writer.writerow(names)
    writer.writerows(zip(*(_cells(column_of(frame, name)) for name in names)))
    return text.getvalue()


def _cells(column: Any) -> Iterable[Any]:
    codes, names = factorize_all(column)
    cells = np.array([*names, ""], dtype=object)
    return list(cells[codes])


def factorize_all(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
    """Codes of all values, in order of first sight; a missing one is a value of its own, called ""."""
    values = column.to_pylist() if package_of(column) == "pyarrow" else column
    places: dict[str, int] = {}
    codes = [places.setdefault("" if _is_missing(value) else name_of(value), len(places)) for value in values]
    return np.array(codes, dtype=np.int64), list(places)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def holds_numbers(column: Any) -> bool:
    """Is this a column of numbers?"""
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "iuf"
    if package_of(column) == "polars":
        return bool(column.dtype.is_numeric())
    if package_of(column) == "pyarrow":
        return any(name in str(column.type) for name in ("int", "float", "double")) and "dictionary" not in str(column.type)
    return np.asarray(column).dtype.kind in "iuf"


def item_numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Numbers of items, -1 for none; without a copy where they are 32-bit numbers in rows already."""
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        if (array[~missing] != np.floor(array[~missing])).any():
            raise DataError("orders: found a number that is not whole, expected item numbers (ranks are for from_ranks)")
        array = np.where(missing, -1, array)
    if array.size and array.max() > np.iinfo(np.int32).max:
        raise DataError(f"orders: found item number {array.max()}, expected one of the items")
    if array.dtype == np.int32:  # negative numbers are nothing, whichever they are
        return np.ascontiguousarray(array)
    return np.ascontiguousarray(np.maximum(array, -1) if array.dtype.kind != "u" else array, dtype=np.int32)


class RankTable:
    """The columns of a frame that hold the rankings, and the rest: weights, voters, covariates."""

    def __init__(self, frame: Any, columns: Sequence[str] | None, weights: Any, covariates: Any, voters: Any) -> None:
        names = column_names(frame)
        beside = [name for name in (weights, voters) if isinstance(name, str)]
        chosen = [name for name in names if name not in beside] if columns is None else list(columns)
        self.names = chosen
        self.columns = [column_of(frame, name) for name in chosen]
        self.weights = column_of(frame, weights) if isinstance(weights, str) else weights
        if covariates is None:
            covariates = {name: column_of(frame, name) for name in names if name not in chosen and name != self._text(weights)} or None
        elif isinstance(voters, str) and voters not in column_names(covariates):
            covariates = {name: column_of(covariates, name) for name in column_names(covariates)} | {voters: column_of(frame, voters)}
        self.covariates = covariates
        if not self.columns:
            raise UsageError("there are no columns of rankings")

    @staticmethod
    def _text(name: Any) -> str | None:
        return name if isinstance(name, str) else None


def item_table(
    table: Any, columns: Sequence[str] | None, items: Sequence[Any] | None, weights: Any, covariates: Any, voters: Any, what: str
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Sequence[Any], Any, Any]:
    """A table with one column per item: its numbers, the items, the weights and the covariates."""
    if is_frame(table):
        parts = RankTable(table, columns, weights, covariates, voters)
        values = np.column_stack([numbers_of(column, f"{what} of {name}") for name, column in zip(parts.names, parts.columns)])
        items = parts.names if items is None else items
        weights, covariates = parts.weights, parts.covariates
    else:
        values = numbers_of(table, what)
    if values.ndim != 2:
        raise DataError(f"{what}: found an array of {values.ndim} dimensions, expected 2: one row per ranking, one column per item. Reshape your data")
    if 0 in values.shape:
        raise DataError(f"{what}: found {values.shape[0]} sample(s) and {values.shape[1]} feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    items = range(values.shape[1]) if items is None else items
    if len(items) != values.shape[1]:
        raise DataError(f"{what}: found {values.shape[1]} columns for {len(items)} items; expected one each")
    return np.ascontiguousarray(values), items, weights, covariates

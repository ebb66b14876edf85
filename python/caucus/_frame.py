"""Small tables that need nothing but numpy and turn into pandas or polars frames."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._optional import require

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Frame"]


class Frame:
    """A table: columns by name, each a numpy array.

    ``frame["bic"]`` is a column and ``frame.to_pandas()`` a data frame; ``len``, iteration over rows and ``pandas.DataFrame(frame)``
    work as one expects. Numbers that do not exist are NaN, texts that do not exist None.

    >>> frame = Frame({"k": [1, 2], "bic": [10.5, 9.25]})
    >>> frame["bic"].min()
    np.float64(9.25)
    >>> frame
     k    bic
     1  10.50
     2   9.25
    """

    def __init__(self, columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]) -> None:
        self._columns = {name: _as_column(values) for name, values in columns.items()}
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("the columns of a frame must be equally long")

    @classmethod
    def _of_rows(cls, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
        return {name: [row[name] for row in rows] for name in names}

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self._columns[name]

    def keys(self) -> list[str]:
        """The names of the columns: what ``dict(frame)`` and ``pandas.DataFrame(frame)`` ask for."""
        return self.columns

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per row."""
        return [{name: column[row] for name, column in self._columns.items()} for row in range(len(self))]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """Lists by name, of plain Python values."""
        return {name: column.tolist() for name, column in self._columns.items()}

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame."""
        frame: pandas.DataFrame = require("pandas", "to_pandas").DataFrame(dict(self._columns))
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The table as a polars data frame."""
        frame: polars.DataFrame = require("polars", "to_polars").DataFrame(self.to_dict())
        return frame

    def _cells(self) -> list[list[str]]:
        return [[_show(value, column) for value in column] for column in self._columns.values()]

    def __repr__(self) -> str:
        cells = self._cells()
        lines = []
        widths = [max([len(name), *map(len, column)]) for name, column in zip(self._columns, cells)]
        for line in [list(self._columns), *map(list, zip(*cells))]:
            lines.append(" " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in zip(*self._cells())
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _as_column(values: Sequence[Any] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if isinstance(values, np.ndarray):
        return values
    known = [value for value in values if value is not None]
    if all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in known) and (known or not values):
        if len(known) == len(values) and all(isinstance(value, (int, np.integer)) for value in known):
            return np.asarray(values, dtype=np.int64)
        return np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _show(value: Any, column: np.ndarray[Any, Any]) -> str:
    if value is None:
        return ""
    if column.dtype.kind != "f":
        return str(value)
    if np.isnan(value):
        return ""
    finite = np.abs(column[np.isfinite(column)])
    digits = 2 if len(finite) and finite.max() >= 1000 else 4
    shown = max((len(f"{number:.{digits}f}".rstrip("0").partition(".")[2]) for number in finite), default=0)
    return f"{value:.{shown}f}"

"""Rankings: what goes into a fit."""

from __future__ import annotations

import csv
import html
import io
import os
import tempfile
import warnings as python_warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, overload

import numpy as np

from . import _core
from ._errors import CaucusWarning, DataError, UsageError
from ._frame import Frame
from ._optional import require
from ._sources import Column, ItemNames, column_names, column_of, covariate_of, factorize, is_frame, name_of, numbers_of, package_of

if TYPE_CHECKING:
    import pandas

__all__ = ["Ranking", "Rankings", "as_rankings"]

#: One ranking, best first; a tuple is a tie.
Ranking = list[Union[str, tuple[str, ...]]]
Unranked = Literal["last", "absent"]
_SHOWN = 5  # rankings of a repr


class Rankings:
    """Rankings with the names of their items, weights, and columns about those who ranked.

    Parameters
    ----------
    rankings : iterable of rankings
        One list per ranking, best first. A list, tuple or set within it is a tie. Names are texts or numbers; where ``items`` is given, a
        number is a position in it, from 0. An empty ranking is a blank ballot: it keeps its row.
    items : sequence of names, optional
        All items, in order. Without it the items are those that occur, ordered by name.
    weights : array of numbers, optional
        How often each ranking counts.
    unranked : "last" or "absent"
        What it means that a ranking does not list an item: it is below the listed ones (a ballot), or took no part (a race).
    covariates : frame or mapping of columns, optional
        One value per ranking.

    Numpy arrays and frames may hold orders or ranks; which one is said, never guessed: :meth:`from_orders`, :meth:`from_ranks`. See also
    :meth:`read`, :meth:`from_long`, :meth:`from_pairwise`, :meth:`from_arrow`, :meth:`from_votekit`, :meth:`from_preflib`.

    Examples
    --------
    >>> votes = Rankings([["Ann", "Bo"], ["Bo", ("Ann", "Cy")], ["Cy"]], weights=[12, 3, 5])
    >>> votes
    Rankings: 20 rankings (3 rows, 3 distinct) of 3 items, 1 to 3 listed, with ties; unlisted items are last
      12 x  Ann > Bo
       3 x  Bo > Ann = Cy
       5 x  Cy
    >>> votes[1]
    ['Bo', ('Ann', 'Cy')]
    >>> votes[:2].num_rankings
    15.0
    """

    _data: _core.Data

    def __init__(
        self,
        rankings: Iterable[Iterable[Any]],
        *,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
        source: str = "rankings",
    ) -> None:
        if isinstance(rankings, np.ndarray) or is_frame(rankings):
            raise UsageError(_WHICH_ONE)
        if isinstance(rankings, (str, bytes, os.PathLike)):
            raise UsageError("a path is read by Rankings.read(path)")
        names = ItemNames(items)
        offsets: list[int] = [0]
        entries: list[int] = []
        ends: list[int] = []
        ties = False
        for row, ranking in enumerate(rankings):
            if isinstance(ranking, (str, bytes)) or not isinstance(ranking, Iterable):
                raise DataError(f"{source}: row {row}: found {ranking!r}, expected a list of items, best first")
            for group in ranking:
                tied = sorted(group, key=str) if isinstance(group, (set, frozenset)) else group
                members = list(tied) if isinstance(tied, (list, tuple)) else [tied]
                entries.extend(_place_of(member, names, source, row) for member in members)
                ends.extend([0] * (len(members) - 1) + [1] * bool(members))
                ties = ties or len(members) > 1
            offsets.append(len(entries))
        self._data = _from_lists(names, offsets, entries, ends if ties else None, unranked, weights, covariates, source)
        self._warn()

    # ---- from other things -------------------------------------------------------------------------------------------------------

    @classmethod
    def _wrap(cls, data: _core.Data) -> Rankings:
        rankings = cls.__new__(cls)
        rankings._data = data
        rankings._warn()
        return rankings

    def _warn(self) -> None:
        for message in self._data.warnings:
            python_warnings.warn(f"{self._data.source}: {message}", CaucusWarning, stacklevel=3)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        format: str = "auto",
        unranked: Unranked | None = None,
        weight_column: str = "",
        columns: Sequence[str] = (),
        contest: str = "",
        top: int = 0,
        categories: str = "auto",
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        merge: Sequence[str] = (),
        rename: Sequence[str] = (),
        exclude: Sequence[str] = (),
        items_only: Sequence[str] = (),
    ) -> Rankings:
        """Reads a file, or several as one, in any format the program reads: PrefLib, CSV in six layouts, JSON lines, BLT.

        The arguments are the flags of the command line (docs/data.md): ``drop=["Write-in*"]`` is ``--drop "Write-in*"``.
        """
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        return cls._wrap(
            _core.read(
                [os.fspath(one) for one in paths],
                format=format,
                unranked=unranked,
                weight_column=weight_column,
                columns=list(columns),
                contest=contest,
                top=top,
                categories=categories,
                drop=list(drop),
                keep=list(keep),
                merge=list(merge),
                rename=list(rename),
                exclude=list(exclude),
                items_only=list(items_only),
            )
        )

    @classmethod
    def from_orders(
        cls,
        orders: Any,
        *,
        columns: Sequence[str] | None = None,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
    ) -> Rankings:
        """A table with one row per ranking and one column per place: the best item first.

        Parameters
        ----------
        orders : 2-D array, pandas or polars frame, Arrow table
            Item numbers from 0 (negative: nothing) or names (missing, empty, "skipped", "overvote", ...: nothing; of a repeated name the
            first counts).
        columns : sequence of names, optional
            Frames: the columns that hold the places, best first. The others become covariates. Default: all but the weights.
        items : sequence of names, optional
            The names of the item numbers, or all names in order.
        weights : array, or the name of a column
        unranked : "last" or "absent"
        covariates : frame or mapping of columns, optional

        >>> Rankings.from_orders(np.array([[0, 2, 1], [1, 0, -1]]), items=["Ann", "Bo", "Cy"])
        Rankings: 2 rankings (2 distinct) of 3 items, 2 to 3 listed; unlisted items are last
          Ann > Cy > Bo
          Bo > Ann
        """
        if is_frame(orders):
            table = _Table(orders, columns, weights, covariates)
            weights, covariates = table.weights, table.covariates
            if all(_holds_numbers(column) for column in table.columns):
                array = np.column_stack([numbers_of(column, "orders") for column in table.columns])
                return cls.from_orders(array, items=items, weights=weights, unranked=unranked, covariates=covariates)
            names = ItemNames(items)
            parts = [factorize(column) for column in table.columns]
            codes = np.column_stack([names.places(found)[part] for part, found in parts])
            return cls._of_codes(codes, names, weights, unranked, covariates, repeated=True)
        array = np.asarray(orders)
        if array.ndim != 2:
            raise DataError(f"orders: found an array of {array.ndim} dimensions, expected 2: one row per ranking")
        if array.dtype.kind in "OUST":
            names = ItemNames(items)
            codes, found = factorize(array.ravel())
            return cls._of_codes(names.places(found)[codes].reshape(array.shape), names, weights, unranked, covariates, repeated=True)
        if array.dtype.kind not in "iuf":
            raise DataError(f"orders: found an array of {array.dtype}, expected item numbers or names")
        numbers = _item_numbers(array)
        if items is None:
            items = range(int(numbers.max(initial=-1)) + 1)
        return cls._of_codes(numbers, ItemNames(items), weights, unranked, covariates, repeated=False)

    @classmethod
    def _of_codes(
        cls, codes: Any, names: ItemNames, weights: Any, unranked: str, covariates: Any, *, repeated: bool
    ) -> Rankings:
        settled = np.ascontiguousarray(names.settle(codes), dtype=np.int32)
        return cls._wrap(
            _core.from_orders(names.names, settled, unranked, _weights(weights), _covariates(covariates), "orders", repeated)
        )

    @classmethod
    def from_ranks(
        cls,
        ranks: Any,
        *,
        columns: Sequence[str] | None = None,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
    ) -> Rankings:
        """A table with one row per ranking and one column per item, which holds the item's rank: 1 is best, equal ranks are ties, 0 and
        missing values are not ranked.

        Parameters
        ----------
        ranks : 2-D array, pandas or polars frame, Arrow table
        columns : sequence of names, optional
            Frames: the columns of items. The others become covariates. Default: all but the weights.
        items : sequence of names, optional
            Other names for the columns.
        weights : array, or the name of a column
        unranked : "last" or "absent"
        covariates : frame or mapping of columns, optional

        >>> Rankings.from_ranks(np.array([[1, 3, 2], [2, 1, 0]]), items=["Ann", "Bo", "Cy"])
        Rankings: 2 rankings (2 distinct) of 3 items, 2 to 3 listed; unlisted items are last
          Ann > Cy > Bo
          Bo > Ann
        """
        values, items, weights, covariates = _item_table(ranks, columns, items, weights, covariates, "ranks")
        if (values < 0).any():
            raise DataError("ranks: found a rank below 0; 1 is the best (ratings, where more is better, are for from_ratings)")
        values = np.where(values == 0, np.nan, values)
        return cls._wrap(_core.from_ranks(ItemNames(items).names, values, unranked, _weights(weights), _covariates(covariates), "ranks"))

    @classmethod
    def from_ratings(
        cls,
        ratings: Any,
        *,
        columns: Sequence[str] | None = None,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "absent",
        covariates: Any = None,
    ) -> Rankings:
        """A table with one row per person and one column per item, which holds its rating: more is better, equal ratings are ties, missing
        ones are not rated. Arguments as for :meth:`from_ranks`."""
        values, items, weights, covariates = _item_table(ratings, columns, items, weights, covariates, "ratings")
        return cls._wrap(
            _core.from_ranks(ItemNames(items).names, -values, unranked, _weights(weights), _covariates(covariates), "ratings")
        )

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        voter: str = "voter",
        item: str = "item",
        rank: str = "rank",
        items: Sequence[Any] | None = None,
        weights: str | None = None,
        unranked: Unranked = "last",
        covariates: Sequence[str] = (),
    ) -> Rankings:
        """A frame with one row per voter and item. Rows of one voter may stand anywhere; equal ranks are ties.

        Parameters
        ----------
        frame : pandas or polars frame, Arrow table, mapping of columns
        voter, item, rank : str
            Names of the columns. Voters are kept, as a covariate of that name.
        items : sequence of names, optional
        weights : str, optional
            Column with the weight of the voter: that of the voter's first row.
        unranked : "last" or "absent"
        covariates : sequence of str
            Columns about the voter: the values of the voter's first row.

        >>> votes = Rankings.from_long({"voter": ["x", "x", "y"], "item": ["Ann", "Bo", "Bo"], "rank": [2, 1, 1]})
        >>> list(votes), votes.covariates["voter"]
        ([['Bo', 'Ann'], ['Bo']], ['x', 'y'])
        """
        who, voters = factorize_all(column_of(frame, voter))
        which, found = factorize(column_of(frame, item))
        place = numbers_of(column_of(frame, rank), rank)
        names = ItemNames(items)
        entries = names.settle(names.places(found)[which])
        first = np.full(len(voters), len(who), dtype=np.int64)
        np.minimum.at(first, who, np.arange(len(who)))
        listed = (entries >= 0) & ~np.isnan(place)
        order = np.flatnonzero(listed)
        order = order[np.lexsort((place[order], who[order]))]
        offsets = np.searchsorted(who[order], np.arange(len(voters) + 1)).astype(np.int64)
        ends = np.ones(len(order), dtype=np.uint8)
        if len(order):
            ends[:-1] = (who[order][1:] != who[order][:-1]) | (place[order][1:] != place[order][:-1])
        columns = [covariate_of(voter, voters)]
        for name in covariates:
            values = column_of(frame, name)
            values = values.to_pylist() if package_of(values) == "pyarrow" else list(values)
            columns.append(covariate_of(name, [values[row] for row in first]))
        weight = None if weights is None else numbers_of(column_of(frame, weights), weights)[first]
        data = _core.from_lists(names.names, offsets, np.ascontiguousarray(entries[order]), None if ends.all() else ends, unranked, weight, columns, "long frame")
        return cls._wrap(data)

    @classmethod
    def from_pairwise(
        cls,
        frame: Any,
        *,
        columns: Sequence[str],
        weights: str | None = None,
        unranked: Unranked = "absent",
    ) -> Rankings:
        """A frame with one comparison per row, ties included, read as a CSV file of that layout is.

        Parameters
        ----------
        frame : pandas or polars frame, Arrow table, mapping of columns
        columns : sequence of str
            Two names: winner, loser. Three: a, b, winner, which holds an item, "a" or "b", the name of a column, or "tie". More: a, b, wins of
            a, wins of b, ties ... The other columns become covariates.
        weights : str, optional
            Column that holds how often a comparison counts.
        unranked : "absent" or "last"

        >>> battles = {"a": ["x", "x", "y"], "b": ["y", "z", "z"], "winner": ["a", "tie", "b"]}
        >>> list(Rankings.from_pairwise(battles, columns=["a", "b", "winner"]))
        [['x', 'y'], [('x', 'z')], ['z', 'y']]
        """
        if not is_frame(frame):
            raise UsageError("from_pairwise takes a frame or a mapping of columns")
        missing = [name for name in columns if name not in column_names(frame)]
        if missing:
            raise UsageError(f"there is no column '{missing[0]}'; there are: {', '.join(column_names(frame))}")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = column_names(frame)
        writer.writerow(names)
        writer.writerows(zip(*(_cells(column_of(frame, name)) for name in names)))
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
            file.flush()
            return cls.read(file.name, format="csv-pairwise", columns=columns, weight_column=weights or "none", unranked=unranked)

    @classmethod
    def from_arrow(
        cls,
        column: Any,
        *,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
    ) -> Rankings:
        """An Arrow array of lists: each is a ranking, best first, of item numbers from 0 or of names.

        The buffers of 32-bit numbers (plain or behind a dictionary) and of 64-bit offsets are read where they lie. Tables of places or ranks
        are for :meth:`from_orders` and :meth:`from_ranks`.
        """
        pyarrow = require("pyarrow", "from_arrow")
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        if hasattr(column, "chunks"):
            column = column.chunk(0) if column.num_chunks else pyarrow.array([], column.type)
        if pyarrow.types.is_fixed_size_list(column.type):
            column = column.cast(pyarrow.large_list(column.type.value_type))
        if not (pyarrow.types.is_list(column.type) or pyarrow.types.is_large_list(column.type)):
            raise DataError(f"from_arrow: found a column of {column.type}, expected lists")
        if column.null_count:  # null: a blank ballot
            column = pyarrow.array([[] if one is None else one for one in column.to_pylist()], column.type)
        offsets = np.ascontiguousarray(column.offsets.to_numpy(), dtype=np.int64)
        values = column.values
        names = ItemNames(items)
        if pyarrow.types.is_integer(values.type):
            entries = np.ascontiguousarray(values.fill_null(-1).to_numpy(), dtype=np.int32)
            if items is None:
                names = ItemNames(range(int(entries.max(initial=-1)) + 1))
        else:
            codes, found = factorize(values)
            entries = names.settle(names.places(found)[codes])
        return cls._wrap(_core.from_lists(names.names, offsets, entries, None, unranked, _weights(weights), _covariates(covariates), "arrow"))

    @classmethod
    def from_votekit(cls, profile: Any, *, unranked: Unranked = "last") -> Rankings:
        """VoteKit's ``PreferenceProfile``: one row per ballot, with its weight; sets are ties; voters are kept."""
        ballots = list(profile.ballots)
        rankings = [[sorted(place) for place in (ballot.ranking or ()) if place] for ballot in ballots]
        weights = [float(ballot.weight) for ballot in ballots]
        voters = [", ".join(sorted(map(str, ballot.voter_set or ()))) for ballot in ballots]
        covariates = {"voter": voters} if any(voters) else None
        return cls(rankings, items=sorted(profile.candidates), weights=weights, unranked=unranked, covariates=covariates, source="profile")

    @classmethod
    def from_preflib(cls, instance: Any, *, unranked: Unranked = "last") -> Rankings:
        """An instance of preflibtools, ordinal or categorical: one row per distinct order, with its multiplicity."""
        if not hasattr(instance, "multiplicity"):
            raise DataError(f"from_preflib: found a {type(instance).__name__}, expected orders or categories")
        numbers = list(instance.alternatives_name)
        place = {number: at for at, number in enumerate(numbers)}
        orders = list(instance.multiplicity)
        rankings = [[[place[number] for number in group] for group in order if group] for order in orders]
        weights = [float(instance.multiplicity[order]) for order in orders]
        names = [str(instance.alternatives_name[number]) for number in numbers]
        return cls(rankings, items=names, weights=weights, unranked=unranked, source=getattr(instance, "file_name", "") or "instance")

    # ---- what they are -----------------------------------------------------------------------------------------------------------

    @property
    def items(self) -> list[str]:
        """The names of the items."""
        return self._data.items

    @property
    def unranked(self) -> str:
        """What unlisted items mean: "last" or "absent"."""
        return self._data.unranked

    @property
    def num_items(self) -> int:
        """How many items there are."""
        return len(self._data.items)

    @property
    def num_rankings(self) -> float:
        """The sum of the weights, blank ballots left out."""
        return self._data.num_rankings

    @property
    def num_distinct(self) -> int:
        """How many different rankings there are."""
        return self._data.num_distinct

    @property
    def weights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weight of every row."""
        return self._data.row_weights()

    @property
    def covariates(self) -> dict[str, Any]:
        """What stands beside the rankings, by name: arrays of numbers (missing: NaN) or lists of texts (missing: empty)."""
        return {name: self._data.covariate(place) for place, name in enumerate(self._data.covariates)}

    @property
    def has_ties(self) -> bool:
        """Are any two items tied?"""
        return self._data.has_ties

    @property
    def digest(self) -> str:
        """Of items, rankings, weights and the meaning of unlisted items: what a model file remembers of its data."""
        return self._data.digest

    @property
    def source(self) -> str:
        """Where the rankings came from."""
        return self._data.source

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and items."""
        return self._data.num_rows, self.num_items

    def __len__(self) -> int:
        return self._data.num_rows

    def __iter__(self) -> Iterator[Ranking]:
        names = self.items
        return (self._named(row, names) for row in range(len(self)))

    def _named(self, row: int, names: list[str]) -> Ranking:
        groups = self._data.ranking(row)
        return [names[group[0]] if len(group) == 1 else tuple(names[item] for item in group) for group in groups]

    @overload
    def __getitem__(self, rows: int) -> Ranking: ...
    @overload
    def __getitem__(self, rows: Any) -> Rankings: ...
    def __getitem__(self, rows: Any) -> Ranking | Rankings:
        if isinstance(rows, tuple):  # rows, ...: as numpy writes it
            if len(rows) != 2 or rows[1] is not Ellipsis and rows[1] != slice(None):
                raise IndexError("rankings are taken by rows alone")
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            row = int(rows) + (len(self) if rows < 0 else 0)
            if not 0 <= row < len(self):
                raise IndexError(f"there is no row {rows}: there are {len(self)}")
            return self._named(row, self.items)
        return self._take(np.arange(len(self))[rows])

    def _take(self, rows: Any, weights: Any = None) -> Rankings:
        part = Rankings.__new__(Rankings)
        part._data = self._data.take(np.ascontiguousarray(rows, dtype=np.int64), _weights(weights))
        return part

    def with_weights(self, weights: Any) -> Rankings:
        """The same rows with other weights."""
        return self._take(np.arange(len(self)), weights)

    def with_covariates(self, covariates: Any) -> Rankings:
        """The same rankings with other columns beside them: a frame, a mapping of columns or a 2-D array with one row each."""
        if not is_frame(covariates):
            table = np.asarray(covariates)
            covariates = {f"x{place}": table[:, place] for place in range(table.shape[1])}
        changed = Rankings.__new__(Rankings)
        changed._data = self._data.with_covariates(_covariates(covariates))
        return changed

    def describe(self) -> Frame:
        """Every item with its share of the first places and of the ballots that list it, most first places first.

        >>> Rankings([["Ann", "Bo"], ["Bo"], ["Ann"]]).describe()
         item   first  listed
          Ann  0.6667  0.6667
           Bo  0.3333  0.6667
        """
        first, listed = self._data.item_counts()
        total = max(self.num_rankings, np.finfo(float).tiny)
        order = np.argsort(-first, kind="stable")
        return Frame({"item": [self.items[item] for item in order], "first": first[order] / total, "listed": listed[order] / total})

    def facts(self) -> dict[str, Any]:
        """What the program's ``info`` tells: kind of rankings, lengths, ties, whether all items can be compared."""
        return self._data.facts()

    # ---- to other things ---------------------------------------------------------------------------------------------------------

    def to_ranks(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """One row per ranking, one column per item: its place from 1, tied items the best of theirs; NaN: not listed."""
        return self._data.ranks()

    def to_orders(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """One row per ranking: item numbers, best first, then -1. There may be no ties."""
        return self._data.orders()

    def to_pandas(self, layout: Literal["ranks", "orders", "long"] = "ranks") -> pandas.DataFrame:
        """A pandas frame with one column per item ("ranks"), one per place ("orders") or one row per item listed ("long"), the weights where
        any is not 1, and the covariates."""
        package: Any = require("pandas", "to_pandas")
        frame: pandas.DataFrame
        beside: dict[str, Any] = {}
        if (self.weights != 1).any():
            beside["weight"] = self.weights
        beside.update(self.covariates)
        if layout == "ranks":
            ranks = package.DataFrame(self.to_ranks(), columns=self.items).astype("Int64")
            frame = package.concat([ranks, package.DataFrame(beside, index=ranks.index)], axis=1)
            return frame
        if layout == "orders":
            names = np.array([*self.items, None], dtype=object)
            orders = self.to_orders()
            places = package.DataFrame(names[orders], columns=[f"rank{place + 1}" for place in range(orders.shape[1])])
            frame = package.concat([places, package.DataFrame(beside, index=places.index)], axis=1)
            return frame
        if layout == "long":
            ranks = self.to_ranks()
            rows, items = np.nonzero(~np.isnan(ranks))
            frame = package.DataFrame({"row": rows, "item": np.array(self.items, dtype=object)[items], "rank": ranks[rows, items].astype(int)})
            frame = frame.sort_values(["row", "rank"], kind="stable", ignore_index=True)
            for name, values in beside.items():
                frame[name] = np.asarray(values)[frame["row"].to_numpy()]
            return frame
        raise UsageError(f"layout = {layout}: expected ranks, orders or long")

    def to_votekit(self) -> Any:
        """VoteKit's profile of ranked ballots; blank ballots, which it does not have, are left out."""
        votekit = require("votekit", "to_votekit")
        weights = self.weights
        ballots = []
        longest = 1
        for row, ranking in enumerate(self):
            if not ranking:
                continue
            places = [frozenset([place] if isinstance(place, str) else place) for place in ranking]
            longest = max(longest, sum(map(len, places)))
            ballots.append(votekit.RankBallot(ranking=places, weight=float(weights[row])))
        return votekit.RankProfile(ballots=ballots, candidates=tuple(self.items), max_ranking_length=longest)

    def write(self, path: str | os.PathLike[str], format: str = "auto") -> list[str]:
        """Writes a file, in the format of its extension. Returns what that format could not hold."""
        return self._data.write(os.fspath(path), format)

    # ---- how they look -----------------------------------------------------------------------------------------------------------

    def _headline(self) -> str:
        facts = self.facts()
        low, high = facts["min_length"], facts["max_length"]
        count = f"{self.num_rankings:g} rankings"
        rows = "" if len(self) == self.num_rankings else f"{len(self)} rows, "
        text = f"{count} ({rows}{self.num_distinct} distinct) of {self.num_items} items"
        if facts["kind"] == "complete":
            text += ", all complete"
        elif facts["kind"] == "pairwise":
            text += ", all pairs"
        else:
            text += f", {low} to {high} listed" if low != high else f", {low} listed"
        text += ", with ties" if facts["has_ties"] else ""
        if facts["num_blank"]:
            text += f", {facts['num_blank']:g} blank ballots besides"
        return text if facts["kind"] == "complete" else f"{text}; unlisted items are {self.unranked}"

    def _shown(self) -> list[tuple[str, str]]:
        weights = self.weights[:_SHOWN]
        weighted = bool((weights != 1).any())
        width = max((len(f"{weight:g}") for weight in weights), default=1)
        lines = []
        for row in range(min(_SHOWN, len(self))):
            ranking = self._named(row, self.items)
            words = " > ".join(place if isinstance(place, str) else " = ".join(place) for place in ranking) or "(blank)"
            lines.append((f"{weights[row]:>{width}g} x  " if weighted else "", words if len(words) <= 100 else words[:97] + "..."))
        return lines

    def __repr__(self) -> str:
        lines = [f"Rankings: {self._headline()}", *(f"  {weight}{words}" for weight, words in self._shown())]
        if len(self) > _SHOWN:
            lines.append(f"  ... and {len(self) - _SHOWN} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(weight)}</td><td>{html.escape(words)}</td></tr>" for weight, words in self._shown())
        more = f"<tr><td></td><td>... and {len(self) - _SHOWN} more rows</td></tr>" if len(self) > _SHOWN else ""
        return f"<div><p><b>Rankings</b>: {html.escape(self._headline())}</p><table>{rows}{more}</table></div>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._data,)


_WHICH_ONE = "an array or frame may hold orders or ranks: say which, by Rankings.from_orders(...) or Rankings.from_ranks(...)"


def _unpickled(data: _core.Data) -> Rankings:
    rankings = Rankings.__new__(Rankings)
    rankings._data = data
    return rankings


def _place_of(member: Any, names: ItemNames, source: str, row: int) -> int:
    if names.given and isinstance(member, (int, np.integer)) and not isinstance(member, bool):
        if not 0 <= member < len(names.names):
            raise DataError(f"{source}: row {row}: found item number {member}, expected one below {len(names.names)}, the number of items")
        return int(member)
    if member is None or member != member:
        raise DataError(f"{source}: row {row}: found a missing value, expected the name of an item")
    try:
        return names.place(name_of(member))
    except DataError as failure:
        raise DataError(f"{source}: row {row}: {failure}") from None


def _from_lists(
    names: ItemNames, offsets: list[int], entries: list[int], ends: list[int] | None, unranked: str, weights: Any, covariates: Any, source: str
) -> _core.Data:
    settled = names.settle(np.array(entries, dtype=np.int32))
    return _core.from_lists(
        names.names,
        np.array(offsets, dtype=np.int64),
        np.ascontiguousarray(settled),
        None if ends is None else np.array(ends, dtype=np.uint8),
        unranked,
        _weights(weights),
        _covariates(covariates),
        source,
    )


def _weights(weights: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    if weights is None:
        return None
    numbers = numbers_of(weights, "weights")
    if numbers.ndim != 1:
        raise DataError(f"weights: found {numbers.ndim} dimensions, expected one number per ranking")
    return numbers


def _covariates(covariates: Any) -> list[Column]:
    if covariates is None:
        return []
    if not is_frame(covariates):
        raise UsageError("covariates: expected a frame or a mapping of columns")
    return [covariate_of(name, column_of(covariates, name)) for name in column_names(covariates)]


def _cells(column: Any) -> Iterable[Any]:
    codes, names = factorize_all(column)
    cells = np.array([*names, ""], dtype=object)
    return list(cells[codes])


def factorize_all(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[str]]:
    """Codes of all values, in order of first sight; a missing one is a value of its own, called ""."""
    values = column.to_pylist() if package_of(column) == "pyarrow" else column
    places: dict[str, int] = {}
    codes = [places.setdefault("" if value is None or value != value else name_of(value), len(places)) for value in values]
    return np.array(codes, dtype=np.int64), list(places)


def _holds_numbers(column: Any) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is not None:
        return kind in "iuf"
    if package_of(column) == "polars":
        return bool(column.dtype.is_numeric())
    if package_of(column) == "pyarrow":
        return any(name in str(column.type) for name in ("int", "float", "double")) and "dictionary" not in str(column.type)
    return np.asarray(column).dtype.kind in "iuf"


def _item_numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
    if array.dtype.kind == "f":
        missing = np.isnan(array)
        if (array[~missing] != np.floor(array[~missing])).any():
            raise DataError("orders: found a number that is not whole, expected item numbers (ranks are for from_ranks)")
        array = np.where(missing, -1, array)
    if array.size and array.max() > np.iinfo(np.int32).max:
        raise DataError(f"orders: found item number {array.max()}, expected one of the items")
    return np.ascontiguousarray(np.maximum(array, -1) if array.dtype.kind != "u" else array, dtype=np.int32)


class _Table:
    """The columns of a frame that hold the rankings, and the rest."""

    def __init__(self, frame: Any, columns: Sequence[str] | None, weights: Any, covariates: Any) -> None:
        names = column_names(frame)
        weight_name = weights if isinstance(weights, str) else None
        chosen = [name for name in names if name != weight_name] if columns is None else list(columns)
        self.names = chosen
        self.columns = [column_of(frame, name) for name in chosen]
        self.weights = column_of(frame, weights) if isinstance(weights, str) else weights
        if covariates is None:
            covariates = {name: column_of(frame, name) for name in names if name not in chosen and name != weight_name} or None
        self.covariates = covariates
        if not self.columns:
            raise UsageError("there are no columns of rankings")


def _item_table(
    table: Any, columns: Sequence[str] | None, items: Sequence[Any] | None, weights: Any, covariates: Any, what: str
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Sequence[Any], Any, Any]:
    if is_frame(table):
        parts = _Table(table, columns, weights, covariates)
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


def as_rankings(
    value: Any, *, arrays: str | None = None, items: Sequence[str] | None = None, unranked: str | None = None
) -> Rankings:
    """Whatever holds rankings. ``arrays`` says what numbers in arrays are, ``items`` and ``unranked`` are those of a model, for values that
    do not have their own."""
    if isinstance(value, Rankings):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Rankings.read(value, unranked=unranked)  # type: ignore[arg-type]
    given: dict[str, Any] = {} if unranked is None else {"unranked": unranked}
    if package_of(value) == "votekit":
        return Rankings.from_votekit(value, **given)
    if package_of(value) == "preflibtools":
        return Rankings.from_preflib(value, **given)
    if hasattr(value, "toarray"):
        raise TypeError("sparse tables are not taken, as 0 is a number there: pass X.toarray()")
    if not is_frame(value) and hasattr(value, "__array__"):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) or is_frame(value):
        if arrays not in ("orders", "ranks", "ratings"):
            raise UsageError(_WHICH_ONE + ", or by arrays=\"orders\" or arrays=\"ranks\"")
        make = {"orders": Rankings.from_orders, "ranks": Rankings.from_ranks, "ratings": Rankings.from_ratings}[arrays]
        return make(value, items=None if is_frame(value) and arrays != "orders" else items, **given)
    return Rankings(value, items=items, **given)

"""Rankings: what goes into a fit."""

from __future__ import annotations

import os
import tempfile
import warnings as python_warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from . import _core
from ._binary import frame_of_file
from ._errors import CaucusWarning, DataError, UsageError
from ._made import MadeRankings, Ranking
from ._optional import require
from ._sources import ItemNames, column_names, column_of, covariate_of, factorize, is_frame, name_of, numbers_of, one_chunk, package_of
from ._tables import RankTable, covariates_of, csv_text, factorize_all, holds_numbers, item_numbers, item_table, name_voters, voter_column, weights_of

__all__ = ["Ranking", "Rankings", "as_rankings"]

Unranked = Literal["last", "absent"]


class Rankings(MadeRankings):
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
    voters : array, or the name of a covariate, optional
        Who cast each ranking: all rankings of a voter belong to one group, and predictions are then one per voter (docs/voters.md).
    voter_table : frame or path of a CSV, optional
        What is known of the voters, one row each, matched by the column of the voters' name (``voter`` for an array).

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

    def __init__(
        self,
        rankings: Iterable[Iterable[Any]],
        *,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
        voters: Any = None,
        voter_table: Any = None,
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
        settled = names.settle(np.array(entries, dtype=np.int32))
        beside, who = voter_column(voters, covariates_of(covariates))
        data = _core.from_lists(
            names.names, np.array(offsets, dtype=np.int64), np.ascontiguousarray(settled), np.array(ends, dtype=np.uint8) if ties else None,
            unranked, weights_of(weights), beside, source,
        )  # fmt: skip
        self._data = name_voters(data, who, voter_table)
        self._warn()

    # ---- from other things -------------------------------------------------------------------------------------------------------

    @classmethod
    def _wrap(cls, data: _core.Data) -> Rankings:
        rankings = cls.__new__(cls)
        rankings._data = data
        rankings._warn()
        return rankings

    def _warn(self, said: int = 0) -> None:
        for message in self._data.warnings[said:]:
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
        voters: str = "",
        voter_table: Any = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        merge: Sequence[str] = (),
        rename: Sequence[str] = (),
        exclude: Sequence[str] = (),
        items_only: Sequence[str] = (),
    ) -> Rankings:
        """Reads a file, or several as one, in any format the program reads: PrefLib, CSV in six layouts, JSON lines, BLT.

        The arguments are the flags of the command line (docs/data.md): ``drop=["Write-in*"]`` is ``--drop "Write-in*"``. ``voters`` names the
        column that tells who cast each ranking (``--voter``); ``voter_table`` is a CSV file or a frame with one row per voter (``--voters``).
        Parquet, Arrow and spreadsheet files are read as CSV files of the same columns, where polars or pandas is installed.
        """
        paths = [os.fspath(one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)]
        in_file = isinstance(voter_table, (str, os.PathLike))
        reading = _core.Reading(
            format=format, unranked=unranked, weight_column=weight_column, columns=list(columns), contest=contest, top=top, categories=categories,
            drop=list(drop), keep=list(keep), merge=list(merge), rename=list(rename), exclude=list(exclude), items_only=list(items_only),
            voter=voters, voters_file=os.fspath(voter_table) if in_file else "",
        )  # fmt: skip
        data = _read_files(paths, lambda files: _core.read(files, reading), lambda text, name: _core.parse(text, name, reading))
        return cls._wrap(data if in_file or voter_table is None else name_voters(data, voters or _core.voter_column(data), voter_table))

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
        voters: Any = None,
        voter_table: Any = None,
    ) -> Rankings:
        """A table with one row per ranking and one column per place: the best item first.

        Parameters
        ----------
        orders : 2-D array, pandas or polars frame, Arrow table
            Item numbers from 0 (negative: nothing) or names (missing, empty, "skipped", "overvote", ...: nothing; of a repeated name the
            first counts).
        columns : sequence of names, optional
            Frames: the columns that hold the places, best first. The others become covariates. Default: all but weights and voters.
        items : sequence of names, optional
            The names of the item numbers, or all names in order.
        weights : array, or the name of a column
        unranked : "last" or "absent"
        covariates : frame or mapping of columns, optional
        voters : array, or the name of a column, optional
            Who cast each ranking.
        voter_table : frame or path of a CSV, optional
            What is known of the voters, one row each.

        >>> Rankings.from_orders(np.array([[0, 2, 1], [1, 0, -1]]), items=["Ann", "Bo", "Cy"])
        Rankings: 2 rankings (2 distinct) of 3 items, 2 to 3 listed; unlisted items are last
          Ann > Cy > Bo
          Bo > Ann
        """
        if is_frame(orders):
            table = RankTable(orders, columns, weights, covariates, voters)
            rest: dict[str, Any] = {
                "weights": table.weights, "covariates": table.covariates, "unranked": unranked, "voters": voters, "voter_table": voter_table,
            }  # fmt: skip
            if all(holds_numbers(column) for column in table.columns):
                return cls.from_orders(np.column_stack([numbers_of(column, "orders") for column in table.columns]), items=items, **rest)
            names = ItemNames(items)
            parts = [factorize(column) for column in table.columns]
            codes = np.column_stack([names.places(found)[part] for part, found in parts])
            return cls._of_codes(codes, names, repeated=True, **rest)
        rest = {"weights": weights, "covariates": covariates, "unranked": unranked, "voters": voters, "voter_table": voter_table}
        array = np.asarray(orders)
        if array.ndim != 2:
            raise DataError(f"orders: found an array of {array.ndim} dimensions, expected 2: one row per ranking")
        if array.dtype.kind in "OUST":
            names = ItemNames(items)
            codes, found = factorize(array.ravel())
            return cls._of_codes(names.places(found)[codes].reshape(array.shape), names, repeated=True, **rest)
        if array.dtype.kind not in "iuf":
            raise DataError(f"orders: found an array of {array.dtype}, expected item numbers or names")
        numbers = item_numbers(array)
        if items is None:
            items = range(int(numbers.max(initial=-1)) + 1)
        return cls._of_codes(numbers, ItemNames(items), repeated=False, **rest)

    @classmethod
    def _of_codes(
        cls, codes: Any, names: ItemNames, *, weights: Any, unranked: str, covariates: Any, voters: Any, voter_table: Any, repeated: bool
    ) -> Rankings:
        settled = np.ascontiguousarray(names.settle(codes), dtype=np.int32)
        beside, who = voter_column(voters, covariates_of(covariates))
        data = _core.from_orders(names.names, settled, unranked, weights_of(weights), beside, "orders", repeated)
        return cls._wrap(name_voters(data, who, voter_table))

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
        voters: Any = None,
        voter_table: Any = None,
    ) -> Rankings:
        """A table with one row per ranking and one column per item, which holds the item's rank: 1 is best, equal ranks are ties, 0 and
        missing values are not ranked.

        Parameters
        ----------
        ranks : 2-D array, pandas or polars frame, Arrow table
        columns : sequence of names, optional
            Frames: the columns of items. The others become covariates. Default: all but weights and voters.
        items : sequence of names, optional
            Other names for the columns.
        weights : array, or the name of a column
        unranked : "last" or "absent"
        covariates : frame or mapping of columns, optional
        voters : array, or the name of a column, optional
            Who cast each ranking.
        voter_table : frame or path of a CSV, optional
            What is known of the voters, one row each.

        >>> Rankings.from_ranks(np.array([[1, 3, 2], [2, 1, 0]]), items=["Ann", "Bo", "Cy"])
        Rankings: 2 rankings (2 distinct) of 3 items, 2 to 3 listed; unlisted items are last
          Ann > Cy > Bo
          Bo > Ann
        """
        values, items, weights, covariates = item_table(ranks, columns, items, weights, covariates, voters, "ranks")
        if (values < 0).any():
            raise DataError("ranks: found a rank below 0; 1 is the best (ratings, where more is better, are for from_ratings)")
        values = np.where(values == 0, np.nan, values)
        return cls._of_ranks(values, items, weights, unranked, covariates, voters, voter_table, "ranks")

    @classmethod
    def _of_ranks(
        cls, ranks: Any, items: Sequence[Any], weights: Any, unranked: str, covariates: Any, voters: Any, voter_table: Any, what: str
    ) -> Rankings:
        beside, who = voter_column(voters, covariates_of(covariates))
        data = _core.from_ranks(ItemNames(items).names, ranks, unranked, weights_of(weights), beside, what)
        return cls._wrap(name_voters(data, who, voter_table))

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
        voters: Any = None,
        voter_table: Any = None,
    ) -> Rankings:
        """A table with one row per person and one column per item, which holds its rating: more is better, equal ratings are ties, missing
        ones are not rated. Arguments as for :meth:`from_ranks`."""
        values, items, weights, covariates = item_table(ratings, columns, items, weights, covariates, voters, "ratings")
        return cls._of_ranks(-values, items, weights, unranked, covariates, voters, voter_table, "ratings")

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
        voters: str | None = None,
        voter_table: Any = None,
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
        voters : str, optional
            The column that names persons, where ``voter`` tells their rankings apart and one person has several; or the same column, so that a
            table of voters can be joined.
        voter_table : frame or path of a CSV, optional
            What is known of them, one row each.

        >>> votes = Rankings.from_long({"voter": ["x", "x", "y"], "item": ["Ann", "Bo", "Bo"], "rank": [2, 1, 1]})
        >>> list(votes), votes.covariates["voter"]
        ([['Bo', 'Ann'], ['Bo']], ['x', 'y'])
        """
        who, cast = factorize_all(column_of(frame, voter))
        which, found = factorize(column_of(frame, item))
        place = numbers_of(column_of(frame, rank), rank)
        names = ItemNames(items)
        entries = names.settle(names.places(found)[which])
        first = np.full(len(cast), len(who), dtype=np.int64)
        np.minimum.at(first, who, np.arange(len(who)))
        listed = (entries >= 0) & ~np.isnan(place)
        order = np.flatnonzero(listed)
        order = order[np.lexsort((place[order], who[order]))]
        offsets = np.searchsorted(who[order], np.arange(len(cast) + 1)).astype(np.int64)
        ends = np.ones(len(order), dtype=np.uint8)
        if len(order):
            ends[:-1] = (who[order][1:] != who[order][:-1]) | (place[order][1:] != place[order][:-1])
        columns = [covariate_of(voter, cast)]
        for name in [*covariates, *([voters] if voters and voters not in (voter, *covariates) else [])]:
            values = column_of(frame, name)
            values = values.to_pylist() if package_of(values) == "pyarrow" else list(values)
            columns.append(covariate_of(name, [values[row] for row in first]))
        weight = None if weights is None else numbers_of(column_of(frame, weights), weights)[first]
        data = _core.from_lists(names.names, offsets, np.ascontiguousarray(entries[order]), None if ends.all() else ends, unranked, weight, columns, "long frame")
        return cls._wrap(name_voters(data, voters or "", voter_table))

    @classmethod
    def from_pairwise(
        cls,
        frame: Any,
        *,
        columns: Sequence[str],
        weights: str | None = None,
        unranked: Unranked = "absent",
        voters: str | None = None,
        voter_table: Any = None,
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
        voters : str, optional
            Column that tells who judged: all comparisons of a judge belong to one group.
        voter_table : frame or path of a CSV, optional
            What is known of the judges, one row each.

        >>> battles = {"a": ["x", "x", "y"], "b": ["y", "z", "z"], "winner": ["a", "tie", "b"]}
        >>> list(Rankings.from_pairwise(battles, columns=["a", "b", "winner"]))
        [['x', 'y'], [('x', 'z')], ['z', 'y']]
        """
        if not is_frame(frame):
            raise UsageError("from_pairwise takes a frame or a mapping of columns")
        missing = [name for name in columns if name not in column_names(frame)]
        if missing:
            raise UsageError(f"there is no column '{missing[0]}'; there are: {', '.join(column_names(frame))}")
        reading = _core.Reading(format="csv-pairwise", columns=list(columns), weight_column=weights or "none", unranked=unranked, voter=voters or "")
        data = _core.parse(csv_text(frame), "frame.csv", reading)
        return cls._wrap(data if voter_table is None else name_voters(data, voters or "", voter_table))

    @classmethod
    def from_arrow(
        cls,
        column: Any,
        *,
        items: Sequence[Any] | None = None,
        weights: Any = None,
        unranked: Unranked = "last",
        covariates: Any = None,
        voters: Any = None,
        voter_table: Any = None,
    ) -> Rankings:
        """An Arrow array of lists: each is a ranking, best first, of item numbers from 0 or of names.

        The buffers of 32-bit numbers (plain or behind a dictionary) and of 64-bit offsets are read where they lie. Tables of places or ranks
        are for :meth:`from_orders` and :meth:`from_ranks`.
        """
        pyarrow = require("pyarrow", "from_arrow")
        column = one_chunk(column)
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
            entries = np.ascontiguousarray((values.fill_null(-1) if values.null_count else values).to_numpy(), dtype=np.int32)
            if items is None:
                names = ItemNames(range(int(entries.max(initial=-1)) + 1))
        else:
            codes, found = factorize(values)
            entries = names.settle(names.places(found)[codes])
        beside, who = voter_column(voters, covariates_of(covariates))
        data = _core.from_lists(names.names, offsets, entries, None, unranked, weights_of(weights), beside, "arrow")
        return cls._wrap(name_voters(data, who, voter_table))

    @classmethod
    def from_votekit(cls, profile: Any, *, unranked: Unranked = "last", voters: Any = None, voter_table: Any = None) -> Rankings:
        """VoteKit's ``PreferenceProfile``: one row per ballot, with its weight; sets are ties; voters are kept, in the covariate "voter".

        ``voters="voter"`` makes one voter of the ballots that say the same there; an array says otherwise.
        """
        ballots = list(profile.ballots)
        rankings = [[sorted(place) for place in (ballot.ranking or ()) if place] for ballot in ballots]
        weights = [float(ballot.weight) for ballot in ballots]
        who = [", ".join(sorted(map(str, ballot.voter_set or ()))) for ballot in ballots]
        return cls(
            rankings, items=sorted(profile.candidates), weights=weights, unranked=unranked, covariates={"voter": who} if any(who) else None,
            voters=voters, voter_table=voter_table, source="profile",
        )  # fmt: skip

    @classmethod
    def from_preflib(cls, instance: Any, *, unranked: Unranked = "last", voters: Any = None, voter_table: Any = None) -> Rankings:
        """An instance of preflibtools, ordinal or categorical: one row per distinct order, with its multiplicity.

        PrefLib's files tell of nobody who ranked; ``voters`` may, with one name per row.
        """
        if not hasattr(instance, "multiplicity"):
            raise DataError(f"from_preflib: found a {type(instance).__name__}, expected orders or categories")
        numbers = list(instance.alternatives_name)
        place = {number: at for at, number in enumerate(numbers)}
        orders = list(instance.multiplicity)
        rankings = [[[place[number] for number in group] for group in order if group] for order in orders]
        weights = [float(instance.multiplicity[order]) for order in orders]
        names = [str(instance.alternatives_name[number]) for number in numbers]
        source = getattr(instance, "file_name", "") or "instance"
        return cls(rankings, items=names, weights=weights, unranked=unranked, voters=voters, voter_table=voter_table, source=source)

    # ---- parts, and the same with something changed ---------------------------------------------------------------------------

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
        part._data = self._data.take(np.ascontiguousarray(rows, dtype=np.int64), weights_of(weights))
        return part

    def with_weights(self, weights: Any) -> Rankings:
        """The same rows with other weights; the rows of a voter have the same one."""
        return self._take(np.arange(len(self)), weights)

    def with_covariates(self, covariates: Any) -> Rankings:
        """The same rankings with other columns beside them: a frame, a mapping of columns or a 2-D array with one row each."""
        if not is_frame(covariates):
            table = np.asarray(covariates)
            covariates = {f"x{place}": table[:, place] for place in range(table.shape[1])}
        columns = covariates_of(covariates)
        who = _core.voter_column(self._data)
        if who and who not in (name for name, _, _ in columns):
            columns.append(covariate_of(who, self.covariates[who]))
        changed = Rankings.__new__(Rankings)
        changed._data = self._data.with_covariates(columns)
        return changed

    def with_voters(self, voters: Any, voter_table: Any = None) -> Rankings:
        """The same rankings with voters: an array with one name per row, or the name of a covariate; None: every ranking for itself.
        ``voter_table`` is a frame or a CSV file with what is known of them, one row each.

        >>> votes = Rankings([["a", "b"], ["b", "a"], ["a", "b"]]).with_voters(["Ann", "Bo", "Ann"], {"voter": ["Bo", "Ann"], "age": [31, 64]})
        >>> votes.voters, votes.voter_of_row.tolist()
        (['Ann', 'Bo'], [0, 1, 0])
        >>> votes.voter_table
         voter  weight  rankings  age
           Ann       1         2   64
            Bo       1         1   31
        """
        columns = [] if voters is None or isinstance(voters, str) else voter_column(voters, covariates_of(self.covariates))[0]
        data = self._data.with_covariates(columns) if columns else self._data
        changed = Rankings.__new__(Rankings)
        said = len(data.warnings)
        who = voter_column(voters, [])[1]
        changed._data = name_voters(data, who, voter_table) if who or voter_table is not None else _core.with_voters(data, "")
        changed._warn(said)
        return changed

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


def _read_files(paths: list[str], read: Callable[[list[str]], _core.Data], parse: Callable[[str, str], _core.Data]) -> _core.Data:
    """Files of rankings; those of other programs become the text of a CSV file first."""
    frames = [frame_of_file(one) for one in paths]
    if all(frame is None for frame in frames):
        return read(paths)
    if len(paths) == 1:
        return parse(csv_text(frames[0]), paths[0])
    with tempfile.TemporaryDirectory() as folder:
        for place, frame in enumerate(frames):
            if frame is not None:
                paths[place] = os.path.join(folder, f"{place + 1}-{os.path.basename(paths[place])}.csv")
                with open(paths[place], "w", encoding="utf-8", newline="") as file:
                    file.write(csv_text(frame))
        return read(paths)


def as_rankings(
    value: Any,
    *,
    arrays: str | None = None,
    items: Sequence[str] | None = None,
    unranked: str | None = None,
    model: _core.Model | None = None,
) -> Rankings:
    """Whatever holds rankings. ``arrays`` says what numbers in arrays are, ``items`` and ``unranked`` are those of a model, for values that
    do not have their own. Files are read as those of the model were."""
    if isinstance(value, Rankings):
        return value
    if isinstance(value, (str, os.PathLike)):
        if model is None:
            return Rankings.read(value)
        return Rankings._wrap(_read_files([os.fspath(value)], model.read, model.parse))
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

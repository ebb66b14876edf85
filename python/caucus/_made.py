"""Rankings as they are once made: what they hold, how they look, and what they turn into."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from . import _core
from ._errors import UsageError
from ._frame import Frame
from ._optional import require

if TYPE_CHECKING:
    import pandas

__all__ = ["MadeRankings", "Ranking"]

#: One ranking, best first; a tuple is a tie.
Ranking = list[Union[str, tuple[str, ...]]]
_SHOWN = 5  # rankings of a repr


class MadeRankings:
    """What :class:`Rankings` tells of itself, whichever way it was made."""

    _data: _core.Data

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
    def voters(self) -> list[str]:
        """Who cast the rankings, in the order of their first; last those whose rankings are all blank. Empty: every ranking is for itself.

        Predictions have one row for each, in this order.
        """
        return _core.voter_names(self._data)

    @property
    def voter_of_row(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The place of every row's voter in :attr:`voters` (-1: nobody): ``model.predict(votes)[votes.voter_of_row]`` is by row, and
        ``groups=votes.voter_of_row`` keeps voters together in scikit-learn's folds."""
        return _core.voter_of_rows(self._data)

    @property
    def voter_weights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """How many such voters there are, for each of :attr:`voters`; 0 for those whose rankings are all blank."""
        return _core.voter_weights(self._data)

    @property
    def voter_table(self) -> Frame:
        """The voters who have rankings: name, weight, number of rankings, and all that is known of them: the table's columns, then those
        beside the rankings that are the same in all rows of a voter."""
        names = self._data_voters()
        counts = np.bincount(self.voter_of_row[self._listed_rows()], minlength=len(names)) if names else np.zeros(0, dtype=np.int64)
        columns: dict[str, Any] = {"voter": names, "weight": self.voter_weights[: len(names)], "rankings": counts[: len(names)]}
        return Frame(columns | {name: values for name, values in _core.known_of_voters(self._data).items() if name not in columns})

    def _data_voters(self) -> list[str]:
        return [name for name, weight in zip(self.voters, self.voter_weights) if weight > 0]

    def _listed_rows(self) -> Any:
        return self._data.row_rankings() >= 0

    def _unit_weights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The weights of what predictions are of: voters, or rows."""
        return self.voter_weights if _core.voter_column(self._data) else self.weights

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

    def describe(self) -> Frame:
        """Every item with its share of the first places and of the ballots that list it, most first places first; where there are voters,
        also the share of the voters who list it in some ranking.

        >>> Rankings([["Ann", "Bo"], ["Bo"], ["Ann"]]).describe()
         item   first  listed
          Ann  0.6667  0.6667
           Bo  0.3333  0.6667
        """
        first, listed, by_voters = self._data.item_counts()
        tiny = np.finfo(float).tiny
        total = max(self.num_rankings, tiny)
        order = np.argsort(-first, kind="stable")
        columns: dict[str, Any] = {"item": [self.items[item] for item in order], "first": first[order] / total, "listed": listed[order] / total}
        if len(by_voters):
            columns["voters"] = by_voters[order] / max(self.voter_weights.sum(), tiny)
        return Frame(columns)

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
        any is not 1, the covariates (voters among them) and what a table knows of the voters."""
        package: Any = require("pandas", "to_pandas")
        frame: pandas.DataFrame
        beside: dict[str, Any] = {}
        if (self.weights != 1).any():
            beside["weight"] = self.weights
        beside.update(self.covariates)
        who = self.voter_of_row
        for name, values in _core.known_of_voters(self._data, True).items():
            known = np.array([*values, np.nan if isinstance(values, np.ndarray) else ""], dtype=None if isinstance(values, np.ndarray) else object)
            beside.setdefault(name, known[np.where(who < len(values), who, -1)])
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
        """VoteKit's profile of ranked ballots with their voters; blank ballots, which it does not have, are left out."""
        votekit = require("votekit", "to_votekit")
        weights, names, who = self.weights, self.voters, self.voter_of_row
        ballots = []
        longest = 1
        for row, ranking in enumerate(self):
            if not ranking:
                continue
            places = [frozenset([place] if isinstance(place, str) else place) for place in ranking]
            longest = max(longest, sum(map(len, places)))
            voter = {"voter_set": {names[who[row]]}} if names else {}
            ballots.append(votekit.RankBallot(ranking=places, weight=float(weights[row]), **voter))
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
        if "num_voters" in facts:
            text += f", cast by {facts['num_voters']:g} voters"
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

"""The bundled example."""

from __future__ import annotations

from importlib import resources

from ._rankings import Rankings

__all__ = ["town", "town_path"]


def town_path() -> str:
    """The file of an invented town's vote on what to do with its empty lot (PrefLib format)."""
    return str(resources.files("caucus") / "town.soi")


def town() -> Rankings:
    """An invented town votes on what to do with its empty lot: 2400 ballots, 8 proposals.

    >>> import caucus
    >>> caucus.examples.town().num_rankings
    2400.0
    """
    return Rankings.read(town_path())

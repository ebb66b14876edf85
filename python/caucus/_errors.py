"""The exceptions. Their words are those of the command line."""

from __future__ import annotations

__all__ = ["CaucusWarning", "DataError", "Error", "IoError", "NoInputError", "NotFittedError", "UnfinishedError", "UsageError"]


class Error(Exception):
    """Bad input: the base of all exceptions of caucus."""


class UsageError(Error, ValueError):
    """An option, an argument or a combination of them is wrong."""


class DataError(Error, ValueError):
    """The data are wrong, or of a kind that the family does not take."""


class NoInputError(Error, FileNotFoundError):
    """A file to read is not there or may not be read."""


class IoError(Error, OSError):
    """Reading or writing broke off."""


class UnfinishedError(Error):
    """Stopped (time_limit, Ctrl-C) before there was anything to give back."""


class NotFittedError(Error, ValueError, AttributeError):
    """An estimator was asked for something that only a fit can give."""


class CaucusWarning(UserWarning):
    """What the command line prints after "warning:"."""

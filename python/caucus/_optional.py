"""Packages that are used where they are installed."""

from __future__ import annotations

import importlib
from types import ModuleType

from ._errors import UsageError

__all__ = ["require"]


def require(name: str, what: str) -> ModuleType:
    """The package of this name, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise UsageError(f"{what} needs {name}: pip install {name}") from missing

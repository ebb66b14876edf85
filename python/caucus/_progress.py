"""A progress bar by tqdm, where it is installed and somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

from ._core import RunRequest

__all__ = ["Progress", "running"]

#: True, False, a function of (phase, iteration, limit, objective), or None: a bar where a person looks.
Progress = Union[bool, Callable[[str, int, int, float], Any], None]

_DELAY = 1.0  # seconds: short fits show nothing


def _somebody_looks() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(delay=_DELAY, leave=False, unit="step", desc="caucus")


@contextmanager
def running(seed: int, threads: int, time_limit: float | None, progress: Progress) -> Iterator[RunRequest]:
    """What a fit runs with. While it runs, a bar moves where one is wanted."""
    if callable(progress):
        yield RunRequest(seed, threads, time_limit, progress)
        return
    bar = _bar() if progress or (progress is None and _somebody_looks()) else None
    if bar is None:
        yield RunRequest(seed, threads, time_limit, None)
        return

    def show(phase: str, iteration: int, limit: int, objective: float) -> None:
        bar.total = limit if limit > 0 else None
        bar.set_description(phase, refresh=False)
        bar.set_postfix_str(f"{objective:.6g}", refresh=False)
        bar.update(iteration - bar.n)

    try:
        yield RunRequest(seed, threads, time_limit, show)
    finally:
        bar.close()

# Made by python/tools/generate.py from the extension; do not edit.
"""The compiled part of caucus. Use the package, not this module."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


def version() -> str:
    """Which caucus this is."""

def families() -> list[dict[str, Any]]:
    """
    The families of models with their methods and options, as the tables in C++ have them.
    """

class Data:
    """Rankings as the library holds them."""

    @property
    def items(self) -> list[str]: ...

    @property
    def unranked(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def warnings(self) -> list[str]: ...

    @property
    def num_rows(self) -> int: ...

    @property
    def num_rankings(self) -> float: ...

    @property
    def num_distinct(self) -> int: ...

    @property
    def has_ties(self) -> bool: ...

    @property
    def digest(self) -> str: ...

    @property
    def covariates(self) -> list[str]: ...

    def covariate(self, index: int) -> Any: ...

    def facts(self) -> dict[str, Any]: ...

    def why_no_groups(self) -> str | None: ...

    def item_counts(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def row_rankings(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def row_weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def ranks(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def orders(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

    def ranking(self, row: int) -> list[list[int]]: ...

    def take(self, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> Data: ...

    def with_covariates(self, columns: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]]) -> Data: ...

    def write(self, path: str, format: str = 'auto') -> list[str]: ...

    def __getstate__(self) -> tuple[bytes, str, str, list[tuple[str, list[float], list[str]]]]: ...

    def __setstate__(self, arg: tuple[bytes, str, str, Sequence[tuple[str, Sequence[float], Sequence[str]]]], /) -> None: ...

class Reading:
    """How files of rankings are read: the flags of the command line."""

    def __init__(self, *, format: str = 'auto', unranked: str | None = None, weight_column: str = '', columns: Sequence[str] = [], contest: str = '', top: int = 0, categories: str = 'auto', drop: Sequence[str] = [], keep: Sequence[str] = [], merge: Sequence[str] = [], rename: Sequence[str] = [], exclude: Sequence[str] = [], items_only: Sequence[str] = [], voter: str = '', voters_file: str = '') -> None: ...

def read(paths: Sequence[str], reading: Reading) -> Data:
    """Files of rankings, read as one."""

def parse(text: str, name: str, reading: Reading) -> Data:
    """The text of a file of rankings; the name stands in messages."""

def from_lists(items: Sequence[str], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], group_ends: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, unranked: str, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, covariates: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]], source: str, first_of_repeated: bool = False) -> Data:
    """Rankings from one list of items and where each ranking begins."""

def from_orders(items: Sequence[str], orders: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], unranked: str, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, covariates: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]], source: str, first_of_repeated: bool = False) -> Data:
    """
    Rankings from a table of item numbers, best first; negative numbers are nothing.
    """

def from_ranks(items: Sequence[str], ranks: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], unranked: str, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, covariates: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]], source: str) -> Data:
    """
    Rankings from a table of ranks, one column per item; NaN is not ranked.
    """

def natural_order(names: Sequence[str]) -> list[int]:
    """
    The order of names in which runs of digits count as numbers, as files have it.
    """

def names_nobody(name: str) -> bool:
    """
    Is this a word such as 'skipped' or 'overvote', which stands where an item would and names nobody?
    """

def format_names() -> list[str]:
    """The formats that files may have."""

def read_table(path: str) -> list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]:
    """The columns of a CSV table."""

def with_voters(data: Data, column: str, table: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]] | None = None, num_rows: int = 0, source: str = 'table of voters') -> Data:
    """
    The same rankings with voters named by a covariate, and a table of them.
    """

def voter_column(data: Data) -> str:
    """The covariate that names the voters; empty where there are none."""

def voter_names(data: Data) -> list[str]:
    """The voters by their first ranking, then those of blank rankings only."""

def voter_weights(data: Data) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """How many such voters there are, one number each."""

def voter_of_rows(data: Data) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The place of every row's voter among the names; -1: nobody."""

def known_of_voters(data: Data, table_alone: bool = False) -> dict[str, Any]:
    """Columns about the voters, by name."""

class RunRequest:
    """What a fit is given besides data and options."""

    def __init__(self, seed: int = 1, threads: int = 0, time_limit: float | None = None, progress: object | None = None) -> None: ...

class Model:
    """A fitted model."""

    @property
    def family(self) -> str: ...

    @property
    def items(self) -> list[str]: ...

    @property
    def unranked(self) -> str: ...

    @property
    def num_components(self) -> int: ...

    @property
    def orders(self) -> list[list[int]]: ...

    @property
    def text(self) -> str:
        """The model file."""

    def log_probs(self, data: Data, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    def memberships(self, data: Data, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def sample(self, count: int, seed: int = 1, length: int = 0, threads: int = 0) -> tuple[Data, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

    def sample_voters(self, voters: int, least: int, most: int, menu: int = 0, seed: int = 1, length: int = 0, threads: int = 0) -> tuple[Data, Annotated[NDArray[numpy.int32], dict(shape=(None,))]]: ...

    def predict_voters(self, columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]) -> dict[str, Any]: ...

    def predict_items(self, columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]]) -> dict[str, Any]: ...

    def read(self, paths: Sequence[str]) -> Data:
        """Files of rankings, read as those of the model were."""

    def parse(self, text: str, name: str) -> Data:
        """The text of such a file."""

    def places(self, seed: int = 1, threads: int = 0) -> dict[str, Any]: ...

    def __getstate__(self) -> str: ...

    def __setstate__(self, arg: str, /) -> None: ...

def parse_model(text: str, name: str) -> Model:
    """A model from the text of its file."""

def read_text(path: str) -> str:
    """A file's text, unpacked."""

def write_file(path: str, content: str) -> None:
    """
    Writes under a temporary name, then renames: a file is either the old one or the whole new one.
    """

def fit(data: Data, family: str, options: dict[str, str], run: RunRequest, command: str, recorded: dict[str, str] = {}) -> tuple[Model, BaseException | None]:
    """
    Fits; the exception, where there is one, is to be raised once the model is kept. `recorded`: what the model file is to say of an option in the place of its value.
    """

def select(data: Data, family: str, options: dict[str, str], candidates: str, criterion: str, folds: int, holdout: float, one_standard_error: bool, run: RunRequest, command: str, recorded: dict[str, str] = {}) -> tuple[dict[str, Any], Model, BaseException | None]:
    """How many groups."""

def compare(data: Data, contenders: list[str], candidates: str, folds: int, run: RunRequest) -> tuple[dict[str, Any], BaseException | None]:
    """Which family."""

def check(model: Model, data: Data, replicates: int, max_ballots: int, seed: int, threads: int) -> dict[str, Any]:
    """Does the model fit."""

def criteria() -> list[str]:
    """By what the number of groups may be chosen."""

def report(models: Sequence[tuple[str, str]], data: Data | None, title: str = '', names: Sequence[str] = [], voters: str = '', items: str = '', rankings: str = '', seats: int = 1, seed: int = 1, threads: int = 0, as_json: bool = False) -> str:
    """
    A page to look at, from model files by name and the rankings they are of.
    """

class Regression:
    """A fitted regression."""

    @property
    def classes(self) -> list[str]: ...

    @property
    def ranking(self) -> bool: ...

    @property
    def column_names(self) -> list[str]: ...

    @property
    def text(self) -> str:
        """The model file."""

    def predict(self, columns: Sequence[tuple[str, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, Sequence[str] | None]], num_rows: int, missing: str | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    def score_ballots(self, data: Data) -> float: ...

    def __getstate__(self) -> str: ...

    def __setstate__(self, arg: str, /) -> None: ...

def is_regression(text: str) -> bool:
    """Does this text say that it is the model file of a regression?"""

def parse_regression(text: str, name: str) -> Regression:
    """A regression from the text of its file."""

def regress(columns: list[tuple[str, NDArray[numpy.float64] | None, list[str] | None]] | None, num_rows: int, data: Data | None, target: str, features: list[str], categorical: list[str], ignore: list[str], missing: str, options: dict[str, str], run: RunRequest, command: str) -> tuple[Regression, BaseException | None]:
    """
    Fits a regression; the exception, where there is one, is to be raised once the model is kept.
    """

def regression_families() -> list[dict[str, Any]]:
    """
    Regressions with their methods and options, as the tables in C++ have them.
    """

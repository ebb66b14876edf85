"""Files of other programs (parquet, Arrow, spreadsheets, SPSS), through whatever package is installed that reads them."""

from __future__ import annotations

import importlib
from typing import Any

from ._errors import DataError, UsageError

__all__ = ["frame_of_file"]

# The first bytes of a file, what it is, and what reads it: a package with its function and arguments, and what that needs besides.
_KINDS: list[tuple[bytes, str, list[tuple[str, str, dict[str, Any], str]]]] = [
    (b"PAR1", "a parquet file", [("polars", "read_parquet", {}, ""), ("pandas", "read_parquet", {"dtype_backend": "numpy_nullable"}, "pyarrow")]),
    (b"ARROW1", "an Arrow file", [("polars", "read_ipc", {}, ""), ("pandas", "read_feather", {"dtype_backend": "numpy_nullable"}, "pyarrow")]),
    (b"PK\x03\x04", "a spreadsheet", [("pandas", "read_excel", {"dtype": object}, "openpyxl"), ("polars", "read_excel", {}, "fastexcel")]),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet", [("pandas", "read_excel", {"dtype": object}, "xlrd"), ("polars", "read_excel", {}, "fastexcel")]),
    (b"$FL2", "an SPSS file", [("pandas", "read_spss", {}, "pyreadstat")]),
    (b"$FL3", "an SPSS file", [("pandas", "read_spss", {}, "pyreadstat")]),
]


def frame_of_file(path: str) -> Any:
    """The frame that such a file holds; None where it is text or cannot be opened, which is for the library to read or to say."""
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return None
    for magic, what, readers in _KINDS:
        if not head.startswith(magic):
            continue
        wanted = []
        for package, function, arguments, besides in readers:
            try:
                return getattr(importlib.import_module(package), function)(path, **arguments)
            except ImportError:
                wanted.append(f"pip install {package} {besides}".rstrip())
            except Exception as failure:  # each reader has exceptions of its own
                raise DataError(f"{path}: found {what} that {package} cannot read: {failure}") from failure
        raise UsageError(f"{path} is {what}, which needs a package to read it: {', or '.join(wanted)}")
    return None


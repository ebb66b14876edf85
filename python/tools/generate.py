#!/usr/bin/env python3
"""Writes what follows from the tables in C++ and from docstrings: the estimators, the stub of the extension, the API page.

Usage: generate.py SOURCE-DIR [--check]     with the built package on PYTHONPATH; --check writes nothing and fails where a file is stale.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pathlib
import re
import sys
import textwrap
import types
from typing import Any

# What a family is called in Python. One that is not listed is called by its title: "Plackett-Luce mixture" -> PlackettLuceMixture.
CLASS_NAMES = {
    "pl": "PlackettLuceMixture",
    "mallows": "MallowsMixture",
    "gmallows": "GeneralizedMallowsMixture",
    "m4": "MultiplicativeMallows",
    "dpm": "DirichletProcessMallows",
    "kde": "MallowsKDE",
    "ebms": "EBMS",
    "pl-regression": "PlackettLuceRegression",
}
# Parameters that every estimator has besides its family's options.
SHARED = [
    ("arrays", 'Literal["orders", "ranks", "ratings"] | None', "None", "what numpy arrays and frames given as X hold; never guessed"),
    ("random_state", "Any", "1", "seed of all random numbers; same seed, same result. None is 1; a numpy generator gives a fresh one"),
    ("threads", "int", "0", "number of threads, 0 for all cores; the result does not depend on it"),
    ("time_limit", "float | None", "None", "stop after this many seconds with the best result so far"),
    (
        "progress",
        "Progress",
        "None",
        "True or False for a bar (by tqdm), or a function of (phase, iteration, limit, objective); None: a bar where a person looks and the fit "
        "takes longer than a second",
    ),
]
# Of the regression, in the place of `arrays`: what the command line has as flags beside the table.
FEATURES = [
    ("features", "Sequence[str]", "()", 'further features: "exp(x1 + x2)", "gauss(age, 0, 1)", "bumps(all, 5)"'),
    ("categorical", "Sequence[str]", "()", "columns of codes to treat as categories; columns with text always are"),
    ("ignore", "Sequence[str]", "()", "columns to leave out, such as identifiers"),
    ("missing", 'Literal["error", "drop", "mean"]', '"error"', "missing values: error, drop (the row) or mean (of the column)"),
]
# Options that name a table: a frame will do, too.
TABLES = {"items"}
WIDTH = 140


def load_core(source: pathlib.Path) -> types.ModuleType:
    """The extension alone: the package around it may not be importable before its files are made."""
    for folder in map(pathlib.Path, sys.path):
        for found in sorted((folder / "caucus").glob("_core*.so")):
            spec = importlib.util.spec_from_file_location("caucus._core", found)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules.setdefault("caucus._core", module)
            spec.loader.exec_module(module)
            return module
    raise SystemExit("generate.py: the built package is not on PYTHONPATH")


def class_name(family: dict[str, Any]) -> str:
    return CLASS_NAMES.get(family["name"]) or "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", family["title"]))


def literal(names: list[str]) -> str:
    return "Literal[" + ", ".join(f'"{name}"' for name in names) + "]"


def kind_of(option: dict[str, Any]) -> str:
    """What the table tells of the type. Numbers that begin at a whole number from 1 on are counts; the others may be broken."""
    if option["choices"] == ["on", "off"]:
        return "switch"
    if option["choices"]:
        return "choice"
    if option["min"] is None:
        return "text"
    whole = option["min"] >= 1 and option["min"] % 1 == 0 and option["max"] is not None and option["max"] % 1 == 0
    return "integer" if whole else "number"


def takes_auto(option: dict[str, Any]) -> bool:
    return option["name"] == "components" or option["default"] == "auto" and kind_of(option) in ("integer", "number")


def annotation(option: dict[str, Any]) -> str:
    kind = {"integer": "int", "number": "float", "switch": "bool", "choice": literal(option["choices"])}.get(kind_of(option))
    if option["name"] in TABLES:
        return "Any"
    if kind is None:
        return "str | os.PathLike[str] | Sequence[float]"
    return f'{kind} | Literal["auto"]' if takes_auto(option) else kind


def default(option: dict[str, Any]) -> str:
    text = option["default"]
    if takes_auto(option):
        return '"auto"'
    return {"switch": str(text == "on"), "integer": text, "number": text}.get(kind_of(option), f'"{text}"')


def number(value: float) -> str:
    return f"{value:.12g}"


def described(option: dict[str, Any]) -> str:
    words = option["help"]
    if option["name"] == "components":
        words += "; auto: as many as the ballots show"
    if option["min"] is not None and option["max"] is not None:
        words += f" ({number(option['min'])} to {number(option['max'])})"
    return words


def shown_type(option: dict[str, Any]) -> str:
    kind = {"integer": "int", "number": "number", "switch": "bool", "text": "str"}.get(kind_of(option))
    if option["name"] in TABLES:
        return "path or frame"
    if kind is None:
        return "{" + ", ".join(f'"{choice}"' for choice in option["choices"]) + "}"
    return f'{kind} or "auto"' if takes_auto(option) else kind


def wrapped(text: str, indent: int) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def parameter_docs(rows: list[tuple[str, str, str, str]]) -> list[str]:
    lines = ["    Parameters", "    ----------"]
    for name, kind, value, words in rows:
        lines += [f"    {name} : {kind}, default {value}", wrapped(words, 8)]
    return lines


def estimator(family: dict[str, Any], base: str = "RankingModel", shared: list[tuple[str, str, str, str]] = SHARED) -> str:
    options = family["options"]
    names = [option["name"].replace("-", "_") for option in options]
    lines = [f"class {class_name(family)}({base}):", f'    """{family["summary"][0].upper()}{family["summary"][1:]}.', ""]
    lines += [wrapped(family["words"], 4), ""] if family["words"] else []
    lines += [f"    The family ``{family['name']}`` of the command line. Methods:", ""]
    for method in family["methods"]:
        words = f"- ``{method['name']}``: {method['summary']}. Takes {', '.join(method['accepts'])}."
        lines.append(textwrap.fill(words, WIDTH, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False))
    lines.append("")
    documented = [(name, shown_type(option), default(option), described(option)) for name, option in zip(names, options)]
    lines += parameter_docs(documented + [(name, kind, value, words) for name, kind, value, words in shared])
    lines += ['    """', "", f'    _family = "{family["name"]}"']
    lines += [textwrap.fill(f"_own = ({', '.join(repr(name) for name in names)},)".replace("'", '"'), WIDTH, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False), ""]
    lines.append("    def __init__(")
    lines.append("        self,")
    given = [(name, annotation(option), default(option)) for name, option in zip(names, options)]
    if given and given[0][0] == "components":
        lines.append("        components: {1} = {2},".format(*given[0]))
        given = given[1:]
    lines.append("        *,")
    for name, kind, value in given + [(name, kind, value) for name, kind, value, _ in shared]:
        lines.append(f"        {name}: {kind} = {value},")
    lines.append("    ) -> None:")
    lines += [f"        self.{name} = {name}" for name in names + [row[0] for row in shared]]
    return "\n".join(lines)


def estimators(core: types.ModuleType) -> str:
    families = core.families()
    classes = [class_name(family) for family in families]
    regression = next(family for family in core.regression_families() if family["name"] == "pl-regression")
    head = [
        '"""The estimators: one per family of models.',
        "",
        "Made by python/tools/generate.py from the option tables in C++; do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "import os",
        "from collections.abc import Sequence",
        "from typing import Any, Literal",
        "",
        "from ._base import RankingModel",
        "from ._progress import Progress",
        "from ._regression import RegressionModel",
        "",
        "__all__ = [" + ", ".join(f'"{name}"' for name in sorted(["FAMILIES", *classes, class_name(regression)])) + "]",
    ]
    tail = ["#: The estimator of each family of models of rankings.", "FAMILIES: dict[str, type[RankingModel]] = {"]
    tail += [f'    "{family["name"]}": {name},' for family, name in zip(families, classes)] + ["}"]
    return "\n\n\n".join(["\n".join(head), *map(estimator, families), estimator(regression, "RegressionModel", FEATURES + SHARED[1:]), "\n".join(tail)]) + "\n"


def core_stub(core: types.ModuleType) -> str:
    from nanobind.stubgen import StubGen

    generator = StubGen(core)
    generator.put(core)
    stub = generator.get()
    return "# Made by python/tools/generate.py from the extension; do not edit.\n" + stub


def page_of(value: Any, name: str, level: int) -> list[str]:
    """A section of the API page: signature, docstring, and the public members of a class that are its own."""
    documentation = inspect.cleandoc(inspect.getdoc(value) or "")
    lines = [f"{'#' * level} `{name}`", ""]
    if callable(value) and not isinstance(value, type):
        lines += ["```python", f"{name}{inspect.signature(value)}", "```", ""]
    lines += ["```text", documentation, "```", ""]
    return lines


def members_of(value: type, exported: list[str]) -> list[tuple[str, Any]]:
    """Public members, also those of bases that have no section of their own."""
    found: dict[str, Any] = {}
    for base in value.__mro__:
        if base is value or base.__module__.startswith("caucus.") and base.__name__ not in exported:
            found |= {name: member for name, member in vars(base).items() if not name.startswith("_") and name not in found}
    return list(found.items())


def api_page() -> str:
    package = importlib.import_module("caucus")
    plots = importlib.import_module("caucus.plots")
    lines = ["# caucus for Python: all classes and functions", "", "Made by `python/tools/generate.py` from docstrings; do not edit. [python.md](python.md) is where to begin.", ""]
    for name in package.__all__:
        value = getattr(package, name)
        if not inspect.isfunction(value) and not inspect.isclass(value):
            continue
        lines += page_of(value, name, 2)
        if not isinstance(value, type) or issubclass(value, BaseException) or issubclass(value, Warning):
            continue
        for member_name, member in members_of(value, package.__all__):
            plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            if isinstance(plain, property):
                lines += [f"- `{member_name}`: {inspect.cleandoc(plain.__doc__ or '')}".replace("\n", " ")]
            elif callable(plain):
                documentation = inspect.cleandoc(plain.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
                lines += [f"- `{member_name}{_parameters(plain)}`: {documentation}"]
        lines.append("")
    lines += ["## `caucus.plots`", "", inspect.cleandoc(plots.__doc__ or ""), ""]
    for name in plots.__all__:
        lines += page_of(getattr(plots, name), name, 3)
    return "\n".join(lines).rstrip("\n") + "\n"


def _parameters(function: Any) -> str:
    names = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        default_value = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        names.append(f"{parameter.name}{default_value}")
    return f"({', '.join(names)})"


def main() -> int:
    source, check = pathlib.Path(sys.argv[1]), "--check" in sys.argv
    core = load_core(source)
    stale = False

    def put(path: str, content: str) -> None:
        nonlocal stale
        file = source / path
        if file.exists() and file.read_text(encoding="utf-8") == content:
            return
        if check:
            print(f"{path} is stale: make docs")
            stale = True
        else:
            file.write_text(content, encoding="utf-8")

    put("python/caucus/_families.py", estimators(core))
    put("python/caucus/_core.pyi", core_stub(core))
    put("docs/python-api.md", api_page())
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())

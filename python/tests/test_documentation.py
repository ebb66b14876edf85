"""What the documentation says, runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys

import pytest

import caucus

from conftest import SOURCE

MODULES = sorted(f"caucus.{module.name}" for module in pkgutil.iter_modules(caucus.__path__) if not module.name.startswith("_core")) + ["caucus"]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    import numpy as np

    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"np": np, "Rankings": caucus.Rankings, "Frame": caucus.Frame})
    assert result.failed == 0


def test_there_are_doctests():
    finder = doctest.DocTestFinder()
    examples = sum(len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name)))
    assert examples >= 20


def programs(page):
    return re.findall(r"```python\n(.*?)```", (SOURCE / page).read_text(encoding="utf-8"), re.DOTALL)


def test_five_lines_of_the_readme(tmp_path, capsys):
    (program,) = programs("README.md")
    assert len(program.strip().splitlines()) == 5
    shutil.copytree(SOURCE / "examples", tmp_path / "examples")
    exec(compile(program, "README.md", "exec"), {})
    assert "3 groups in 2400 rankings" in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_programs_of_the_python_page(tmp_path):
    shutil.copytree(SOURCE / "examples", tmp_path / "examples")
    found = programs("docs/python.md")
    assert len(found) >= 5
    scope: dict = {}
    for program in found:
        exec(compile(program, "docs/python.md", "exec"), scope)


def test_tutorial_notebook(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(SOURCE / "examples" / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code"), "the notebook is kept without its outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = notebook.cells[-1].outputs[0]["data"]["text/html"]
    assert shown.startswith("<iframe") and (tmp_path / "report.html").exists()


def test_tutorial_without_pictures_needs_numpy_alone(tmp_path):
    program = subprocess.run(
        [sys.executable, SOURCE / "python/tools/tutorial_script.py", SOURCE / "examples/tutorial.ipynb"], check=True, capture_output=True, text=True
    ).stdout
    hide = "import sys\nfor name in ('pandas', 'polars', 'pyarrow', 'sklearn', 'matplotlib', 'tqdm', 'scipy', 'arviz'): sys.modules[name] = None\n"
    (tmp_path / "tutorial.py").write_text(hide + program)
    done = subprocess.run([sys.executable, "tutorial.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists()


def test_import_needs_numpy_alone():
    hide = "import sys\nfor name in ('pandas', 'polars', 'pyarrow', 'sklearn', 'matplotlib', 'tqdm', 'scipy'): sys.modules[name] = None\nimport caucus\n"
    subprocess.run([sys.executable, "-c", hide], check=True)
    loaded = subprocess.run([sys.executable, "-c", "import caucus, sys; print(*sys.modules)"], check=True, capture_output=True, text=True).stdout.split()
    assert not {"pandas", "sklearn", "matplotlib", "scipy", "polars", "pyarrow"} & set(loaded)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(caucus.UsageError, match="pip install pandas"):
        caucus.Rankings([["a"]]).to_pandas()

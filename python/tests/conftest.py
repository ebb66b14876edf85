"""Shared by the tests: the example, the command line (CAUCUS_CLI) and real data (CAUCUS_DATA), skipped with a message where missing."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import caucus

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def town() -> caucus.Rankings:
    return caucus.examples.town()


@pytest.fixture(scope="session")
def complete() -> caucus.Rankings:
    """Two groups of complete rankings, from a fixed seed."""
    rng = np.random.default_rng(3)
    centers = [np.arange(6), np.arange(6)[::-1]]
    orders = [np.lexsort((rng.random(6), np.argsort(centers[i % 2]) + rng.normal(0, 1.0, 6))) for i in range(120)]
    return caucus.Rankings.from_orders(np.array(orders), items=list("abcdef"))


@pytest.fixture(autouse=True)
def clean_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def cli():
    """Runs the command line; returns what it printed."""
    program = os.environ.get("CAUCUS_CLI")
    if not program:
        pytest.skip("CAUCUS_CLI does not name the program")

    def run(*words: object) -> str:
        return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout

    return run


def comparable(model: dict) -> dict:
    """A model file without what tells of the run and not of the model."""
    model = json.loads(json.dumps(model))
    model.pop("provenance", None)
    model.pop("model", None)
    for key in ("seconds", "threads"):
        model["fit"].pop(key, None)
    model.get("selection", {}).pop("seconds", None)
    for row in model.get("selection", {}).get("table", []):
        row.pop("seconds", None)
    return model


@pytest.fixture(scope="session")
def shared_data() -> pathlib.Path:
    folder = os.environ.get("CAUCUS_DATA")
    if not folder:
        pytest.skip("CAUCUS_DATA does not name the folder of real data")
    return pathlib.Path(folder)

"""The committed results, tables and documentation agree, and a small table made anew is the committed one.

usage: test_experiments.py CAUCUS_EXPERIMENTS SOURCE_FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

program, source = sys.argv[1], pathlib.Path(sys.argv[2])
committed = source / "experiments" / "results"
SMALL = ["paper3-curve", "paper2-figure1"]  # need no data


def call(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)


def same(made, wanted):
    assert made.read_text() == wanted.read_text(), f"{wanted.relative_to(source)} is stale: run caucus-experiments tables all --docs docs/reproduction.md"


def test_tables_and_documentation_come_from_the_results(folder):
    shutil.copytree(committed, folder / "results")
    for page in ("reproduction.md", "findings.md", "choosing.md"):
        shutil.copy(source / "docs" / page, folder / page)
        call("tables", "all", "--out", folder / "results", "--docs", folder / page)
        same(folder / page, source / "docs" / page)
    names = [line.split()[0] for line in call("list").stdout.splitlines()]
    assert len(names) > 15, names
    for made in (folder / "results").iterdir():
        same(made, committed / made.name)


def test_a_small_table_made_anew_is_the_committed_one(folder):
    call("run", *SMALL, "--quick", "--out", folder)
    for name in SMALL:
        same(folder / f"{name}-quick.md", committed / f"{name}-quick.md")


def test_a_run_that_was_killed_goes_on(folder):
    call("run", "paper3-curve", "--quick", "--out", folder)
    lines = folder / "paper3-quick.jsonl"
    whole = lines.read_text()
    lines.write_text(whole[: len(whole) // 2])  # in the middle of a line
    call("run", "paper3-curve", "--quick", "--out", folder)
    same(folder / "paper3-curve-quick.md", committed / "paper3-curve-quick.md")
    before = lines.read_text()
    call("run", "paper3-curve", "--quick", "--out", folder)
    assert lines.read_text() == before, "what was there was run again"


def test_several_processes_share_the_work(folder):
    words = [program, "run", "paper3-curve", "--quick", "--out", str(folder)]
    processes = [subprocess.Popen(words, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert all(process.wait() == 0 for process in processes)
    lines = (folder / "paper3-quick.jsonl").read_text().splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)), "some units were done twice"
    call("tables", "paper3-curve", "--quick", "--out", folder)
    same(folder / "paper3-curve-quick.md", committed / "paper3-curve-quick.md")
    assert not (folder / "paper3-quick.jsonl.claims").exists()


def test_errors_say_what_is_wrong(folder):
    wrong = subprocess.run([program, "run", "paper9-table1"], capture_output=True, text=True)
    assert wrong.returncode == 64 and "paper9-table1" in wrong.stderr, wrong
    missing = subprocess.run([program, "run", "paper1-table1", "--quick", "--data", folder / "nowhere", "--out", folder], capture_output=True, text=True)
    assert missing.returncode == 66 and "nowhere" in missing.stderr, missing


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
        print("passed", name)

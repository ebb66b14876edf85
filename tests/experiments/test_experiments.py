"""The committed results, tables and documentation agree, and lines drawn at random, made anew, are the committed ones.

usage: test_experiments.py CAUCUS_EXPERIMENTS SOURCE_FOLDER
"""
import json
import os
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


def test_every_line_says_what_made_it(folder):
    for file in committed.glob("*.jsonl"):
        for line in map(json.loads, file.read_text().splitlines()):
            made = line.get("made", {})
            assert all(made.get(field) for field in ("commit", "compiler", "cpu", "date")) and "seed" in made, f"{file.name} {line['key']}: {made}"


def test_lines_drawn_at_random_are_made_anew(folder):
    # Times and what made a line may differ, nothing else. Without the data only what is simulated.
    shutil.copytree(committed, folder / "results")
    simulated = ["paper1-figure1", "paper2-figure1", "paper3", "paper5-figure6", "paper5-figure7", "paper5-figure8"]
    targets = ["all"] if pathlib.Path(os.environ.get("CAUCUS_DATA", "../shared/data")).is_dir() else simulated
    drawn = subprocess.run([program, "repeat", *targets, "--lines", "12", "--seconds", "0.3", "--out", folder / "results"], capture_output=True, text=True)
    assert drawn.returncode == 0 and "12 lines the same, 0 different" in drawn.stdout, drawn.stdout + drawn.stderr


def test_a_line_that_was_changed_is_found(folder):
    shutil.copytree(committed, folder / "results")
    lines = folder / "results" / "paper3-quick.jsonl"
    changed = [json.loads(line) for line in lines.read_text().splitlines()]
    changed[0]["success"] = "000000" if changed[0]["success"] != "000000" else "111111"
    lines.write_text("".join(json.dumps(line) + "\n" for line in changed))
    found = subprocess.run([program, "repeat", "paper3-curve", "--quick", "--lines", "100", "--out", folder / "results"], capture_output=True, text=True)
    assert found.returncode == 1 and changed[0]["key"] + ": /success" in found.stdout, found.stdout + found.stderr
    call("repeat", "paper3-curve", "--quick", "--lines", "100", "--replace", "--out", folder / "results")
    mended = [json.loads(line)["success"] for line in lines.read_text().splitlines()]
    assert mended == [json.loads(line)["success"] for line in (committed / "paper3-quick.jsonl").read_text().splitlines()]


def test_lines_that_do_not_say_what_made_them_can_be_made_anew(folder):
    shutil.copytree(committed, folder / "results")
    lines = folder / "results" / "paper3-quick.jsonl"
    words = ["repeat", "paper3-curve", "--quick", "--unrecorded", "--lines", "2", "--replace", "--out", folder / "results"]
    before = [json.loads(line) for line in lines.read_text().splitlines()]
    assert all("from" not in line["made"] for line in before)
    for line in before[1:4]:
        line["made"] = {"commit": "1234567", "compiler": "not recorded", "cpu": "not recorded", "date": "2026-01-01", "seed": 0, "from": "history"}
        line.pop("cpu_seconds", None)
    lines.write_text("".join(json.dumps(line) + "\n" for line in before))
    assert "2 lines the same, 0 different; 1 more do not say what made them" in call(*words).stdout
    assert "1 lines the same, 0 different; 0 more do not say what made them" in call(*words).stdout
    assert "0 lines the same, 0 different; 0 more" in call(*words).stdout
    after = [json.loads(line) for line in lines.read_text().splitlines()]
    assert after[0] == before[0] and after[4:] == before[4:], "a line that says what made it was made again"
    assert all("from" not in line["made"] and line["made"]["cpu"] != "not recorded" for line in after)


def test_a_run_that_was_killed_goes_on(folder):
    call("run", "paper3-curve", "--quick", "--out", folder)
    lines = folder / "paper3-quick.jsonl"
    whole = lines.read_text()
    for line in whole.splitlines():  # each says what made it
        made = json.loads(line)["made"]
        assert all(made[field] for field in ("commit", "compiler", "cpu", "date")) and "seed" in made and made["cpu_seconds"] >= 0, made
    lines.write_text(whole[: len(whole) // 2])  # in the middle of a line
    call("run", "paper3-curve", "--quick", "--out", folder)
    same(folder / "paper3-curve-quick.md", committed / "paper3-curve-quick.md")
    before = lines.read_text()
    call("run", "paper3-curve", "--quick", "--out", folder)
    assert lines.read_text() == before, "what was there was run again"


def results(lines):
    """What was found, by unit; not how long it took and on what."""
    found = {}
    for line in lines.read_text().splitlines():
        one = json.loads(line)
        found[one.pop("key")] = {name: value for name, value in one.items() if name not in ("made", "cpu_seconds", "megabytes")}
    assert found
    return found


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
    # Line by line what one process finds; under mpirun too, where there is one.
    call("run", "paper3-curve", "--quick", "--out", folder / "alone")
    alone = results(folder / "alone" / "paper3-quick.jsonl")
    assert results(folder / "paper3-quick.jsonl") == alone
    if shutil.which("mpirun"):
        launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", *words[:-1], str(folder / "mpi")]
        subprocess.run(launch, check=True, capture_output=True)
        assert results(folder / "mpi" / "paper3-quick.jsonl") == alone


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

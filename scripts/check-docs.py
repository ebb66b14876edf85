#!/usr/bin/env python3
"""Holds the documentation to the program: every --flag that README, docs or a family's page names is one that `caucus` takes, every
link leads to a file, and the program in README is examples/fit.cc.

Usage: check-docs.py PATH-TO-CAUCUS SOURCE-DIR
"""
import json
import pathlib
import re
import subprocess
import sys

CAUCUS, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
# Flags of other programs: cmake, ctest, git, Slurm, and the experiments' own.
FOREIGN = {"--build", "--install", "--preset", "--target", "--prefix", "--flag", "--requeue",  # and a browser's:
           "--headless", "--no-sandbox", "--print-to-pdf", "--screenshot", "--window-size"}
FLAG = re.compile(r"(?<![\w-])--[a-z](?:-?[a-z0-9])*(?![\w/>-])")  # not the arrows of a drawing
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]+)")  # not to other sites


def run(*args):
    return subprocess.run([CAUCUS, *args], check=True, capture_output=True, text=True).stdout


commands = re.findall(r"^  ([a-z]+)\b", run("--help"), re.MULTILINE)
known = set(FOREIGN) | set(FLAG.findall(run("--help")))
for command in commands:
    known |= set(FLAG.findall(run(command, "--help")))
for family in json.loads(run("families", "--json"))["families"]:
    known |= {"--" + option["name"] for option in family["options"]}
# Programs beside caucus: their flags stand in their sources.
harness = "\n".join(path.read_text() for folder in ("experiments", "apps/serve") for path in (SOURCE / folder).glob("*.cc"))
known |= set(FLAG.findall(harness))

pages = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *(SOURCE / "docs").glob("*.md"), *(SOURCE / "src").rglob("*.md")]
bad = 0
for page in sorted(pages):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for flag in FLAG.findall(line):
            if flag not in known:
                print(f"{page.relative_to(SOURCE)}:{number}: there is no {flag}")
                bad = 1
        for target in LINK.findall(line):
            if not (page.parent / target).exists():
                print(f"{page.relative_to(SOURCE)}:{number}: there is no {target}")
                bad = 1
example = (SOURCE / "examples" / "fit.cc").read_text(encoding="utf-8")
if f"```cpp\n{example}```" not in (SOURCE / "README.md").read_text(encoding="utf-8"):
    print("README.md: the program there is not examples/fit.cc")
    bad = 1
sys.exit(bad)

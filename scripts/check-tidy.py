#!/usr/bin/env python3
"""clang-tidy over the library and the command line: check-tidy.py BUILD-FOLDER [LAYER...]

Unity files are read, so that every header is parsed once for up to 40 sources. The list of checks, shadowed names among them (a unity build
has to do without gcc's own warning), is .clang-tidy. A file that passed is not looked at again until what the compiler sees of it changes: its
hash is kept in the user's cache folder. Skipped (exit 77) where the program is missing or the build has no unity files."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

TIDY, CLANG = "clang-tidy-16", "clang++-16"
LAYERS = ["base", "data", "model"]  # those that are clean; the others are looked at when they are named
# What another compiler is asked for, its warnings and its ways to optimise, is its own affair.
EXTRA = ["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument", "-Qunused-arguments", "-Wshadow"]
NOISE = ("warnings generated", "warning generated", "Suppressed", "Use -header-filter")

source = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(sys.argv[1]).resolve()
layers = sys.argv[2:] or LAYERS
for program in (TIDY, CLANG):
    if not shutil.which(program):
        print(f"check-tidy: {program} is not installed", file=sys.stderr)
        sys.exit(77)
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "caucus-tidy"
cache.mkdir(parents=True, exist_ok=True)
commands = json.loads((build / "compile_commands.json").read_text())
units = [one for one in commands
         if pathlib.Path(one["file"]).name.startswith("unity_") and any(f"/caucus_{layer}.dir/" in one["file"] for layer in layers)]
if not units:
    print(f"check-tidy: {build} has no unity files; configure with -DCAUCUS_UNITY=ON", file=sys.stderr)
    sys.exit(77)


def stamp(unit):
    """Names what the checks see: the preprocessed text with its comments, the list of checks and the program that reads it."""
    words = shlex.split(unit["command"])
    flags = [word for word in words if word.startswith(("-D", "-I", "-std="))]
    flags += [part for at, word in enumerate(words) if word == "-isystem" for part in words[at:at + 2]]
    text = subprocess.run([CLANG, *flags, "-E", "-P", "-C", unit["file"]], cwd=unit["directory"], check=True, capture_output=True).stdout
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    return cache / hashlib.sha256(b"\0".join([text, version, (source / ".clang-tidy").read_bytes(), " ".join(EXTRA).encode()])).hexdigest()


def look(unit):
    passed = stamp(unit)
    if passed.exists():
        return True, ""
    result = subprocess.run([TIDY, "-p", str(build), "--quiet", *(f"--extra-arg={flag}" for flag in EXTRA), unit["file"]],
                            cwd=source, capture_output=True, text=True)
    if result.returncode == 0:
        passed.touch()
    said = [line for line in (result.stdout + result.stderr).splitlines() if not any(noise in line for noise in NOISE)]
    return result.returncode == 0, "\n".join(said)


with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
    answers = list(pool.map(look, units))
for good, said in answers:
    if not good:
        print(said)
print(f"check-tidy: {sum(good for good, _ in answers)} of {len(answers)} unity files are clean")
sys.exit(0 if all(good for good, _ in answers) else 1)

#!/usr/bin/env python3
"""Makes the sdist and looks whether a build would find everything in it: check_sdist.py SOURCE-DIR CMAKE

The unpacked sdist is configured as pip would, without node; every source that would be compiled and every header they name must be there.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

NEEDED = ["pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "python/caucus/__init__.py", "python/caucus/py.typed", "python/caucus/_core.pyi", "examples/town.soi"]
UNWANTED = ["build/", ".ci/", ".git/", "experiments/", "tests/", "apps/serve/"]
LARGEST = 3_000_000  # bytes, packed


def main() -> int:
    source, cmake = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, source], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        (packed,) = pathlib.Path(folder).glob("caucus-*.tar.gz")
        assert packed.stat().st_size < LARGEST, f"{packed.name} has {packed.stat().st_size} bytes"
        with tarfile.open(packed) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
            archive.extractall(folder, filter="data")
        for name in NEEDED:
            assert name in names, f"{name} is not in the sdist"
        for name in UNWANTED:
            assert not any(one.startswith(name) for one in names), f"{name} is in the sdist"
        tree = pathlib.Path(folder) / packed.name.removesuffix(".tar.gz")
        page = tree / "web/dist/page.cc"  # scripts/wheel.sh puts it there
        if not page.exists():
            page.parent.mkdir()
            page.write_text("")
        # As scikit-build-core calls it, and as if there were no node.
        defines = {
            "SKBUILD": "2", "SKBUILD_SCRIPTS_DIR": f"{folder}/scripts", "CAUCUS_PYTHON": "ON", "CAUCUS_TESTS": "OFF", "CAUCUS_SERVE": "OFF", "CAUCUS_UNITY": "OFF",
            "Python_EXECUTABLE": sys.executable, "NODE_PROGRAM": "OFF", "NPM_PROGRAM": "OFF",
        }  # fmt: skip
        build = pathlib.Path(folder) / "configured"
        configure = [cmake, "-S", tree, "-B", build, "-G", "Ninja", *(f"-D{name}={value}" for name, value in defines.items())]
        done = subprocess.run(configure, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        sources = [pathlib.Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())]
        sources = [file for file in sources if file.is_relative_to(tree)]
        missing = [str(file) for file in sources if not file.exists()]
        for file in [*sources, *tree.glob("src/**/*.h")]:
            for name in re.findall(r'^#include "(\S+)"', file.read_text(encoding="utf-8"), re.MULTILINE):
                if not any((folder / name).exists() for folder in (file.parent, tree / "src")):
                    missing.append(f"{file.relative_to(tree)} includes {name}")
        assert not missing, missing
        print(f"{packed.name}: {len(names)} files, {packed.stat().st_size} bytes; a build would compile {len(sources)} of them")
        assert len(sources) > 150
    return 0


if __name__ == "__main__":
    sys.exit(main())

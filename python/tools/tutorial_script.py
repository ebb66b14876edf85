#!/usr/bin/env python3
"""The code of a notebook as a plain program, without cells that draw: tutorial_script.py NOTEBOOK"""

import json
import sys

cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
for cell in cells:
    if cell["cell_type"] == "code" and "plots" not in cell["metadata"].get("tags", []):
        print("".join(cell["source"]) + "\n")

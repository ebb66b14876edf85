#!/usr/bin/env python3
"""Lists functions of more than 60 lines, longest first: scripts/long-functions.py [LINES]. A list to look at, not a verdict.

Reads sources as clang-format lays them out: a body begins with a line that ends in '{' after a ')' and ends with a '}' of the same indent."""
import pathlib
import re
import sys

limit = int(sys.argv[1]) if len(sys.argv) > 1 else 60
root = pathlib.Path(__file__).resolve().parent.parent
begin = re.compile(r"^( *)(?!.*\b(?:if|for|while|switch|catch|namespace|struct|class|do|else)\b *[({]?).*\)(?: const| noexcept| override)*(?: -> .*)? \{$")
found = []
for path in sorted([*root.glob("src/caucus/**/*.cc"), *root.glob("src/caucus/**/*.h"), *root.glob("apps/**/*.cc")]):
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        match = begin.match(line)
        if not match or re.search(r"\[[&=\w, ]*\]\(", line) or "_test" in path.name:
            continue
        head = number  # a head may take several lines, the last of which ends in '{'
        while head > 0 and (lines[head].lstrip().startswith(":") or lines[head - 1].endswith((",", "("))):
            head -= 1
        indent = lines[head][: len(lines[head]) - len(lines[head].lstrip())]
        if "[" in lines[head].split("(")[0] or not re.match(r"[\w~]", lines[head].strip()):
            continue
        end = next((i for i in range(number + 1, len(lines)) if lines[i] == indent + "}"), number)
        name = re.search(r"([\w:~]+)\(", lines[head])
        if end - number - 1 > limit:
            found.append((end - number - 1, name[1] if name else line.strip(), f"{path.relative_to(root)}:{number + 1}"))
for length, name, place in sorted(found, reverse=True):
    print(f"{length:5} {name:32} {place}")
print(f"{len(found)} functions over {limit} lines", file=sys.stderr)

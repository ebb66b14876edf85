#!/usr/bin/env python3
"""Holds reports (HTML pages or their JSON) to docs/report-data.schema.json, and their lists to each other's lengths."""
import json
import pathlib
import sys

import jsonschema

schema = json.loads((pathlib.Path(__file__).resolve().parent.parent / "docs/report-data.schema.json").read_text())
validator = jsonschema.Draft7Validator(schema)
bad = 0
for path in sys.argv[1:]:
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if path.endswith(".html"):
        text = text.split('id="caucus-report-data">', 1)[1].split("</script>", 1)[0]
    data = json.loads(text)
    problems = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:160]}" for e in validator.iter_errors(data)]
    for m, model in enumerate(data["models"]):
        n, k = len(model["items"]), len(model["groups"])
        where = f"models/{m}"
        for g in model["groups"]:
            if sorted(g["order"]) != list(range(n)):
                problems.append(f"{where}: group {g['label']} does not order all items")
            for key in ("utilities", "utility_intervals", "mean_place", "first_place"):
                if key in g and len(g[key]) != n:
                    problems.append(f"{where}: group {g['label']} has {len(g[key])} {key} for {n} items")
            if "first_place" in g and abs(sum(g["first_place"]) - 1) > 0.02:
                problems.append(f"{where}: first places of group {g['label']} sum to {sum(g['first_place'])}")
        if "pairs" in model:
            size = len(model["pairs"]["items"])
            tables = [model["pairs"]["everyone"], *model["pairs"]["groups"]]
            for t in tables:
                if len(t) != size * size:
                    problems.append(f"{where}: a pair table has {len(t)} entries for {size} items")
                elif any(abs(t[a * size + b] + t[b * size + a] - 1000) > 2 for a in range(size) for b in range(a)):
                    problems.append(f"{where}: pair probabilities do not add up to one")
        if "counted" in model:
            counted = model["counted"]
            tallies = [counted["everyone"], *counted["groups"]]
            for t in tallies:
                if any(len(t[key]) != n for key in ("first", "listed", "mean_place")):
                    problems.append(f"{where}: counts for other than {n} items")
                if abs(sum(t["first"]) - t["num_rankings"]) > 1e-6 * (1 + t["num_rankings"]):
                    problems.append(f"{where}: counted first places do not add up to the rankings")
            if counted["groups"] and abs(sum(t["num_rankings"] for t in tallies[1:]) - tallies[0]["num_rankings"]) > 1e-6 * (1 + tallies[0]["num_rankings"]) and len(counted["groups"]) == k:
                problems.append(f"{where}: the groups' rankings do not add up to all")
        for stage in model.get("election", {}).get("stages", []):
            total = model["election"]["everyone"]["num_rankings"]
            if abs(sum(stage["votes"]) + stage["exhausted"] - total) > 1e-4 * (1 + total):
                problems.append(f"{where}: a stage of the count does not add up to the ballots")
        if "map" in model:
            sizes = {len(model["map"][key]) for key in ("x", "y", "group", "certainty", "weight")}
            if len(sizes) != 1 or max(model["map"]["group"], default=0) >= max(k, 1):
                problems.append(f"{where}: the map's lists do not agree")
    print(f"{'FAIL' if problems else 'ok  '} {path}")
    for problem in problems[:20]:
        print("    ", problem)
    bad += len(problems)
sys.exit(1 if bad else 0)

#!/usr/bin/env python3
"""Does a plain fit end at the best optimum?

  search.py hunt   [--families pl,mallows] [--groups 2-6] [--starts 400] [--seeds 101-102] [--files TEXT]
  search.py misses [--families pl,mallows] [--groups 2-6] [--seeds 1-5] [--files TEXT]

`hunt` runs long searches and keeps the best value of each (file, family, K) in experiments/results/best_known.csv: numbers only. What
was done stands in OUT/hunt.jsonl, so a run that was stopped goes on. `misses` fits as a user would, once per seed, and prints how many
ended short of the best known by more than 1e-5 and 1e-3, relative; what it finds above the table goes into the table too. Values are
objectives: the log-likelihood, with the pseudo-comparisons' where the data needed them. CAUCUS_DATA names the folder of data."""
import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "experiments/results/best_known.csv")
FIELDS = ["file", "family", "groups", "best", "date", "how"]
MOST_BALLOTS, MOST_ITEMS = 50_000, 60
RANKINGS = (".soc", ".soi", ".toc", ".toi", ".blt")
# Orders of those that took part, not of all.
SUBSETS = ("00010-", "00011-00000047", "00014-00000002", "00032-", "00034-", "00043-", "00052-00000022", "00052-00000042",
           "00052-00000063.soi", "00053-00000341.soi", "nascar2002")


def files(data, text):
    with open(os.path.join(data, "MANIFEST.csv"), newline="") as manifest:
        for row in csv.DictReader(manifest):
            name = row["file"]
            if not name.endswith(RANKINGS) or name.startswith(("preflib_old", "ratings")) or not row["items"]:
                continue
            if int(row["rankings_or_rows"]) > MOST_BALLOTS or int(row["items"]) > MOST_ITEMS:
                continue
            ties, subset = int(row["with_ties"]) > 0, any(part in name for part in SUBSETS)
            top = int(row["complete"]) < int(row["rankings_or_rows"])
            if text in name:
                yield {"name": name, "ties": ties, "subset": subset, "top": top}


def takes(family, file):
    if family == "gmallows":
        return not file["ties"] and not file["subset"]
    if family == "mallows":
        return not file["subset"]
    return True


def fit(binary, data, file, family, groups, seed, starts=None):
    """The objective reached, CPU seconds, and what the search says of itself."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "model.json")
        command = [binary, "fit", os.path.join(data, file["name"]), "--family", family, "-k", str(groups), "--seed", str(seed),
                   "--threads", "1", "--out", out]
        command += ["--unranked", "absent"] if file["subset"] else []
        command += ["--standard-errors", "off"]
        if starts:
            command += ["--restarts", str(starts)]
        before = os.times()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        after = os.times()
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        with open(out, encoding="utf-8") as model:
            summary = json.load(model)["fit"]
    trace = summary.get("trace") or [summary["loglik"]]
    record = summary.get("starts") or {}
    return trace[-1], after.children_user - before.children_user, record


def read_table():
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, newline="") as table:
        return {(row["file"], row["family"], int(row["groups"])): row for row in csv.DictReader(table)}


def write_table(best):
    with open(TABLE + ".new", "w", newline="") as table:
        writer = csv.DictWriter(table, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(best[key] for key in sorted(best))
    os.replace(TABLE + ".new", TABLE)


def keep(best, key, value, how):
    known = best.get(key)
    if known and value <= float(known["best"]) + 1e-9 * abs(value):
        return
    best[key] = dict(zip(FIELDS, [*key, f"{value:.6f}", datetime.date.today().isoformat(), how]))
    write_table(best)


def numbers(text):
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def done_before(path):
    done = {}
    if os.path.exists(path):
        with open(path) as lines:
            for line in lines:
                if line.endswith("\n"):
                    one = json.loads(line)
                    done[one["key"]] = one
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["hunt", "misses"])
    parser.add_argument("--families", default="pl,mallows,gmallows")
    parser.add_argument("--groups", default="2-6")
    parser.add_argument("--seeds", help="default 101-102 for hunt, 1-5 for misses")
    parser.add_argument("--starts", type=int, default=400)
    parser.add_argument("--files", default="", help="only files whose name holds this")
    parser.add_argument("--strict", action="store_true", help="leave out files with ties")
    parser.add_argument("--caucus", default=os.path.join(ROOT, "build/release/caucus"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build/search"))
    parser.add_argument("--label", default="", help="of the binary: results of different labels are kept apart")
    arguments = parser.parse_args()
    data = os.environ.get("CAUCUS_DATA") or os.path.join(ROOT, "../shared/data")
    hunting = arguments.command == "hunt"
    seeds = numbers(arguments.seeds or ("101-102" if hunting else "1-5"))
    os.makedirs(arguments.out, exist_ok=True)
    path = os.path.join(arguments.out, f"{arguments.command}{arguments.label}.jsonl")
    best, done, results = read_table(), done_before(path), []
    for file in files(data, arguments.files):
        for family in arguments.families.split(","):
            if not takes(family, file) or (arguments.strict and file["ties"]):
                continue
            for groups in numbers(arguments.groups):
                for seed in seeds:
                    key = f"{file['name']} {family} {groups} {seed} {arguments.starts if hunting else ''}"
                    if key not in done:
                        value, seconds, record = fit(arguments.caucus, data, file, family, groups, seed,
                                                     arguments.starts if hunting else None)
                        done[key] = {"key": key, "value": value, "seconds": round(seconds, 3), "record": record}
                        with open(path, "a") as lines:
                            lines.write(json.dumps(done[key]) + "\n")
                    one = done[key]
                    how = f"{arguments.starts} starts, seed {seed}" if hunting else f"plain fit, seed {seed}"
                    keep(best, (file["name"], family, groups), one["value"], how)
                    results.append(((file["name"], family, groups), seed, one))
            print(time.strftime("%H:%M"), file["name"], family, flush=True)
    if hunting:
        return
    for family in arguments.families.split(","):
        mine = [(key, seed, one, float(best[key]["best"])) for key, seed, one in results if key[1] == family]
        short = [(key, seed, one["value"], known) for key, seed, one, known in mine if known - one["value"] > 1e-5 * abs(known)]
        for key, seed, value, known in short:
            print(f"  {key[0]} {key[1]} K={key[2]} seed {seed}: {value:.4f}, best known {known:.4f}, short by "
                  f"{(known - value) / abs(known):.1e}")
        far = sum(known - value > 1e-3 * abs(known) for _, _, value, known in short)
        seconds = sorted(one["seconds"] for _, _, one, _ in mine)
        if mine:
            print(f"{family}: {len(short)} of {len(mine)} fits short by more than 1e-5, {far} by more than 1e-3; CPU seconds: median "
                  f"{seconds[len(seconds) // 2]:.3f}, most {seconds[-1]:.2f}, sum {sum(seconds):.1f}")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Files as people have them: every row keeps its number, every count is counted again here, memberships are worked out again.

Usage: test_data.py PATH-TO-CAUCUS
"""
import csv
import json
import math
import sys
import unittest

import support
import trial_files
from support import CAUCUS, caucus
from trial_files import CANDIDATES

UTILITIES = [[1.2, 0.6, 0.0, -0.6, -1.2], [-1.0, -0.5, 0.0, 0.5, 1.0]]
WEIGHTS = [0.6, 0.4]


def memberships(ranking, items):
    """Posterior of a top-t ballot under the mixture of Plackett-Luce models above: eq. by hand."""
    joint = []
    for weight, utilities in zip(WEIGHTS, UTILITIES):
        utility = dict(zip(items, utilities))
        left, probability = list(items), weight
        for name in ranking:
            probability *= math.exp(utility[name]) / sum(math.exp(utility[other]) for other in left)
            left.remove(name)
        joint.append(probability)
    return [one / sum(joint) for one in joint], math.log(sum(joint))


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Files(support.Case):
    def model(self, items, **more):
        return self.path("m.json", {"schema": "caucus.model/1", "family": "pl", "items": items, "unranked": "last", "components": [
            {"weight": w, "utilities": u[:len(items)]} for w, u in zip(WEIGHTS, UTILITIES)], **more})


def names_in(layout):
    return [c.replace('"', "'") for c in CANDIDATES] if layout == "blt" else CANDIDATES


class Layouts(Files):
    def test_every_layout_counts_as_the_truth_does(self):
        ballots = trial_files.election()
        listed = [b for b in ballots if b.ranking]
        for layout in trial_files.LAYOUTS:
            with self.subTest(layout=layout):
                path, flags, columns = trial_files.write(self.folder.name, layout, ballots)
                info = json.loads(self.ok("info", path, "--json", *flags).stdout)
                self.assertEqual(info["num_blank"], len(ballots) - len(listed))
                self.assertEqual(info["num_rankings"], len(listed))
                self.assertEqual(info["num_rows"], len(ballots))
                self.assertEqual(sorted(info["items"]), sorted(names_in(layout)))
                self.assertEqual(info["num_unique"], len({tuple(b.ranking) for b in listed}))
                self.assertLessEqual(set(columns), set(info["covariates"]))

    def test_rows_and_memberships_of_every_layout(self):
        ballots = trial_files.election()
        for layout in trial_files.LAYOUTS:
            with self.subTest(layout=layout):
                path, flags, columns = trial_files.write(self.folder.name, layout, ballots)
                names = names_in(layout)
                model, out = self.model(names), self.path("out.csv")
                self.ok("assign", model, path, *flags, "--out", out, "--quiet")
                rows = read_csv(out)
                self.assertEqual(list(rows[0])[:5], ["row", "weight", "label", "p1", "p2"])
                self.assertEqual([row["row"] for row in rows], [str(i + 1) for i in range(len(ballots))])
                self.ok("score", model, path, *flags, "--out", out, "--quiet")
                scores = read_csv(out)
                for ballot, row, score in zip(ballots, rows, scores):
                    self.assertEqual(row["weight"], "1")
                    for column in columns:
                        self.assertEqual(row[column], trial_files.value_of(ballot, column))
                        self.assertEqual(score[column], row[column])
                    if not ballot.ranking:
                        self.assertEqual([row["label"], row["p1"], row["p2"], score["loglik"]], [""] * 4)
                        continue
                    ranking = [names[CANDIDATES.index(c)] for c in ballot.ranking]
                    expected, loglik = memberships(ranking, names)
                    self.assertAlmostEqual(float(row["p1"]), expected[0], places=9)
                    self.assertEqual(row["label"], "1" if expected[0] > expected[1] else "2")
                    self.assertAlmostEqual(float(score["loglik"]), loglik, places=9)

    def test_weights_count_ballots_not_lines(self):
        path = self.path("w.soi", "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n19: \n3: 1,2\n0: 2\n2: 2\n")
        result = self.ok("info", path, "--json")
        info = json.loads(result.stdout)
        self.assertEqual((info["num_blank"], info["num_rankings"], info["num_rows"]), (19, 5, 4))
        self.assertIn("19 blank ballots", result.stderr)
        self.assertIn("19 blank ballots", self.ok("info", path).stdout)
        out = self.path("out.csv")
        self.ok("assign", self.model(["a", "b"]), path, "--out", out)
        rows = read_csv(out)
        self.assertEqual([row["row"] for row in rows], ["1", "2", "3", "4"])
        self.assertEqual([row["weight"] for row in rows], ["19", "3", "0", "2"])
        self.assertEqual([row["label"] == "" for row in rows], [True, False, True, False])

    def test_columns_that_share_a_name_with_ours_stay_apart(self):
        path = self.path("c.csv", "row,label,rank1,rank2\nx,7,a,b\n")
        out = self.path("out.csv")
        self.ok("assign", self.model(["a", "b"]), path, "--out", out)
        self.assertEqual(list(read_csv(out)[0]), ["row", "weight", "label", "p1", "p2", "data.row", "data.label"])

    def test_known_groups_stand_beside_every_row(self):
        path = self.path("t.csv", "rank1,rank2\na,b\nskipped,\nb,a\n")
        truth = self.path("truth.csv", "label\n1\n2\n2\n")
        result = json.loads(self.ok("assign", self.model(["a", "b"]), path, "--truth", truth, "--json").stdout)
        self.assertEqual(result["truth"]["misclassification"], 0)
        self.assertEqual((result["num_rankings"], result["num_blank"]), (2, 1))

    def test_conversion_to_json_lines_keeps_blanks(self):
        ballots = trial_files.election(60)
        path, flags, _ = trial_files.write(self.folder.name, "wide", ballots)
        out = self.path("c.jsonl")
        self.ok("convert", path, out, *flags)
        for key in ("num_blank", "num_rankings", "num_rows", "digest", "covariates"):
            self.assertEqual(json.loads(self.ok("info", path, "--json").stdout)[key],
                             json.loads(self.ok("info", out, "--json").stdout)[key])
        self.assertIn("blank", self.ok("convert", path, self.path("c.soi")).stderr)


class Words(Files):
    TOKENS = ["skipped", "Overvote", "over vote", "OVER-VOTE", "(undervote)", "exhausted", "[Blank]", "N/A", "nan", "NULL", "none", "-",
              "no vote", "No-Vote", ""]

    def items(self, *args):
        return json.loads(self.ok("info", *args, "--json").stdout)["items"]

    def test_one_list_of_words_that_name_nobody(self):
        wide = "rank1,rank2\n" + "".join(f"{token},a\n" for token in self.TOKENS) + "a,b\n"
        orders = "ranking\n" + "".join(f"{token} > a\n" for token in self.TOKENS) + "a > b\n"
        long_form = "voter,item,rank\n" + "".join(f"v{i},{token},1\nv{i},a,2\n" for i, token in enumerate(self.TOKENS)) + "w,a,1\nw,b,2\n"
        lines = "".join(json.dumps([token, "a"]) + "\n" for token in self.TOKENS if token) + '["a","b"]\n'
        matrix = "rank_a,rank_b\n" + "".join(f"{token},1\n" for token in self.TOKENS) + "1,2\n"
        battles = "a,b,winner\n" + "".join(f"a,b,{token}\n" for token in self.TOKENS) + "a,b,a\n"
        for name, text in (("w.csv", wide), ("o.csv", orders), ("l.csv", long_form), ("j.jsonl", lines), ("m.csv", matrix)):
            with self.subTest(name=name):
                info = json.loads(self.ok("info", self.path(name, text), "--json").stdout)
                self.assertEqual(info["items"], ["a", "b"])
                self.assertEqual(info["num_rankings"], 1 + len([t for t in self.TOKENS if t or name != "j.jsonl"]))
        info = json.loads(self.ok("info", self.path("p.csv", battles), "--json").stdout)
        self.assertEqual((info["num_rankings"], info["num_blank"]), (1, len(self.TOKENS)))

    def test_header_names_in_any_case(self):
        for name in ("Count", "COUNT", "Weight", "Ballot Weight"):
            info = json.loads(self.ok("info", self.path("c.csv", f"{name},Rank1,RANK2\n5,a,b\n2,b,\n"), "--json").stdout)
            self.assertEqual(info["num_rankings"], 7, name)

    def test_questions_about_items_that_are_probably_none(self):
        result = self.ok("info", self.path("q.csv", "rank1,rank2\nAnn,Overvote (2)\nBo,Ann\n"))
        self.assertIn("Overvote (2)", result.stderr)
        self.assertIn("--drop", result.stderr)
        self.assertNotIn("is 'Over", self.ok("info", self.path("q.csv"), "--keep", "Overvote*").stderr)
        result = self.ok("info", self.path("d.csv", "rank_Ann,rank_Bo,rank_Age\n1,2,3\n2,1,3\n"))
        self.assertIn("'Age'", result.stderr)
        result = self.ok("info", self.path("b.csv", "model_a,model_b,winner,judge\nx,y,model_a,j1\n"))
        self.assertIn("'judge'", result.stderr)

    def test_items_are_edited_in_every_layout(self):
        ballots = trial_files.election(120)
        kept = [c for c in CANDIDATES if c not in ("Dale", "Ashe")]
        for layout in trial_files.LAYOUTS:
            with self.subTest(layout=layout):
                path, flags, _ = trial_files.write(self.folder.name, layout, ballots)
                names = [names_in(layout)[CANDIDATES.index(c)] for c in kept]
                for drop in (["--drop", "dale,ASHE"], ["--exclude", "Dale", "--exclude", "A*he"]):
                    info = json.loads(self.ok("info", path, "--json", *flags, *drop).stdout)
                    self.assertEqual(sorted(info["items"]), sorted(names))
                    self.assertEqual(info["num_rankings"], sum(any(c in kept for c in b.ranking) for b in ballots))
                    self.assertEqual(info["num_rows"], len(ballots))
                only = json.loads(self.ok("info", path, "--json", *flags, "--items-only", "Dale", "--items-only", "Brook, Jr.").stdout)
                self.assertEqual(sorted(only["items"]), ["Brook, Jr.", "Dale"])
                merged = json.loads(self.ok("info", path, "--json", *flags, "--merge", "*a*=Others", "--rename", "Brook, Jr.=B").stdout)
                self.assertEqual(sorted(merged["items"]), sorted({"Others" if "a" in c.lower() else "B" if c[0] == "B" else c
                                                                  for c in names_in(layout)}))
                self.assertEqual(merged["num_rankings"], sum(bool(b.ranking) for b in ballots))
                firsts = dict(zip(merged["items"], merged["first"]))
                self.assertEqual(firsts["Others"], sum(bool(b.ranking) and "a" in b.ranking[0].lower() for b in ballots))

    def test_wrong_rules_are_refused_and_idle_ones_named(self):
        path = self.path("r.csv", "rank1,rank2\na,b\n")
        self.assertEqual(caucus("info", path, "--merge", "nonsense").returncode, 64)
        self.assertEqual(caucus("info", path, "--rename", "a=b").returncode, 64)
        self.assertIn("'q'", self.ok("info", path, "--exclude", "q").stderr)
        self.assertEqual(caucus("info", path, "--exclude", "*").returncode, 64)


class Reading(Files):
    def test_a_model_remembers_how_its_data_were_read(self):
        ballots = trial_files.election(200)
        path, flags, _ = trial_files.write(self.folder.name, "contests", ballots)
        model, out = self.path("m.json"), self.path("out.csv")
        edits = ["--exclude", "Dale", "--merge", "*s*=S", "--unranked", "absent"]
        self.ok("fit", path, *flags, *edits, "-k", 2, "--out", model, "--quiet")
        with open(model, encoding="utf-8") as file:
            reading = json.load(file)["reading"]
        self.assertEqual(reading, {"unranked": "absent", "contest": "Mayor", "merge": ["*s*=S"], "exclude": ["Dale"]})
        remembered = self.ok("score", model, path, "--json", "--out", out)
        self.assertIn("--exclude 'Dale'", remembered.stderr)
        self.assertIn("--contest 'Mayor'", remembered.stderr)
        stated = self.ok("score", model, path, *flags, *edits, "--json")
        self.assertEqual(json.loads(remembered.stdout)["loglik"], json.loads(stated.stdout)["loglik"])
        self.assertEqual(self.ok("score", model, path, "--json", "--quiet").stderr.count("Read as"), 0)
        for command in ("assign", "check"):
            self.assertIn("Read as the model's data were", self.ok(command, model, path, "--json").stderr)
        self.assertIn("Read as the model's data were", self.ok("report", model, "--data", path, "--out", self.path("r.json")).stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["data"]["num_rankings"], json.loads(remembered.stdout)["num_rankings"])
        # What is remembered of a table does not bind a file of another kind, and a flag that is given wins.
        soi, _, _ = trial_files.write(self.folder.name, "preflib", ballots)
        self.assertEqual(json.loads(self.ok("score", model, soi, "--json").stdout)["num_rankings"],
                         json.loads(remembered.stdout)["num_rankings"])
        self.assertEqual(caucus("score", model, path, "--exclude", "").returncode, 65)

    def test_several_files_are_read_as_one(self):
        ballots = trial_files.election(90)
        first, _, _ = trial_files.write(self.folder.name, "wide", ballots[:40])
        second, _, _ = trial_files.write(self.folder.name, "jsonl", ballots[40:])
        info = json.loads(self.ok("info", first, second, "--json").stdout)
        self.assertEqual(info["num_rows"], 90)
        self.assertEqual(info["num_blank"], sum(not b.ranking for b in ballots))
        self.assertEqual(info["items"], sorted(CANDIDATES))
        out = self.path("out.csv")
        self.ok("assign", self.model(sorted(CANDIDATES)), first, second, "--out", out)
        rows = read_csv(out)
        self.assertEqual([row["row"] for row in rows], [str(i + 1) for i in range(90)])
        self.assertEqual([row["file"] for row in rows], ["cvr.csv"] * 40 + ["votes.jsonl"] * 50)
        self.assertEqual([row["label"] == "" for row in rows], [not b.ranking for b in ballots])


class Marks(Files):
    def test_overvotes_and_skipped_places_are_counted(self):
        ballots = trial_files.election(900)
        self.assertGreater(sum(b.skipped for b in ballots), 5)
        for layout in ("wide", "choices", "contests"):
            with self.subTest(layout=layout):
                path, flags, _ = trial_files.write(self.folder.name, layout, ballots)
                result = json.loads(self.ok("info", path, *flags, "--json").stdout)
                self.assertEqual((result["num_overvoted"], result["num_skipped"]), (sum(b.overvoted for b in ballots), sum(b.skipped for b in ballots)))
        path, _, _ = trial_files.write(self.folder.name, "wide", ballots)
        model = self.model(sorted(CANDIDATES))
        page = self.path("r.json")
        self.ok("report", model, "--data", path, "--out", page, "--tables", self.path("tables"), "--quiet")
        with open(page, encoding="utf-8") as file:
            data = json.load(file)["data"]
        expected = [sum(bool(b.ranking) for b in ballots), sum(not b.ranking for b in ballots), sum(b.overvoted for b in ballots), sum(b.skipped for b in ballots)]
        self.assertEqual([data[key] for key in ("num_rankings", "num_blank", "num_overvoted", "num_skipped")], expected)
        self.assertEqual([int(row["ballots"]) for row in read_csv(self.path("tables/ballots.csv"))], expected)

    def test_a_file_says_how_many_seats_there_are(self):
        text = trial_files.blt(trial_files.election(60)).replace(f"{len(CANDIDATES)} 1", f"{len(CANDIDATES)} 3", 1)
        path, page, model = self.path("v.blt", text), self.path("r.json"), self.path("m.json")
        self.ok("fit", path, "-k", 1, "--out", model)
        for flags, seats in (([], 3), (["--seats", 2], 2)):
            self.ok("report", model, "--data", path, "--out", page, *flags, "--quiet")
            with open(page, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["models"][0]["election"]["seats"], seats)


class Rows(Files):
    def test_json_and_a_dash_hold_the_rows(self):
        ballots = trial_files.election(60)
        path, _, _ = trial_files.write(self.folder.name, "wide", ballots)
        model = self.model(CANDIDATES)
        out = self.path("out.csv")
        for command, key in (("assign", "label"), ("score", "loglik")):
            self.ok(command, model, path, "--out", out)
            dash = self.ok(command, model, path, "--out", "-")
            with open(out, encoding="utf-8", newline="") as file:
                self.assertEqual(dash.stdout, file.read())
            self.assertNotIn("written to", dash.stderr)
            both = caucus(command, model, path, "--out", "-", "--json")
            self.assertEqual((both.returncode, both.stdout), (64, ""))
            rows = json.loads(self.ok(command, model, path, "--json").stdout)["rows"]
            for row, line, ballot in zip(rows, read_csv(out), ballots, strict=True):
                self.assertEqual(str(row["row"]), line["row"])
                self.assertEqual("" if row[key] is None else str(row[key]), line[key])
                self.assertEqual((row["data"]["Precinct"], row["data"]["Age"]), (ballot.precinct, ballot.age))
                if command == "assign" and ballot.ranking:
                    self.assertEqual([str(p) for p in row["p"]], [line["p1"], line["p2"]])
            self.assertNotIn("rows", json.loads(self.ok(command, model, path, "--json", "--out", out).stdout))

    def test_named_groups_keep_their_names(self):
        ballots = trial_files.election(60)
        path, _, _ = trial_files.write(self.folder.name, "wide", ballots)
        model, out = self.model(CANDIDATES), self.path("out.csv")
        self.ok("name", model, "Hill people", "Valley\x1b[31m")
        text = self.ok("assign", model, path, "--by", "precinct", "--out", out).stdout
        names = {"1": "Hill people", "2": "Valley\x1b[31m", "": ""}
        self.assertEqual([row["group_name"] for row in read_csv(out)], [names[row["label"]] for row in read_csv(out)])
        self.assertIn("Hill people: ", text)
        self.assertEqual(text.count("Hill people"), 2)
        self.assertNotIn("\x1b", text)
        self.assertEqual(json.loads(self.ok("assign", model, path, "--json").stdout)["group_names"][0], "Hill people")
        self.assertIn("Hill people, ", self.ok("fit", path, "-k", 2, "--names", "Hill people,Valley").stdout)

    def test_weights_that_sum_to_one_are_said_to(self):
        path = self.path("w.csv", "rank1,rank2,rank3,weight\n" + "a,b,c,0.0033333333333\nb,a,c,0.0033333333333\nc,a,b,0.0033333333334\n" * 100)
        self.assertIn("rankings worth 300 (weights sum to 1) of 3 items", self.ok("fit", path, "-k", 1).stdout)
        self.assertIn("300 rankings (weights sum to 1, 3 distinct) of 3 items", self.ok("info", path).stdout)

    def test_no_answer_depends_on_the_scale_of_weights(self):
        """300 ballots of weight 1, and of weight 1/300: the same groups, the same errors, nothing null or huge."""
        _, source = self.two_groups(300)
        with open(source, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith("#")]
        rows = [line.split(": ")[1].strip().split(",") for line in lines for _ in range(int(line.split(": ")[0]))]
        self.assertEqual(len(rows), 300)
        answers = []
        for weight in ("1", "0.00333333333333"):
            path = self.path("w.csv", "weight,rank1,rank2,rank3,rank4,rank5\n" + "".join(
                weight + "," + ",".join("abcde"[int(i) - 1] for i in row) + "\n" for row in rows))
            texts = [self.ok(*command, "--seed", 2).stdout for command in (
                ("fit", path), ("select", path), ("fit", path, "--family", "mallows"), ("fit", path, "--family", "gmallows", "-k", 2))]
            for text in texts:
                self.assertNotIn("0.99999", text)
                self.assertNotIn("nan", text)
                self.assertLess(max(len(word) for word in text.split()), 80)
            fitted = json.loads(self.ok("fit", path, "--json").stdout)
            cv = json.loads(self.ok("select", path, "-k", "1..3", "--criterion", "cv", "--json").stdout)
            compared = json.loads(self.ok("compare", path, "--families", "pl:1..3,mallows:1..3,kde", "--json").stdout)
            self.assertNotIn("null", json.dumps([fitted["components"], [[row["heldout_mean"], row["heldout_se"], row["behind_se"]] for row in cv["table"]]]))
            answers.append({
                "groups": len(fitted["components"]), "bic": fitted["fit"]["bic"],
                "error": fitted["components"][0]["standard_errors"][0],
                "cv": cv["chosen_k"], "cv_mean": cv["table"][1]["heldout_mean"], "cv_error": cv["table"][1]["heldout_se"],
                **{"compare " + row["label"]: row["groups"] for row in compared["table"]},
                **{"behind " + row["label"]: row["behind_se"] for row in compared["table"]}})
        for key, value in answers[0].items():
            self.assertAlmostEqual(value, answers[1][key], delta=1e-5 * max(1, abs(value)), msg=key)
        self.assertEqual(answers[0]["groups"], 2)


class OddFiles(Files):
    def test_battles_as_json(self):
        battles = [{"model_a": "x", "model_b": "y", "winner": "model_a", "judge": "j1"}, {"model_a": "y", "model_b": "z", "winner": "tie"},
                   {"model_a": "x", "model_b": "z", "winner": "model_b", "conversation": [{"role": "user"}]},
                   {"model_a": "x", "model_b": "z", "winner": None}]
        texts = {"l.jsonl": "".join(json.dumps(b) + "\n" for b in battles), "a.json": json.dumps(battles), "i.json": json.dumps(battles, indent=2)}
        digests = set()
        for name, text in texts.items():
            result = self.ok("info", self.path(name, text), "--json")
            info = json.loads(result.stdout)
            self.assertEqual((info["num_rankings"], info["num_blank"], info["kind"], info["unranked"]), (3, 1, "pairwise", "absent"))
            self.assertEqual(info["covariates"], ["judge"])
            self.assertIn("'judge'", result.stderr)
            digests.add(info["digest"])
        self.assertEqual(len(digests), 1)
        bad = caucus("info", self.path("bad.json", '[\n {"model_a":"x","model_b":"y","winner":"q"}\n]\n'))
        self.assertEqual(bad.returncode, 65)
        self.assertIn("bad.json:2:", bad.stderr)

    def test_orders_without_a_header(self):
        for text in ("12,a>b=c\n3,b\n", "12: a > b = c\n3: b > c\n", "count,A\n12,a>b=c\n", "a>b=c\nb\n"):
            info = json.loads(self.ok("info", self.path("o.csv", text), "--json").stdout)
            self.assertEqual(info["items"], ["a", "b", "c"], text)

    def test_binary_files_are_named_with_the_line_that_converts_them(self):
        for name, magic, reader in (("v.xlsx", b"PK\x03\x04xx", "read_excel"), ("v.parquet", b"PAR1xx", "read_parquet")):
            path = self.path(name)
            with open(path, "wb") as out:
                out.write(magic)
            result = caucus("info", path)
            self.assertEqual(result.returncode, 65)
            self.assertIn(reader, result.stderr)
            self.assertIn("v.csv", result.stderr)

    def test_columns_may_hold_commas(self):
        path = self.path("c.csv", '"Smith, J",B,n\n1,2,x\n2,1,y\n')
        for columns in (["--columns", "Smith, J,B"], ["--columns", "Smith, J", "--columns", "B"], ["--columns", '"Smith, J",B']):
            info = json.loads(self.ok("info", path, "--from", "csv-matrix", *columns, "--json").stdout)
            self.assertEqual(info["items"], ["Smith, J", "B"])
        self.assertEqual(caucus("info", path, "--from", "csv-matrix", "--columns", "Smith,Q").returncode, 64)

    def test_a_table_without_a_ranking_says_what_is_missing(self):
        result = caucus("info", self.path("t.csv", "voter,age,rank1,rank3\nv1,34,Ann,Bo\n"))
        self.assertEqual(result.returncode, 65)
        for word in ("csv-wide", "no column for rank 2", "csv-matrix", "'34'", "line 2", "csv-long", "csv-pairwise", "csv-order", "--columns"):
            self.assertIn(word, result.stderr)
        ballots = trial_files.election(30)
        path, _, _ = trial_files.write(self.folder.name, "contests", ballots)
        result = caucus("info", path)
        self.assertEqual(result.returncode, 65)
        self.assertIn("DEM Mayor Citywide (026916)", result.stderr)
        self.assertIn("--contest", result.stderr)


class OneBallotAndGroups(Files):
    def test_one_ballot_on_the_command_line(self):
        model = self.model(CANDIDATES)
        expected, loglik = memberships(["Dale", "Brook, Jr."], CANDIDATES)
        rows = list(csv.DictReader(self.ok("assign", model, "--ballot", "dale > Brook, Jr.").stdout.splitlines()))
        self.assertAlmostEqual(float(rows[0]["p1"]), expected[0], places=9)
        self.assertAlmostEqual(json.loads(self.ok("score", model, "--ballot", "Dale>Brook", "--json").stdout)["loglik"], loglik, places=9)
        self.assertEqual(caucus("assign", model).returncode, 64)
        wrong = caucus("assign", model, "--ballot", "Dale > Nobody Known")
        self.assertEqual(wrong.returncode, 65)
        self.assertIn("Ashe", wrong.stderr)

    def test_who_is_in_each_group(self):
        ballots = trial_files.election()
        path, _, _ = trial_files.write(self.folder.name, "wide", ballots)
        result = json.loads(self.ok("assign", self.model(CANDIDATES), path, "--by", "precinct", "--json").stdout)["by"]
        sums, totals = {}, [0.0, 0.0]
        for b in ballots:
            if not b.ranking:
                continue
            for k, p in enumerate(memberships(b.ranking, CANDIDATES)[0]):
                sums[b.precinct, k] = sums.get((b.precinct, k), 0.0) + p
                totals[k] += p
        self.assertEqual([v["value"] for v in result["values"]], sorted({b.precinct for b in ballots}))
        for value in result["values"]:
            for k in (0, 1):
                share = value["of_group"][k]
                self.assertAlmostEqual(share["share"], sums[value["value"], k] / totals[k], places=9)
                self.assertLess(share["low"], share["share"])
                self.assertGreater(share["high"], share["share"])
            self.assertAlmostEqual(sum(one["share"] for one in value["of_value"]), 1.0, places=9)
        text = self.ok("assign", self.model(CANDIDATES), path, "--by", "Age", "--out", self.path("o.csv")).stdout
        self.assertIn("Who is in each group, by Age", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.assertEqual(caucus("assign", self.model(CANDIDATES), path, "--by", "nothing").returncode, 64)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

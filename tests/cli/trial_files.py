"""One election in the layouts people really have: cast-vote records, survey exports, counts. The truth is kept beside the files, so that
tests can count for themselves."""
import csv
import io
import json
import os
import random

CANDIDATES = ["Ashe", "Brook, Jr.", "Cedar \"Cy\"", "Dale", "Élan"]
NOBODY = ["skipped", "OVERVOTE", "Undervote", "", "over vote", "(blank)", "N/A"]


class Ballot:
    """One sheet of paper: the marks of each rank as cast, and who cast it."""

    def __init__(self, number, marks, precinct, age):
        self.id = f"{number:05d}"
        self.marks, self.precinct, self.age = marks, precinct, age

    @property
    def overvoted(self):
        return any("".join(c for c in mark.lower() if c.isalpha()) == "overvote" for mark in self.marks)

    @property
    def skipped(self):
        """A place without a candidate, an overvote apart, before a later choice."""
        named = [i for i, mark in enumerate(self.marks) if mark in CANDIDATES]
        return any(mark not in CANDIDATES and not Ballot(1, [mark], "", 0).overvoted for mark in self.marks[:named[-1]]) if named else False

    @property
    def ranking(self):
        listed = []
        for mark in self.marks:
            if mark in CANDIDATES and mark not in listed:
                listed.append(mark)
        return listed


def election(size=400, ranks=4, seed=3):
    """Two camps with tastes of their own; about one ballot in nine is blank, runs of blanks among them."""
    random.seed(seed)
    ballots = []
    for number in range(1, size + 1):
        blank = random.random() < 0.08 or number in (1, 2, 77, 78, 79, size)
        order = CANDIDATES[:] if random.random() < 0.6 else CANDIDATES[::-1]
        order.sort(key=lambda name, order=order[:]: order.index(name) + random.gauss(0, 1.2))
        length = 0 if blank else random.randint(1, ranks)
        marks = order[:length] + [random.choice(NOBODY) if random.random() < 0.4 else "" for _ in range(ranks - length)]
        if length > 1 and random.random() < 0.1:
            marks[random.randrange(1, length)] = random.choice(["overvote", "Skipped", marks[0]])
        ballots.append(Ballot(number, marks, f"P-{number % 7}", 18 + number % 60))
    return ballots


def table(rows, delimiter=",", line_end="\n", mark=""):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return mark + text.getvalue()


def wide(ballots, names, extra=lambda ballot: [], extra_names=(), **how):
    head = ["Ballot ID", "Precinct", *names, "Age", *extra_names]
    return table([head] + [[b.id, b.precinct, *b.marks, b.age, *extra(b)] for b in ballots], **how)


def ranks_in_cells(ballots):
    rows = [["ResponseId", "Age", "Finished", *CANDIDATES, "Precinct"]]
    for b in ballots:
        rows.append([b.id, b.age, 1, *[b.ranking.index(c) + 1 if c in b.ranking else "" for c in CANDIDATES], b.precinct])
    return table(rows)


def qualtrics(ballots):
    """Three header lines: codes, questions, import ids."""
    codes = [f"Q7_{i + 1}" for i in range(len(CANDIDATES))]
    rows = [["ResponseId", "Finished", *codes, "Age", "Precinct"],
            ["Response ID", "Finished", *[f"Please rank - the candidates - {c}" for c in CANDIDATES], "How old?", "Where?"],
            [json.dumps({"ImportId": name}) for name in ["_recordId", "finished", *codes, "QID8", "QID9"]]]
    for b in ballots:
        rows.append([b.id, 1, *[b.ranking.index(c) + 1 if c in b.ranking else "" for c in CANDIDATES], b.age, b.precinct])
    return table(rows)


def surveymonkey(ballots):
    """Two header lines: questions, and the answers' names beneath."""
    rows = [["Respondent ID", "Precinct", "Please rank the candidates", *[""] * (len(CANDIDATES) - 1), "Age"],
            ["", "", *CANDIDATES, "Response"]]
    for b in ballots:
        rows.append([b.id, b.precinct, *[b.ranking.index(c) + 1 if c in b.ranking else "" for c in CANDIDATES], b.age])
    return table(rows)


def long_form(ballots):
    rows = [["Voter", "Candidate", "Rank", "Precinct", "Age"]]
    for b in ballots:
        for rank, name in enumerate(b.ranking, 1):
            rows.append([b.id, name, rank, b.precinct, b.age])
        if not b.ranking:
            rows.append([b.id, "", "", b.precinct, b.age])
    return table(rows)


def orders(ballots):
    return table([["COUNT", "ballot", "Precinct", "Age", "id"]] +
                 [[1, " > ".join(b.ranking), b.precinct, b.age, b.id] for b in ballots])


def preflib(ballots):
    head = [f"# NUMBER ALTERNATIVES: {len(CANDIDATES)}"] + [f"# ALTERNATIVE NAME {i}: {c}" for i, c in enumerate(CANDIDATES, 1)]
    lines = ["1: " + ",".join(str(CANDIDATES.index(c) + 1) for c in b.ranking) for b in ballots]
    return "\n".join(head + lines) + "\n"


def blt(ballots):
    lines = [" ".join(["1", *[str(CANDIDATES.index(c) + 1) for c in b.ranking], "0"]) for b in ballots]
    names = ['"' + c.replace('"', "'") + '"' for c in CANDIDATES]
    return "\n".join([f"{len(CANDIDATES)} 1", *lines, "0", *names, '"Town"']) + "\n"


def jsonl(ballots):
    return "".join(json.dumps({"ranking": b.ranking, "id": b.id, "precinct": b.precinct, "age": b.age}) + "\n" for b in ballots)


def other_contest(ballot):
    return ["Xi", "Yo"] if int(ballot.id) % 3 else ["", ""]


LAYOUTS = {
    # name: (file, text of the ballots, flags, columns that are carried)
    "wide": ("cvr.csv", lambda b: wide(b, [f"rank{i}" for i in range(1, 5)], line_end="\r\n", mark="\ufeff"), [],
             ["Ballot ID", "Precinct", "Age"]),
    "choices": ("choices.csv", lambda b: wide(b, ["First Choice", "Second Choice", "Third Choice", "Fourth Choice"],
                                              delimiter=";"), [], ["Ballot ID", "Precinct", "Age"]),
    "contests": ("city.csv", lambda b: wide(b, [f"DEM Mayor Choice {i} of 4 Citywide (026916)" for i in range(1, 5)], other_contest,
                                            [f"DEM Council Choice {i} of 2 (1)" for i in (1, 2)]),
                 ["--contest", "Mayor"], ["Ballot ID", "Precinct", "Age"]),
    "matrix": ("survey.csv", ranks_in_cells, [], ["ResponseId", "Age", "Finished", "Precinct"]),
    "qualtrics": ("qualtrics.csv", qualtrics, [], ["ResponseId", "Age", "Precinct"]),
    "surveymonkey": ("monkey.csv", surveymonkey, [], ["Respondent ID", "Precinct", "Age"]),
    "long": ("long.csv", long_form, [], ["Voter", "Precinct", "Age"]),
    "orders": ("orders.csv", orders, [], ["Precinct", "Age", "id"]),
    "preflib": ("votes.soi", preflib, [], []),
    "blt": ("votes.blt", blt, [], []),
    "jsonl": ("votes.jsonl", jsonl, [], ["id", "precinct", "age"]),
}


def write(folder, layout, ballots):
    """The file of a layout; its path, the flags that read it, and the columns that should come back."""
    name, text, flags, columns = LAYOUTS[layout]
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write(text(ballots))
    return path, flags, columns


def value_of(ballot, column):
    name = column.lower()
    return ballot.precinct if name == "precinct" else str(ballot.age) if name == "age" else "1" if name == "finished" else ballot.id

"""The same seed gives the same model as the command line, in every family; files go both ways."""

from __future__ import annotations

import json

import numpy as np
import pytest

import caucus
from conftest import comparable

# Every family with options that keep a fit short, as words of the command line and as parameters.
CASES = [
    ("pl", [], {}),
    ("pl", ["-k", "3"], {"components": 3}),
    ("pl", ["-k", "2", "--method", "em-lsr", "--restarts", "3"], {"components": 2, "method": "em-lsr", "restarts": 3}),
    ("pl", ["-k", "2", "--method", "gibbs", "--sweeps", "60", "--burnin", "20"], {"components": 2, "method": "gibbs", "sweeps": 60, "burnin": 20}),
    ("mallows", ["-k", "2"], {"components": 2}),
    ("gmallows", ["-k", "2", "--accelerate", "off"], {"components": 2, "accelerate": False}),
    ("m4", ["-k", "2", "--restarts", "2"], {"components": 2, "restarts": 2}),
    ("dpm", ["--sweeps", "30", "--burnin", "10", "--chains", "2", "--r", "1"], {"sweeps": 30, "burnin": 10, "chains": 2}),
    ("kde", ["--theta", "0.8"], {"theta": 0.8}),
    ("ebms", ["--iterations", "20"], {"iterations": 20}),
]


@pytest.mark.parametrize(("family", "words", "params"), CASES, ids=[f"{c[0]}-{'-'.join(c[1])}" for c in CASES])
def test_same_model_as_the_command_line(family, words, params, cli, town, complete, tmp_path):
    data = complete if family in ("m4", "ebms", "kde", "dpm") else town
    path = tmp_path / "votes.jsonl"
    data.write(path)
    cli("fit", path, "--family", family, "--seed", 7, *words, "--quiet", "--out", "theirs.json")
    theirs = json.loads((tmp_path / "theirs.json").read_text())
    rankings = caucus.Rankings.read(path)
    model = caucus.FAMILIES[family](random_state=7, **params).fit(rankings)
    assert comparable(model.to_dict()) == comparable(theirs)
    model.save("ours.json")
    cli("assign", "ours.json", path, "--out", "members.csv")
    lines = [line.split(",") for line in (tmp_path / "members.csv").read_text().splitlines()[1:]]
    ours, labels = model.predict_proba(rankings), model.predict(rankings)
    # The command line reads the parameters back from the file, normalised: probabilities agree to rounding.
    np.testing.assert_allclose([[float(cell) for cell in line[3 : 3 + ours.shape[1]]] for line in lines], ours, rtol=1e-9, atol=1e-14)
    assert [int(line[2]) - 1 for line in lines] == labels.tolist()
    scored = json.loads(cli("score", "ours.json", path, "--json"))
    assert scored["mean_loglik"] == pytest.approx(model.score(rankings), rel=1e-13)
    again = caucus.load("theirs.json")
    assert type(again) is type(model) and np.allclose(again.predict_proba(rankings), ours, rtol=1e-9, atol=1e-14)
    again.save("again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "theirs.json").read_text()
    assert again.get_params()["random_state"] == 7
    drawn, groups = model.sample(20, random_state=5)
    cli("sample", "ours.json", "-n", 20, "--seed", 5, "--out", "drawn.jsonl", "--labels", "labels.csv")
    assert list(caucus.Rankings.read("drawn.jsonl")) == list(drawn)


def test_same_choice_and_comparison(cli, town):
    path = caucus.examples.town_path()
    theirs = json.loads(cli("select", path, "-k", "1..4", "--criterion", "bic", "--json"))
    ours = caucus.select(path, components="1..4", criterion="bic")
    assert ours.chosen_k == theirs["chosen_k"] and ours.why == theirs["why"]
    for name in ("k", "loglik", "bic", "aic", "icl", "ebic"):
        assert ours[name].tolist() == [row[name] for row in theirs["table"]]
    theirs = json.loads(cli("compare", path, "--families", "pl:2,mallows:2,m4:2", "--folds", 2, "--json"))
    ours = caucus.compare(path, [caucus.PlackettLuceMixture(2), "mallows:2", "m4:2"], folds=2)
    assert ours["family"].tolist() == [row["family"] for row in theirs["table"]]
    assert ours["heldout_mean"][:2].tolist() == [row["heldout_mean"] for row in theirs["table"][:2]]
    assert ours["refused"][2] == theirs["table"][2]["refused"] and ours.note == theirs["note"]


def test_same_check(cli, town):
    model = caucus.PlackettLuceMixture(components=3).fit(town)
    model.save("model.json")
    theirs = json.loads(cli("check", "model.json", caucus.examples.town_path(), "--json"))
    ours = model.check()
    assert ours["name"].tolist() == [one["name"] for one in theirs["checks"]]
    assert ours["p_value"].tolist() == [one["p_value"] for one in theirs["checks"]]
    assert ours.worst["z"].tolist() == [row["z"] for one in theirs["checks"] for row in one["worst"]]
    assert caucus.check("model.json", caucus.examples.town_path()).to_dict() == ours.to_dict()


def test_same_words_of_errors(cli, tmp_path):
    import subprocess

    def said(*words):
        with pytest.raises(subprocess.CalledProcessError) as failure:
            cli(*words)
        return failure.value.stderr

    path = caucus.examples.town_path()
    with pytest.raises(caucus.UsageError) as ours:
        caucus.PlackettLuceMixture(components=0).fit(path)
    assert f"caucus: {ours.value}\n" == said("fit", path, "-k", "0")
    with pytest.raises(caucus.DataError) as ours:
        caucus.MultiplicativeMallows(components=2).fit(path)
    assert str(ours.value).replace(path, "") in said("fit", path, "--family", "m4", "-k", "2").replace(path, "")
    with pytest.raises(caucus.NoInputError) as ours:
        caucus.load("nowhere.json")
    assert f"caucus: {ours.value}\n" == said("assign", "nowhere.json", path)

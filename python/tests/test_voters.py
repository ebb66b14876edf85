"""Voters and what is known of them: kept in rankings, one row each in predictions, and the same results as the command line's."""

from __future__ import annotations

import csv
import json
import pickle

import numpy as np
import pytest

import caucus
from caucus import Rankings
from conftest import comparable

ITEMS = list("abcde")
JUDGES = [f"j{number:02d}" for number in range(24)]


@pytest.fixture(scope="module")
def battles() -> dict[str, list]:
    """Ten battles of each judge; two kinds of judges, the old and the young."""
    rng = np.random.default_rng(8)
    worth = {True: np.array([1.5, 0.7, 0.0, -0.7, -1.5]), False: np.array([-1.5, -0.7, 0.0, 0.7, 1.5])}
    table: dict[str, list] = {"first": [], "second": [], "winner": [], "judge": []}
    for number in rng.permutation(np.repeat(np.arange(24), 10)):
        one, other = rng.choice(5, 2, replace=False)
        likes = worth[bool(number % 2)]
        wins = rng.random() < 1 / (1 + np.exp(likes[other] - likes[one]))
        for name, value in zip(table, (ITEMS[one], ITEMS[other], ITEMS[one if wins else other], JUDGES[number])):
            table[name].append(value)
    return table


@pytest.fixture(scope="module")
def judges() -> dict[str, list]:
    """Backwards, so that the order is not that of the battles."""
    rng = np.random.default_rng(9)
    ages = [int(round(60 * (number % 2) + 20 + rng.normal(0, 12))) for number in range(24)]
    return {"judge": JUDGES[::-1], "age": ages[::-1], "town": [["Bern", "Chur"][number % 3 == 0] for number in range(24)][::-1]}


def write(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values()))


@pytest.fixture
def files(tmp_path, battles, judges):
    write(tmp_path / "battles.csv", battles)
    write(tmp_path / "judges.csv", judges)
    return tmp_path


def votes_of(battles, judges=None) -> Rankings:
    return Rankings.from_pairwise(battles, columns=["first", "second", "winner"], voters="judge", voter_table=judges)


COLUMNS = ["--columns", "first", "--columns", "second", "--columns", "winner", "--format", "csv-pairwise", "--unranked", "absent", "--weight-column", "none"]


def test_every_constructor_takes_voters(town):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    orders = [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"], ["a", "c", "b"]]
    who = ["x", "y", "x", "z"]
    numbers = np.array([["abc".index(item) for item in order] for order in orders])
    ranks = np.argsort(numbers, axis=1) + 1
    wide = pandas.DataFrame(orders, columns=["one", "two", "three"]).assign(person=who)
    by_item = pandas.DataFrame(ranks, columns=list("abc")).assign(person=who)
    long = [(row, item, place + 1, who[row]) for row, order in enumerate(orders) for place, item in enumerate(order)]
    long_frame = pandas.DataFrame(long, columns=["ballot", "item", "rank", "person"])
    wide.to_csv("wide.csv", index=False)
    votekit = pytest.importorskip("votekit")
    ballots = [votekit.RankBallot(ranking=[{item} for item in order], weight=1, voter_set={name}) for order, name in zip(orders, who)]
    profile = votekit.RankProfile(ballots=ballots, candidates=tuple("abc"), max_ranking_length=3)
    made = {
        "lists": Rankings(orders, voters=who),
        "lists and a covariate": Rankings(orders, covariates={"person": who}, voters="person"),
        "numbers": Rankings.from_orders(numbers, items=list("abc"), voters=np.array(who)),
        "places": Rankings.from_orders(wide, voters="person"),
        "places in polars": Rankings.from_orders(polars.from_pandas(wide), columns=["one", "two", "three"], voters="person"),
        "places in arrow": Rankings.from_orders(pyarrow.Table.from_pandas(wide), voters="person"),
        "ranks": Rankings.from_ranks(by_item, voters="person"),
        "rank numbers": Rankings.from_ranks(ranks, items=list("abc"), voters=pandas.Series(who, name="person")),
        "ratings": Rankings.from_ratings(-ranks, items=list("abc"), voters=who, unranked="last"),
        "long": Rankings.from_long(long_frame, voter="ballot", voters="person"),
        "arrow": Rankings.from_arrow(pyarrow.array(orders), voters=pyarrow.array(who)),
        "file": Rankings.read("wide.csv", voters="person", columns=["one", "two", "three"], format="csv-wide"),
        "votekit": Rankings.from_votekit(profile, voters="voter"),
        "later": Rankings(orders).with_voters(who),
    }
    for name, votes in made.items():
        assert list(votes) == orders, name
        assert votes.voters == ["x", "y", "z"] and votes.voter_of_row.tolist() == [0, 1, 0, 2], name
        assert votes.voter_weights.tolist() == [1, 1, 1] and "cast by 3 voters" in repr(votes), name
    assert Rankings(orders).voters == [] and made["later"].with_voters(None).voters == []
    preflib = pytest.importorskip("preflibtools.instances")
    town.write("town.soi")
    instance = preflib.OrdinalInstance("town.soi")
    rows = len(Rankings.from_preflib(instance))
    assert len(Rankings.from_preflib(instance, voters=np.arange(rows)).voters) == rows


def test_slices_pickles_and_frames_keep_voters(battles, judges):
    votes = votes_of(battles, judges)
    assert len(votes) == 240 and len(votes.voters) == 24 and votes.voters == list(dict.fromkeys(battles["judge"]))
    table = votes.voter_table
    assert table.columns == ["voter", "weight", "rankings", "age", "town"] and table["rankings"].tolist() == [10] * 24
    ages = dict(zip(judges["judge"], judges["age"]))
    assert table["age"].tolist() == [ages[name] for name in votes.voters]
    part = votes[50:150]
    assert part.voters == list(dict.fromkeys(battles["judge"][50:150]))
    assert part.voter_table["age"].tolist() == [ages[name] for name in part.voters]
    assert [part.voters[who] for who in part.voter_of_row] == battles["judge"][50:150]
    twice = votes[np.repeat(np.arange(240), 2)]
    assert twice.voters == votes.voters and twice.voter_table["rankings"].tolist() == [20] * 24
    copy = pickle.loads(pickle.dumps(votes))
    assert copy.voters == votes.voters and copy.digest == votes.digest and copy.voter_table.to_dict() == table.to_dict()
    assert copy.voter_of_row.tolist() == votes.voter_of_row.tolist()
    doubled = votes.with_weights(np.full(240, 2.0))
    assert doubled.voter_weights.tolist() == [2.0] * 24 and doubled.voter_table["age"].tolist() == table["age"].tolist()
    with pytest.raises(caucus.DataError, match="the same in all rows"):
        votes.with_weights(np.arange(1.0, 241.0))
    facts = votes.facts()
    assert (facts["num_voters"], facts["min_per_voter"], facts["max_per_voter"]) == (24, 10, 10)
    shown = votes.describe()
    listed = {item: len({who for who, a, b in zip(battles["judge"], battles["first"], battles["second"]) if item in (a, b)}) for item in ITEMS}
    assert dict(zip(shown["item"], (24 * shown["voters"]).round().astype(int))) == listed
    assert "voters" not in Rankings([["a"]]).describe().columns
    pandas = pytest.importorskip("pandas")
    frame = votes.to_pandas()
    assert frame["judge"].tolist() == battles["judge"] and frame["age"].tolist() == [ages[name] for name in battles["judge"]]
    assert isinstance(votes.to_pandas("long"), pandas.DataFrame)
    assert votes.with_covariates({"other": np.arange(240.0)}).voters == votes.voters


def test_blank_ballots_and_a_column_that_is_no_voter():
    orders = [[], ["a", "b"], ["b", "a"], [], ["a", "b"]]
    with pytest.warns(caucus.CaucusWarning, match="blank rankings only"):
        votes = Rankings(orders, voters=["silent", "x", "y", "x", "y"])
    assert votes.voters == ["x", "y", "silent"] and votes.voter_of_row.tolist() == [2, 0, 1, 0, 1]
    assert votes.voter_weights.tolist() == [1, 1, 0] and votes.voter_table["voter"].tolist() == ["x", "y"]
    model = caucus.PlackettLuceMixture(1).fit(votes)
    assert model.predict(votes).tolist() == [0, 0, -1] and np.isnan(model.score_samples(votes)[2])
    assert model.score(votes) == pytest.approx(model.loglik_ / 2)
    # A covariate called voter is a column like any other, also after a pickle.
    kept = pickle.loads(pickle.dumps(Rankings([["a"], [], ["b"]], covariates={"voter": ["x", "y", "z"]})))
    assert kept.voters == [] and kept.covariates["voter"] == ["x", "y", "z"]
    with pytest.raises(caucus.UsageError, match="no such column"):
        Rankings([["a"]], covariates={"x": [1]}, voters="who")
    with pytest.raises(caucus.DataError, match="name no voter"):
        Rankings([["a"], ["b"]], voters=["x", None])
    with pytest.raises(caucus.DataError, match="2 values for 1 rankings"):
        Rankings([["a"]], voters=["x", "y"])
    with pytest.raises(caucus.UsageError, match="needs voters"):
        Rankings([["a"]], voter_table={"voter": ["x"], "age": [3]})
    with pytest.raises(caucus.DataError, match="more than one line"):
        Rankings([["a"]], voters=["x"], voter_table={"voter": ["x", "x"], "age": [3, 4]})


def test_same_rankings_as_the_command_line_reads(files, battles, judges, cli):
    told = json.loads(cli("info", "battles.csv", "--voter", "judge", "--voters", "judges.csv", *COLUMNS, "--json"))
    for votes in (
        votes_of(battles, judges),
        Rankings.read("battles.csv", voters="judge", voter_table="judges.csv", columns=["first", "second", "winner"], format="csv-pairwise"),
        Rankings.read("battles.csv", voters="judge", voter_table=judges, columns=["first", "second", "winner"], format="csv-pairwise"),
    ):
        assert votes.digest == told["digest"] and votes.facts()["num_voters"] == told["num_voters"] == 24
        assert votes.voter_table.columns[3:] == told["voter_covariates"]


# Voters, what is known of them and of the items: every way as words of the command line and as parameters.
CASES = [
    ("pl", [], {}),
    ("pl", ["-k", "2"], {"components": 2}),
    ("pl", ["-k", "2", "--method", "emm"], {"components": 2, "method": "emm"}),
    ("pl", ["-k", "2", "--method", "gibbs", "--sweeps", "60", "--burnin", "20"], {"components": 2, "method": "gibbs", "sweeps": 60, "burnin": 20}),
    ("mallows", ["-k", "2"], {"components": 2}),
    ("pl", ["-k", "2", "--membership", "age + town"], {"components": 2, "membership": "age + town"}),
    ("pl", ["-k", "2", "--items", "items.csv", "--utilities", "price + style"], {"components": 2, "items": "items.csv", "utilities": "price + style"}),
]


@pytest.mark.parametrize(("family", "words", "params"), CASES, ids=[f"{c[0]}-{'-'.join(c[1])}" for c in CASES])
def test_same_model_and_members_as_the_command_line(family, words, params, files, cli):
    write("items.csv", {"item": ITEMS, "price": [5, 4, 3, 2.5, 1], "style": ["x", "y", "x", "y", "y"]})
    cli("fit", "battles.csv", "--voter", "judge", "--voters", "judges.csv", *COLUMNS, "--family", family, "--seed", 7, *words, "--quiet", "--out", "theirs.json")
    votes = Rankings.read(
        "battles.csv", voters="judge", voter_table="judges.csv", columns=["first", "second", "winner"], format="csv-pairwise", unranked="absent", weight_column="none"
    )
    model = caucus.FAMILIES[family](random_state=7, **params).fit(votes)
    assert comparable(model.to_dict()) == comparable(json.loads((files / "theirs.json").read_text()))
    cli("assign", "theirs.json", "battles.csv", "--voters", "judges.csv", "--out", "members.csv")
    with open("members.csv", newline="") as file:
        members = list(csv.DictReader(file))
    assert [one["voter"] for one in members] == votes.voters
    ours = model.predict_proba(votes)
    assert ours.shape == (24, model.n_components_)
    theirs = [[float(one[f"p{k + 1}"]) for k in range(model.n_components_)] for one in members]
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-14)
    assert [int(one["label"]) - 1 for one in members] == model.predict(votes).tolist()
    scored = json.loads(cli("score", "theirs.json", "battles.csv", "--voters", "judges.csv", "--json"))
    assert scored["mean_loglik"] == pytest.approx(model.score(votes), rel=1e-12)
    np.testing.assert_allclose([one["loglik"] for one in scored["voters"]], model.score_samples(votes), rtol=1e-9)
    # By path, a file is read as the model's own was: with its voters. (What is known of them stands in another file.)
    if "membership" not in params:
        assert model.predict("battles.csv").tolist() == model.predict(votes).tolist()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(votes), ours, rtol=1e-9, atol=1e-14)


def test_groups_are_of_voters(battles, judges):
    votes = votes_of(battles, judges)
    model = caucus.PlackettLuceMixture(2).fit(votes)
    labels = dict(zip(votes.voters, model.predict(votes)))
    kinds = [{labels[name] for name in JUDGES[first::2]} for first in (0, 1)]
    assert [len(kind) for kind in kinds] == [1, 1] and kinds[0] != kinds[1]
    assert model.summary_["num_voters"] == 24 and "by 24 voters" in model.summary()
    assert model.bic_ == pytest.approx(-2 * model.loglik_ + model.summary_["num_parameters"] * np.log(24))
    # Without voters a battle says next to nothing about its group.
    alone = caucus.PlackettLuceMixture(2).fit(votes.with_voters(None))
    assert alone.predict_proba(votes.with_voters(None)).shape == (240, 2) and model.loglik_ > alone.loglik_
    assert model.report("report.html").startswith("<!doctype html>")
    drawn, groups = model.sample(5, per_voter=(3, 6), menu=2, random_state=4)
    assert len(groups) == len(drawn.voters) == 5 and drawn.facts()["kind"] == "pairwise"
    assert 3 <= drawn.facts()["min_per_voter"] <= drawn.facts()["max_per_voter"] <= 6
    with pytest.raises(caucus.UsageError, match="per_voter"):
        model.sample(5, per_voter=0)
    check = model.check(replicates=19)
    assert len(check) >= 1
    pytest.importorskip("matplotlib").use("Agg")
    assert model.plot_memberships().get_ylabel() == "voters"


def test_drawn_voters_are_the_command_lines(battles, cli):
    model = caucus.PlackettLuceMixture(2).fit(votes_of(battles))
    model.save("model.json")
    cli("sample", "model.json", "-n", 7, "--per-voter", "2..4", "--menu", 3, "--seed", 5, "--out", "drawn.jsonl", "--labels", "labels.csv")
    drawn, groups = model.sample(7, per_voter=(2, 4), menu=3, random_state=5)
    theirs = Rankings.read("drawn.jsonl")
    assert list(theirs) == list(drawn) and theirs.voters == drawn.voters and theirs.voter_of_row.tolist() == drawn.voter_of_row.tolist()
    with open("labels.csv", newline="") as file:
        assert [int(row["label"]) - 1 for row in csv.DictReader(file)] == groups.tolist()


def test_choice_comparison_and_folds_keep_voters_together(files, battles, judges, cli):
    votes = votes_of(battles, judges)
    flags = ["--voter", "judge", *COLUMNS]
    theirs = json.loads(cli("select", "battles.csv", *flags, "-k", "1..3", "--criterion", "cv", "--folds", 4, "--json"))
    ours = caucus.select(votes, components="1..3", criterion="cv", folds=4)
    assert ours.chosen_k == theirs["chosen_k"] == 2 and ours["heldout_mean"].tolist() == [row["heldout_mean"] for row in theirs["table"]]
    assert ours.model.predict(votes).shape == (24,)
    theirs = json.loads(cli("compare", "battles.csv", *flags, "--families", "pl:2,pl:1", "--folds", 3, "--json"))
    ours = caucus.compare(votes, ["pl:2", "pl:1"], folds=3)
    assert ours["heldout_mean"].tolist() == [row["heldout_mean"] for row in theirs["table"]]
    # scikit-learn's folds keep voters together where they are told who cast what; then scores are per voter.
    selection = pytest.importorskip("sklearn.model_selection")
    search = selection.GridSearchCV(caucus.PlackettLuceMixture(), {"components": [1, 2]}, cv=selection.GroupKFold(4))
    search.fit(votes, groups=votes.voter_of_row)
    assert search.best_params_ == {"components": 2}
    by_hand = []
    for train, test in selection.GroupKFold(4).split(np.arange(240), groups=votes.voter_of_row):
        assert not set(votes[train].voters) & set(votes[test].voters)
        by_hand.append(caucus.PlackettLuceMixture(2).fit(votes[train]).score(votes[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(by_hand), rel=1e-12)


def test_membership(files, battles, judges, cli):
    votes = votes_of(battles, judges)
    model = caucus.PlackettLuceMixture(2, membership="age + town").fit(votes)
    found = model.membership_
    assert set(found["group"]) == {0, 1} and {"age", "(intercept)"} < set(found["column"])
    zero = found["group"] == 0
    assert not found["coefficient"][zero].any() and (found["standard_error"][~zero] > 0).all()
    assert model.membership_tests_["term"].tolist() == ["age", "town"] and model.membership_tests_["p_value"][0] < 0.01
    assert any("age" in words for words in model.membership_words_) and model.membership_words_[0] in model.summary()
    model.save("model.json")
    rows = {"age": [25, 80], "town": ["Bern", "Chur"]}
    write("new.csv", rows)
    theirs = json.loads(cli("predict", "model.json", "new.csv", "--json"))
    ours = model.predict_voters(rows)
    for place, row in enumerate(theirs["rows"]):
        assert ours["group"][place] == row["label"] - 1
        for k in range(2):
            assert [ours[name][place] for name in (f"p{k}", f"p{k}_low", f"p{k}_high")] == [row[name][k] for name in ("p", "p_low", "p_high")]
        assert [ours[f"u_{item}"][place] for item in ITEMS] == row["utilities"]
    assert ours["group"][0] != ours["group"][1]
    assert model.predict_voters({"age": 25, "town": "Bern"})["p0"][0] == ours["p0"][0]
    with pytest.raises(caucus.DataError, match="age"):
        model.predict_voters({"town": ["Bern"]})
    with pytest.raises(caucus.UsageError, match="membership"):
        caucus.PlackettLuceMixture(2).fit(votes).predict_voters(rows)
    with pytest.raises(caucus.UsageError, match="frame"):
        model.predict_voters([[1, 2]])
    with pytest.raises(AttributeError, match="without utilities"):
        model.item_coefficients_


def test_membership_by_row(town, cli):
    """Without voters every row is one, and columns beside it are the voter's."""
    rows = town[np.repeat(np.arange(len(town)), town.weights.astype(int))][:600].with_weights(np.ones(600))
    rng = np.random.default_rng(1)
    first = np.array([ranking[0] for ranking in rows])
    area = np.where(rng.random(600) < 0.8, first == "Market hall", rng.random(600) < 0.5)
    votes = rows.with_covariates({"area": ["rural" if one else "city" for one in area]})
    votes.write("votes.jsonl")
    cli("fit", "votes.jsonl", "-k", 2, "--membership", "area", "--seed", 3, "--quiet", "--out", "theirs.json")
    model = caucus.PlackettLuceMixture(2, membership="area", random_state=3).fit(Rankings.read("votes.jsonl"))
    assert comparable(model.to_dict()) == comparable(json.loads(open("theirs.json").read()))
    assert model.predict_proba(votes).shape == (600, 2) and votes.voters == []
    cli("assign", "theirs.json", "votes.jsonl", "--out", "members.csv")
    with open("members.csv", newline="") as file:
        theirs = [[float(one["p1"]), float(one["p2"])] for one in csv.DictReader(file)]
    np.testing.assert_allclose(model.predict_proba(votes), theirs, rtol=1e-9, atol=1e-14)
    assert model.score(votes) == pytest.approx(model.loglik_ / 600, rel=1e-9)
    assert model.predict("votes.jsonl").tolist() == model.predict(votes).tolist()
    assert len(model.check(replicates=9)) >= 1 and model.report().startswith("<!doctype html>")
    chosen = caucus.select(votes, caucus.PlackettLuceMixture(membership="area", random_state=3), components=[1, 2], criterion="bic")
    assert chosen.model.membership_["column"].tolist()[1] == "area=rural" or chosen.chosen_k == 1


def test_item_covariates_and_new_items(battles, cli):
    votes = votes_of(battles)
    known = {"item": ITEMS, "price": [5, 4, 3, 2, 1.5], "style": ["x", "y", "x", "y", "y"]}
    write("items.csv", known)
    by_path = caucus.PlackettLuceMixture(2, items="items.csv", utilities="price").fit(votes)
    by_frame = caucus.PlackettLuceMixture(2, items=known, utilities="price").fit(votes)
    assert by_frame.to_dict()["components"] == by_path.to_dict()["components"]
    assert by_frame.summary_["options"]["items"] == "(a frame)" and "<frame>" in repr(by_frame)
    assert by_path.item_coefficients_["column"].tolist() == ["price", "price"]
    assert (np.sign(by_path.item_coefficients_["coefficient"]).tolist()) in ([1, -1], [-1, 1])
    clone = pytest.importorskip("sklearn.base").clone
    assert clone(by_frame).fit(votes).loglik_ == by_frame.loglik_
    by_path.save("model.json")
    theirs = json.loads(cli("predict", "model.json", "--row", "price=2.2", "--json"))["rows"][0]
    ours = by_frame.predict_items({"price": 2.2})
    assert [ours[f"u{k}"][0] for k in range(2)] == theirs["utilities"]
    assert [ours[f"u{k}_low"][0] for k in range(2)] == theirs["low"] and [ours[f"u{k}_high"][0] for k in range(2)] == theirs["high"]
    with pytest.raises(caucus.DataError, match="utilities"):
        caucus.PlackettLuceMixture(2).fit(votes).predict_items({"price": 1})
    with pytest.raises(caucus.DataError, match="price"):
        by_path.predict_items({"style": "x"})
    short = {name: values[:4] for name, values in known.items()}
    with pytest.raises(caucus.DataError, match="^the frame items: column 'item' has no line for 1 of 5 items"):
        caucus.PlackettLuceMixture(2, items=short, utilities="price").fit(votes)
    chosen = caucus.select(votes, caucus.PlackettLuceMixture(items=known, utilities="price"), components=[1, 2], criterion="bic")
    assert chosen.chosen_k == 2 and chosen.model.item_coefficients_["column"][0] == "price"


def test_dampening(complete, town, cli):
    votes = complete.with_voters(np.arange(len(complete)) // 4)
    votes.write("votes.jsonl")
    cli("fit", "votes.jsonl", "-k", 2, "--dampening", "by-group", "--seed", 2, "--quiet", "--out", "theirs.json")
    model = caucus.PlackettLuceMixture(2, dampening="by-group", random_state=2).fit(caucus.Rankings.read("votes.jsonl"))
    assert comparable(model.to_dict()) == comparable(json.loads(open("theirs.json").read()))
    assert model.dampening_.shape[0] == 2 and (model.dampening_ > 0).all() and model.predict(votes).shape == (30,)
    with pytest.raises(AttributeError, match="dampening"):
        caucus.PlackettLuceMixture(1).fit(town).dampening_


def test_generalized_mallows_groups_voters():
    """Complete rankings, four of each person; two kinds of persons who order six items the one way or the other."""
    rng = np.random.default_rng(3)
    who = [f"v{number:02d}" for number in range(40) for _ in range(4)]
    orders = []
    for number in range(160):
        place = np.arange(6) + rng.normal(0, 1.5, 6)
        orders.append([list("abcdef")[item] for item in np.argsort(place if (number // 4) % 2 == 0 else -place)])
    votes = Rankings(orders, voters=who)
    model = caucus.GeneralizedMallowsMixture(2).fit(votes)
    labels = model.predict(votes)
    assert labels.shape == (40,)
    assert len(set(labels[::2])) == 1 and len(set(labels[1::2])) == 1 and labels[0] != labels[1]
    assert model.predict_proba(votes).shape == (40, 2)


def test_families_that_take_no_voters_say_so(complete):
    votes = complete.with_voters(np.arange(len(complete)) // 2)
    for family in caucus._core.families():
        if any("voters" in method["accepts"] for method in family["methods"]):
            continue
        with pytest.raises(caucus.DataError, match="several rankings by one voter"):
            caucus.FAMILIES[family["name"]]().fit(votes)

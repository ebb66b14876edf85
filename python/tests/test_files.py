"""Model files, reports, chains, pictures, tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

import caucus


@pytest.fixture(scope="module")
def model(town):
    return caucus.PlackettLuceMixture(3).fit(town)


def test_save_and_load(model, town, tmp_path):
    model.save(tmp_path / "m.json")
    again = caucus.load(tmp_path / "m.json")
    assert isinstance(again, caucus.PlackettLuceMixture) and again.components == 3
    assert again.utilities_.tolist() == model.utilities_.tolist() and again.loglik_ == model.loglik_
    assert again.score(town) == pytest.approx(model.score(town), rel=1e-12)
    with pytest.raises(caucus.NoInputError):
        caucus.load("nowhere.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(caucus.DataError, match="bad.json"):
        caucus.load("bad.json")
    with pytest.raises(caucus.IoError):
        model.save("no/such/folder/m.json")


def test_a_hand_written_file_is_enough(tmp_path):
    text = {"schema": "caucus.model/1", "family": "pl", "items": ["a", "b"], "components": [{"weight": 1.0, "utilities": [0.5, -0.5]}]}
    (tmp_path / "hand.json").write_text(json.dumps(text))
    model = caucus.load("hand.json")
    assert np.exp(model.score_samples([["a", "b"], ["b", "a"]])).sum() == pytest.approx(1.0)
    assert np.isnan(model.loglik_)


def test_report(model, tmp_path):
    page = model.report("out.html", title="The empty lot", names=["Families", "Shops", "Young"], voters="citizens")
    assert (tmp_path / "out.html").read_text() == page and page.startswith("<!doctype html>") or page.lower().startswith("<!doctype html")
    assert "The empty lot" in page and "Families" in page and "citizens" in page
    model.report("out.json")
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["schema"] == "caucus.report/1"
    loaded = caucus.load(_saved(model))
    assert len(loaded.report()) < len(page)  # without the ballots
    assert len(loaded.report(data=caucus.examples.town_path())) > len(loaded.report())


def _saved(model):
    model.save("saved.json")
    return "saved.json"


def test_notebook_shows_the_report(model):
    shown = model._repr_html_()
    assert shown.startswith("<iframe") and "srcdoc=" in shown and "Swimming pool" in shown
    assert "<script" not in shown.lower()  # all of it is inside the attribute, escaped
    assert caucus.PlackettLuceMixture(3)._repr_html_() == "<pre>PlackettLuceMixture(components=3)</pre>"
    assert repr(model) == "PlackettLuceMixture(components=3)"


def test_arviz(complete):
    arviz = pytest.importorskip("arviz")
    chains = caucus.DirichletProcessMallows(sweeps=60, burnin=20, chains=2).fit(complete).to_arviz()
    assert dict(chains.posterior.sizes)["chain"] == 2 and "num_clusters" in chains.posterior
    assert len(arviz.summary(chains)) >= 2
    gibbs = caucus.PlackettLuceMixture(2, method="gibbs", sweeps=60, burnin=20).fit(complete)
    assert "loglik" in gibbs.to_arviz().posterior
    with pytest.raises(caucus.UsageError, match="sampler"):
        caucus.PlackettLuceMixture(1).fit(complete).to_arviz()


def test_plots(model, town, complete, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = model.plot_groups(names=["Families", "Shops", "Young"])
    assert [panel.get_title() for panel in panels] == ["Families (48 %)", "Shops (29 %)", "Young (24 %)"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == model.orders_[0]
    first = model.plot_first_places()
    assert len(first.patches) == 24 and sum(bar.get_width() for bar in first.patches) == pytest.approx(300)
    assert len(model.plot_pairs(1).texts) == 56
    members = model.plot_memberships()
    assert sum(bar.get_height() for bar in members.patches) > 2000
    assert len(model.plot_trace().lines[0].get_ydata()) == len(model.trace_)
    assert caucus.select(town, components=[1, 2, 3], criterion="bic").plot().get_ylabel() == "BIC"
    assert caucus.select(complete, components=[1, 2], criterion="cv", folds=2).plot().get_ylabel().startswith("log-probability")
    caucus.MallowsMixture(2).fit(complete).plot_groups()
    caucus.DirichletProcessMallows(sweeps=30, burnin=10, chains=2).fit(complete).plot_trace()
    for number in pyplot.get_fignums():
        pyplot.figure(number).savefig(tmp_path / f"{number}.pdf")
    pyplot.close("all")
    with pytest.raises(caucus.UsageError, match="expected one for each of the 3 groups"):
        model.plot_groups(names=["one"])


def test_nothing_in_a_plot_lies_over_another_or_outside(town, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    many = caucus.PlackettLuceMixture(5, random_state=1).fit(town)
    panels = many.plot_groups(names=["A name that is rather long", "B", "C", "D", "E"])
    assert len(panels[0].figure.axes) == 5 and panels[0].figure.get_size_inches()[0] < 10  # as wide as a page
    many.plot_first_places()
    many.plot_memberships()
    many.plot_pairs()
    caucus.DirichletProcessMallows(sweeps=30, burnin=10, chains=3).fit(town[:100]).plot_trace()
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        figure.savefig(tmp_path / "drawn.png")
        whole = figure.bbox.padded(1.0)
        for axes in figure.axes:
            marks = [bar.get_window_extent() for bar in axes.patches if bar.get_width() and bar.get_height()]
            labels = [text.get_window_extent() for text in [*axes.get_yticklabels(), *axes.get_xticklabels()] if text.get_text()]
            titles = [text.get_window_extent() for text in (axes.title, axes.xaxis.label, axes.yaxis.label) if text.get_text()]
            legend = axes.get_legend()
            if legend is not None:
                box = legend.get_window_extent()
                assert not any(box.overlaps(mark) for mark in marks)
                assert not any(box.overlaps(axes.transData.transform_bbox(line.get_path().get_extents())) for line in axes.lines)
                titles.append(box)
            words = labels + titles
            assert all(not one.overlaps(other) for at, one in enumerate(words) for other in words[:at])
            drawn = axes.get_tightbbox()
            assert whole.x0 <= drawn.x0 and drawn.x1 <= whole.x1 and whole.y0 <= drawn.y0 and drawn.y1 <= whole.y1
    pyplot.close("all")


def test_frames(town):
    found = caucus.select(town, "mallows", components=[1, 2, 3], criterion="ebic")
    assert found.columns[0] == "k" and len(found) == 3 and found.model.n_components_ == found.chosen_k
    frame = found.to_pandas()
    assert frame["k"].tolist() == [1, 2, 3] and frame.loc[frame["ebic"].idxmin(), "k"] == found.chosen_k
    assert found.to_polars()["k"].to_list() == [1, 2, 3]
    assert "<th>ebic</th>" in found._repr_html_() and "ebic" in repr(found)
    assert found.rows()[0]["k"] == 1
    halves = caucus.select(town, components=[1, 2, 3, 4])
    assert halves.chosen_k == 3 and "agreement" in halves.columns and halves.why
    table = caucus.compare(town, ["pl:3", "mallows:1", "m4:2"], folds=2)
    assert table["label"][0] == "pl:3" and table["behind_best"][0] == 0.0
    for bad in (lambda: caucus.select(town, "none"), lambda: caucus.select(town, criterion="luck"), lambda: caucus.compare(town, ["pl:x"])):
        with pytest.raises(caucus.UsageError):
            bad()
    checked = caucus.check(found.model, town)
    assert checked["p_value"].min() < 0.05 and len(checked.worst) > 0  # Mallows does not account for these ballots

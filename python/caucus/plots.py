"""Pictures for papers, with matplotlib (``pip install caucus[plots]``).

Every function takes ``ax`` to draw on and returns what it drew on, so that titles, sizes and files are yours:
``model.plot_groups()[0].figure.savefig("groups.pdf")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError
from ._optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._base import RankingModel
    from ._searches import Selection

__all__ = ["plot_first_places", "plot_groups", "plot_memberships", "plot_pairs", "plot_selection", "plot_trace"]

# Okabe and Ito's colors, which color-blind readers tell apart.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
_PANELS = 3  # groups in a row: as wide as a page
_Z95 = 1.959963984540054


def _color(group: int) -> str:
    return _COLORS[group % len(_COLORS)]


def _names(model: RankingModel, names: Sequence[str]) -> list[str]:
    if names and len(names) != model.n_components_:
        raise UsageError(f"names: found {len(names)}, expected one for each of the {model.n_components_} groups")
    given = list(names) or [f"Group {group}" for group in range(model.n_components_)]
    return [f"{name} ({100 * weight:.0f} %)" for name, weight in zip(given, model.weights_)]


def _axes(ax: Any, width: float, height: float) -> Any:
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "a plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _legend(ax: Axes) -> None:
    # Beside the axes: where bars fill them, no corner is sure to be free.
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _tidy(ax: Axes) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def plot_groups(model: RankingModel, *, names: Sequence[str] = (), ax: Sequence[Axes] | None = None) -> list[Axes]:
    """Each group's items, best on top: utilities with 95 % intervals where the family has them, mean places otherwise.

    ``ax``: one axes per group. Returns them.
    """
    groups, items = model.n_components_, model.items_
    if ax is None:
        pyplot = require("matplotlib.pyplot", "plot_groups")
        columns = min(groups, _PANELS)
        rows = -(-groups // columns)
        size = (3.2 * columns, rows * (0.8 + 0.26 * len(items)))
        panels = list(pyplot.subplots(rows, columns, figsize=size, layout="constrained", sharex=True, squeeze=False)[1].flat)
        for unused in panels[groups:]:
            unused.remove()
        for panel in panels[groups - columns : groups]:  # the lowest of each column
            panel.tick_params(labelbottom=True)
        panels = panels[:groups]
    else:
        panels = list(ax)
        if len(panels) != groups:
            raise UsageError(f"ax: found {len(panels)} axes, expected one for each of the {groups} groups")
    try:
        values, label = model.utilities_, "utility (log-worth)"
    except AttributeError:
        places = model.places()
        values = np.full((groups, len(items)), np.nan)
        for group, item, place in zip(places["group"], places["item"], places["mean_place"]):
            values[group, items.index(item)] = place
        label = "mean place"
    try:
        errors = _Z95 * model.standard_errors_
    except AttributeError:
        errors = np.full_like(values, np.nan)
    by_utility = label != "mean place"
    for group, (panel, title) in enumerate(zip(panels, _names(model, names))):
        order = np.argsort(-values[group] if by_utility else values[group], kind="stable")
        at = np.arange(len(items))[::-1]
        panel.errorbar(values[group][order], at, xerr=np.nan_to_num(errors[group][order]), fmt="o", color=_color(group), markersize=4, linewidth=1)
        panel.set_yticks(at, [items[item] for item in order])
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel(label)
        if by_utility:
            panel.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        _tidy(panel)
    return panels


def plot_first_places(model: RankingModel, *, names: Sequence[str] = (), ax: Axes | None = None) -> Axes:
    """The probability of the first place, by item and group."""
    places, items = model.places(), model.items_
    shares = np.zeros((model.n_components_, len(items)))
    for group, item, first in zip(places["group"], places["item"], places["first"]):
        shares[group, items.index(item)] = first
    order = np.argsort(-(model.weights_ @ shares), kind="stable")
    drawn: Axes = _axes(ax, 7.0, 0.9 + max(0.32, 0.09 * model.n_components_) * len(items))
    height = 0.8 / model.n_components_
    for group, title in enumerate(_names(model, names)):
        at = np.arange(len(items)) + (group - (model.n_components_ - 1) / 2) * height
        drawn.barh(at, 100 * shares[group][order], height=height, color=_color(group), label=title)
    drawn.set_yticks(np.arange(len(items)), [items[item] for item in order])
    drawn.invert_yaxis()
    drawn.set_xlabel("first places, %")
    _legend(drawn)
    _tidy(drawn)
    return drawn


def plot_pairs(model: RankingModel, group: int | None = None, *, ax: Axes | None = None) -> Axes:
    """The probability that the item of a row stands above that of a column, in a group or in all ballots together."""
    names, pairs = model.pairs(group)
    shown = np.array(pairs)
    np.fill_diagonal(shown, np.nan)
    drawn: Axes = _axes(ax, 1.8 + 0.34 * len(names), 1.2 + 0.34 * len(names))
    image = drawn.imshow(100 * shown, cmap="RdBu", vmin=0, vmax=100)
    drawn.set_xticks(range(len(names)), names, rotation=90)
    drawn.set_yticks(range(len(names)), names)
    if len(names) <= 12:
        for row in range(len(names)):
            for column in range(len(names)):
                if row != column:
                    dark = abs(pairs[row, column] - 0.5) > 0.35
                    text = f"{100 * pairs[row, column]:.0f}"
                    drawn.text(column, row, text, ha="center", va="center", fontsize="x-small", color="white" if dark else "black")
    drawn.figure.colorbar(image, ax=drawn, label="row above column, %", shrink=0.8)
    drawn.set_title("All ballots" if group is None else f"Group {group}", fontsize="medium")
    return drawn


def plot_memberships(model: RankingModel, X: Any = None, *, names: Sequence[str] = (), ax: Axes | None = None) -> Axes:
    """How surely ballots belong to the group they are most likely in: a histogram, weighted by counts."""
    if X is None and model._rankings is None:
        raise UsageError("which rankings? This model was not fitted in this session: give X")
    rankings = model._rankings if X is None else model._match(X)
    assert rankings is not None
    memberships, labels = model.predict_proba(rankings), model.predict(rankings)
    listed = labels >= 0
    surest, weights = memberships[listed].max(axis=1), rankings._unit_weights()[listed]
    drawn: Axes = _axes(ax, 6.4, 3.2)
    groups = range(model.n_components_)
    bins = np.linspace(1.0 / max(2, model.n_components_), 1.0, 21)
    drawn.hist(
        [surest[labels[listed] == group] for group in groups],
        bins=bins,  # type: ignore[arg-type]
        weights=[weights[labels[listed] == group] for group in groups],
        stacked=True,
        color=[_color(group) for group in groups],
        label=_names(model, names),
    )
    drawn.set_xlabel("probability of the likeliest group")
    drawn.set_ylabel("voters" if rankings.voters else "ballots")
    _legend(drawn)
    _tidy(drawn)
    return drawn


def plot_trace(model: RankingModel, *, ax: Axes | None = None) -> Axes:
    """The objective step by step; for samplers the log-likelihood or log joint of every chain."""
    drawn: Axes = _axes(ax, 5.2, 3.2)
    chains = model.to_dict().get("posterior", {}).get("traces", [])
    if chains:
        name = next((name for name in ("log_joint", "loglik") if name in chains[0]), next(iter(chains[0])))
        for number, chain in enumerate(chains):
            drawn.plot(chain[name], linewidth=0.8, color=_color(number), label=f"chain {number}")
        if len(chains) > 1:
            _legend(drawn)
        drawn.set_ylabel("log-likelihood" if name == "loglik" else name.replace("_", " "))
        drawn.set_xlabel("draw")
    else:
        drawn.plot(model.trace_, color=_color(0))
        drawn.set_ylabel(str(model.summary_.get("trace_measures", "log-likelihood")))
        drawn.set_xlabel("step")
    _tidy(drawn)
    return drawn


def plot_selection(selection: Selection, *, ax: Axes | None = None) -> Axes:
    """What the number of groups was chosen by, with the chosen one marked: unseen ballots with standard errors, or the criterion."""
    drawn: Axes = _axes(ax, 4.6, 3.2)
    k = selection["k"]
    if selection.criterion in ("halves", "cv", "holdout"):
        values, label = selection["heldout_mean"], "log-probability of an unseen ballot"
        drawn.errorbar(k, values, yerr=selection["heldout_se"], fmt="o-", color=_color(0), markersize=4, linewidth=1)
    else:
        values, label = selection[selection.criterion], selection.criterion.upper()
        drawn.plot(k, values, "o-", color=_color(0), markersize=4, linewidth=1)
    chosen = k == selection.chosen_k
    drawn.plot(k[chosen], values[chosen], "o", color=_color(1), markersize=9, fillstyle="none", label="chosen")
    drawn.set_xticks(k)
    drawn.set_xlabel("number of groups")
    drawn.set_ylabel(label)
    drawn.legend(frameon=False)
    _tidy(drawn)
    return drawn

"""Figures, and trees as text. Figures are drawn into the axes that you pass, or the current ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from hardwood._core.axes import BLUES, MUTED, REDS, axes_or_current, color_of, ring, tidied
from hardwood._core.docs import fill_docs
from hardwood._core.loss_plots import (
    figure_1,
    figure_8,
    impurity_curves,
    loss_curves,
    split_gains,
)
from hardwood._core.tree_plot import plot_tree
from hardwood._core.tree_words import export_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "adaptation_curve",
    "export_text",
    "figure_1",
    "figure_8",
    "impurity_curves",
    "loss_curves",
    "noise_curves",
    "plot_tree",
    "review_curve",
    "split_gains",
]


@fill_docs
def noise_curves(
    noise_rates: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    ylabel: str,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a score against the noise rate, one curve per model.

    Parameters
    ----------
    noise_rates : sequence of float
        Fractions of flipped training labels.

    curves : mapping of str to sequence of float
        For each model, by name, one score per noise rate.

    ylabel : str
        Name of the score.

    {colors, ax}

    {returns_ax}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.plotting import noise_curves
    >>> ax = noise_curves([0.0, 0.2, 0.4], {"Gini": [1.0, 0.76, 0.58]},
    ...                   ylabel="accuracy", ax=Figure().subplots())
    >>> ax.get_ylabel()
    'accuracy'
    """
    ax = axes_or_current(ax)
    for name, values in curves.items():
        ax.plot(
            noise_rates,
            values,
            label=name,
            color=color_of(colors, name),
            marker="o",
            markersize=5,
            linewidth=2,
            clip_on=False,
        )
    ax.set_xlabel("share of training labels flipped")
    ax.set_ylabel(ylabel)
    ax.set_xticks(noise_rates, [f"{rate:.0%}" for rate in noise_rates])
    return tidied(ax)


@fill_docs
def adaptation_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the accuracy on the noisy labels against the amount of smoothing.

    Parameters
    ----------
    model : AdaptiveForestClassifier, AdaptiveTreeClassifier, ANEForestClassifier or ANETreeClassifier
        A fitted model. For the adaptive tree, the accuracy is plotted against the number of leaves,
        and for the ANE models against λ. For a mixture of forests, the plot shows the settings of
        the one with the most trees.

    {ax}

    Returns
    -------
    ax : matplotlib Axes
        The axes, with a curve and a band of one standard error for each family of settings, and a
        ring around the chosen setting.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood import AdaptiveForestClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> from hardwood.plotting import adaptation_curve
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> forest = AdaptiveForestClassifier(20, random_state=0).fit(data.X_train, noisy_y)
    >>> ax = adaptation_curve(forest, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'smallest node split m, or shrinkage h (rows)'
    """
    check_is_fitted(model)
    ax = axes_or_current(ax)
    if hasattr(model, "lam_"):
        table = model.tuning_scores_
        ax.plot(table["lam"], table["accuracy"], "o-", color=BLUES[2], linewidth=2)
        ring(ax, model.lam_, table["accuracy"][table["lam"] == model.lam_].iloc[0])
        ax.set_xlabel("λ")
        ax.set_ylabel("accuracy on held-out noisy labels")
        return tidied(ax)
    table = model.adaptation_
    if hasattr(model, "pruning_"):
        return _pruning_curves(table, ax)
    # The forest that most trees are of; others in the mixture have curves much like it.
    cuts = ["splitter", "max_features"]
    largest = table.loc[table["share"].idxmax(), cuts]
    table = table[(table[cuts] == largest).all(axis=1)]
    plain = table[table["family"] == "plain"]
    named = {"stop": ("stop at small nodes", BLUES[2]), "shrink": ("shrink leaves", REDS[2])}
    for family, (label, color) in named.items():
        rows = table[table["family"] == family]
        ax.plot(rows["amount"], rows["accuracy"], "o-", color=color, linewidth=2, label=label)
        ax.fill_between(
            rows["amount"],
            rows["accuracy"] - rows["error"],
            rows["accuracy"] + rows["error"],
            color=color,
            alpha=0.15,
            linewidth=0,
        )
    ax.axhline(plain["accuracy"].iloc[0], color=MUTED, linestyle=":", label="plain forest")
    chosen = table[table["chosen"]].iloc[0]
    ring(ax, chosen["amount"], chosen["accuracy"])
    ax.set_xscale("log")
    ax.set_xlabel("smallest node split m, or shrinkage h (rows)")
    ax.set_ylabel("out-of-bag accuracy on noisy labels")
    ax.legend(frameon=False)
    return tidied(ax)


@fill_docs
def review_curve(audit: Any, target: float = 0.01, *, ax: Axes | None = None) -> Axes:
    """Plot how many wrong labels are left against how many rows you review.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit.

    target : float, default=0.01
        Share of wrong labels at which the review ends, as in ``LabelAudit.review_plan``.

    {ax}

    Returns
    -------
    ax : matplotlib Axes
        The axes, with the expected number, a band for the 90 % interval, and a line at the target.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.audit import LabelAudit
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> from hardwood.plotting import review_curve
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.1), random_state=0)
    >>> audit = LabelAudit(random_state=0).fit(data.X_train, noisy_y)
    >>> ax = review_curve(audit, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'rows reviewed, the most suspect first'
    """
    plan = audit.review_plan(target)
    ax = axes_or_current(ax)
    rows = plan["rows"]
    ax.fill_between(
        rows,
        plan["left_low"],
        plan["left_high"],
        color=BLUES[2],
        alpha=0.15,
        linewidth=0,
        label="90 % interval",
    )
    ax.plot(rows, plan["left"], color=BLUES[2], linewidth=2, label="expected")
    n_rows = len(audit.issues_)
    ax.axhline(
        target * n_rows, color=MUTED, linestyle=":", label=f"target, {target:.1%} of all rows"
    )
    ring(ax, rows.iloc[-1], plan["left"].iloc[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("rows reviewed, the most suspect first")
    ax.set_ylabel("wrong labels left")
    ax.legend(frameon=False)
    return tidied(ax)


def _pruning_curves(table: Any, ax: Axes) -> Axes:
    """Plot accuracy against the number of leaves, one curve for each way to grow the tree."""
    for (criterion, lam, min_rows), rows in table.groupby(
        ["criterion", "lam", "min_samples_leaf"], sort=False, dropna=False
    ):
        label = criterion if lam != lam else f"{criterion}, λ = {lam:g}"  # NaN: it has no λ
        label += f", leaves of {min_rows} rows or more" if min_rows > 1 else ""
        ax.plot(rows["n_leaves"], rows["accuracy"], ".-", label=label)
    chosen = table[table["chosen"]].iloc[0]
    ring(ax, chosen["n_leaves"], chosen["accuracy"])
    ax.set_xscale("log")
    ax.set_xlabel("leaves")
    ax.set_ylabel("accuracy on held-out noisy labels")
    ax.legend(frameon=False)
    return tidied(ax)

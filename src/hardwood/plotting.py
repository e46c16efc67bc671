"""Figures, and trees as text. Figures are drawn into the axes that you pass, or the current ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._core.docs import fill_docs
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

_MUTED = "#6b6b6b"
_INK = "#222222"
# From light to dark. As in the paper, blue is for the negative exponential and red for the others.
_BLUES = ("#9ecae1", "#4292c6", "#2171b5", "#08306b")
_REDS = ("#fcae91", "#fb6a4a", "#de2d26", "#7f0000")

Array = NDArray[np.float64]


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
    ax = _axes(ax)
    for name, values in curves.items():
        ax.plot(
            noise_rates,
            values,
            label=name,
            color=_color(colors, name),
            marker="o",
            markersize=5,
            linewidth=2,
            clip_on=False,
        )
    ax.set_xlabel("share of training labels flipped")
    ax.set_ylabel(ylabel)
    ax.set_xticks(noise_rates, [f"{rate:.0%}" for rate in noise_rates])
    return _tidied(ax)


@fill_docs
def adaptation_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Plot the accuracy on the noisy labels against the amount of smoothing.

    Parameters
    ----------
    model : AdaptiveForestClassifier, AdaptiveTreeClassifier, ANEForestClassifier or ANETreeClassifier
        A fitted model. For the adaptive tree, the accuracy is plotted against the number of leaves,
        and for the ANE models against λ. For a mixture of forests, the settings of the one with
        most trees are shown.

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
    ax = _axes(ax)
    if hasattr(model, "lam_"):
        table = model.tuning_scores_
        ax.plot(table["lam"], table["accuracy"], "o-", color=_BLUES[2], linewidth=2)
        _ring(ax, model.lam_, table["accuracy"][table["lam"] == model.lam_].iloc[0])
        ax.set_xlabel("λ")
        ax.set_ylabel("accuracy on held-out noisy labels")
        return _tidied(ax)
    table = model.adaptation_
    if hasattr(model, "pruning_"):
        return _pruning_curves(table, ax)
    # The forest that most trees are of; others in the mixture have curves much like it.
    cuts = ["splitter", "max_features"]
    largest = table.loc[table["share"].idxmax(), cuts]
    table = table[(table[cuts] == largest).all(axis=1)]
    plain = table[table["family"] == "plain"]
    named = {"stop": ("stop at small nodes", _BLUES[2]), "shrink": ("shrink leaves", _REDS[2])}
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
    ax.axhline(plain["accuracy"].iloc[0], color=_MUTED, linestyle=":", label="plain forest")
    chosen = table[table["chosen"]].iloc[0]
    _ring(ax, chosen["amount"], chosen["accuracy"])
    ax.set_xscale("log")
    ax.set_xlabel("smallest node split m, or shrinkage h (rows)")
    ax.set_ylabel("out-of-bag accuracy on noisy labels")
    ax.legend(frameon=False)
    return _tidied(ax)


@fill_docs
def review_curve(audit: Any, target: float = 0.01, *, ax: Axes | None = None) -> Axes:
    """Plot how many wrong labels are left against how many rows you review.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit.

    target : float, default=0.01
        The share of wrong labels at which the review ends, as for ``LabelAudit.review_plan``.

    {ax}

    Returns
    -------
    ax : matplotlib Axes
        The axes, with the expected number, a band that is a 90 % interval, and a line at the target.

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
    ax = _axes(ax)
    rows = plan["rows"]
    ax.fill_between(
        rows,
        plan["left_low"],
        plan["left_high"],
        color=_BLUES[2],
        alpha=0.15,
        linewidth=0,
        label="90 % interval",
    )
    ax.plot(rows, plan["left"], color=_BLUES[2], linewidth=2, label="expected")
    n_rows = len(audit.issues_)
    ax.axhline(
        target * n_rows, color=_MUTED, linestyle=":", label=f"target, {target:.1%} of all rows"
    )
    _ring(ax, rows.iloc[-1], plan["left"].iloc[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("rows reviewed, the most suspect first")
    ax.set_ylabel("wrong labels left")
    ax.legend(frameon=False)
    return _tidied(ax)


def _pruning_curves(table: Any, ax: Axes) -> Axes:
    """Plot accuracy against the number of leaves, one curve for each way to grow the tree."""
    for (criterion, lam, min_rows), rows in table.groupby(
        ["criterion", "lam", "min_samples_leaf"], sort=False, dropna=False
    ):
        label = criterion if lam != lam else f"{criterion}, λ = {lam:g}"  # NaN: it has no λ
        label += f", leaves of {min_rows} rows or more" if min_rows > 1 else ""
        ax.plot(rows["n_leaves"], rows["accuracy"], ".-", label=label)
    chosen = table[table["chosen"]].iloc[0]
    _ring(ax, chosen["n_leaves"], chosen["accuracy"])
    ax.set_xscale("log")
    ax.set_xlabel("leaves")
    ax.set_ylabel("accuracy on held-out noisy labels")
    ax.legend(frameon=False)
    return _tidied(ax)


@fill_docs
def loss_curves(
    losses: Mapping[str, Any],
    *,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot losses for two classes against the margin or the probability of the true class.

    Parameters
    ----------
    losses : mapping of str to loss
        Losses of `hardwood.losses`, by name. Either all are margin losses, or all are losses over
        the simplex.

    {colors, ax}

    {returns_ax}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.losses import NegativeExponential, Sigmoid
    >>> from hardwood.plotting import loss_curves
    >>> ax = loss_curves({"sigmoid": Sigmoid(), "NE": NegativeExponential(lam=0.5)},
    ...                  ax=Figure().subplots())
    >>> ax.get_xlabel()
    'margin'
    """
    from hardwood.losses import SimplexLoss

    over_simplex = {isinstance(loss, SimplexLoss) for loss in losses.values()}
    if len(over_simplex) != 1:
        raise ValueError(
            "losses must not be empty, and must be either all margin losses or all losses over the "
            "simplex: the two kinds have different x axes."
        )
    ax = _axes(ax)
    if over_simplex == {True}:
        right = np.linspace(0, 1, 1001)
        curves = {
            name: (right, loss.loss(np.stack([right, 1 - right], axis=-1), 0))
            for name, loss in losses.items()
        }
        ax.set_xlabel("predicted probability of the true class")
    else:
        margin = np.linspace(-4, 4, 1601)
        curves = {name: (margin, loss.margin_loss(margin)) for name, loss in losses.items()}
        ax.set_xlabel("margin")
    for name, (x, y) in curves.items():
        finite = np.isfinite(y)
        ax.plot(x[finite], y[finite], label=name, color=_color(colors, name), linewidth=2)
    ax.set_ylabel("loss")
    ax.legend(frameon=False)
    return _tidied(ax)


@fill_docs
def impurity_curves(
    losses: Mapping[str, Any],
    *,
    scaled: bool = False,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot impurities for two classes against the proportion of the second class.

    Parameters
    ----------
    losses : mapping of str to loss or callable
        Losses of `hardwood.losses`, or impurities as vectorized functions of p, by name.

    scaled : bool, default=False
        Whether to scale each curve to a height of ½, to compare their shapes.

    {colors, ax}

    {returns_ax}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from scipy import stats
    >>> from hardwood.losses import DistributionLoss, MeanSquaredError
    >>> from hardwood.plotting import impurity_curves
    >>> ax = impurity_curves({"Gini": MeanSquaredError(),
    ...                       "Student t": DistributionLoss(stats.t(df=3, loc=1))},
    ...                      scaled=True, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['Gini', 'Student t']
    """
    ax = _axes(ax)
    p = np.sin(np.linspace(0, np.pi / 2, 1001)) ** 2  # dense at the ends, where curves are steep
    for name, loss in losses.items():
        values = _binary_impurity(loss)(p)
        if scaled and values.max() > 0:
            values = values / (2 * values.max())
        ax.plot(p, values, label=name, color=_color(colors, name), linewidth=2)
    ax.set_xlabel("share of the second class")
    ax.set_ylabel("impurity, scaled" if scaled else "impurity")
    ax.legend(frameon=False)
    return _tidied(ax)


@fill_docs
def split_gains(
    loss: Any,
    parent: float,
    splits: Mapping[str, tuple[float, float]],
    *,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show the gain of splits as the gap between the impurity and a chord.

    The chord connects the impurities of the two children. At the parent's p it is as high as their
    weighted mean, so the gap to the curve is the gain.

    Parameters
    ----------
    loss : loss or callable
        A loss of `hardwood.losses`, or an impurity as a vectorized function of p.

    parent : float
        Proportion of the second class in the parent.

    splits : mapping of str to (float, float)
        For each split, by name, the proportion in the left and in the right child. The parent's
        proportion must lie between the two.

    {colors, ax}

    {returns_ax}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.losses import ZeroOneMargin
    >>> from hardwood.plotting import split_gains
    >>> ax = split_gains(ZeroOneMargin(), 0.5, {"even": (0.2, 0.8)}, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['even: gain 0.300']
    """
    ax = _axes(ax)
    impurity = _binary_impurity(loss)
    p = np.sin(np.linspace(0, np.pi / 2, 1001)) ** 2
    ax.plot(p, impurity(p), color=_INK, linewidth=2)
    at_parent = float(impurity(np.array([parent]))[0])
    for place, (name, children) in enumerate(splits.items()):
        if not children[0] <= parent <= children[1]:
            raise ValueError(
                f"parent={parent} must lie between the children of split {name!r}, got {children}."
            )
        heights = impurity(np.array(children))
        kept = float(np.interp(parent, children, heights))
        color = _color(colors, name) or f"C{place}"
        label = f"{name}: gain {at_parent - kept:.3f}"
        ax.plot(children, heights, "o-", color=color, linewidth=2, label=label, clip_on=False)
        # Side by side, so that no gap hides another.
        beside = parent + 0.008 * (2 * place - len(splits) + 1)
        ax.plot([beside, beside], [kept, at_parent], color=color, linewidth=3, alpha=0.5)
    ax.set_xlabel("share of the second class")
    ax.set_ylabel("impurity")
    ax.legend(frameon=False)
    return _tidied(ax)


@fill_docs
def figure_1(axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw Figure 1 of the paper: the negative exponential loss, and impurities.

    The left plot shows the loss for several λ. The right one shows the impurities of the negative
    exponential (blue) and of the generalized cross entropy (red), scaled to the same height.

    {two_axes}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.plotting import figure_1
    >>> left, right = figure_1(Figure(figsize=(10, 4)).subplots(1, 2))
    >>> left.get_ylabel(), right.get_ylabel()
    ('loss', 'impurity, scaled')
    """
    from hardwood.losses import CrossEntropy, GeneralizedCrossEntropy, NegativeExponential

    left, right = _two_axes(axes)
    shares = (0.2, 0.5, 0.8)
    blue: dict[str, Any] = {f"NE, λ = {lam:g}": NegativeExponential(lam=lam) for lam in shares}
    blue["CL (λ = 1)"] = NegativeExponential(lam=1)
    red: dict[str, Any] = {"CE (q = 0)": CrossEntropy()}
    red |= {f"GCE, q = {q:g}": GeneralizedCrossEntropy(q) for q in shares}
    colors = dict(zip(blue, _BLUES, strict=True)) | dict(zip(red, _REDS[::-1], strict=True))
    loss_curves(blue, colors=colors, ax=left)
    impurity_curves(red | blue, scaled=True, colors=colors, ax=right)
    right.legend(frameon=False, ncols=2, loc="lower center", fontsize="small")
    return [left, right]


@fill_docs
def figure_8(axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw Figure 8 of the paper: λ = 0 prefers a split with a pure child, λ = 1 does not.

    The left plot shows the limit λ → 0, the square root of Gini, scaled to the height of
    misclassification. The right one shows λ = 1, which is misclassification.

    {two_axes}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.plotting import figure_8
    >>> for ax in figure_8(Figure(figsize=(10, 4)).subplots(1, 2)):
    ...     print([text.get_text() for text in ax.get_legend().get_texts()])
    ['pure child: gain 0.149', 'no pure child: gain 0.100']
    ['pure child: gain 0.254', 'no pure child: gain 0.300']
    """
    from hardwood.losses import NegativeExponential

    left, right = _two_axes(axes)
    splits = {"pure child": (0.0, 0.67), "no pure child": (0.2, 0.8)}
    colors = {"pure child": _BLUES[1], "no pure child": _REDS[2]}
    split_gains(lambda p: np.sqrt(p * (1 - p)), 0.5, splits, colors=colors, ax=left)
    split_gains(NegativeExponential(lam=1), 0.5, splits, colors=colors, ax=right)
    left.set_title("λ = 0")
    right.set_title("λ = 1")
    for ax in (left, right):
        ax.set_ylim(0, 0.53)
        ax.legend(frameon=False, loc="lower center")
    return [left, right]


def _ring(ax: Axes, x: float, y: float) -> None:
    """Mark the chosen setting."""
    ax.plot(
        [x],
        [y],
        "o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=_INK,
        markeredgewidth=1.5,
        linestyle="none",
        label="chosen",
    )


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def _two_axes(axes: Sequence[Axes] | None) -> tuple[Axes, Axes]:
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left, right = axes
    return left, right


def _color(colors: Mapping[str, str] | None, name: str) -> str | None:
    return None if colors is None else colors[name]


def _binary_impurity(loss: Any) -> Callable[[Array], Array]:
    """Return the impurity of two classes as a function of the second class's proportion."""
    from hardwood.losses import SimplexLoss

    if isinstance(loss, SimplexLoss):
        return lambda p: loss.impurity(np.stack([1 - p, p], axis=-1))
    function = getattr(loss, "impurity", loss)
    if not callable(function):
        raise TypeError(f"Expected a loss of hardwood.losses or a function of p, got {loss!r}.")
    return lambda p: np.asarray(function(p), dtype=np.float64)


def _tidied(ax: Axes) -> Axes:
    ax.grid(axis="y", color=_MUTED, alpha=0.2)
    ax.tick_params(length=0, labelcolor=_MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax

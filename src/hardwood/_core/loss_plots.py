"""Figures of the theory: losses, impurities and gains, and the paper's Figures 1 and 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.axes import BLUES, INK, REDS, axes_or_current, color_of, tidied, two_axes
from hardwood._core.docs import fill_docs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


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
    ax = axes_or_current(ax)
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
        ax.plot(x[finite], y[finite], label=name, color=color_of(colors, name), linewidth=2)
    ax.set_ylabel("loss")
    ax.legend(frameon=False)
    return tidied(ax)


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
        Losses of `hardwood.losses`, or impurities as vectorised functions of p, by name.

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
    ax = axes_or_current(ax)
    p = np.sin(np.linspace(0, np.pi / 2, 1001)) ** 2  # dense at the ends, where curves are steep
    for name, loss in losses.items():
        values = _binary_impurity(loss)(p)
        if scaled and values.max() > 0:
            values = values / (2 * values.max())
        ax.plot(p, values, label=name, color=color_of(colors, name), linewidth=2)
    ax.set_xlabel("share of the second class")
    ax.set_ylabel("impurity, scaled" if scaled else "impurity")
    ax.legend(frameon=False)
    return tidied(ax)


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
        A loss of `hardwood.losses`, or an impurity as a vectorised function of p.

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
    ax = axes_or_current(ax)
    impurity = _binary_impurity(loss)
    p = np.sin(np.linspace(0, np.pi / 2, 1001)) ** 2
    ax.plot(p, impurity(p), color=INK, linewidth=2)
    at_parent = float(impurity(np.array([parent]))[0])
    for place, (name, children) in enumerate(splits.items()):
        if not children[0] <= parent <= children[1]:
            raise ValueError(
                f"parent={parent} must lie between the children of split {name!r}, got {children}."
            )
        heights = impurity(np.array(children))
        kept = float(np.interp(parent, children, heights))
        color = color_of(colors, name) or f"C{place}"
        label = f"{name}: gain {at_parent - kept:.3f}"
        ax.plot(children, heights, "o-", color=color, linewidth=2, label=label, clip_on=False)
        # Side by side, so that no gap hides another.
        beside = parent + 0.008 * (2 * place - len(splits) + 1)
        ax.plot([beside, beside], [kept, at_parent], color=color, linewidth=3, alpha=0.5)
    ax.set_xlabel("share of the second class")
    ax.set_ylabel("impurity")
    ax.legend(frameon=False)
    return tidied(ax)


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

    left, right = two_axes(axes)
    shares = (0.2, 0.5, 0.8)
    blue: dict[str, Any] = {f"NE, λ = {lam:g}": NegativeExponential(lam=lam) for lam in shares}
    blue["CL (λ = 1)"] = NegativeExponential(lam=1)
    red: dict[str, Any] = {"CE (q = 0)": CrossEntropy()}
    red |= {f"GCE, q = {q:g}": GeneralizedCrossEntropy(q) for q in shares}
    colors = dict(zip(blue, BLUES, strict=True)) | dict(zip(red, REDS[::-1], strict=True))
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

    left, right = two_axes(axes)
    splits = {"pure child": (0.0, 0.67), "no pure child": (0.2, 0.8)}
    colors = {"pure child": BLUES[1], "no pure child": REDS[2]}
    split_gains(lambda p: np.sqrt(p * (1 - p)), 0.5, splits, colors=colors, ax=left)
    split_gains(NegativeExponential(lam=1), 0.5, splits, colors=colors, ax=right)
    left.set_title("λ = 0")
    right.set_title("λ = 1")
    for ax in (left, right):
        ax.set_ylim(0, 0.53)
        ax.legend(frameon=False, loc="lower center")
    return [left, right]


def _binary_impurity(loss: Any) -> Callable[[Array], Array]:
    """Return the impurity of two classes as a function of the second class's proportion."""
    from hardwood.losses import SimplexLoss

    if isinstance(loss, SimplexLoss):
        return lambda p: loss.impurity(np.stack([1 - p, p], axis=-1))
    function = getattr(loss, "impurity", loss)
    if not callable(function):
        raise TypeError(f"Expected a loss of hardwood.losses or a function of p, got {loss!r}.")
    return lambda p: np.asarray(function(p), dtype=np.float64)

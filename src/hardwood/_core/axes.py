"""What all figures share: colors, and axes with little ink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MUTED = "#6b6b6b"
INK = "#222222"
# From light to dark. As in the paper, blue is for the negative exponential and red for the others.
BLUES = ("#9ecae1", "#4292c6", "#2171b5", "#08306b")
REDS = ("#fcae91", "#fb6a4a", "#de2d26", "#7f0000")


def axes_or_current(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def two_axes(axes: Sequence[Axes] | None) -> tuple[Axes, Axes]:
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left, right = axes
    return left, right


def color_of(colors: Mapping[str, str] | None, name: str) -> str | None:
    return None if colors is None else colors[name]


def ring(ax: Axes, x: float, y: float) -> None:
    """Mark the chosen setting."""
    ax.plot(
        [x],
        [y],
        "o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.5,
        linestyle="none",
        label="chosen",
    )


def tidied(ax: Axes) -> Axes:
    ax.grid(axis="y", color=MUTED, alpha=0.2)
    ax.tick_params(length=0, labelcolor=MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax

"""The look that all figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GREEN", "GREY", "MUTED", "plain"]

GREEN, GREY, MUTED = "#14532d", "#9a9a9a", "#6b6b6b"
"""Hardwood, other libraries, and text that stays in the background."""


def plain(ax: Axes, grid: str = "") -> None:
    """Remove tick marks and the frame except for its lower edge; `grid` is "x", "y" or none."""
    ax.tick_params(length=0, labelcolor=MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=MUTED, alpha=0.2)  # type: ignore[arg-type]
        ax.set_axisbelow(True)

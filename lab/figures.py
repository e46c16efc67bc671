"""The look that all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GREEN", "GREY", "MUTED", "legend", "plain"]

GREEN, GREY, MUTED = "#14532d", "#9a9a9a", "#6b6b6b"
"""Hardwood, other libraries, and text that stays in the background."""


def plain(ax: Axes, grid: str = "") -> None:
    """Remove tick marks and the frame except for its lower edge; `grid` is "x", "y" or none."""
    ax.tick_params(length=0, labelcolor=MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color=MUTED, alpha=0.2)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def legend(
    figure: Figure, handles: Sequence[Artist], place: str, n_columns: int, **style: Any
) -> None:
    """Put a legend outside of the panels, for example at the "lower center"."""
    layout: dict[str, Any] = {"loc": f"outside {place}", "ncols": n_columns, **style}
    figure.legend(handles=list(handles), frameon=False, fontsize=9, **layout)

"""Figures. Each function draws into the axes it is given, or makes some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["noise_curves"]

_MUTED = "#6b6b6b"


def noise_curves(
    noise_rates: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    ylabel: str,
    colors: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot what label noise does to a figure of merit, one curve per model.

    Parameters
    ----------
    noise_rates : sequence of float
        Shares of flipped training labels.
    curves : mapping of str to sequence of float
        One value per noise rate for each model, by the model's name.
    ylabel : str
        What the values are.
    colors : mapping of str to str, optional
        Matplotlib colours by the model's name. By default those of Matplotlib's cycle.
    ax : matplotlib Axes, optional
        Where to draw. By default the current axes.

    Returns
    -------
    matplotlib Axes
        The axes drawn into.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from hardwood.plotting import noise_curves
    >>> ax = noise_curves([0.0, 0.2, 0.4], {"Gini": [1.0, 0.76, 0.58]},
    ...                   ylabel="accuracy", ax=Figure().subplots())
    >>> ax.get_ylabel()
    'accuracy'
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.gca()
    for name, values in curves.items():
        ax.plot(
            noise_rates,
            values,
            label=name,
            color=None if colors is None else colors[name],
            marker="o",
            markersize=5,
            linewidth=2,
            clip_on=False,
        )
    ax.set_xlabel("share of training labels flipped")
    ax.set_ylabel(ylabel)
    ax.set_xticks(noise_rates, [f"{rate:.0%}" for rate in noise_rates])
    ax.grid(axis="y", color=_MUTED, alpha=0.2)
    ax.tick_params(length=0, labelcolor=_MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax

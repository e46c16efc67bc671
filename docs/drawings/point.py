"""The picture of the README and of ``docs/index.md``: what wrong labels do to a forest.

python docs/drawings/point.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

from hardwood import AdaptiveForestClassifier
from hardwood.noise import corrupt, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IMAGE = Path(__file__).parents[1] / "images" / "point.png"
NOISE = 0.4
POINTS = ("#b45309", "#14532d")
REGIONS = ListedColormap(["#fbe0b8", "#cfe6d2"])


def draw() -> Figure:
    """Draw the training labels, and the decision regions of a random and of an adaptive forest."""
    X, y = make_moons(5000, noise=0.15, random_state=0)
    X_test, y_test = make_moons(20_000, noise=0.15, random_state=1)
    y_noisy, _ = corrupt(y, uniform(2, NOISE), random_state=0)
    forests = {
        "random forest (scikit-learn)": RandomForestClassifier(random_state=0),
        "adaptive forest (hardwood)": AdaptiveForestClassifier(random_state=0),
    }
    figure = Figure(figsize=(10, 3.7), layout="constrained")
    labels_ax, *forest_axes = figure.subplots(1, 3)
    for label, color in enumerate(POINTS):
        of_class = X[y_noisy == label]
        labels_ax.scatter(*of_class.T, s=2.5, color=color, linewidths=0)
    _finish(labels_ax, X, f"training labels, {NOISE:.0%} wrong", "")
    for ax, (name, forest) in zip(forest_axes, forests.items(), strict=True):
        forest.fit(X, y_noisy)
        _fill_regions(ax, X, forest)
        accuracy = forest.score(X_test, y_test)
        _finish(ax, X, name, f"{accuracy:.0%} of new points right")
    return figure


def _fill_regions(ax: Axes, X: NDArray[Any], forest: Any) -> None:
    low, high = X.min(axis=0) - 0.1, X.max(axis=0) + 0.1
    grid = np.meshgrid(np.linspace(low[0], high[0], 500), np.linspace(low[1], high[1], 500))
    predicted = forest.predict(np.column_stack([axis.ravel() for axis in grid])).reshape(
        grid[0].shape
    )
    ax.imshow(
        predicted,
        cmap=REGIONS,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        aspect="auto",
        interpolation="nearest",
    )


def _finish(ax: Axes, X: NDArray[Any], title: str, note: str) -> None:
    low, high = X.min(axis=0) - 0.1, X.max(axis=0) + 0.1
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    ax.set_title(title, fontsize=12)
    ax.set_xlabel(note, fontsize=11)
    ax.spines[:].set_color("#d8d4c8")


if __name__ == "__main__":
    draw().savefig(IMAGE, dpi=150)

"""A figure of every cell of the paper's tables as a square: inside the paper's band, and by which protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from lab.data import title
from lab.figures import MUTED, legend
from lab.paper.compare import NOT_COMPARABLE, OTHER_FEATURES, Cell
from lab.paper.protocols import OTHERS
from lab.paper.tables import table_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICKS = {"cc1": "CC\n.1, .3", "cc2": "CC\n.2, .4", "cc": "CC"}

__all__ = ["KINDS", "draw_squares", "kind_of"]

KINDS = {
    "plain": ("#3f9b57", "inside, plain protocol"),
    **{
        protocol.spec: (protocol.color, f"inside, but only with: {protocol.title}")
        for protocol in OTHERS
    },
    "outside": ("#c81e3a", "outside"),
    "apart": ("#d9d6d2", "not comparable: other data, or twoing"),
    "missing": ("none", "not run"),
}
"""What a cell can be, with the color and the words for it."""


def kind_of(cell: Cell) -> str:
    """Return what a cell is: one of `KINDS`."""
    run = cell.run
    if cell.ours is None:
        return "missing"
    if cell.paper is None or run.criterion in NOT_COMPARABLE or run.dataset in OTHER_FEATURES:
        return "apart"
    if cell.agrees:
        return "plain"
    for protocol in OTHERS:
        accuracy = cell.others.get(protocol.spec)
        if accuracy is not None and cell.is_inside(accuracy):
            return protocol.spec
    return "outside"


def draw_squares(path: Path, cells: Sequence[Cell]) -> Path:
    """Draw the cells of the four tables.

    Parameters
    ----------
    path : Path
        The image to write.
    cells : sequence of Cell
        The cells in the order of the tables; see `lab.paper.protocols.compare_protocols`.

    Returns
    -------
    Path
        The image.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    panels = [
        (key, list(group))
        for key, group in groupby(cells, key=lambda cell: (cell.run.model, cell.run.task))
    ]
    figure = Figure(figsize=(2.9 * len(panels) + 1.2, 9.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, ((model, task), group) in zip(axes, panels, strict=True):
        ax.set_title(table_title(model, task), fontsize=11, loc="left")
        _panel(ax, group)
    lowest = max(ax.get_ylim()[0] for ax in axes)
    for ax in axes:
        ax.set_ylim(lowest, -0.9)  # rows of the same height in every panel
    counts = Counter(map(kind_of, cells))
    figure.suptitle(
        "Every cell of the paper's four tables, and ours", fontsize=13, x=0.01, ha="left"
    )
    handles = [
        Patch(facecolor=color, edgecolor=MUTED, linewidth=0.4, label=f"{words} ({counts[kind]:,})")
        for kind, (color, words) in KINDS.items()
        if counts[kind]
    ]
    legend(figure, handles, "lower center", 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    return path


def _panel(ax: Axes, cells: Sequence[Cell]) -> None:
    from matplotlib.patches import Rectangle

    noises = list(dict.fromkeys(cell.run.noise for cell in cells))
    labels, places = [], []
    y = 0.0
    for _, of_dataset in groupby(cells, key=lambda cell: cell.run.dataset):
        rows = list(of_dataset)
        ax.text(
            -0.4, y - 0.05, title(rows[0].run.dataset), fontsize=9, fontweight="bold", va="center"
        )
        y += 0.9
        for criterion, row in groupby(rows, key=lambda cell: cell.run.criterion):
            for cell in row:
                color = KINDS[kind_of(cell)][0]
                corner = noises.index(cell.run.noise) - 0.42, y - 0.42
                ax.add_patch(
                    Rectangle(corner, 0.84, 0.84, facecolor=color, edgecolor=MUTED, linewidth=0.3)
                )
            labels.append(criterion)
            places.append(y)
            y += 1
        y += 0.5
    ax.set_yticks(places, labels, fontsize=7.5)
    ax.set_xticks(range(len(noises)), [_TICKS.get(noise, noise) for noise in noises], fontsize=7.5)
    ax.set_xlim(-0.6, len(noises) - 0.4)
    ax.set_ylim(y, -0.9)
    ax.tick_params(length=0, labelcolor=MUTED)
    ax.spines[:].set_visible(False)

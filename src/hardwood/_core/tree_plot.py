"""The drawing of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from hardwood._core.docs import fill_docs
from hardwood._core.tree_words import TreeWords

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = "#6b6b6b"
_WIDTH = 32  # characters in a line of a node


@fill_docs
def plot_tree(
    tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    decimals: int = 2,
    max_categories: int = 4,
    fontsize: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree, with splits by sets of categories in words.

    Each node shows what holds for the rows that go left, the class it predicts with its
    probability, and its number of rows. Colors tell the classes, and are stronger for higher
    probabilities.

    Parameters
    ----------
    {words_of_tree}

    fontsize : float, default=None
        Size of the text. None means to choose one by the number of nodes.

    {ax}

    {returns_ax}

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustTreeClassifier
    >>> from hardwood.plotting import plot_tree
    >>> tree = RobustTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
    >>> ax = plot_tree(tree, ax=Figure().subplots())
    >>> len(ax.texts)
    5
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.gca()
    words = TreeWords(tree, feature_names, class_names, decimals, max_categories)
    places = _places(words, max_depth)
    size = fontsize or max(4.0, min(10.0, 60 / len(places) ** 0.5))
    colors = _colors(len(tree.classes_))
    for node, (x, y) in places.items():
        if words.is_leaf(node):
            continue
        for child in words.children(node):
            if child in places:
                ax.plot([x, places[child][0]], [y, places[child][1]], color=_LINE, lw=1, zorder=1)
    for node, (x, y) in places.items():
        share = float(words.nodes["value"][node].max())
        n_rows = int(words.nodes["n_node_samples"][node])
        lines = [
            *([] if words.is_leaf(node) else wrap(words.conditions(node)[0], _WIDTH)),
            f"{words.majority_name(node)}: {share:.{decimals}f}",
            "1 row" if n_rows == 1 else f"{n_rows:,} rows",
        ]
        face = _mixed_with_white(colors[words.majority(node)], share * share / 2)
        box = {"boxstyle": "round", "facecolor": face, "edgecolor": _LINE}
        text = "\n".join(lines)
        ax.text(x, y, text, ha="center", va="center", fontsize=size, zorder=2, bbox=box)
    ax.set_axis_off()
    ax.margins(0.1)
    return ax


def _places(words: TreeWords, max_depth: int | None) -> dict[int, tuple[float, float]]:
    """Return where nodes stand: leaves side by side, inner nodes in the middle of their children."""
    places: dict[int, tuple[float, float]] = {}
    n_placed = 0

    def place(node: int, depth: int) -> float:
        nonlocal n_placed
        if words.is_leaf(node) or depth == max_depth:
            x = float(n_placed)
            n_placed += 1
        else:
            left, right = (place(child, depth + 1) for child in words.children(node))
            x = (left + right) / 2
        places[node] = (x, -float(depth))
        return x

    place(0, 0)
    return places


def _colors(n_classes: int) -> list[tuple[float, float, float, float]]:
    from matplotlib import colormaps

    palette = colormaps["tab10" if n_classes <= 10 else "turbo"]
    return [palette(k if n_classes <= 10 else k / (n_classes - 1)) for k in range(n_classes)]


def _mixed_with_white(color: tuple[float, ...], strength: float) -> tuple[float, ...]:
    return tuple(1 - strength * (1 - part) for part in color[:3])

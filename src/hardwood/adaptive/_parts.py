"""The parts of a mixed forest: trees that cut and are smoothed in the same way."""

from __future__ import annotations

import numpy as np

from hardwood._core.compact import CompactForest
from hardwood.adaptive._choice import Choice
from hardwood.adaptive._mixing import apportioned
from hardwood.adaptive._settings import Setting

Part = tuple[Setting, CompactForest]
"""Trees that cut in the same way, before they are smoothed, and how to smooth them."""


def numbered(choice: Choice, n_trees: int, first_tree: int) -> list[tuple[Setting, int, int]]:
    """Return how many trees to grow of each setting, and the number of the first of them."""
    numbers = apportioned(np.array([share for _, share in choice.parts]), n_trees)
    firsts = first_tree + np.cumsum(numbers) - numbers
    return [
        (setting, int(number), int(first))
        for (setting, _), number, first in zip(choice.parts, numbers, firsts, strict=True)
        if number
    ]


def smoothed_and_joined(
    drawn: list[Part], from_all: list[Part], unit: float, n_threads: int
) -> CompactForest:
    """Smooth each part in its way, and join them.

    Shrunk leaves are large, so the parts are joined before leaves are shrunk.

    Parameters
    ----------
    drawn : list of (Setting, CompactForest)
        Trees from rows drawn. h counts rows of weight 1.
    from_all : list of (Setting, CompactForest)
        Trees from all rows. Those that stop were grown no further.
    unit : float
        The weight of the rows that h counts there.
    n_threads : int
        Number of threads.
    """
    stopped = [
        trees if setting.family == "shrink" else setting.applied(trees, n_threads)
        for setting, trees in drawn
    ]
    units = [1.0] * len(drawn) + [unit] * len(from_all)
    shrinkages = [
        np.full(len(trees), setting.amount * its_unit / trees.weight_unit)
        if setting.family == "shrink"
        else np.zeros(len(trees))
        for (setting, trees), its_unit in zip([*drawn, *from_all], units, strict=True)
    ]
    joined = CompactForest.joined([*stopped, *(trees for _, trees in from_all)])
    counts = np.concatenate(shrinkages)
    return joined.shrunk_by(counts, n_threads) if counts.any() else joined


def smoothed(parts: list[Part], n_threads: int) -> list[CompactForest]:
    """Smooth each part in its way."""
    return [setting.applied(trees, n_threads) for setting, trees in parts]

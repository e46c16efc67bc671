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


def smoothed(parts: list[Part], n_threads: int) -> list[CompactForest]:
    """Smooth each part in its way."""
    return [setting.applied(trees, n_threads) for setting, trees in parts]

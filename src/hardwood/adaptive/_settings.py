"""How a forest splits, and how far its leaves are trusted.

A fully grown tree contains every smaller tree. Two families of smaller trees follow from its class
counts, without another fit: *stop* at nodes of fewer than m rows, and *shrink* leaves towards the
nodes above them by h (Agarwal et al., ICML 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hardwood._core.compact import CompactForest

_SMALL_STOPS = (1, 3, 5, 8, 12, 20)
_STOPS = (32, 50, 80, 128, 200)  # and ten times these, and so on
_SHRINKAGES = (1, 3, 10, 30, 100, 300, 1000, 3000)
# A shrunk leaf stores a number for each class, so with more classes forests would become large.
_MOST_CLASSES_SHRUNK = 32

# The share of the rows that a tree draws at least once.
DRAWN = 1 - np.exp(-1)


class Cuts(NamedTuple):
    """How a forest cuts: at the best threshold of a feature or a random one, of how many features."""

    splitter: str = "best"
    max_features: int = 1

    def __str__(self) -> str:
        features = "feature" if self.max_features == 1 else "features"
        return f"{self.splitter} cuts of {self.max_features} {features}"


_BEST = Cuts()


@dataclass(frozen=True)
class Setting:
    """How a forest is smoothed.

    Attributes
    ----------
    family : {"plain", "stop", "shrink"}
        No smoothing; nodes of fewer than m rows become leaves; leaves are shrunk by h.
    amount : float
        m or h. A plain forest has the amount 1, as stopping with m = 1 changes nothing.
    cuts : Cuts
        How the trees cut.
    """

    family: str
    amount: float
    cuts: Cuts = _BEST

    def __str__(self) -> str:
        match self.family:
            case "stop":
                what = f"stop at nodes of fewer than {self.amount:g} rows"
            case "shrink":
                what = f"shrink leaves by {self.amount:g}"
            case _:
                what = "plain"
        return f"{self.cuts}, {what}"

    def applied(self, forest: CompactForest, n_threads: int, unit: float = 1.0) -> CompactForest:
        """Return the smoothed forest. h counts rows of weight `unit`."""
        match self.family:
            case "stop":
                return forest.stopped(int(self.amount), n_threads)
            case "shrink":
                return forest.shrunk(self.amount * unit, n_threads)
            case _:
                return forest


def settings(n_rows: int, n_classes: int, cuts: Cuts = _BEST) -> list[Setting]:
    """Return the settings to choose from: plain first, then each family by increasing amount.

    m goes up to half of the rows. Forests with many classes are not shrunk.
    """
    stops = list(_SMALL_STOPS)
    power = 1
    while _STOPS[0] * power <= n_rows / 2:
        stops += [m * power for m in _STOPS]
        power *= 10
    shrinkages = _SHRINKAGES if n_classes <= _MOST_CLASSES_SHRUNK else ()
    return [
        Setting("plain", 1, cuts),
        *(Setting("stop", m, cuts) for m in stops if 1 < m <= n_rows / 2),
        *(Setting("shrink", h, cuts) for h in shrinkages),
    ]

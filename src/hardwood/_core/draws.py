"""Which rows the trees of a forest were grown from."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.groups import Groups
from hardwood._core.grow import TrainingSet


@dataclass(frozen=True, eq=False)
class Draws:
    """What a fit drew the rows of its trees from, which tells them again from the seed."""

    first_tree: int
    n_rows: int
    n_draws: int  # 0 means that trees see all rows
    weights: NDArray[np.float64] | None
    groups: Groups | None
    kept: NDArray[np.bool_] | None  # mask of these rows among the user's; None means all

    @classmethod
    def of(cls, data: TrainingSet, n_draws: int, first_tree: int) -> Self:
        """Return what the trees from number `first_tree` on drew from."""
        drawn = n_draws > 0
        weights, groups = (data.weights, data.groups) if drawn else (None, None)
        return cls(first_tree, data.n_rows, n_draws, weights, groups, data.kept)

    def rows(self, seed: int, tree: int) -> NDArray[np.int32]:
        """Return the rows of a tree, in ascending order, each as often as it was drawn."""
        rows = np.arange(self.n_rows) if self.kept is None else np.flatnonzero(self.kept)
        if self.n_draws > 0:
            times = _engine.draw(self.n_rows, self.n_draws, self.weights, self.groups, seed, tree)
            rows = rows.repeat(times)
        return rows.astype(np.int32)

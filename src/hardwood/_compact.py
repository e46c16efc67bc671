"""A tree as the engine keeps it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from hardwood import _engine

if TYPE_CHECKING:
    from hardwood._engine import ExpandedTree


@dataclass(frozen=True)
class CompactTree:
    """Nodes, and the class counts of the leaves.

    Nodes stand in depth-first order, 16 bytes each; leaves keep class counts, in multiples of
    `weight_unit`. Everything else follows: see `expand`.
    """

    nodes: NDArray[np.uint8]
    leaf_counts: NDArray[np.float64]
    leaf_rows: NDArray[np.uint32]
    weight_unit: float
    criterion: tuple[str, float]
    monotonic_cst: tuple[int, ...] = ()

    def expand(self) -> "ExpandedTree":
        """Return what scikit-learn shows of a tree, and the gain of each split."""
        return _engine.expand(
            self.nodes,
            self.leaf_counts,
            self.leaf_rows,
            self.weight_unit,
            *self.criterion,
            self.monotonic_cst,
        )

    def pruned(self, alpha: float) -> "CompactTree":
        """Return the tree without the splits that are worth no more than alpha a leaf."""
        gain = self.expand()["gain"]
        arrays = _engine.prune(self.nodes, self.leaf_counts, self.leaf_rows, gain, alpha)
        return CompactTree(*arrays, self.weight_unit, self.criterion, self.monotonic_cst)

    def pruning_path(self) -> Bunch:
        """Return the effective alphas and what impurity the tree keeps after each."""
        expanded = self.expand()
        gain = expanded["gain"]
        alphas, gains = _engine.pruning_path(self.nodes, self.leaf_counts, self.leaf_rows, gain)
        return Bunch(
            ccp_alphas=np.concatenate([[0.0], alphas]),
            impurities=expanded["impurity"][0] - np.concatenate([[gain.sum()], gains]),
        )

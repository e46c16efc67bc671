"""Rows that a forest finds similar: rows that often end in the same leaf.

The proximity of two rows is the share of trees in which they are in the same leaf, among the trees that
drew neither of them. Trees that drew a row were fitted to its label, so they would call rows similar
because their labels agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from hardwood._core import _engine
from hardwood._core.base_forest import BaggedForest
from hardwood._core.far import take_rows
from hardwood._core.groups import number_groups
from hardwood._core.spread import n_threads

_BLOCK = 256  # rows at once

Rows = NDArray[np.intp]


class Leaves:
    """The leaves of some rows in the trees of a forest, and which trees did not draw them.

    Parameters
    ----------
    forest : forest
        A fitted forest of hardwood or scikit-learn that draws rows.
    X : array-like
        The rows that it was fitted on.
    groups : ndarray of shape (n_rows,) or None
        The groups that its trees drew, if any.
    rows : ndarray of int
        The rows to follow.

    Attributes
    ----------
    leaves : ndarray of int of shape (n_trees, n_rows)
        A number for each leaf, different between trees.
    is_out : ndarray of bool of shape (n_trees, n_rows)
        Whether the tree did not draw the row.
    """

    def __init__(self, forest: Any, X: Any, groups: Any, rows: Rows) -> None:
        if isinstance(forest, BaggedForest):
            leaves, self.is_out = _of_hardwood(forest, X, groups, rows)
        else:
            leaves, self.is_out = _of_sklearn(forest, X, rows)
        starts = np.concatenate([[0], np.cumsum(leaves.max(axis=1) + 1)])
        self.leaves = leaves + starts[:-1, np.newaxis]
        self._n_leaves = int(starts[-1])

    def nearest(self, places: Rows, pool: Rows, k: int) -> list[list[tuple[int, float]]]:
        """Return for each of some rows the k nearest of others, with their proximities.

        Rows are given, and returned, as positions among those that were passed. Rows that share no
        leaf are left out.
        """
        others = self._indicator(pool)
        is_out = self.is_out[:, pool].astype(np.float32)
        nearest = []
        for start in range(0, len(places), _BLOCK):
            block = places[start : start + _BLOCK]
            shared = (self._indicator(block) @ others.T).tocsr()
            n_trees = self.is_out[:, block].astype(np.float32).T @ is_out
            for i, place in enumerate(block.tolist()):
                found = slice(shared.indptr[i], shared.indptr[i + 1])
                column = shared.indices[found]
                proximity = shared.data[found] / np.maximum(n_trees[i, column], 1)
                keep = pool[column] != place
                column, proximity = column[keep], proximity[keep]
                best = np.lexsort((pool[column], -proximity))[:k]
                nearest.append([(int(pool[column[b]]), float(proximity[b])) for b in best])
        return nearest

    def _indicator(self, places: Rows) -> Any:
        """Return which leaves each row is in, for the trees that did not draw it."""
        is_out = self.is_out[:, places]
        tree, row = np.nonzero(is_out)
        leaf = self.leaves[:, places][tree, row]
        ones = np.ones(len(leaf), dtype=np.float32)
        return csr_matrix((ones, (row, leaf)), shape=(len(places), self._n_leaves))


def has_leaves(forest: Any) -> bool:
    """Return whether `Leaves` can follow rows through a forest."""
    if isinstance(forest, BaggedForest):
        return bool(getattr(forest, "_n_drawn", 1))  # an adaptive forest may draw no rows
    return hasattr(forest, "estimators_samples_") and bool(getattr(forest, "bootstrap", False))


@dataclass(frozen=True)
class _Units:
    """How many rows, or groups, trees drew from."""

    n_units: int

    @property
    def total_unit_weight(self) -> float:
        return float(self.n_units)


def _of_hardwood(
    forest: BaggedForest, X: Any, groups: Any, rows: Rows
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    values = take_rows(X, rows)
    numbered = None if groups is None else number_groups(groups)
    n_units, units = X.shape[0] if hasattr(X, "shape") else len(X), rows
    if numbered is not None:
        n_units, units = int(numbered.max()) + 1, numbered[rows].astype(np.intp)
    trees, n_draws = forest._drawn_trees(_Units(n_units))  # type: ignore[arg-type]
    leaves = np.ascontiguousarray(trees.apply(forest._checked(values), n_threads(forest.n_jobs)).T)
    is_out = np.empty(leaves.shape, dtype=bool)
    for t in range(len(trees)):
        times = _engine.draw_range(n_units, n_draws, forest._seed, t, 0, n_units, None, None)
        is_out[t] = times[units] == 0
    return leaves, is_out


def _of_sklearn(forest: Any, X: Any, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    leaves = np.ascontiguousarray(forest.apply(take_rows(X, rows)).T)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    is_out = np.empty(leaves.shape, dtype=bool)
    for t, drawn in enumerate(forest.estimators_samples_):
        out = np.ones(n_rows, dtype=bool)
        out[drawn] = False
        is_out[t] = out[rows]
    return leaves, is_out

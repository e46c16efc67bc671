"""Splits that a tree of scikit-learn cannot make, as it narrows its input to float32."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compact import CompactForest
from hardwood._validation import FloatMatrix

_BLOCK_ROWS = 1024


def count_blurred(compact: CompactForest, X: FloatMatrix) -> NDArray[np.int64]:
    """Return how many splits of each tree lie between values of X that are the same in float32.

    Parameters
    ----------
    compact : CompactForest
        The trees.

    X : ndarray of shape (n_samples, n_features)
        What they were grown on.

    Returns
    -------
    n_blurred : ndarray of shape (n_trees,)
        Numbers of splits a < threshold < b with a and b neighbours in X's column, and one float32.
    """
    n_trees = len(compact)
    if X.dtype == np.float32:
        return np.zeros(n_trees, dtype=np.int64)
    nodes = compact.node_fields()
    is_blurred = np.zeros(len(nodes), dtype=bool)
    for column in _inexact_columns(X):
        low, high = _neighbours_alike(X[:, column])
        splits = np.flatnonzero(nodes["feature"] == column)
        threshold = nodes["threshold"][splits]
        # low₀ < high₀ ≤ low₁ < high₁ …: the last pair that begins at or below the threshold
        pair = np.searchsorted(low, threshold, side="right") - 1
        inside = pair >= 0
        is_blurred[splits[inside]] = threshold[inside] < high[pair[inside]]
    return np.array(
        [np.count_nonzero(is_blurred[a:b]) for a, b in pairwise(compact.node_start)], dtype=np.int64
    )


def _inexact_columns(X: FloatMatrix) -> NDArray[np.intp]:
    """Return the columns with values that float32 does not hold: of two alike, one is such."""
    exact = np.ones(X.shape[1], dtype=bool)
    for first in range(0, len(X), _BLOCK_ROWS):
        block = X[first : first + _BLOCK_ROWS]
        exact &= ((_narrowed(block) == block) | np.isnan(block)).all(axis=0)
    return np.flatnonzero(~exact)


def _narrowed(values: FloatMatrix) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _neighbours_alike(
    column: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the neighbours a < b in a column that are the same in float32, as two vectors."""
    values = np.sort(column)
    narrow = _narrowed(values)
    alike = np.flatnonzero((values[:-1] < values[1:]) & (narrow[:-1] == narrow[1:]))
    return values[alike], values[alike + 1]


def warn_of_blurred(n_blurred: NDArray[np.int64], compact: CompactForest) -> None:
    """Warn that a copy in float32 cannot make some of the splits."""
    n = int(n_blurred.sum())
    if n == 0:
        return
    n_splits = (len(compact.nodes) - len(compact)) // 2
    warnings.warn(
        f"{n:,} of {n_splits:,} splits lie between values of the training data that are the same "
        "in float32, which scikit-learn narrows its input to: rows that differ in nothing else "
        "can be predicted otherwise by the copy. `to_onnx` keeps float64.",
        UserWarning,
        stacklevel=3,
    )

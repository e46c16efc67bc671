"""Splits that a copy in scikit-learn makes otherwise, as it narrows its input to float32."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._core.validation import FloatMatrix

_BLOCK_ROWS = 1024


def count_blurred(compact: CompactForest, X: FloatMatrix) -> NDArray[np.int64]:
    """Return how many splits of each tree send a value of X to the other side in float32.

    Among them are all splits between two values that share a float32, which no tree that narrows
    its input can make.

    Parameters
    ----------
    compact : CompactForest
        The trees.

    X : ndarray of shape (n_samples, n_features)
        What they were grown on.

    Returns
    -------
    n_blurred : ndarray of shape (n_trees,)
        Numbers of splits for which (x <= threshold) != (float32(x) <= threshold) for some x of the
        column, whether or not it reaches the split.
    """
    if X.dtype == np.float32:
        return np.zeros(len(compact), dtype=np.int64)
    nodes = compact.node_fields()
    is_blurred = np.zeros(len(nodes), dtype=bool)
    for column in _inexact_columns(X):
        splits = np.flatnonzero(nodes["feature"] == column)
        is_blurred[splits] = _are_blurred(nodes["threshold"][splits], X[:, column])
    return np.array(
        [np.count_nonzero(is_blurred[a:b]) for a, b in pairwise(compact.node_start)], dtype=np.int64
    )


def _inexact_columns(X: FloatMatrix) -> NDArray[np.intp]:
    """Return the columns with values that float32 does not hold."""
    exact = np.ones(X.shape[1], dtype=bool)
    for first in range(0, len(X), _BLOCK_ROWS):
        block = X[first : first + _BLOCK_ROWS]
        exact &= ((_narrowed(block) == block) | np.isnan(block)).all(axis=0)
    return np.flatnonzero(~exact)


def _are_blurred(threshold: NDArray[Any], column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which thresholds t lie between a value x and its float32.

    These all share one float32, z. If t < z, some x <= t is needed, else some x > t: the smallest
    or the largest x whose float32 is z tells.
    """
    if len(threshold) == 0:
        return np.zeros(0, dtype=bool)
    z, of_threshold = np.unique(_narrowed(threshold), return_inverse=True)
    narrow = _narrowed(column)
    place = np.minimum(np.searchsorted(z, narrow), len(z) - 1)
    shares = z[place] == narrow
    smallest, largest = np.full(len(z), np.inf), np.full(len(z), -np.inf)
    np.minimum.at(smallest, place[shares], column[shares])
    np.maximum.at(largest, place[shares], column[shares])
    return np.where(
        threshold < z[of_threshold],
        smallest[of_threshold] <= threshold,
        largest[of_threshold] > threshold,
    )


def _narrowed(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def warn_of_blurred(n_blurred: NDArray[np.int64], compact: CompactForest) -> None:
    """Warn that a copy in float32 makes some of the splits otherwise."""
    n = int(n_blurred.sum())
    if n == 0:
        return
    n_splits = (len(compact.nodes) - len(compact)) // 2
    warnings.warn(
        f"{n:,} of {n_splits:,} splits send values of the training data to the other side once "
        "these are narrowed to float32, as scikit-learn narrows its input: the copy can predict "
        "otherwise there. `to_onnx` keeps float64.",
        UserWarning,
        stacklevel=3,
    )

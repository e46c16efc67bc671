"""Splits that scikit-learn makes differently because it rounds its input to float32."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._core.sparse import is_sparse
from hardwood._core.validation import Matrix

_BLOCK_ROWS = 1024


def warn_of_blurred(compact: CompactForest, X: Matrix, *, stacklevel: int) -> None:
    """Warn if rounding X to float32 makes some splits go the other way."""
    n = count_blurred(compact, X)
    if n == 0:
        return
    n_splits = (len(compact.nodes) - len(compact)) // 2
    warnings.warn(
        f"{n:,} of {n_splits:,} splits send values of X to the other side after rounding to "
        "float32, which scikit-learn does to its input: the copy may predict something else "
        "there. Use `to_onnx` to keep float64.",
        UserWarning,
        stacklevel=stacklevel,
    )


def count_blurred(compact: CompactForest, X: Matrix) -> int:
    """Return how many splits send a value of X to the other side in float32.

    These are the splits for which (x <= threshold) != (float32(x) <= threshold) for some x of the
    column, whether or not it reaches the split. Among them are all splits between two values with
    the same float32.
    """
    if X.dtype == np.float32:
        return 0
    nodes = compact.node_fields()
    feature, threshold = nodes["feature"], nodes["threshold"]
    counts = [
        np.count_nonzero(_are_blurred(threshold[feature == column], values))
        for column, values in _inexact_columns(X)
    ]
    return int(sum(counts))


def _inexact_columns(X: Matrix) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the columns with values that float32 cannot represent, and their values.

    Of sparse columns these are the stored ones: float32 represents zero.
    """
    exact = np.ones(X.shape[1], dtype=bool)
    if is_sparse(X):
        of_columns: Any = X.tocsc()
        exact[X.indices[~_are_exact(X.data)]] = False
        starts = of_columns.indptr
        for column in np.flatnonzero(~exact):
            yield int(column), of_columns.data[starts[column] : starts[column + 1]]
        return
    for first in range(0, len(X), _BLOCK_ROWS):
        exact &= _are_exact(X[first : first + _BLOCK_ROWS]).all(axis=0)
    for column in np.flatnonzero(~exact):
        yield int(column), X[:, column]


def _are_exact(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray((_rounded(values) == values) | np.isnan(values))


def _are_blurred(threshold: NDArray[Any], column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which thresholds t lie between a value x and its float32.

    All three have the same float32, z. If t < z, a split is blurred if some x <= t, else if some
    x > t. So the smallest and the largest x whose float32 is z decide.
    """
    if len(threshold) == 0:
        return np.zeros(0, dtype=bool)
    z, of_threshold = np.unique(_rounded(threshold), return_inverse=True)
    rounded = _rounded(column)
    place = np.minimum(np.searchsorted(z, rounded), len(z) - 1)
    shares = z[place] == rounded
    smallest, largest = np.full(len(z), np.inf), np.full(len(z), -np.inf)
    np.minimum.at(smallest, place[shares], column[shares])
    np.maximum.at(largest, place[shares], column[shares])
    return np.where(
        threshold < z[of_threshold],
        smallest[of_threshold] <= threshold,
        largest[of_threshold] > threshold,
    )


def _rounded(values: NDArray[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32)

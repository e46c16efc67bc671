"""Data with one feature shuffled, to see what it is worth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.pairs import Pair, write_pairs
from hardwood._core.sparse import is_sparse
from hardwood._core.validation import Matrix


class Shuffled:
    """A copy of X in which one feature at a time is shuffled.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The data.
    pairs : sequence of Pair, default=()
        The pairs that its last columns are made of.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.shuffling import Shuffled
    >>> shuffled = Shuffled(np.array([[1, 2], [3, 4]]))
    >>> shuffled.by(0, np.array([1, 0]))
    array([[3, 2],
           [1, 4]])
    >>> shuffled.by(1, np.array([1, 0]))
    array([[1, 4],
           [3, 2]])
    """

    def __init__(self, X: Matrix, pairs: Sequence[Pair] = ()) -> None:
        self._X: Any = X.tocsc() if is_sparse(X) else X
        self._copy: Any = self._X.copy()
        self._feature, self._pairs = 0, pairs

    def by(self, feature: int, order: NDArray[np.intp]) -> Matrix:
        """Return X with a feature's values in another order. The next call may change it."""
        self._write(self._feature, np.arange(len(order)))
        self._write(feature, order)
        self._feature = feature
        if self._pairs:
            write_pairs(self._pairs, self._copy)
        shuffled: Matrix = self._copy.tocsr() if is_sparse(self._copy) else self._copy
        return shuffled

    def _write(self, feature: int, order: NDArray[np.intp]) -> None:
        if not is_sparse(self._X):
            self._copy[:, feature] = self._X[order, feature]
            return
        new_row = np.empty_like(order)
        new_row[order] = np.arange(len(order))
        stored = slice(*self._X.indptr[feature : feature + 2])
        self._copy.indices[stored] = new_row[self._X.indices[stored]]

"""Columns of categories that trees also see joined in pairs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood._io.storing import Stored

MAX_JOINT = 64
"""The largest number of joint categories of a pair."""


class Pair(NamedTuple):
    """Two columns of categories whose joint categories are those of a third column.

    The joint category of the categories number i and j has the number i · n_second + j. It is
    missing if one of both is.

    Attributes
    ----------
    first, second : int
        The columns of the table, in ascending order.
    n_first, n_second : int
        Their numbers of categories.
    """

    first: int
    second: int
    n_first: int
    n_second: int

    @property
    def n_joint(self) -> int:
        """Number of joint categories, whether the fit has met them or not."""
        return self.n_first * self.n_second


def write_pairs(pairs: Sequence[Pair], X: NDArray[np.float64]) -> None:
    """Write the last columns of X, those of the pairs, given the other ones.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.pairs import Pair, write_pairs
    >>> X = np.array([[1, 7.5, 2, 0], [np.nan, 8.5, 2, 0]])
    >>> write_pairs([Pair(0, 2, 2, 3)], X)
    >>> X
    array([[1. , 7.5, 2. , 5. ],
           [nan, 8.5, 2. , nan]])
    """
    n_features = X.shape[1] - len(pairs)
    for i, pair in enumerate(pairs):
        X[:, n_features + i] = X[:, pair.first] * pair.n_second + X[:, pair.second]


def with_pairs(pairs: Sequence[Pair], X: NDArray[Any]) -> NDArray[np.float64]:
    """Return X with the columns of pairs after its own."""
    joined = np.empty((len(X), X.shape[1] + len(pairs)))
    joined[:, : X.shape[1]] = X
    write_pairs(pairs, joined)
    return joined


def share_out(values: NDArray[Any], pairs: Sequence[Pair]) -> NDArray[Any]:
    """Return values of features, given those of all columns: a pair's go half to each of its own.

    The last axis of `values` has the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.pairs import Pair, share_out
    >>> share_out(np.array([0.2, 0.3, 0.1, 0.4]), [Pair(0, 2, 2, 3)])
    array([0.4, 0.3, 0.3])
    """
    n_features = values.shape[-1] - len(pairs)
    shared = values[..., :n_features].copy()
    for i, pair in enumerate(pairs):
        half = values[..., n_features + i] / 2
        shared[..., pair.first] += half
        shared[..., pair.second] += half
    return shared


def pairs_to_stored(pairs: Sequence[Pair]) -> NDArray[np.int64]:
    """Return the pairs as files hold them."""
    return np.array(pairs, dtype=np.int64)


def pairs_from_stored(stored: Stored) -> tuple[Pair, ...]:
    """Return the pairs of a file, checked as far as they alone can be."""
    table = stored.array("pairs", "i8", (None, 4))
    pairs = tuple(Pair(*row) for row in table.tolist())
    for pair in pairs:
        if not (
            0 <= pair.first < pair.second
            and 1 <= pair.n_first <= MAX_JOINT
            and 1 <= pair.n_second <= MAX_JOINT
            and pair.n_joint <= MAX_JOINT
        ):
            raise stored.wrong("pairs", "pairs of columns, with their numbers of categories")
    if not pairs or len({column for pair in pairs for column in pair[:2]}) < 2 * len(pairs):
        raise stored.wrong("pairs", "pairs of different columns")
    return pairs

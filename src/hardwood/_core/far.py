"""Some rows of a table, here or elsewhere."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing


class FarTable:
    """A table that is elsewhere. Some of its rows can be fetched."""

    shape: tuple[int, int]

    def fetch(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows, in any order, as a table that is here."""
        raise NotImplementedError


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table, here.

    Examples
    --------
    >>> from hardwood._core.far import take_rows
    >>> take_rows([[0], [1], [2]], [2, 0])
    [[2], [0]]
    """
    return X.fetch(np.asarray(rows)) if isinstance(X, FarTable) else safe_indexing(X, rows)

"""Values of arrays and of pandas and polars frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_floats(X: Any) -> NDArray[np.floating[Any]]:
    """Return a frame or an array as floating-point numbers, with NaN for missing values."""
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    values: NDArray[Any] = np.asarray(X.to_numpy() if hasattr(X, "columns") else X)
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns with their own types."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, place].to_numpy() for place in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [column.to_numpy() for column in X.get_columns()]
    return list(np.asarray(X).T)

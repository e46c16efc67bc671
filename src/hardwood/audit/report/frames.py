"""What arrays, pandas' and polars' frames hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_floats", "columns", "feature_names"]


def as_floats(X: Any) -> NDArray[np.floating[Any]]:
    """Return a frame or an array as floating-point numbers, missing ones as NaN."""
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    if hasattr(X, "columns"):
        X = X.to_numpy()
    values: NDArray[Any] = np.asarray(X)
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns of a few rows, with their own types."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, place].to_numpy() for place in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [column.to_numpy() for column in X.get_columns()]
    return list(np.asarray(X).T)


def feature_names(audit: Any, n_features: int) -> list[str]:
    """Return the names of the features, or what stands for them."""
    names = getattr(audit, "feature_names_in_", None)
    if names is None:
        return [f"feature {place}" for place in range(n_features)]
    return [str(name) for name in names]

"""Validates input, with scikit-learn's usual errors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

FloatMatrix = NDArray[np.float32] | NDArray[np.float64]

MAX_ROWS = 2**31 - 1
MAX_COLUMNS = 2**31 - 1
MAX_CLASSES = 2**16 - 1


def check_input(estimator: Any, X: Any) -> FloatMatrix:
    """Return X as float32 if that represents its dtype exactly, else as float64; allow NaN."""
    X = validate_data(
        estimator, _checked_size(X), reset=False, ensure_all_finite="allow-nan", dtype=_dtype(X)
    )
    return _aligned(X)


def check_training_data(
    estimator: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[FloatMatrix, NDArray[Any]]:
    """Return X as `check_input` does, and y as a vector of labels."""
    X, y = validate_data(
        estimator, _checked_size(X), y, reset=reset, ensure_all_finite="allow-nan", dtype=_dtype(X)
    )
    check_classification_targets(y)
    return _aligned(X), y


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint16]]:
    """Return the classes and the index of each label."""
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y has {len(classes)} classes; at most {MAX_CLASSES} are supported.")
    return classes, labels.astype(np.uint16)


def _dtype(X: Any) -> Any:
    """Return the dtype to convert X to, which never merges distinct values."""
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 2:
        return np.float32
    return [np.float64, np.float32]


def _checked_size(X: Any) -> Any:
    """Return X, or raise if the engine cannot index it, before anything is copied."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and (shape[0] > MAX_ROWS or shape[1] > MAX_COLUMNS):
        raise ValueError(
            f"X has shape {tuple(shape)}; at most {MAX_ROWS} rows and {MAX_COLUMNS} columns "
            "are supported."
        )
    return X


def _aligned(X: NDArray[Any]) -> FloatMatrix:
    return np.require(X, requirements="A")

"""Validates input, with scikit-learn's usual errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, validate_data

from hardwood._core.categories import Categories, find_columns

FloatMatrix = NDArray[np.float32] | NDArray[np.float64]

MAX_ROWS = 2**31 - 1
MAX_COLUMNS = 2**30 - 1
MAX_CLASSES = 2**16 - 1


def check_input(estimator: Any, X: Any) -> FloatMatrix:
    """Return X as float32 if that represents its dtype exactly, else as float64; allow NaN.

    Categories become numbers, as in the fit.
    """
    categories = getattr(estimator, "_categories", None)
    if categories is not None:
        X = _table(X)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return _aligned(categories.encode(X, _check_numbers))
    X = validate_data(
        estimator, _checked_size(X), reset=False, ensure_all_finite="allow-nan", dtype=_dtype(X)
    )
    return _aligned(X)


def check_training_data(
    estimator: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[FloatMatrix, NDArray[Any], tuple[int, ...]]:
    """Return X as `check_input` does, y as a vector of labels, and the columns with categories.

    Without `reset`, X has the categories of the previous fit. Otherwise the estimator gets those of
    this one.
    """
    if reset:
        estimator._categories = None
    categories = getattr(estimator, "_categories", None)
    columns = _category_columns(estimator, X) if reset else ()
    if categories is None and not columns:
        X, y = validate_data(
            estimator,
            _checked_size(X),
            y,
            reset=reset,
            ensure_all_finite="allow-nan",
            dtype=_dtype(X),
        )
    else:
        X = _table(X)
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        if reset:
            categories, X = Categories.learn(X, columns, _check_numbers)
        elif categories is not None:
            X = categories.encode(X, _check_numbers)
        X, y = check_X_y(X, y, ensure_all_finite="allow-nan", dtype=np.float64)
        estimator._categories = categories
    check_classification_targets(y)
    return _aligned(X), y, () if categories is None else categories.columns


def _category_columns(estimator: Any, X: Any) -> Sequence[int]:
    """Return the columns of X that have categories."""
    asked = getattr(estimator, "categorical_features", None)
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if asked is None or (isinstance(asked, str) and names is None):
        return ()
    return find_columns(_table(X), asked, None if names is None else list(names))


def _table(X: Any) -> Any:
    """Return X with two dimensions and at least one row and column, whatever its columns are."""
    if hasattr(X, "columns"):
        return _checked_size(X)
    return check_array(_checked_size(X), dtype=None, ensure_all_finite=False)


def _check_numbers(X: Any) -> NDArray[Any]:
    checked: NDArray[Any] = check_array(X, ensure_all_finite="allow-nan", dtype=np.float64)
    return checked


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

"""Validates input, with scikit-learn's usual errors."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, validate_data

from hardwood._core.categories import Categories, find_columns, library, name_of, select
from hardwood._core.frame_checks import (
    MAX_EXACT,
    check_columns,
    check_is_loaded,
    check_whole_numbers,
    warn_of_ordered_objects,
)
from hardwood._core.labels import check_one_output, labels_as_given, sorting_labels
from hardwood._core.sparse import is_sparse
from hardwood._core.times import times_as_numbers

Matrix = Any
"""X as the engine takes it: an array of real or whole numbers, or a CSR matrix of real ones."""

MAX_ROWS = 2**31 - 1
MAX_COLUMNS = 2**30 - 1
MAX_CLASSES = 2**16 - 1
MAX_TREES = 1_000_000


_REAL = [np.float64, np.float32]
_WHOLE = [np.bool_, *(np.dtype(f"{kind}{size}") for kind in "ui" for size in (1, 2, 4, 8))]
_ALL_NUMBERS: list[Any] = [*_REAL, *_WHOLE]
_TAKEN: frozenset[Any] = frozenset(np.dtype(number) for number in _ALL_NUMBERS)


def check_input(estimator: Any, X: Any) -> Matrix:
    """Return X as the engine takes it, with the type it has if possible; allow NaN.

    Categories become numbers, as in the fit.
    """
    categories = getattr(estimator, "_categories", None)
    if categories is not None:
        X = times_as_numbers(_table(X), categories.columns)
        validate_data(estimator, X, reset=False, skip_check_array=True)
        with _naming_text(X, is_fit=False, others=categories.columns):
            return _aligned(categories.encode(X, _check_numbers))
    X = _checked_size(X)
    if _fits(estimator, X) and _is_plain(X):
        return _aligned(X)
    X = times_as_numbers(_canonical(X))
    with _naming_column(estimator, X, reset=False):
        checked = validate_data(
            estimator,
            X,
            reset=False,
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
            dtype=_dtype(X),
        )
    return _aligned(checked)


def check_training_data(
    estimator: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[Matrix, NDArray[Any], tuple[int, ...]]:
    """Return X as `check_input` does, y as a vector of labels, and the columns with categories.

    Without `reset`, X has the categories of the previous fit. Otherwise the estimator gets those of
    this one.
    """
    given = _checked_size(X)
    if library(X) != "numpy" and X.shape[1] == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    check_one_output(y)
    y = labels_as_given(y)
    if reset:
        estimator._categories = None
    categories = getattr(estimator, "_categories", None)
    columns = _category_columns(estimator, X) if reset else ()
    if reset and not columns and _is_plain(X) and _are_plain_labels(y, len(X)):
        estimator.n_features_in_ = X.shape[1]
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return _aligned(X), y, ()
    if categories is None and not columns:
        X = times_as_numbers(_canonical(X))
        with _naming_column(estimator, X, reset=reset):
            X, y = validate_data(
                estimator,
                X,
                y,
                reset=reset,
                accept_sparse="csr",
                ensure_all_finite="allow-nan",
                dtype=_dtype(X),
            )
    else:
        X = times_as_numbers(_table(X), columns if categories is None else categories.columns)
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        if reset:
            with _naming_text(X, is_fit=True, others=columns):
                categories, numbers = Categories.learn(X, columns, _check_numbers)
            if isinstance(estimator.categorical_features, str):
                warn_of_ordered_objects(X, categories)
            X = numbers
        elif categories is not None:
            X = categories.encode(X, _check_numbers)
        X, y = check_X_y(X, y, ensure_all_finite="allow-nan", dtype=np.float64)
        estimator._categories = categories
    check_whole_numbers(given, X, () if categories is None else categories.columns)
    with sorting_labels():
        check_classification_targets(y)
    return _aligned(X), y, () if categories is None else categories.columns_seen


# scikit-learn's checks take longer than the first trees of a small forest, above all the first time,
# when they look for installed packages of data frames. They change nothing about plain arrays.


def _is_plain(X: Any) -> bool:
    """Return whether X is an array of finite numbers that the engine takes as it is."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in _TAKEN:
        return False
    if X.dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum()))  # else scikit-learn looks closer


def _are_plain_labels(y: Any, n_rows: int) -> bool:
    """Return whether y is an array of whole numbers, with few enough classes for its rows."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "iu" or len(y) == 0:
        return False
    return len(y) == n_rows and int(y.max()) - int(y.min()) < len(y) // 2


def _fits(estimator: Any, X: Any) -> bool:
    """Return whether X is an array with the columns of the fit, which had no names."""
    if type(X) is not np.ndarray or X.ndim != 2 or hasattr(estimator, "feature_names_in_"):
        return False
    return bool(getattr(estimator, "n_features_in_", None) == X.shape[1])


def _category_columns(estimator: Any, X: Any) -> Sequence[int]:
    """Return the columns of X that have categories."""
    asked = getattr(estimator, "categorical_features", None)
    if is_sparse(X):
        if not isinstance(asked, str) and find_columns(X, asked, None):
            raise TypeError(
                "categorical_features requires a dense X or a data frame: columns of sparse "
                "matrices are always numbers. Set categorical_features=None to treat them so."
            )
        return ()
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if asked is None or (isinstance(asked, str) and names is None):
        return ()
    return find_columns(_table(X), asked, None if names is None else list(names))


def _table(X: Any) -> Any:
    """Return X with two dimensions and at least one row and column, whatever its columns are."""
    X = _checked_size(X)
    if not hasattr(X, "columns"):
        return check_array(X, dtype=None, ensure_all_finite=False)
    if X.shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    return X


def _check_numbers(X: Any) -> NDArray[Any]:
    try:
        checked: NDArray[Any] = check_array(X, ensure_all_finite="allow-nan", dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        _raise_for_column(X)
        _raise_for_size(error)
        raise
    return checked


@contextmanager
def _naming_column(estimator: Any, X: Any, *, reset: bool) -> Iterator[None]:
    """Name the column of a frame that is not numbers, if that is what is wrong."""
    try:
        yield
    except (OverflowError, TypeError, ValueError) as error:
        if library(X) != "numpy" and X.shape[0]:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            _raise_for_column(X)
        _raise_for_size(error)
        with _naming_text(X, is_fit=reset):
            raise


@contextmanager
def _naming_text(X: Any, *, is_fit: bool, others: Collection[int] = ()) -> Iterator[None]:
    """Name the first text of an array, but for some columns, if that is what is wrong."""
    try:
        yield
    except ValueError as error:
        is_text = "could not convert string" in str(error) and library(X) == "numpy"
        if not is_text or (place := _first_text(X, others)) is None:
            raise
        row, column, text = place
        advice = (
            "If its values are categories, name the columns with categories in categorical_features, "
            f"such as categorical_features={sorted({*others, column})}, or pass a data frame, whose "
            "columns of text are categories. If it stands for a missing value, replace it by NaN."
            if is_fit
            else "The values of this column were numbers in the fit."
        )
        raise ValueError(
            f"could not convert string to float: {text[:100]!r} in row {row} of column {column} of X. "
            f"{advice}"
        ) from error


def _first_text(X: Any, others: Collection[int]) -> tuple[int, int, str | bytes] | None:
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return None
    for column in sorted(set(range(table.shape[1])).difference(others)):
        for row, value in enumerate(table[:, column]):
            if isinstance(value, str | bytes) and not _is_number(value):
                return row, column, value
    return None


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _raise_for_size(error: Exception) -> None:
    """Raise the usual error if NumPy could not convert a whole number because it is too large."""
    if isinstance(error, OverflowError):
        raise ValueError("X contains a number that is too large for dtype('float64').") from error


def _raise_for_column(X: Any) -> None:
    """Raise an error that names the first column of a frame that cannot become numbers, if any."""
    if library(X) == "numpy":
        return
    for j in range(X.shape[1]):
        try:
            check_array(select(X, [j]), ensure_all_finite="allow-nan", dtype=np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            message = str(error).partition("\n")[0].removesuffix(".")
            raise kind(
                f"{name_of(X, j)} is not a column of finite numbers: {message}. Convert it, leave it out, "
                "or name it in categorical_features when you fit, if its values are categories. "
                "hardwood.tables.TableModel reads numbers and dates that are written as text."
            ) from None


def encode_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint16]]:
    """Return the classes and the index of each label."""
    if _are_plain_labels(y, len(y)) and abs(int(y.min())) < MAX_EXACT:
        classes, labels = _count_labels(y)
    else:
        with sorting_labels():
            classes, labels = np.unique(y, return_inverse=True)
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y has {len(classes)} classes; at most {MAX_CLASSES} are supported.")
    return classes, labels.astype(np.uint16)


def _count_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes and the index of each label without sorting, for `_are_plain_labels`."""
    first = int(y.min())
    places = np.subtract(y, first, dtype=np.int64)
    is_class = np.bincount(places) > 0
    classes = np.asarray(np.flatnonzero(is_class) + first, dtype=y.dtype)
    indices = np.asarray(np.cumsum(is_class) - 1, dtype=np.int32)
    return classes, indices[places]


def _dtype(X: Any) -> Any:
    """Return the dtypes that X may have, the first of which it gets otherwise.

    No conversion merges distinct values.
    """
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype):
        if dtype.kind == "f" and dtype.itemsize <= 2:
            return np.float32
        if is_sparse(X):
            return np.float32 if dtype.kind in "biu" and dtype.itemsize <= 2 else _REAL
        if dtype.kind in "iu" and not dtype.isnative:
            return dtype.newbyteorder("=")
    return [*_REAL, *_WHOLE]


def _canonical(X: Any) -> Any:
    """Return a sparse X in CSR format, without duplicates; anything else as it is."""
    if not is_sparse(X) or X.ndim != 2:
        return X
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    is_whole = X.dtype.kind in "iu" and X.dtype.itemsize == 8
    if is_whole and np.any((X.data > MAX_EXACT) | (X.data < -MAX_EXACT)):
        raise ValueError(
            "Sparse X has whole numbers beyond 2**53, which float64 cannot represent exactly. Use a "
            "dense X, or convert it to float64 if rounded values will do."
        )
    return X


def _checked_size(X: Any) -> Any:
    """Return X, or raise if it cannot be used whatever its values are, before anything is copied."""
    check_is_loaded(X)
    if library(X) != "numpy":
        check_columns(X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and (shape[0] > MAX_ROWS or shape[1] > MAX_COLUMNS):
        raise ValueError(
            f"X has shape {tuple(shape)}; at most {MAX_ROWS} rows and {MAX_COLUMNS} columns "
            "are supported."
        )
    return X


def _aligned(X: Any) -> Matrix:
    """Return X as the engine takes it. scikit-learn lets the other byte order of a frame pass."""
    if is_sparse(X):
        return X
    return np.require(X, X.dtype.newbyteorder("="), requirements="A")

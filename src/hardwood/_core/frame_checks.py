"""Checks what is often wrong with the columns of a data frame, for messages that say what to do."""

import warnings
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.categories import Categories, is_arrow_type, library, name_of
from hardwood._core.sparse import is_sparse

MAX_EXACT = 2**53
MANY_VALUES = 20  # so many different values are more likely numbers or dates than codes


def check_is_loaded(X: Any) -> None:
    """Raise a TypeError if X is a frame whose data are elsewhere."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, which has no data yet: pass X.collect().")
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        raise TypeError(
            f"X is a {type(X).__name__} of Dask: pass X.compute(), or use an estimator of hardwood.dask."
        )


def check_columns(X: Any) -> None:
    """Raise a ValueError if columns of a data frame share a name or hold lists or structs."""
    names = list(getattr(X, "column_names", X.columns))
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise ValueError(
            f"X has {times} columns with the name {name!r}. Give each column a name of its own, or "
            "leave out the ones that repeat another."
        )
    for j, is_nested in enumerate(_are_nested(X)):
        if is_nested:
            raise ValueError(
                f"{name_of(X, j)} holds lists or structs, which are neither numbers nor categories. "
                "Make columns of their items, or leave it out."
            )


def check_whole_numbers(X: Any, numbers: Any, others: Collection[int]) -> None:
    """Raise a ValueError if the numbers of a frame merge large whole numbers of it.

    Parameters
    ----------
    X : data frame
        The table.
    numbers : ndarray or sparse matrix
        X as numbers.
    others : collection of int
        The columns of X that have categories.
    """
    if library(X) == "numpy" or is_sparse(numbers) or numbers.dtype.kind != "f":
        return  # not a frame, or one of whole numbers, which the engine compares
    if max(-np.fmin.reduce(numbers, axis=None), np.fmax.reduce(numbers, axis=None)) < MAX_EXACT:
        return
    for j in set(range(X.shape[1])).difference(others):
        different = np.unique(_long_integers(X, j))
        (merged,) = np.nonzero(np.diff(different.astype(np.float64)) == 0)
        if len(merged):
            raise ValueError(
                "X has whole numbers that float64, the type of thresholds, cannot tell apart: "
                f"{name_of(X, j)} has {different[merged[0]]} and {different[merged[0] + 1]}. "
                "Subtract a constant from the column to bring it below 2**53, leave it out if it "
                "identifies the rows, or convert it to float64 if such values may count as equal."
            )


def warn_of_ordered_objects(X: Any, categories: Categories) -> None:
    """Warn of columns of objects with many numbers or dates, which are split without their order."""
    if library(X) != "pandas":
        return
    for j, values in categories.of_column.items():
        dtype = X.dtypes.iloc[j]
        is_object = isinstance(dtype, np.dtype) and dtype.kind == "O"
        others = [value for value in values if not isinstance(value, str | bool | np.bool_)]
        if is_object and len(values) > MANY_VALUES and 2 * len(others) > len(values):
            warnings.warn(
                f"{name_of(X, j)} has the type object, so its {len(values):,} different values, such "
                f"as {others[0]!r}, are categories, which have no order. Convert it to numbers or "
                "dates, for example with pandas.to_numeric or pandas.to_datetime. If they are "
                "categories, convert it to the type 'category'.",
                UserWarning,
                stacklevel=2,
            )


def _long_integers(X: Any, column: int) -> NDArray[Any]:
    """Return the values of a column of whole numbers of eight bytes, none of any other column."""
    match library(X):
        case "polars":
            if str(X.dtypes[column]) in ("Int64", "UInt64"):
                return np.asarray(X.to_series(column).drop_nulls().to_numpy())
        case "pyarrow":
            if str(X.schema.field(column).type) in ("int64", "uint64"):
                return np.asarray(X.column(column).drop_null().to_numpy())
        case _:
            name = str(X.dtypes.iloc[column]).removesuffix("[pyarrow]").lower()
            if name in ("int64", "uint64"):
                return np.asarray(X.iloc[:, column].dropna().to_numpy(name))
    return np.empty(0)


def _are_nested(X: Any) -> list[bool]:
    match library(X):
        case "polars":
            return [dtype.is_nested() for dtype in X.dtypes]
        case "pyarrow":
            return [_is_nested_in_arrow(field.type) for field in X.schema]
        case _:
            return [
                is_arrow_type(dtype) and _is_nested_in_arrow(dtype.pyarrow_dtype)
                for dtype in X.dtypes
            ]


def _is_nested_in_arrow(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(type))

"""Columns of dates, durations and times of day in data frames, as numbers."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.categories import is_arrow_type, library

Floats = NDArray[np.float64]

_DAY = 86_400e6  # in microseconds
_HOUR = 3_600e9  # in nanoseconds


def times_as_numbers(X: Any, others: Collection[int] = ()) -> Any:
    """Return a table with numbers in the place of dates, durations and times of day.

    Dates are days since 1970-01-01 in UTC, durations are days, and times of day are hours, in whatever
    unit a library stores them. Anything but a frame of pandas, polars or pyarrow stays as it is.

    Parameters
    ----------
    X : array-like or data frame
        The table.
    others : collection of int
        Columns to leave as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> from hardwood._core.times import times_as_numbers
    >>> X = pd.DataFrame({"day": pd.to_datetime(["1970-01-03 12:00", None]), "size": [1, 2]})
    >>> times_as_numbers(X).values.tolist()
    [[2.5, 1.0], [nan, 2.0]]
    """
    match library(X):
        case "pandas":
            found = {j: _in_pandas(X, j) for j in _places(X.dtypes, _is_time_in_pandas, others)}
            X = X.copy(deep=False) if found else X
            for j, numbers in found.items():
                X.isetitem(j, numbers)
        case "polars":
            import polars as pl

            found = {j: _in_polars(X, j) for j in _places(X.dtypes, _is_time_in_polars, others)}
            X = X.with_columns(pl.Series(X.columns[j], numbers) for j, numbers in found.items())
        case "pyarrow":
            import pyarrow as pa

            for j in _places(X.schema.types, pa.types.is_temporal, others):
                X = X.set_column(j, X.schema.names[j], pa.array(_in_arrow(X.column(j))))
    return X


def _places(types: Any, is_time: Any, others: Collection[int]) -> list[int]:
    return [j for j, each in enumerate(types) if j not in others and is_time(each)]


def days(times: NDArray[Any]) -> Floats:
    """Return days, given times or durations of NumPy. Times are counted from 1970-01-01."""
    kind = times.dtype.kind  # "M" or "m"
    in_microseconds = times.astype(f"{kind}8[us]")
    return np.where(np.isnat(times), np.nan, in_microseconds.astype(np.int64) / _DAY)


def _is_time_in_pandas(dtype: Any) -> bool:
    import pandas as pd

    if is_arrow_type(dtype):
        import pyarrow as pa

        return bool(pa.types.is_temporal(dtype.pyarrow_dtype))
    is_numpy = isinstance(dtype, np.dtype) and dtype.kind in "mM"
    return is_numpy or isinstance(dtype, pd.DatetimeTZDtype | pd.PeriodDtype)


def _in_pandas(X: Any, column: int) -> Floats:
    import pandas as pd

    series = X.iloc[:, column]
    if is_arrow_type(series.dtype):
        import pyarrow as pa

        return _in_arrow(pa.chunked_array([pa.array(series.array)]))
    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    elif isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)
    return days(series.to_numpy())


def _is_time_in_polars(dtype: Any) -> bool:
    return bool(dtype.is_temporal())


def _in_polars(X: Any, column: int) -> Floats:
    import polars as pl

    series = X.to_series(column)
    if series.dtype == pl.Time:
        nanoseconds = series.cast(pl.Int64).cast(pl.Float64).to_numpy()
        return np.asarray(nanoseconds / _HOUR)
    return days(series.to_numpy())


def _in_arrow(column: Any) -> Floats:
    """Return the numbers of a chunked array."""
    import pyarrow as pa

    if pa.types.is_time(column.type):
        nanoseconds = column.cast(pa.time64("ns")).cast(pa.int64()).cast(pa.float64())
        return np.asarray(nanoseconds.to_numpy() / _HOUR)
    return days(column.to_numpy())

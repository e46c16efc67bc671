"""Columns of categories: which columns of X have them, and how they become numbers."""

import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Number
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing
from hardwood._core.pairs import Pair, pairs_from_stored, pairs_to_stored, write_pairs
from hardwood._io.storing import Stored, is_too_large, storable

MAX_CATEGORIES = 65_535

Floats = NDArray[np.float64]
Check = Callable[[Any], NDArray[Any]]
Factorized = tuple[list[Hashable], NDArray[np.signedinteger[Any]]]


@storable("Categories")
@dataclass(frozen=True)
class Categories:
    """The categories of a table's columns, as they were met in a fit.

    Trees see the index of a category among those of its column. Values that are missing, or that
    the fit did not meet, are NaN to them. After the columns of the table, they see those of pairs.

    Attributes
    ----------
    n_features : int
        Number of columns of the table.
    of_column : dict of int to list
        The categories of each column that has some, sorted.
    pairs : tuple of Pair, default=()
        Columns that trees also see joined in pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.categories import Categories
    >>> X = np.array([["b", 7], ["a", 8]], dtype=object)
    >>> categories, numbers = Categories.learn(X, [0], np.asarray)
    >>> categories.of_column
    {0: ['a', 'b']}
    >>> numbers
    array([[1., 7.],
           [0., 8.]])
    >>> categories.encode(np.array([["c", 9]], dtype=object), np.asarray)
    array([[nan,  9.]])
    """

    n_features: int
    of_column: dict[int, list[Any]]
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def learn(cls, X: Any, columns: Iterable[int], check: Check) -> tuple[Self, Floats]:
        """Return the categories that these columns of X have, and X as numbers: see `encode`."""
        found, factorized = {}, {}
        for j in columns:
            factorized[j] = _factorized(X, j)
            found[j] = sort_categories(factorized[j][0])
            if len(found[j]) > MAX_CATEGORIES:
                raise ValueError(
                    f"{name_of(X, j)} has {len(found[j]):,} categories; at most {MAX_CATEGORIES:,} "
                    "are supported. Leave the column out if it identifies the rows, or name the "
                    "columns with categories in categorical_features."
                )
        categories = cls(X.shape[1], found)
        return categories, categories._encoded(X, check, factorized)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the table that have categories."""
        return tuple(self.of_column)

    @property
    def n_columns(self) -> int:
        """Number of columns that trees see."""
        return self.n_features + len(self.pairs)

    @property
    def columns_seen(self) -> tuple[int, ...]:
        """The columns that trees see which have categories."""
        return (*self.columns, *range(self.n_features, self.n_columns))

    @property
    def numeric_columns(self) -> list[int]:
        """The other columns."""
        return [j for j in range(self.n_features) if j not in self.of_column]

    def n_categories(self) -> dict[int, int]:
        """Return the number of categories of each column that trees see, if it has some."""
        of_pairs = {self.n_features + i: pair.n_joint for i, pair in enumerate(self.pairs)}
        return {column: len(values) for column, values in self.of_column.items()} | of_pairs

    def of_numbers(self) -> Self | None:
        """Return what a table of the numbers of categories needs: the pairs."""
        return replace(self, of_column={}) if self.pairs else None

    def encode(self, X: Any, check: Check) -> Floats:
        """Return X as trees see it. `check` converts the columns that have no categories."""
        return self._encoded(X, check, {j: _factorized(X, j) for j in self.columns})

    def _encoded(self, X: Any, check: Check, factorized: dict[int, Factorized]) -> Floats:
        encoded = np.empty((X.shape[0], self.n_columns))
        if self.numeric_columns:
            numeric = check(select(X, self.numeric_columns))
            for i, j in enumerate(self.numeric_columns):  # faster than all at once
                encoded[:, j] = numeric[:, i]
        for j, (values, index) in factorized.items():
            number_of = {value: i for i, value in enumerate(self.of_column[j])}
            # The last one is for the index −1: missing values.
            numbers = [*(number_of.get(value, np.nan) for value in values), np.nan]
            encoded[:, j] = np.array(numbers)[index]
            if library(X) != "numpy" and number_of and number_of.keys().isdisjoint(values):
                _warn_of_other_types(name_of(X, j), values, self.of_column[j])
        write_pairs(self.pairs, encoded)
        return encoded

    def _to_stored(self) -> dict[str, Any]:
        values = [_stored_values(values) for values in self.of_column.values()]
        return {
            "n_features": self.n_features,
            "columns": np.array(self.columns, dtype=np.int64),
            "values": values,
            **({"pairs": pairs_to_stored(self.pairs)} if self.pairs else {}),
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        n_features = stored.integer("n_features", 1, 2**30)
        all_values = stored.instance("values", list)
        numbers = stored.array("columns", "i8", (None,))
        columns = numbers[: len(all_values) + 1].tolist()  # a list of all could be large
        if (
            len(columns) != len(all_values)
            or any(not 0 <= column < n_features for column in columns)
            or sorted(set(columns)) != columns
        ):
            raise stored.wrong("columns", "columns in ascending order, each with its categories")
        values = []
        for each in all_values:
            found = _from_stored_values(each)
            if found is None or len(set(found)) != len(found):
                raise stored.wrong("values", "different strings or numbers, not too many")
            values.append(found)
        of_column = dict(zip(columns, values, strict=True))
        pairs = pairs_from_stored(stored) if "pairs" in stored else ()
        for pair in pairs:
            sizes = ((pair.first, pair.n_first), (pair.second, pair.n_second))
            if pair.second >= n_features or any(
                n != len(of_column.get(column, range(n))) for column, n in sizes
            ):
                raise stored.wrong("pairs", "pairs of columns, with their numbers of categories")
        return cls(n_features, of_column, pairs)


def find_columns(X: Any, categorical_features: Any, names: Sequence[str] | None) -> list[int]:
    """Return the columns of X that hold categories, as scikit-learn's estimators understand it.

    Parameters
    ----------
    X : array-like or data frame
        The table.
    categorical_features : "from_dtype", array-like of bool, int or str, or None
        By the types of a data frame's columns; a mask; indices; names; or no column.
    names : sequence of str or None
        The names of the columns.
    """
    if isinstance(categorical_features, str):  # "from_dtype"
        return [j for j, is_category in enumerate(_have_categories(X)) if is_category]
    if categorical_features is None:
        return []
    chosen = np.asarray(categorical_features)
    n_features = X.shape[1]
    if chosen.size == 0:
        return []
    if chosen.ndim != 1 or chosen.dtype.kind not in "biuUOT":
        raise ValueError(
            "categorical_features must be an array-like of bool, int or str of one dimension, got "
            f"{categorical_features!r}."
        )
    if chosen.dtype.kind == "b":
        if len(chosen) != n_features:
            raise ValueError(
                f"categorical_features, set as a boolean mask, must have the length {n_features}, "
                f"the number of features, but has {len(chosen)}."
            )
        return np.flatnonzero(chosen).tolist()
    if chosen.dtype.kind in "iu":
        if chosen.min() < 0 or chosen.max() >= n_features:
            raise ValueError(
                "categorical_features, set as indices, must be from 0 to n_features − 1 = "
                f"{n_features - 1}, got {categorical_features!r}."
            )
        return sorted(set(chosen.tolist()))
    if names is None:
        raise ValueError(
            "categorical_features has names of features, but X does not: pass a data frame whose "
            "column names are strings, or use indices."
        )
    unknown = [name for name in chosen.tolist() if name not in names]
    if unknown:
        raise ValueError(
            f"categorical_features has the names {unknown}, which X does not have among its columns."
        )
    return sorted({list(names).index(name) for name in chosen.tolist()})


# --- the columns of any kind of table ------------------------------------------------------------


def library(X: Any) -> str:
    """Return the library of a data frame, "numpy" for everything else."""
    name = type(X).__module__.partition(".")[0]
    return name if name in ("pandas", "polars", "pyarrow") and hasattr(X, "columns") else "numpy"


def is_arrow_type(dtype: Any) -> bool:
    """Return whether a type of pandas is one of pyarrow."""
    import pandas as pd

    return isinstance(dtype, pd.ArrowDtype)


def _have_categories(X: Any) -> list[bool]:
    """Return which columns have categories, by their types."""
    match library(X):
        case "pandas":
            return [_is_text_in_pandas(dtype) for dtype in X.dtypes]
        case "polars":
            import polars as pl

            kinds = (pl.Categorical, pl.Enum, pl.String)
            return [isinstance(dtype, kinds) or dtype in kinds for dtype in X.dtypes]
        case "pyarrow":
            return [_is_text_in_arrow(field.type) for field in X.schema]
        case _:
            return []


def _is_text_in_arrow(type: Any) -> bool:
    import pyarrow as pa

    is_text = (
        *(pa.types.is_dictionary, pa.types.is_string),
        *(pa.types.is_large_string, pa.types.is_string_view),
    )
    return any(check(type) for check in is_text)


def _is_text_in_pandas(dtype: Any) -> bool:
    import pandas as pd

    if is_arrow_type(dtype):
        return _is_text_in_arrow(dtype.pyarrow_dtype)
    is_object = isinstance(dtype, np.dtype) and dtype.kind == "O"
    return is_object or isinstance(dtype, pd.CategoricalDtype | pd.StringDtype)


def select(X: Any, columns: list[int]) -> Any:
    """Return some columns of a table."""
    if hasattr(X, "column_names"):  # pyarrow, which scikit-learn < 1.7 cannot index
        return X.select(columns)
    return safe_indexing(X, columns, axis=1)


def _factorized(X: Any, column: int) -> Factorized:
    """Return the different values of a column, and each row's index among them, −1: missing."""
    try:
        match library(X):
            case "pandas":
                return _factorized_by_pandas(X.iloc[:, column])
            case "polars":
                return _factorized_by_polars(X.to_series(column))
            case "pyarrow":
                return _factorized_by_arrow(X.column(column))
            case _:
                return _factorized_by_numpy(np.asarray(X[:, column]))
    except TypeError as error:  # not hashable
        raise ValueError(
            f"{name_of(X, column)} holds values that cannot be categories, such as lists."
        ) from error


def _factorized_by_pandas(series: Any) -> Factorized:
    import pandas as pd

    if hasattr(series, "cat"):
        codes = series.cat.codes.to_numpy(np.int64)
        is_present = np.bincount(codes + 1, minlength=len(series.cat.categories) + 1)[1:] > 0
        number_of = np.append(np.cumsum(is_present) - 1, -1)  # the last one is of missing values
        return series.cat.categories[is_present].tolist(), number_of[codes]
    if isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "pyarrow":
        import pyarrow as pa

        return _factorized_by_arrow(pa.array(series))
    index, values = series.factorize()
    return values.tolist(), index


def _factorized_by_polars(series: Any) -> Factorized:
    import polars as pl

    if series.dtype == pl.String:
        series = series.cast(pl.Categorical)
    if series.dtype not in (pl.Categorical, pl.Enum):
        return _factorized_list(series.to_list())
    codes = series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    row_of = np.full(codes.max(initial=-1) + 2, -1)  # a row with each code, −1 for none
    row_of[codes] = np.arange(len(codes))
    rows = row_of[:-1][row_of[:-1] >= 0]
    number_of = np.append(np.cumsum(row_of[:-1] >= 0) - 1, -1)
    return series.gather(rows).cast(pl.String).to_list(), number_of[codes]


def _factorized_by_arrow(values: Any) -> Factorized:
    """Factorize an array of pyarrow, which may have chunks."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):  # it may hold values twice, or values of no row
        values = values.cast(values.type.value_type)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return _factorized_list(values.to_pylist())
    encoded = values.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    index = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), index


def _factorized_list(values: list[Any]) -> Factorized:
    return _factorized_by_dict(values, [_is_missing(value) for value in values])


def _factorized_by_numpy(values: NDArray[Any]) -> Factorized:
    if values.dtype.kind in "biuf":
        different, index = np.unique(values, return_inverse=True)
        if values.dtype.kind == "f":
            index = np.where(np.isnan(values), -1, index)
            different = different[~np.isnan(different)]  # the last one
        return different.tolist(), index
    return _factorized_list(values.tolist())


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or the NA of pandas, which equals nothing."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _factorized_by_dict(values: list[Any], is_missing: list[bool]) -> Factorized:
    number_of: dict[Hashable, int] = {}
    index = [
        -1 if missing else number_of.setdefault(value, len(number_of))
        for value, missing in zip(values, is_missing, strict=True)
    ]
    return list(number_of), np.array(index, dtype=np.int64)


def name_of(X: Any, column: int) -> str:
    """Return what a message calls a column."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    return f"Column {column}" if columns is None else f"Column {columns[column]!r}"


def _warn_of_other_types(name: str, values: list[Any], known: list[Any]) -> None:
    """Warn of a column without known values if they have other types than those of the fit."""
    if values and set(map(_kind, values)).isdisjoint(map(_kind, known)):
        warnings.warn(
            f"{name}: its values, such as {values[0]!r}, have another type than the categories of the "
            f"fit, such as {known[0]!r}, so all of them are unknown. Convert them to that type.",
            UserWarning,
            stacklevel=2,
        )


def _kind(value: Any) -> type:
    """Return what values that can be equal have in common."""
    value = value.item() if isinstance(value, np.generic) else value
    kinds = (str, Number, date)
    return next((kind for kind in kinds if isinstance(value, kind)), type(value))


def sort_categories(values: list[Any]) -> list[Any]:
    """Sort values, those of different types by the names of these."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _stored_values(values: list[Any]) -> Any:
    """Return the values as an array of strings, which files can hold in any number."""
    if all(isinstance(value, str) for value in values):
        return _strings(values)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if too_large := [value for value in plain if is_too_large(value)]:
        raise ValueError(
            f"the category {too_large[0]} cannot be stored: it is larger than 2**64 - 1."
        )
    return {"json": _strings([json.dumps(value) for value in plain])}


def _strings(values: list[str]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _from_stored_values(stored: Any) -> list[Any] | None:
    """Return the values, or None if these are no categories."""
    is_json = isinstance(stored, dict) and stored.keys() == {"json"}
    values = stored["json"] if is_json else stored
    if isinstance(values, np.ndarray):
        is_list = values.ndim == 1 and len(values) <= MAX_CATEGORIES
        values = values.tolist() if is_list else None
    if not isinstance(values, list) or len(values) > MAX_CATEGORIES:
        return None
    found = []
    for value in values:
        if is_json:
            value = _from_json(value)
        if not isinstance(value, str | int | float) or is_too_large(value):
            return None
        found.append(value)
    return found


def _from_json(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) and len(text) <= _LONGEST_JSON else None


_LONGEST_JSON = 2**20  # in characters

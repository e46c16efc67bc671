"""Rows to predict, in all forms that people pass, and what must be refused."""

from __future__ import annotations

import datetime
import decimal
import fractions
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse
from numpy.typing import NDArray

Rng = np.random.Generator
Array = NDArray[Any]
Form = Callable[[Array, Rng], Any]


def as_file(rows: Array) -> Array:
    file = io.BytesIO()
    np.save(file, rows)
    file.seek(0)
    loaded: Array = np.load(file)
    return loaded


def read_only(rows: Array) -> Array:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def strided(rows: Array) -> Array:
    wide = np.full((2 * rows.shape[0], 3 * rows.shape[1]), 7, dtype=rows.dtype)
    wide[::2, ::3] = rows
    return wide[::2, ::3]


def unaligned(rows: Array) -> Array:
    raw = np.zeros(rows.nbytes + 1, dtype=np.uint8)
    moved: Array = raw[1:].view(rows.dtype).reshape(rows.shape)
    moved[:] = rows
    return moved


def with_duplicates(rows: Array) -> Any:
    """A matrix in coordinate format in which each value is there twice: once as zero."""
    i, j = np.nonzero(rows)
    values = rows[i, j]
    data = np.concatenate([values, 0 * np.nan_to_num(values, posinf=0, neginf=0)])
    places = (np.concatenate([i, i]), np.concatenate([j, j]))
    return scipy.sparse.coo_matrix((data, places), shape=rows.shape)


def unsorted(rows: Array) -> Any:
    matrix = scipy.sparse.csr_array(rows)
    for begin, end in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        matrix.indices[begin:end] = matrix.indices[begin:end][::-1].copy()
        matrix.data[begin:end] = matrix.data[begin:end][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def with_long_indices(rows: Array) -> Any:
    matrix = scipy.sparse.csr_matrix(rows)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def with_explicit_zeros(rows: Array) -> Any:
    i, j = np.indices(rows.shape).reshape(2, -1)
    return scipy.sparse.csc_array((rows.ravel(), (i, j)), shape=rows.shape)


class ArrayLike:
    """What NumPy can make an array of."""

    def __init__(self, rows: Array) -> None:
        self._rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._rows if dtype is None else self._rows.astype(dtype)


class Subclass(np.ndarray[Any, Any]):
    """An array of another class."""


OF_ANY_TYPE: list[Callable[[Array], Any]] = [
    np.asfortranarray,
    np.ascontiguousarray,
    read_only,
    strided,
    unaligned,
    as_file,
    lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    lambda rows: np.repeat(rows, 2, axis=0)[::2],
    lambda rows: rows.astype(rows.dtype.newbyteorder()),
    lambda rows: np.asfortranarray(rows.astype(rows.dtype.newbyteorder())),
    lambda rows: rows.view(Subclass),
    lambda rows: rows.astype(object),
    lambda rows: rows.tolist(),
    lambda rows: tuple(map(tuple, rows.tolist())),
    list,
    lambda rows: [list(row) for row in rows],
    ArrayLike,
]
SPARSE: list[Callable[[Array], Any]] = [
    scipy.sparse.csr_array,
    scipy.sparse.csr_matrix,
    scipy.sparse.csc_array,
    scipy.sparse.csc_matrix,
    scipy.sparse.coo_array,
    scipy.sparse.lil_matrix,
    scipy.sparse.bsr_array,
    scipy.sparse.dok_matrix,
    with_duplicates,
    unsorted,
    with_long_indices,
    with_explicit_zeros,
    lambda rows: scipy.sparse.csr_array(np.asfortranarray(rows))[:, :],
    lambda rows: scipy.sparse.csc_matrix(rows).T.T,
]
FRAMES: list[Callable[[Array, list[str]], Any]] = [
    lambda rows, names: pd.DataFrame(rows, columns=names),
    lambda rows, names: pd.DataFrame(rows, columns=names, index=np.arange(len(rows))[::-1] * 3),
    lambda rows, names: pd.DataFrame(rows, columns=names, index=[0] * len(rows)),
    lambda rows, names: pd.DataFrame(rows, columns=names, dtype=object),
    lambda rows, names: pd.DataFrame(rows, columns=names).convert_dtypes(),
    lambda rows, names: pd.DataFrame(rows, columns=names).astype("Float64"),
    lambda rows, names: pd.DataFrame(rows, columns=names).astype("double[pyarrow]"),
    lambda rows, names: pd.DataFrame({name: rows[:, j] for j, name in enumerate(names)}),
    lambda rows, names: pd.concat(
        [pd.DataFrame(rows[:, [j]], columns=[name]) for j, name in enumerate(names)], axis=1
    ),
    lambda rows, names: pl.DataFrame(
        {name: np.ascontiguousarray(rows[:, j]) for j, name in enumerate(names)}
    ),
    lambda rows, names: pa.table(
        {name: np.ascontiguousarray(rows[:, j]) for j, name in enumerate(names)}
    ),
]
NARROW = ["f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">i8", ">f4", ">u2", "g"]
NUMBERS = [decimal.Decimal, fractions.Fraction, float, np.float64, np.longdouble]


def valid_forms(
    rows: Array, names: list[str] | None, rng: Rng, *, dense: bool
) -> list[tuple[Array, Any]]:
    """Pairs of plain rows, in float64, and the same values in another form.

    Parameters
    ----------
    rows : ndarray of float64
        The rows.
    names : list of str or None
        The names of the columns, if the model knows them.
    rng : Generator
        Draws which forms there are.
    dense : bool
        Whether sparse matrices are left out.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    pairs: list[tuple[Array, Any]] = [(rows, form(rows)) for form in chosen(OF_ANY_TYPE, 6, rng)]
    frame_names = names or [f"x{j}" for j in range(rows.shape[1])]
    pairs += [(rows, form(rows, frame_names)) for form in chosen(FRAMES, 4, rng)]
    if not dense:
        pairs += [(rows, form(rows)) for form in chosen(SPARSE, 4, rng)]
    dtype = np.dtype(rng.choice(NARROW))
    low, high = (0, 100) if dtype.kind in "bu" else (-100, 100)
    narrow = np.nan_to_num(rows, nan=1).clip(low, high).astype(dtype)
    if dtype.kind == "f":
        narrow[np.isnan(rows)] = np.nan
    wide = narrow.astype(np.float64)
    pairs += [(wide, form(narrow)) for form in [np.asarray, *chosen(OF_ANY_TYPE, 4, rng)]]
    if dtype.isnative and dtype.name not in ("float16", "longdouble", "float128"):
        pairs += [(wide, form(narrow, frame_names)) for form in chosen(FRAMES, 2, rng)]
        if not dense:
            pairs += [(wide, form(narrow)) for form in chosen(SPARSE, 2, rng)]
    number = NUMBERS[rng.integers(len(NUMBERS))]
    finite = np.nan_to_num(rows)
    pairs.append((finite, [[number(value) for value in row] for row in finite.tolist()]))
    missing = np.array(
        [[None if value != value else value for value in row] for row in rows], dtype=object
    )
    pairs.append((rows, missing))
    mixed = pd.DataFrame(rows.clip(-1e30, 1e30), columns=frame_names).astype(
        {frame_names[0]: "Float32"}
    )
    pairs.append((mixed.to_numpy(dtype=float, na_value=np.nan), mixed))
    return pairs


def same_table(X: pd.DataFrame, rng: Rng) -> list[Any]:
    """A data frame in other forms, with the same values. Few of them know numbers of the other byte order."""
    if not all(getattr(dtype, "isnative", True) for dtype in X.dtypes):
        return []
    is_text = {name: [isinstance(value, str) for value in X[name].dropna()] for name in X}
    texts = [name for name, found in is_text.items() if found and all(found)]
    forms: list[Callable[[], Any]] = [
        X.copy,
        lambda: X.set_axis(np.arange(len(X))[::-1] + 7),
        lambda: X.set_axis([0] * len(X)),
        lambda: X.astype(object),
        lambda: X.astype(dict.fromkeys(texts, "category")),
        lambda: X.astype(dict.fromkeys(texts, "string")),
        lambda: X.astype(dict.fromkeys(texts, "object")),
        lambda: X.to_numpy(dtype=object),
        lambda: pl.from_pandas(X),
        lambda: pa.Table.from_pandas(X, preserve_index=False),
        lambda: X.convert_dtypes(),
    ]
    return [form() for form in chosen(forms, 6, rng)]


def chosen(options: list[Any], number: int, rng: Rng) -> list[Any]:
    return [options[i] for i in rng.permutation(len(options))[:number]]


def with_value(rows: Array, value: Any, dtype: Any = None) -> Array:
    """Rows with this value in a place."""
    rows = rows.astype(object if dtype is None else dtype)
    rows[len(rows) // 2, rows.shape[1] // 2] = value
    return rows


HUGE_NUMBERS = [10**400, -(10**400), decimal.Decimal("1e400"), fractions.Fraction(10**400)]
NOT_NUMBERS: list[Any] = [
    *("word", "", b"bytes", "1_000x", "\ud800", "\0", "0x10", "نص", 1 + 2j, object(), [1], {}),
    *(print, datetime.date(2020, 1, 1), pd.Timestamp(0), range(3), np.array([1, 2]), Ellipsis),
]


def refused_shapes(n_columns: int, names: list[str] | None) -> list[Any]:
    """What is no table with these columns, whatever its values are."""
    rows = np.zeros((3, n_columns))
    frame_names = names or [f"x{j}" for j in range(n_columns)]
    frame = pd.DataFrame(rows, columns=frame_names)
    forms: list[Any] = [
        np.zeros((3, n_columns + 1)),
        scipy.sparse.csr_array((3, n_columns + 5)),
        np.zeros((2, 2 * n_columns)).tolist(),
        *(rows[:, :0], rows[:, 1:], rows[:0], rows[0], rows[None], rows[0, 0], 1.0, 1, np.nan),
        *(scipy.sparse.csr_array(rows[:0]), scipy.sparse.csr_array((3, 0))),
        np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]),
        [[0.0] * n_columns, [0.0] * (n_columns + 1)],
        *([[]], [], [[], []], None, "model.hw", b"rows", type, print, object(), slice(3), ...),
        *({"x0": [1.0]}, {1.0, 2.0}, iter(rows.tolist()), frame.to_dict(), {}),
        frame.iloc[:, 0],
        frame.assign(another=1.0),
        frame.iloc[:, 1:],
        frame.iloc[:0],
        pl.DataFrame(rows, schema=frame_names).lazy(),
        pa.table(frame).slice(0, 0),
        pl.DataFrame(rows, schema=frame_names)[:0],
    ]
    if names is not None:
        forms += [frame.rename(columns={names[0]: "other"})]
        forms += [frame.rename(columns=dict.fromkeys(names, "same"))] if n_columns > 1 else []
        forms += [frame[names[::-1]], pl.DataFrame(frame)[names[::-1]]] if n_columns > 1 else []
    return forms


def refused_values(rows: Array, names: list[str] | None, rng: Rng) -> list[Any]:
    """Tables with these columns whose values are not numbers, or not finite."""
    rows = np.ascontiguousarray(np.nan_to_num(rows), dtype=np.float64)
    names = names or [f"x{j}" for j in range(rows.shape[1])]
    word = NOT_NUMBERS[rng.integers(len(NOT_NUMBERS))]
    huge = HUGE_NUMBERS[rng.integers(len(HUGE_NUMBERS))]
    infinite = with_value(rows, np.inf, float)
    return [
        infinite,
        np.asfortranarray(-infinite),
        with_value(np.zeros_like(rows), -np.inf, np.float32),
        with_value(np.zeros_like(rows), np.inf, np.float16),
        with_value(rows, np.inf),
        infinite.tolist(),
        scipy.sparse.csc_array(infinite),
        pd.DataFrame(-infinite, columns=names),
        pl.DataFrame(infinite, schema=names),
        pa.table(pd.DataFrame(infinite, columns=names)),
        with_value(rows, word),
        with_value(rows, word).tolist(),
        pd.DataFrame(with_value(rows, word), columns=names, dtype=object),
        with_value(rows, huge),
        with_value(rows, huge).tolist(),
        pd.DataFrame(with_value(rows, huge), columns=names, dtype=object),
        np.full(rows.shape, "word"),
        np.full(rows.shape, b"word"),
        pl.DataFrame(np.full(rows.shape, "word"), schema=names),
        pd.DataFrame(np.full(rows.shape, "word"), columns=names, dtype="string"),
        rows.astype(complex),
        scipy.sparse.csr_array(rows.astype(complex)),
        np.zeros(rows.shape, dtype="V8"),
    ]

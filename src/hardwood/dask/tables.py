"""Code tables of columns whose rows lie on several workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.sparse import is_sparse
from hardwood.dask.tasks import n_bytes

MAX_NARROW = 255  # codes of one byte

Table = tuple[NDArray[np.float64], NDArray[np.float64], bool, bool]
"""Smallest and largest value of each code, whether values are missing, and are categories."""


@dataclass(frozen=True)
class Distinct:
    """The distinct values of a column, in ascending order, and how many rows have each.

    Values are float32 where all of the column are, 64-bit whole numbers, or float64.
    """

    values: NDArray[Any]
    n_rows: NDArray[np.uint32]
    has_missing: bool

    def __sizeof__(self) -> int:
        return n_bytes(self.values, self.n_rows)

    @classmethod
    def of(cls, column: NDArray[Any]) -> "Distinct":
        """Return the distinct values of some rows."""
        has_missing = column.dtype.kind == "f" and bool(np.isnan(column).any())
        known = column[~np.isnan(column)] if has_missing else column
        span = _span(known)
        if span is None:
            values, n_rows = np.unique(known, return_counts=True)
        else:
            n_rows = np.bincount(known.astype(np.int64) - span.start)
            places = np.flatnonzero(n_rows)
            values, n_rows = (places + span.start).astype(known.dtype), n_rows[places]
        if values.dtype == np.float32:
            values += np.float32(0)  # -0 becomes +0
        elif not (values.dtype.kind in "iu" and values.dtype.itemsize == 8):
            values = values.astype(np.float64) + 0.0
        return cls(values, n_rows.astype(np.uint32), has_missing)

    @classmethod
    def merged(cls, parts: Sequence["Distinct"]) -> "Distinct":
        """Return the distinct values of all parts together."""
        has_missing = any(part.has_missing for part in parts)
        parts = [part for part in parts if len(part.values)] or parts[:1]
        if len(parts) == 1:
            return replace(parts[0], has_missing=has_missing)
        values = np.concatenate([part.values for part in parts])
        order = np.argsort(values, kind="stable")  # which merges what is in order already
        values = values[order]
        n_rows = np.concatenate([part.n_rows for part in parts])[order]
        del order
        is_first = np.ones(len(values), dtype=bool)
        np.not_equal(values[1:], values[:-1], out=is_first[1:])
        if len(values):
            n_rows = np.add.reduceat(n_rows, np.flatnonzero(is_first), dtype=np.uint32)
        return cls(values[is_first], n_rows, has_missing)

    def table(self, number: int, is_category: bool) -> Table:
        """Return the table that one machine would make of the column."""
        values = self.values.astype(np.float64) if self.values.dtype.kind == "f" else self.values
        low, high = _engine.code_table(values, self.n_rows.astype(np.int64), number)
        return low, high, self.has_missing, is_category


def distinct_values(X: Any, columns: Sequence[int]) -> list[Distinct]:
    """Return the distinct values of some columns."""
    return [Distinct.of(_column(X, j)) for j in columns]


def merge_distinct(parts: Sequence[list[Distinct]]) -> list[Distinct]:
    """Return the distinct values of columns, from those in parts of their rows."""
    return [Distinct.merged(of_column) for of_column in zip(*parts, strict=True)]


def is_wide(table: Table) -> bool:
    """Return whether codes have two bytes."""
    return len(table[0]) > MAX_NARROW


def n_codes(table: Table) -> int:
    """Return the number of codes, with the one for missing values."""
    return len(table[0]) + table[2]


def bytes_of_row(tables: Sequence[Table]) -> int:
    """Return the bytes that the codes of one row take."""
    return sum(1 + is_wide(table) for table in tables)


@dataclass(frozen=True)
class Codes:
    """The codes of some rows: those of one byte and those of two, column by column.

    These are two large arrays rather than an array for each column: they travel faster, and the
    system gets their memory back when they go.
    """

    narrow: NDArray[np.uint8]
    wide: NDArray[np.uint16]
    is_wide: tuple[bool, ...]

    @property
    def columns(self) -> list[NDArray[Any]]:
        """The codes of each column."""
        narrow, wide = iter(self.narrow), iter(self.wide)
        return [next(wide if is_wide else narrow) for is_wide in self.is_wide]

    def __sizeof__(self) -> int:
        return n_bytes(self.narrow, self.wide)

    def take(self, rows: NDArray[np.intp]) -> "Codes":
        """Return the codes of some of the rows."""
        return replace(self, narrow=self.narrow.take(rows, 1), wide=self.wide.take(rows, 1))

    def between(self, first: int, last: int) -> "Codes":
        """Return the codes of a range of the rows, without copying them."""
        return replace(self, narrow=self.narrow[:, first:last], wide=self.wide[:, first:last])

    @classmethod
    def joined(cls, parts: Sequence["Codes"]) -> "Codes":
        """Return the codes of all parts."""
        narrow = np.concatenate([part.narrow for part in parts], axis=1)
        wide = np.concatenate([part.wide for part in parts], axis=1)
        return cls(narrow, wide, parts[0].is_wide)


def encode(X: Any, tables: Sequence[Table]) -> Codes:
    """Return the codes of the rows."""
    wide = tuple(is_wide(table) for table in tables)
    codes = Codes(
        np.empty((len(wide) - sum(wide), X.shape[0]), dtype=np.uint8),
        np.empty((sum(wide), X.shape[0]), dtype=np.uint16),
        wide,
    )
    for j, (column, table) in enumerate(zip(codes.columns, tables, strict=True)):
        column[:] = _codes(_column(X, j), table)
    return codes


def _column(X: Any, j: int) -> NDArray[Any]:
    """Return a column of an array or of a sparse matrix by columns."""
    column: NDArray[Any] = X[:, [j]].toarray().ravel() if is_sparse(X) else X[:, j]
    return column


def _codes(column: NDArray[Any], table: Table) -> NDArray[Any]:
    _, high, has_missing, _ = table
    span = _span(column)
    if span is not None:
        of_span = np.searchsorted(high, np.arange(span.start, span.stop, dtype=np.float64))
        narrow = of_span.astype(np.uint16 if is_wide(table) else np.uint8)
        return narrow[column.astype(np.int64) - span.start]
    values = column.astype(np.float64)
    if is_wide(table):  # in ascending order, values are found in a third of the time
        order = np.argsort(values)
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.searchsorted(high, values[order])
    else:
        codes = np.searchsorted(high, values)
    if has_missing and column.dtype.kind == "f":
        codes[np.isnan(values)] = len(high)
    return codes.astype(np.uint16 if is_wide(table) else np.uint8)


def _span(column: NDArray[Any]) -> range | None:
    """Return the range of whole numbers that are close together: looking them up needs no search."""
    if column.dtype.kind not in "iu" or len(column) == 0:
        return None
    span = range(int(column.min()), int(column.max()) + 1)
    return span if span.stop - span.start <= max(len(column), 2**16) and span.stop < 2**53 else None

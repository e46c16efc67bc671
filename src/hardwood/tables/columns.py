"""One column of a table: its kind, and its values as numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._values import Distinct, Floats, distinct, plain_numbers, to_numbers
from hardwood.tables.column_checks import identifies_rows
from hardwood.tables.errors import TableError, listed, nth

KINDS = ("number", "date", "text", "unused", "id")
_PLURAL = {"number": "numbers", "date": "dates", "text": "text"}

# If this share of the texts are numbers, the others are mistakes or stand for missing values.
_MOSTLY = 0.9
# Text with more distinct values than half of the rows identifies the rows, unless there are few.
_FEW = 20


@dataclass(frozen=True, eq=False)
class Column:
    """How a column of a table is used.

    Attributes
    ----------
    name : str
        The name.
    kind : {"number", "date", "text", "unused", "id"}
        The kind. Booleans are the numbers 0 and 1, dates are days since 1970-01-01. Ids identify the
        rows and are left out, as unused columns are.
    note : str
        A description for people.
    categories : ndarray of str
        For text, the values with their own code, which is their position here. The most frequent
        value comes first, ties in alphabetical order.
    has_rest : bool
        For text, whether all other values share the next code. If not, they count as missing.
    """

    name: str
    kind: str
    note: str
    categories: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=object))
    has_rest: bool = False

    @property
    def is_used(self) -> bool:
        """Whether the column is a feature."""
        return self.kind not in ("unused", "id")


# --- kinds ---------------------------------------------------------------------------------------


def unused(name: str, why: str, kind: str = "unused") -> Column:
    """Return a column that is left out."""
    return Column(name, kind, f"left out{why}")


def learn(
    name: str,
    values: Any,
    missing: Collection[str],
    max_categories: int,
    *,
    is_text: bool,
    keep_id: bool = False,
) -> Column:
    """Determine how to use a column of the training table, which may be declared as text.

    Ids are left out unless `keep_id` is set.
    """
    kind, numbers = plain_numbers(values)
    if kind == "other":
        return unused(name, f": contains {_type_of(values)}")
    if numbers is not None and not is_text:
        return _numbers(name, kind, numbers, keep_id)
    texts = distinct(values, missing)
    if is_text:
        return _text(name, texts, max_categories)
    counts = texts.counts()
    n_present = int(counts.sum())
    if n_present == 0:
        return unused(name, _only(0))
    as_numbers = to_numbers(texts.texts)
    is_number = ~np.isnan(as_numbers)
    share = counts[is_number].sum() / n_present
    if share == 1:
        return _numbers(name, "number", texts.each(as_numbers), keep_id)
    if share >= _MOSTLY:
        raise TableError(
            f"{_not_numbers(name, texts, is_number)} Declare them as missing values (missing), "
            "treat the column as text (category), or leave it out (drop)."
        )
    if len(counts) > max(_FEW, n_present / 2) and not keep_id:
        why = f": text with {len(counts):,} different values in {n_present:,} rows"
        return unused(name, why, kind="id")
    return _text(name, texts, max_categories)


def _numbers(name: str, kind: str, numbers: Floats, keep_id: bool) -> Column:
    _check_finite(name, numbers)
    is_missing = np.isnan(numbers)
    n_missing = int(is_missing.sum())
    n_values = len(np.unique(numbers[~is_missing]))
    if n_values <= 1 and n_missing in (0, len(numbers)):
        return unused(name, _only(n_values))
    if kind == "number" and not keep_id and identifies_rows(name, numbers):
        return unused(name, ": whole numbers that identify the rows", kind="id")
    note = f"{_PLURAL[kind]}{_and_missing(n_missing)}"
    is_whole = np.all(numbers[~is_missing] % 1 == 0)
    if n_values == len(numbers) > _FEW and kind == "number" and is_whole and not keep_id:
        note += "; all different: if they identify the rows, leave them out (drop)"
    return Column(name, kind, note)


def _text(name: str, texts: Distinct, max_categories: int) -> Column:
    counts = texts.counts()
    n_values, n_missing = len(counts), int((texts.codes < 0).sum())
    if n_values <= 1 and n_missing in (0, len(texts.codes)):
        return unused(name, _only(n_values))
    order = np.lexsort((texts.texts.astype(str), -counts))[:max_categories]
    has_rest = n_values > max_categories
    some = f" (the {max_categories} most frequent have their own code)" if has_rest else ""
    plural = "" if n_values == 1 else "s"
    note = f"text, {n_values:,} value{plural}{some}{_and_missing(n_missing)}"
    return Column(name, "text", note, texts.texts[order], has_rest)


def _only(n_values: int) -> str:
    return ": all values are the same" if n_values else ": all values are missing"


def _and_missing(n_missing: int) -> str:
    return f", {n_missing:,} missing" if n_missing else ""


def _type_of(values: Any) -> str:
    dtype = str(values.dtype)
    return "objects" if dtype == "object" else f"values of type {dtype}"


# --- values --------------------------------------------------------------------------------------


def code(column: Column, values: Any, missing: Collection[str]) -> Floats:
    """Return the values of a column in any table as numbers, with NaN for missing values."""
    kind, numbers = plain_numbers(values)
    if column.kind == "text" and kind != "other":
        texts = distinct(values, missing)
        codes = {text: i for i, text in enumerate(column.categories)}
        rest = len(codes) if column.has_rest else np.nan
        return texts.each(np.array([codes.get(text, rest) for text in texts.texts], dtype=float))
    if numbers is None and kind != "other":
        texts = distinct(values, missing)
        as_numbers = to_numbers(texts.texts)
        if column.kind == "number" and np.isnan(as_numbers).any():
            raise TableError(
                f"{_not_numbers(column.name, texts, ~np.isnan(as_numbers))} The training table had "
                "only numbers there. If they are missing values, declare them in training (missing)."
            )
        if column.kind == "number" or not len(texts.texts):
            kind, numbers = column.kind, texts.each(as_numbers)
    if numbers is None or kind != column.kind:
        raise TableError(
            f"Column {column.name!r} contains {_PLURAL.get(kind, _type_of(values))}, but contained "
            f"{_PLURAL[column.kind]} in the training table."
        )
    _check_finite(column.name, numbers)
    return numbers


def unseen(column: Column, values: Any, missing: Collection[str]) -> list[str]:
    """Return the texts without a code, in order of appearance."""
    if column.kind != "text" or column.has_rest:
        return []
    known = set(column.categories)
    return [text for text in distinct(values, missing).texts if text not in known]


def _not_numbers(name: str, texts: Distinct, is_number: NDArray[np.bool_]) -> str:
    """Say which values are not numbers, and where."""
    wrong = np.flatnonzero(~is_number)
    rows = np.flatnonzero(np.isin(texts.codes, wrong))
    return (
        f"Column {name!r} contains numbers, but also {listed(texts.texts[wrong])} (in "
        f"{len(rows):,} of {len(texts.codes):,} rows, first in the {nth(rows[0])} row)."
    )


def _check_finite(name: str, numbers: Floats) -> None:
    rows = np.flatnonzero(np.isinf(numbers))
    if len(rows):
        raise TableError(
            f"Column {name!r} contains an infinite number, first in the {nth(rows[0])} row."
        )

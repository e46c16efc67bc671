"""One column of a table: what it is taken for, and its values as numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._values import Distinct, Floats, distinct, plain_numbers, to_numbers
from hardwood.tables.errors import TableError, listed, nth

__all__ = ["Column", "code", "learn", "learn_text", "unseen"]

KINDS = ("number", "date", "text", "unused")
_PLURAL = {"number": "numbers", "date": "dates", "text": "text"}

# Where so many of the texts are numbers, the others are a mistake or mean a missing value.
_MOSTLY = 0.9
# A text that is another one in more than half of the rows names them, unless there are but few rows.
_FEW = 20


def _none() -> NDArray[np.object_]:
    return np.empty(0, dtype=object)


@dataclass(frozen=True, eq=False)
class Column:
    """What a column of a table was taken for.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"number", "date", "text", "unused"}
        How it is used. Truth values are the numbers 0 and 1, dates the days since 1970 began.
    note : str
        What was done with it, for people to read.
    categories : ndarray of str
        Text: the values with a code of their own, which is their place here: the most frequent
        first, equals in alphabetical order.
    has_rest : bool
        Text: whether all other values share the code after these. If not, they count as missing.
    """

    name: str
    kind: str
    note: str
    categories: NDArray[np.object_] = field(default_factory=_none)
    has_rest: bool = False


# --- what a column is ----------------------------------------------------------------------------


def learn(name: str, values: Any, missing: Collection[str], max_categories: int) -> Column:
    """Return what a column of the training table is."""
    kind, numbers = plain_numbers(values)
    if kind == "other":
        return Column(name, "unused", f"left out: it holds {_type_of(values)}")
    if numbers is not None:
        return _numbers(name, kind, numbers)
    texts = distinct(values, missing)
    counts = texts.counts()
    n_present = int(counts.sum())
    if n_present == 0:
        return Column(name, "unused", "left out: all values are missing")
    as_numbers = to_numbers(texts.texts)
    is_number = ~np.isnan(as_numbers)
    share = counts[is_number].sum() / n_present
    if share == 1:
        return _numbers(name, "number", texts.each(as_numbers))
    if share >= _MOSTLY:
        raise TableError(
            f"{_no_numbers(name, texts, is_number)} If that means a missing value, say so "
            "(missing); if the column is text, say that (category); or leave it out (drop)."
        )
    if len(counts) > max(_FEW, n_present / 2):
        note = f"left out: text, with {len(counts):,} different values in {n_present:,} rows"
        return Column(name, "unused", note)
    return _text(name, texts, max_categories)


def learn_text(name: str, values: Any, missing: Collection[str], max_categories: int) -> Column:
    """Return what a column that was declared to be text is."""
    if plain_numbers(values)[0] == "other":
        return Column(name, "unused", f"left out: it holds {_type_of(values)}")
    return _text(name, distinct(values, missing), max_categories)


def _numbers(name: str, kind: str, numbers: Floats) -> Column:
    _check_finite(name, numbers)
    is_missing = np.isnan(numbers)
    n_missing = int(is_missing.sum())
    n_values = len(np.unique(numbers[~is_missing]))
    if n_values <= 1 and n_missing in (0, len(numbers)):
        return Column(name, "unused", f"left out: {_only(n_values)}")
    note = f"{_PLURAL[kind]}{_and_missing(n_missing)}"
    is_whole = np.all(numbers[~is_missing] % 1 == 0)
    if n_values == len(numbers) > _FEW and kind == "number" and is_whole:
        note += "; all differ: if they name the rows, leave them out (drop)"
    return Column(name, kind, note)


def _text(name: str, texts: Distinct, max_categories: int) -> Column:
    counts = texts.counts()
    n_values, n_missing = len(counts), int((texts.codes < 0).sum())
    if n_values <= 1 and n_missing in (0, len(texts.codes)):
        return Column(name, "unused", f"left out: {_only(n_values)}")
    order = np.lexsort((texts.texts.astype(str), -counts))[:max_categories]
    has_rest = n_values > max_categories
    some = f", of which the {max_categories} most frequent are told apart" if has_rest else ""
    plural = "" if n_values == 1 else "s"
    note = f"text, {n_values:,} value{plural}{some}{_and_missing(n_missing)}"
    return Column(name, "text", note, texts.texts[order], has_rest)


def _only(n_values: int) -> str:
    return "all values are the same" if n_values else "all values are missing"


def _and_missing(n_missing: int) -> str:
    return f", {n_missing:,} missing" if n_missing else ""


def _type_of(values: Any) -> str:
    dtype = str(values.dtype)
    return "objects" if dtype == "object" else f"values of type {dtype}"


# --- its values ----------------------------------------------------------------------------------


def code(column: Column, values: Any, missing: Collection[str]) -> Floats:
    """Return the values of such a column in any table as numbers, NaN where they are missing."""
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
                f"{_no_numbers(column.name, texts, ~np.isnan(as_numbers))} In training it had "
                "numbers alone. If that means a missing value, train with it as such (missing)."
            )
        if column.kind == "number" or not len(texts.texts):
            kind, numbers = column.kind, texts.each(as_numbers)
    if numbers is None or kind != column.kind:
        raise TableError(
            f"Column {column.name!r} held {_PLURAL[column.kind]} in training, and holds "
            f"{_PLURAL.get(kind, _type_of(values))} in this table."
        )
    _check_finite(column.name, numbers)
    return numbers


def unseen(column: Column, values: Any, missing: Collection[str]) -> list[str]:
    """Return the texts that have no code, in their order."""
    if column.kind != "text" or column.has_rest:
        return []
    known = set(column.categories)
    return [text for text in distinct(values, missing).texts if text not in known]


def _no_numbers(name: str, texts: Distinct, is_number: NDArray[np.bool_]) -> str:
    """Say what is not a number, and where."""
    wrong = np.flatnonzero(~is_number)
    rows = np.flatnonzero(np.isin(texts.codes, wrong))
    return (
        f"Column {name!r} holds numbers, but also {listed(texts.texts[wrong])} "
        f"({len(rows):,} of {len(texts.codes):,} rows, first in the {nth(rows[0])})."
    )


def _check_finite(name: str, numbers: Floats) -> None:
    rows = np.flatnonzero(np.isinf(numbers))
    if len(rows):
        raise TableError(
            f"Column {name!r} holds an infinite number, first in the {nth(rows[0])} row."
        )

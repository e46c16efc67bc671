"""The values of a column, as distinct texts or as numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.tables.frames import pandas

Floats = NDArray[np.float64]


class Distinct(NamedTuple):
    """The distinct texts of a column in order of appearance, and for each row its text or −1."""

    texts: NDArray[np.object_]
    codes: NDArray[np.intp]

    def counts(self) -> NDArray[np.intp]:
        """Return the number of rows with each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    def each(self, of_texts: Floats) -> Floats:
        """Return a number for each row, given a number for each text."""
        each: Floats = np.append(of_texts, np.nan)[self.codes]  # the last is for −1
        return each


def distinct(values: Any, missing: Collection[str]) -> Distinct:
    """Return the texts of a column, without empty ones and those in `missing`."""
    factorize = pandas().factorize
    codes, objects = factorize(values.astype(object))
    texts = np.empty(len(objects), dtype=object)
    for i, value in enumerate(objects):
        text = _as_text(value)
        texts[i] = None if text == "" or text in missing else text
    # Different objects may be the same text.
    code_of_object, different = factorize(texts)
    return Distinct(
        np.asarray(different, dtype=object), np.append(code_of_object, -1)[np.asarray(codes)]
    )


def _as_text(value: Any) -> str:
    # Integers become floats if a value is missing.
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def plain_numbers(values: Any) -> tuple[str, Floats | None]:
    """Return the kind of a column ("number", "date", "text" or "other") and its numbers if any."""
    pd = pandas()
    types = pd.api.types
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        values = values.astype(object)
    inferred = types.infer_dtype(values, skipna=True)
    if inferred in ("datetime64", "datetime", "date"):
        return "date", _days(values)
    if inferred in ("boolean", "integer", "floating", "decimal", "mixed-integer-float"):
        if values.dtype == object:
            values = values.map(float, na_action="ignore")
        return "number", values.to_numpy(dtype=np.float64, na_value=np.nan)
    if inferred in ("string", "empty", "mixed-integer") or _are_texts_and_numbers(values):
        return "text", None
    return "other", None


def _are_texts_and_numbers(values: Any) -> bool:
    return values.dtype == object and all(
        isinstance(value, str | bool | int | float | np.number | np.bool_)
        for value in values.dropna()
    )


def _days(values: Any) -> Floats:
    pd = pandas()
    times = pd.to_datetime(values, utc=True).dt.tz_localize(None)
    # pandas' differences cannot represent years after 2262.
    milliseconds = times.to_numpy().astype("datetime64[ms]")
    days: Floats = milliseconds.astype(np.int64) / 86_400_000
    return np.where(np.isnat(milliseconds), np.nan, days)


def to_numbers(texts: NDArray[np.object_]) -> Floats:
    """Return texts as numbers, with NaN for those that are not numbers."""
    numbers: Floats = np.asarray(pandas().to_numeric(texts, errors="coerce"), dtype=np.float64)
    return numbers

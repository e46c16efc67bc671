"""The values of a column, as distinct texts or as numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood._core.times import days as days_of_durations
from hardwood.tables.date_texts import MILLISECONDS
from hardwood.tables.frames import pandas
from hardwood.tables.number_texts import Floats

# Texts that stand for missing values, in files and in frames: those of `pandas.read_csv`. Words such as
# "none" and "unknown" can be values.
MISSING = (
    *("", "NA", "N/A", "n/a", "<NA>", "#NA", "#N/A", "#N/A N/A", "NULL", "null", "None"),
    *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)


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
    """Return the texts of a column, without those in `MISSING` and in `missing`."""
    factorize = pandas().factorize
    codes, objects = factorize(values.astype(object))
    absent = {*MISSING, *missing}
    texts = np.empty(len(objects), dtype=object)
    for i, value in enumerate(objects):
        text = _as_text(value)
        texts[i] = None if text in absent else text
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


class Typed(NamedTuple):
    """What the type of a column's values tells: a kind and, unless they are texts, numbers."""

    kind: str  # "number", "truth", "date", "time", "text" or "other"
    numbers: Floats | None


def by_type(values: Any) -> Typed:
    """Return what the type of a column's values tells about them."""
    pd = pandas()
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":  # fast, as tables may be wide
        return Typed("truth" if dtype.kind == "b" else "number", values.to_numpy(np.float64))
    if isinstance(dtype, pd.CategoricalDtype):
        return Typed("text", None)
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in ("datetime64", "datetime", "date"):
        return Typed("date", _days(values))
    if inferred == "period":
        return Typed("date", _days(values.dt.to_timestamp()))
    if inferred in ("timedelta64", "timedelta"):
        return Typed("number", days_of_durations(pd.to_timedelta(values).to_numpy()))
    if inferred == "time":
        return Typed("time", _hours(values))
    if inferred in ("boolean", "integer", "floating", "decimal", "mixed-integer-float"):
        if values.dtype == object:
            values = values.map(float, na_action="ignore")
        kind = "truth" if inferred == "boolean" else "number"
        return Typed(kind, values.to_numpy(dtype=np.float64, na_value=np.nan))
    if inferred in ("string", "empty", "mixed-integer") or _are_texts_and_numbers(values):
        return Typed("text", None)
    return Typed("text" if values.isna().all() else "other", None)


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
    days: Floats = milliseconds.astype(np.int64) / MILLISECONDS
    return np.where(np.isnat(milliseconds), np.nan, days)


def _hours(values: Any) -> Floats:
    def milliseconds(time: Any) -> float:
        seconds = 3600 * time.hour + 60 * time.minute + time.second
        return float(1000 * seconds + time.microsecond // 1000)

    hours = values.map(milliseconds, na_action="ignore").to_numpy(np.float64, na_value=np.nan)
    return np.asarray(hours / MILLISECONDS * 24)

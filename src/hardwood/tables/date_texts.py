"""Dates and times of day as people write them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from hardwood.tables.number_texts import Floats, Texts

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d(?:[.,]\d+)?))?"
    r"(?:\s*(?P<half>[ap])\.?m\.?)?"
)
_TIME = re.compile(_CLOCK, re.IGNORECASE)
_DATE = re.compile(
    # 2020-12-31, 31.12.2020 or 12/31/20, 31 Dec 2020, Dec 31, 2020, 20201231, 2020-12, Dec 2020
    r"(?:(?P<y1>\d{4})(?P<s1>[-/.])(?P<m1>\d{1,2})(?P=s1)(?P<d1>\d{1,2})"
    r"|(?P<a>\d{1,2})(?P<s2>[-/.])(?P<b>\d{1,2})(?P=s2)(?P<y2>\d{4}|\d\d)"
    rf"|(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?[-. ]{{1,2}}(?P<m3>{_NAME})[-., ]{{1,2}}(?P<y3>\d{{4}}|\d\d)"
    rf"|(?P<m4>{_NAME})[. ]{{1,2}}(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?,? +(?P<y4>\d{{4}})"
    r"|(?P<y5>(?:19|20)\d\d)(?P<m5>\d\d)(?P<d5>\d\d)"
    r"|(?P<y6>(?:19|20)\d\d)-(?P<m6>\d\d)"
    rf"|(?P<m7>{_NAME})[-. ]{{1,2}}(?P<y7>\d{{4}}))"
    rf"(?:(?:T|,? +){_CLOCK}(?:\s*(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?)?",
    re.IGNORECASE,
)
MILLISECONDS = 86_400_000  # of a day
_NOON = 12
_MAX_LENGTH = 200
_PIVOT = 69  # two-digit years are from 1969 to 2068, as in POSIX


class Parts(NamedTuple):
    """The parts of a date. If it is numeric, the day and the month may have to be swapped."""

    year: int
    month: int
    day: int
    is_numeric: bool
    has_points: bool
    milliseconds: float  # since midnight, NaN if there is no such time


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written.

    Attributes
    ----------
    order : {"day", "month", ""}
        What comes first in dates such as 1/2/2020; empty if there were none, which means "day".
    pattern : str
        A format of `datetime.strptime`, or empty for all usual ways to write a date.

    Examples
    --------
    >>> import numpy as np
    >>> texts = np.array(["2/1/1970", "1970-01-03", "4 Jan 1970 12:00", "31/31/1970"], dtype=object)
    >>> DateFormat().read(texts)
    array([1. , 2. , 3.5, nan])
    >>> DateFormat("month").read(texts[:1])
    array([31.])
    >>> DateFormat(pattern="%d%m%Y").read(np.array(["02011970"], dtype=object))
    array([1.])
    """

    order: str = ""
    pattern: str = ""

    @property
    def words(self) -> str:
        """A description for people."""
        return f"dates, {self.order} first" if self.order else "dates"

    def read(self, texts: Texts) -> Floats:
        """Return days since 1970-01-01, with NaN for texts that are not such dates."""
        if self.pattern:
            return np.array([_days_by_pattern(text, self.pattern) for text in texts], dtype=float)
        return _days([_parts(text) for text in texts], self.order != "month")

    def __str__(self) -> str:
        return f"date {self.order}" + (f" {self.pattern}" if self.pattern else "")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the format that `str` gave; raise a ValueError if it is none."""
        found = re.fullmatch(r"date (day|month|)(?: (.+))?", text, re.DOTALL)
        if found is None or len(text) > _MAX_LENGTH:
            raise ValueError(f"{text!r} is not a format of dates")
        return cls(found[1], found[2] or "")


@dataclass(frozen=True)
class TimeFormat:
    """Times of day, which are hours since midnight.

    Examples
    --------
    >>> import numpy as np
    >>> TimeFormat().read(np.array(["13:30", "1:30 pm", "25:00"], dtype=object))
    array([13.5, 13.5,  nan])
    """

    words: str = "times of day, in hours"

    def read(self, texts: Texts) -> Floats:
        """Return hours, with NaN for texts that are not times."""
        found = [_TIME.fullmatch(text) for text in texts]
        each = [np.nan if match is None else _milliseconds(match) for match in found]
        return np.array(each, dtype=float) / MILLISECONDS * 24

    def __str__(self) -> str:
        return "time"


class FoundDates(NamedTuple):
    """The format of a column that may contain dates, the days, and what is unclear about them."""

    format: DateFormat
    days: Floats
    is_ambiguous: bool  # each date could be day first or month first
    are_both: bool  # some can only be day first, others only month first


def find_date_format(texts: Texts, counts: Sequence[int]) -> FoundDates:
    """Return the format that fits most rows of a column.

    The whole column decides whether numbers such as 1/2/2020 are day first or month first. If it does
    not tell, they are day first.
    """
    parts = [_parts(text) for text in texts]
    weights = np.asarray(counts)
    by_day, by_month = _days(parts, day_first=True), _days(parts, day_first=False)
    if not any(each is not None and each.is_numeric for each in parts):
        return FoundDates(DateFormat(), by_day, is_ambiguous=False, are_both=False)
    n_by_day, n_by_month = (weights[~np.isnan(days)].sum() for days in (by_day, by_month))
    day_first = bool(n_by_day >= n_by_month)
    may_be_both = np.isnan(by_day) != np.isnan(by_month)
    only_day, only_month = may_be_both & np.isnan(by_month), may_be_both & np.isnan(by_day)
    # Points stand between days, months and years where days come first.
    points_only = all(each is None or each.has_points or not each.is_numeric for each in parts)
    differ = not np.array_equal(by_day, by_month, equal_nan=True)
    return FoundDates(
        DateFormat("day" if day_first else "month"),
        by_day if day_first else by_month,
        is_ambiguous=bool(differ and not may_be_both.any() and not points_only),
        are_both=bool(only_day.any() and only_month.any()),
    )


def looks_like_date(text: str) -> bool:
    """Return whether a text has the form of a date."""
    return _parts(text) is not None


def _parts(text: str) -> Parts | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    time = _milliseconds(found) - _of_zone(found["zone"]) if found["hour"] else 0.0
    numeric, points = False, False
    if found["y1"]:
        year, month, day = found["y1"], int(found["m1"]), int(found["d1"])
    elif found["y2"]:
        year, day, month = found["y2"], int(found["a"]), int(found["b"])
        numeric, points = True, found["s2"] == "."
        if points and len(year) == 2 and not len(found["a"]) == len(found["b"]) == 2:
            return None  # rather a version, such as 1.2.30
    elif found["y3"]:
        year, month, day = found["y3"], _month(found["m3"]), int(found["d3"])
    elif found["y4"]:
        year, month, day = found["y4"], _month(found["m4"]), int(found["d4"])
    elif found["y5"]:
        year, month, day = found["y5"], int(found["m5"]), int(found["d5"])
    elif found["y6"]:
        year, month, day = found["y6"], int(found["m6"]), 1
    else:
        year, month, day = found["y7"], _month(found["m7"]), 1
    full = int(year)
    if len(year) == 2:
        full += 1900 if full >= _PIVOT else 2000
    return Parts(full, month, day, numeric, points, time)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _milliseconds(found: re.Match[str]) -> float:
    """Return milliseconds since midnight, or NaN if there is no such time."""
    hour, minute = int(found["hour"]), int(found["minute"])
    second, _, fraction = (found["second"] or "0").replace(",", ".").partition(".")
    if found["half"]:
        if not 1 <= hour <= _NOON:
            return np.nan
        hour = hour % _NOON + (_NOON if found["half"].lower() == "p" else 0)
    if hour > 23 or minute > 59 or int(second) > 59:
        return np.nan
    return 1000 * (3600 * hour + 60 * minute + int(second)) + int(fraction[:3].ljust(3, "0"))


def _of_zone(zone: str | None) -> int:
    if zone is None or zone[0] not in "+-":
        return 0
    minutes = 60 * int(zone[1:3]) + int(zone[-2:])
    return 60_000 * (-minutes if zone[0] == "-" else minutes)


def _days(parts: Sequence[Parts | None], day_first: bool) -> Floats:
    days = np.full(len(parts), np.nan)
    known = [place for place, each in enumerate(parts) if each is not None]
    if not known:
        return days
    of = [each for each in parts if each is not None]
    swap = np.array([each.is_numeric and not day_first for each in of])
    year, one, other = (np.array([each[i] for each in of]) for i in range(3))
    month, day = np.where(swap, other, one), np.where(swap, one, other)
    is_month = (month >= 1) & (month <= 12) & (year >= 1)
    first = (12 * (year - 1970) + np.where(is_month, month, 1) - 1).astype("datetime64[M]")
    date = first.astype("datetime64[D]") + (day - 1)
    is_date = is_month & (day >= 1) & (date.astype("datetime64[M]") == first)
    time = np.array([each.milliseconds for each in of])
    days[known] = (
        np.where(is_date, date.astype(np.int64) * MILLISECONDS + time, np.nan) / MILLISECONDS
    )
    return days


def _days_by_pattern(text: str, pattern: str) -> float:
    try:
        moment = datetime.datetime.strptime(text, pattern)
    except (ValueError, re.error):  # such as "%d%d"
        return np.nan
    offset = moment.utcoffset() or datetime.timedelta()
    return (
        moment.replace(tzinfo=None) - offset - datetime.datetime(1970, 1, 1)
    ) / datetime.timedelta(1)

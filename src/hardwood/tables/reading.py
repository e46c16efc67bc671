"""What the texts of a column say: numbers, dates, times of day, truth values, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from hardwood.tables.date_texts import (
    DateFormat,
    TimeFormat,
    find_date_format,
    looks_like_date,
)
from hardwood.tables.number_texts import (
    Floats,
    NumberFormat,
    Texts,
    find_number_format,
    looks_like_number,
    plain_numbers_of,
)

# Text is doubtful if at least this share of its rows look like numbers or dates.
_DOUBTFUL = 0.5
_WITH_UNIT = re.compile(r"[+−-]?[\d.,]*\d *(?P<unit>[^\W\d_]+[23²³]?)")


class Format(Protocol):
    """How the values of a column are written."""

    @property
    def words(self) -> str:
        """A description for people."""

    def read(self, texts: Texts) -> Floats:
        """Return texts as numbers, with NaN for those that do not have this format."""


@dataclass(frozen=True)
class TruthFormat:
    """The words true and false, which are 1 and 0.

    Examples
    --------
    >>> import numpy as np
    >>> TruthFormat().read(np.array(["True", "FALSE", "1", "maybe"], dtype=object))
    array([ 1.,  0.,  1., nan])
    """

    words: str = "true or false"

    def read(self, texts: Texts) -> Floats:
        """Return 1 and 0, with NaN for other texts."""
        known = {"true": "1", "false": "0"}
        return plain_numbers_of(
            np.array([known.get(text.lower(), text) for text in texts], dtype=object)
        )

    def __str__(self) -> str:
        return "truth"


def parse_format(text: str) -> Format:
    """Return the format that `str` gave; raise a ValueError if it is none."""
    match text.partition(" ")[0]:
        case "number":
            return NumberFormat.parse(text)
        case "date":
            return DateFormat.parse(text)
    for known in (TruthFormat(), TimeFormat()):
        if text == str(known):
            return known
    raise ValueError(f"{text!r} is not a format")


class Read(NamedTuple):
    """What is known about the texts of a column.

    Attributes
    ----------
    kind : {"number", "date", "text"}
        What most rows contain; numbers and dates may have texts among them.
    format : Format
        How numbers or dates are written.
    numbers : ndarray of shape (n_texts,)
        The texts as numbers, NaN for those that do not have the format.
    doubt : str
        What may be wrong with this reading.
    remark : str
        Why it is read so, where that is not plain.
    """

    kind: str
    format: Format
    numbers: Floats
    doubt: str = ""
    remark: str = ""


def read(texts: Texts, counts: Sequence[int], mostly: float) -> Read:
    """Find out what the distinct texts of a column say.

    Parameters
    ----------
    texts : ndarray of str
        The texts, without missing ones.
    counts : sequence of int
        The number of rows of each.
    mostly : float
        The share of the rows that must be numbers for a column of numbers with mistakes.
    """
    n_rows = sum(counts)

    def share(numbers: Floats) -> float:
        return float(np.asarray(counts)[~np.isnan(numbers)].sum() / n_rows)

    if {text.lower() for text in texts[:3]} <= {"true", "false"}:
        truth = TruthFormat()
        if share(values := truth.read(texts)) == 1:
            return Read("number", truth, values)
    number_format, numbers = find_number_format(texts, counts)
    if code := _first_code(texts, numbers):
        remark = f"codes rather than numbers: some start with a zero, such as {code!r}"
        return Read("text", NumberFormat(), numbers, remark=remark)
    if share(numbers) >= mostly:
        return Read("number", number_format, numbers)
    dates = find_date_format(texts, counts)
    if share(dates.days) == 1:
        doubt = ""
        if dates.is_ambiguous:
            example = next(text for text in texts if looks_like_date(text))
            doubt = f"read as dates, day first; {example!r} could be month first as well"
        return Read("date", dates.format, dates.days, doubt)
    times = TimeFormat()
    if share(hours := times.read(texts)) == 1:
        return Read("number", times, hours)
    return Read("text", NumberFormat(), numbers, _doubt(texts, counts, numbers, dates.are_both))


def _first_code(texts: Texts, numbers: Floats) -> str:
    """Return the first number with leading zeros, if all numbers consist of digits alone, else ""."""
    written = [text for text, number in zip(texts, numbers, strict=True) if not np.isnan(number)]
    if not all(text.isascii() and text.isdigit() for text in written):
        return ""
    return next((text for text in written if text[0] == "0" and len(text) > 1), "")


def _doubt(texts: Texts, counts: Sequence[int], numbers: Floats, dates_are_both: bool) -> str:
    """Return why a column that looks like numbers or dates is text all the same."""
    weights = np.asarray(counts)
    for what, looks in (("numbers", looks_like_number), ("dates", looks_like_date)):
        alike = np.array([looks(text) for text in texts])
        share = weights[alike].sum() / weights.sum()
        if share < _DOUBTFUL:
            continue
        if share < 1:
            others = ", ".join(repr(text) for text in texts[~alike][:2])
            return f"{share:.0%} of the values are {what}, but others are not, such as {others}"
        if what == "dates" and dates_are_both:
            return "some of the dates are day first, others month first"
        if what == "dates":
            return "some of the dates do not exist"
        one, other = texts[~np.isnan(numbers)][:1], texts[np.isnan(numbers)][:1]
        some = " and ".join(repr(text) for text in (*one, *other))
        return f"the numbers are written in different ways, such as {some}"
    units = {found["unit"] if (found := _WITH_UNIT.fullmatch(text)) else "" for text in texts}
    if len(units) == 1 and (unit := units.pop()):
        return f"all values are numbers followed by {unit!r}; without it, they would be numbers"
    return ""


def read_declared_dates(texts: Texts, counts: Sequence[int], pattern: str) -> Read:
    """Read a column that is declared as dates, with NaN for texts that are not."""
    if pattern:
        by_pattern = DateFormat(pattern=pattern)
        return Read("date", by_pattern, by_pattern.read(texts))
    dates = find_date_format(texts, counts)
    return Read("date", dates.format, dates.days)

"""Numbers as people write them: thousands separators, decimal commas, percent and currencies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hardwood.tables.frames import pandas

Floats = NDArray[np.float64]
Texts = NDArray[np.object_]

# Names of currencies; symbols such as € are known from Unicode.
_CURRENCIES = [
    "AUD",
    "BRL",
    "CAD",
    "CHF",
    "CNY",
    "CZK",
    "DKK",
    "EUR",
    "GBP",
    "HKD",
    "HUF",
    "INR",
    "JPY",
    "KRW",
    "MXN",
    "NOK",
    "NZD",
    "PLN",
    "RUB",
    "SEK",
    "SGD",
    "TRY",
    "USD",
    "ZAR",
    "A$",
    "C$",
    "R$",
    "US$",
    "Kč",
    "kr",
    "zł",
]
_UNIT = "|".join([*map(re.escape, _CURRENCIES), "[^\\w\\s.,'’()+−-]"])
_SPACES = " \u00a0\u2009\u202f"
_WRITTEN = re.compile(
    rf"(?P<open>\()?[{_SPACES}]*(?P<sign>[+−-])?[{_SPACES}]*(?P<before>{_UNIT})?[{_SPACES}]*"
    rf"(?P<inner>[+−-])?(?P<body>[.,]?\d(?:[\d.,'’{_SPACES}]*\d)?[.,]?(?:[eE][+-]?\d+)?)"
    rf"[{_SPACES}]*(?P<after>{_UNIT})?[{_SPACES}]*(?P<close>\))?"
)
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,15}")


class Written(NamedTuple):
    """A number as it is written: its sign, its digits with separators, and its unit."""

    sign: int
    body: str
    unit: str


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal mark.
    group : {"", ",", ".", "'", " "}
        What separates thousands, if anything does.
    unit : str
        "%" or a currency, which is then part of every number.

    Examples
    --------
    >>> import numpy as np
    >>> NumberFormat(",", ".", "€").read(np.array(["1.234,50 €", "-€7", "7"], dtype=object))
    array([1234.5,   -7. ,    nan])
    """

    decimal: str = "."
    group: str = ""
    unit: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as in programs."""
        return self == NumberFormat()

    @property
    def words(self) -> str:
        """A description for people."""
        marks = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}
        parts = [f"thousands separated by {marks[self.group]}"] if self.group else []
        parts += ["decimal commas"] if self.decimal == "," else []
        said = " and ".join(parts)
        what = (
            "percent" if self.unit == "%" else f"amounts in {self.unit}" if self.unit else "numbers"
        )
        return f"{what} with {said}" if said else what

    def read(self, texts: Texts) -> Floats:
        """Return texts as numbers, with NaN for those that are not written in this format."""
        if self.is_plain:
            return plain_numbers_of(texts)
        return np.array([self._number(written(text)) for text in texts], dtype=np.float64)

    def _number(self, found: Written | None) -> float:
        if found is None or found.unit != self.unit:
            return np.nan
        if not _body_pattern(self.decimal, self.group).fullmatch(found.body):
            return np.nan
        digits = re.sub(f"[{_SPACES}'’]", "", found.body)
        if self.group in (",", "."):
            digits = digits.replace(self.group, "")
        return found.sign * float(digits.replace(self.decimal, "."))

    def __str__(self) -> str:
        return f"number {self.decimal}{self.group or '_'}{self.unit}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the format that `str` gave; raise a ValueError if it is none."""
        found = re.fullmatch(rf"number ([.,])([,.' _])((?:{_UNIT})?)", text)
        if found is None or found[1] == found[2]:
            raise ValueError(f"{text!r} is not a format of numbers")
        return cls(found[1], found[2].replace("_", ""), found[3])


_STYLES = [(".", ""), (".", ","), (",", ""), (",", ".")] + [
    (decimal, group) for group in " '" for decimal in ".,"
]


def find_number_format(texts: Texts, counts: Sequence[int]) -> tuple[NumberFormat, Floats]:
    """Return the format that fits most rows of a column, and the texts as numbers.

    A single comma before three digits separates thousands, unless another number of the column
    shows that it is a decimal mark.

    Examples
    --------
    >>> import numpy as np
    >>> def found(*texts):
    ...     format, numbers = find_number_format(np.array(texts, dtype=object), [1] * len(texts))
    ...     return format.words, numbers.tolist()
    >>> found("1,234", "999")
    ('numbers with thousands separated by commas', [1234.0, 999.0])
    >>> found("1,234", "9,5")
    ('numbers with decimal commas', [1.234, 9.5])
    """
    plain = NumberFormat()
    best, numbers = plain, plain.read(texts)
    weights = np.asarray(counts)
    most = weights[~np.isnan(numbers)].sum()
    if most == weights.sum():
        return best, numbers
    written_as = [written(text) for text in texts]
    units: dict[str, int] = {}
    for found, count in zip(written_as, weights.tolist(), strict=True):
        if found is not None:
            units[found.unit] = units.get(found.unit, 0) + count
    for unit in sorted(units, key=lambda unit: -units[unit])[:2]:
        for decimal, group in _STYLES:
            style = NumberFormat(decimal, group, unit)
            if style.is_plain or units[unit] <= most:
                continue
            of_style = np.array([style._number(found) for found in written_as])
            n_rows = weights[~np.isnan(of_style)].sum()
            if n_rows > most:
                best, numbers, most = style, of_style, n_rows
    return best, numbers


@lru_cache(maxsize=2**16)
def written(text: str) -> Written | None:
    """Return the parts of a number, or None if the text is not one in any format."""
    found = _WRITTEN.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        return None
    unit = found["before"] or found["after"] or ""
    if unit and unit not in _CURRENCIES and not _is_unit(unit):
        return None
    if bool(found["open"]) != bool(found["close"]) or (found["sign"] and found["inner"]):
        return None
    sign = found["sign"] or found["inner"]
    if sign and found["open"]:
        return None
    negative = found["open"] or sign in ("-", "−")
    return Written(-1 if negative else 1, found["body"], "%" if unit == "％" else unit)


def looks_like_number(text: str) -> bool:
    """Return whether a text is a number in some format."""
    found = written(text)
    return found is not None and any(
        _body_pattern(*style).fullmatch(found.body) for style in _STYLES
    )


def _is_unit(symbol: str) -> bool:
    return symbol in "%％" or unicodedata.category(symbol) == "Sc"


@lru_cache
def _body_pattern(decimal: str, group: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    plain = rf"\d+(?:{mark}\d*)?(?:[eE][+-]?\d+)?|{mark}\d+(?:[eE][+-]?\d+)?"
    if not group:
        return re.compile(plain)
    between = {" ": f"[{_SPACES}]", "'": "['’]"}.get(group, re.escape(group))
    # Indian numbers such as 12,34,567 have groups of two.
    inner = rf"(?:{between}\d{{2,3}})*" if group == "," else rf"(?:{between}\d{{3}})*"
    return re.compile(rf"[1-9]\d{{0,2}}{inner}{between}\d{{3}}(?:{mark}\d+)?|{plain}")


def plain_numbers_of(texts: Any) -> Floats:
    """Return texts as numbers, as programs write them, with NaN for those that are not."""
    numbers: Floats = np.asarray(pandas().to_numeric(texts, errors="coerce"), dtype=np.float64)
    for place in np.flatnonzero(np.isnan(numbers)):
        text = texts[place]
        if _HEX.fullmatch(text):
            numbers[place] = int(text, 16)
        elif text[:1] == "−":  # the typographic minus
            numbers[place] = pandas().to_numeric(f"-{text[1:]}", errors="coerce")
    return numbers

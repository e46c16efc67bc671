"""Numbers and values as people write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_SPACE = "\u00a0"  # no line break before a percent sign
_MAX_LENGTH = 120
_HARDLY_ANY = 0.001

CANNOT_TELL = "This table cannot tell which labels are wrong"


def number(value: float) -> str:
    """Return a whole number with a comma for thousands."""
    return f"{round(value):,}"


def about(value: float) -> str:
    """Return an estimated number, rounded to two significant figures.

    Examples
    --------
    >>> about(12345), about(7.6), about(0.2)
    ('12,000', '8', '0')
    """
    if value < 10:
        return number(value)
    power = 10 ** (math.floor(math.log10(value)) - 1)
    return number(round(value / power) * power)


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share in percent, with a decimal if it is small."""
    if decimals is None:
        decimals = 0 if abs(share) >= 0.0995 or share == 0 else 1
    return f"{100 * share:.{decimals}f}{_SPACE}%"


def accuracy(estimate: tuple[float, float]) -> str:
    """Return an accuracy with its standard error, clipped to what is possible."""
    value, error = estimate
    return f"{100 * min(max(value, 0), 1):.1f} ± {100 * error:.1f}{_SPACE}%"


def percent_range(low: float, high: float) -> str:
    r"""Return a range in percent, with a decimal if it is narrow.

    Examples
    --------
    >>> percent_range(0.11, 0.142), percent_range(0.021, 0.024)
    ('11–14\xa0%', '2.1–2.4\xa0%')
    """
    decimals = 0 if high - low >= 0.015 else 1
    ends = [f"{100 * share:.{decimals}f}" for share in (low, high)]
    return f"{'–'.join(dict.fromkeys(ends))}{_SPACE}%"


def times(count: int, one: str, many: str) -> str:
    """Return a count with its noun in singular or plural."""
    return f"{number(count)} {one if count == 1 else many}"


def noise_in_words(rate: float, low: float, high: float) -> str:
    r"""Return how many labels look wrong, in everyday words.

    Examples
    --------
    >>> noise_in_words(0.124, 0.11, 0.14)
    'About 1 label in 8 looks wrong (11–14\xa0%)'
    >>> noise_in_words(0.305, 0.29, 0.32)
    'About 3 labels in 10 look wrong (29–32\xa0%)'
    >>> noise_in_words(0.271, 0.26, 0.285)
    'More than 1 label in 4 looks wrong (26–28\xa0%)'
    >>> noise_in_words(0.0, 0.0, 0.01)
    'Hardly any labels look wrong (at most 1.0\xa0%)'
    """
    if not math.isfinite(rate):
        return CANNOT_TELL
    known = math.isfinite(low) and math.isfinite(high)
    if rate < _HARDLY_ANY:
        return "Hardly any labels look wrong" + (f" (at most {percent(high)})" if known else "")
    wrong, of = _simple_fraction(rate)
    if not known:
        low, high = 0.95 * rate, 1.05 * rate
    # "About" if the fraction lies in the interval as it is shown
    if round(low, 2) <= wrong / of <= max(round(high, 2), high):
        how = "About"
    else:
        how = "More than" if wrong / of < rate else "Nearly"
    what = f"1 label in {number(of)} looks" if wrong == 1 else f"{wrong} labels in {of} look"
    return f"{how} {what} wrong ({percent_range(low, high) if known else percent(rate)})"


def _simple_fraction(rate: float) -> tuple[int, int]:
    """Return a simple fraction near a rate, such as 1 in 8 or 3 in 10."""
    if rate < 0.19:
        of = 1 / rate
        power = 10 ** max(0, math.floor(math.log10(of)) - 1)
        return 1, round(of / power) * power
    said = [(wrong, of) for of in (2, 3, 4, 5, 10) for wrong in range(1, of)]
    return min(said, key=lambda fraction: abs(fraction[0] / fraction[1] - rate))


def as_text(value: Any, max_length: int = _MAX_LENGTH) -> str:
    """Return a label or a value as valid text of limited length.

    Examples
    --------
    >>> as_text(3.0), as_text(0.1 + 0.2), as_text(None), as_text(float("nan"))
    ('3', '0.3', 'missing', 'missing')
    """
    if _is_missing(value):
        return "missing"
    if isinstance(value, float | np.floating):
        exact = float(value)
        whole = exact.is_integer() and abs(exact) < 1e15
        text = str(int(exact)) if whole else f"{exact:.6g}"
    else:
        # UTF-8 allows no lone surrogates, and HTML no NUL.
        text = str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = text.replace("\0", "\ufffd")
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN and NaT
    except (TypeError, ValueError):  # pandas' NA has no truth value
        return True

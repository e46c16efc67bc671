"""Text that spreadsheets would run as a formula, kept as text by a quote in front of it."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def escape(text: str) -> str:
    """Return a text that spreadsheets do not run, as the audit report writes it.

    Examples
    --------
    >>> escape("=1+2"), escape("-3.5"), escape("a - b"), escape("'=1+2")
    ("'=1+2", '-3.5', 'a - b', "''=1+2")
    """
    return f"'{text}" if _is_formula(text.lstrip("'")) else text


def unescape(text: str) -> str:
    """Return the text that was escaped.

    Examples
    --------
    >>> unescape("'=1+2"), unescape("'tis"), unescape("''=1+2")
    ('=1+2', "'tis", "'=1+2")
    """
    is_escaped = text[:1] == "'" and _is_formula(text.lstrip("'"))
    return text[1:] if is_escaped else text

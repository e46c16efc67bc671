"""The error for tables that cannot be used, and parts of its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class TableError(ValueError):
    """A table or a file cannot be used. The message says why, and what to do."""


class TableWarning(UserWarning):
    """Columns of a table were left out, or are perhaps not what they look like."""


def listed(values: Iterable[object], most: int = 3) -> str:
    """Return the first few values as text.

    Examples
    --------
    >>> listed(["a", "b"]), listed(range(10))
    ("'a', 'b'", '0, 1, 2 and 7 more')
    """
    shown = [repr(value) for value in values]
    if len(shown) <= most:
        return ", ".join(shown)
    return f"{', '.join(shown[:most])} and {len(shown) - most:,} more"


def nth(row: int) -> str:
    """Return the ordinal of a row counted from 0, which is the same however readers count.

    Examples
    --------
    >>> nth(0), nth(11), nth(1022)
    ('1st', '12th', '1,023rd')
    """
    number = int(row) + 1
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def closest(name: str, names: Sequence[str], what: str = "The columns are") -> str:
    """Return a hint at the name that was probably meant, for the end of a message.

    Examples
    --------
    >>> closest("Target", ["id", "target"])
    " Did you mean 'target'?"
    >>> closest("x", ["id", "target"])
    " The columns are 'id', 'target'."
    """
    by_lower_case = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), by_lower_case, n=1)
    if found:
        return f" Did you mean {by_lower_case[found[0]]!r}?"
    return f" {what} {listed(names, most=10)}."

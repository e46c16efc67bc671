"""Rows that belong together, such as the copies of one observation: forests draw them together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.uint32]


def check_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """Return the groups of the rows as a vector, or raise a ValueError."""
    values = np.asarray(groups)
    if values.ndim != 1:
        raise ValueError(
            f"groups must be one-dimensional, with one entry per row of X, but has shape "
            f"{values.shape}."
        )
    if len(values) != n_rows:
        raise ValueError(f"groups has {len(values)} entries, but X has {n_rows} rows.")
    is_missing = np.array([_is_missing(value) for value in values.tolist()])
    if is_missing.any():
        raise ValueError(
            f"groups has {is_missing.sum()} missing values, the first in row "
            f"{is_missing.argmax()}. Give every row a group; a row on its own is a group of one."
        )
    return values


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, or NaN, NaT or pandas' NA, which do not equal themselves."""
    equals_itself = value == value
    return value is None or not isinstance(equals_itself, bool | np.bool_) or not equals_itself


def number_groups(groups: NDArray[Any]) -> Groups | None:
    """Return the groups numbered from 0 as they occur, or None if every row is alone.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.groups import number_groups
    >>> number_groups(np.array(["b", "a", "b"]))
    array([0, 1, 0], dtype=uint32)
    >>> number_groups(np.array(["b", "a", "c"])) is None
    True
    """
    numbers: dict[Any, int] = {}
    numbered = [numbers.setdefault(group, len(numbers)) for group in groups.tolist()]
    return None if len(numbers) == len(numbered) else np.array(numbered, dtype=np.uint32)

"""The column with the labels."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._values import distinct, plain_numbers
from hardwood.tables.errors import TableError, closest, listed, nth
from hardwood.tables.frames import pandas

_MAX_CLASSES = 1000
_FEW = 20


def split_label(frame: Any, label: str) -> tuple[Any, Any]:
    """Return a table without the column of labels, and that column.

    Raises
    ------
    TableError
        If there is no such column.
    """
    names = [str(name) for name in frame.columns]
    if label not in names:
        raise TableError(f"label: there is no column {label!r}.{closest(label, names)}")
    frame = frame.set_axis(names, axis=1)
    return frame.drop(columns=label), frame[label]


def groups_of(frame: Any, group: str, missing: Collection[str] = ()) -> NDArray[np.intp]:
    """Return the numbers of the groups that a column of a table tells.

    Raises
    ------
    TableError
        If there is no such column, or values are missing in it.
    """
    names = [str(name) for name in frame.columns]
    if group not in names:
        raise TableError(f"group: there is no column {group!r}.{closest(group, names)}")
    codes = distinct(frame.iloc[:, names.index(group)], missing).codes
    absent = np.flatnonzero(codes < 0)
    if len(absent):
        raise TableError(
            f"Group column {group!r} is missing in {len(absent):,} of {len(codes):,} rows, first "
            f"in the {nth(absent[0])} row. Give every row a group."
        )
    return np.asarray(codes, dtype=np.intp)


def labels_of(y: Any, missing: Collection[str] = ()) -> NDArray[Any]:
    """Return labels as integers, booleans or strings.

    Parameters
    ----------
    y : Series or array-like
        The labels. Integers may be floats.

    missing : collection of str, default=()
        Texts that stand for missing values.

    Raises
    ------
    TableError
        If labels are missing, or are not those of two or more classes.

    Examples
    --------
    >>> labels_of(["b", "a", " b"]).tolist(), labels_of([1.0, 0.0]).tolist()
    (['b', 'a', 'b'], [1, 0])
    """
    pd = pandas()
    values = y if isinstance(y, pd.Series) else pd.Series(np.asarray(y))
    what = "The label" if values.name is None else f"Label column {str(values.name)!r}"
    kind, numbers = plain_numbers(values)
    if kind in ("date", "other"):
        raise TableError(f"{what} must contain text or whole numbers, got type {values.dtype}.")
    texts = distinct(values, missing)
    absent = np.flatnonzero(texts.codes < 0)
    if len(absent):
        raise TableError(
            f"{what} is missing in {len(absent):,} of {len(values):,} rows, first in the "
            f"{nth(absent[0])} row. Remove these rows or fill in the labels."
        )
    n_classes = len(texts.texts)
    if numbers is not None and np.any(numbers % 1 != 0):
        raise TableError(
            f"{what} contains fractions ({listed(np.unique(numbers).tolist())}), which do not look "
            "like classes. Use text or whole numbers, or bin the values into a few ranges."
        )
    if n_classes == 1:
        raise TableError(f"{what} has only one class, {texts.texts[0]!r}. Two are required.")
    if n_classes > min(_MAX_CLASSES, max(_FEW, len(values) / 2)):
        raise TableError(
            f"{what} has {n_classes:,} different values in {len(values):,} rows: "
            f"{listed(texts.texts)}. These do not look like classes. Is it the right column?"
        )
    if numbers is None:
        return texts.texts[texts.codes]
    is_boolean = pd.api.types.infer_dtype(values) == "boolean"
    return numbers.astype(bool if is_boolean else np.int64)

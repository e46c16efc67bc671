"""The column of labels."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._pandas import pandas
from hardwood.tables._values import distinct, plain_numbers
from hardwood.tables.errors import TableError, closest, listed, nth

__all__ = ["labels_of", "split_label"]

_MOST_CLASSES = 1000
_FEW = 20


def split_label(frame: Any, label: str) -> tuple[Any, Any]:
    """Return the table without the column of labels, and that column.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.

    label : str
        The column's name.

    Raises
    ------
    TableError
        If there is no such column; the message names the one that was perhaps meant.
    """
    names = [str(name) for name in frame.columns]
    if label not in names:
        raise TableError(f"There is no column {label!r} (label){closest(label, names)}")
    frame = frame.set_axis(names, axis=1)
    return frame.drop(columns=label), frame[label]


def labels_of(y: Any, missing: Collection[str] = ()) -> NDArray[Any]:
    """Return labels as whole numbers, truth values or strings.

    Parameters
    ----------
    y : Series or array-like
        The labels. Whole numbers may be floats.

    missing : collection of str, default=()
        Texts that stand for a missing value.

    Raises
    ------
    TableError
        If the labels are not those of two or more classes, or some are missing.

    Examples
    --------
    >>> labels_of(["b", "a", " b"]).tolist(), labels_of([1.0, 0.0]).tolist()
    (['b', 'a', 'b'], [1, 0])
    """
    pd = pandas()
    values = y if isinstance(y, pd.Series) else pd.Series(np.asarray(y))
    what = "The label" if values.name is None else f"The label column {str(values.name)!r}"
    kind, numbers = plain_numbers(values)
    if kind in ("date", "other"):
        raise TableError(f"{what} must hold classes, as text or whole numbers, not {values.dtype}.")
    texts = distinct(values, missing)
    absent = np.flatnonzero(texts.codes < 0)
    if len(absent):
        raise TableError(
            f"{what} is missing in {len(absent):,} of {len(values):,} rows, first in the "
            f"{nth(absent[0])}: leave these rows out, or fill them in."
        )
    n_classes = len(texts.texts)
    if numbers is not None and np.any(numbers % 1 != 0):
        raise TableError(
            f"{what} holds numbers with fractions ({listed(np.unique(numbers).tolist())}). A model "
            "is learnt for classes: write these as text or whole numbers, or cut the numbers into "
            "a few ranges."
        )
    if n_classes == 1:
        raise TableError(f"{what} has one class only, {texts.texts[0]!r}; two are needed.")
    if n_classes > min(_MOST_CLASSES, max(_FEW, len(values) / 2)):
        raise TableError(
            f"{what} has {n_classes:,} different values in {len(values):,} rows, as "
            f"{listed(texts.texts)}. These are no classes: is it another column?"
        )
    if numbers is None:
        return texts.texts[texts.codes]
    is_truth = pd.api.types.infer_dtype(values) == "boolean"
    return numbers.astype(bool if is_truth else np.int64)

"""The column with the labels."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._values import by_type, distinct
from hardwood.tables.errors import TableError, closest, listed, nth
from hardwood.tables.frames import pandas
from hardwood.tables.number_texts import plain_numbers_of
from hardwood.tables.reading import read

_MAX_CLASSES = 1000
_FEW = 20


def split_label(frame: Any, label: str) -> tuple[Any, Any]:
    """Return a table without the column of labels, and that column.

    Read the column as text. Labels are what is written: 01 and 1 are two classes. If all of them are
    whole numbers without leading zeros, they become numbers.

    Raises
    ------
    TableError
        If there is no such column, or it contains dates.
    """
    names = [str(name) for name in frame.columns]
    if label not in names:
        raise TableError(f"label: there is no column {label!r}.{closest(label, names)}")
    frame = frame.set_axis(names, axis=1)
    return frame.drop(columns=label), _typed(frame[label])


def _typed(labels: Any) -> Any:
    """Return labels that are written as numbers as such, if that loses nothing."""
    if by_type(labels).kind != "text":
        return labels
    texts = distinct(labels, ())
    if not len(texts.texts):
        return labels
    found = read(texts.texts, texts.counts().tolist(), mostly=1)
    if found.kind == "date":
        raise TableError(
            f"{_named(labels)} must contain text or whole numbers, but contains dates such as "
            f"{texts.texts[0]!r}."
        )
    numbers = plain_numbers_of(texts.texts)
    is_whole = np.array_equal([str(int(n)) if n % 1 == 0 else "" for n in numbers], texts.texts)
    has_fractions = np.all(np.isfinite(numbers)) and np.any(numbers % 1 != 0)
    is_exact = np.all(np.abs(numbers) <= 2**53)
    if has_fractions or (is_whole and is_exact):
        each = texts.each(numbers)
        no_gaps = is_whole and not np.isnan(each).any()
        series = pandas().Series(each, index=labels.index, name=labels.name)
        return series.astype(np.int64) if no_gaps else series
    return labels


def _named(labels: Any) -> str:
    return "The label" if labels.name is None else f"Label column {str(labels.name)!r}"


def split_labels(frame: Any, labels: Sequence[str]) -> tuple[Any, Any]:
    """Return a table without the columns of labels, and these: one column, or a table of several."""
    if len(labels) == 1:
        return split_label(frame, labels[0])
    if len(set(labels)) < len(labels):
        raise TableError(f"label: a column is named twice among {listed(labels)}.")
    X = frame
    columns = {}
    for label in labels:
        X, columns[label] = split_label(X, label)
    return X, pandas().DataFrame(columns)


def labels_of_all(y: Any, missing: Collection[str] = ()) -> Any:
    """Return `labels_of` one column, or a table of several with None where a label is missing."""
    pd = pandas()
    if isinstance(y, pd.Series):
        return labels_of(y, missing)
    given = [column[distinct(column, missing).codes >= 0].astype(object) for _, column in y.items()]
    together = pd.concat(given, ignore_index=True).infer_objects().rename(", ".join(y.columns))
    found = labels_of(together, missing)
    labels = np.full(y.shape, None, dtype=object)
    start = 0
    for k, column in enumerate(given):
        rows = y.index.get_indexer(column.index)
        labels[rows, k] = found[start : start + len(column)]
        start += len(column)
    return pd.DataFrame(labels, columns=y.columns, dtype=object)


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
    >>> labels_of(["b", " a", "b"]).tolist(), labels_of([1.0, 0.0]).tolist()
    (['b', 'a', 'b'], [1, 0])
    """
    pd = pandas()
    if y is None or isinstance(y, str):
        raise TableError(f"y must be the labels, one for each row, got {y!r}.")
    if np.ndim(y) != 1:
        raise TableError(
            f"y must be one column with the labels, got {type(y).__name__} of shape {np.shape(y)}. "
            "If it has one column, pass that column."
        )
    values = y if isinstance(y, pd.Series) else pd.Series(np.asarray(y))
    what = _named(values)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    kind, numbers = by_type(values)
    if kind in ("date", "time", "other"):
        raise TableError(f"{what} must contain text or whole numbers, got type {values.dtype}.")
    texts = distinct(values, missing)
    absent = np.flatnonzero(texts.codes < 0)
    if len(absent):
        raise TableError(
            f"{what} is missing in {len(absent):,} of {len(values):,} rows, first in the "
            f"{nth(absent[0])} row. Remove these rows or fill in the labels. (NA, NULL and None "
            "also stand for missing values; give such a class another name.)"
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
        _warn_of_lookalikes(what, texts.texts, values)
        return texts.texts[texts.codes]
    return numbers.astype(bool if kind == "truth" else np.int64)


def _warn_of_lookalikes(what: str, classes: Iterable[str], values: Any) -> None:
    """Warn if classes look alike, or if labels differ only in the spaces around them."""
    for names in _grouped(classes, _simplified):
        warnings.warn(
            f"{what} has classes that look alike: {listed(names)}. They are different classes. If "
            "they should not be, correct the labels.",
            stacklevel=4,
        )
    written = [value for value in values.unique() if isinstance(value, str)]
    for names in _grouped(written, str.strip):
        warnings.warn(
            f"{what} has labels that differ only in spaces around them: {listed(names)}. They are "
            "one class.",
            stacklevel=4,
        )


def _grouped(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Return the groups of two or more names with the same key."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _simplified(name: str) -> str:
    """Return what remains of a name without case, accents, spaces, punctuation and leading zeros."""
    number = plain_numbers_of(np.array([name], dtype=object))[0]
    if np.isfinite(number):
        return repr(float(number))
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    letters = "".join(each for each in decomposed if each.isalnum())
    return letters or name

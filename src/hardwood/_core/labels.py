"""Checks labels before scikit-learn does, for errors that say what to do."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse


def labels_as_given(y: Any) -> Any:
    """Return y, a list of text with long names as an array of objects.

    An array of strings takes as much memory for each of them as for the longest.
    """
    if isinstance(y, list) and _longest(y) > LONGEST_NAME:
        return np.array(y, dtype=object)
    return y


def strings_if_short(labels: NDArray[Any]) -> NDArray[Any]:
    """Return an array of objects that are short texts as one of strings, others as they are."""
    if labels.dtype != object or not all(isinstance(label, str) for label in labels.flat):
        return labels
    return labels.astype(str) if _longest(labels.flat) <= LONGEST_NAME else labels


LONGEST_NAME = 256


def _longest(labels: Iterable[Any]) -> int:
    return max((len(label) for label in labels if isinstance(label, str)), default=0)


def check_one_output(y: Any) -> None:
    """Raise a ValueError if y has several outputs or missing labels."""
    if y is None or issparse(y):  # scikit-learn has good errors for these
        return
    labels = _as_array(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {labels.shape} instead. Only one output "
            "is supported: to predict several, fit a model for each, for example with "
            "sklearn.multioutput.MultiOutputClassifier."
        )
    if labels.dtype.kind != "f":  # scikit-learn finds NaN among numbers
        check_none_missing(labels.ravel())


def check_none_missing(labels: NDArray[Any]) -> None:
    """Raise a ValueError if a label is None, NaN, NaT or pandas' NA."""
    missing = np.flatnonzero(_is_missing(labels))
    if len(missing):
        raise ValueError(
            f"y must not have missing labels, but {len(missing)} of {len(labels)} are missing, the "
            f"first in row {missing[0]}. Remove these rows."
        )


@contextmanager
def sorting_labels() -> Iterator[None]:
    """Raise an error that says why labels cannot be sorted, if they cannot."""
    try:
        yield
    except TypeError as error:
        raise ValueError(
            "y must hold labels of one type, not a mix of text and numbers."
        ) from error


def _as_array(y: Any) -> NDArray[Any]:
    """Return y as an array. In lists, None stays None."""
    if isinstance(y, np.ndarray):
        return y
    try:
        return np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    except (ValueError, TypeError):  # ragged, for example: scikit-learn has errors for these
        return np.empty(0)


def _is_missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    match labels.dtype.kind:
        case "f":
            return np.asarray(np.isnan(labels))
        case "M" | "m":
            return np.asarray(np.isnat(labels))
        case "O":
            # NaN and NaT do not equal themselves, and pandas' NA does not say whether it does.
            missing = (value is None or not _is_itself(value) for value in labels)
            return np.fromiter(missing, np.bool_, len(labels))
        case _:
            return np.zeros(len(labels), dtype=np.bool_)


def _is_itself(value: Any) -> bool:
    try:
        return bool(value == value)
    except (TypeError, ValueError):  # an array in the place of a label does not say either
        return isinstance(value, np.ndarray)

"""Check the labels and probabilities that users pass, and bring them into standard form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hardwood._core.labels import (
    check_none_missing,
    labels_as_given,
    sorting_labels,
    strings_if_short,
)

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Tolerance for the sum of a row's probabilities, which may be in single precision.
_ROUNDING = 1e-3


def check_labels(y: Any, classes: Any = None) -> tuple[NDArray[Any], Labels]:
    """Return the classes, sorted or as given, and the index of each label among them."""
    y = column_or_1d(_as_array(y))
    if len(y) < 2:
        raise ValueError(f"y must hold at least two labels, got {len(y)}.")
    check_none_missing(y)
    with sorting_labels():
        check_classification_targets(y)
        found, labels = np.unique(y, return_inverse=True)
    if classes is not None:
        found, labels = _among(np.asarray(classes), found, labels)
    if len(found) < 2:
        raise ValueError(f"y must hold at least two classes, got only {found[0]!r}.")
    return found, labels.astype(np.intp)


def check_proba(proba: Any, n_rows: int, classes: NDArray[Any]) -> Array:
    """Return out-of-sample probabilities as a matrix whose rows sum to exactly 1."""
    proba = np.asarray(proba, dtype=np.float64)
    if proba.shape != (n_rows, len(classes)):
        raise ValueError(
            f"proba must have one row for each of the {n_rows} labels and one column for each of "
            f"the {len(classes)} classes of y, shape {(n_rows, len(classes))}, got {proba.shape}. "
            "If the model knows a class that y lacks, drop its column."
        )
    if not np.isfinite(proba).all():
        row = int(np.argmin(np.isfinite(proba).all(axis=1)))
        raise ValueError(f"proba must be finite, but row {row} is not.")
    if proba.min() < -_ROUNDING:
        row = int(np.argmin(proba.min(axis=1)))
        raise ValueError(f"proba must not be negative, but row {row} is.")
    sums = proba.sum(axis=1)
    if np.abs(sums - 1).max() > _ROUNDING:
        row = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(
            f"Each row of proba must sum to 1, but row {row} sums to {sums[row]:g}. Pass "
            "probabilities, not scores."
        )
    proba = np.clip(proba, 0, None)
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def proba_from_votes(votes: Any, labels: Labels, classes: NDArray[Any]) -> Array:
    """Return mean out-of-bag votes as probabilities.

    Nothing is known about a row that every tree drew. It gets the frequencies of the labels.
    """
    votes = np.array(votes, dtype=np.float64)
    unknown = ~(votes.sum(axis=1) > 0)
    votes[unknown] = np.bincount(labels, minlength=len(classes)) / len(labels)
    return check_proba(votes / votes.sum(axis=1, keepdims=True), len(labels), classes)


def _as_array(y: Any) -> NDArray[Any]:
    """Return y as an array. A text column of a data frame holds objects."""
    to_numpy = getattr(y, "to_numpy", None)
    return strings_if_short(np.asarray(labels_as_given(y) if to_numpy is None else to_numpy()))


def _among(
    classes: NDArray[Any], found: NDArray[Any], labels: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
        raise ValueError("classes must be a list of distinct labels.")
    place_of = {value: place for place, value in enumerate(classes.tolist())}
    unknown = [value for value in found.tolist() if value not in place_of]
    if unknown:
        raise ValueError(f"y holds {unknown[0]!r}, which is not in classes.")
    absent = sorted(set(place_of) - set(found.tolist()), key=lambda value: place_of[value])
    if absent:
        raise ValueError(
            f"Class {absent[0]!r} does not occur in y. Drop it from classes, and its column from "
            "proba."
        )
    places = np.array([place_of[value] for value in found.tolist()], dtype=np.intp)
    return classes, places[labels]

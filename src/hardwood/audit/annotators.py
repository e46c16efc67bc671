"""Labels of several people: reading them, how often people are right, and who agrees with whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.frames import Table
from hardwood.noise.checks import Array, Labels, check_labels

if TYPE_CHECKING:
    from hardwood.audit.consensus import Consensus


@dataclass(frozen=True)
class Annotations:
    """Labels of several people.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    labels : ndarray of int of shape (n_rows, n_annotators)
        Labels as positions among the classes, −1 where there is none.
    names : list of str
        What the annotators are called.
    """

    classes: NDArray[Any]
    labels: NDArray[np.intp]
    names: list[str]

    @property
    def is_given(self) -> NDArray[np.bool_]:
        """Where there is a label."""
        return np.asarray(self.labels >= 0)

    def counts(self) -> Array:
        """Return how many annotators gave each class to each row."""
        counts = np.zeros((len(self.labels), len(self.classes)))
        rows, _ = np.nonzero(self.is_given)
        np.add.at(counts, (rows, self.labels[self.is_given]), 1)
        return counts


def has_annotators(y: Any) -> bool:
    """Return whether y has a column for each of several people."""
    # As objects: an array of texts would have room for the longest of them in each row.
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    return len(shape) == 2 and shape[1] > 1


def check_annotations(Y: Any) -> Annotations:
    """Return labels of several people in standard form.

    Parameters
    ----------
    Y : array-like of shape (n_rows, n_annotators)
        The labels; NaN or None where an annotator gave none.
    """
    names = [str(name) for name in getattr(Y, "columns", [])]
    frame = Y.to_pandas() if hasattr(Y, "to_pandas") else Y
    values = np.asarray(
        frame.to_numpy(dtype=object) if hasattr(frame, "iloc") else frame, dtype=object
    )
    names = names or [f"annotator {k}" for k in range(values.shape[1])]
    if not len(values):
        raise ValueError("y must hold at least two labels, got 0.")
    is_given = np.array([[not _is_missing(value) for value in row] for row in values], dtype=bool)
    empty = np.flatnonzero(~is_given.any(axis=1))
    if len(empty):
        raise ValueError(
            f"y must have a label of at least one annotator in each row, but has none in {len(empty)} of "
            f"{len(values)} rows. The first is row {empty[0]}, counted from 0. Remove these rows."
        )
    silent = np.flatnonzero(~is_given.any(axis=0))
    if len(silent):
        raise ValueError(f"y: {names[silent[0]]!r} gave no label at all. Remove this column.")
    classes, found = check_labels(_of_one_type(values[is_given]))
    labels = np.full(values.shape, -1, dtype=np.intp)
    labels[is_given] = found
    return Annotations(classes, labels, names)


def _of_one_type(values: NDArray[np.object_]) -> NDArray[Any]:
    """Return labels as an array of their own type. Whole numbers next to NaN had become floats."""
    plain = values.tolist()
    if all(isinstance(value, float) and value.is_integer() for value in plain):
        return np.array([int(value) for value in plain])
    return np.array(plain) if len({type(value) for value in plain}) == 1 else values


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA
        return True


def majority(annotations: Annotations) -> Labels:
    """Return the most frequent label of each row, the first class if several are."""
    return np.asarray(annotations.counts().argmax(axis=1), dtype=np.intp)


def annotators_table(annotations: Annotations, consensus: Consensus) -> Table:
    """Return for each annotator the number of labels and how often they are right."""
    given = annotations.is_given
    agreed = annotations.labels == consensus.labels[:, np.newaxis]
    right = [
        float(consensus.posterior[given[:, a], annotations.labels[given[:, a], a]].mean())
        for a in range(len(annotations.names))
    ]
    return {
        "annotator": annotations.names,
        "labels": given.sum(axis=0),
        "accuracy": right,
        "agreement": [float(agreed[given[:, a], a].mean()) for a in range(len(right))],
    }


def agreement_table(annotations: Annotations) -> Table:
    """Return for each pair of annotators how often they agree, those that disagree most first."""
    labels, K = annotations.labels, len(annotations.classes)
    lines = []
    for a in range(labels.shape[1]):
        for b in range(a + 1, labels.shape[1]):
            both = (labels[:, a] >= 0) & (labels[:, b] >= 0)
            n = int(both.sum())
            same = float(np.mean(labels[both, a] == labels[both, b])) if n else np.nan
            shares = [np.bincount(labels[both, each], minlength=K) / max(n, 1) for each in (a, b)]
            by_chance = float(shares[0] @ shares[1])
            kappa = (same - by_chance) / (1 - by_chance) if by_chance < 1 else np.nan
            lines.append((annotations.names[a], annotations.names[b], n, same, kappa))
    lines.sort(key=lambda line: (np.isnan(line[3]), line[3]))
    names = ("first", "second", "rows", "agreement", "kappa")
    return {name: [line[k] for line in lines] for k, name in enumerate(names)}

"""Decisions between more than two classes that allow for label noise.

If classes are mislabelled at different rates, the most probable observed label need not be the
most probable true one: the scores are mixtures, which can be unmixed. (Two classes need only
another threshold: see `hardwood.noise.label_model`.)

Where a forest is most confident of class i, nearly all rows are of class i. Corrections rest on
the scores and labels of these rows: they are there even if a forest that was smoothed by noisy
labels hardly ever predicts the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.storing import Stored, storable
from hardwood.noise.checks import Array

Labels = NDArray[Any]

# The most confident share of the rows predicted as each class.
_TOP = 0.3
# Fewer rows than this say nothing about a class.
_TOO_FEW = 20
_WORST_CONDITION = 50.0
# With more classes it would take long to find out whether a matrix can be inverted.
_MOST_CLASSES = 1000
# The share of the scores that is left as it is.
AS_IS = 0.02


# --- confident rows ------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConfidentLabels:
    """The labels of the confident rows.

    Attributes
    ----------
    frequencies : ndarray of shape (n_classes, n_classes)
        Row i holds the frequencies of the labels among the confident rows of class i.
    error : ndarray of shape (n_classes,)
        Standard errors of the diagonal.
    slope : ndarray of shape (n_classes,)
        How much the diagonal falls from the more confident half of the rows to the other half.
        Noise does not depend on confidence, so a large slope means that classes overlap.
    """

    frequencies: Array
    error: Array
    slope: Array

    @property
    def kept(self) -> Array:
        """The diagonal: which share of its labels each class keeps."""
        return np.diag(self.frequencies)


def confident_rows(scores: Array) -> list[NDArray[np.intp]]:
    """Return for each class the rows whose scores are most confident of it, best first.

    These are the top 30 % of the rows predicted as the class. Rows that tie with the last one are
    included, so that the order of the rows does not matter.
    """
    predicted = scores.argmax(axis=1)
    chosen = []
    for k in range(scores.shape[1]):
        rows = np.flatnonzero(predicted == k)
        chosen.append(_top(scores[rows, k], rows, int(np.ceil(_TOP * len(rows)))))
    return chosen


def _top(score: Array, rows: NDArray[np.intp], n_wanted: int) -> NDArray[np.intp]:
    if n_wanted == 0:
        return rows[:0]
    order = np.argsort(-score, kind="stable")
    n_in = np.searchsorted(-score[order], -score[order[n_wanted - 1]], side="right")
    return rows[order[:n_in]]


def confident_labels(scores: Array, labels: Labels, weights: Array) -> ConfidentLabels | None:
    """Return the labels of the confident rows, or None if a class has too few such rows.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Out-of-bag probabilities.
    labels : ndarray of int of shape (n_rows,)
        The observed labels.
    weights : ndarray of shape (n_rows,)
        Weights of the rows.
    """
    n_classes = scores.shape[1]
    frequencies = np.empty((n_classes, n_classes))
    error, slope = np.empty((2, n_classes))

    def observed(rows: NDArray[np.intp]) -> Array:
        in_class = np.bincount(labels[rows], weights=weights[rows], minlength=n_classes)
        return np.asarray(in_class / in_class.sum())

    for k, rows in enumerate(confident_rows(scores)):
        if len(rows) < _TOO_FEW:
            return None
        frequencies[k] = observed(rows)
        # As if there were n effective rows and one more on each side, so that 0 has an error too.
        n = weights[rows].sum() ** 2 / np.square(weights[rows]).sum()
        p = (n * frequencies[k, k] + 1) / (n + 2)
        error[k] = np.sqrt(p * (1 - p) / n)
        surer, less_sure = np.array_split(rows, 2)
        slope[k] = (observed(surer) - observed(less_sure))[k]
    return ConfidentLabels(frequencies, error, slope)


# --- unmixing ------------------------------------------------------------------------------------


def mixing_matrix(scores: Array, weights: Array) -> Array | None:
    """Return M, the mean scores of the confident rows of each class.

    Easy rows of true class i have the scores M[i] on average. Return None if a class has too few
    confident rows, or if the rows of M are too similar to tell the classes apart.
    """
    chosen = confident_rows(scores)
    if len(chosen) > _MOST_CLASSES or any(len(rows) < _TOO_FEW for rows in chosen):
        return None
    M = np.array([np.average(scores[rows], axis=0, weights=weights[rows]) for rows in chosen])
    return M if np.linalg.cond(M) < _WORST_CONDITION else None


@storable("Unmixed")
@dataclass(frozen=True)
class Unmixed:
    """Scores are mixtures of the rows of M, whose shares p solve Mᵀ p = s."""

    M: Array

    def scores(self, scores: Array) -> Array:
        """Return the shares, with a little of the scores, so that no two rows tie by clipping."""
        p = np.clip(np.linalg.solve(self.M.T, scores.T).T, 0, None)
        total = p.sum(axis=1, keepdims=True)
        p = np.divide(p, total, out=np.array(scores, dtype=np.float64), where=total > 0)
        return np.asarray((1 - AS_IS) * p + AS_IS * scores)

    def _to_stored(self) -> dict[str, Any]:
        return {"M": self.M}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Unmixed:
        M = stored.array("M", "f8", (None, None))
        if len(M) > _MOST_CLASSES:
            raise stored.wrong("M", f"of at most {_MOST_CLASSES} classes")
        # Votes are summed in single precision: rounding may leave one just outside 0 to 1.
        inside = (M > -1e-6) & (M < 1 + 1e-6)
        if M.shape[0] != M.shape[1] or not (inside.all() and np.allclose(M.sum(axis=1), 1)):
            raise stored.wrong("M", "a square matrix of probabilities")
        # Ten times as fast as the other norm, from which it differs by this factor at most.
        if not np.linalg.cond(M, 1) < _WORST_CONDITION * len(M):
            raise stored.wrong("M", "a matrix that can be inverted")
        return cls(M)

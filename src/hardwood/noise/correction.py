"""Decisions that allow for label noise.

If classes are mislabelled at different rates, the most probable observed label need not be the
most probable true one. With two classes, the threshold between them moves. With more, the scores
are unmixed.

Where a forest is most confident of class i, nearly all rows are of class i. Corrections rest on
the scores and labels of these rows rather than on the noise matrix of
`hardwood.noise.estimation`: they are there even if a forest that was smoothed by noisy labels
hardly ever predicts the class. (Correcting by that matrix lost 0.2 points of accuracy on average,
and up to 29, in 1,128 runs on 47 small tables.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from hardwood._io.storing import Stored, storable
from hardwood.noise.checks import Array
from hardwood.noise.matrices import can_be_undone, check_matrix

Labels = NDArray[Any]

# Two classes: the outermost share of the rows, and their minimum number.
_OUTERMOST, _FEWEST = 0.05, 300
# More classes: the most confident share of the rows predicted as each class.
_TOP = 0.3
# Fewer rows than this say nothing about a class.
_TOO_FEW = 20
_WORST_CONDITION = 50.0


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

    For two classes: the outermost 5 % of the rows on each side, at least 300 but at most a quarter
    of all rows. For more: the top 30 % of the rows predicted as the class. Rows that tie with the
    last one are included, so that the order of the rows does not matter.
    """
    n_rows, n_classes = scores.shape
    if n_classes == 2:
        n_wanted = min(max(int(np.ceil(_OUTERMOST * n_rows)), _FEWEST), n_rows // 4)
        return [_top(scores[:, k], np.arange(n_rows), n_wanted) for k in range(2)]
    predicted = scores.argmax(axis=1)
    chosen = []
    for k in range(n_classes):
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


# --- two classes: move the threshold -------------------------------------------------------------


def best_cut(score: Array, labels: Labels, weights: Array, level: float) -> float:
    """Return the cut that maximizes Σ_{s > cut} w (y − level): predict class 1 above it.

    The isotonic calibration q(s) of the score crosses the level there. With the level
    (T01 + T11)/2, this also maximizes the T-corrected accuracy of two classes, because
    (T⁻¹)[y, 1] − (T⁻¹)[y, 0] is proportional to y − (T01 + T11)/2.
    """
    order = np.argsort(score, kind="stable")
    ordered = score[order]
    worth = (weights * (labels - level))[order]
    above = np.concatenate([[worth.sum()], worth.sum() - np.cumsum(worth)])
    ends = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # ties stay together
    places = np.flatnonzero(ends)
    cut = places[np.argmax(above[places])]
    if cut == 0:
        return -np.inf
    if cut == len(ordered):
        return np.inf
    return float((ordered[cut - 1] + ordered[cut]) / 2)


@storable("Recalibrated")
@dataclass(frozen=True)
class Recalibrated:
    """Two classes: P(true = 1) = clip((q(s) − T01)/(T11 − T01), 0, 1), q the isotonic calibration.

    Class 1 is therefore predicted where q(s) is above the mean of T01 and T11.
    """

    score: Array
    calibrated: Array
    T: Array

    @staticmethod
    def of(scores: Array, labels: Labels, weights: Array, T: Array) -> Recalibrated:
        """Calibrate the out-of-bag scores of the second class."""
        score, place = np.unique(scores[:, 1], return_inverse=True)
        weight = np.bincount(place, weights=weights)
        mean = np.bincount(place, weights=weights * labels) / weight
        q = isotonic_regression(mean, sample_weight=weight, y_min=0, y_max=1)
        # The inner points of a constant piece are redundant.
        inside = np.zeros(len(q), dtype=bool)
        inside[1:-1] = (q[1:-1] == q[:-2]) & (q[1:-1] == q[2:])
        return Recalibrated(score[~inside], q[~inside], T)

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities of the true classes."""
        q = np.interp(scores[:, 1], self.score, self.calibrated)
        low, high = self.T[0, 1], self.T[1, 1]
        p = np.clip((q - low) / (high - low), 0, 1)
        return np.column_stack([1 - p, p])

    def _to_stored(self) -> dict[str, Any]:
        return {"score": self.score, "calibrated": self.calibrated, "T": self.T}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Recalibrated:
        score = stored.array("score", "f8", (None,))
        calibrated = stored.array("calibrated", "f8", score.shape)
        T = check_matrix(stored.array("T", "f8", (2, 2)))
        if not len(score) or not np.all(score[:-1] < score[1:]) or not np.isfinite(score).all():
            raise stored.wrong("score", "finite and in ascending order")
        if not np.all((calibrated >= 0) & (calibrated <= 1)):
            raise stored.wrong("calibrated", "between 0 and 1")
        if not can_be_undone(T):
            raise stored.wrong("T", "a noise matrix that tells the classes apart")
        return cls(score, calibrated, T)


# --- more classes: unmix the scores --------------------------------------------------------------


def mixing_matrix(scores: Array, weights: Array) -> Array | None:
    """Return M, the mean scores of the confident rows of each class.

    Easy rows of true class i have the scores M[i] on average. Return None if a class has too few
    confident rows, or if the rows of M are too similar to tell the classes apart.
    """
    chosen = confident_rows(scores)
    if any(len(rows) < _TOO_FEW for rows in chosen):
        return None
    M = np.array([np.average(scores[rows], axis=0, weights=weights[rows]) for rows in chosen])
    return M if np.linalg.cond(M) < _WORST_CONDITION else None


@storable("Unmixed")
@dataclass(frozen=True)
class Unmixed:
    """More classes: scores are mixtures of the rows of M, whose shares p solve Mᵀ p = s."""

    M: Array

    def probabilities(self, scores: Array) -> Array:
        """Return the probabilities of the true classes."""
        p = np.clip(np.linalg.solve(self.M.T, scores.T).T, 0, None)
        total = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1 / p.shape[1])
        return np.asarray(np.divide(p, total, out=even, where=total > 0))

    def _to_stored(self) -> dict[str, Any]:
        return {"M": self.M}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Unmixed:
        M = stored.array("M", "f8", (None, None))
        # Votes are summed in single precision: rounding may leave one just outside 0 to 1.
        inside = (M > -1e-6) & (M < 1 + 1e-6)
        if M.shape[0] != M.shape[1] or not (inside.all() and np.allclose(M.sum(axis=1), 1)):
            raise stored.wrong("M", "a square matrix of probabilities")
        if not np.linalg.cond(M) < _WORST_CONDITION:
            raise stored.wrong("M", "a matrix that can be inverted")
        return cls(M)


Correction = Recalibrated | Unmixed


def n_classes_of(correction: Correction) -> int:
    """Return the number of classes that a correction is for."""
    return 2 if isinstance(correction, Recalibrated) else len(correction.M)

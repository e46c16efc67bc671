"""The noise matrix T told by confident out-of-bag scores, and decisions that allow for it.

T[i, j] = P(observed label j | true label i). Where the forest is most sure of class i, rows are of
class i, so that the labels observed there are row i of T. A row's own label has no part in its
out-of-bag score, so that these frequencies are not inflated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from hardwood._io.storing import Stored, storable
from hardwood.noise import _checked_matrix

Array = NDArray[np.float64]
Labels = NDArray[Any]

# Two classes: the outermost share of the rows, and how many at least.
_OUTERMOST, _FEWEST = 0.05, 300
# More classes: the most confident share of the rows that are predicted as each.
_TOP = 0.3
# Fewer rows than this tell nothing about a class.
_TOO_FEW = 20
_WORST_CONDITION = 50.0


@dataclass(frozen=True)
class NoiseEstimate:
    """An estimate of the noise matrix.

    Attributes
    ----------
    matrix : ndarray of shape (n_classes, n_classes)
        T.
    error : ndarray of shape (n_classes, n_classes)
        Standard errors of its entries.
    slope : ndarray of shape (n_classes,)
        By how much the share of a class's own label falls from the more confident half of the
        rows that told it to the other half. Noise does not depend on confidence: where this is
        large, the classes overlap.
    """

    matrix: Array
    error: Array
    slope: Array


def confident_rows(scores: Array) -> list[NDArray[np.intp]]:
    """Return for each class the rows whose scores are most confident of it, the surest first.

    Two classes: the outermost 5 % of the rows on each side, at least 300 but at most a quarter of
    all. More: the top 30 % of those predicted as the class. Rows that tie with the last one are in,
    so that the order of the rows has no say.
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


def estimate_noise(scores: Array, labels: Labels, weights: Array) -> NoiseEstimate | None:
    """Return the noise matrix that the confident rows tell; None where there are too few of them.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Out-of-bag probabilities.
    labels : ndarray of int of shape (n_rows,)
        The labels observed.
    weights : ndarray of shape (n_rows,)
        The rows' weights.
    """
    n_classes = scores.shape[1]
    matrix, error = np.empty((n_classes, n_classes)), np.empty((n_classes, n_classes))
    slope = np.empty(n_classes)
    for k, rows in enumerate(confident_rows(scores)):
        if len(rows) < _TOO_FEW:
            return None
        matrix[k] = _frequencies(labels[rows], weights[rows], n_classes)
        # As if of n effective rows, with one more on each side, so that 0 has an error too.
        n = weights[rows].sum() ** 2 / np.square(weights[rows]).sum()
        p = (n * matrix[k] + 1) / (n + 2)
        error[k] = np.sqrt(p * (1 - p) / n)
        surer, less_sure = np.array_split(rows, 2)
        slope[k] = (
            _frequencies(labels[surer], weights[surer], n_classes)
            - _frequencies(labels[less_sure], weights[less_sure], n_classes)
        )[k]
    return NoiseEstimate(matrix, error, slope)


def _frequencies(labels: Labels, weights: Array, n_classes: int) -> Array:
    in_class = np.bincount(labels, weights=weights, minlength=n_classes)
    frequencies: Array = in_class / in_class.sum()
    return frequencies


def noise_rate(T: Array, labels: Labels, weights: Array) -> float:
    """Return the share of wrong labels, Σᵢ P(true = i) (1 − T[i, i]).

    The observed frequencies are Tᵀ times the true ones.
    """
    observed = _frequencies(labels, weights, len(T))
    true = np.clip(np.linalg.lstsq(T.T, observed, rcond=None)[0], 0, None)
    return float(true @ (1 - np.diag(T)) / true.sum())


# --- two classes: another threshold --------------------------------------------------------------


def best_cut(score: Array, labels: Labels, weights: Array, level: float) -> float:
    """Return the score above which the second class pays: max over cuts of Σ_{s > cut} w (y − level).

    It is where the isotonic calibration q(s) of the score crosses the level. With the level
    (T01 + T11)/2 it also maximises the T-corrected accuracy of two classes, as
    (T⁻¹)[y, 1] − (T⁻¹)[y, 0] is in proportion to y − (T01 + T11)/2.
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

    So class 1 is predicted where q(s) is above the mean of the two confident levels, T01 and T11.
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
        # Inside a constant piece nothing is to be known.
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
        T = _checked_matrix(stored.array("T", "f8", (2, 2)))
        if not len(score) or not np.all(score[:-1] < score[1:]) or not np.isfinite(score).all():
            raise stored.wrong("score", "finite and in ascending order")
        if not np.all((calibrated >= 0) & (calibrated <= 1)):
            raise stored.wrong("calibrated", "between 0 and 1")
        if T[1, 1] <= T[0, 1]:
            raise stored.wrong("T", "a noise matrix that tells the classes apart")
        return cls(score, calibrated, T)


# --- more classes: unmixing ----------------------------------------------------------------------


def mixing_matrix(scores: Array, weights: Array) -> Array | None:
    """Return M, the mean scores of the confident rows of each class.

    A row of true class i has the score M[i] on average where it is easy; None where some class has
    no such rows, or where the classes are too alike to be told apart by M.
    """
    chosen = confident_rows(scores)
    if any(len(rows) < _TOO_FEW for rows in chosen):
        return None
    M = np.array([np.average(scores[rows], axis=0, weights=weights[rows]) for rows in chosen])
    return M if np.linalg.cond(M) < _WORST_CONDITION else None


@storable("Unmixed")
@dataclass(frozen=True)
class Unmixed:
    """More classes: scores are mixtures of M's rows; their shares are P(true), solving Mᵀ p = s."""

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
        # Votes are summed in single precision: rounding may leave one just outside of 0 to 1.
        inside = (M > -1e-6) & (M < 1 + 1e-6)
        if M.shape[0] != M.shape[1] or not (inside.all() and np.allclose(M.sum(axis=1), 1)):
            raise stored.wrong("M", "a square matrix of probabilities")
        if not np.linalg.cond(M) < _WORST_CONDITION:
            raise stored.wrong("M", "a matrix that can be inverted")
        return cls(M)


Correction = Recalibrated | Unmixed


def n_classes_of(correction: Correction) -> int:
    """Return how many classes a correction is for."""
    return 2 if isinstance(correction, Recalibrated) else len(correction.M)

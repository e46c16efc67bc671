"""What a model gains by being trained on cleaned rows, though no clean label is known.

The rows are split in two halves. Each in turn is audited, and two models are trained on it: one on
the rows as they are, one on the rows as the audit cleans them. Both predict the other half, whose
labels are as noisy and which nobody has touched. Accuracy on true labels follows from the noise
matrix T: with R = T⁻¹, the mean of R[observed, predicted] has the expectation

    Σ_j P(observed j | true i) R[j, k] = (T R)[i, k] = 1 if i = k else 0,

which is the accuracy of predicting k where i is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hardwood._compat import safe_indexing
from hardwood.adaptive import AdaptiveForestClassifier
from hardwood._io.frames import Table
from hardwood.noise.checks import Array
from hardwood.audit.cleaning import clean_by

__all__ = ["Gain", "Trial"]

# More rows would tell little more, and take their time.
_MOST_ROWS = 100_000
# Of a half. From fewer, not even the standard error can be told.
_FEWEST_ROWS = 10
# What T⁻¹ may multiply errors by.
_LARGEST_CONDITION = 1e3


@dataclass(frozen=True)
class Gain:
    """Accuracies of models trained on half of the rows, and what one is above the other.

    Attributes
    ----------
    n_rows : int
        Rows of both halves: each was trained on with its half, and predicted by the other's models.
    n_dropped : int
        Of these, left out by cleaning, or of weight 0.
    before, after : (float, float)
        Accuracy, corrected by T, of the models of the rows as they are and of those of the rows
        cleaned; each with its standard error.
    gain : (float, float)
        After less before, row by row, with its standard error: as the rows tell it, or as the
        difference between the halves does if that is more, which tells how far one training
        differs from another.
    """

    n_rows: int
    n_dropped: int
    before: tuple[float, float]
    after: tuple[float, float]
    gain: tuple[float, float]

    @property
    def told(self) -> bool:
        """Whether the two can be told apart: by two standard errors."""
        gain, error = self.gain
        return abs(gain) >= 2 * error and gain != 0


@dataclass(frozen=True)
class _Half:
    """What is known of a half of the rows before it is cleaned."""

    rows: NDArray[np.intp]
    table: Table  # of its audit
    rewards: Array  # in the other half, of the model of these rows as they are


class Trial:
    """Halves of the rows, each audited and learnt from as it is, for any way to clean them.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit; others like it are made.
    X : array-like of shape (n_samples, n_features)
        What it was fitted on.
    y : ndarray of shape (n_samples,)
        The labels given.

    Attributes
    ----------
    hindrance : str or None
        Why nothing can be told, in words.
    """

    def __init__(self, audit: Any, X: Any, y: NDArray[Any]) -> None:
        halves = _halves(y, np.random.RandomState(audit._seed))
        self.hindrance = _hindrance(audit.noise_matrix_, [y[rows] for rows in halves])
        if self.hindrance:
            return
        self._X, self._y, self._classes = X, y, audit.classes_
        self._reward = np.linalg.inv(audit.noise_matrix_)
        self._model = _model(audit)
        self._halves = []
        for rows, other in (halves, halves[::-1]):
            data = safe_indexing(X, rows), y[rows]
            inner = clone(audit).set_params(estimator=clone(audit.estimator_)).fit(*data)
            self._halves.append(_Half(rows, inner._table, self._rewards(data, other)))

    def gain(self, how: str) -> Gain | str:
        """Return what cleaning gains, or in words why that cannot be told.

        Parameters
        ----------
        how : {"drop", "relabel", "weight"}
            How to clean.
        """
        if self.hindrance:
            return self.hindrance
        n_dropped = 0
        before, after = [], []
        for half, other in (self._halves, self._halves[::-1]):
            data = safe_indexing(self._X, half.rows), self._y[half.rows]
            *_, y, weight = cleaned = clean_by(half.table, *data, how)
            n_dropped += len(half.rows) - len(y)
            n_dropped += 0 if weight is None else int(np.sum(weight == 0))
            before.append(half.rewards)
            after.append(self._rewards(cleaned, other.rows))
        return Gain(
            n_rows=sum(map(len, before)),
            n_dropped=n_dropped,
            before=_mean(np.concatenate(before)),
            after=_mean(np.concatenate(after)),
            gain=_mean_by_halves([b - a for a, b in zip(before, after, strict=True)]),
        )

    def _rewards(self, data: tuple[Any, ...], rows: NDArray[np.intp]) -> Array:
        """Train on data, and return what predictions count: on average, 1 if right and else 0."""
        predicted = clone(self._model).fit(*data).predict(safe_indexing(self._X, rows))
        observed, predicted = (
            np.searchsorted(self._classes, labels) for labels in (self._y[rows], predicted)
        )
        return np.asarray(self._reward[observed, predicted])


def _hindrance(T: Array | None, labels: list[NDArray[Any]]) -> str | None:
    if T is None or not np.isfinite(T).all() or np.linalg.cond(T) > _LARGEST_CONDITION:
        return "the labels are too noisy, or the rows too few, to tell what is noise"
    if min(map(len, labels)) < _FEWEST_ROWS:
        return "there are too few rows to learn from a half of them"
    if min(len(np.unique(of_half)) for of_half in labels) < 2:
        return "a half of the rows has labels of one class only"
    return None


def _model(audit: Any) -> Any:
    """Return what is trained: the audit's estimator, or an adaptive forest as it comes."""
    if audit.estimator is None:
        return AdaptiveForestClassifier(n_jobs=audit.n_jobs, random_state=audit._seed)
    return clone(audit.estimator_).set_params(oob_score=False)


def _halves(
    y: NDArray[Any], random: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of two random halves that have as many of each class, give or take one."""
    rows = random.permutation(len(y))[:_MOST_ROWS]
    rows = rows[np.argsort(y[rows], kind="stable")]
    return np.sort(rows[::2]), np.sort(rows[1::2])


def _mean(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _mean_by_halves(halves: list[Array]) -> tuple[float, float]:
    """Return the mean and its standard error, which is at least what the halves' means tell."""
    mean, error = _mean(np.concatenate(halves))
    first, second = (float(half.mean()) for half in halves)
    return mean, max(error, abs(first - second) / 2)

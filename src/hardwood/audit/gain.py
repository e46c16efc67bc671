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
from hardwood.audit._checks import Array

__all__ = ["Gain", "measure_gain"]

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


def measure_gain(audit: Any, X: Any, y: NDArray[Any], how: str = "drop") -> Gain | str:
    """Return what cleaning gains, or in words why that cannot be told.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit; others like it are made.
    X : array-like of shape (n_samples, n_features)
        What it was fitted on.
    y : ndarray of shape (n_samples,)
        The labels given.
    how : {"drop", "relabel", "weight"}, default="drop"
        How to clean.
    """
    T = audit.noise_matrix_
    if T is None or not np.isfinite(T).all() or np.linalg.cond(T) > _LARGEST_CONDITION:
        return "the labels are too noisy, or the rows too few, to tell what is noise"
    halves = _halves(y, np.random.RandomState(audit._seed))
    if min(map(len, halves)) < _FEWEST_ROWS:
        return "there are too few rows to learn from a half of them"
    if min(len(np.unique(y[half])) for half in halves) < 2:
        return "a half of the rows has labels of one class only"
    reward = np.linalg.inv(T)
    model = _model(audit)
    n_dropped = 0
    rewards: dict[str, list[Array]] = {"before": [], "after": []}
    for half, other in (halves, halves[::-1]):
        X_half, y_half = safe_indexing(X, half), y[half]
        inner = clone(audit).set_params(estimator=clone(audit.estimator_)).fit(X_half, y_half)
        X_clean, y_clean, weight = inner.clean(how=how, check=False)
        n_dropped += len(half) - len(y_clean) + (0 if weight is None else int(sum(weight == 0)))
        observed = np.searchsorted(audit.classes_, y[other])
        for name, data in (("before", (X_half, y_half)), ("after", (X_clean, y_clean, weight))):
            predicted = clone(model).fit(*data).predict(safe_indexing(X, other))
            rewards[name].append(reward[observed, np.searchsorted(audit.classes_, predicted)])
    before, after = (np.concatenate(parts) for parts in rewards.values())
    gains = [after - before for before, after in zip(*rewards.values(), strict=True)]
    return Gain(
        n_rows=len(before),
        n_dropped=n_dropped,
        before=_mean(before),
        after=_mean(after),
        gain=_mean_by_halves(gains),
    )


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

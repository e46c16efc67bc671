"""What a model gains by being trained on cleaned rows, though no clean label is known.

A fifth of the rows is held out. The others are audited, and two forests are trained on them: one on
the rows as they are, one without those whose labels are called wrong. Both predict the rows held
out, whose labels are as noisy. Accuracy on true labels follows from the noise matrix T: with
R = T⁻¹, the mean of R[observed, predicted] has the expectation

    Σ_j P(observed j | true i) R[j, k] = (T R)[i, k] = 1 if i = k else 0,

which is the accuracy of predicting k where i is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from hardwood._compat import safe_indexing

__all__ = ["Gain", "measure_gain"]

Array = NDArray[np.float64]

_SHARE_HELD_OUT = 0.2
# More rows would tell little more, and take their time.
_MOST_ROWS = 100_000
# What T⁻¹ may multiply errors by.
_LARGEST_CONDITION = 1e3


@dataclass(frozen=True)
class Gain:
    """Accuracies on the rows held out, and what one is above the other.

    Attributes
    ----------
    n_train, n_dropped, n_test : int
        Rows audited, of them called wrong, and rows held out.
    before, after : (float, float)
        Accuracy, corrected by T, of the forest of all rows audited and of the one of the rows
        kept; each with its standard error.
    gain : (float, float)
        After less before, row by row, with its standard error.
    """

    n_train: int
    n_dropped: int
    n_test: int
    before: tuple[float, float]
    after: tuple[float, float]
    gain: tuple[float, float]

    @property
    def told(self) -> bool:
        """Whether the two can be told apart: by two standard errors."""
        gain, error = self.gain
        return abs(gain) >= 2 * error and gain != 0


def measure_gain(audit: Any, X: Any, y: NDArray[Any]) -> Gain | str:
    """Return what cleaning gains, or in words why that cannot be told.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit; others like it are made.
    X : array-like of shape (n_samples, n_features)
        What it was fitted on.
    y : ndarray of shape (n_samples,)
        The labels given.
    """
    train, test = _split(y, check_random_state(audit.random_state))
    if len(test) < 2:
        return "there are too few rows to hold some out"
    inner = clone(audit).fit(safe_indexing(X, train), y[train])
    T = inner.noise_matrix_
    if T is None or not np.isfinite(T).all() or np.linalg.cond(T) > _LARGEST_CONDITION:
        return "the labels are too noisy, or the rows too few, to tell what is noise"
    X_kept, y_kept, _ = inner.clean()
    before = inner.estimator_
    after = clone(before).set_params(oob_score=False).fit(X_kept, y_kept)
    held_out = safe_indexing(X, test)
    reward = np.linalg.inv(T)
    observed = np.searchsorted(inner.classes_, y[test])
    rewards = [
        reward[observed, np.searchsorted(inner.classes_, model.predict(held_out))]
        for model in (before, after)
    ]
    return Gain(
        n_train=len(train),
        n_dropped=len(train) - len(y_kept),
        n_test=len(test),
        before=_mean(rewards[0]),
        after=_mean(rewards[1]),
        gain=_mean(rewards[1] - rewards[0]),
    )


def _split(
    y: NDArray[Any], random: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to train on and those held out; of each class at least one to train on."""
    rows = random.permutation(len(y))
    # The first row of each class, then any, so that a part has all classes too.
    first = np.sort(np.unique(y[rows], return_index=True)[1])
    rows = np.concatenate([rows[first], np.delete(rows, first)])[:_MOST_ROWS]
    n_test = min(int(_SHARE_HELD_OUT * len(rows)), len(rows) - len(first))
    return np.sort(rows[: len(rows) - n_test]), np.sort(rows[len(rows) - n_test :])


def _mean(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))

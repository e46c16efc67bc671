"""How much accuracy a model gains from cleaned labels, estimated without any clean label.

The rows are split into two halves. On each half, one model is trained on the rows as they are and
another on the rows after cleaning. Both predict the other half. The labels there are noisy too, but
the noise matrix T corrects for that: with R = T⁻¹, the mean of R[observed, predicted] has the
expectation

    Σ_j P(observed j | true i) R[j, k] = (T R)[i, k] = 1 if i = k else 0,

which is the accuracy on the true labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hardwood._core.far import take_rows
from hardwood._io.frames import Table
from hardwood.audit.cleaning import clean_by
from hardwood.noise.checks import Array

# More rows would take longer and hardly change the estimate.
_MAX_ROWS = 100_000
# In each half. Fewer rows do not even give a standard error.
_MIN_ROWS = 10
# T⁻¹ multiplies errors by up to the condition number.
_MAX_CONDITION = 1e3


@dataclass(frozen=True)
class Gain:
    """Accuracy of models trained on half of the rows, before and after cleaning.

    Attributes
    ----------
    n_rows : int
        Number of rows in both halves.
    n_dropped : int
        Number of rows that cleaning dropped or gave weight 0.
    before, after : (float, float)
        Estimated accuracy on true labels and its standard error, without and with cleaning.
    gain : (float, float)
        Mean of `after` − `before` over the rows, and its standard error. The error is at least half
        the difference between the halves, since one training run differs from another.
    """

    n_rows: int
    n_dropped: int
    before: tuple[float, float]
    after: tuple[float, float]
    gain: tuple[float, float]

    @property
    def is_significant(self) -> bool:
        """Whether the gain differs from 0 by at least two standard errors."""
        gain, error = self.gain
        return abs(gain) >= 2 * error and gain != 0


@dataclass(frozen=True)
class _Half:
    rows: NDArray[np.intp]
    issues: Table
    rewards: Array  # of predictions for the other half, by a model of these rows as they are


class Trial:
    """Two halves of the rows, audited once, to measure any way of cleaning.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : ndarray of shape (n_samples,)
        The labels as given.
    classes : ndarray of shape (n_classes,)
        The classes in ascending order.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        T, estimated from all rows.
    find_issues : callable
        ``find_issues(X, y)`` audits some rows and returns their table of issues. With `groups`, it
        gets those of the rows as a keyword, and so does the `fit` of the model.
    model : classifier
        Clones of it are trained.
    seed : int
        Seed of the split into halves.
    groups : ndarray of shape (n_samples,), default=None
        The groups of the rows. Rows of a group are in the same half.

    Attributes
    ----------
    obstacle : str or None
        Why the gain cannot be measured, if it cannot.
    """

    def __init__(
        self,
        X: Any,
        y: NDArray[Any],
        *,
        classes: NDArray[Any],
        noise_matrix: Array,
        find_issues: Callable[..., Table],
        model: Any,
        seed: int,
        groups: NDArray[Any] | None = None,
    ) -> None:
        halves = _halves(y, np.random.RandomState(seed), groups)
        self.obstacle = _obstacle(noise_matrix, [y[rows] for rows in halves])
        if self.obstacle:
            return
        self._X, self._y, self._classes, self._model = X, y, classes, model
        self._groups = groups
        self._reward = np.linalg.inv(noise_matrix)
        self._halves = []
        for rows, other in (halves, halves[::-1]):
            issues = find_issues(take_rows(X, rows), y[rows], **self._groups_of(rows))
            self._halves.append(_Half(rows, issues, self._rewards(rows, y[rows], None, other)))

    def gain(self, how: str) -> Gain | str:
        """Return what cleaning by "drop", "relabel" or "weight" gains, or the obstacle."""
        if self.obstacle:
            return self.obstacle
        n_dropped = 0
        before, after = [], []
        for half, other in (self._halves, self._halves[::-1]):
            rows, y, weight = clean_by(half.issues, half.rows, self._y[half.rows], how)
            n_dropped += len(half.rows) - len(y)
            n_dropped += 0 if weight is None else int(np.sum(weight == 0))
            before.append(half.rewards)
            after.append(self._rewards(rows, y, weight, other.rows))
        return Gain(
            n_rows=sum(map(len, before)),
            n_dropped=n_dropped,
            before=_mean(np.concatenate(before)),
            after=_mean(np.concatenate(after)),
            gain=_mean_by_halves([b - a for a, b in zip(before, after, strict=True)]),
        )

    def _rewards(
        self, rows: NDArray[np.intp], y: Any, weight: Any, others: NDArray[np.intp]
    ) -> Array:
        """Train on rows and predict others; a reward is 1 on average if right, 0 if wrong."""
        X, X_others = take_rows(self._X, rows), take_rows(self._X, others)
        model = clone(self._model).fit(X, y, weight, **self._groups_of(rows))
        observed, predicted = (
            np.searchsorted(self._classes, labels)
            for labels in (self._y[others], model.predict(X_others))
        )
        return np.asarray(self._reward[observed, predicted])

    def _groups_of(self, rows: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        return {} if self._groups is None else {"groups": self._groups[rows]}


def _obstacle(T: Array, labels: list[NDArray[Any]]) -> str | None:
    if not np.isfinite(T).all() or np.linalg.cond(T) > _MAX_CONDITION:
        return "the labels are too noisy, or the rows too few, to estimate the noise"
    if min(map(len, labels)) < _MIN_ROWS:
        return "there are too few rows to train on half of them"
    if min(len(np.unique(of_half)) for of_half in labels) < 2:
        return "half of the rows have labels of only one class"
    return None


def _halves(
    y: NDArray[Any], random: np.random.RandomState, groups: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the rows at random into two halves that share each class evenly.

    A group goes where its first row does.
    """
    if groups is not None:
        _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
        first, second = _halves(y[firsts], random)
        return np.flatnonzero(np.isin(members, first)), np.flatnonzero(np.isin(members, second))
    rows = random.permutation(len(y))[:_MAX_ROWS]
    rows = rows[np.argsort(y[rows], kind="stable")]
    return np.sort(rows[::2]), np.sort(rows[1::2])


def _mean(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _mean_by_halves(halves: list[Array]) -> tuple[float, float]:
    """Return the mean and its standard error, at least half the difference of the halves' means."""
    mean, error = _mean(np.concatenate(halves))
    first, second = (float(half.mean()) for half in halves)
    return mean, max(error, abs(first - second) / 2)

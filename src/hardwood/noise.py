"""Label noise: noise matrices, and labels corrupted by them.

A noise matrix ``T`` has one row per true class and one column per observed class:
``T[i, j]`` is the probability that a label of class ``i`` is observed as ``j``.
Its rows sum to 1.

Labels are whole numbers that index ``T``. Nothing here knows an estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["class_conditional", "corrupt", "pair_flip", "uniform"]

NoiseMatrix = npt.NDArray[np.float64]


def uniform(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise that moves a share of every class evenly to all others.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Share of the labels that is flipped, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``: ``1 - rate`` on the diagonal,
        ``rate / (n_classes - 1)`` elsewhere.

    Examples
    --------
    >>> from hardwood.noise import uniform
    >>> uniform(3, 0.5)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    _check_n_classes(n_classes)
    _check_rate("rate", rate)
    T = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return T


def class_conditional(rates: npt.ArrayLike) -> NoiseMatrix:
    """Return the noise of two classes that are flipped at different rates.

    Parameters
    ----------
    rates : array-like of shape (2,)
        ``rates[i]`` is the share of class ``i`` that is flipped, between 0 and 1.

    Returns
    -------
    ndarray of shape (2, 2)
        The noise matrix ``T``.

    Examples
    --------
    >>> from hardwood.noise import class_conditional
    >>> class_conditional([0.1, 0.3])
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    rates = np.asarray(rates, dtype=np.float64)
    if rates.shape != (2,):
        raise ValueError(
            f"rates must hold one flip rate for each of two classes, got shape {rates.shape}."
        )
    first, second = rates
    _check_rate("rates[0]", first)
    _check_rate("rates[1]", second)
    return np.array([[1 - first, first], [second, 1 - second]])


def pair_flip(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise that moves a share of every class to the next one.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Share of class ``i`` that is observed as class ``(i + 1) % n_classes``,
        between 0 and 1.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``.

    Examples
    --------
    >>> from hardwood.noise import pair_flip
    >>> pair_flip(3, 0.25)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    _check_n_classes(n_classes)
    _check_rate("rate", rate)
    stay = np.eye(n_classes)
    return (1 - rate) * stay + rate * np.roll(stay, 1, axis=1)


def corrupt(
    y: npt.ArrayLike,
    T: npt.ArrayLike,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_]]:
    """Replace each label by one drawn from its row of a noise matrix.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Whole-number labels that index ``T``. They are left as they are.
    T : array-like of shape (n_classes, n_classes)
        Noise matrix, ``T[i, j] = P(observed j | true i)``.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws; an int gives the same labels each time.

    Returns
    -------
    noisy_y : ndarray of shape (n_samples,)
        The observed labels, in the dtype of `y` (widened if that cannot hold every class).
    flipped_mask : ndarray of bool of shape (n_samples,)
        Where `noisy_y` differs from `y`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.noise import corrupt, uniform
    >>> y = np.repeat([0, 1], 500)
    >>> noisy_y, flipped = corrupt(y, uniform(2, 0.3), random_state=0)
    >>> bool(np.array_equal(flipped, noisy_y != y))
    True
    >>> round(float(flipped.mean()), 1)
    0.3
    """
    T = _checked_matrix(T)
    n_classes = len(T)
    y = _checked_labels(y, n_classes)

    # Inverse transform sampling, one class at a time. Dividing by the last sum makes it exactly 1,
    # so that rounding cannot give a label of probability zero.
    cumulative = np.cumsum(T, axis=1)
    cumulative /= cumulative[:, -1:]
    draws = _generator(random_state).random(len(y))
    holds_every_class = n_classes - 1 <= np.iinfo(y.dtype).max
    noisy_y = np.empty(len(y), dtype=y.dtype if holds_every_class else np.intp)
    for label in range(n_classes):
        rows = np.flatnonzero(y == label)
        noisy_y[rows] = np.searchsorted(cumulative[label], draws[rows], side="right")
    return noisy_y, noisy_y != y


def _check_n_classes(n_classes: int) -> None:
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}.")


def _check_rate(name: str, rate: float) -> None:
    if not 0 <= rate <= 1:  # true of NaN as well
        raise ValueError(f"{name} must be between 0 and 1, got {rate}.")


def _checked_matrix(T: npt.ArrayLike) -> NoiseMatrix:
    T = np.asarray(T, dtype=np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not T.size:
        raise ValueError(f"T must be a square matrix, got shape {T.shape}.")
    if not np.all((T >= 0) & (T <= 1)):
        raise ValueError("T must hold probabilities: an entry lies outside 0 to 1.")
    row_sums = T.sum(axis=1)
    if not np.allclose(row_sums, 1):
        row = int(np.argmax(np.abs(row_sums - 1)))
        raise ValueError(
            f"Each row of T must sum to 1 (T[i, j] is the probability of observing j where i is "
            f"true), but row {row} sums to {row_sums[row]:g}."
        )
    return T


def _checked_labels(y: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.integer[Any]]:
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}.")
    if y.dtype.kind not in "iu":
        raise ValueError(
            f"y must hold whole-number labels that index T, got dtype {y.dtype}; "
            f"np.unique(y, return_inverse=True) gives such labels."
        )
    if y.size and not 0 <= y.min() <= y.max() < n_classes:
        raise ValueError(
            f"T has {n_classes} classes, so labels must lie in 0 to {n_classes - 1}, "
            f"but y spans {y.min()} to {y.max()}."
        )
    return y


def _generator(
    random_state: int | np.random.Generator | np.random.RandomState | None,
) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)

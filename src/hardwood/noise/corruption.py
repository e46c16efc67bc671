"""Labels corrupted by noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hardwood.noise.matrices import check_matrix, check_probabilities


def corrupt(
    y: npt.ArrayLike,
    T: npt.ArrayLike,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_]]:
    """Replace each label by one drawn from a noise matrix, or from the label's own probabilities.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Integer labels that index ``T``. They are not modified.
    T : array-like of shape (n_classes, n_classes) or (n_samples, n_classes)
        Noise matrix, ``T[i, j] = P(observed j | true i)``; or one row per label, as
        `instance_dependent` returns them. A square `T` is always a noise matrix.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness. Pass an int for reproducible labels.

    Returns
    -------
    noisy_y : ndarray of shape (n_samples,)
        The observed labels, in the dtype of `y` (or a wider one if that cannot hold every class).
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
    T = np.asarray(T, dtype=np.float64)
    per_row = T.ndim == 2 and T.shape[0] != T.shape[1] and len(T) == np.size(y)
    T = check_probabilities(T, "T") if per_row else check_matrix(T)
    n_classes = T.shape[1]
    y = check_integers(y)
    if y.size and not 0 <= y.min() <= y.max() < n_classes:
        raise ValueError(
            f"y must hold labels from 0 to {n_classes - 1}, as T has {n_classes} classes, "
            f"but it spans {y.min()} to {y.max()}."
        )

    # Inverse transform sampling. Dividing by the last sum makes it exactly 1, so that rounding
    # cannot produce a label of probability zero.
    cumulative = np.cumsum(T, axis=1)
    cumulative /= cumulative[:, -1:]
    draws = _generator(random_state).random(len(y))
    holds_every_class = n_classes - 1 <= np.iinfo(y.dtype).max
    noisy_y = np.empty(len(y), dtype=y.dtype if holds_every_class else np.intp)
    if per_row:
        noisy_y[:] = (cumulative <= draws[:, np.newaxis]).sum(axis=1)
    else:
        for label in range(n_classes):
            rows = np.flatnonzero(y == label)
            noisy_y[rows] = np.searchsorted(cumulative[label], draws[rows], side="right")
    return noisy_y, noisy_y != y


def check_integers(y: npt.ArrayLike) -> npt.NDArray[np.integer[Any]]:
    """Return labels as an array of integers, or raise a ValueError."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}.")
    if y.dtype.kind not in "iu":
        raise ValueError(
            f"y must hold integer labels that index T, got dtype {y.dtype}; "
            "np.unique(y, return_inverse=True) returns such labels."
        )
    return y


def _generator(
    random_state: int | np.random.Generator | np.random.RandomState | None,
) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)

"""How likely the votes of each setting of a forest make the labels, on a coarse grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood.noise.checks import Array

# a. Each is exactly twice the one before the last, which the engine makes use of.
EXPONENTS = np.outer(2.0 ** np.arange(-1, 5), [1, np.sqrt(2)]).ravel()[:-1]
MIXED_IN = np.array([0, 0.02, 0.05, *np.arange(0.1, 0.51, 0.05), 0.6, 0.7, 0.8, 0.9])
# More numbers than this hardly change the likelihoods.
MAX_NUMBERS = 2_000_000


def vote_likelihoods(
    votes: NDArray[np.float32],
    n_votes: NDArray[np.int64],
    labels: NDArray[Any],
    weights: Array,
    n_threads: int = 1,
) -> Array:
    """Return for each setting of a forest the largest log-likelihood of a model with uniform noise.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_settings, n_classes)
        Sums of out-of-sample votes.
    n_votes : ndarray of shape (n_rows,)
        Numbers of votes.
    labels, weights : ndarray of shape (n_rows,)
        The observed labels, and weights of the rows.
    n_threads : int, default=1
        Number of threads.
    """
    n_rows, _, n_classes = votes.shape
    even = min(1.0, 1 / n_votes.mean())
    weights = weights / weights.max()
    n_effective = weights.sum() ** 2 / np.square(weights).sum()
    most = max(1, MAX_NUMBERS // n_classes)
    if n_rows > most:
        rows = np.random.default_rng(0).permutation(n_rows)[:most]
        votes, n_votes, labels, weights = votes[rows], n_votes[rows], labels[rows], weights[rows]
    weights = weights * (n_effective / weights.sum())
    likelihoods: Array = _engine.label_likelihoods(
        np.ascontiguousarray(votes),
        n_votes,
        labels.astype(np.uint16, copy=False),
        weights,
        EXPONENTS,
        MIXED_IN,
        even,
        n_threads,
    )
    return np.asarray(likelihoods.max(axis=(1, 2)))

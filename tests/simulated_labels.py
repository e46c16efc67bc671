"""Labels whose truth is known, for the tests of audits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.noise import corrupt

Array = NDArray[Any]


class Simulated(NamedTuple):
    """Rows of known P(true | x), and what is observed of them."""

    truth: Array  # P(true | x)
    proba: Array  # P(observed | x)
    true: Array
    observed: Array


def simulate(
    T: Array, n_rows: int, rng: np.random.Generator, overlap: float = 0.05, prior: Any = None
) -> Simulated:
    """Draw rows whose classes overlap in a share of them, and labels by the noise matrix."""
    n_classes = len(T)
    centre = rng.choice(n_classes, size=n_rows, p=prior)
    truth = rng.dirichlet(np.ones(n_classes), size=n_rows)
    truth[np.arange(n_rows), centre] += 2
    truth /= truth.sum(axis=1, keepdims=True)
    is_clear = rng.random(n_rows) > overlap
    truth[is_clear] = np.eye(n_classes)[centre[is_clear]]
    draws = rng.random((n_rows, 1))
    true = (np.cumsum(truth, axis=1) < draws).sum(axis=1).clip(0, n_classes - 1)
    observed, _ = corrupt(true, T, random_state=rng)
    return Simulated(truth, truth @ T, true, observed)


def blobs(n_rows: int, n_classes: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Classes far apart, and columns of no use."""
    y = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, 6))
    X[:, 0] += 4 * (y % 3)
    X[:, 1] += 4 * (y // 3)
    return X, y

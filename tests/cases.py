"""The criteria and the data sets that the tests run through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood import criteria
from hardwood.criteria import Credal, GeneralizedCrossEntropy, NegativeExponential, resolve

Array = NDArray[Any]

# The engine's criteria, by its records: a new one is in every test that runs through these lists.
NAMES = tuple(record.name for record in criteria.RECORDS.values() if record.class_name)

CRITERIA = [
    *(resolve(name) for name in NAMES),
    *(NegativeExponential(lam=lam) for lam in (0.0, 0.25, 0.75, 1.0)),
    # n^r with r = 1/(1-q) overflows a double for 0.999 and a few rows.
    *(GeneralizedCrossEntropy(q=q) for q in (0.0, 0.3, 0.95, 0.999, 1.0, 1.5)),
    *(Credal(s=s) for s in (0.5, 2.7)),
]


def with_classes(criteria: list[Any], *n_classes: int) -> list[tuple[Any, int]]:
    """Pair each criterion with each number of classes it is defined for."""
    return [(c, k) for c in criteria for k in n_classes if k == 2 or not c.two_classes_only]


class Data(NamedTuple):
    """Rows, their labels and, in some sets, their weights."""

    X: Array
    y: Array
    weight: Array | None = None


def noisy_labels(X: Array, n_classes: int, rng: np.random.Generator) -> Array:
    """Labels that the first two columns decide, three in ten of them replaced by any label."""
    score = np.nan_to_num(X[:, 0]).astype(float) - np.nan_to_num(X[:, 1])
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return np.where(rng.random(len(X)) < 0.3, rng.integers(0, n_classes, len(X)), y)


def ties(n_classes: int, rng: np.random.Generator) -> Data:
    X = rng.integers(0, [8, 5, 3, 2], (150, 4))
    return Data(X, noisy_labels(X, n_classes, rng))


def whole_weights(n_classes: int, rng: np.random.Generator) -> Data:
    X, y, _ = ties(n_classes, rng)
    return Data(X, y, rng.integers(0, 5, len(y)).astype(float))


def real_weights(n_classes: int, rng: np.random.Generator) -> Data:
    X, y, _ = ties(n_classes, rng)
    return Data(X, y, rng.exponential(size=len(y)) * (rng.random(len(y)) < 0.9))


def missing(n_classes: int, rng: np.random.Generator) -> Data:
    X = rng.integers(0, [8, 5, 3, 2], (150, 4)).astype(float)
    X[rng.random(X.shape) < [0.3, 0.1, 0.0, 0.3]] = np.nan
    return Data(X, noisy_labels(X, n_classes, rng))


def missing_and_weights(n_classes: int, rng: np.random.Generator) -> Data:
    X, y, _ = missing(n_classes, rng)
    return Data(X, y, rng.exponential(size=len(y)))


def continuous(n_classes: int, rng: np.random.Generator) -> Data:
    X = rng.normal(size=(150, 4))
    return Data(X, noisy_labels(X, n_classes, rng))


def many_rows_few_values(n_classes: int, rng: np.random.Generator) -> Data:
    """Large nodes of few codes, where the engine counts in histograms."""
    X = rng.integers(0, [250, 40, 3, 2], (3000, 4)).astype(np.float32)
    X[rng.random(X.shape) < [0.05, 0.0, 0.3, 0.0]] = np.nan
    return Data(X, noisy_labels(X, n_classes, rng))


def many_rows_many_values(n_classes: int, rng: np.random.Generator) -> Data:
    """Large nodes of many codes, two bytes wide."""
    X = rng.normal(size=(3000, 4))
    X[:, 3] = X[:, 3].round(1)
    return Data(X, noisy_labels(X, n_classes, rng), rng.integers(1, 4, 3000).astype(float))


def distinct(n_classes: int, rng: np.random.Generator) -> Data:
    """Values so many, and exact in scikit-learn's float32, that large nodes have no ties."""
    X = rng.normal(size=(2000, 4)).astype(np.float32)
    return Data(X, noisy_labels(X, n_classes, rng))


Maker = Callable[[int, np.random.Generator], Data]
SMALL: list[Maker] = [
    ties,
    whole_weights,
    real_weights,
    missing,
    missing_and_weights,
    continuous,
]
LARGE: list[Maker] = [many_rows_few_values, many_rows_many_values]


def name_of(maker: Maker) -> str:
    """A test id."""
    return maker.__name__

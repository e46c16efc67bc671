"""Forests as accurate as scikit-learn's on clean labels, and more accurate on wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Array
from forests import EVERY_FOREST, TWIN

from hardwood import RobustForestClassifier, datasets, noise
from hardwood.criteria import NegativeExponential

Split = tuple[Array, Array, Array, Array]


def mushrooms() -> Split:
    data = datasets.load("mushrooms", "binary")
    return data.X_train, data.y_train, data.X_test, data.y_test


def blobs() -> Split:
    """Four classes that overlap a little, and as many features that tell nothing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 5000)
    centres = rng.normal(scale=1.5, size=(4, 6))
    X = np.hstack([centres[y] + rng.normal(size=(5000, 6)), rng.normal(size=(5000, 6))])
    X = X.astype(np.float32)
    return X[:2000], y[:2000], X[2000:], y[2000:]


def accuracy(forest: Any, split: Split, rate: float = 0.0, seeds: int = 2) -> float:
    """Test accuracy in per cent, after training on labels of which this share was changed."""
    X_train, y_train, X_test, y_test = split
    T = noise.uniform(len(np.unique(y_train)), rate)
    scores = []
    for seed in range(seeds):
        y, _ = noise.corrupt(y_train, T, random_state=seed)
        scores.append(forest.set_params(random_state=seed).fit(X_train, y).score(X_test, y_test))
    return 100 * float(np.mean(scores))


# --- as good as scikit-learn ---------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize(
    ("task", "rate"),
    [(mushrooms, 0.0), (blobs, 0.0), (blobs, 0.3)],
    ids=["mushrooms", "blobs", "noisy blobs"],
)
def test_gini_is_as_accurate_as_scikit_learn(
    cls: Any, bootstrap: bool, task: Any, rate: float
) -> None:
    """Not on Mushrooms' wrong labels: see below."""
    split = task()
    ours, theirs = (
        accuracy(kind(30, criterion="gini", bootstrap=bootstrap), split, rate)
        for kind in (cls, TWIN[cls])
    )
    assert ours > theirs - 1


@EVERY_FOREST
def test_a_forest_beats_its_trees(cls: Any) -> None:
    split = blobs()
    one, many = (accuracy(cls(n, criterion="gini"), split) for n in (1, 60))
    assert many > one + 5


# --- robust --------------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [True, False])
def test_robust_criteria_on_wrong_labels(cls: Any, bootstrap: bool) -> None:
    """Mushrooms with 30 % of its labels changed: Gini learns them, the conservative do not."""
    gini, zero_one, ne = (
        accuracy(cls(30, criterion=criterion, bootstrap=bootstrap), mushrooms(), 0.3)
        for criterion in ("gini", "misclassification", NegativeExponential(lam=0.75))
    )
    assert min(zero_one, ne) > gini + 5
    assert min(zero_one, ne) > 95


def test_gini_on_wrong_labels() -> None:
    """An independent implementation's figure; the paper has 75.9 %.

    scikit-learn has 87 %: it counts features that are constant in a node among those it looks
    at, so there it often takes the first that varies.
    """
    forest = RobustForestClassifier(60, criterion="gini", bootstrap=False)
    assert accuracy(forest, mushrooms(), 0.3) == pytest.approx(75.1, abs=2)


# --- the large data sets -------------------------------------------------------------------------


@pytest.mark.slow
@EVERY_FOREST
@pytest.mark.parametrize("name", ["covertype", "unsw_nb15", "mnist"])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_large_data(cls: Any, name: str, rate: float, data_home: Path) -> None:
    data = datasets.load(name, data_home=data_home)
    n = 60_000
    split = data.X_train[:n], data.y_train[:n], data.X_test[:50_000], data.y_test[:50_000]
    ours, theirs = (
        accuracy(kind(20, criterion="gini", n_jobs=2), split, rate, seeds=2)
        for kind in (cls, TWIN[cls])
    )
    assert ours >= theirs - 0.3

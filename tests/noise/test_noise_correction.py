"""Confident rows, and decisions that allow for label noise."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Array
from numpy.testing import assert_allclose, assert_array_equal

from hardwood.noise import class_conditional, corrupt, uniform
from hardwood.noise.correction import (
    AS_IS,
    Unmixed,
    confident_labels,
    confident_rows,
    mixing_matrix,
)

CC2 = class_conditional([0.2, 0.4])


# --- confident rows ------------------------------------------------------------------------------


def test_rows_that_tie_are_confident_together(rng: np.random.Generator) -> None:
    p = rng.integers(0, 3, 4000) / 2
    low, high = confident_rows(np.column_stack([1 - p, p]))
    assert_array_equal(np.sort(low), np.flatnonzero(p == 0))
    assert_array_equal(np.sort(high), np.flatnonzero(p == 1))


def test_confident_rows_are_the_top_of_each_class(rng: np.random.Generator) -> None:
    scores = rng.dirichlet(np.ones(4), size=2000)
    predicted = scores.argmax(axis=1)
    for k, rows in enumerate(confident_rows(scores)):
        of_class = np.flatnonzero(predicted == k)
        n_in = int(np.ceil(0.3 * len(of_class)))
        expected = of_class[np.argsort(-scores[of_class, k])[:n_in]]
        assert_array_equal(np.sort(rows), np.sort(expected))


def told(T: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Scores that know the true class, and labels by the noise matrix."""
    n_classes = len(T)
    true = rng.integers(0, n_classes, 20_000)
    scores = rng.dirichlet(np.ones(n_classes), size=20_000)
    scores[np.arange(20_000), true] += 2
    return scores / 3, corrupt(true, T, random_state=0)[0]


@pytest.mark.parametrize("T", [CC2, uniform(2, 0.3), uniform(4, 0.5)])
def test_confident_rows_keep_their_share_of_labels(T: Array, rng: np.random.Generator) -> None:
    kept = confident_labels(*told(T, rng), np.ones(20_000))
    assert kept is not None
    assert np.all(np.abs(kept.kept - np.diag(T)) < 4.5 * kept.error)
    assert np.all(kept.error < 0.02)
    assert np.all(np.abs(kept.slope) < 9 * kept.error)  # twice the error, of half the rows


def test_weights_count_as_copies(rng: np.random.Generator) -> None:
    p, labels = rng.random(3000), rng.integers(0, 2, 3000)
    scores = np.column_stack([1 - p, p])
    weights = rng.integers(1, 4, 3000).astype(float)
    kept = confident_labels(scores, labels, weights)
    assert kept is not None
    for k, rows in enumerate(confident_rows(scores)):
        copies = np.repeat(labels[rows], weights[rows].astype(int))
        assert kept.kept[k] == pytest.approx(np.mean(copies == k))


def test_the_share_falls_where_classes_overlap(rng: np.random.Generator) -> None:
    p = rng.random(20_000)
    labels = (rng.random(20_000) < p).astype(int)
    kept = confident_labels(np.column_stack([1 - p, p]), labels, np.ones(20_000))
    assert kept is not None
    assert_allclose(kept.slope, 0.075, atol=0.02)


def test_too_few_rows_say_nothing(rng: np.random.Generator) -> None:
    scores = rng.dirichlet(np.ones(2), size=40)
    assert confident_labels(scores, np.zeros(40, dtype=int), np.ones(40)) is None


# --- decisions -----------------------------------------------------------------------------------


def test_mixtures_are_unmixed(rng: np.random.Generator) -> None:
    M = class_conditional([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    p = rng.dirichlet(np.ones(3), size=100)
    assert_allclose(Unmixed(M).scores(p @ M), (1 - AS_IS) * p + AS_IS * p @ M)
    outside = Unmixed(M).scores(np.eye(3))
    assert_allclose(outside.sum(axis=1), 1)
    assert (outside >= 0).all()


def test_the_mixing_matrix_is_the_confident_rows_mean(rng: np.random.Generator) -> None:
    scores, weights = rng.dirichlet(np.full(3, 0.3), size=900), rng.exponential(size=900)
    M = mixing_matrix(scores, weights)
    assert M is not None
    for k, rows in enumerate(confident_rows(scores)):
        assert_allclose(M[k], (scores[rows] * weights[rows, None]).sum(0) / weights[rows].sum())
    assert mixing_matrix(np.tile([0.4, 0.3, 0.3], (900, 1)), weights) is None

"""The noise matrix that confident rows tell, and decisions that allow for it."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Array
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from simulated_labels import blobs
from sklearn.isotonic import IsotonicRegression

from hardwood import AdaptiveForestClassifier
from hardwood.noise import class_conditional, corrupt, uniform
from hardwood.noise.estimate import (
    Recalibrated,
    Unmixed,
    best_cut,
    confident_rows,
    estimate_noise,
    mixing_matrix,
    noise_rate,
)

CC2 = class_conditional([0.2, 0.4])


# --- T -------------------------------------------------------------------------------------------


def test_confident_rows_of_two_classes_are_the_outermost(rng: np.random.Generator) -> None:
    p = rng.random(10_000)
    low, high = confident_rows(np.column_stack([1 - p, p]))
    assert_array_equal(np.sort(low), np.sort(np.argsort(p)[:500]))
    assert_array_equal(np.sort(high), np.sort(np.argsort(p)[-500:]))
    assert p[high[0]] == p.max()
    few = confident_rows(np.column_stack([1 - p, p])[:2000])
    assert [len(rows) for rows in few] == [300, 300]
    fewer = confident_rows(np.column_stack([1 - p, p])[:100])
    assert [len(rows) for rows in fewer] == [25, 25]


def test_rows_that_tie_are_confident_together(rng: np.random.Generator) -> None:
    p = rng.integers(0, 3, 4000) / 2
    low, high = confident_rows(np.column_stack([1 - p, p]))
    assert_array_equal(np.sort(low), np.flatnonzero(p == 0))
    assert_array_equal(np.sort(high), np.flatnonzero(p == 1))


def test_confident_rows_of_more_classes_are_the_top_of_each(rng: np.random.Generator) -> None:
    scores = rng.dirichlet(np.ones(4), size=2000)
    predicted = scores.argmax(axis=1)
    for k, rows in enumerate(confident_rows(scores)):
        of_class = np.flatnonzero(predicted == k)
        n_in = int(np.ceil(0.3 * len(of_class)))
        expected = of_class[np.argsort(-scores[of_class, k])[:n_in]]
        assert_array_equal(np.sort(rows), np.sort(expected))


@pytest.mark.parametrize("T", [CC2, uniform(2, 0.3), uniform(4, 0.5)])
def test_confident_rows_tell_the_noise_matrix(T: Array, rng: np.random.Generator) -> None:
    n_classes = len(T)
    true = rng.integers(0, n_classes, 20_000)
    scores = rng.dirichlet(np.ones(n_classes), size=20_000)
    scores[np.arange(20_000), true] += 2
    labels, _ = corrupt(true, T, random_state=0)
    estimate = estimate_noise(scores / 3, labels, np.ones(20_000))
    assert estimate is not None
    assert np.all(np.abs(estimate.matrix - T) < 4.5 * estimate.error)
    assert np.all(estimate.error < 0.02)
    assert_allclose(estimate.matrix.sum(axis=1), 1)
    assert noise_rate(estimate.matrix, labels, np.ones(20_000)) == pytest.approx(
        np.mean(labels != true), abs=0.02
    )


def test_weights_count_as_copies(rng: np.random.Generator) -> None:
    p, labels = rng.random(3000), rng.integers(0, 2, 3000)
    scores = np.column_stack([1 - p, p])
    weights = rng.integers(1, 4, 3000).astype(float)
    estimate = estimate_noise(scores, labels, weights)
    assert estimate is not None
    for k, rows in enumerate(confident_rows(scores)):
        copies = np.repeat(labels[rows], weights[rows].astype(int))
        assert_allclose(estimate.matrix[k], np.bincount(copies, minlength=2) / len(copies))


def test_too_few_rows_tell_nothing(rng: np.random.Generator) -> None:
    scores = rng.dirichlet(np.ones(2), size=40)
    assert estimate_noise(scores, np.zeros(40, dtype=int), np.ones(40)) is None


# --- decisions -----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 3)), min_size=1),
    st.floats(0.05, 0.95),
)
def test_best_cut_is_the_best_of_all(rows: list[tuple[int, bool, int]], level: float) -> None:
    score, labels, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))

    def worth(cut: float) -> float:
        return float(np.sum((weights * (labels - level))[score > cut]))

    cut = best_cut(score, labels, weights, level)
    every = [-np.inf, *(np.unique(score) + 0.5)]
    assert worth(cut) == pytest.approx(max(map(worth, every)), abs=1e-9)


def test_the_cut_is_where_the_calibration_crosses_the_level(rng: np.random.Generator) -> None:
    score = rng.random(4000)
    labels = (rng.random(4000) < 0.2 + 0.6 * score).astype(int)
    level = 0.57
    cut = best_cut(score, labels, np.ones(4000), level)
    q = IsotonicRegression().fit(score, labels)
    assert q.predict(score[score < cut]).max() <= level <= q.predict(score[score > cut]).min()


@pytest.mark.parametrize("T", [CC2, class_conditional([0.35, 0.05])])
def test_the_cut_maximises_the_corrected_accuracy(T: Array, rng: np.random.Generator) -> None:
    score = rng.random(500)
    labels = (rng.random(500) < score).astype(int)
    reward = np.linalg.inv(T)

    def corrected(cut: float) -> float:
        return float(reward[labels, (score > cut).astype(int)].mean())

    cut = best_cut(score, labels, np.ones(500), (T[0, 1] + T[1, 1]) / 2)
    assert corrected(cut) == pytest.approx(max(corrected(c) for c in [-1, *score]))


def test_probabilities_of_the_true_class_of_two(rng: np.random.Generator) -> None:
    score = rng.random(3000)
    labels = (rng.random(3000) < 0.2 + 0.4 * score).astype(int)
    scores = np.column_stack([1 - score, score])
    correction = Recalibrated.of(scores, labels, np.ones(3000), CC2)
    q = IsotonicRegression(out_of_bounds="clip").fit(score, labels).predict(score)
    p = np.clip((q - 0.2) / (0.6 - 0.2), 0, 1)
    assert_allclose(correction.probabilities(scores), np.column_stack([1 - p, p]))
    assert len(correction.score) < 200  # its knots alone are kept


def test_mixtures_are_unmixed(rng: np.random.Generator) -> None:
    M = class_conditional([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    p = rng.dirichlet(np.ones(3), size=100)
    assert_allclose(Unmixed(M).probabilities(p @ M), p)
    outside = Unmixed(M).probabilities(np.eye(3))
    assert_allclose(outside.sum(axis=1), 1)
    assert (outside >= 0).all()


def test_the_mixing_matrix_is_the_confident_rows_mean(rng: np.random.Generator) -> None:
    scores, weights = rng.dirichlet(np.full(3, 0.3), size=900), rng.exponential(size=900)
    M = mixing_matrix(scores, weights)
    assert M is not None
    for k, rows in enumerate(confident_rows(scores)):
        assert_allclose(M[k], (scores[rows] * weights[rows, None]).sum(0) / weights[rows].sum())
    assert mixing_matrix(np.tile([0.4, 0.3, 0.3], (900, 1)), weights) is None


# --- the forest ----------------------------------------------------------------------------------


def test_asymmetric_noise_is_corrected(rng: np.random.Generator) -> None:
    X, y = blobs(4000, 2, rng)
    noisy, _ = corrupt(y, class_conditional([0.05, 0.45]), random_state=0)
    forest = AdaptiveForestClassifier(30, random_state=0).fit(X[:2000], noisy[:2000])
    assert forest.decision_ == "corrected"
    assert "gains" in forest.decision_reason_
    assert_allclose(forest.noise_matrix_, class_conditional([0.05, 0.45]), atol=0.1)
    assert forest.noise_rate_ == pytest.approx(0.25, abs=0.05)
    assert forest.score(X[2000:], y[2000:]) > 0.93
    proba = forest.predict_proba(X[2000:])
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(forest.classes_[proba.argmax(axis=1)], forest.predict(X[2000:]))
    assert forest.adaptation_["corrected_score"].notna().all()
    with pytest.raises(ValueError, match="corrected for label noise"):
        forest.to_sklearn()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_symmetric_noise_is_left_alone(n_classes: int, rate: float, seed: int) -> None:
    X, y = blobs(1500, n_classes, np.random.default_rng(seed))
    noisy, _ = corrupt(y, uniform(n_classes, rate), random_state=seed)
    forest = AdaptiveForestClassifier(30, random_state=seed).fit(X, noisy)
    assert forest.decision_ == "plain"
    assert forest.decision_reason_
    assert forest.noise_rate_ == pytest.approx(rate, abs=0.06)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_known_matrix_is_used_as_it_is(n_classes: int, rng: np.random.Generator) -> None:
    X, y = blobs(1000, n_classes, rng)
    T = uniform(n_classes, 0.2)
    T[1] = np.r_[0.45, 0.55, np.zeros(n_classes - 2)]
    noisy, _ = corrupt(y, T, random_state=0)
    forest = AdaptiveForestClassifier(20, noise_matrix=T, random_state=0).fit(X, noisy)
    assert_array_equal(forest.noise_matrix_, T)
    assert forest.decision_ == "corrected"
    assert "known" in forest.decision_reason_
    assert forest.score(X, y) > 0.9


def test_class_weight_leaves_the_decision_plain(rng: np.random.Generator) -> None:
    X, y = blobs(2000, 2, rng)
    noisy, _ = corrupt(y, class_conditional([0.05, 0.45]), random_state=0)
    forest = AdaptiveForestClassifier(15, class_weight="balanced", random_state=0).fit(X, noisy)
    assert forest.decision_ == "plain"
    assert "class_weight" in forest.decision_reason_

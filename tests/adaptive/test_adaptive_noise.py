"""Forests that find out about the noise, and correct their decisions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from simulated_labels import blobs

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
from hardwood.noise import class_conditional, corrupt, uniform


def test_different_rates_are_found_on_average() -> None:
    T = class_conditional([0.05, 0.45])
    rates = []
    for seed in range(4):
        X, y = blobs(2000, 2, np.random.default_rng(seed))
        noisy, flipped = corrupt(y, T, random_state=seed)
        forest = AdaptiveForestClassifier(60, random_state=0).fit(X, noisy)
        rates.append(forest.noise_rate_ - flipped.mean())
    assert np.mean(rates) == pytest.approx(0, abs=0.03)


def test_asymmetric_noise_is_corrected(rng: np.random.Generator) -> None:
    X, y = blobs(4000, 2, rng)
    noisy, _ = corrupt(y, class_conditional([0.05, 0.45]), random_state=0)
    forest = AdaptiveForestClassifier(60, random_state=0).fit(X[:2000], noisy[:2000])
    assert forest.decision_ == "corrected"
    assert "times as likely" in forest.decision_reason_
    assert_allclose(forest.noise_matrix_, class_conditional([0.05, 0.45]), atol=0.1)
    assert forest.score(X[2000:], y[2000:]) > 0.93
    proba = forest.predict_proba(X[2000:])
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(forest.classes_[proba.argmax(axis=1)], forest.predict(X[2000:]))
    # The trees alone know nothing of the correction.
    votes = forest.predict_proba(X[2000:], noisy=True)
    assert_allclose(forest.to_sklearn().predict_proba(X[2000:]), votes, atol=0.02)
    assert np.any(votes.argmax(axis=1) != proba.argmax(axis=1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_symmetric_noise_is_left_alone(n_classes: int, rate: float, seed: int) -> None:
    X, y = blobs(1500, n_classes, np.random.default_rng(seed))
    noisy, _ = corrupt(y, uniform(n_classes, rate), random_state=seed)
    forest = AdaptiveForestClassifier(60, random_state=seed).fit(X, noisy)
    assert forest.decision_ == "plain"
    assert forest.decision_reason_
    assert forest.noise_rate_ == pytest.approx(rate, abs=0.06)


@pytest.mark.parametrize(
    ("rate", "reason"),
    [(0.0, "few labels look wrong"), (0.45, "labels this noisy"), (0.3, "no clear evidence")],
)
def test_the_reason_not_to_correct_is_in_words(rate: float, reason: str) -> None:
    X, y = blobs(1500, 2, np.random.default_rng(0))
    noisy, _ = corrupt(y, uniform(2, rate), random_state=0)
    forest = AdaptiveForestClassifier(60, random_state=0).fit(X, noisy)
    assert forest.decision_reason_.startswith(reason)
    assert "inf" not in forest.decision_reason_


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_known_matrix_is_used_as_it_is(n_classes: int, rng: np.random.Generator) -> None:
    X, y = blobs(1000, n_classes, rng)
    T = uniform(n_classes, 0.2)
    T[1] = np.r_[0.45, 0.55, np.zeros(n_classes - 2)]
    noisy, _ = corrupt(y, T, random_state=0)
    forest = AdaptiveForestClassifier(40, noise_matrix=T, random_state=0).fit(X, noisy)
    assert_array_equal(forest.noise_matrix_, T)
    assert forest.decision_ == "corrected"
    assert "known" in forest.decision_reason_
    assert forest.score(X, y) > 0.9


def test_class_weight_leaves_the_decision_plain(rng: np.random.Generator) -> None:
    X, y = blobs(2000, 2, rng)
    noisy, _ = corrupt(y, class_conditional([0.05, 0.45]), random_state=0)
    forest = AdaptiveForestClassifier(30, class_weight="balanced", random_state=0).fit(X, noisy)
    assert forest.decision_ == "plain"
    assert "class_weight" in forest.decision_reason_


# Rows of a class with large weights are in nearly every bag.
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("oob_score", [True, False])
@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_class_weight_is_not_taken_for_noise(
    rate: float, oob_score: bool, rng: np.random.Generator
) -> None:
    X = rng.normal(size=(2000, 4))
    rare = (X[:, 0] + rng.normal(size=2000) / 3 > 1.8).astype(int)
    noisy, _ = corrupt(rare, uniform(2, rate), random_state=0)
    forest = AdaptiveForestClassifier(
        60, class_weight="balanced", oob_score=oob_score, random_state=0
    ).fit(X, noisy)
    assert 0 <= forest.noise_rate_ < rate + 0.05


@pytest.mark.parametrize("full_data", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_forest_and_audit_show_the_same_figures(
    n_classes: int, full_data: bool, rng: np.random.Generator
) -> None:
    X, y = blobs(1200, n_classes, rng)
    noisy, _ = corrupt(y, uniform(n_classes, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(200, full_data=full_data, oob_score=True, random_state=0)
    audit = LabelAudit(forest.fit(X, noisy)).fit(X, noisy)
    assert_array_equal(audit.noise_matrix_, forest.noise_matrix_)
    assert audit.noise_rate_ == forest.noise_rate_
    # Without votes on every row, the estimate rests on nearly the same rows.
    alone = AdaptiveForestClassifier(200, full_data=full_data, random_state=0).fit(X, noisy)
    assert_allclose(alone.noise_matrix_, forest.noise_matrix_, atol=0.01)
    assert alone.noise_rate_ == pytest.approx(forest.noise_rate_, abs=0.01)

"""Detectors: their formulas by hand, Bayes' rule, and that they find wrong labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from simulated_labels import simulate
from sklearn.metrics import average_precision_score

from hardwood.audit import DETECTORS
from hardwood.audit.detectors import DEFAULT, Evidence
from hardwood.audit.detectors.evidence import LEAST_EXPONENT
from hardwood.noise import pair_flip, uniform
from hardwood.noise.estimation import NoiseModel, fit_noise_model
from hardwood.noise.truth import odds_of_error, posterior

PROBA = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])
LABELS = np.array([0, 1, 0, 1])


def evidence(model: NoiseModel | None = None) -> Evidence:
    return Evidence(LABELS, PROBA, model or NoiseModel(uniform(3, 0.2), 1.0, np.zeros(3)))


def test_self_confidence() -> None:
    assert_allclose(DETECTORS["self_confidence"](evidence()), [0.3, 0.7, 0.9, 0.6])


def test_margin() -> None:
    assert_allclose(DETECTORS["margin"](evidence()), [0.25, 0.55, 0.85, 0.55])


def test_disagreement() -> None:
    assert_allclose(DETECTORS["disagreement"](evidence()), [0.15, 0.7, 0.9, 0.75])


def test_confident_joint() -> None:
    # Thresholds: class 0 (0.7 + 0.1)/2 = 0.4, class 1 (0.3 + 0.4)/2 = 0.35, class 2 none: 0.
    # Row 0 counts as 0; row 1 reaches class 2 alone; row 2 class 2; row 3 class 0.
    assert_allclose(DETECTORS["confident_joint"](evidence()), [0.15, 0.85, 0.95, 0.8])


def test_posterior_is_bayes_rule() -> None:
    T = pair_flip(3, 0.3)
    model = NoiseModel(T, 1.0, np.array([0.2, 0.0, -0.2]))
    expected = []
    for s, label in zip(PROBA, LABELS, strict=True):
        p = (((s + 0.02 / 3) / 1.02) * np.exp(model.offset)) ** LEAST_EXPONENT
        joint = p * T[:, label]
        odds = (joint.sum() - joint[label]) / joint[label]
        others = [s[k] for k in range(3) if k != label]
        expected.append(odds ** (max(others) / sum(others)) if odds > 1 else odds)
    assert max(expected) > 1 > min(expected)
    assert_allclose(DETECTORS["posterior"](evidence(model)), expected)


def test_scattered_votes_accuse_less_than_votes_that_agree() -> None:
    model = NoiseModel(uniform(4, 0.3), 1.0, np.zeros(4))
    proba = np.array([[0.1, 0.8, 0.1, 0.0], [0.01, 0.33, 0.33, 0.33]])
    labels = np.array([0, 0])
    odds = odds_of_error(model.truth(proba, LEAST_EXPONENT), model.T, labels)
    assert odds[1] > odds[0] > 1  # which is why the odds alone would not do
    agreed, scattered = DETECTORS["posterior"](Evidence(labels, proba, model))
    assert agreed > scattered > 1
    certain = Evidence(labels[:1], np.eye(4)[:1], model)
    assert 0 < DETECTORS["posterior"](certain)[0] < 1


def test_two_classes_cannot_be_scattered(rng: np.random.Generator) -> None:
    proba = rng.dirichlet([0.5, 0.5], size=200)
    labels = rng.integers(0, 2, 200)
    model = NoiseModel(np.array([[0.9, 0.1], [0.3, 0.7]]), 2.0, np.array([0.1, -0.1]))
    odds = odds_of_error(model.truth(proba, LEAST_EXPONENT), model.T, labels)
    assert np.array_equal(DETECTORS["posterior"](Evidence(labels, proba, model)), odds)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_posterior_and_odds_agree(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(n_classes), size=20)
    T = rng.dirichlet(np.ones(n_classes), size=n_classes)
    labels = rng.integers(0, n_classes, 20)
    given_label = posterior(truth, T, labels)
    assert_allclose(given_label.sum(axis=1), 1)
    right = given_label[np.arange(20), labels]
    assert_allclose(odds_of_error(truth, T, labels), (1 - right) / right, rtol=1e-6)


def test_an_impossible_label_says_nothing() -> None:
    truth, T = np.array([[1.0, 0.0], [0.5, 0.5]]), np.eye(2)
    assert_allclose(posterior(truth, T, np.array([1, 1])), [[1, 0], [0, 1]])
    T_without_1 = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert_allclose(posterior(truth, T_without_1, np.array([1, 1])), truth)
    assert_allclose(odds_of_error(truth, T_without_1, np.array([0, 1])), [0, 1])


def test_sharpening_leaves_the_borders_where_they_are(rng: np.random.Generator) -> None:
    model = NoiseModel(uniform(4, 0.2), 1.5, rng.normal(size=4))
    s = rng.dirichlet(np.ones(4), size=500)
    soft, sharp = model.truth(s), model.truth(s, 6.0)
    assert np.array_equal(soft.argmax(axis=1), sharp.argmax(axis=1))
    assert np.all(sharp.max(axis=1) >= soft.max(axis=1))
    assert_allclose(model.truth(s, 1.0), soft)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("T", [uniform(3, 0.2), pair_flip(3, 0.3)], ids=["uniform", "pairs"])
def test_wrong_labels_come_first(name: str, T, rng: np.random.Generator) -> None:
    data = simulate(T, 3000, rng)
    model = fit_noise_model(data.proba, data.observed)
    suspicion = DETECTORS[name](Evidence(data.observed, data.proba, model))
    assert average_precision_score(data.observed != data.true, suspicion) > 0.85


def test_the_default_knows_which_classes_are_confused(rng: np.random.Generator) -> None:
    data = simulate(pair_flip(4, 0.3), 5000, rng, overlap=0.6)
    seen = Evidence(data.observed, data.proba, fit_noise_model(data.proba, data.observed))
    wrong = data.observed != data.true
    found = {
        name: average_precision_score(wrong, DETECTORS[name](seen))
        for name in (DEFAULT, "self_confidence", "margin")
    }
    assert found[DEFAULT] > max(found["self_confidence"], found["margin"]) + 0.03

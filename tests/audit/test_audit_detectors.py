"""Detectors: their formulas by hand, Bayes' rule, and that they find wrong labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from simulated_labels import simulate
from sklearn.metrics import average_precision_score

from hardwood.audit import DETECTORS
from hardwood.audit.detectors import DEFAULT, Evidence
from hardwood.noise import pair_flip, uniform
from hardwood.noise.label_model import _MIXED_IN, LabelModel, fit_label_model
from hardwood.noise.sharpening import EXPONENTS, Sharpening
from hardwood.noise.truth import posterior

PROBA = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])
LABELS = np.array([0, 1, 0, 1])


def evidence(T=None, *, learnt: float = 10.0) -> Evidence:
    squared = Sharpening(np.array([2.0]), np.zeros((1, 3)), np.ones(1), 0.02)
    T = uniform(3, 0.2) if T is None else T
    return Evidence(LABELS, PROBA, LabelModel(squared, T, (0.1, 0.3), 0.0, learnt))


def test_self_confidence() -> None:
    assert_allclose(DETECTORS["self_confidence"](evidence()), [0.3, 0.7, 0.9, 0.6])


def test_margin() -> None:
    assert_allclose(DETECTORS["margin"](evidence()), [0.25, 0.55, 0.85, 0.55])


def test_posterior_is_bayes_rule() -> None:
    T = pair_flip(3, 0.3)
    expected = []
    for s, label in zip(PROBA, LABELS, strict=True):
        p = ((s + 0.02 / 3) / 1.02) ** 2
        joint = p * T[:, label]
        expected.append(joint[label] / joint.sum())
    assert max(expected) > 0.5 > min(expected)
    assert_allclose(-DETECTORS["posterior"](evidence(T)), expected)
    wrong = evidence(T).wrong
    assert_allclose(wrong, 1 - np.array(expected))
    assert evidence(T).noise_rate == wrong.mean()


def test_uniform_noise_is_averaged_over_all_rates() -> None:
    weights = np.zeros((len(EXPONENTS), len(_MIXED_IN)))
    chosen = {(1.0, 0.0): 0.3, (2.0, 0.2): 0.5, (4.0, 0.5): 0.2}
    expected = np.zeros(4)
    for (a, e), weight in chosen.items():
        place = np.flatnonzero(a == EXPONENTS)[0], np.argmin(np.abs(_MIXED_IN - e))
        weights[place] = weight
        p = ((PROBA + 0.02 / 3) / 1.02) ** a
        p /= p.sum(axis=1, keepdims=True)
        T = (1 - _MIXED_IN[place[1]]) * np.eye(3) + _MIXED_IN[place[1]] / 3
        expected += weight * posterior(p, T, LABELS)[np.arange(4), LABELS]
    model = replace(evidence().model, uniform_weights=weights)
    assert_allclose(model.right(PROBA, LABELS), expected)
    # If there is no noise, no label is wrong.
    weights = np.where(_MIXED_IN == 0, 1 / len(EXPONENTS), 0.0) * np.ones_like(weights)
    model = replace(model, uniform_weights=weights)
    assert_allclose(model.wrong(PROBA, LABELS), 0, atol=1e-12)


def test_the_interval_contains_the_rate() -> None:
    found = evidence()
    assert found.noise_rate > 0.3  # above what the model says
    assert found.noise_rate_interval == (0.1, found.noise_rate)


def test_where_nothing_is_learnt_the_rate_stays_within_the_interval() -> None:
    hopeless = evidence(learnt=0.0)
    assert hopeless.noise_rate == pytest.approx(0.3)
    assert hopeless.noise_rate_interval == pytest.approx((0.1, 0.3))
    assert np.array_equal(np.argsort(hopeless.wrong), np.argsort(evidence().wrong))


def test_an_impossible_label_says_nothing() -> None:
    truth, T = np.array([[1.0, 0.0], [0.5, 0.5]]), np.eye(2)
    assert_allclose(posterior(truth, T, np.array([1, 1])), [[1, 0], [0, 1]])
    T_without_1 = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert_allclose(posterior(truth, T_without_1, np.array([1, 1])), truth)


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("T", [uniform(3, 0.2), pair_flip(3, 0.3)], ids=["uniform", "pairs"])
def test_wrong_labels_come_first(name: str, T, rng: np.random.Generator) -> None:
    data = simulate(T, 3000, rng)
    model = fit_label_model(data.proba, data.observed, sure=0.25)
    suspicion = DETECTORS[name](Evidence(data.observed, data.proba, model))
    assert average_precision_score(data.observed != data.true, suspicion) > 0.85


def test_the_default_knows_which_classes_are_confused(rng: np.random.Generator) -> None:
    data = simulate(pair_flip(4, 0.3), 5000, rng, overlap=0.2)
    model = fit_label_model(data.proba, data.observed, sure=0.25)
    seen = Evidence(data.observed, data.proba, model)
    wrong = data.observed != data.true
    found = {
        name: average_precision_score(wrong, DETECTORS[name](seen))
        for name in (DEFAULT, "self_confidence", "margin")
    }
    assert found[DEFAULT] > max(found["self_confidence"], found["margin"])
    assert found[DEFAULT] > 0.9

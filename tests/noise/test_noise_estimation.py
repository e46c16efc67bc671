"""The noise model: its likelihood, and the noise matrix and rate that it finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from simulated_labels import Array, simulate

from hardwood.noise import (
    class_conditional,
    corrupt,
    estimate_noise_matrix,
    pair_flip,
    uniform,
)
from hardwood.noise.estimation import (
    NoiseModel,
    _Likelihood,
    confident_matrix,
    fit_noise_model,
)

NOISES = [
    np.eye(3) * 0.999 + 0.001 / 3,
    uniform(2, 0.1),
    uniform(2, 0.35),
    uniform(5, 0.4),
    class_conditional([0.05, 0.4]),
    pair_flip(4, 0.3),
    class_conditional([[0.9, 0.1, 0.0], [0.3, 0.6, 0.1], [0.0, 0.05, 0.95]]),
]


@pytest.mark.parametrize("T", NOISES, ids=lambda T: f"{len(T)} classes, {1 - T[0, 0]:.2f}")
def test_the_noise_matrix_is_found(T: Array, rng: np.random.Generator) -> None:
    data = simulate(T, 6000, rng)
    found = estimate_noise_matrix(data.observed, data.proba)
    assert_allclose(found, T, atol=0.07)
    assert_allclose(found.sum(axis=1), 1)


def test_labels_drawn_from_the_model_tell_its_parameters(rng: np.random.Generator) -> None:
    T = class_conditional([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]])
    model = NoiseModel(T, 2.5, np.array([0.3, -0.3, 0.0]))
    s = rng.dirichlet(np.full(3, 0.7), size=60_000)
    p = model.truth(s)
    true = (np.cumsum(p, axis=1) < rng.random((len(p), 1))).sum(axis=1)
    observed, _ = corrupt(true, T, random_state=0)
    found = fit_noise_model(s, observed)
    assert found.exponent == pytest.approx(2.5, rel=0.1)
    assert_allclose(found.offset, model.offset, atol=0.1)
    assert_allclose(found.T, T, atol=0.03)


def test_the_gradient_is_right(rng: np.random.Generator) -> None:
    s, labels = rng.dirichlet(np.ones(3), size=200), rng.integers(0, 3, 200)
    likelihood = _Likelihood(s, labels, np.full((3, 3), 0.4), rng.exponential(size=200))
    for _ in range(3):
        at = rng.normal(size=1 + 3 + 9)
        error = check_grad(lambda x: likelihood.loss(x)[0], lambda x: likelihood.loss(x)[1], at)
        assert error < 1e-6


def test_the_likelihood_is_that_of_the_labels(rng: np.random.Generator) -> None:
    s, labels = rng.dirichlet(np.ones(3), size=50), rng.integers(0, 3, 50)
    model = NoiseModel(uniform(3, 0.2), 1.7, np.zeros(3))
    likelihood = _Likelihood(s, labels, np.zeros((3, 3)), np.ones(50))
    loss, _ = likelihood.loss(likelihood.packed(model))
    expected = 0.0
    for row, label in zip(s, labels, strict=True):
        p = ((row + 0.02 / 3) / 1.02) ** 1.7
        expected -= np.log(p @ model.T[:, label] / p.sum())
    assert loss == pytest.approx(expected / 50)


def test_a_class_without_rows_in_a_part_does_no_harm(rng: np.random.Generator) -> None:
    s = rng.dirichlet(np.ones(4), size=300)
    labels = rng.choice([0, 1, 3], size=300)
    found = fit_noise_model(s, labels)
    assert np.isfinite(found.T).all()


@given(st.integers(2, 6), st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_any_probabilities_give_a_noise_matrix(n_classes: int, n_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])
    proba = rng.dirichlet(np.full(n_classes, 0.1), size=len(labels))
    T = estimate_noise_matrix(labels, proba)
    assert np.all((T >= 0) & (T <= 1))
    assert_allclose(T.sum(axis=1), 1)


def test_renaming_the_classes_renames_the_matrix(rng: np.random.Generator) -> None:
    data = simulate(pair_flip(3, 0.2), 3000, rng)
    T = estimate_noise_matrix(data.observed, data.proba)
    order = np.array([2, 0, 1])
    renamed = np.argsort(order)[data.observed]
    assert_allclose(
        estimate_noise_matrix(renamed, data.proba[:, order]), T[order][:, order], atol=0.01
    )
    named = np.array(["c", "a", "b"])[data.observed]
    given_order = estimate_noise_matrix(named, data.proba, classes=["c", "a", "b"])
    assert_allclose(given_order, T, atol=1e-12)


def test_weights_count_as_copies(rng: np.random.Generator) -> None:
    data = simulate(class_conditional([0.1, 0.3]), 1500, rng)
    copies = rng.integers(1, 4, 1500)
    weighted = fit_noise_model(data.proba, data.observed, 7.0 * copies)
    # Copies are more rows, so the prior's one label for each class weighs less among them.
    proba, observed = np.repeat(data.proba, copies, axis=0), np.repeat(data.observed, copies)
    copied = fit_noise_model(proba, observed)
    assert_allclose(weighted.T, copied.T, atol=0.01)
    assert weighted.noise_rate(data.proba, data.observed, copies) == pytest.approx(
        copied.noise_rate(proba, observed), abs=0.01
    )


@pytest.mark.parametrize("T", [class_conditional([0.2, 0.4]), uniform(4, 0.5)])
def test_the_noise_rate_is_found(T: Array, rng: np.random.Generator) -> None:
    data = simulate(T, 10_000, rng, overlap=0)
    rate = fit_noise_model(data.proba, data.observed).noise_rate(data.proba, data.observed)
    assert rate == pytest.approx(np.mean(data.observed != data.true), abs=0.02)


def test_much_smoothed_probabilities_are_sharpened(rng: np.random.Generator) -> None:
    T = uniform(2, 0.4)
    true = rng.integers(0, 2, 5000)
    observed, _ = corrupt(true, T, random_state=0)
    p = 0.5 + (true - 0.5) * 0.1 + rng.normal(scale=0.01, size=5000)
    assert_allclose(estimate_noise_matrix(observed, np.column_stack([1 - p, p])), T, atol=0.05)


def test_the_start_is_what_the_surest_rows_tell(rng: np.random.Generator) -> None:
    true = rng.integers(0, 3, 9000)
    T = pair_flip(3, 0.3)
    observed, _ = corrupt(true, T, random_state=0)
    proba = np.eye(3)[true] * 0.6 + 0.4 * rng.dirichlet(np.ones(3), size=9000)
    assert_allclose(confident_matrix(proba, observed, np.ones(9000)), T, atol=0.05)
    never_predicted = confident_matrix(np.tile([1.0, 0, 0], (50, 1)), observed[:50], np.ones(50))
    assert_allclose(never_predicted[1:].diagonal(1), 0.8, atol=0.01)

"""The noise matrix that probabilities and labels show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from simulated_labels import Array, simulate

from hardwood.noise import (
    class_conditional,
    corrupt,
    estimate_noise_matrix,
    pair_flip,
    uniform,
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


def test_much_smoothed_probabilities_are_sharpened(rng: np.random.Generator) -> None:
    T = uniform(2, 0.4)
    true = rng.integers(0, 2, 5000)
    observed, _ = corrupt(true, T, random_state=0)
    p = 0.5 + (true - 0.5) * 0.1 + rng.normal(scale=0.01, size=5000)
    assert_allclose(estimate_noise_matrix(observed, np.column_stack([1 - p, p])), T, atol=0.05)

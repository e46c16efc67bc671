"""Noise matrices and the corruption of labels."""

import numpy as np
import pytest

from hardwood import noise

MATRICES = {
    "uniform": noise.uniform(4, 0.3),
    "class_conditional": noise.class_conditional([0.1, 0.3]),
    "pair_flip": noise.pair_flip(3, 0.4),
    "clean": noise.uniform(2, 0.0),
    "all_flipped": noise.uniform(2, 1.0),
}


@pytest.mark.parametrize("T", MATRICES.values(), ids=MATRICES)
def test_rows_are_probabilities(T):
    assert T.min() >= 0
    np.testing.assert_allclose(T.sum(axis=1), 1)


def test_uniform_spreads_the_rate_evenly():
    T = noise.uniform(4, 0.3)
    np.testing.assert_allclose(np.diag(T), 0.7)
    np.testing.assert_allclose(T[~np.eye(4, dtype=bool)], 0.1)


def test_class_conditional_rate_is_the_share_of_the_true_class():
    np.testing.assert_allclose(noise.class_conditional([0.1, 0.3]), [[0.9, 0.1], [0.3, 0.7]])


def test_pair_flip_moves_to_the_next_class():
    T = noise.pair_flip(3, 0.4)
    np.testing.assert_allclose([T[0, 1], T[1, 2], T[2, 0]], 0.4)
    assert np.count_nonzero(T) == 6


@pytest.mark.parametrize("T", MATRICES.values(), ids=MATRICES)
def test_corrupt_follows_the_matrix(T):
    n_classes = len(T)
    y = np.tile(np.arange(n_classes), 120_000 // n_classes)
    noisy_y, flipped = noise.corrupt(y, T, random_state=0)
    observed = np.zeros_like(T)
    np.add.at(observed, (y, noisy_y), n_classes / len(y))
    np.testing.assert_allclose(observed, T, atol=0.01)
    assert not observed[T == 0].any()
    np.testing.assert_array_equal(flipped, noisy_y != y)


def test_corrupt_is_reproducible_and_leaves_its_input_alone():
    y = np.tile([0, 1, 2], 100)
    y.flags.writeable = False
    before = y.copy()
    T = noise.uniform(3, 0.5)
    first, _ = noise.corrupt(y, T, random_state=7)
    again, _ = noise.corrupt(y, T, random_state=7)
    other, _ = noise.corrupt(y, T, random_state=8)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize(
    "random_state", [None, 0, np.random.default_rng(0), np.random.RandomState(0)]
)
def test_corrupt_takes_any_source_of_randomness(random_state):
    _, flipped = noise.corrupt(np.zeros(1000, int), noise.uniform(2, 0.5), random_state)
    assert 400 < flipped.sum() < 600


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64])
def test_corrupt_keeps_the_dtype(dtype):
    noisy_y, _ = noise.corrupt(np.array([0, 1, 2], dtype), noise.uniform(3, 0.5), random_state=0)
    assert noisy_y.dtype == dtype


def test_corrupt_widens_a_dtype_too_narrow_for_the_classes():
    noisy_y, _ = noise.corrupt(np.zeros(10_000, np.int8), noise.uniform(300, 0.99), random_state=0)
    assert noisy_y.min() >= 0
    assert noisy_y.max() > 127


def test_corrupt_takes_lists_and_no_labels_at_all():
    noisy_y, flipped = noise.corrupt([0, 1, 1], [[0, 1], [1, 0]])
    assert noisy_y.tolist() == [1, 0, 0]
    assert flipped.all()
    noisy_y, flipped = noise.corrupt(np.array([], int), noise.uniform(2, 0.3))
    assert len(noisy_y) == len(flipped) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noise.uniform(1, 0.1), "n_classes must be at least 2"),
        (lambda: noise.uniform(3, 1.1), "rate must be between 0 and 1"),
        (lambda: noise.uniform(3, float("nan")), "rate must be between 0 and 1"),
        (lambda: noise.pair_flip(1, 0.1), "n_classes must be at least 2"),
        (lambda: noise.pair_flip(3, -0.1), "rate must be between 0 and 1"),
        (lambda: noise.class_conditional([0.1]), "two classes"),
        (lambda: noise.class_conditional([0.1, 0.2, 0.3]), "two classes"),
        (lambda: noise.class_conditional([0.1, 1.2]), r"rates\[1\] must be between 0 and 1"),
    ],
)
def test_bad_rates_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("y", "T", "message"),
    [
        ([0, 1], [[1, 0]], "square"),
        ([0, 1], np.ones(2), "square"),
        ([0, 1], np.empty((0, 0)), "square"),
        ([0, 1], [[0.9, 0.2], [0, 1]], "row 0 sums to 1.1"),
        ([0, 1], [[1.5, -0.5], [0, 1]], "probabilities"),
        ([0, 1], [[np.nan, 1], [0, 1]], "probabilities"),
        ([0, 2], np.eye(2), "labels must lie in 0 to 1"),
        ([-1, 1], np.eye(2), "labels must lie in 0 to 1"),
        ([[0], [1]], np.eye(2), "one-dimensional"),
        ([0.0, 1.0], np.eye(2), "whole-number labels"),
        (["a", "b"], np.eye(2), "whole-number labels"),
    ],
)
def test_corrupt_refuses_what_does_not_fit(y, T, message):
    with pytest.raises(ValueError, match=message):
        noise.corrupt(y, T)

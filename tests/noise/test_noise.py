"""Noise matrices, what is told of them, and the corruption of labels."""

import numpy as np
import pytest

from hardwood import noise

MATRICES = {
    "uniform": noise.uniform(4, 0.3),
    "class_conditional": noise.class_conditional([0.1, 0.3]),
    "class_conditional_matrix": noise.class_conditional(
        [[0.8, 0.2, 0], [0, 1, 0], [0.1, 0.6, 0.3]]
    ),
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


def test_class_conditional_takes_a_whole_matrix_and_leaves_it_alone():
    given = np.array([[0.8, 0.2, 0], [0, 1, 0], [0.1, 0.6, 0.3]])
    T = noise.class_conditional(given)
    np.testing.assert_array_equal(T, given)
    assert not np.shares_memory(T, given)


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
    assert abs(flipped.mean() - noise.describe(T).rate) < 0.005


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


def test_corrupt_draws_each_label_from_its_own_row():
    y = np.tile([0, 1, 2], 40_000)
    mild, harsh = np.array([0.8, 0.2, 0.0]), np.array([0.0, 0.3, 0.7])
    probabilities = np.where(np.arange(len(y))[:, np.newaxis] % 2 == 0, mild, harsh)
    noisy_y, flipped = noise.corrupt(y, probabilities, random_state=0)
    for rows, expected in ((slice(0, None, 2), mild), (slice(1, None, 2), harsh)):
        shares = np.bincount(noisy_y[rows], minlength=3) / len(noisy_y[rows])
        np.testing.assert_allclose(shares, expected, atol=0.01)
        assert not shares[expected == 0].any()
    np.testing.assert_array_equal(flipped, noisy_y != y)


def test_a_matrix_and_its_rows_spelt_out_give_the_same_labels():
    y = np.tile([0, 1, 2], 100)
    T = noise.pair_flip(3, 0.4)
    by_matrix, _ = noise.corrupt(y, T, random_state=3)
    by_row, _ = noise.corrupt(y, T[y], random_state=3)
    np.testing.assert_array_equal(by_matrix, by_row)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noise.uniform(1, 0.1), "n_classes must be at least 2"),
        (lambda: noise.uniform(3, 1.1), "rate must be between 0 and 1"),
        (lambda: noise.uniform(3, float("nan")), "rate must be between 0 and 1"),
        (lambda: noise.pair_flip(1, 0.1), "n_classes must be at least 2"),
        (lambda: noise.pair_flip(3, -0.1), "rate must be between 0 and 1"),
        (lambda: noise.class_conditional([0.1]), "two flip rates"),
        (lambda: noise.class_conditional([0.1, 0.2, 0.3]), "two flip rates"),
        (lambda: noise.class_conditional([0.1, 1.2]), r"rates\[1\] must be between 0 and 1"),
        (lambda: noise.class_conditional([[0.9, 0.1]]), "rates must be a square matrix"),
        (lambda: noise.class_conditional([[0.9, 0.3], [0, 1]]), "rates must sum to 1"),
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
        ([0, 2], np.eye(2), "labels from 0 to 1"),
        ([-1, 1], np.eye(2), "labels from 0 to 1"),
        ([[0], [1]], np.eye(2), "one-dimensional"),
        ([0.0, 1.0], np.eye(2), "integer labels that index T"),
        (["a", "b"], np.eye(2), "integer labels that index T"),
        ([0, 1, 1], np.ones((3, 2)), "row 0 sums to 2"),
        ([0, 1, 2], np.full((3, 2), 0.5), "labels from 0 to 1"),
        ([0, 1, 1], np.full((4, 2), 0.5), "square"),
    ],
)
def test_corrupt_refuses_what_does_not_fit(y, T, message):
    with pytest.raises(ValueError, match=message):
        noise.corrupt(y, T)


def test_describe_weighs_the_classes():
    T = noise.class_conditional([0.1, 0.3])
    assert noise.describe(T).rate == pytest.approx(0.2)
    assert noise.describe(T, [3, 1]).rate == pytest.approx(0.15)
    assert noise.describe(T, [0, 0.5]).rate == pytest.approx(0.3)
    assert noise.describe(T).class_rates == pytest.approx((0.1, 0.3))


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_uniform_noise_is_tolerable_below_the_rate_of_the_theorem(n_classes):
    limit = (n_classes - 1) / n_classes
    assert noise.describe(noise.uniform(n_classes, limit - 0.01)).diagonal_is_largest
    assert not noise.describe(noise.uniform(n_classes, limit + 0.01)).diagonal_is_largest


def test_describe_names_the_rows_that_are_not_dominated_by_their_diagonal():
    summary = noise.describe([[0.4, 0.3, 0.3], [0.45, 0.45, 0.1], [0.1, 0.6, 0.3]])
    assert summary.outnumbered == (1, 2)  # a tie is not enough
    assert "not the largest in row(s) 1, 2" in str(summary)
    assert "61.7 % of the labels wrong (55.0 to 70.0 % by class)" in str(summary)
    assert "each diagonal entry is the largest of its row" in str(noise.describe(np.eye(3)))


@pytest.mark.parametrize(
    ("T", "frequencies", "message"),
    [
        (np.ones((2, 3)) / 3, None, "square"),
        (np.eye(2), [1, 2, 3], "each of the 2 classes"),
        (np.eye(2), [1, -1], "not negative"),
        (np.eye(2), [0, 0], "not all zero"),
        (np.eye(2), [np.nan, 1], "finite"),
    ],
)
def test_describe_refuses_what_does_not_fit(T, frequencies, message):
    with pytest.raises(ValueError, match=message):
        noise.describe(T, frequencies)

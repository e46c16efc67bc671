"""Noise that is made from the features: similar classes, and rows near a boundary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hardwood import datasets, noise


def classes_around(rng, means, n_rows=200):
    """Return rows of normal classes around the means, with features that go together."""
    means = np.asarray(means, dtype=np.float64)
    y = np.repeat(np.arange(len(means)), n_rows)
    mixing = rng.normal(size=(means.shape[1], means.shape[1]))
    return means[y] + rng.normal(size=(len(y), means.shape[1])) @ mixing, y


def algorithm_1(X, y, low=0.5, high=0.9):
    """Algorithm 1 of the paper, corrected, straight from its text."""
    n_classes = y.max() + 1
    distance = np.zeros((n_classes, n_classes))
    for i in range(n_classes):
        for j in range(n_classes):
            if i != j:
                within = [np.cov(X[y == k].T) * (np.sum(y == k) - 1) for k in (i, j)]
                S = sum(within) / (np.sum((y == i) | (y == j)) - 2)
                d = X[y == i].mean(axis=0) - X[y == j].mean(axis=0)
                distance[i, j] = np.sqrt(d @ np.linalg.inv(S) @ d)
    total = distance.sum(axis=1)
    diagonal = low + (high - low) * (total - total.min()) / (total.max() - total.min())
    T = np.diag(diagonal)
    for i in range(n_classes):
        others = np.arange(n_classes) != i
        T[i, others] = (
            (1 - diagonal[i]) * (1 / distance[i, others]) / (1 / distance[i, others]).sum()
        )
    return T


MEANS = [[0, 0, 0], [1, 0, 0], [0, 3, 1], [4, 4, 0]]


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.9), (0.2, 0.3), (0, 1)])
def test_mahalanobis_is_algorithm_1(rng, low, high):
    X, y = classes_around(rng, MEANS)
    np.testing.assert_allclose(
        noise.mahalanobis(X, y, low, high), algorithm_1(X, y, low, high), atol=1e-12
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(3, 6),
    n_features=st.integers(1, 5),
    bounds=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_mahalanobis_spans_the_bounds_exactly(seed, n_classes, n_features, bounds):
    rng = np.random.default_rng(seed)
    X, y = classes_around(rng, rng.normal(size=(n_classes, n_features)), n_rows=10)
    T = noise.mahalanobis(X, y, *bounds)
    assert [np.diag(T).min(), np.diag(T).max()] == bounds
    np.testing.assert_allclose(T.sum(axis=1), 1)
    assert T.min() >= 0


def test_mahalanobis_gives_two_classes_the_middle(rng):
    X, y = classes_around(rng, [[0, 0], [1, 2]])
    np.testing.assert_allclose(noise.mahalanobis(X, y), [[0.7, 0.3], [0.3, 0.7]])
    np.testing.assert_allclose(noise.mahalanobis(X, y, 0.4, 0.8), [[0.6, 0.4], [0.4, 0.6]])


def test_mahalanobis_does_not_depend_on_units_or_mixtures_of_features(rng):
    X, y = classes_around(rng, MEANS)
    mixed = X @ rng.normal(size=(3, 3)) * [1e-6, 1.0, 1e6] + [0, 1e3, 0]
    np.testing.assert_allclose(noise.mahalanobis(mixed, y), noise.mahalanobis(X, y), atol=1e-9)


def test_mahalanobis_passes_over_features_that_tell_nothing_new(rng):
    X, y = classes_around(rng, MEANS)
    constant = np.full(len(y), 0.1)  # whose mean is not exactly 0.1
    singular = np.column_stack([X, constant, X[:, 0] + X[:, 1], 1000 * X[:, 2]])
    np.testing.assert_allclose(noise.mahalanobis(singular, y), noise.mahalanobis(X, y), atol=1e-9)


def test_mahalanobis_has_fewer_rows_than_features(rng):
    X, y = classes_around(rng, rng.normal(size=(3, 40)), n_rows=5)
    T = noise.mahalanobis(X, y)
    assert np.isfinite(T).all()
    np.testing.assert_allclose(T.sum(axis=1), 1)


def test_mahalanobis_sends_labels_to_a_class_in_the_same_place(rng):
    X, y = classes_around(rng, [[0, 0], [5, 5]])
    X = np.vstack([X, X[y == 0]])  # class 2 has the rows of class 0
    T = noise.mahalanobis(X, np.append(y, np.full(200, 2)))
    np.testing.assert_allclose(T, [[0.5, 0, 0.5], [0.05, 0.9, 0.05], [0.5, 0, 0.5]])


def test_mahalanobis_of_constant_features_treats_all_classes_alike():
    T = noise.mahalanobis(np.ones((9, 2)), np.repeat([0, 1, 2], 3))
    np.testing.assert_allclose(T, noise.uniform(3, 0.3))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_mahalanobis_computes_in_full_precision(rng, dtype):
    X, y = classes_around(rng, np.multiply(MEANS, 10))
    stored = (X + 100).astype(dtype)
    np.testing.assert_allclose(
        noise.mahalanobis(stored, y.astype(np.uint8)), noise.mahalanobis(stored.astype(float), y)
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    highest=st.floats(0.01, 1),
    share=st.floats(0, 1),
    whole=st.booleans(),
)
def test_instance_dependent_rates_have_the_mean_asked_for(seed, n_classes, highest, share, whole):
    rng = np.random.default_rng(seed)
    X, y = classes_around(rng, 2 * rng.normal(size=(n_classes, 2)), n_rows=20)
    if whole:
        X = X.round()  # so that rows are equally far from a boundary
    rate = share * highest
    probabilities = noise.instance_dependent(X, y, rate, highest)
    assert probabilities.shape == (len(y), n_classes)
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    flip = 1 - probabilities[np.arange(len(y)), y]
    assert flip.mean() == pytest.approx(rate, abs=1e-12)
    assert flip.max() <= highest + 1e-12


def test_instance_dependent_noise_is_near_the_boundary(rng):
    X = np.append(rng.normal(-2, 1, 500), rng.normal(2, 1, 500))[:, np.newaxis]
    y = np.repeat([0, 1], 500)
    flip = noise.instance_dependent(X, y, 0.1)[np.arange(1000), 1 - y]
    middle = (X[y == 0].mean() + X[y == 1].mean()) / 2
    signed_distance = np.where(y == 1, X[:, 0] - middle, middle - X[:, 0])
    assert (np.diff(flip[np.argsort(signed_distance)]) <= 0).all()
    assert flip.max() == pytest.approx(0.5, abs=0.01)
    assert flip.min() == pytest.approx(0, abs=1e-9)


def test_instance_dependent_labels_go_to_the_class_next_to_them(rng):
    X, y = classes_around(rng, [[0.0], [4.0], [40.0]])
    probabilities = noise.instance_dependent(X, y, 0.2)
    assert (probabilities[y == 0, 1] > 1e3 * probabilities[y == 0, 2]).all()
    assert (probabilities[y == 2, 1] > probabilities[y == 2, 0]).all()


def test_up_to_a_half_every_row_keeps_its_label_as_the_likeliest(rng):
    X, y = classes_around(rng, MEANS)
    np.testing.assert_array_equal(noise.instance_dependent(X, y, 0.3).argmax(axis=1), y)


def test_instance_dependent_noise_does_not_depend_on_units(rng):
    X, y = classes_around(rng, MEANS)
    constant = np.full(len(y), 0.1)
    other = np.column_stack([X @ rng.normal(size=(3, 3)) * [1e-3, 1, 1e3], constant])
    np.testing.assert_allclose(
        noise.instance_dependent(other, y, 0.2), noise.instance_dependent(X, y, 0.2), atol=1e-6
    )


def test_instance_dependent_noise_of_constant_features_is_uniform():
    y = np.repeat([0, 1, 2], 3)
    probabilities = noise.instance_dependent(np.ones((9, 2)), y, 0.3)
    np.testing.assert_allclose(probabilities, noise.uniform(3, 0.3)[y])


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_corrupt_flips_the_share_that_was_asked_for(rng, rate):
    X, y = classes_around(rng, MEANS, n_rows=25_000)
    for T, expected in (
        (noise.instance_dependent(X, y, rate), rate),
        (noise.mahalanobis(X, y), noise.describe(noise.mahalanobis(X, y)).rate),
    ):
        _, flipped = noise.corrupt(y, T, random_state=0)
        assert abs(flipped.mean() - expected) < 0.005


X_SMALL, Y_SMALL = np.arange(8.0).reshape(4, 2), [0, 0, 1, 1]


@pytest.mark.parametrize(
    "make", [noise.mahalanobis, lambda X, y: noise.instance_dependent(X, y, 0.1)]
)
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X_SMALL, [0, 0, 1, 2], "class 1 has 1"),
        (X_SMALL, [0, 0, 2, 2], "class 1 has 0"),
        (X_SMALL, [0, 0, 0, 0], "at least two classes"),
        (X_SMALL, [-1, -1, 0, 0], "integer labels from 0"),
        (X_SMALL, ["a", "a", "b", "b"], "integer labels that index T"),
        (X_SMALL, [[0], [0], [1], [1]], "one-dimensional"),
        (X_SMALL, [0, 1], "inconsistent numbers of samples"),
        (X_SMALL[:, 0], Y_SMALL, "Expected 2D array"),
        (np.where(X_SMALL == 3, np.nan, X_SMALL), Y_SMALL, "NaN"),
        (np.where(X_SMALL == 3, np.inf, X_SMALL), Y_SMALL, "infinity"),
    ],
)
def test_data_that_does_not_fit_is_refused(make, X, y, message):
    with pytest.raises(ValueError, match=message):
        make(X, y)


def test_sparse_features_are_refused():
    with pytest.raises(TypeError, match="dense"):
        noise.mahalanobis(sparse.csr_array(X_SMALL), Y_SMALL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: noise.mahalanobis(X_SMALL, Y_SMALL, low=-0.1), "low must be between 0 and 1"),
        (lambda: noise.mahalanobis(X_SMALL, Y_SMALL, high=1.1), "high must be between 0 and 1"),
        (lambda: noise.mahalanobis(X_SMALL, Y_SMALL, 0.9, 0.5), "low must not be above high"),
        (lambda: noise.instance_dependent(X_SMALL, Y_SMALL, 0.6), "between 0 and highest=0.5"),
        (lambda: noise.instance_dependent(X_SMALL, Y_SMALL, -0.1), "between 0 and highest=0.5"),
        (lambda: noise.instance_dependent(X_SMALL, Y_SMALL, 0.6, 1.2), "highest must be between"),
    ],
)
def test_rates_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist", "covertype", "20news"])
def test_mahalanobis_of_the_papers_data_spans_its_bounds_exactly(data_home, name):
    dataset = datasets.load(name, data_home=data_home)
    T = noise.mahalanobis(dataset.X_train, dataset.y_train)
    assert np.diag(T).min() == 0.5
    assert np.diag(T).max() == 0.9
    np.testing.assert_allclose(T.sum(axis=1), 1)
    assert T.min() > 0
    assert noise.describe(T).diagonal_is_largest
    _, flipped = noise.corrupt(dataset.y_train, T, random_state=0)
    expected = noise.describe(T, np.bincount(dataset.y_train)).rate
    assert abs(flipped.mean() - expected) < 0.015

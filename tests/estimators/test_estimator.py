"""RobustTreeClassifier as an estimator: scikit-learn's checks, fitted attributes, methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import NAMES, SMALL, Array, Maker, continuous, distinct, missing, name_of, ties
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_defects import failing_checks
from tree_check import check_tree
from trees import assert_same_tree

from hardwood import RobustTreeClassifier


@parametrize_with_checks(
    [RobustTreeClassifier(criterion=name) for name in NAMES],
    expected_failed_checks=failing_checks,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- what fit leaves -----------------------------------------------------------------------------


def test_fitted_attributes(rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    tree = RobustTreeClassifier(random_state=0)
    assert tree.fit(X, y) is tree
    assert_array_equal(tree.classes_, [0, 1, 2])
    assert (tree.n_classes_, tree.n_features_in_, tree.n_outputs_) == (3, 4, 1)
    assert tree.max_features_ == 4
    assert not hasattr(tree, "feature_names_in_")
    assert type(tree.tree_) is type(DecisionTreeClassifier().fit(X, y).tree_)
    assert isinstance(tree, DecisionTreeClassifier)
    assert tree.tree_.n_features == 4
    assert tree.tree_.value.shape == (tree.tree_.node_count, 1, 3)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 7}, {"splitter": "random"}], ids=str)
def test_importances_are_shares_of_the_gain(
    criterion: str, options: dict[str, Any], rng: np.random.Generator
) -> None:
    X, y, _ = ties(2, rng)
    # One random cut a feature can be too few to split the root: take the first seed that does.
    grown = (
        RobustTreeClassifier(criterion=criterion, random_state=seed, **options).fit(X, y)
        for seed in range(20)
    )
    tree = next(tree for tree in grown if tree.get_n_leaves() > 1)
    inner = tree.tree_.children_left != -1
    gains = check_tree(tree, X, y)[inner]
    expected = np.bincount(tree.tree_.feature[inner], gains, minlength=4) / gains.sum()
    assert_allclose(tree.feature_importances_, expected, rtol=1e-6, atol=1e-9)
    assert tree.feature_importances_.sum() == pytest.approx(1)


def test_importances_of_a_single_leaf_are_zero() -> None:
    tree = RobustTreeClassifier().fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert_array_equal(tree.feature_importances_, [0, 0])


def test_gini_importances_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    X, y, _ = distinct(2, rng)
    ours, theirs = (
        cls(criterion="gini", max_depth=4, min_samples_leaf=60, random_state=0).fit(X, y)
        for cls in (RobustTreeClassifier, DecisionTreeClassifier)
    )
    assert_allclose(ours.feature_importances_, theirs.feature_importances_)


# --- methods that must agree with one another ----------------------------------------------------


@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_methods_agree(maker: Maker, rng: np.random.Generator) -> None:
    X, y, weight = maker(3, rng)
    tree = RobustTreeClassifier(criterion="gini", max_depth=6, random_state=0).fit(X, y, weight)
    leaf, path, proba = tree.apply(X), tree.decision_path(X), tree.predict_proba(X)
    arrays = tree.tree_

    assert (arrays.children_left[leaf] == -1).all()
    assert_array_equal(proba, arrays.value[leaf, 0])
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(tree.predict(X), tree.classes_[proba.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert_array_equal(tree.predict_log_proba(X), np.log(proba))

    assert path.shape == (len(X), arrays.node_count)
    assert_array_equal(path[np.arange(len(X)), leaf], 1)
    assert (path[:, 0].toarray() == 1).all()
    depth = np.asarray(path.sum(axis=1)).ravel() - 1
    assert tree.get_depth() == arrays.max_depth == depth.max()
    assert tree.get_n_leaves() == arrays.n_leaves
    assert set(leaf) <= set(np.flatnonzero(arrays.children_left == -1))
    parents = [
        arrays.children_left[i] == j or arrays.children_right[i] == j for i, j in steps(path)
    ]
    assert all(parents)


def steps(path: Any) -> list[tuple[int, int]]:
    """Each parent and child on each row's way down, where a child's id is above its parent's."""
    rows = (path.indices[a:b] for a, b in zip(path.indptr[:-1], path.indptr[1:], strict=True))
    return [(i, j) for row in rows for i, j in zip(sorted(row)[:-1], sorted(row)[1:], strict=True)]


def test_a_tie_in_a_leaf_goes_to_the_lower_class() -> None:
    tree = RobustTreeClassifier().fit([[0], [0], [0], [0]], ["c", "b", "c", "b"])
    assert tree.predict([[0]]).tolist() == ["b"]


def test_one_class_fits_a_constant() -> None:
    tree = RobustTreeClassifier().fit([[0.0], [1.0], [2.0]], ["only"] * 3)
    assert tree.get_depth() == 0
    assert tree.predict([[7.0]]).tolist() == ["only"]
    assert_array_equal(tree.predict_proba([[7.0]]), [[1.0]])


# --- precision -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        [1.0, 1.0 + 2**-40, 1.0 + 2**-39],
        [2**32 - 3, 2**32 - 2, 2**32 - 1],  # UNSW-NB15's sequence numbers
        [1e300, 1.1e300, 1.2e300],  # infinity in float32
        [0.0, 5e-324, 1e-323],
        [1.0, np.nextafter(1, 2), np.nextafter(np.nextafter(1, 2), 2)],
    ],
    ids=["near", "whole", "huge", "tiny", "adjacent"],
)
def test_float64_is_never_narrowed(column: list[float]) -> None:
    X = np.array(column)[:, None]
    tree = RobustTreeClassifier(criterion="gini").fit(X, [0, 1, 0])
    assert_array_equal(tree.predict(X), [0, 1, 0])
    assert_array_equal(np.unique(tree.apply(X)).size, 3)


@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", "O"]
)
def test_every_dtype_gives_the_same_tree(dtype: str, rng: np.random.Generator) -> None:
    X = rng.integers(0, 2, (80, 3))
    y = X[:, 0] | (rng.random(80) < 0.2)
    reference = RobustTreeClassifier(random_state=0).fit(X.astype("f8"), y)
    tree = RobustTreeClassifier(random_state=0).fit(X.astype(dtype), y)
    assert_same_tree(tree, reference)
    assert_array_equal(tree.predict(X.astype(dtype)), reference.predict(X))


def test_float32_at_fit_and_float64_at_predict(rng: np.random.Generator) -> None:
    """Each value is compared as it is: a float64 may fall between two float32 neighbours."""
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    tree = RobustTreeClassifier().fit(np.array([[low], [high]]), [0, 1])
    middle = (float(low) + float(high)) / 2
    above = np.nextafter(middle, 2)
    assert tree.tree_.threshold[0] == middle
    assert_array_equal(tree.predict(np.array([[low], [high]], np.float64)), [0, 1])
    assert_array_equal(tree.predict([[middle], [above]]), [0, 1])


def test_more_distinct_values_than_codes(rng: np.random.Generator) -> None:
    """Such a column is cut at quantiles: nearly as good as every cut."""
    X = rng.normal(size=(150_000, 2))
    y = X[:, 0] > 0.3
    tree = RobustTreeClassifier(criterion="gini", max_depth=4, random_state=0).fit(X, y)
    assert np.unique(X[:, 0]).size > 2**16
    assert tree.score(X, y) > 0.9999
    assert tree.tree_.threshold[0] == pytest.approx(0.3, abs=1e-4)


# --- missing values ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_left", "expected"), [(7, 0), (3, 1)])
def test_missing_values_new_at_predict_go_to_the_larger_child(n_left: int, expected: int) -> None:
    X = np.arange(10.0)[:, None]
    y = (np.arange(10) >= n_left).astype(int)
    tree = RobustTreeClassifier().fit(X, y)
    assert tree.predict([[np.nan]]).tolist() == [expected]


def test_missing_values_are_learnt() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [np.nan]])
    for y in ([0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]):
        tree = RobustTreeClassifier(criterion="gini").fit(X, y)
        assert_array_equal(tree.predict(X), y)
        assert tree.get_n_leaves() == 2


def test_a_column_all_missing_is_constant(rng: np.random.Generator) -> None:
    X, y, _ = missing(2, rng)
    X[:, 1] = np.nan
    tree = RobustTreeClassifier(criterion="gini", random_state=0).fit(X, y)
    assert 1 not in tree.tree_.feature
    check_tree(tree, X, y)


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("maker", [ties, missing, continuous], ids=name_of)
def test_a_weight_is_a_number_of_copies(
    criterion: str, maker: Maker, rng: np.random.Generator
) -> None:
    X, y, _ = maker(2, rng)
    weight = rng.integers(0, 4, len(y))
    weighted = RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y, weight)
    copied = RobustTreeClassifier(criterion=criterion, random_state=0).fit(*copies(X, y, weight))
    assert_same_tree(weighted, copied, but=("n_node_samples",))


def copies(X: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    return np.repeat(X, weight, axis=0), np.repeat(y, weight)


def test_rows_of_weight_zero_take_no_part(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    weight = (rng.random(len(y)) < 0.7).astype(float)
    kept = weight > 0
    X[~kept] = 1e9
    assert_same_tree(
        RobustTreeClassifier(random_state=0).fit(X, y, weight),
        RobustTreeClassifier(random_state=0).fit(X[kept], y[kept]),
    )


def test_a_class_of_weight_zero_is_still_a_class() -> None:
    tree = RobustTreeClassifier().fit([[0], [1], [2]], [0, 1, 2], [1, 1, 0])
    assert_array_equal(tree.classes_, [0, 1, 2])
    assert_array_equal(tree.predict_proba([[2]]), [[0, 1, 0]])

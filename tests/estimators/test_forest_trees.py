"""Every tree of a forest is one the formulas allow, on its own bag of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import (
    CRITERIA,
    NAMES,
    SMALL,
    Maker,
    continuous,
    many_rows_few_values,
    many_rows_many_values,
    missing,
    name_of,
    ties,
    whole_weights,
)
from forests import EVERY_FOREST, bags, root_counts
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight
from tree_check import check_tree

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier

# --- all rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_without_bootstrap(criterion: Any, maker: Maker, seed: int) -> None:
    n_classes = 2 if criterion.two_classes_only else 3
    X, y, weight = maker(n_classes, np.random.default_rng(seed))
    forest = RobustForestClassifier(
        1, criterion=criterion, max_features=None, bootstrap=False, random_state=seed
    ).fit(X, y, weight)
    for tree in forest.estimators_:
        check_tree(tree, X, y, weight)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_extra_trees(criterion: str, maker: Maker, rng: np.random.Generator) -> None:
    """Each split is a valid one, and improves."""
    X, y, weight = maker(2, rng)
    forest = RobustExtraTreesClassifier(2, criterion=criterion, random_state=0).fit(X, y, weight)
    for tree in forest.estimators_:
        check_tree(tree, X, y, weight)


# --- bags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("maker", [ties, missing, continuous, whole_weights], ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_with_bootstrap(
    criterion: str, maker: Maker, n_classes: int, rng: np.random.Generator
) -> None:
    n_classes = 2 if criterion == "ranking" else n_classes
    X, y, weight = maker(n_classes, rng)
    forest = RobustForestClassifier(2, criterion=criterion, max_features=None, random_state=4)
    forest.fit(X, y, weight)
    for tree, times in zip(forest.estimators_, bags(forest, X, weight), strict=True):
        check_tree(tree, X, y, times)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("maker", [many_rows_few_values, many_rows_many_values], ids=name_of)
def test_large_bags(criterion: str, maker: Maker, rng: np.random.Generator) -> None:
    X, y, _ = maker(2, rng)
    forest = RobustForestClassifier(
        2, criterion=criterion, max_features=None, max_depth=8, n_jobs=2, random_state=4
    ).fit(X, y)
    for tree, times in zip(forest.estimators_, bags(forest, X), strict=True):
        check_tree(tree, X, y, times)


@EVERY_FOREST
@pytest.mark.parametrize(
    "limits",
    [
        {"max_samples": 60},
        {"max_samples": 1.0, "max_depth": 3},
        {"min_samples_leaf": 6},
        {"min_samples_split": 15},
        {"min_weight_fraction_leaf": 0.08},
        {"min_impurity_decrease": 0.004},
        {"max_leaf_nodes": 8},
        {"max_features": "sqrt"},
    ],
    ids=str,
)
@pytest.mark.parametrize("criterion", ["gini", "ne", "misclassification"])
def test_limits_on_bags(
    cls: Any, limits: dict[str, Any], criterion: str, rng: np.random.Generator
) -> None:
    X, y, _ = missing(2, rng)
    options = {"max_features": None, **limits}
    forest = cls(3, criterion=criterion, bootstrap=True, random_state=1, **options).fit(X, y)
    for tree, times in zip(forest.estimators_, bags(forest, X), strict=True):
        check_tree(tree, X, y, times)


@EVERY_FOREST
@pytest.mark.parametrize("criterion", NAMES)
def test_balanced_subsamples(cls: Any, criterion: str, rng: np.random.Generator) -> None:
    """The draws of each bag are weighed so that its classes weigh the same."""
    X, y, _ = ties(2, rng)
    y = np.where(rng.random(len(y)) < 0.6, 0, y)
    forest = cls(
        3,
        criterion=criterion,
        max_features=None,
        bootstrap=True,
        class_weight="balanced_subsample",
        random_state=2,
    ).fit(X, y)
    for tree, times in zip(forest.estimators_, bags(forest, X), strict=True):
        drawn = np.repeat(np.arange(len(y)), times)
        check_tree(tree, X, y, times * compute_sample_weight("balanced", y, indices=drawn))


@EVERY_FOREST
@pytest.mark.parametrize("n_rows", [1, 2, 150, 2000])
def test_what_a_bag_holds(cls: Any, n_rows: int, rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(n_rows, 3)), np.arange(n_rows) % 2
    forest = cls(40, bootstrap=True, random_state=0).fit(X, y)
    distinct = []
    for tree in forest.estimators_:
        arrays = tree.tree_
        is_leaf = arrays.children_left == -1
        assert arrays.weighted_n_node_samples[0] == n_rows
        assert arrays.weighted_n_node_samples[is_leaf].sum() == n_rows
        assert arrays.n_node_samples[is_leaf].sum() == arrays.n_node_samples[0]
        counts = arrays.value[:, 0] * arrays.weighted_n_node_samples[:, None]
        assert_allclose(counts[is_leaf].sum(axis=0), root_counts(tree), rtol=1e-12)
        distinct.append(arrays.n_node_samples[0])
    expected = 1 - (1 - 1 / n_rows) ** n_rows  # 63 % of many rows
    assert np.mean(distinct) / n_rows == pytest.approx(expected, abs=0.2 / np.sqrt(n_rows))


def test_bags_are_independent_draws(rng: np.random.Generator) -> None:
    """Every row as often as any other, every count as often as Poisson's law has it."""
    X = rng.normal(size=(150, 2))
    times = bags(RobustForestClassifier(300, random_state=0), X)
    assert_array_equal(times.sum(axis=1), 150)
    # Of each row 300 draws are expected, give or take 17.
    assert np.abs(times.sum(axis=0) - 300).max() < 5 * np.sqrt(300)
    law = np.exp(-1) / np.array([1, 1, 2, 6])
    assert_allclose(np.bincount(times.ravel())[:4] / times.size, law, atol=0.01)
    assert np.abs(np.corrcoef(times) - np.eye(300)).max() < 0.45


# --- the features that are looked at -------------------------------------------------------------


def roots(forest: Any) -> Any:
    """The feature that each tree's root asks for."""
    return np.array([tree.tree_.feature[0] for tree in forest.estimators_])


@EVERY_FOREST
def test_max_features_is_kept_to_and_sqrt_rounds_up(cls: Any, rng: np.random.Generator) -> None:
    """The best of d features is at the root when it is among those looked at: k times in d."""
    X = rng.integers(0, 2, (300, 10))
    y = X[:, 7]
    for max_features, share in ((1, 0.1), ("sqrt", 0.4), (None, 1.0)):
        forest = cls(400, max_features=max_features, max_depth=1, bootstrap=False, random_state=0)
        found = np.mean(roots(forest.fit(X, y)) == 7)
        assert found == pytest.approx(share, abs=0.1 * (share < 1))


@EVERY_FOREST
def test_constant_features_never_count(cls: Any, rng: np.random.Generator) -> None:
    """With one feature to look at, the only one that varies is always found."""
    X = np.zeros((60, 9))
    X[:, 4] = rng.integers(0, 2, 60)
    forest = cls(50, max_features=1, random_state=0).fit(X, X[:, 4])
    assert_array_equal(roots(forest), 4)
    # Constant in the bag alone: of the feature that varies in one row, if that row is not there.
    X[0, 8] = 1
    forest = cls(50, max_features=2, bootstrap=True, random_state=0).fit(X, X[:, 4])
    assert_array_equal(roots(forest), 4)


@EVERY_FOREST
def test_features_constant_in_a_node_never_count_there(cls: Any, rng: np.random.Generator) -> None:
    X = np.column_stack([np.repeat([0, 1], 32), *(rng.integers(0, 2, 64) for _ in range(4))])
    X[:32, 1:4] = 0
    y = np.where(X[:, 0] == 0, X[:, 4], 2)
    forest = cls(20, criterion="gini", max_features=1, bootstrap=False, random_state=0).fit(X, y)
    assert all(tree.score(X, y) == 1 for tree in forest.estimators_)

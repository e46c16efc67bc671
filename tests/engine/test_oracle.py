"""Every split of a fitted tree is a best one and every leaf is justified, by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import (
    CRITERIA,
    LARGE,
    NAMES,
    SMALL,
    Maker,
    continuous,
    many_rows_many_values,
    missing,
    name_of,
    real_weights,
    ties,
    with_classes,
)
from oracle import Criterion, all_splits, gain, impurity, water_fill
from sklearn.tree import DecisionTreeClassifier
from tree_check import check_tree

from hardwood import RobustTreeClassifier
from hardwood.criteria import Ranking

EVERY_CRITERION = pytest.mark.parametrize(
    ("criterion", "n_classes"), with_classes(CRITERIA, 2, 3, 7), ids=str
)
EVERY_NAME = pytest.mark.parametrize("criterion", NAMES)


# --- the engine ----------------------------------------------------------------------------------


@EVERY_CRITERION
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_small_sets_grown_to_the_end(
    criterion: Any, n_classes: int, maker: Maker, seed: int
) -> None:
    X, y, weight = maker(n_classes, np.random.default_rng([seed, n_classes]))
    tree = RobustTreeClassifier(criterion=criterion, random_state=seed).fit(X, y, weight)
    check_tree(tree, X, y, weight)


@EVERY_CRITERION
@pytest.mark.parametrize("maker", LARGE, ids=name_of)
def test_large_sets(criterion: Any, n_classes: int, maker: Maker, seed: int) -> None:
    X, y, weight = maker(n_classes, np.random.default_rng([seed, n_classes]))
    tree = RobustTreeClassifier(criterion=criterion, max_depth=4, random_state=seed)
    check_tree(tree.fit(X, y, weight), X, y, weight)


@EVERY_NAME
def test_a_large_set_grown_to_the_end(criterion: str, rng: np.random.Generator) -> None:
    X, y, weight = many_rows_many_values(2, rng)
    tree = RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y, weight)
    check_tree(tree, X, y, weight)


@EVERY_NAME
@pytest.mark.parametrize("maker", [ties, real_weights, missing], ids=name_of)
@pytest.mark.parametrize("max_leaf_nodes", [2, 9, 1000])
def test_best_first(
    criterion: str, maker: Maker, max_leaf_nodes: int, rng: np.random.Generator
) -> None:
    X, y, weight = maker(2, rng)
    tree = RobustTreeClassifier(
        criterion=criterion, max_leaf_nodes=max_leaf_nodes, random_state=0
    ).fit(X, y, weight)
    check_tree(tree, X, y, weight)


def test_best_first_without_a_limit_is_depth_first(rng: np.random.Generator) -> None:
    """A limit that no tree can reach changes nothing: ties between features fall in the same way."""
    X, y, _ = ties(3, rng)
    deep, best = (
        RobustTreeClassifier(max_leaf_nodes=limit, random_state=0).fit(X, y)
        for limit in (None, len(X))
    )
    for name in ("feature", "threshold", "children_left", "value"):
        np.testing.assert_array_equal(getattr(deep.tree_, name), getattr(best.tree_, name))


@EVERY_NAME
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_random_splitter(criterion: str, maker: Maker, seed: int, rng: np.random.Generator) -> None:
    X, y, weight = maker(2, rng)
    tree = RobustTreeClassifier(criterion=criterion, splitter="random", random_state=seed)
    check_tree(tree.fit(X, y, weight), X, y, weight)


def test_random_splitter_learns(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    trees = [
        RobustTreeClassifier(criterion="gini", splitter="random", random_state=i).fit(X, y)
        for i in range(2)
    ]
    assert all(tree.score(X, y) > 0.9 for tree in trees)
    assert trees[0].tree_.threshold[0] != trees[1].tree_.threshold[0]


@EVERY_NAME
@pytest.mark.parametrize(
    "limits",
    [
        {"max_depth": 3},
        {"min_samples_split": 20},
        {"min_samples_split": 0.2},
        {"min_samples_leaf": 10},
        {"min_samples_leaf": 0.1},
        {"min_weight_fraction_leaf": 0.08},
        {"min_impurity_decrease": 0.004},
        {"min_samples_leaf": 4, "max_leaf_nodes": 8, "min_weight_fraction_leaf": 0.02},
        {"max_features": 2},
        {"splitter": "random", "min_samples_leaf": 10, "min_weight_fraction_leaf": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("maker", [ties, missing], ids=name_of)
def test_limits(
    criterion: str, limits: dict[str, Any], maker: Maker, rng: np.random.Generator
) -> None:
    X, y, _ = maker(2, rng)
    weight = rng.integers(1, 4, len(y))
    tree = RobustTreeClassifier(criterion=criterion, random_state=0, **limits).fit(X, y, weight)
    check_tree(tree, X, y, weight)


# --- the oracle itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 9}, {"monotonic_cst": [1, -1, 0, 0]}])
def test_the_oracle_accepts_trees_of_scikit_learn(
    options: dict[str, Any], rng: np.random.Generator
) -> None:
    X, y, _ = continuous(2, rng)
    X = X.astype(np.float32)
    check_tree(DecisionTreeClassifier(random_state=0, **options).fit(X, y), X, y)


@pytest.mark.parametrize(
    ("grown", "claimed"),
    [
        ({"max_depth": 3}, {"max_depth": None}),
        ({"splitter": "random"}, {"splitter": "best"}),
        ({"criterion": "entropy"}, {"criterion": "gini"}),
        ({}, {"min_samples_leaf": 3}),
        ({"max_depth": 3}, {"max_depth": None, "max_leaf_nodes": 8}),
    ],
    ids=str,
)
def test_the_oracle_rejects_trees_grown_otherwise(
    grown: dict[str, Any], claimed: dict[str, Any], rng: np.random.Generator
) -> None:
    X, y, _ = continuous(2, rng)
    X = X.astype(np.float32)
    tree = DecisionTreeClassifier(random_state=0, **grown).fit(X, y).set_params(**claimed)
    with pytest.raises(AssertionError):
        check_tree(tree, X, y)


@pytest.mark.parametrize(
    ("criterion", "n", "expected"),
    [
        (Criterion("gini"), [1, 3], 0.375),
        (Criterion("entropy"), [2, 2], np.log(2)),
        (Criterion("misclassification", (1.0,)), [1, 3, 0], 0.25),
        (Criterion("sqrt_gini"), [2, 2], np.sqrt(0.5)),
        (Criterion("ne", (0.0,)), [2, 2], np.sqrt(0.5)),
        (Criterion("ne", (0.5,)), [2, 2], 0.25),
        (Criterion("ne", (0.5,)), [2, 2, 2], 1 / 3),
        (Criterion("ne", (0.5,)), [1, 99], 0.01),
        (Criterion("gce", (0.5,)), [3, 4], 2 * (1 - 5 / 7)),
        (Criterion("gce", (1.5,)), [1, 3], 0.25 / 1.5),
        (Criterion("twoing"), [2, 2], 0.5),
        (Criterion("ranking"), [1, 3], 3 / 16),
        (Criterion("credal", (1.0,)), [2, 3], np.log(2)),
        (
            Criterion("credal", (1.0,)),
            [1, 2, 4],
            -np.log([2 / 8, 2 / 8, 4 / 8]) @ [2 / 8, 2 / 8, 0.5],
        ),
    ],
)
def test_impurities_worked_by_hand(criterion: Criterion, n: list[int], expected: float) -> None:
    assert float(impurity(criterion, np.array(n))) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (Criterion("gini"), (8 * 0.5 - 5 * 0.32 - 0) / 16),
        (Criterion("misclassification", (1.0,)), 3 / 16),
        (Criterion("twoing"), (5 * 3 / 64 / 4) * (0.8 + 0.8) ** 2 * 8 / 16),
        (Criterion("ranking"), 4 * 3 / 2 / 16**2),
    ],
)
def test_gains_worked_by_hand(criterion: Criterion, expected: float) -> None:
    got = gain(criterion, np.array([4, 1]), np.array([0, 3]), total=16)
    assert float(got) == pytest.approx(expected, rel=1e-15)


def test_water_filling_lifts_the_lowest_to_one_level(rng: np.random.Generator) -> None:
    n = rng.exponential(size=(100, 5))
    filled = water_fill(n, 0.7)
    np.testing.assert_allclose(filled.sum(axis=1), n.sum(axis=1) + 0.7)
    level = filled.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(filled, np.maximum(n, level))


def test_all_splits_with_missing_values() -> None:
    X = np.array([[1.0], [3.0], [3.0], [np.nan]])
    splits = all_splits(X, np.array([0, 1, 0, 1]), np.ones(4), 2)
    np.testing.assert_array_equal(splits.threshold, [2, 2, np.inf])
    np.testing.assert_array_equal(splits.missing_left, [False, True, False])
    np.testing.assert_array_equal(splits.left, [[1, 0], [1, 1], [2, 1]])
    np.testing.assert_array_equal(splits.right, [[1, 2], [1, 1], [0, 1]])


def test_cases_cover_every_criterion() -> None:
    assert {Criterion.of(criterion).name for criterion in CRITERIA} == set(NAMES)
    assert (Ranking, 3) not in [(type(c), k) for c, k in with_classes(CRITERIA, 2, 3)]

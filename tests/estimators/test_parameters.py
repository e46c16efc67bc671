"""The estimator's parameters do what they say (the oracle checks the limits on growth)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import NAMES, Data, continuous, distinct, ties
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight
from tree_check import check_tree
from trees import assert_same_splits, assert_same_tree

from hardwood import RobustTreeClassifier


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return continuous(2, rng)


def gini_trees(data: Data, **options: Any) -> list[Any]:
    """Ours and scikit-learn's."""
    return [
        cls(criterion="gini", random_state=0, **options).fit(data.X, data.y)
        for cls in (RobustTreeClassifier, DecisionTreeClassifier)
    ]


def test_defaults_are_those_of_scikit_learn() -> None:
    ours, theirs = RobustTreeClassifier().get_params(), DecisionTreeClassifier().get_params()
    own = {"criterion": "ne", "leaf_prediction": "distribution"}
    categories = {"categorical_features": "from_dtype", "category_smoothing": 0.0}
    assert ours == theirs | own | categories


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_depth", [1, 2, 5])
def test_max_depth(data: Data, max_depth: int) -> None:
    tree = RobustTreeClassifier(criterion="gini", max_depth=max_depth).fit(data.X, data.y)
    assert tree.get_depth() == max_depth


@pytest.mark.parametrize("limit", [2, 3, 10])
def test_max_leaf_nodes(data: Data, limit: int) -> None:
    tree = RobustTreeClassifier(criterion="gini", max_leaf_nodes=limit).fit(data.X, data.y)
    assert tree.get_n_leaves() == limit


@pytest.mark.parametrize("limit", [2**31, 2**63, 2**70])
@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes", "max_features"])
def test_a_limit_beyond_reach_is_none(name: str, limit: int, data: Data) -> None:
    tree = RobustTreeClassifier(random_state=0, **{name: limit}).fit(data.X, data.y)
    check_tree(tree.set_params(**{name: None}), data.X, data.y)


@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf"])
def test_a_demand_beyond_reach_leaves_the_root(name: str, data: Data) -> None:
    for limit in (10**6, 2**32 + 1, 2**63, 2**70):
        tree = RobustTreeClassifier(**{name: limit}).fit(data.X, data.y)
        assert tree.get_n_leaves() == 1


def test_min_samples_count_distinct_rows() -> None:
    """A row of weight ten is one row, as in scikit-learn under bootstrap."""
    X, y, weight = [[0], [1], [2], [3]], [0, 1, 1, 1], [10, 1, 1, 1]
    assert RobustTreeClassifier(min_samples_leaf=1).fit(X, y, weight).get_depth() == 1
    tree = RobustTreeClassifier(criterion="gini", min_samples_leaf=2).fit(X, y, weight)
    assert_array_equal(tree.tree_.n_node_samples, [4, 2, 2])
    assert RobustTreeClassifier(min_samples_split=5).fit(X, y, weight).get_depth() == 0


@pytest.mark.parametrize("criterion", NAMES)
def test_min_impurity_decrease_is_a_bound_on_the_gain(criterion: str, data: Data) -> None:
    """It has the scale of the criterion's own gain, which check_tree returns."""
    whole = RobustTreeClassifier(criterion=criterion, random_state=0).fit(data.X, data.y)
    gains = check_tree(whole, data.X, data.y)
    bound = 0.9 * gains[0]  # the root is still split, most of the rest is not
    tree = RobustTreeClassifier(
        criterion=criterion, min_impurity_decrease=bound, random_state=0
    ).fit(data.X, data.y)
    assert tree.get_n_leaves() < whole.get_n_leaves()
    gains = check_tree(tree, data.X, data.y)
    assert gains[gains > 0].min() >= bound * (1 - 1e-9)


# --- max_features --------------------------------------------------------------------------------


def test_max_features_counts_features_that_vary(rng: np.random.Generator) -> None:
    """A constant column is not one of the features looked at, so the other always is."""
    X = np.zeros((60, 9))
    X[:, 4] = rng.random(60)
    y = X[:, 4] > 0.5
    for seed in range(20):
        tree = RobustTreeClassifier(max_features=1, random_state=seed).fit(X, y)
        assert tree.score(X, y) == 1


def test_features_constant_in_a_node_are_not_counted_there(rng: np.random.Generator) -> None:
    """One-hot columns become constant on the way down; one that still varies must be found."""
    X = np.column_stack([np.repeat([0, 1], 32), *(rng.integers(0, 2, 64) for _ in range(4))])
    X[:32, 1:4] = 0
    y = np.where(X[:, 0] == 0, X[:, 4], 2)
    for seed in range(20):
        tree = RobustTreeClassifier(criterion="gini", max_features=1, random_state=seed)
        assert tree.fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [
        ("sqrt", 2, 2),
        ("sqrt", 4, 2),
        ("sqrt", 10, 4),
        ("sqrt", 1, 1),
        (None, 7, 7),
        (3, 7, 3),
        (1.0, 7, 7),
        (1, 7, 1),
        (0.5, 8, 4),
        (0.01, 7, 1),
        ("log2", 8, 3),
    ],
)
def test_max_features_as_a_number(max_features: Any, n_features: int, expected: int) -> None:
    X = np.eye(n_features + 1)[:, :n_features]
    tree = RobustTreeClassifier(max_features=max_features).fit(X, X[:, 0])
    assert tree.max_features_ == expected


def test_max_features_is_kept_to(rng: np.random.Generator) -> None:
    """With one feature in two, the better one is at the root about half of the time."""
    X = rng.normal(size=(100, 2))
    y = (X[:, 0] > 0) ^ (rng.random(100) < 0.05)
    roots = [
        RobustTreeClassifier(criterion="gini", max_features=1, max_depth=1, random_state=seed)
        .fit(X, y)
        .tree_.feature[0]
        for seed in range(200)
    ]
    assert 60 <= np.sum(np.array(roots) == 0) <= 140


# --- class_weight --------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0}, {1: 0.5}], ids=str)
def test_class_weight_multiplies_sample_weight(class_weight: Any, rng: np.random.Generator) -> None:
    X, y, _ = ties(2, rng)
    weight = rng.exponential(size=len(y))
    weighted = compute_sample_weight(class_weight, y)
    for given, total in ((None, weighted), (weight, weight * weighted)):
        tree = RobustTreeClassifier(class_weight=class_weight, random_state=0).fit(X, y, given)
        assert_same_tree(tree, RobustTreeClassifier(random_state=0).fit(X, y, total))
        check_tree(tree, X, y, total)


# --- pruning -------------------------------------------------------------------------------------


def test_pruning_path_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    data = distinct(2, rng)
    ours, theirs = (
        tree.cost_complexity_pruning_path(data.X, data.y)
        for tree in gini_trees(data, max_depth=4, min_samples_leaf=60)
    )
    assert_allclose(ours.ccp_alphas, theirs.ccp_alphas, atol=1e-12)
    assert_allclose(ours.impurities, theirs.impurities)


def test_pruned_trees_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    data = distinct(2, rng)
    options = {"max_depth": 4, "min_samples_leaf": 60}
    alphas = gini_trees(data, **options)[1].cost_complexity_pruning_path(data.X, data.y).ccp_alphas
    for alpha in alphas[1:-1] * (1 + 1e-6):
        ours, theirs = gini_trees(data, ccp_alpha=alpha, **options)
        assert_same_splits(ours, theirs)
        assert_allclose(ours.predict_proba(data.X), theirs.predict_proba(data.X))


@pytest.mark.parametrize("criterion", NAMES)
def test_pruning_goes_from_the_whole_tree_to_the_root(criterion: str, data: Data) -> None:
    tree = RobustTreeClassifier(criterion=criterion, random_state=0)
    path = tree.cost_complexity_pruning_path(data.X, data.y)
    assert (np.diff(path.ccp_alphas) >= -1e-15).all()
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.impurities) >= -1e-12).all()
    gains = check_tree(tree.fit(data.X, data.y), data.X, data.y)
    assert_allclose(path.impurities[-1] - path.impurities[0], gains.sum(), rtol=1e-6)

    alphas = [0.0, *path.ccp_alphas[1:] * (1 + 1e-6)]
    leaves = [
        RobustTreeClassifier(criterion=criterion, random_state=0, ccp_alpha=alpha)
        .fit(data.X, data.y)
        .get_n_leaves()
        for alpha in alphas[:: max(1, len(alphas) // 5)] + alphas[-1:]
    ]
    assert leaves[0] == tree.get_n_leaves()
    assert leaves[-1] == 1
    assert leaves == sorted(leaves, reverse=True)


# --- monotonic_cst -------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 12}, {"splitter": "random"}], ids=str)
def test_monotonic_predictions(
    criterion: str, options: dict[str, Any], rng: np.random.Generator
) -> None:
    X = rng.integers(0, 6, (200, 3))
    y = ((X[:, 0] - X[:, 1] + rng.normal(scale=3, size=200)) > 0).astype(int)
    tree = RobustTreeClassifier(
        criterion=criterion, monotonic_cst=[1, -1, 0], random_state=0, **options
    ).fit(X, y)
    check_tree(tree, X, y)
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), axis=-1)
    proba = tree.predict_proba(grid.reshape(-1, 3))[:, 1].reshape(6, 6, 6)
    assert (np.diff(proba, axis=0) >= -1e-12).all()
    assert (np.diff(proba, axis=1) <= 1e-12).all()
    free = RobustTreeClassifier(criterion=criterion, random_state=0, **options).fit(X, y)
    assert free.get_n_leaves() >= tree.get_n_leaves() > 1


def test_monotonic_trees_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    data = distinct(2, rng)
    ours, theirs = gini_trees(data, monotonic_cst=[1, 0, -1, 1], max_depth=4, min_samples_leaf=60)
    assert_same_splits(ours, theirs)
    assert_allclose(ours.predict_proba(data.X), theirs.predict_proba(data.X))


# --- random_state --------------------------------------------------------------------------------


def test_random_state(rng: np.random.Generator) -> None:
    X, y, _ = ties(2, rng)
    one, same = (
        RobustTreeClassifier(splitter="random", random_state=state).fit(X, y)
        for state in (np.random.RandomState(3), np.random.RandomState(3))
    )
    assert_same_tree(one, same)
    others = [
        RobustTreeClassifier(splitter="random", random_state=i).fit(X, y).tree_.threshold[0]
        for i in range(5)
    ]
    assert len(set(others)) > 1
    RobustTreeClassifier(random_state=None).fit(X, y)

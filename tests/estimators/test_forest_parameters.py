"""The forests' parameters do what they say (test_forest_trees.py checks limits on growth)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Data, continuous, ties
from forests import EVERY_FOREST, TWIN, assert_same_forest, bags, root_counts
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.class_weight import compute_sample_weight

from hardwood import RobustForestClassifier


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return continuous(2, rng)


@pytest.fixture
def unbalanced(rng: np.random.Generator) -> Data:
    """Eight rows of the first class to one of the second."""
    X, y, _ = continuous(2, rng)
    kept = (y == 0) | (np.cumsum(y == 1) % 8 == 0)
    return Data(X[kept], y[kept])


@pytest.mark.parametrize(("ours", "theirs"), TWIN.items())
def test_defaults_are_those_of_scikit_learn(ours: Any, theirs: Any) -> None:
    assert ours().get_params() == theirs().get_params() | {
        "criterion": "ne",
        "leaf_prediction": "distribution",
        "categorical_features": "from_dtype",
        "category_smoothing": 0.0,
    }


# --- limits --------------------------------------------------------------------------------------


@EVERY_FOREST
def test_limits_on_size(cls: Any, data: Data) -> None:
    options = {"n_estimators": 4, "criterion": "gini", "random_state": 0}
    shallow = cls(max_depth=3, **options).fit(data.X, data.y)
    assert {tree.get_depth() for tree in shallow.estimators_} == {3}
    few = cls(max_leaf_nodes=5, **options).fit(data.X, data.y)
    assert {tree.get_n_leaves() for tree in few.estimators_} == {5}
    wary = cls(min_impurity_decrease=0.1, **options).fit(data.X, data.y)
    whole = cls(**options).fit(data.X, data.y)
    assert n_leaves(wary) < n_leaves(whole)


def n_leaves(forest: Any) -> int:
    return sum(tree.get_n_leaves() for tree in forest.estimators_)


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [True, False])
def test_min_samples_leaf_counts_distinct_rows(cls: Any, bootstrap: bool, data: Data) -> None:
    """Not draws: a row drawn five times is one row."""
    weight = None if bootstrap else np.full(len(data.y), 5.0)
    forest = cls(20, criterion="gini", min_samples_leaf=5, bootstrap=bootstrap, random_state=0)
    forest.fit(data.X, data.y, weight)
    leaves = forest.apply(data.X)
    taken = bags(forest, data.X) > 0 if bootstrap else np.ones((20, len(data.y)), bool)
    smallest = len(data.y)
    for i, tree in enumerate(forest.estimators_):
        rows = np.bincount(leaves[taken[i], i], minlength=tree.tree_.node_count)
        is_leaf = tree.tree_.children_left == -1
        assert_array_equal(rows[is_leaf], tree.tree_.n_node_samples[is_leaf])
        smallest = min(smallest, rows[is_leaf].min())
    assert smallest == 5


@EVERY_FOREST
def test_pruning(cls: Any, data: Data) -> None:
    options = {"n_estimators": 5, "criterion": "gini", "random_state": 0}
    whole, pruned, stumps = (
        cls(ccp_alpha=alpha, **options).fit(data.X, data.y) for alpha in (0.0, 0.01, 10.0)
    )
    assert 5 < n_leaves(pruned) < n_leaves(whole)
    assert n_leaves(stumps) == 5
    for tree, original in zip(pruned.estimators_, whole.estimators_, strict=True):
        compact = original._compact.pruned(0.01)
        assert_array_equal(tree._compact.nodes, compact.nodes)
    mean = np.mean([tree.predict_proba(data.X) for tree in pruned.estimators_], axis=0)
    assert_allclose(pruned.predict_proba(data.X), mean, atol=1e-12)


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [True, False])
def test_monotonic_predictions(cls: Any, bootstrap: bool, rng: np.random.Generator) -> None:
    X = rng.integers(0, 6, (200, 3))
    y = ((X[:, 0] - X[:, 1] + rng.normal(scale=3, size=200)) > 0).astype(int)
    grid = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)

    def proba(constraints: list[int] | None) -> Any:
        forest = cls(10, criterion="gini", bootstrap=bootstrap, random_state=0)
        forest.set_params(monotonic_cst=constraints).fit(X, y)
        return forest.predict_proba(grid)[:, 1].reshape(6, 6, 6)

    constrained, free = proba([1, -1, 0]), proba(None)
    assert (np.diff(constrained, axis=0) >= -1e-12).all()
    assert (np.diff(constrained, axis=1) <= 1e-12).all()
    assert (np.diff(free, axis=0) < -1e-3).any()


# --- max_features --------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize(
    ("max_features", "n_features", "expected"),
    [("sqrt", 10, 4), ("sqrt", 9, 3), ("sqrt", 1, 1), (None, 7, 7), (3, 7, 3), (0.5, 8, 4)],
)
def test_max_features_as_a_number(
    cls: Any, max_features: Any, n_features: int, expected: int
) -> None:
    X = np.eye(n_features + 1)[:, :n_features]
    forest = cls(n_estimators=2, max_features=max_features).fit(X, X[:, 0])
    assert forest.max_features_ == expected
    assert forest.estimators_[0].max_features_ == expected


# --- bootstrap and max_samples -------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize(
    ("max_samples", "expected"), [(None, 150), (40, 40), (400, 400), (0.5, 75), (1.0, 150)]
)
def test_max_samples(cls: Any, max_samples: Any, expected: int, data: Data) -> None:
    forest = cls(5, bootstrap=True, max_samples=max_samples, random_state=0).fit(data.X, data.y)
    for tree in forest.estimators_:
        assert tree.tree_.weighted_n_node_samples[0] == expected


def test_a_share_of_the_draws_is_of_the_weight(data: Data) -> None:
    """As in scikit-learn from 1.9 on."""
    forest = RobustForestClassifier(3, max_samples=0.5, random_state=0)
    forest.fit(data.X, data.y, np.full(150, 3.0))
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == 225


@EVERY_FOREST
def test_without_bootstrap_every_tree_sees_every_row(cls: Any, data: Data) -> None:
    forest = cls(3, bootstrap=False, random_state=0).fit(data.X, data.y)
    for tree in forest.estimators_:
        assert tree.tree_.n_node_samples[0] == 150
        assert_allclose(root_counts(tree), np.bincount(data.y))


# --- class_weight --------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0}], ids=str)
def test_class_weight_multiplies_sample_weight(
    cls: Any, bootstrap: bool, class_weight: Any, unbalanced: Data, rng: np.random.Generator
) -> None:
    X, y, _ = unbalanced
    options = {"n_estimators": 4, "bootstrap": bootstrap, "random_state": 0}
    of_class = compute_sample_weight(class_weight, y)
    one = cls(class_weight=class_weight, **options).fit(X, y)
    assert_same_forest(one, cls(**options).fit(X, y, of_class))
    weight = rng.integers(1, 4, len(y)).astype(float)
    if class_weight == "balanced":  # the weights of the classes are what is balanced
        of_class = (weight.sum() / (2 * np.bincount(y, weight)))[y]
    both = cls(class_weight=class_weight, **options).fit(X, y, weight)
    assert_same_forest(both, cls(**options).fit(X, y, of_class * weight))


@EVERY_FOREST
def test_balanced_classes_weigh_the_same(cls: Any, unbalanced: Data) -> None:
    X, y, _ = unbalanced
    options = {"n_estimators": 50, "random_state": 0}
    plain = cls(bootstrap=True, **options).fit(X, y)
    balanced = cls(bootstrap=True, class_weight="balanced", **options).fit(X, y)
    subsample = cls(bootstrap=True, class_weight="balanced_subsample", **options).fit(X, y)
    whole = cls(bootstrap=False, class_weight="balanced_subsample", **options).fit(X, y)
    shares = [
        np.array([tree.tree_.value[0, 0, 1] for tree in forest.estimators_])
        for forest in (plain, balanced, subsample, whole)
    ]
    assert shares[0].mean() < 0.2
    assert shares[1].mean() == pytest.approx(0.5, abs=0.05)  # on average, by the draws
    assert shares[1].std() > 0.01
    assert_allclose(shares[2], 0.5)  # in every bag
    assert_allclose(shares[3], 0.5)


# --- warm_start ----------------------------------------------------------------------------------


@EVERY_FOREST
def test_warm_start_keeps_its_trees_and_adds_others(cls: Any, data: Data) -> None:
    forest = cls(3, warm_start=True, random_state=0).fit(data.X, data.y)
    first = forest.apply(data.X)
    forest.set_params(n_estimators=5).fit(data.X, data.y)
    assert len(forest.estimators_) == 5
    leaves = forest.apply(data.X)
    assert_array_equal(leaves[:, :3], first)
    assert len({str(column) for column in leaves.T.tolist()}) == 5
    with pytest.warns(UserWarning, match="does not fit new trees"):
        forest.fit(data.X, data.y)
    assert len(forest.estimators_) == 5


@EVERY_FOREST
def test_without_warm_start_fit_starts_anew(cls: Any, data: Data) -> None:
    forest = cls(3, random_state=0).fit(data.X[:, :2], data.y)
    forest.set_params(n_estimators=2).fit(data.X, data.y)
    assert_same_forest(forest, cls(2, random_state=0).fit(data.X, data.y))
    assert forest.n_features_in_ == 4


# --- random_state --------------------------------------------------------------------------------


@EVERY_FOREST
def test_random_state(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = ties(2, rng)

    def fitted(random_state: Any) -> Any:
        return cls(3, random_state=random_state).fit(X, y)

    assert_same_forest(fitted(np.random.RandomState(3)), fitted(np.random.RandomState(3)))
    assert_same_forest(fitted(3), fitted(3))
    other, one = fitted(4).predict_proba(X), fitted(3).predict_proba(X)
    assert (other != one).any()
    assert (fitted(None).predict_proba(X) != fitted(None).predict_proba(X)).any()

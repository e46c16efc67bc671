"""The forests as estimators: scikit-learn's checks, fitted attributes, methods, weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cases import NAMES, SMALL, Data, Maker, continuous, missing, name_of, ties
from estimators_list import weights_are_no_copies
from forests import EVERY_FOREST, assert_same_forest, bags
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier, RobustTreeClassifier


def expected_failures(forest: Any) -> dict[str, str]:
    """Weights set the probabilities of the draws, so they equal copies on average only."""
    if not forest.bootstrap:
        return {}
    return weights_are_no_copies("see test_weighted_draws…, below")


@parametrize_with_checks(
    [
        RobustForestClassifier(n_estimators=5),
        RobustForestClassifier(n_estimators=5, bootstrap=False),
        RobustForestClassifier(n_estimators=5, criterion="gini", max_leaf_nodes=8, n_jobs=2),
        RobustForestClassifier(n_estimators=5, criterion="ranking"),
        RobustExtraTreesClassifier(n_estimators=5),
        RobustExtraTreesClassifier(n_estimators=5, bootstrap=True),
        RobustExtraTreesClassifier(n_estimators=5, criterion="misclassification"),
    ],
    expected_failed_checks=expected_failures,
)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


# --- what fit leaves -----------------------------------------------------------------------------


@EVERY_FOREST
def test_fitted_attributes(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    forest = cls(n_estimators=7, random_state=0)
    with pytest.raises(NotFittedError):
        forest.estimators_  # noqa: B018 - the property is what is tested
    assert forest.fit(X, y) is forest
    assert_array_equal(forest.classes_, [0, 1, 2])
    assert (forest.n_classes_, forest.n_features_in_, forest.n_outputs_) == (3, 4, 1)
    assert forest.max_features_ == 2
    assert len(forest.estimators_) == 7
    assert not hasattr(forest, "feature_names_in_")
    assert not hasattr(forest, "oob_score_")


@EVERY_FOREST
@pytest.mark.parametrize("criterion", NAMES)
def test_importances_are_the_mean_of_the_trees(
    cls: Any, criterion: str, rng: np.random.Generator
) -> None:
    X, y, _ = ties(2, rng)
    forest = cls(n_estimators=5, criterion=criterion, random_state=0).fit(X, y)
    mean = np.mean([tree.feature_importances_ for tree in forest.estimators_], axis=0)
    # Trees that are but a leaf have none, and do not count.
    assert_allclose(forest.feature_importances_, mean / mean.sum())
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert (forest.feature_importances_ >= 0).all()


@EVERY_FOREST
def test_importances_of_single_leaves_are_zero(cls: Any) -> None:
    forest = cls(n_estimators=3).fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert_array_equal(forest.feature_importances_, [0, 0])


# --- the sequence of trees -----------------------------------------------------------------------


@EVERY_FOREST
def test_the_trees_are_a_sequence(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    forest = cls(n_estimators=6, random_state=0).fit(X, y)
    trees = forest.estimators_
    assert isinstance(trees, Sequence)
    apply = [tree.apply(X).tolist() for tree in trees]
    assert len(apply) == len(trees) == 6
    assert len({str(leaves) for leaves in apply}) == 6  # all different, so that order shows
    assert [trees[i].apply(X).tolist() for i in range(6)] == apply
    assert trees[-1].apply(X).tolist() == apply[-1]
    assert trees[np.int64(2)].apply(X).tolist() == apply[2]
    for chosen in (slice(1, 4), slice(None, None, -2), slice(-2, None), slice(6, 9)):
        assert [tree.apply(X).tolist() for tree in trees[chosen]] == apply[chosen]
    assert [tree.apply(X).tolist() for tree in reversed(trees)] == apply[::-1]
    for beyond in (6, -7):
        with pytest.raises(IndexError):
            trees[beyond]


@EVERY_FOREST
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_a_forest_is_the_mean_of_its_trees(
    cls: Any, maker: Maker, rng: np.random.Generator
) -> None:
    X, y, weight = maker(3, rng)
    forest = cls(n_estimators=9, random_state=0).fit(X, y, weight)
    real_tree = type(DecisionTreeClassifier().fit([[0], [1]], [0, 1]).tree_)
    for tree in forest.estimators_:
        assert type(tree) is RobustTreeClassifier
        assert type(tree.tree_) is real_tree
        assert tree.splitter == ("random" if cls is RobustExtraTreesClassifier else "best")
    proba = forest.predict_proba(X)
    mean = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    assert_allclose(proba, mean, atol=1e-12)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(forest.predict(X), forest.classes_[proba.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert_array_equal(forest.predict_log_proba(X), np.log(proba))
    assert forest.score(X, y) == np.mean(forest.predict(X) == y)


@EVERY_FOREST
@pytest.mark.parametrize("maker", [continuous, missing], ids=name_of)
def test_apply_and_decision_path(cls: Any, maker: Maker, rng: np.random.Generator) -> None:
    X, y, _ = maker(3, rng)
    forest = cls(n_estimators=4, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    path, start = forest.decision_path(X)
    assert leaves.shape == (len(X), 4)
    assert path.shape == (len(X), start[-1])
    assert_array_equal(np.diff(start), [tree.tree_.node_count for tree in forest.estimators_])
    for i, tree in enumerate(forest.estimators_):
        assert_array_equal(leaves[:, i], tree.apply(X))
        assert (path[:, start[i] : start[i + 1]] != tree.decision_path(X)).nnz == 0
        assert_array_equal(path[np.arange(len(X)), start[i] + leaves[:, i]], 1)


@EVERY_FOREST
def test_many_rows_and_one_row_get_the_same_votes(cls: Any, rng: np.random.Generator) -> None:
    """However prediction is cut into blocks of rows and trees."""
    X, y, _ = missing(7, rng)
    forest = cls(n_estimators=70, random_state=0).fit(X, y)
    many = np.tile(X, (30, 1))[:4001]
    proba = forest.predict_proba(many)
    assert_array_equal(proba, np.tile(proba[: len(X)], (30, 1))[:4001])
    for i in range(5):
        assert_array_equal(forest.predict_proba(X[i : i + 1])[0], proba[i])
        assert_array_equal(forest.apply(X[i : i + 1]), forest.apply(many)[i : i + 1])


@EVERY_FOREST
def test_one_class_fits_a_constant(cls: Any) -> None:
    forest = cls(n_estimators=3).fit([[0.0], [1.0], [2.0]], ["only"] * 3)
    assert forest.predict([[7.0]]).tolist() == ["only"]
    assert_array_equal(forest.predict_proba([[7.0]]), [[1.0]])


@EVERY_FOREST
def test_a_class_nobody_drew_is_still_a_class(cls: Any) -> None:
    forest = cls(n_estimators=3, bootstrap=True, random_state=0)
    forest.fit([[0], [1], [2]], [0, 1, 2], [1, 1, 0])
    assert_array_equal(forest.classes_, [0, 1, 2])
    assert_array_equal(forest.predict_proba([[2]])[:, 2], [0])


# --- weights without bootstrap -------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("maker", [ties, missing, continuous], ids=name_of)
def test_without_bootstrap_a_weight_is_a_number_of_copies(
    cls: Any, criterion: str, maker: Maker, rng: np.random.Generator
) -> None:
    X, y, _ = maker(2, rng)
    weight = rng.integers(0, 4, len(y))
    options = {"criterion": criterion, "bootstrap": False, "random_state": 0}
    weighted = cls(n_estimators=3, **options).fit(X, y, weight)
    copied = cls(n_estimators=3, **options).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert_same_forest(weighted, copied, but=("n_node_samples",))
    assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))


@EVERY_FOREST
def test_rows_of_weight_zero_take_no_part(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    weight = (rng.random(len(y)) < 0.7).astype(float)
    kept = weight > 0
    X[~kept] = 1e9
    forest = cls(n_estimators=4, bootstrap=False, random_state=0)
    one = cls(**forest.get_params()).fit(X, y, weight)
    assert_same_forest(one, forest.fit(X[kept], y[kept]))


# --- weights with bootstrap: probabilities of the draws ------------------------------------------


@pytest.fixture
def weighted(rng: np.random.Generator) -> Data:
    X, y, _ = continuous(2, rng)
    return Data(X, y, rng.integers(0, 5, len(y)) * np.where(y == 1, 4.0, 1.0))


@EVERY_FOREST
@pytest.mark.parametrize("scale", [1.0, 1e-200, 0.37])
def test_weighted_draws_are_in_proportion(cls: Any, scale: float, weighted: Data) -> None:
    forest = cls(n_estimators=200, bootstrap=True, random_state=0)
    times = bags(forest, weighted.X, weighted.weight * scale)
    kept = weighted.weight > 0
    assert_array_equal(times[:, ~kept], 0)
    # As many draws as rows that can be drawn.
    assert_array_equal(times.sum(axis=1), kept.sum())
    share = weighted.weight[kept] / weighted.weight.sum()
    assert chisquare(times[:, kept].sum(axis=0), share * times.sum()).pvalue > 1e-4
    even = np.full(kept.sum(), times.sum() / kept.sum())
    assert chisquare(times[:, kept].sum(axis=0), even).pvalue < 1e-12


@EVERY_FOREST
def test_weighted_draws_equal_copies_on_average(cls: Any, weighted: Data) -> None:
    """The mean vote for a row differs by chance alone, judged by the trees' own spread."""
    X, y, weight = weighted
    forest = cls(400, bootstrap=True, max_samples=120, criterion="gini", max_depth=4)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    by_weight = votes(forest.set_params(random_state=1).fit(X, y, weight), X)
    by_copies = votes(forest.set_params(random_state=2).fit(X[copies], y[copies]), X)
    unweighted = votes(forest.set_params(random_state=3).fit(X, y), X)
    assert largest_z(by_weight, by_copies) < 5
    assert largest_z(by_weight, unweighted) > 10


def votes(forest: Any, X: Any) -> Any:
    """Each tree's probability of the second class."""
    return np.array([tree.predict_proba(X)[:, 1] for tree in forest.estimators_])


def largest_z(one: Any, other: Any) -> float:
    """The largest difference of mean votes, in standard errors."""
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / len(one))
    difference = np.abs(one.mean(axis=0) - other.mean(axis=0))
    return float((difference / np.maximum(error, 1e-6)).max())

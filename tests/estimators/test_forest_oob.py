"""Out-of-bag votes are those of the trees that did not draw the row, by a slow reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import (
    NAMES,
    SMALL,
    Array,
    Maker,
    continuous,
    many_rows_few_values,
    missing,
    name_of,
    ties,
)
from forests import EVERY_FOREST, bags
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.class_weight import compute_sample_weight

from hardwood import RobustForestClassifier


def reference(forest: Any, X: Array, sample_weight: Any = None) -> Array:
    """The mean vote of the trees that did not draw the row, one tree after another."""
    votes = np.zeros((len(X), forest.n_classes_))
    n_votes = np.zeros((len(X), 1))
    for tree, times in zip(forest.estimators_, bags(forest, X, sample_weight), strict=True):
        out = times == 0
        votes[out] += tree.predict_proba(X[out])
        n_votes[out] += 1
    return votes / np.maximum(n_votes, 1)


@EVERY_FOREST
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")  # for they weigh much
def test_votes_and_score(cls: Any, maker: Maker, n_classes: int, rng: np.random.Generator) -> None:
    X, y, weight = maker(n_classes, rng)
    labels = np.array(["a", "b", "c", "d", "e"])[y]
    forest = cls(60, bootstrap=True, oob_score=True, random_state=5).fit(X, labels, weight)
    expected = reference(forest, X, weight)
    assert_allclose(forest.oob_decision_function_, expected, atol=1e-12)
    assert forest.oob_score_ == np.mean(forest.classes_[expected.argmax(axis=1)] == labels)


@pytest.mark.parametrize(
    "options",
    [
        *({"criterion": name} for name in NAMES),
        {"max_samples": 40},
        {"max_samples": 300},
        {"max_samples": 0.3},
        {"n_jobs": 2},
        {"max_leaf_nodes": 7},
        {"ccp_alpha": 0.01},
        {"class_weight": "balanced_subsample"},
        {"monotonic_cst": [1, -1, 0, 0]},
    ],
    ids=str,
)
def test_options(options: dict[str, Any], rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = RobustForestClassifier(80, oob_score=True, random_state=5, **options).fit(X, y)
    assert_allclose(forest.oob_decision_function_, reference(forest, X), atol=1e-12)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 5}, {0: 0, 1: 1}], ids=str)
def test_class_weight_changes_the_draws(class_weight: Any, rng: np.random.Generator) -> None:
    X, y, _ = ties(2, rng)
    forest = RobustForestClassifier(
        150, oob_score=True, class_weight=class_weight, random_state=5
    ).fit(X, y)
    expected = reference(forest, X, compute_sample_weight(class_weight, y))
    assert_allclose(forest.oob_decision_function_, expected, atol=1e-12)


def test_rows_of_weight_zero_are_out_of_every_bag(rng: np.random.Generator) -> None:
    X, y, _ = missing(2, rng)
    weight = np.where(rng.random(len(y)) < 0.5, 0.0, 2.0)
    forest = RobustForestClassifier(60, oob_score=True, random_state=5).fit(X, y, weight)
    expected = forest.predict_proba(X)[weight == 0]
    assert_allclose(forest.oob_decision_function_[weight == 0], expected, atol=1e-12)


def test_many_rows(rng: np.random.Generator) -> None:
    """More than a block; scored better on the rows seen than on those not seen."""
    X, y, _ = many_rows_few_values(3, rng)
    forest = RobustForestClassifier(30, oob_score=True, n_jobs=2, random_state=5).fit(X, y)
    assert forest.oob_decision_function_.shape == (3000, 3)
    one_by_one = RobustForestClassifier(30, oob_score=True, random_state=5).fit(X, y)
    assert_array_equal(forest.oob_decision_function_, one_by_one.oob_decision_function_)
    assert forest.oob_score_ < forest.score(X, y) - 0.05


def test_a_third_of_the_rows_is_out_of_a_bag(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1000, 2))
    times = bags(RobustForestClassifier(40, random_state=0), X)
    assert np.mean(times == 0) == pytest.approx(np.exp(-1), abs=0.005)


def test_the_score_is_that_of_rows_not_seen(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, np.random.default_rng(1))
    X_test = rng.normal(size=(5000, 4))
    y_test = (X_test[:, 0] > X_test[:, 1]).astype(int)
    y = (X[:, 0] > X[:, 1]).astype(int)
    forest = RobustForestClassifier(200, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ == pytest.approx(forest.score(X_test, y_test), abs=0.05)


def test_a_callable_scores(rng: np.random.Generator) -> None:
    X, y, _ = ties(3, rng)
    labels = np.array(["low", "middle", "top"])[np.where(rng.random(len(y)) < 0.7, 0, y)]
    forest = RobustForestClassifier(60, oob_score=balanced_accuracy_score, random_state=5)
    forest.fit(X, labels)
    predicted = forest.classes_[forest.oob_decision_function_.argmax(axis=1)]
    assert forest.oob_score_ == balanced_accuracy_score(labels, predicted)
    assert forest.oob_score_ != np.mean(labels == predicted)


def test_after_a_warm_start(rng: np.random.Generator) -> None:
    X, y, _ = missing(2, rng)
    options = {"oob_score": True, "random_state": 5}
    halves = RobustForestClassifier(60, warm_start=True, **options).fit(X, y)
    first = halves.oob_decision_function_
    halves.set_params(n_estimators=100).fit(X, y)
    whole = RobustForestClassifier(100, **options).fit(X, y)
    assert_array_equal(halves.oob_decision_function_, whole.oob_decision_function_)
    assert halves.oob_score_ == whole.oob_score_
    assert (first != whole.oob_decision_function_).any()


def test_no_score_that_was_not_asked_for(rng: np.random.Generator) -> None:
    """Not even one of an earlier fit."""
    X, y, _ = continuous(2, rng)
    forest = RobustForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(oob_score=False).fit(X, y)
    assert not hasattr(forest, "oob_score_")
    assert not hasattr(forest, "oob_decision_function_")


@EVERY_FOREST
def test_too_few_trees(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = cls(2, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="too few trees"):
        forest.fit(X, y)
    never = (bags(forest, X) > 0).all(axis=0)
    assert 0 < never.sum() < len(y)
    assert np.isfinite(forest.oob_decision_function_).all()
    assert_array_equal(forest.oob_decision_function_[never], 0)
    assert_allclose(forest.oob_decision_function_[~never].sum(axis=1), 1)


@EVERY_FOREST
def test_there_is_no_bag_without_bootstrap(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    with pytest.raises(ValueError, match="bootstrap=True"):
        cls(3, bootstrap=False, oob_score=True).fit(X, y)

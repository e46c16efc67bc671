"""What scikit-learn's forests can do beside fit and predict: they are sequences of trees."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import continuous
from estimators_list import ESTIMATORS, small
from forests import EVERY_FOREST, bags
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hardwood
from hardwood import AdaptiveForestClassifier, RobustForestClassifier, RobustTreeClassifier
from hardwood._core.spread import n_threads

ALL_FORESTS = [cls for cls in ESTIMATORS if "n_estimators" in cls._get_param_names()]
pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


@pytest.mark.parametrize("cls", ALL_FORESTS)
def test_a_forest_is_a_sequence_of_trees(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    forest = cls(5, random_state=0).fit(X, y)
    assert len(forest) == len(forest.estimators_) == 5
    leaves = np.stack([tree.apply(X) for tree in forest], axis=1)
    assert_array_equal(leaves, forest.apply(X))
    assert_array_equal(forest[0].apply(X), leaves[:, 0])
    assert_array_equal(forest[-1].apply(X), leaves[:, -1])
    assert [tree.get_n_leaves() for tree in forest[1:3]] == [
        forest[t].get_n_leaves() for t in (1, 2)
    ]
    with pytest.raises(IndexError):
        forest[5]
    for use in (len, iter, lambda forest: forest[0], lambda forest: forest.estimator_):
        with pytest.raises(NotFittedError):
            use(clone(forest))


@EVERY_FOREST
def test_the_template_of_the_trees(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = cls(2, criterion="gini", max_depth=3, class_weight="balanced", random_state=0)
    assert forest.estimator.splitter == ("random" if cls._random_cuts else "best")
    template = forest.fit(X, y).estimator_
    assert type(template) is RobustTreeClassifier
    of_tree = forest[0].get_params() | {"random_state": None}  # a tree has one of its own
    assert template.get_params() == of_tree
    assert (template.criterion, template.max_depth, template.class_weight) == ("gini", 3, None)
    with pytest.raises(NotFittedError):
        template.predict(X)


# --- rows ----------------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("kind", ["plain", "weights", "groups", "max_samples", "zero weights"])
def test_samples_are_the_draws(cls: Any, kind: str, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    weight = groups = None
    options: dict[str, Any] = {"bootstrap": True}
    match kind:
        case "weights":
            weight = rng.exponential(size=len(X))
        case "zero weights":
            weight = rng.integers(0, 3, len(X)).astype(float)
        case "groups":
            groups = rng.integers(0, 30, len(X))
        case "max_samples":
            options["max_samples"] = 17
    forest = cls(6, random_state=3, **options).fit(X, y, weight, groups=groups)
    times = [np.bincount(rows, minlength=len(X)) for rows in forest.estimators_samples_]
    assert_array_equal(times, bags(forest, X, weight, groups))
    assert {rows.dtype for rows in forest.estimators_samples_} == {np.dtype(np.int32)}
    of_copy = pickle.loads(pickle.dumps(forest)).estimators_samples_
    for rows, again in zip(forest.estimators_samples_, of_copy, strict=True):
        assert_array_equal(rows, again)


@EVERY_FOREST
def test_samples_without_bootstrap(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    weight = np.ones(len(X))
    weight[5] = 0
    forest = cls(2, bootstrap=False).fit(X, y)
    for rows in forest.estimators_samples_:
        assert_array_equal(rows, np.arange(len(X)))
    for rows in forest.fit(X, y, weight).estimators_samples_:
        assert_array_equal(rows, np.delete(np.arange(len(X)), 5))


@EVERY_FOREST
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n", [200, 6000])
def test_a_tree_grows_again_from_its_rows(
    cls: Any, bootstrap: bool, n: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    X = rng.integers(50, size=(n, 6)).astype(float)
    y = rng.integers(3, size=n)
    forest = cls(3, bootstrap=bootstrap, max_features=2, max_depth=8, random_state=1).fit(X, y)
    hardwood.save(forest, tmp_path / "forest.hw")
    saved = hardwood.load(tmp_path / "forest.hw")
    for tree, of_file, rows in zip(forest, saved, forest.estimators_samples_, strict=True):
        assert of_file.random_state == tree.random_state
        weight = np.bincount(rows, minlength=n)
        again = [clone(tree).fit(X, y, sample_weight=weight)]
        if n < 4096 or not bootstrap:
            again.append(clone(tree).fit(X[rows], y[rows]))
        for other in again:
            assert_array_equal(other.tree_.threshold, tree.tree_.threshold)
            assert_array_equal(other.tree_.value, tree.tree_.value)
    twin = tree.to_sklearn()
    assert clone(twin).fit(X, y).n_classes_ == 3  # scikit-learn does not know such seeds


@pytest.mark.parametrize("random_state", [-1, 2**32, 2**64 - 1, 2**65])
def test_numbers_that_are_no_seeds(random_state: int) -> None:
    with pytest.raises(ValueError, match="random_state"):
        RobustTreeClassifier(random_state=random_state).fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="random_state"):
        RobustForestClassifier(2, random_state=2**64).fit([[0], [1]], [0, 1])


def test_samples_of_a_warm_start_are_those_of_each_fit(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = RobustForestClassifier(3, warm_start=True, random_state=0).fit(X, y)
    first = forest.estimators_samples_
    forest.set_params(n_estimators=5, max_samples=10).fit(X[:50], y[:50])
    samples = forest.estimators_samples_
    assert len(samples) == 5
    for rows, again in zip(first, samples[:3], strict=True):
        assert_array_equal(rows, again)
    assert [len(rows) for rows in samples[3:]] == [10, 10]
    assert max(rows.max() for rows in samples[3:]) < 50


def test_files_do_not_have_the_samples(tmp_path: Path, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    hardwood.save(RobustForestClassifier(2, warm_start=True).fit(X, y), tmp_path / "forest.hw")
    forest = hardwood.load(tmp_path / "forest.hw")
    with pytest.raises(AttributeError, match="loaded from a file"):
        forest.estimators_samples_  # noqa: B018
    forest.set_params(n_estimators=3).fit(X, y)  # nor of the trees before this
    with pytest.raises(AttributeError, match="loaded from a file"):
        forest.estimators_samples_  # noqa: B018
    assert len(forest.set_params(warm_start=False).fit(X, y).estimators_samples_) == 3


# --- fits that fail ------------------------------------------------------------------------------


def raising(y_true: Any, y_pred: Any) -> float:
    raise RuntimeError("no score today")


@pytest.mark.parametrize("cls", [RobustForestClassifier, AdaptiveForestClassifier])
def test_a_raising_score_leaves_the_forest_unfitted(cls: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = cls(10, oob_score=raising, random_state=0)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no score today"):
            forest.fit(X, y)
        with pytest.raises(NotFittedError):
            forest.predict(X)
        assert not hasattr(forest, "oob_decision_function_")
        forest = clone(forest).set_params(oob_score=True).fit(X, y).set_params(oob_score=raising)


def test_a_raising_score_in_a_warm_start_keeps_the_old_trees(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = RobustForestClassifier(4, warm_start=True, random_state=0).fit(X, y)
    proba = forest.predict_proba(X)
    with pytest.raises(RuntimeError, match="no score today"):
        forest.set_params(n_estimators=8, oob_score=raising).fit(X, y)
    assert_array_equal(forest.predict_proba(X), proba)
    assert len(forest) == len(forest.estimators_samples_) == 4


@pytest.mark.parametrize("cls", ALL_FORESTS)
@pytest.mark.parametrize("n_estimators", [2**31, 2**64, 2**70])
def test_more_trees_than_can_be_counted(cls: Any, n_estimators: int) -> None:
    with pytest.raises(ValueError, match=r"'n_estimators' parameter .* range \[1, 1000000\]"):
        cls(n_estimators).fit([[0.0], [1.0]], [0, 1])


def test_threads_are_not_many_more_than_processors() -> None:
    """4,096 threads took 3 s to fit 60 rows."""
    assert n_threads(2**70) <= max(64, 2 * (os.cpu_count() or 1))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_more_threads_than_can_be_counted(cls: Any, rng: np.random.Generator) -> None:
    if "n_jobs" in cls._get_param_names():
        X, y, _ = continuous(2, rng)
        few, many = (
            small(cls, 3)(n_jobs=n_jobs, random_state=0).fit(X, y).predict_proba(X)
            for n_jobs in (1, 2**70)
        )
        assert_array_equal(few, many)

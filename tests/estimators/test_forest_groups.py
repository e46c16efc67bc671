"""Forests draw whole groups of rows, checked against the bags of their trees, tree by tree."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from cases import NAMES, Array, Data, ties
from forests import EVERY_FOREST, assert_same_forest, bags
from hypothesis import given
from hypothesis import strategies as st
from joblib.parallel import ThreadingBackend
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, cross_val_score

from hardwood import ANEForestClassifier, RobustForestClassifier
from hardwood._core import spread

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return ties(3, rng)


@pytest.fixture
def groups(data: Data, rng: np.random.Generator) -> Array:
    """Some 60 groups, of very different sizes, named by text."""
    numbers = np.minimum(rng.geometric(0.02, len(data.y)), 60)
    return np.array([f"patient {number}" for number in numbers])


def drawn_groups(times: Array, groups: Array) -> Array:
    """How often each tree draws each group; all rows of a group must have been drawn as often."""
    of_group = []
    for group in np.unique(groups):
        of_rows = times[:, groups == group]
        assert_array_equal(of_rows, np.repeat(of_rows[:, :1], of_rows.shape[1], axis=1))
        of_group.append(of_rows[:, 0])
    return np.array(of_group).T


# --- the draws -----------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("max_samples", [None, 7, 0.5])
def test_whole_groups_are_drawn_and_max_samples_counts_them(
    cls: Any, max_samples: Any, data: Data, groups: Array
) -> None:
    forest = cls(40, bootstrap=True, max_samples=max_samples, random_state=3)
    times = drawn_groups(bags(forest, data.X, groups=groups), groups)
    n_groups = times.shape[1]
    assert_array_equal(times.sum(axis=1), {None: n_groups, 7: 7, 0.5: n_groups // 2}[max_samples])
    assert (times == 0).any(axis=0).all()
    assert (times > 1).any()


def test_large_groups_are_out_of_bag_as_often_as_small_ones(data: Data, groups: Array) -> None:
    times = drawn_groups(
        bags(RobustForestClassifier(400, random_state=0), data.X, None, groups), groups
    )
    out_of_bag = (times == 0).mean(axis=0)
    assert_allclose(out_of_bag, np.exp(-1), atol=0.12)


def test_weights_make_groups_likelier_by_their_mean(data: Data, groups: Array) -> None:
    weight = np.where(groups == groups[0], 4.0, 1.0)
    times = drawn_groups(
        bags(RobustForestClassifier(400, random_state=0), data.X, weight, groups), groups
    )
    likelier = np.unique(groups) == groups[0]
    share = times[:, likelier].mean() / times[:, ~likelier].mean()
    assert 3.7 < share < 4.3


@EVERY_FOREST
@pytest.mark.parametrize("weighted", [False, True])
def test_votes_are_those_of_trees_that_did_not_draw_the_group(
    cls: Any, weighted: bool, data: Data, groups: Array, rng: np.random.Generator
) -> None:
    weight = rng.exponential(size=len(data.y)) if weighted else None
    forest = cls(50, bootstrap=True, oob_score=True, random_state=5)
    forest.fit(data.X, data.y, weight, groups=groups)
    votes, n_votes = np.zeros((len(data.y), 3)), np.zeros((len(data.y), 1))
    times = bags(forest, data.X, weight, groups)
    drawn_groups(times, groups)
    for tree, of_tree in zip(forest.estimators_, times, strict=True):
        out = of_tree == 0
        votes[out] += tree.predict_proba(data.X[out])
        n_votes[out] += 1
    assert_allclose(forest.oob_decision_function_, votes / np.maximum(n_votes, 1), atol=1e-12)


@pytest.mark.parametrize("criterion", [name for name in NAMES if name != "ranking"])
@pytest.mark.parametrize("class_weight", [None, "balanced_subsample"])
def test_rows_of_a_drawn_group_weigh_as_much_as_it_was_drawn(
    criterion: str, class_weight: Any, data: Data, groups: Array
) -> None:
    forest = RobustForestClassifier(
        10, criterion=criterion, class_weight=class_weight, random_state=1
    ).fit(data.X, data.y, groups=groups)
    times = bags(forest, data.X, None, groups)
    for tree, of_tree in zip(forest.estimators_, times, strict=True):
        counts = np.bincount(data.y, of_tree, minlength=3)
        expected = counts if class_weight is None else np.full(3, counts.sum() / 3)
        root = tree.tree_.value[0, 0] * tree.tree_.weighted_n_node_samples[0]
        assert_allclose(root, expected)
        assert tree.tree_.n_node_samples[0] == np.count_nonzero(of_tree)


def test_the_smallest_leaf_weighs_a_share_of_the_rows_not_of_the_groups(
    data: Data, groups: Array
) -> None:
    share = 0.1
    forest = RobustForestClassifier(20, min_weight_fraction_leaf=share, random_state=1)
    forest.fit(data.X, data.y, groups=groups)
    expected = share * len(data.y)  # what a tree draws on average
    for tree in forest.estimators_:
        leaves = tree.tree_.children_left < 0
        if leaves.sum() > 1:
            assert tree.tree_.weighted_n_node_samples[leaves].min() >= expected


def test_copies_of_every_row_are_judged_as_the_single_rows_are(data: Data) -> None:
    forest = RobustForestClassifier(60, criterion="gini", oob_score=True, random_state=0)
    single = forest.fit(data.X, data.y).oob_decision_function_
    # Four, a power of two, so that gains round as they do for single rows.
    X, y, groups = np.tile(data.X, (4, 1)), np.tile(data.y, 4), np.tile(np.arange(len(data.y)), 4)
    forest.fit(X, y, groups=groups)
    assert_allclose(forest.oob_decision_function_, np.tile(single, (4, 1)), atol=1e-12)


# --- the same bits -------------------------------------------------------------------------------


@given(
    st.integers(0, 2**31 - 1), st.booleans(), st.sampled_from([None, 0.6, 20]), st.integers(2, 80)
)
def test_groups_of_one_row_change_nothing(
    seed: int, weighted: bool, max_samples: Any, n_rows: int
) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (n_rows, 3)), rng.integers(0, 3, n_rows)
    weight = rng.integers(0, 4, n_rows) + (y == y[0]) if weighted else None
    alone = rng.permutation(n_rows) * 7 - 3
    forest = RobustForestClassifier(4, max_samples=max_samples, oob_score=True, random_state=seed)
    expected = forest.fit(X, y, weight).oob_decision_function_
    trees = list(forest.estimators_)
    forest.fit(X, y, weight, groups=alone)
    assert_array_equal(forest.oob_decision_function_, expected)
    for tree, same in zip(trees, forest.estimators_, strict=True):
        assert tree.tree_.__getstate__()["nodes"].tobytes() == (
            same.tree_.__getstate__()["nodes"].tobytes()
        )


@EVERY_FOREST
def test_threads_workers_and_warm_starts_do_not_matter(
    cls: Any, data: Data, groups: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(n_jobs: int = 1, n_trees: int = 12, **parameters: Any) -> Any:
        forest = cls(n_trees, bootstrap=True, random_state=2, n_jobs=n_jobs, **parameters)
        return forest.fit(data.X, data.y, groups=groups)

    expected = fitted()
    assert_same_forest(fitted(n_jobs=3), expected)
    grown_twice = fitted(n_trees=5, warm_start=True).set_params(n_estimators=12)
    assert_same_forest(grown_twice.fit(data.X, data.y, groups=groups), expected)
    monkeypatch.setattr(spread, "_LOCAL_BACKENDS", set())  # as if the threads were workers
    with joblib.parallel_backend("threading", n_jobs=3):
        assert isinstance(joblib.parallel.get_active_backend()[0], ThreadingBackend)
        assert_same_forest(fitted(n_jobs=3), expected)


@EVERY_FOREST
def test_groups_do_nothing_without_draws(cls: Any, data: Data, groups: Array) -> None:
    forest = cls(5, bootstrap=False, random_state=0)
    trees = list(forest.fit(data.X, data.y).estimators_)
    grouped = forest.fit(data.X, data.y, groups=groups)
    assert [tree.tree_.node_count for tree in trees] == [
        tree.tree_.node_count for tree in grouped.estimators_
    ]


# --- input ---------------------------------------------------------------------------------------

TAKES_GROUPS = pytest.mark.parametrize("cls", [RobustForestClassifier, ANEForestClassifier])


@TAKES_GROUPS
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(149), "groups has 149 entries, but X has 150 rows"),
        (np.zeros((150, 2)), r"groups must be one-dimensional.*shape \(150, 2\)"),
        (7, r"groups must be one-dimensional.*shape \(\)"),
        ([np.nan, *range(149)], "groups has 1 missing values, the first in row 0"),
        (["a", "b", None, *"c" * 147], "groups has 1 missing values, the first in row 2"),
    ],
)
def test_wrong_groups(cls: Any, groups: Any, message: str, data: Data) -> None:
    with pytest.raises(ValueError, match=message):
        cls(2).fit(data.X, data.y, groups=groups)


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", "datetime64[ns]"])
def test_missing_values_of_pandas(dtype: str, data: Data) -> None:
    pandas = pytest.importorskip("pandas")
    values = pandas.Series([None, *["2020"] * (len(data.y) - 1)])
    values = values.astype("float").astype(dtype) if dtype == "Int64" else values.astype(dtype)
    with pytest.raises(ValueError, match="groups has 1 missing values, the first in row 0"):
        RobustForestClassifier(2).fit(data.X, data.y, groups=values)


def test_groups_of_any_kind_are_told_apart_by_their_values(data: Data) -> None:
    numbers = np.arange(len(data.y)) // 3
    pandas = pytest.importorskip("pandas")
    forest = RobustForestClassifier(5, oob_score=True, random_state=0)
    expected = forest.fit(data.X, data.y, groups=numbers).oob_decision_function_
    for same in (
        numbers / 7,
        numbers.astype(str),
        list(map(str, numbers)),
        [number if number % 2 else f"odd {number}" for number in numbers],
        pandas.Series(numbers).astype("category"),
        pandas.Series(numbers, index=numbers[::-1], dtype="Int64"),
        pandas.to_datetime(pandas.Series(numbers), unit="D"),
    ):
        again = forest.fit(data.X, data.y, groups=same).oob_decision_function_
        assert_array_equal(again, expected)


def test_a_row_without_weight_does_not_make_its_group_likelier(data: Data) -> None:
    weight = np.ones(len(data.y))
    weight[:30] = 0
    groups = np.arange(len(data.y)) % 50
    forest = RobustForestClassifier(5, random_state=0)
    with_weight = (part[30:] for part in (data.X, data.y, weight))
    expected = list(forest.fit(*with_weight, groups=groups[30:]).estimators_)
    forest.fit(data.X, data.y, weight, groups=groups)
    for tree, same in zip(forest.estimators_, expected, strict=True):
        assert_array_equal(tree.tree_.threshold, same.tree_.threshold)


def test_metadata_routing_passes_groups_on(data: Data, groups: Array) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        forest = RobustForestClassifier(5, random_state=0).set_fit_request(groups=True)
        scores = cross_val_score(
            forest, data.X, data.y, cv=GroupKFold(3), params={"groups": groups}
        )
        unrouted = cross_val_score(
            RobustForestClassifier(5, random_state=0).set_fit_request(groups=False),
            *(data.X, data.y),
            cv=GroupKFold(3),
            params={"groups": groups},
        )
    assert len(scores) == 3
    assert not np.array_equal(scores, unrouted)

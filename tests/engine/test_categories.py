"""Splits by categories: the found sets are best ones, by brute force."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import CRITERIA, Data, noisy_labels, with_classes
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from oracle import Criterion, all_sets, gain
from tree_check import check_tree

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier, RobustTreeClassifier
from hardwood._core import _engine
from hardwood.criteria import Credal, CustomImpurity, FromLoss, Ranking
from hardwood.losses import NegativeExponential

# Credal scores splits and is no impurity, so that the best set may be another.
IMPURITIES = [criterion for criterion in CRITERIA if not isinstance(criterion, Credal)]
SEVEN = 7  # categories of which all sets are tried, whatever the classes


def with_categories(
    n_classes: int, rng: np.random.Generator, *n_categories: int, n_rows: int = 150
) -> Data:
    """Columns of categories whose order means nothing, and one of numbers."""
    X = np.column_stack([rng.integers(0, n, n_rows) for n in n_categories]).astype(float)
    shuffled = np.column_stack(
        [rng.permutation(n)[X[:, j].astype(int)] for j, n in enumerate(n_categories)]
    )
    y = noisy_labels(np.column_stack([shuffled, shuffled]), n_classes, rng)
    return Data(np.column_stack([X, rng.normal(size=n_rows).round(1)]), y)


def weights_of(kind: str, n_rows: int, rng: np.random.Generator) -> Any:
    match kind:
        case "whole":
            return rng.integers(0, 4, n_rows).astype(float)
        case "real":
            return rng.exponential(size=n_rows)
        case _:
            return None


def tree_of(data: Data, criterion: Any, **options: Any) -> RobustTreeClassifier:
    columns = list(range(data.X.shape[1] - 1))
    tree = RobustTreeClassifier(
        criterion=criterion, categorical_features=columns, random_state=0, **options
    )
    return tree.fit(data.X, data.y, data.weight)


@pytest.mark.parametrize("criterion", IMPURITIES, ids=str)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("has_missing", [False, True])
def test_two_classes(criterion: Any, weights: str, has_missing: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, _ = with_categories(2, rng, 10, 6, 3)
    if has_missing:
        X[rng.random(X.shape) < [0.2, 0.05, 0.1, 0.1]] = np.nan
    data = Data(X, y, weights_of(weights, len(y), rng))
    tree = tree_of(data, criterion)
    assert tree._compact.has_sets
    check_tree(tree, *data)


@pytest.mark.parametrize(("criterion", "n_classes"), with_classes(CRITERIA, 3, 7), ids=str)
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
def test_few_categories_and_more_classes(
    criterion: Any, n_classes: int, weights: str, rng: np.random.Generator
) -> None:
    X, y, _ = with_categories(n_classes, rng, SEVEN - 1, 4, 2)
    X[rng.random(X.shape) < 0.1] = np.nan  # a category more
    data = Data(X, y, weights_of(weights, len(y), rng))
    tree = tree_of(data, criterion)
    check_tree(tree, *data)


@pytest.mark.parametrize(
    "criterion",
    [CustomImpurity(lambda p: 1 - p.max(axis=1)), FromLoss(NegativeExponential(lam=0.4))],
)
def test_impurities_of_ones_own(criterion: Any, rng: np.random.Generator) -> None:
    data = with_categories(2, rng, 8, 5)
    check_tree(tree_of(data, criterion), *data, accuracy=1e-6)


def test_large_nodes(rng: np.random.Generator) -> None:
    data = with_categories(2, rng, 10, 9, n_rows=6000)
    for criterion in ("gini", "ne", "misclassification"):
        check_tree(tree_of(data, criterion, max_depth=5), *data)


def test_a_column_that_is_mostly_one_category(rng: np.random.Generator) -> None:
    X = np.where(rng.random((9000, 3)) < 0.95, 2.0, rng.integers(0, 9, (9000, 3)))
    y = noisy_labels(np.isin(X, [0, 3, 5]), 2, rng)
    data = Data(X, y)
    check_tree(tree_of(data, "gini", max_depth=4), *data)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("smoothing", [0.0, 10.0])
def test_many_categories_and_more_classes(
    n_classes: int, smoothing: float, rng: np.random.Generator
) -> None:
    """The best cut of any class's order is a lower bound of what is found."""
    X, y, _ = with_categories(n_classes, rng, 30, n_rows=2000)
    tree = RobustTreeClassifier(
        criterion="gini", categorical_features=[0], max_depth=1, category_smoothing=smoothing
    ).fit(X[:, :1], y)
    counts = np.zeros((30, n_classes))
    np.add.at(counts, (X[:, 0].astype(int), y), 1)
    best = 0.0
    prior = counts.sum(axis=0) / counts.sum()
    for k in range(n_classes):
        share = (counts[:, k] + smoothing * prior[k]) / (counts.sum(axis=1) + smoothing)
        left = counts[np.argsort(share, kind="stable")].cumsum(axis=0)[:-1]
        gains = gain(Criterion("gini"), left, counts.sum(axis=0) - left, len(y))
        best = max(best, float(gains.max()))
    assert tree._compact.expand()["gain"][0] >= best * (1 - 1e-12)


def test_smoothing_moves_rare_categories_to_the_middle(rng: np.random.Generator) -> None:
    """A category of one row is the purest, but smoothed it is like the node."""
    x = np.array([0] * 50 + [1] * 50 + [2])
    y = np.array([0] * 40 + [1] * 10 + [0] * 10 + [1] * 40 + [1])
    for smoothing, expected in ((0.0, {0}), (1e9, {0})):
        tree = RobustTreeClassifier(
            criterion="gini", categorical_features=[0], max_depth=1, category_smoothing=smoothing
        ).fit(x[:, None], y)
        assert set(tree._compact.category_set(0)) == expected


@pytest.mark.parametrize("criterion", ["gini", "ne", "entropy"])
@pytest.mark.parametrize("weights", ["none", "real"])
def test_random_sets(criterion: Any, weights: str, rng: np.random.Generator) -> None:
    X, y, _ = with_categories(3, rng, 12, 5)
    X[rng.random(X.shape) < 0.1] = np.nan
    data = Data(X, y, weights_of(weights, len(y), rng))
    trees = [tree_of(data, criterion, splitter="random") for _ in range(2)]
    check_tree(trees[0], *data)
    assert_array_equal(trees[0]._compact.nodes, trees[1]._compact.nodes)


def test_random_sets_have_each_category_half_of_the_time() -> None:
    X = np.arange(6.0)[:, None].repeat(40, axis=0)
    y = (X[:, 0] >= 3).astype(int)
    forest = RobustExtraTreesClassifier(
        2000, categorical_features=[0], max_depth=1, criterion="gini", random_state=0
    ).fit(X, y)
    compact = forest._compact
    roots = compact.node_start[:-1][np.diff(compact.node_start) > 1]
    together = [len({0, 1} & set(compact.category_set(int(root)).tolist())) != 1 for root in roots]
    # Of the 62 sets, those that gain something: 0 and 1 are together in a bit less than half.
    assert 0.4 < np.mean(together) < 0.6


def test_a_node_without_gain_is_not_split(rng: np.random.Generator) -> None:
    """Categories of the same shares, whatever their sizes, are never parted."""
    sizes = [3, 6, 9, 30, 300]
    x = np.concatenate([np.full(3 * size, j) for j, size in enumerate(sizes)])
    y = np.concatenate([np.repeat([0, 1, 1], size) for size in sizes])
    for criterion in ("gini", "entropy", "ne", "sqrt_gini", "gce", "misclassification"):
        for weight in (None, np.full(len(y), 0.1)):
            tree = RobustTreeClassifier(criterion=criterion, categorical_features=[0])
            assert tree.fit(x[:, None], y, weight).get_n_leaves() == 1


def test_the_largest_number_of_categories(rng: np.random.Generator) -> None:
    x = np.concatenate([np.arange(65_535), rng.integers(0, 65_535, 20_000)]).astype(float)
    x[-100:] = np.nan
    parity = np.where(np.isnan(x), 1, x % 2).astype(int)
    for n_classes, y in ((2, parity), (3, np.where(np.nan_to_num(x) % 3 == 0, 2, parity))):
        tree = RobustTreeClassifier(criterion="gini", categorical_features=[0], max_depth=8)
        tree.fit(x[:, None], y)
        assert tree.score(x[:, None], y) == 1.0
        assert len(tree.classes_) == n_classes


def test_forests_are_the_same_on_any_number_of_threads(rng: np.random.Generator) -> None:
    X, y, _ = with_categories(3, rng, 30, 8, 5, n_rows=6000)
    for forest_class in (RobustForestClassifier, RobustExtraTreesClassifier):
        forests = [
            forest_class(4, categorical_features=[0, 1, 2], random_state=0, n_jobs=n).fit(X, y)
            for n in (1, 3)
        ]
        one, other = (forest._compact.forest for forest in forests)
        for name in ("nodes", "set_words", "set_start", "entry_count"):
            assert_array_equal(getattr(one, name), getattr(other, name))


def test_only_whole_numbers_are_categories() -> None:
    for wrong in (-1.0, 0.5, 65_535.0, 1e12):
        with pytest.raises(ValueError, match="whole numbers from 0 to 65534"):
            _engine.code(np.array([[0.0], [wrong]]), 1, [0])
    with pytest.raises(ValueError, match="no such column"):
        _engine.code(np.array([[0.0], [1.0]]), 1, [1])


# --- any data ------------------------------------------------------------------------------------


@st.composite
def data_sets(draw: Any) -> tuple[Data, list[bool]]:
    n_rows, n_features = draw(st.integers(1, 30)), draw(st.integers(1, 3))
    values = st.integers(0, draw(st.integers(1, 9))).map(float)
    values = st.one_of(values, st.just(np.nan)) if draw(st.booleans()) else values
    X = draw(hnp.arrays(np.float64, (n_rows, n_features), elements=values))
    y = draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, 1)))
    weights = draw(st.sampled_from([None, st.integers(1, 3), st.floats(0.1, 10)]))
    weight = None if weights is None else draw(hnp.arrays(np.float64, n_rows, elements=weights))
    return Data(X, y, weight), draw(
        st.lists(st.booleans(), min_size=n_features, max_size=n_features)
    )


@given(data_sets(), st.sampled_from(IMPURITIES), st.sampled_from([None, 3]))
def test_every_tree_of_two_classes_passes_the_oracle(
    case: tuple[Data, list[bool]], criterion: Any, limit: int | None
) -> None:
    data, is_categorical = case
    tree = RobustTreeClassifier(
        criterion=criterion, categorical_features=is_categorical, max_leaf_nodes=limit
    )
    check_tree(tree.fit(*data), *data)


@given(data_sets(), st.sampled_from(CRITERIA), st.permutations(range(10)))
def test_the_numbers_of_the_categories_do_not_matter(
    case: tuple[Data, list[bool]], criterion: Any, renamed: list[int]
) -> None:
    """They may only break ties: the root gains the same."""
    data, is_categorical = case
    assume(not isinstance(criterion, Ranking) or len(np.unique(data.y)) <= 2)
    X = data.X.copy()
    for column in np.flatnonzero(is_categorical):
        known = ~np.isnan(X[:, column])
        X[known, column] = np.array(renamed)[X[known, column].astype(int)]
    gains = [
        RobustTreeClassifier(criterion=criterion, categorical_features=is_categorical, max_depth=1)
        .fit(table, data.y, data.weight)
        ._compact.expand()["gain"][0]
        for table in (data.X, X)
    ]
    assert gains[0] == pytest.approx(gains[1], rel=1e-9, abs=1e-12)


# --- the oracle itself ---------------------------------------------------------------------------


def test_all_sets() -> None:
    x = np.array([2.0, 5.0, 5.0, np.nan])
    sets = all_sets(x, np.array([0, 1, 0, 1]), np.ones(4), 2)
    assert_array_equal(sets.left, [[0, 1], [1, 0], [1, 1]])
    assert_array_equal(sets.right, [[2, 1], [1, 2], [1, 1]])
    assert_array_equal(sets.missing_left, [True, False, True])
    assert_array_equal(sets.rows_left, [1, 1, 2])


def test_two_classes_are_best_cut_in_the_order_of_their_shares(rng: np.random.Generator) -> None:
    """What the search rests on: no set gains more than the best cut of the order."""
    for criterion in IMPURITIES:
        counts = rng.integers(0, 6, (9, 2))
        counts[:, 0] += 1
        x, y = np.repeat(np.arange(9), 2), np.tile([0, 1], 9)
        sets = all_sets(x.astype(float), y, counts.ravel(), 2)
        best = gain(Criterion.of(criterion), sets.left, sets.right, counts.sum()).max()
        order = np.argsort(counts[:, 1] / counts.sum(axis=1))
        cuts = [(counts[order[:i]].sum(axis=0), counts[order[i:]].sum(axis=0)) for i in range(1, 9)]
        found = max(gain(Criterion.of(criterion), *cut, counts.sum()) for cut in cuts)
        assert found >= best * (1 - 1e-12)
        assert len(list(pairwise(cuts))) == 7

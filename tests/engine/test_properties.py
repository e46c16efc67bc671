"""Properties that hold on any data, with hypothesis looking for data on which they do not."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from cases import CRITERIA, Data
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from tree_check import check_tree
from trees import assert_same_splits, assert_same_tree

from hardwood import RobustTreeClassifier
from hardwood.criteria import Ranking

criteria = st.sampled_from(CRITERIA)
# Powers of two go through these without rounding; logarithms and credal's mass s do not scale.
scale_free = st.sampled_from(["gini", "misclassification", "sqrt_gini", "ne"])
whole_weights = st.integers(0, 3)
real_weights = st.floats(0, 10, allow_subnormal=False).map(lambda w: w if w > 1e-6 else 0.0)


@st.composite
def data_sets(draw: Any, weights: Any = None, nan: bool = True) -> Data:
    """Few rows, few values, few classes: ties everywhere."""
    n_rows, n_features = draw(st.integers(1, 30)), draw(st.integers(1, 4))
    values = st.integers(0, draw(st.integers(1, 6))).map(float)
    if nan:
        values = st.one_of(values, st.just(np.nan)) if draw(st.booleans()) else values
    X = draw(hnp.arrays(np.float64, (n_rows, n_features), elements=values))
    y = draw(hnp.arrays(np.int64, n_rows, elements=st.integers(0, draw(st.integers(1, 4)))))
    if weights is None:
        return Data(X, y)
    weight = draw(hnp.arrays(np.float64, n_rows, elements=weights))
    assume(weight.sum() > 0)
    return Data(X, y, weight)


any_weights = st.sampled_from([None, whole_weights, real_weights])


def fit(data: Data, criterion: Any = "ne", **options: Any) -> RobustTreeClassifier:
    assume(not isinstance(criterion, Ranking) or len(np.unique(data.y)) <= 2)
    tree = RobustTreeClassifier(criterion=criterion, random_state=0, **options)
    return tree.fit(data.X, data.y, data.weight)


# --- what a tree is ------------------------------------------------------------------------------


@given(any_weights.flatmap(data_sets), criteria, st.sampled_from([None, 2, 4]))
def test_every_tree_passes_the_oracle(data: Data, criterion: Any, limit: int | None) -> None:
    check_tree(fit(data, criterion, max_leaf_nodes=limit), *data)


@given(any_weights.flatmap(data_sets), criteria)
def test_random_trees_pass_the_oracle(data: Data, criterion: Any) -> None:
    check_tree(fit(data, criterion, splitter="random"), *data)


@given(data_sets(), criteria)
def test_children_share_out_their_parent(data: Data, criterion: Any) -> None:
    tree = fit(data, criterion).tree_
    inner = tree.children_left != -1
    left, right = tree.children_left[inner], tree.children_right[inner]
    for counts in (tree.n_node_samples, tree.weighted_n_node_samples):
        assert_array_equal(counts[left] + counts[right], counts[inner])
    assert sorted([*left, *right]) == list(range(1, tree.node_count))


@given(data_sets(), criteria)
def test_leaves_hold_the_rows_that_apply_sends_there(data: Data, criterion: Any) -> None:
    tree = fit(data, criterion)
    rows = np.bincount(tree.apply(data.X), minlength=tree.tree_.node_count)
    leaf = tree.tree_.children_left == -1
    assert_array_equal(rows[leaf], tree.tree_.n_node_samples[leaf])
    assert not rows[~leaf].any()


@given(data_sets(), criteria, st.data())
def test_anything_finite_or_missing_can_be_predicted(
    data: Data, criterion: Any, draw: st.DataObject
) -> None:
    tree = fit(data, criterion)
    values = st.one_of(st.floats(allow_infinity=False), st.just(np.nan))
    X = draw.draw(hnp.arrays(np.float64, (5, data.X.shape[1]), elements=values))
    assert (tree.tree_.children_left[tree.apply(X)] == -1).all()
    proba = tree.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    assert (proba >= 0).all()
    assert np.isin(tree.predict(X), data.y).all()


# --- what does not matter ------------------------------------------------------------------------


@given(data_sets(whole_weights), criteria, st.randoms(use_true_random=False))
def test_the_order_of_rows(data: Data, criterion: Any, random: Any) -> None:
    order = random.sample(range(len(data.y)), len(data.y))
    shuffled = Data(data.X[order], data.y[order], data.weight[order])
    assert_same_tree(fit(data, criterion), fit(shuffled, criterion))


@given(data_sets(), criteria, st.integers(-9, 9))
def test_the_unit_of_a_column(data: Data, criterion: Any, power: int) -> None:
    """Thresholds scale along, exactly for a power of two."""
    scaled = data.X.copy()
    scaled[:, 0] *= 2.0**power
    one, other = fit(data, criterion), fit(Data(scaled, data.y), criterion)
    first = one.tree_.feature == 0
    assert_array_equal(one.tree_.feature, other.tree_.feature)
    assert_array_equal(one.tree_.threshold[first] * 2.0**power, other.tree_.threshold[first])
    assert_array_equal(one.tree_.threshold[~first], other.tree_.threshold[~first])


@given(data_sets(), criteria)
def test_the_spacing_of_a_column(data: Data, criterion: Any) -> None:
    """Only the order of values counts: thresholds move, but part the same rows."""
    one, other = fit(data, criterion), fit(Data(np.expm1(data.X), data.y), criterion)
    assert_array_equal(one.tree_.feature, other.tree_.feature)
    assert_array_equal(one.apply(data.X), other.apply(np.expm1(data.X)))


@given(data_sets(real_weights), scale_free, st.integers(-60, 60))
def test_the_unit_of_the_weights(data: Data, criterion: Any, power: int) -> None:
    scaled = Data(data.X, data.y, data.weight * 2.0**power)
    assert_same_tree(fit(data, criterion), fit(scaled, criterion), but=("weighted_n_node_samples",))


@given(any_weights.flatmap(data_sets), criteria)
def test_the_names_of_the_labels(data: Data, criterion: Any) -> None:
    renamed = Data(data.X, np.array(["a", "b", "c", "d", "e"])[data.y], data.weight)
    assert_same_tree(fit(data, criterion), fit(renamed, criterion))


@given(data_sets(), criteria)
def test_a_constant_column(data: Data, criterion: Any) -> None:
    """It is never split on. Ties fall as the features are drawn, so the tree may differ."""
    wider = Data(np.column_stack([np.full(len(data.y), 3.0), data.X]), data.y)
    one, other = fit(data, criterion, max_depth=1), fit(wider, criterion, max_depth=1)
    assert 0 not in other.tree_.feature
    gains = [check_tree(one, data.X, data.y)[0], check_tree(other, wider.X, wider.y)[0]]
    assert_allclose(gains[0], gains[1], rtol=1e-9)


@given(data_sets(nan=False), criteria)
def test_a_repeated_fit(data: Data, criterion: Any) -> None:
    tree = fit(data, criterion)
    first = [array.copy() for array in (tree.tree_.feature, tree.tree_.threshold)]
    assert_same_splits(tree.fit(data.X, data.y), fit(data, criterion))
    assert_array_equal(tree.tree_.feature, first[0])
    assert_array_equal(tree.tree_.threshold, first[1])


# --- arrays of any kind --------------------------------------------------------------------------

any_array = hnp.arrays(
    dtype=st.one_of(
        hnp.scalar_dtypes(),
        st.sampled_from([np.dtype(object), np.dtype("U3"), np.dtype("f2")]),
    ),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
    elements=None,
)


refusal = suppress(ValueError, TypeError)  # scikit-learn's usual types, and no other


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@given(any_array, any_array, st.one_of(st.none(), any_array))
def test_any_arrays_fit_or_are_refused(X: Any, y: Any, weight: Any) -> None:
    with refusal, np.errstate(all="ignore"):
        RobustTreeClassifier().fit(X, y, weight)


@given(any_array, data_sets())
def test_any_arrays_are_predicted_or_refused(X: Any, data: Data) -> None:
    tree = fit(data)
    with refusal, np.errstate(all="ignore"):
        tree.predict(X)

"""Reasons for a suggested label: contributions of features along the paths of a forest."""

import numpy as np
import pandas as pd
import pytest
from audits import FORESTS
from sklearn.ensemble import RandomForestClassifier

from hardwood import RobustForestClassifier
from hardwood.audit.report.reasons import contributions
from hardwood.noise import corrupt, uniform


def some_data(rng, n_rows=300, n_features=6, n_classes=3, missing=0.1):
    X = rng.normal(size=(n_rows, n_features)).round(1)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8) * (n_classes - 2)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def by_hand(tree, x, one, other, min_rows):
    """The same for one row and one tree, step by step."""
    t = tree.tree_
    p = t.value[:, 0] / t.value[:, 0].sum(axis=1, keepdims=True)
    evidence = p[:, one] - p[:, other]
    by_feature, node = np.zeros(t.n_features), 0
    while t.children_left[node] != -1:
        feature = t.feature[node]
        left = (
            t.missing_go_to_left[node] if np.isnan(x[feature]) else x[feature] <= t.threshold[node]
        )
        child = (t.children_left if left else t.children_right)[node]
        if t.n_node_samples[child] < min_rows:
            break
        by_feature[feature] += evidence[child] - evidence[node]
        node = child
    return by_feature, evidence[0], evidence[node]


@pytest.mark.parametrize("min_rows", [1, 15])
@pytest.mark.parametrize("kind", FORESTS)
def test_contributions_are_those_of_single_paths(kind, min_rows, rng):
    X, y = some_data(rng)
    forest = kind(16, random_state=0).fit(X, y)
    # scikit-learn's trees compare in single precision.
    rows = X[:40].astype(np.float32 if isinstance(forest, RandomForestClassifier) else np.float64)
    one, other = rng.integers(3, size=(2, 40))
    found = contributions(forest.estimators_, rows, one, other, min_rows=min_rows)
    for i, x in enumerate(rows):
        parts = [by_hand(tree, x, one[i], other[i], min_rows) for tree in forest.estimators_]
        by_feature, root, last = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        np.testing.assert_allclose(found.by_feature[i], by_feature, atol=1e-6)
        assert found.root[i] == pytest.approx(root)
        assert found.last[i] == pytest.approx(last)


def by_hand_with_sets(tree, x, one, other, min_rows):
    """The same, for a tree that splits by sets: categories in the set leave the missing ones."""
    nodes, are_sets = tree._compact.expand(), tree._compact.are_sets()
    p = nodes["value"] / nodes["value"].sum(axis=1, keepdims=True)
    evidence = p[:, one] - p[:, other]
    by_feature, node = np.zeros(len(x)), 0
    while nodes["left_child"][node] >= 0:
        feature = nodes["feature"][node]
        value, missing_left = x[feature], bool(nodes["missing_go_to_left"][node])
        if are_sets[node]:
            is_inside = not np.isnan(value) and int(value) in tree._compact.category_set(node)
            left = is_inside != missing_left
        else:
            left = missing_left if np.isnan(value) else value <= nodes["threshold"][node]
        child = nodes["left_child" if left else "right_child"][node]
        if nodes["n_node_samples"][child] < min_rows:
            break
        by_feature[feature] += evidence[child] - evidence[node]
        node = child
    return by_feature, evidence[0], evidence[node]


@pytest.mark.parametrize("min_rows", [1, 15])
def test_sets_of_categories_have_reasons(min_rows, rng):
    X, y = some_data(rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["a"] = frame["a"].round().map("level {:g}".format, na_action="ignore")
    forest = RobustForestClassifier(16, random_state=0).fit(frame, y)
    assert forest._compact.has_sets
    numbers = forest.encode_categories(frame)[:40]
    one, other = rng.integers(3, size=(2, 40))
    found = contributions(forest.estimators_, numbers, one, other, min_rows=min_rows)
    for i, x in enumerate(numbers):
        parts = [by_hand_with_sets(t, x, one[i], other[i], min_rows) for t in forest.estimators_]
        by_feature, root, last = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
        np.testing.assert_allclose(found.by_feature[i], by_feature, atol=1e-6)
        assert found.root[i] == pytest.approx(root)
        assert found.last[i] == pytest.approx(last)


def test_contributions_lead_from_the_root_to_the_prediction(rng):
    X, y = some_data(rng)
    forest = RobustForestClassifier(30, random_state=0).fit(X, y)
    one, other = rng.integers(3, size=(2, len(X)))
    found = contributions(forest.estimators_, X, one, other, min_rows=1)
    p = forest.predict_proba(X)
    rows = np.arange(len(X))
    np.testing.assert_allclose(found.last, p[rows, one] - p[rows, other])
    np.testing.assert_allclose(found.root + found.by_feature.sum(axis=1), found.last, atol=1e-5)


def test_no_more_trees_are_looked_at_than_wanted(rng):
    X, y = some_data(rng)
    forest = RobustForestClassifier(30, random_state=0).fit(X, y)

    class Counted(list):
        asked = 0

        def __getitem__(self, place):
            self.asked += 1
            return super().__getitem__(place)

    trees = Counted(forest.estimators_)
    zeros = np.zeros(len(X), dtype=int)
    contributions(trees, X, zeros, zeros + 1, max_trees=7)
    assert trees.asked == 7


def test_a_forest_of_one_leaf_has_no_reasons():
    X = np.zeros((5, 2))
    forest = RobustForestClassifier(3, random_state=0).fit(X, [0, 1, 0, 1, 0])
    found = contributions(forest.estimators_, X, np.zeros(5, int), np.ones(5, int))
    assert not found.by_feature.any()
    np.testing.assert_array_equal(found.root, found.last)


def test_the_row_itself_is_not_the_reason(rng):
    """Trees have learnt wrong labels by heart; the reasons are still those of the true class."""
    X = rng.normal(size=(2000, 5))
    y, flipped = corrupt((X[:, 3] > 0).astype(int), uniform(2, 0.1), random_state=0)
    forest = RobustForestClassifier(30, criterion="gini", random_state=0).fit(X, y)
    rows = np.flatnonzero(flipped & (np.abs(X[:, 3]) > 0.3))
    given, suggested = y[rows], 1 - y[rows]
    found = contributions(forest.estimators_, X[rows], suggested, given)
    assert np.mean(found.by_feature.argmax(axis=1) == 3) > 0.95
    assert np.mean(found.last > 0) > 0.95
    by_heart = contributions(forest.estimators_, X[rows], suggested, given, min_rows=1)
    assert np.mean(by_heart.last > 0) < 0.5

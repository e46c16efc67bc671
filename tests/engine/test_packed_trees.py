"""Where there are many rows, trees are packed for them: nobody must be able to tell."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier

MISSING_LEFT = 1 << 31


def leaves_of(nodes: Any, X: Any) -> Any:
    """Follow rows down a tree as its nodes are stored, with the values as float64."""
    X = np.asarray(X).astype(np.float64)
    at = np.zeros(len(X), dtype=np.int64)
    while (walking := np.flatnonzero(nodes["feature"][at] >= 0)).size:
        node = nodes[at[walking]]
        x = X[walking, node["feature"]]
        missing_left = (node["child"] & MISSING_LEFT) != 0
        goes_left = np.where(np.isnan(x), missing_left, x <= node["threshold"])
        right = node["child"] & (MISSING_LEFT - 1)
        at[walking] = np.where(goes_left, at[walking] + 1, right)
    return at


def proba_of(forest: Any, X: Any) -> Any:
    """Average the leaves' proportions, in the order of the trees."""
    compact = forest._compact
    engine = compact.voting
    proba = np.zeros((len(X), engine.n_classes))
    for t in range(len(engine)):
        nodes = compact.node_fields()[engine.node_start[t] : engine.node_start[t + 1]]
        leaves = leaves_of(nodes, X)
        for leaf in np.unique(leaves):
            first, n = nodes["threshold"][leaf : leaf + 1].view("u4")[1], nodes["child"][leaf]
            entries = slice(engine.entry_start[t] + first, engine.entry_start[t] + first + n)
            counts = engine.entry_count[entries].astype(np.float64)
            shares = counts / sum(counts) if n > 1 else np.ones(1)
            proba[np.ix_(leaves == leaf, engine.entry_label[entries])] += shares
    return proba / len(engine)


def close(rng: Any, shape: Any) -> Any:
    """Numbers that float32 does not tell apart, or just so."""
    return 1 + rng.integers(0, 40, shape) * 2.0**-26


def extreme(rng: Any, shape: Any) -> Any:
    pool = [0.0, 5e-324, 1e-50, 1e-38, 1.0, 3e38, 4e38, 1e300]
    return rng.choice(pool, shape) * rng.choice([-1, 1], shape)


def steps32(rng: Any, shape: Any) -> Any:
    """Neighbouring numbers of float32, around zero too."""
    bits = rng.integers(0, 6, shape, dtype=np.int32) + rng.choice([0, 2**30], shape)
    return bits.astype(np.int32).view(np.float32) * rng.choice([-1, 1], shape)


def whole(rng: Any, shape: Any) -> Any:
    return rng.integers(-20, 20, shape)


def edges(rng: Any, shape: Any) -> Any:
    """Whole numbers on both sides of where 32 bits end."""
    return rng.choice([-(2**31), 2**31 - 1], shape) + rng.integers(-2, 3, shape)


def inside_edges(rng: Any, shape: Any) -> Any:
    return np.clip(edges(rng, shape), -(2**31), 2**31 - 1)


def unsigned_edges(rng: Any, shape: Any) -> Any:
    return np.abs(edges(rng, shape))


KINDS = [
    *[(make, "f8") for make in (close, extreme, steps32, whole, edges)],
    *[(make, "f4") for make in (steps32, whole)],
    *[(whole, dtype) for dtype in ("i1", "i2", "i4", "i8", "u1", "u2")],
    *[(inside_edges, "i4"), (edges, "i8"), (unsigned_edges, "u8"), (unsigned_edges, "u4")],
]


def laid_out(X: Any, layout: str) -> Any:
    """The same matrix in memory that is laid out otherwise."""
    match layout:
        case "columns":
            return np.asfortranarray(X)
        case "reversed":
            return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
        case "gaps":
            return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    return np.ascontiguousarray(X)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["rows", "columns", "reversed", "gaps"]),
    st.integers(1, 5),
    st.integers(1, 80),
    st.sampled_from([1, 2, 9]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([RobustForestClassifier, RobustExtraTreesClassifier]),
    st.integers(0, 2**32),
)
def test_probabilities_are_those_of_the_stored_nodes(
    kind: Any,
    layout: str,
    n_features: int,
    n_rows: int,
    n_classes: int,
    missing: float,
    cls: Any,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    make, dtype = kind
    X = make(rng, (n_rows, n_features)).astype(dtype)
    unseen = make(rng, (300, n_features)).astype(dtype)
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < missing * rng.integers(2)] = np.nan
        unseen[rng.random(unseen.shape) < missing] = np.nan
    forest = cls(3, random_state=0).fit(X, rng.integers(n_classes, size=n_rows))
    expected = proba_of(forest, unseen)
    for n_jobs in (1, 2):
        forest.n_jobs = n_jobs
        assert_array_equal(forest.predict_proba(laid_out(unseen, layout)), expected)
        assert_array_equal(forest.predict_proba(unseen[:1]), expected[:1])


@pytest.mark.parametrize(
    "fit", [{"class_weight": {0: 0.3, 1: 1.7}}, {"leaf_prediction": "optimal"}]
)
def test_counts_of_every_kind(fit: dict[str, Any], rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(400, 4)), rng.integers(2, size=400)
    forest = RobustForestClassifier(5, min_samples_leaf=4, random_state=0, **fit).fit(X, y)
    assert_array_equal(forest.predict_proba(X), proba_of(forest, X))


def test_trees_without_a_split_and_many_classes(rng: np.random.Generator) -> None:
    X = rng.integers(0, 3, (2000, 3)).astype(np.uint8)
    y = np.arange(2000) % 900
    forest = RobustForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    assert_array_equal(forest.predict_proba(X[:300]), proba_of(forest, X[:300]))
    stump = RobustForestClassifier(3, min_samples_split=3000, random_state=0).fit(X, y)
    assert stump._compact.nodes.shape[0] == 3
    assert_array_equal(stump.predict_proba(X[:300]), proba_of(stump, X[:300]))


def test_more_trees_than_are_packed_at_a_time(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(1500, 3)), rng.integers(2, size=1500)
    forest = RobustExtraTreesClassifier(600, criterion="gini", max_features=1, random_state=0)
    forest.fit(X, y)
    assert len(forest._compact.nodes) > 2**20
    few = rng.choice(1500, 12)
    assert_array_equal(forest.predict_proba(X)[few], proba_of(forest, X[few]))


def test_trees_with_and_without_sets_of_categories(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.integers(0, 12, 500), rng.normal(size=(500, 3)).round(1)])
    y = (np.isin(X[:, 0], [1, 5, 7]) ^ (rng.random(500) < 0.1)).astype(int)
    forest = RobustForestClassifier(
        40, max_features=1, max_depth=2, categorical_features=[0], random_state=0
    ).fit(X, y)
    of_sets = forest._compact.are_sets()
    starts = forest._compact.node_start
    has_sets = [of_sets[first:last].any() for first, last in pairwise(starts)]
    assert any(has_sets)
    assert not all(has_sets)
    X[rng.random(X.shape) < 0.1] = np.nan
    one_by_one = np.vstack([forest.predict_proba(row[np.newaxis]) for row in X])
    assert_array_equal(forest.predict_proba(X), one_by_one)

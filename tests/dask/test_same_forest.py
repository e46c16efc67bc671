"""A forest on a cluster is the forest of one machine, bit for bit."""

from itertools import pairwise

import dask
import numpy as np
import pandas as pd
import pytest
from clusters import (
    PARTITIONS,
    array_of,
    assert_same_trees,
    blocks_of,
    make_cluster,
    noisy_table,
)
from distributed import Client
from scipy.sparse import csr_matrix

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier
from hardwood._core import _engine
from hardwood.dask import DaskExtraTreesClassifier, DaskRobustForestClassifier
from hardwood.dask.placement import Placement

TWINS = {
    DaskRobustForestClassifier: RobustForestClassifier,
    DaskExtraTreesClassifier: RobustExtraTreesClassifier,
}
CASES = {
    "ne": ({}, False),
    "gini, weights": ({"criterion": "gini"}, True),
    "entropy": ({"criterion": "entropy"}, False),
    "misclassification, max_samples": (
        {"criterion": "misclassification", "max_samples": 0.6},
        False,
    ),
    "gce, min_samples_leaf": ({"criterion": "gce", "min_samples_leaf": 4}, False),
    "twoing, no bootstrap": ({"criterion": "twoing", "bootstrap": False}, False),
    "credal, max_depth": ({"criterion": "credal", "max_depth": 5}, False),
    "balanced, weights": ({"class_weight": "balanced", "max_samples": 0.5}, True),
    "sqrt_gini, min_weight": ({"criterion": "sqrt_gini", "min_weight_fraction_leaf": 0.01}, True),
}
EXTRA = {
    "extra": ({}, False),
    "extra, weights": ({"criterion": "entropy", "bootstrap": True}, True),
    "extra, min_samples_leaf": ({"bootstrap": True, "min_samples_leaf": 3}, False),
}


ALL_CASES = [
    pytest.param(kind, *case, id=name)
    for kind, cases in ((DaskRobustForestClassifier, CASES), (DaskExtraTreesClassifier, EXTRA))
    for name, case in cases.items()
]


def check(kind, params, weighted, sizes, placement, table):
    X, y, weights = table
    params = {"n_estimators": 3, "random_state": 1, "max_features": 3, **params}
    local = TWINS[kind](**params).fit(X, y, weights if weighted else None)
    blocks = [blocks_of(values, sizes) for values in (X, y, weights)]
    forest = kind(placement=placement, **params)
    forest.fit(blocks[0], blocks[1], blocks[2] if weighted else None)
    assert_same_trees(forest.to_local(), local)
    assert np.array_equal(forest.to_local().predict_proba(X), local.predict_proba(X))
    # At least one node of a trunk, or the test shows nothing.
    assert len(y) > 2 * 4096


@pytest.mark.parametrize(("kind", "params", "weighted"), ALL_CASES)
@pytest.mark.usefixtures("small_subtrees")
def test_every_case_is_the_same(client, kind, params, weighted):
    table = noisy_table(9000)
    check(kind, params, weighted, PARTITIONS["uneven"](9000), "distribute", table)


@pytest.mark.parametrize(("kind", "params", "weighted"), ALL_CASES[1::5])
def test_some_cases_replicated(client, kind, params, weighted):
    table = noisy_table(9000)
    check(kind, params, weighted, PARTITIONS["uneven"](9000), "replicate", table)


@pytest.mark.usefixtures("small_subtrees")
def test_trunks_do_grow(client, monkeypatch):
    answered = []

    class Spy(_engine.Trunk):
        def answer(self, node, counts):
            answered.append(node)
            super().answer(node, counts)

    monkeypatch.setattr(_engine, "Trunk", Spy)
    check(*ALL_CASES[0].values, PARTITIONS["three"](20_000), "distribute", noisy_table(20_000))
    assert max(answered) >= 2  # nodes below the root, too


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.usefixtures("small_subtrees")
def test_every_case_on_any_workers_and_partitions(n_workers):
    table = noisy_table(12000)
    with make_cluster(n_workers) as cluster, Client(cluster):
        for case in ALL_CASES:
            for sizes in PARTITIONS.values():
                for placement in ("replicate", "distribute"):
                    check(*case.values, sizes(12000), placement, table)


@pytest.mark.parametrize("placement", ["replicate", "distribute"])
@pytest.mark.usefixtures("small_subtrees")
def test_groups_are_drawn_together(client, placement):
    X, y, weights = noisy_table(9000)
    groups = np.random.default_rng(1).integers(0, 5000, 9000)
    sizes = PARTITIONS["seven"](9000)
    for some in (None, weights):
        params = {"n_estimators": 2, "random_state": 0, "max_samples": 0.9}
        local = RobustForestClassifier(**params).fit(X, y, some, groups=groups)
        forest = DaskRobustForestClassifier(placement=placement, **params).fit(
            array_of(X, sizes),
            array_of(y, sizes),
            None if some is None else array_of(some, sizes),
            groups=array_of(groups, sizes),
        )
        assert_same_trees(forest.to_local(), local)


@pytest.mark.parametrize("placement", ["replicate", "distribute"])
@pytest.mark.usefixtures("small_subtrees")
def test_categories_of_all_blocks_are_known(client, placement):
    X, y, _ = noisy_table(9000)
    names = np.array(["red", "green", "blue", "grey", "pink", "teal", "gold", "lime", "navy"])
    colors = names[np.random.default_rng(2).integers(0, 9, 9000)]
    frame = pd.DataFrame({"a": X[:, 0], "color": pd.Categorical(colors), "b": X[:, 1]})
    frame.loc[:10, "color"] = None
    sizes = PARTITIONS["three"](9000)
    ends = np.cumsum([0, *sizes])
    parts = [frame.iloc[a:b] for a, b in pairwise(ends)]
    # A category that only one block has; blocks do not know each other's.
    parts = [part.assign(color=part["color"].cat.remove_unused_categories()) for part in parts]
    blocks = [dask.delayed(part) for part in parts]
    for kind in TWINS:
        params = {"n_estimators": 3, "random_state": 0, "max_features": None, "bootstrap": True}
        local = TWINS[kind](**params).fit(frame, y)
        forest = kind(placement=placement, **params).fit(blocks, blocks_of(y, sizes))
        assert_same_trees(forest.to_local(), local)
        assert list(forest.feature_names_in_) == ["a", "color", "b"]
        assert np.array_equal(forest.to_local().predict(frame), local.predict(frame))


def test_sparse_blocks(client):
    X, y, _ = noisy_table(3000, missing=0)
    sparse = csr_matrix(X * (np.random.default_rng(0).random(X.shape) < 0.3))
    sizes = PARTITIONS["three"](3000)
    params = {"n_estimators": 3, "random_state": 0}
    local = RobustForestClassifier(**params).fit(sparse, y)
    forest = DaskRobustForestClassifier(**params).fit(blocks_of(sparse, sizes), blocks_of(y, sizes))
    assert_same_trees(forest.to_local(), local)


def test_many_distinct_values_are_cut_at_the_same_quantiles(client):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80_000), rng.integers(0, 3, 80_000)])
    y = (X[:, 0] > 0.3).astype(int)
    sizes = PARTITIONS["three"](80_000)
    params = {"n_estimators": 1, "random_state": 0, "max_depth": 6}
    local = RobustForestClassifier(**params).fit(X, y)
    forest = DaskRobustForestClassifier(**params).fit(array_of(X, sizes), array_of(y, sizes))
    assert_same_trees(forest.to_local(), local)


@pytest.mark.parametrize("placement", ["replicate", "distribute"])
@pytest.mark.usefixtures("small_subtrees")
def test_tables_are_sent_once(client, placement):
    X, y, _ = noisy_table(9000)  # some columns have as many codes
    sizes = PARTITIONS["three"](9000)
    X, y = client.persist([array_of(X, sizes), array_of(y, sizes)])
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "100kB"}):
        forest = DaskRobustForestClassifier(n_estimators=2, placement=placement)
        forest.fit(X, y)  # or Dask warns, which is an error here


@pytest.mark.parametrize("placement", ["replicate", "distribute"])
def test_tiny_and_odd_blocks(client, placement):
    X, y, _ = noisy_table(12, missing=0)
    y = np.where(np.arange(12) == 7, "only here", "elsewhere")  # a class in one block
    params = {"n_estimators": 4, "random_state": 0}
    local = RobustForestClassifier(**params).fit(X, y)
    for sizes in ([1] * 12, [0, 12, 0], [5, 0, 7]):
        forest = DaskRobustForestClassifier(placement=placement, **params)
        forest.fit(blocks_of(X, sizes), blocks_of(y, sizes))
        assert_same_trees(forest.to_local(), local)


def test_rows_of_weight_zero_leave_before_coding(client):
    X, y, weights = noisy_table(500)
    weights[::3] = 0
    sizes = PARTITIONS["uneven"](500)
    params = {"n_estimators": 3, "random_state": 0}
    local = RobustForestClassifier(**params).fit(X, y, weights)
    blocks = [blocks_of(values, sizes) for values in (X, y, weights)]
    forest = DaskRobustForestClassifier(**params).fit(*blocks)
    assert_same_trees(forest.to_local(), local)


def test_counts_come_in_parts(client, monkeypatch):
    def small(asked, *_):
        return Placement(asked, 4096, 1)  # a node at a time

    monkeypatch.setattr("hardwood.dask.growing.choose_placement", small)
    check(*ALL_CASES[0].values, PARTITIONS["three"](20_000), "distribute", noisy_table(20_000))

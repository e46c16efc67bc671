"""An adaptive forest on a cluster is the forest of one machine, bit for bit."""

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

from hardwood import AdaptiveForestClassifier, load, save
from hardwood.adaptive import _joining
from hardwood.dask import DaskAdaptiveForestClassifier, adaptive
from hardwood.noise import corrupt, uniform

N_ROWS = 12_000  # more than one worker is left with
PARAMS = {"n_estimators": 4, "random_state": 1, "max_features": 3}
CASES = {
    "plain": ({}, False),
    "weights": ({"full_data": False}, True),
    "best cuts, entropy": ({"splitter": "best", "criterion": "entropy"}, False),
    "log loss": ({"scoring": "log_loss", "min_samples_leaf": 3}, False),
    "known noise": ({"noise_matrix": uniform(3, 0.2)}, False),
    "balanced": ({"class_weight": "balanced", "full_data": False}, False),
    "two stages": ({"n_estimators": 12}, False),  # with four trees, there is one
}


def noisy(n_rows):
    X, y, weights = noisy_table(n_rows)
    return X, corrupt(y, uniform(3, 0.2), random_state=0)[0], weights


def assert_same(forest, local):
    """Raise unless the forests are the same, and what they found, too."""
    found = forest.to_local()
    assert type(found) is AdaptiveForestClassifier
    assert_same_trees(found, local)
    for name in (
        *("noise_matrix_", "noise_rate_", "class_prior_", "decision_", "decision_reason_"),
        *("splitter_", "n_copies_", "_n_drawn", "_seed", "_groups"),
    ):
        np.testing.assert_array_equal(getattr(found, name), getattr(local, name), err_msg=name)
    pd.testing.assert_frame_equal(found.adaptation_, local.adaptation_, check_exact=True)


def check(params, weighted, sizes, placement, table):
    X, y, weights = table
    params = PARAMS | params
    local = AdaptiveForestClassifier(**params)
    local.fit(X, y, weights if weighted else None)
    blocks = [blocks_of(values, sizes) for values in (X, y, weights)]
    forest = DaskAdaptiveForestClassifier(placement=placement, **params)
    forest.fit(blocks[0], blocks[1], blocks[2] if weighted else None)
    assert_same(forest, local)
    assert np.array_equal(forest.to_local().predict_proba(X), local.predict_proba(X))
    return forest


@pytest.mark.parametrize(
    ("params", "weighted", "placement"),
    [
        (*CASES["plain"], "distribute"),
        (*CASES["weights"], "replicate"),
        (*CASES["two stages"], "distribute"),
        pytest.param(*CASES["plain"], "replicate", marks=pytest.mark.slow),
        pytest.param(*CASES["weights"], "distribute", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("small_subtrees")
def test_some_cases_are_the_same(client, placement, params, weighted):
    check(params, weighted, PARTITIONS["uneven"](N_ROWS), placement, noisy(N_ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.usefixtures("small_subtrees")
def test_every_case_on_any_workers_and_partitions(n_workers):
    table = noisy(N_ROWS)
    with make_cluster(n_workers) as cluster, Client(cluster):
        for case in CASES.values():
            for sizes in PARTITIONS.values():
                for placement in ("replicate", "distribute"):
                    check(*case, sizes(N_ROWS), placement, table)


@pytest.mark.usefixtures("small_subtrees")
def test_copies_in_other_partitions_are_found(client):
    X, y, _ = noisy(8000)
    some = np.random.default_rng(0).permutation(8000)[:6000]
    X, y = np.concatenate([X, X[some]]), np.concatenate([y, y[some]])
    forest = check({}, False, PARTITIONS["three"](14_000), "distribute", (X, y, y))
    assert forest.n_copies_ == 6000


def test_a_table_repeated_across_partitions_counts_once(client):
    X, y, _ = noisy(11_000)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    forest = check({}, False, PARTITIONS["seven"](22_000), "replicate", (X, y, y))
    assert forest.n_copies_ == 11_000


@pytest.mark.usefixtures("small_subtrees")
def test_groups_are_drawn_together(client):
    X, y, _ = noisy(N_ROWS)
    groups = np.random.default_rng(1).integers(0, 9000, N_ROWS)
    sizes = PARTITIONS["three"](N_ROWS)
    local = AdaptiveForestClassifier(**PARAMS).fit(X, y, groups=groups)
    forest = DaskAdaptiveForestClassifier(placement="distribute", **PARAMS)
    assert_same(
        forest.fit(*(array_of(v, sizes) for v in (X, y)), groups=array_of(groups, sizes)), local
    )


@pytest.mark.parametrize("kind", ["array", "weights", "groups", "sparse", "categories"])
def test_one_worker_fits_a_small_table(client, kind):
    X, y, weights = noisy(600)
    sizes = PARTITIONS["uneven"](600)
    some, groups = (weights if kind == "weights" else None), None
    if kind == "groups":
        groups = np.arange(600) // 2
    if kind == "sparse":
        X = csr_matrix(np.nan_to_num(X))
    blocks = blocks_of(X, sizes)
    if kind == "categories":
        X = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(X[:, 1].astype(str))})
        blocks = [block.iloc[:] for block in blocks_of(X, sizes)]
    params = {**PARAMS, "max_features": "sqrt"}
    local = AdaptiveForestClassifier(**params).fit(X, y, some, groups=groups)
    forest = DaskAdaptiveForestClassifier(**params).fit(
        blocks,
        blocks_of(y, sizes),
        None if some is None else blocks_of(some, sizes),
        groups=None if groups is None else blocks_of(groups, sizes),
    )
    assert_same(forest, local)
    assert np.array_equal(forest.to_local().predict_proba(X), local.predict_proba(X))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_joined_columns(client, is_weighted):
    """Tables that are large enough to be spread over workers have none, here or there."""
    assert _joining.MOST_ROWS <= adaptive._FEW_ROWS
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 4, (900, 7))
    y = ((numbers[:, 0] + numbers[:, 1]) % 4 < 2).astype(int)
    y, _ = corrupt(y, uniform(2, 0.2), random_state=0)
    X = pd.DataFrame(numbers).astype(str).rename(columns=str)
    sizes = PARTITIONS["uneven"](900)
    weights = rng.integers(0, 3, 900).astype(float) if is_weighted else None
    params = {**PARAMS, "n_estimators": 16, "max_features": "sqrt"}
    local = AdaptiveForestClassifier(**params).fit(X, y, weights)
    forest = DaskAdaptiveForestClassifier(**params).fit(
        blocks_of(X, sizes),
        blocks_of(y, sizes),
        blocks_of(weights, sizes) if is_weighted else None,
    )
    assert_same(forest, local)
    assert forest.joined_features_ == local.joined_features_
    assert (0, 1) in local.joined_features_
    assert np.array_equal(forest.to_local().predict_proba(X), local.predict_proba(X))


def test_predictions_are_lazy_and_files_are_the_local_ones(client, tmp_path):
    X, y, _ = noisy(300)
    sizes = [100, 200]
    forest = DaskAdaptiveForestClassifier(**PARAMS).fit(array_of(X, sizes), array_of(y, sizes))
    local = forest.to_local()
    for noisy_votes in (False, True):
        lazy = forest.predict_proba(array_of(X, sizes), noisy=noisy_votes)
        assert lazy.chunks[0] == (100, 200)
        assert np.array_equal(lazy.compute(), local.predict_proba(X, noisy=noisy_votes))
    assert np.array_equal(forest.predict(array_of(X, sizes)).compute(), local.predict(X))
    save(local, tmp_path / "forest.hw")
    assert np.array_equal(load(tmp_path / "forest.hw").predict(X), local.predict(X))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"placement": "distribute", "class_weight": "balanced"}, "bootstrap only"),
        ({"noise_matrix": np.eye(2)}, "noise_matrix"),
    ],
)
def test_what_is_not_supported_is_said(client, params, message):
    X, y, _ = noisy(N_ROWS)
    sizes = PARTITIONS["three"](N_ROWS)
    with pytest.raises(ValueError, match=message):
        DaskAdaptiveForestClassifier(**PARAMS, **params).fit(array_of(X, sizes), array_of(y, sizes))

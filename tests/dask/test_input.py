"""What a fit on a cluster takes, and what it refuses."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import array_of, assert_same_trees, blocks_of, noisy_table

from hardwood import RobustForestClassifier, load, save
from hardwood.dask import DaskExtraTreesClassifier, DaskRobustForestClassifier

PARAMS = {"n_estimators": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    return noisy_table(300)


def test_frames_arrays_and_delayed_blocks_are_the_same(client, table):
    X, y, _ = table
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    local = RobustForestClassifier(**PARAMS).fit(frame, y)
    frames = dd.from_pandas(frame, npartitions=4), dd.from_pandas(pd.Series(y), npartitions=4)
    unknown = frames[0].to_dask_array(), frames[1].to_dask_array()
    assert np.isnan(unknown[0].chunks[0]).all()
    sizes = [100, 150, 50]
    delayed = blocks_of(X, sizes), blocks_of(y, sizes)
    columns_apart = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
    for given in (frames, unknown, delayed, columns_apart):
        forest = DaskRobustForestClassifier(**PARAMS).fit(*given)
        assert_same_trees(forest.to_local(), local)
    assert list(DaskRobustForestClassifier(**PARAMS).fit(*frames).feature_names_in_) == names


def test_small_files_stay_partitions(client, table, tmp_path):
    pytest.importorskip("pyarrow")
    X, y, _ = table
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y)
    for first in range(0, 300, 100):
        frame[first : first + 100].to_parquet(tmp_path / f"{first}.parquet")
    read = dd.read_parquet(tmp_path)
    assert len(read["y"].to_delayed()) < 3  # what Dask makes of one column
    forest = DaskRobustForestClassifier(**PARAMS).fit(read[list(frame.columns[:-1])], read["y"])
    local = RobustForestClassifier(**PARAMS).fit(frame.iloc[:, :-1], y)
    assert_same_trees(forest.to_local(), local)


def test_partitions_must_be_alike(client, table):
    X, y, weights = table
    forest = DaskRobustForestClassifier(**PARAMS)
    with pytest.raises(ValueError, match=r"partitioned alike.*3 blocks.*y has 2"):
        forest.fit(array_of(X, [100] * 3), array_of(y, [150] * 2))
    with pytest.raises(ValueError, match=r"partitioned alike.*100, 100, 100.*120, 100, 80"):
        forest.fit(array_of(X, [100] * 3), array_of(y, [120, 100, 80]))
    with pytest.raises(ValueError, match=r"block of sample_weight has (120|80)"):
        forest.fit(
            blocks_of(X, [100] * 3), blocks_of(y, [100] * 3), blocks_of(weights, [120, 100, 80])
        )


@pytest.mark.parametrize("given", ["numpy", "list", "nothing"])
def test_data_of_one_machine_is_refused(client, table, given):
    X, y, _ = table
    X = {"numpy": X, "list": X.tolist(), "nothing": []}[given]
    with pytest.raises(TypeError, match=r"X must be a dask array.*estimators of hardwood"):
        DaskRobustForestClassifier(**PARAMS).fit(X, array_of(y, [300]))


def test_blocks_must_have_the_same_columns(client, table):
    X, y, _ = table
    blocks = [dask.delayed(X[:150]), dask.delayed(X[150:, :4])]
    with pytest.raises(ValueError, match="same columns"):
        DaskRobustForestClassifier(**PARAMS).fit(blocks, blocks_of(y, [150, 150]))


def test_no_rows_and_no_weight(client, table):
    X, y, _ = table
    forest = DaskRobustForestClassifier(**PARAMS)
    with pytest.raises(ValueError, match="no rows"):
        forest.fit(blocks_of(X[:0], [0, 0]), blocks_of(y[:0], [0, 0]))
    with pytest.raises(ValueError, match="non-zero"):
        forest.fit(*(blocks_of(each, [150, 150]) for each in (X, y, np.zeros(300))))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"warm_start": True}, "warm_start is not supported"),
        ({"placement": "everywhere"}, "placement"),
        ({"placement": "distribute", "max_leaf_nodes": 7}, "max_leaf_nodes"),
        ({"placement": "distribute", "class_weight": "balanced_subsample"}, "balanced_subsample"),
        (
            {"placement": "distribute", "class_weight": "balanced", "bootstrap": False},
            "bootstrap only",
        ),
        ({"criterion": "ranking"}, "requires two classes"),
    ],
)
def test_what_is_not_supported_is_said(client, table, params, message):
    X, y, _ = table
    with pytest.raises(ValueError, match=message):
        DaskRobustForestClassifier(**PARAMS, **params).fit(array_of(X, [300]), array_of(y, [300]))


def test_replicated_forests_support_the_rest(client, table):
    X, y, weights = table
    given = [array_of(each, [100, 200]) for each in (X, y, weights)]
    for params in (
        {"max_leaf_nodes": 7},
        {"class_weight": "balanced_subsample"},
        {"class_weight": {0: 1, 1: 2, 2: 0.5}, "bootstrap": False},
        {"ccp_alpha": 0.001},
        {"leaf_prediction": "optimal"},
    ):
        local = RobustForestClassifier(**PARAMS, **params).fit(X, y, weights)
        forest = DaskRobustForestClassifier(**PARAMS, **params).fit(*given)
        assert_same_trees(forest.to_local(), local)
        assert np.array_equal(forest.to_local().predict_proba(X), local.predict_proba(X))


def test_predictions_are_lazy_and_keep_the_partitions(client, table):
    X, y, _ = table
    sizes = [100, 0, 150, 50]
    forest = DaskExtraTreesClassifier(**PARAMS).fit(blocks_of(X, sizes), blocks_of(y, sizes))
    local = forest.to_local()
    array = array_of(X, [100, 150, 50])
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for method in ("predict", "predict_proba", "apply"):
        expected = getattr(local, method)(X)
        lazy = getattr(forest, method)(array)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == (100, 150, 50)
        assert np.array_equal(lazy.compute(), expected)
        of_frame = getattr(forest, method)(frame)
        assert of_frame.npartitions == frame.npartitions
        assert np.array_equal(of_frame.compute().to_numpy(), expected)
        parts = dask.compute(*getattr(forest, method)(blocks_of(X, sizes)))
        assert [len(part) for part in parts] == sizes
        assert np.array_equal(np.concatenate(parts), expected)
        assert np.array_equal(getattr(forest, method)(X), expected)  # at once


def test_local_forests_and_files(client, table, tmp_path):
    X, y, _ = table
    forest = DaskRobustForestClassifier(client=client, **PARAMS)
    forest.fit(array_of(X, [300]), array_of(y, [300]))
    local = RobustForestClassifier(**PARAMS).fit(X, y)
    assert type(forest.to_local()) is RobustForestClassifier
    assert forest.to_local().get_params() == local.get_params()
    for one, other in zip(
        forest.to_local().estimators_samples_, local.estimators_samples_, strict=True
    ):
        assert np.array_equal(one, other)
    save(forest.to_local(), tmp_path / "forest.hw")
    assert np.array_equal(load(tmp_path / "forest.hw").predict_proba(X), local.predict_proba(X))


def test_the_memory_of_workers_decides_where_rows_go(client, table, monkeypatch):
    X, y, _ = noisy_table(9000)
    ways = []
    monkeypatch.setattr(
        "hardwood.dask.growing.grow_distributed",
        lambda *_, **__: ways.append("distribute") or 1 / 0,
    )
    monkeypatch.setattr(
        "hardwood.dask.growing.grow_replicated",
        lambda *_, **__: ways.append("replicate") or 1 / 0,
    )
    forest = DaskRobustForestClassifier(**PARAMS)
    for free in (1e9, 800_000):
        monkeypatch.setattr(
            "hardwood.dask.placement._free_memory", lambda _, free=free: (free, free)
        )
        with pytest.raises(ZeroDivisionError):
            forest.fit(array_of(X, [9000]), array_of(y, [9000]))
    monkeypatch.setattr("hardwood.dask.placement._free_memory", lambda _: (1e4, 1e4))
    with pytest.raises(MemoryError, match=r"subtree of 4,096 rows takes up to.*memory_limit"):
        forest.fit(array_of(X, [9000]), array_of(y, [9000]))
    assert ways == ["replicate", "distribute"]

"""Workers that hold only a part of the codes."""

from functools import partial

import dask
import numpy as np
import pytest
from clusters import assert_same_trees, make_cluster
from dask.delayed import delayed
from distributed import Client

from hardwood import RobustForestClassifier
from hardwood.dask import DaskRobustForestClassifier, growing

N_ROWS, N_COLUMNS, N_BLOCKS, N_WORKERS = 3_000_000, 64, 32, 8
CODES = N_ROWS * N_COLUMNS  # bytes


def make_block(number):
    """Return some rows of a table with a byte a value."""
    rng = np.random.default_rng(number)
    X = rng.integers(0, 200, size=(N_ROWS // N_BLOCKS, N_COLUMNS), dtype=np.uint8)
    noise = rng.normal(0, 30, size=len(X))
    return X, (X[:, :4].astype(int) @ [3, 2, 1, 1] + noise > 700).astype(np.int8)


def memory_of(field, dask_worker=None):
    """Return what this process takes (VmRSS), or took at its peak (VmHWM), in bytes."""
    import hardwood.dask  # noqa: F401  an idle worker has it

    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return 1024 * int(line.split()[1])


def n_spilled(dask_worker):
    """Return how many results this worker has written to disk."""
    return len(getattr(dask_worker.data, "slow", None) or ())


@pytest.mark.slow
def test_workers_that_hold_a_quarter_of_the_codes(monkeypatch):
    ways = []
    for name in ("grow_distributed", "grow_replicated"):
        grow = getattr(growing, name)
        monkeypatch.setattr(
            growing,
            name,
            lambda *a, _grow=grow, _name=name, **o: ways.append(_name) or _grow(*a, **o),
        )
    params = {"n_estimators": 2, "max_depth": 8, "random_state": 0, "criterion": "gini"}
    with make_cluster(N_WORKERS, memory_limit=0) as cluster, Client(cluster) as client:
        few = [make_block(number) for number in range(N_WORKERS)]
        forest = DaskRobustForestClassifier(placement="distribute", **params)
        forest.fit(*([delayed(block[n][:2000]) for block in few] for n in (0, 1)))
        idle = max(client.run(memory_of, "VmRSS").values())  # of a worker that has done this once
    limit = idle + CODES // 4
    # Dask's default thresholds are shares of the limit, of which most is idle memory here.
    thresholds = {"target": False, "spill": 0.97, "pause": False, "terminate": False}
    ways.clear()
    pairs = [delayed(make_block)(number) for number in range(N_BLOCKS)]
    X, y = ([delayed(partial(_nth, n))(pair) for pair in pairs] for n in (0, 1))
    with (
        dask.config.set({f"distributed.worker.memory.{k}": v for k, v in thresholds.items()}),
        make_cluster(N_WORKERS, memory_limit=limit) as cluster,
        Client(cluster) as client,
    ):
        forest = DaskRobustForestClassifier(**params).fit(X, y)
        peaks = client.run(memory_of, "VmHWM")
        assert set(client.run(n_spilled).values()) == {0}
    assert ways == ["grow_distributed"]
    assert len(peaks) == N_WORKERS
    assert max(peaks.values()) <= limit, {w: (p - idle) / CODES for w, p in peaks.items()}
    blocks = [make_block(number) for number in range(N_BLOCKS)]
    local = RobustForestClassifier(**params, n_jobs=2)
    local.fit(*(np.concatenate([block[n] for block in blocks]) for n in (0, 1)))
    assert_same_trees(forest.to_local(), local)


def _nth(n, pair):
    return pair[n]

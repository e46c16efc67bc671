"""Tables in blocks, and the comparison of forests."""

import time
from itertools import pairwise

import dask
import dask.array as da
import numpy as np
from distributed import LocalCluster

from lab.benchmarks.dask import ARRAYS

PARTITIONS = {
    "one": lambda n: [n],
    "three": lambda n: [n // 3, n // 3, n - 2 * (n // 3)],
    "seven": lambda n: [n // 7] * 6 + [n - 6 * (n // 7)],
    "uneven": lambda n: [0, 1, n // 2, 0, n - n // 2 - 3, 2, 0],
}


def make_cluster(n_workers, **options):
    """Return a cluster of processes with one thread each."""
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        **options,
    )


def assert_nothing_left(client):
    """Raise if tasks or results of fits stay on the workers."""
    deadline = time.monotonic() + 10
    while left := [
        key
        for keys in client.run(
            lambda dask_worker: [*map(str, dask_worker.data), *map(str, dask_worker.state.tasks)]
        ).values()
        for key in keys
        if key.startswith("hardwood-")
    ]:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def blocks_of(values, sizes):
    """Return an array as a list of delayed blocks."""
    ends = np.cumsum([0, *sizes])
    assert ends[-1] == values.shape[0]
    return [dask.delayed(values[a:b]) for a, b in pairwise(ends)]


def array_of(values, sizes):
    """Return an array as a dask array with these chunks."""
    return da.from_array(values, chunks=(tuple(sizes), *((n,) for n in values.shape[1:])))


def noisy_table(n_rows, n_classes=3, seed=0, missing=0.05):
    """Return X with wide, narrow, binary and constant columns, y with wrong labels, and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(0, 40, n_rows),
            rng.integers(0, 2, n_rows),
            rng.random(n_rows).round(2),
            np.zeros(n_rows),
            rng.exponential(size=n_rows),
        ]
    )
    score = X[:, 0] + 0.05 * X[:, 1] + X[:, 3] + rng.normal(size=n_rows) / 2
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, rng.random(n_rows) + 0.01


def assert_same_trees(one, other):
    """Raise unless two forests are the same in every array."""
    for name in ARRAYS:
        mine, theirs = (getattr(f._compact.forest, name) for f in (one, other))
        assert mine.dtype == theirs.dtype, name
        assert np.array_equal(mine, theirs), name
    assert one._compact.weight_unit == other._compact.weight_unit
    assert np.array_equal(one.classes_, other.classes_)

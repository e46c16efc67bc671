"""Forests on a Dask cluster next to the local engine: time, bytes moved, and memory.

The cluster is a `LocalCluster` of processes with one thread each. Covertype lies in the workers'
memory. The synthetic table is written as Parquet, and every pass over it reads the files again.
Each forest is the local one, bit for bit, which is checked. Processor time is that of all processes:
it is what one can compare on a machine that has other things to do.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood import RobustForestClassifier
from lab import options
from lab.benchmarks.memory import memory, reset_peak
from lab.benchmarks.timing import timed
from lab.data import load
from lab.library import versions
from lab.tables import as_markdown

COLUMNS = (
    *("table", "grown", "workers", "time (s)", "× local", "processor time (s)", "× local"),
    *("moved (MB)", "peak memory of a worker (MB)", "× codes", "trunk (% of tasks)"),
)
TABLES = ("covertype", "synthetic")
PLACEMENTS = ("replicate", "distribute")
N_COLUMNS = 20
_TRUNK = ("draw", "count", "sum")


def bench(
    tables: Annotated[options.Several, options.several("covertype, synthetic.")] = None,
    placements: Annotated[options.Several, options.several("replicate, distribute.")] = None,
    workers: Annotated[options.Several, options.several("Numbers of workers.", "NUMBERS")] = None,
    trees: options.Trees = 100,
    rows: Annotated[int, typer.Option(min=1, help="Rows of the synthetic table.")] = 20_000_000,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a table.")] = 16,
    subtree_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of a subtree, instead of what fits a worker.")
    ] = None,
    max_depth: Annotated[int | None, typer.Option(min=1, help="Depth of the trees.")] = None,
) -> None:
    """Compare forests on a Dask cluster with the local engine."""
    names = options.choose("--tables", tables, TABLES)
    ways = options.choose("--placements", placements, PLACEMENTS)
    numbers = [int(n) for n in options.split(workers) or ("2",)]
    forest = RobustForestClassifier(trees, max_depth=max_depth, random_state=0)
    with TemporaryDirectory() as folder:
        for name in names:
            table = _table(name, rows, partitions, Path(folder))
            lines = _measured(table, forest, ways, numbers, partitions, subtree_rows)
            print(as_markdown(COLUMNS, lines, n_text_columns=2), end="\n\n", flush=True)
    print(f"{versions(['hardwood', 'dask', 'numpy'])}, {trees} trees")


@dataclass(frozen=True)
class Table:
    """A table here, and the folder of its Parquet files, if it is read from there."""

    name: str
    X: NDArray[Any]
    y: NDArray[np.int64]
    folder: Path | None = None

    def on_cluster(self, client: Any, partitions: int) -> tuple[Any, Any]:
        """Return X and y as the workers have them."""
        if self.folder is not None:
            import dask.dataframe as dd

            frame = dd.read_parquet(self.folder, split_row_groups=True)
            return frame[[f"x{j}" for j in range(N_COLUMNS)]], frame["y"]
        import dask.array as da
        from distributed import wait

        size = -(-len(self.y) // partitions)
        X, y = client.persist(
            [da.from_array(self.X, chunks=(size, -1)), da.from_array(self.y, chunks=size)]
        )
        wait([X, y])
        return X, y


def _table(name: str, rows: int, partitions: int, folder: Path) -> Table:
    if name == "covertype":
        data = load(name)
        return Table(name, data.X_train, data.y_train.astype(np.int64))
    made = folder / name
    made.mkdir()
    parts = [
        _write_part(made, number, rows * number // partitions, rows * (number + 1) // partitions)
        for number in range(partitions)
    ]
    X, y = zip(*parts, strict=True)
    return Table(f"synthetic, {rows:,} rows", np.concatenate(X), np.concatenate(y), made)


def _write_part(
    folder: Path, number: int, first: int, last: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Write some rows: half of the columns are continuous, half have few values; 10 % noise."""
    import pandas as pd

    rng = np.random.default_rng(number)
    shape = last - first, N_COLUMNS // 2
    X = np.hstack([rng.normal(size=shape), rng.integers(0, 100, size=shape)]).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 10] - 50) / 25 + np.sin(3 * X[:, 3])
    y = np.where(rng.random(len(X)) < 0.1, rng.integers(0, 2, len(X)), score > 0).astype(np.int64)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)]).assign(y=y)
    frame.to_parquet(folder / f"part-{number:04d}.parquet")
    return X, y


def _measured(
    table: Table,
    forest: RobustForestClassifier,
    placements: list[str],
    workers: list[int],
    partitions: int,
    subtree_rows: int | None,
) -> Iterator[list[str]]:
    for n_workers in workers:
        local = RobustForestClassifier(**forest.get_params()).set_params(n_jobs=n_workers)
        reference = timed(lambda local=local: local.fit(table.X, table.y))  # type: ignore[misc]
        yield [
            *(table.name, f"locally, {n_workers} threads", "–"),
            *(f"{reference.wall:.1f}", "1", f"{reference.cpu:.1f}", "1", "–", "–", "–", "–"),
        ]
        for placement in placements:
            found = _on_cluster(table, local, placement, n_workers, partitions, subtree_rows)
            yield [
                *(table.name, placement, str(n_workers), f"{found.wall:.1f}"),
                *(f"{found.wall / reference.wall:.2f}", f"{found.cpu:.1f}"),
                *(f"{found.cpu / reference.cpu:.2f}", f"{found.moved / 1e6:.0f}"),
                *(f"{found.peak / 1e6:.0f}", f"{found.extra / found.codes:.2f}"),
                f"{100 * found.trunk:.0f}",
            ]


@dataclass(frozen=True)
class Found:
    """What a fit took: seconds, bytes, and the trunk's share of the time in tasks."""

    wall: float
    cpu: float
    moved: int
    peak: float
    extra: float  # of the peak, above what the worker had before the fit
    codes: int
    trunk: float


def _on_cluster(
    table: Table,
    local: RobustForestClassifier,
    placement: str,
    n_workers: int,
    partitions: int,
    subtree_rows: int | None,
) -> Found:
    from distributed import Client, LocalCluster, get_task_stream

    from hardwood.dask import DaskRobustForestClassifier, growing
    from hardwood.dask.placement import Placement, choose_placement

    parameters = local.get_params() | {"n_jobs": None, "placement": placement}
    forest = DaskRobustForestClassifier(**parameters)
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        X, y = table.on_cluster(client, partitions)
        before = client.run(_usage, True)
        wall, cpu = time.perf_counter(), time.process_time()
        small = Placement(placement, subtree_rows or 0)
        chosen = choose_placement if subtree_rows is None else lambda *_: small
        with get_task_stream(client) as stream, patch.object(growing, "choose_placement", chosen):
            forest.fit(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        after = client.run(_usage, False)
        same = np.array_equal(forest._compact.nodes, local._compact.nodes)
        assert same, "the forest differs from the local one"
    seconds = _seconds_by_task(stream.data)
    compute = sum(seconds.values())
    return Found(
        wall,
        cpu + sum(after[w]["cpu"] - before[w]["cpu"] for w in after),
        sum(after[w]["moved"] - before[w]["moved"] for w in after),
        max(after[w]["memory"] for w in after),
        max(after[w]["memory"] - before[w]["memory"] for w in after),
        _codes_size(table.X),
        sum(seconds[name] for name in _TRUNK) / compute,
    )


def _usage(reset: bool, dask_worker: Any = None) -> dict[str, float]:
    """Return what this worker has used, or start to watch its memory."""
    used = (reset_peak() if reset else memory("VmHWM")) or 0.0
    moved = dask_worker.transfer_outgoing_bytes_total if dask_worker else 0
    return {"cpu": time.process_time(), "memory": used, "moved": moved}


def _seconds_by_task(stream: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds that tasks of each name took, such as "count"."""
    seconds: dict[str, float] = defaultdict(float)
    for task in stream:
        name = str(task["key"]).removeprefix("hardwood-").split("-")[0]
        for part in task["startstops"]:
            if part["action"] == "compute":
                seconds[name] += part["stop"] - part["start"]
    return seconds


def _codes_size(X: NDArray[Any]) -> int:
    """Return the bytes of all codes."""
    return sum(len(X) * (1 + (len(np.unique(X[:, j])) > 255)) for j in range(X.shape[1]))

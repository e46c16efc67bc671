"""Forests on a Dask cluster next to the local engine: time, bytes moved, and memory.

The cluster is a `LocalCluster` of processes with one thread each. Covertype lies in the workers'
memory. The synthetic table is written as Parquet, and every pass over it reads the files again. The
table of bytes is made by the workers, again in each pass.
Each forest is the local one, bit for bit, which is checked. Processor time is that of all processes:
it is what one can compare on a machine that has other things to do.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
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
LIMITED = (
    *("table", "grown", "workers", "idle (MB)", "limit (MB)", "spills from (MB)", "peak (MB)"),
    "above idle (× codes)",
    *("spilled (MB)", "time (s)", "processor time (s)", "moved (MB)"),
)
TABLES = ("covertype", "synthetic", "bytes")
PLACEMENTS = ("replicate", "distribute", "auto")
N_COLUMNS = 20
_TRUNK = ("draw", "count", "sum")
ARRAYS = (
    "nodes",
    "entry_label",
    "entry_count",
    "node_start",
    "entry_start",
    "set_words",
    "set_start",
)  # of a forest
_SPILLS, _PAUSES = 0.7, 0.8  # of its memory limit: Dask's worker spills, and pauses


def bench(
    tables: Annotated[options.Several, options.several("covertype, synthetic, bytes.")] = None,
    placements: Annotated[options.Several, options.several("replicate, distribute, auto.")] = None,
    workers: Annotated[options.Several, options.several("Numbers of workers.", "NUMBERS")] = None,
    trees: options.Trees = 100,
    rows: Annotated[int, typer.Option(min=1, help="Rows of tables that are made.")] = 20_000_000,
    columns: Annotated[int, typer.Option(min=4, help="Columns of the table of bytes.")] = 120,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a table.")] = 16,
    subtree_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows of a subtree, instead of what fits a worker.")
    ] = None,
    max_depth: Annotated[int | None, typer.Option(min=1, help="Depth of the trees.")] = None,
    limited: Annotated[
        float | None,
        typer.Option(help="Limit workers to their idle memory and so many times the codes."),
    ] = None,
) -> None:
    """Compare forests on a Dask cluster with the local engine."""
    names = options.choose("--tables", tables, TABLES, TABLES[:2])
    ways = options.choose("--placements", placements, PLACEMENTS, PLACEMENTS[:2])
    numbers = [int(n) for n in options.split(workers) or ("2",)]
    forest = RobustForestClassifier(trees, max_depth=max_depth, random_state=0)
    with TemporaryDirectory() as folder:
        for name in names:
            table = _table(name, rows, columns, partitions, Path(folder))
            if limited is None:
                lines = _measured(table, forest, ways, numbers, partitions, subtree_rows)
            else:
                lines = _limited(table, forest, ways, numbers, partitions, limited)
            header = COLUMNS if limited is None else LIMITED
            print(as_markdown(header, lines, n_text_columns=2), end="\n\n", flush=True)
    print(f"{versions(['hardwood', 'dask', 'numpy'])}, {trees} trees")


@dataclass(frozen=True)
class Table:
    """A table here, and the folder of its Parquet files, if it is read from there."""

    name: str
    X: NDArray[Any]
    y: NDArray[np.int64]
    folder: Path | None = None
    made: bool = False  # by the workers

    def on_cluster(self, client: Any, partitions: int) -> tuple[Any, Any]:
        """Return X and y as the workers have them."""
        if self.made:
            from dask.delayed import delayed

            blocks = [
                delayed(_bytes, nout=2)(number, last - first, self.X.shape[1])
                for number, (first, last) in enumerate(pairwise(_bounds(len(self.y), partitions)))
            ]
            return [X for X, _ in blocks], [y for _, y in blocks]
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


def _bounds(rows: int, partitions: int) -> list[int]:
    return [rows * number // partitions for number in range(partitions + 1)]


def _table(name: str, rows: int, columns: int, partitions: int, folder: Path) -> Table:
    if name == "covertype":
        data = load(name)
        return Table(name, data.X_train, data.y_train.astype(np.int64))
    bounds = list(enumerate(pairwise(_bounds(rows, partitions))))
    if name == "bytes":
        X = np.empty((rows, columns), dtype=np.uint8)
        y = np.empty(rows, dtype=np.int64)
        for number, (first, last) in bounds:
            part = _bytes(number, last - first, columns)
            X[first:last], y[first:last] = part[0], part[1]
        return Table(f"bytes, {rows:,} × {columns}", X, y, made=True)
    made = folder / name
    made.mkdir()
    parts = [_write_part(made, number, first, last) for number, (first, last) in bounds]
    all_X, all_y = zip(*parts, strict=True)
    return Table(f"synthetic, {rows:,} rows", np.concatenate(all_X), np.concatenate(all_y), made)


def _bytes(number: int, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return some rows of whole numbers of one byte; 10 % of the labels are random."""
    rng = np.random.default_rng(number)
    X = rng.integers(0, 255, (columns, rows), dtype=np.uint8).T  # 256 values would take two bytes
    first, second, third, fourth = (X[:, j].astype(np.float32) for j in range(4))
    score = first + second - third + np.where(fourth > 128, 100, -100) - 128
    y = np.where(rng.random(rows) < 0.1, rng.integers(0, 2, rows), score > 0).astype(np.int64)
    return X, y


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


def _limited(
    table: Table,
    forest: RobustForestClassifier,
    placements: list[str],
    workers: list[int],
    partitions: int,
    share: float,
) -> Iterator[list[str]]:
    """Fit on workers that have little memory, and check that none takes so much that it pauses."""
    local = RobustForestClassifier(**forest.get_params()).fit(table.X, table.y)
    codes = _codes_size(table.X)
    for n_workers in workers:
        idle = _idle(n_workers)
        limit = int(idle + share * codes)
        for placement in placements:
            found = _on_cluster(table, local, placement, n_workers, partitions, None, limit)
            assert found.peak <= _PAUSES * limit, (found.peak, limit)
            yield [
                *(table.name, found.way, str(n_workers), f"{idle / 1e6:.0f}", f"{limit / 1e6:.0f}"),
                f"{_SPILLS * limit / 1e6:.0f}",
                *(f"{found.peak / 1e6:.0f}", f"{(found.peak - idle) / codes:.2f}"),
                *(f"{found.spilled / 1e6:.0f}", f"{found.wall:.0f}", f"{found.cpu:.0f}"),
                f"{found.moved / 1e6:.0f}",
            ]


def _idle(n_workers: int) -> float:
    """Return the memory of the largest of some workers that have done nothing yet."""
    from distributed import Client

    with _cluster(n_workers) as cluster, Client(cluster) as client:
        return float(max(used["memory"] for used in client.run(_usage, True).values()))


def _cluster(n_workers: int, limit: int | None = None) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit="auto" if limit is None else limit,
        dashboard_address=":0",
    )


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
    spilled: float
    way: str


def _on_cluster(
    table: Table,
    local: RobustForestClassifier,
    placement: str,
    n_workers: int,
    partitions: int,
    subtree_rows: int | None,
    limit: int | None = None,
) -> Found:
    from distributed import Client, get_task_stream

    from hardwood.dask import DaskRobustForestClassifier, growing
    from hardwood.dask.placement import Placement, choose_placement

    parameters = local.get_params() | {"n_jobs": None, "placement": placement}
    forest = DaskRobustForestClassifier(**parameters)
    with _cluster(n_workers, limit) as cluster, Client(cluster) as client:
        X, y = table.on_cluster(client, partitions)
        before = client.run(_usage, True)
        wall, cpu = time.perf_counter(), time.process_time()
        ways = []

        def choose(*asked: Any) -> Placement:
            way = choose_placement(*asked)
            ways.append(way if subtree_rows is None else Placement(placement, subtree_rows))
            return ways[-1]

        with get_task_stream(client) as stream, patch.object(growing, "choose_placement", choose):
            forest.fit(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        after = client.run(_usage, False)
        _check_same(forest, local)
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
        sum(after[w]["spilled"] for w in after),
        ways[0].name,
    )


def _check_same(forest: Any, local: Any) -> None:
    """Raise unless two forests are the same in every array."""
    for name in ARRAYS:
        one, other = (getattr(each._compact.forest, name) for each in (forest, local))
        assert np.array_equal(one, other), f"{name} differs from that of the local forest"


def _usage(reset: bool, dask_worker: Any = None) -> dict[str, float]:
    """Return what this worker has used, or start to watch its memory."""
    used = (reset_peak() if reset else memory("VmHWM")) or 0.0
    moved = dask_worker.transfer_outgoing_bytes_total if dask_worker else 0
    spilled = dask_worker.data.cumulative_metrics["disk-write", "bytes"] if dask_worker else 0
    return {"cpu": time.process_time(), "memory": used, "moved": moved, "spilled": spilled}


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
    if X.dtype == np.uint8:
        return X.size  # at most 255 values
    return sum(len(X) * (1 + (len(np.unique(X[:, j])) > 255)) for j in range(X.shape[1]))

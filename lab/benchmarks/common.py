"""What the benchmarks share: labels with noise, fair timing, and tables."""

from __future__ import annotations

import dataclasses
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy.typing as npt

from hardwood import datasets, noise
from hardwood._core import _engine

Job = TypeVar("Job", bound=Any)


class Timing(NamedTuple):
    """Seconds by the clock, and of processor time summed over threads."""

    wall: float
    cpu: float


def timed(run: Callable[[], object]) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def interleaved(runs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time each run once per round and return the medians.

    Taking turns (A, B, A, B, …) lets a slow spell of the machine strike all alike.
    """
    timings: dict[str, list[Timing]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            timings[name].append(timed(run))
    return {
        name: Timing(*(statistics.median(column) for column in zip(*taken, strict=True)))
        for name, taken in timings.items()
    }


def resumed(
    planned: Sequence[Job], run: Callable[[Job], dict[str, Any]], path: Path
) -> dict[Job, dict[str, Any]]:
    """Return the results of all jobs, of which those in the file are not run again.

    A job is a frozen dataclass, whose fields are among those of its result. Each result is a line
    of the file as soon as it is there, so that a run that was stopped goes on where it was.
    """
    kind = type(planned[0])
    names = [field.name for field in dataclasses.fields(kind)]
    results: dict[Job, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            results[kind(**{name: result[name] for name in names})] = result
    left = [job for job in planned if job not in results]
    for number, job in enumerate(left, 1):
        print(f"[{number}/{len(left)}] {job}", file=sys.stderr, flush=True)
        results[job] = run(job)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(results[job]) + "\n")
    return {job: results[job] for job in planned}


def noisy_labels(dataset: datasets.Dataset, rate: float, seed: int) -> npt.NDArray[Any]:
    T = noise.uniform(len(dataset.classes), rate)
    noisy_y, _ = noise.corrupt(dataset.y_train, T, random_state=seed)
    return noisy_y


def versions(libraries: Iterable[str]) -> str:
    """Say what was measured, in one line."""
    named = [f"{library} {version(library)}" for library in libraries]
    return ", ".join([*named, f"Python {platform.python_version()}", _engine.isa()])


def markdown_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], n_text_columns: int = 1
) -> str:
    """Lay out a table whose first columns are text and whose others are numbers."""
    n_number_columns = len(columns) - n_text_columns
    rules = ["---"] * n_text_columns + ["---:"] * n_number_columns
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rules, *rows))

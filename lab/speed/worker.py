"""One measurement in a process of its own."""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import datasets, noise
from lab.speed import ranger, visits
from lab.speed.peers import PEERS, Settings

__all__ = ["Job", "measure", "work"]

N_MANY_ROWS = 10_000
"""How many rows are predicted at once."""

_N_REPEATS = 5
_N_LATENCY_CALLS = 50


@dataclass(frozen=True)
class Job:
    """What one worker is to measure.

    Attributes
    ----------
    peer : str
        A name of `lab.speed.peers.PEERS`.
    dataset : str
        A name of `hardwood.datasets.NAMES`.
    noise_rate : float
        Share of training labels flipped uniformly.
    n_trees, n_threads : int
        Size of the forest and threads to fit and predict with.
    round : int
        Which repetition; also the forest's seed.
    """

    peer: str
    dataset: str
    noise_rate: float
    n_trees: int
    n_threads: int
    round: int

    def to_json(self) -> str:
        """Return the job as the worker takes it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Return the job that `to_json` wrote."""
        return cls(**json.loads(text))


def work(job: str) -> None:
    """Do the job given as JSON and print what was measured as one line of JSON.

    Parameters
    ----------
    job : str
        What `Job.to_json` returns.
    """
    print(json.dumps(measure(Job.from_json(job))))


def measure(job: Job) -> dict[str, float | None]:
    """Do a job in this process.

    All peers get the same C-ordered float32 array, so that none has to convert it.

    Parameters
    ----------
    job : Job
        What to measure.

    Returns
    -------
    dict of str to float or None
        ``fit_wall``, ``fit_cpu``, ``predict_many``, ``predict_one`` and, with one thread,
        ``predict_one_alone`` in seconds; ``memory_before``, ``memory_peak`` and ``size`` in bytes;
        ``accuracy``, ``nodes`` and ``visits``.
    """
    dataset = datasets.load(job.dataset)
    T = noise.uniform(len(dataset.classes), job.noise_rate)
    noisy_y, _ = noise.corrupt(dataset.y_train, T, random_state=0)
    arrays: dict[str, NDArray[Any]] = {
        "X_train": np.ascontiguousarray(dataset.X_train, dtype=np.float32),
        "y_train": noisy_y.astype(np.int64),
        "X_test": np.ascontiguousarray(dataset.X_test, dtype=np.float32),
        "y_test": dataset.y_test.astype(np.int64),
    }
    arrays["X_many"] = arrays["X_test"][np.arange(N_MANY_ROWS) % len(dataset.X_test)]
    n_features = dataset.X_train.shape[1]
    settings = Settings(
        n_trees=job.n_trees,
        max_features=isqrt(n_features - 1) + 1,
        n_features=n_features,
        n_classes=len(dataset.classes),
        n_threads=job.n_threads,
        seed=job.round,
    )
    del dataset
    measured = _measure_forest(job.peer, settings, arrays)
    # The same trees in every round: counting them once is enough.
    measured["visits"] = (
        visits.count(job.peer, arrays["X_train"], arrays["y_train"], settings.max_features, 0)
        if job.round == 0
        else None
    )
    return measured


def _measure_forest(
    peer: str, settings: Settings, arrays: dict[str, NDArray[Any]]
) -> dict[str, float | None]:
    make = PEERS[peer].make
    if make is None:
        return {
            **ranger.measure(
                arrays,
                n_trees=settings.n_trees,
                max_features=settings.max_features,
                n_threads=settings.n_threads,
                seed=settings.seed,
                n_repeats=_N_REPEATS,
                n_latency_calls=_N_LATENCY_CALLS,
            )
        }
    forest = make(settings)
    data = forest.prepare(arrays["X_train"], arrays["y_train"])
    gc.collect()
    memory_before = _start_peak_anew()
    wall, cpu = time.perf_counter(), time.process_time()
    forest.fit(data)
    fit_wall, fit_cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory_peak = _memory("VmHWM")
    del data

    X_many, X_test = arrays["X_many"], arrays["X_test"]
    predicted = np.argmax(forest.predict_proba(X_test, settings.n_threads), axis=1)
    predict_many = partial(forest.predict_proba, X_many, settings.n_threads)
    many = [_seconds(predict_many) for _ in range(_N_REPEATS)]

    def latency(n_threads: int) -> float:
        rows = (X_many[i : i + 1] for i in range(_N_LATENCY_CALLS))
        calls = [partial(forest.predict_proba, row, n_threads) for row in rows]
        return statistics.median(map(_seconds, calls))

    return {
        "fit_wall": fit_wall,
        "fit_cpu": fit_cpu,
        "predict_many": statistics.median(many),
        "predict_one": latency(settings.n_threads),
        "predict_one_alone": latency(1),
        "accuracy": float(np.mean(predicted == arrays["y_test"])),
        "memory_before": memory_before,
        "memory_peak": memory_peak,
        "nodes": forest.n_nodes(),
        "size": forest.size(),
    }


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _start_peak_anew() -> float | None:
    """Return the memory in use, and forget the peak that loading the data made."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> float | None:
    """Return this process's memory in bytes: in use (VmRSS) or at its peak (VmHWM).

    Without Linux's /proc it is the peak since the start in any case, and None without even that.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        try:
            import resource
        except ModuleNotFoundError:
            return None
        unit = 1 if sys.platform == "darwin" else 1024
        return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    line = next(line for line in status.splitlines() if line.startswith(field))
    return 1024 * float(line.split()[1])

"""One measurement of a forest, in a process of its own.

``python -m lab.benchmarks.worker RUN``, with a run as JSON, prints what it measures as JSON.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import datasets
from lab.benchmarks import ranger, visits
from lab.benchmarks.memory import memory, reset_peak
from lab.benchmarks.peers import PEERS, Settings
from lab.benchmarks.timing import timed
from lab.data import noisy_labels
from lab.store import Measured, Run

__all__ = ["N_MANY_ROWS", "measure"]

N_MANY_ROWS = 10_000
"""Number of rows that are predicted at once."""

_N_REPEATS = 5
_N_LATENCY_CALLS = 50


def measure(run: Run) -> Measured:
    """Perform a run in this process.

    All peers get the same C-ordered float32 array, so that none has to convert it. With the setting
    ``own_dtype``, hardwood gets the data as they are.

    Parameters
    ----------
    run : Run
        The run; its model is a name of `lab.benchmarks.peers.PEERS`, its seed is the round.

    Returns
    -------
    dict
        ``fit_wall`` (also as ``seconds``), ``fit_cpu``, ``predict_many``, ``predict_one`` and, with
        one thread, ``predict_one_alone``, in seconds; ``memory_before``, ``memory_peak`` and
        ``size`` in bytes; ``accuracy`` in percent; ``nodes`` and ``visits``.
    """
    dataset = datasets.load(run.dataset)
    options = json.loads(run.settings)
    as_it_is = options.get("own_dtype") and PEERS[run.model].library == "hardwood"
    dtype = dataset.X_train.dtype if as_it_is else np.float32
    arrays: dict[str, NDArray[Any]] = {
        "X_train": np.ascontiguousarray(dataset.X_train, dtype=dtype),
        "y_train": noisy_labels(dataset, float(run.noise)).astype(np.int64),
        "X_test": np.ascontiguousarray(dataset.X_test, dtype=dtype),
        "y_test": dataset.y_test.astype(np.int64),
    }
    arrays["X_many"] = arrays["X_test"][np.arange(N_MANY_ROWS) % len(dataset.X_test)]
    n_features = dataset.X_train.shape[1]
    settings = Settings(
        n_trees=run.trees,
        max_features=isqrt(n_features - 1) + 1,
        n_features=n_features,
        n_classes=len(dataset.classes),
        n_threads=options["threads"],
        seed=run.seed,
    )
    del dataset
    measured = _measure_forest(run.model, settings, arrays)
    measured["accuracy"] *= 100
    measured["seconds"] = measured["fit_wall"]
    # The work per tree hardly depends on the round: counting it once is enough.
    measured["visits"] = (
        visits.count(run.model, arrays["X_train"], arrays["y_train"], settings.max_features, 0)
        if run.seed == 0
        else None
    )
    return measured


def _measure_forest(peer: str, settings: Settings, arrays: dict[str, NDArray[Any]]) -> Measured:
    make = PEERS[peer].make
    if make is None:
        return ranger.measure(arrays, settings, _N_REPEATS, _N_LATENCY_CALLS)
    forest = make(settings)
    data = forest.prepare(arrays["X_train"], arrays["y_train"])
    gc.collect()
    memory_before = reset_peak()
    fit = timed(partial(forest.fit, data))
    memory_peak = memory("VmHWM")
    del data

    X_many, X_test = arrays["X_many"], arrays["X_test"]
    predicted = np.argmax(forest.predict_proba(X_test, settings.n_threads), axis=1)
    predict_many = partial(forest.predict_proba, X_many, settings.n_threads)
    many = [timed(predict_many).wall for _ in range(_N_REPEATS)]

    def latency(n_threads: int) -> float:
        rows = (X_many[i : i + 1] for i in range(_N_LATENCY_CALLS))
        return statistics.median(
            timed(partial(forest.predict_proba, row, n_threads)).wall for row in rows
        )

    return {
        "fit_wall": fit.wall,
        "fit_cpu": fit.cpu,
        "predict_many": statistics.median(many),
        "predict_one": latency(settings.n_threads),
        "predict_one_alone": latency(1),
        "accuracy": float(np.mean(predicted == arrays["y_test"])),
        "memory_before": memory_before,
        "memory_peak": memory_peak,
        "nodes": forest.n_nodes(),
        "size": forest.size(),
    }


if __name__ == "__main__":
    print(json.dumps(measure(Run(**json.loads(sys.argv[1])))))

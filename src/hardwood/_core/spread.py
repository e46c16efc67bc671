"""Growing a forest on this machine, or on the workers of a distributed joblib backend."""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from hardwood._compat import openmp_threads
from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import Growth, TrainingSet, grow

# Their workers share this machine's processors, where the engine's own threads are faster.
_LOCAL_BACKENDS = {"SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend"}
# More threads than processors gain nothing, and each takes time to start. Clusters may be larger.
_MAX_THREADS = max(64, 2 * (os.cpu_count() or 1))
_MAX_WORKERS = 4096


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads, or of distributed workers, that `n_jobs` means."""
    backend, default = get_active_backend(prefer="threads")
    is_local = type(backend).__name__ in _LOCAL_BACKENDS
    most = _MAX_THREADS if is_local else _MAX_WORKERS
    return min(int(backend.effective_n_jobs(default if n_jobs is None else n_jobs)), most)


def n_threads_of_one_tree(data: TrainingSet) -> int:
    """Return the number of threads for growing a single tree.

    As in scikit-learn's OpenMP code this is the number of processors, or ``OMP_NUM_THREADS``. It is
    one for small data, for criteria that call a Python function (threads would wait for each other),
    and inside a joblib loop.
    """
    backend, _ = get_active_backend(prefer="threads")
    is_small = data.X.size < 100_000
    calls_python = data.criterion.function is not None
    return 1 if is_small or calls_python or backend.nesting_level else int(openmp_threads())


def grow_anywhere(
    growth: Growth,
    data: TrainingSet,
    seed: int,
    *,
    first_tree: int,
    n_trees: int,
    n_threads: int,
    progress: Callable[[int], None] | None,
    codes: "_engine.Codes | None" = None,
    **options: Any,
) -> CompactForest:
    """Grow trees on this machine's threads, or on the workers of dask or ray.

    Each tree has its own random stream, so the forest is the same, bit for bit. `codes` are only
    used on this machine; distributed workers code X themselves.
    """
    backend, _ = get_active_backend()
    if type(backend).__name__ in _LOCAL_BACKENDS:
        return grow(
            growth,
            data,
            seed,
            first_tree=first_tree,
            n_trees=n_trees,
            n_threads=n_threads,
            progress=progress,
            codes=codes,
            **options,
        )
    n_parts = min(n_trees, n_threads)
    bounds = [first_tree + n_trees * part // n_parts for part in range(n_parts + 1)]
    parts: list[CompactForest] = Parallel(n_jobs=n_threads)(
        delayed(grow)(growth, data, seed, first_tree=first, n_trees=last - first, **options)
        for first, last in pairwise(bounds)
    )
    return CompactForest.joined(parts)

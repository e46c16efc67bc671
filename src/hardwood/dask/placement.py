"""Which way a forest is grown, from the memory of the workers."""

import warnings
from dataclasses import dataclass
from typing import Any

from distributed import Client

from hardwood.dask.tables import bytes_of_row
from hardwood.dask.tasks import FAN_IN
from hardwood.dask.training import DistributedSet

LEAST_SUBTREE = 4096  # rows; below, the engine itself treats a subtree as one
MOST_COUNTS = 2**26  # bytes; more would not make tasks worth more

# What growing takes, in multiples of the codes: the blocks as they arrive, the columns, their
# layout by rows, and the samples of the trees that grow at the same time.
COPIES = 4
SAMPLE_BYTES = 24
SHARE = 0.5  # of the memory that a worker has left; the rest is for Python and results


@dataclass(frozen=True)
class Placement:
    """The way to grow, the most rows of a subtree, and the most bytes of a task's counts and blocks."""

    name: str
    subtree_rows: int = LEAST_SUBTREE
    count_bytes: int = MOST_COUNTS
    shelf_bytes: int = MOST_COUNTS

    def replicated(self, problem: str) -> "Placement":
        """Return the other way, with a warning."""
        warnings.warn(
            f"The codes may not fit in the workers' memory, but are replicated: {problem}",
            stacklevel=5,
        )
        return Placement("replicate")


def choose_placement(asked: str, data: DistributedSet, client: Client) -> Placement:
    """Return the way to grow that was asked for, or one that fits the workers' memory.

    Raise if rows are to stay where they are and the smallest worker has no memory for a subtree.
    """
    free, of_thread = _free_memory(client)
    row = COPIES * bytes_of_row(data.tables) + SAMPLE_BYTES
    if asked == "auto":
        asked = "replicate" if data.n_rows * row <= SHARE * free else "distribute"
    if asked == "replicate" or of_thread == float("inf"):
        return Placement(asked, max(LEAST_SUBTREE, data.n_rows // 2))
    rows = max(0, int(SHARE * of_thread / row))
    if rows < min(LEAST_SUBTREE, data.n_rows):
        raise MemoryError(
            f"The smallest worker has {of_thread / 1e6:,.0f} MB of memory left for each thread, but "
            f"a subtree of {LEAST_SUBTREE:,} rows takes up to {LEAST_SUBTREE * row / SHARE / 1e6:,.1f} "
            "MB. Start fewer workers, or fewer threads, with more memory each (memory_limit), or "
            "release what else they hold."
        )
    # A task that sums counts holds those of several others, and so does the worker.
    counts = int(SHARE * of_thread / (2 * FAN_IN))
    return Placement(
        asked,
        max(LEAST_SUBTREE, min(rows, data.n_rows // 2)),
        min(MOST_COUNTS, counts),
        FAN_IN * counts,
    )


def _free_memory(client: Client) -> tuple[float, float]:
    """Return the bytes that the smallest worker has left, and the fewest for each thread."""
    client.wait_for_workers(1)  # if all are being restarted
    left = list(client.run(_left, on_error="ignore").values())
    none = float("inf")
    return (
        min((n_bytes for n_bytes, _ in left), default=none),
        min((n_bytes / n_threads for n_bytes, n_threads in left), default=none),
    )


def _left(dask_worker: Any) -> tuple[float, int]:
    """Return the memory that this worker has left before it spills, and its number of threads.

    It is at least an eighth of what it has left at all.
    """
    manager, n_threads = dask_worker.memory_manager, dask_worker.state.nthreads
    limit = manager.memory_limit
    if not limit:
        return float("inf"), n_threads
    used = dask_worker.monitor.get_process_memory()
    spills = limit * (manager.memory_spill_fraction or 1)
    return float(max(spills - used, (limit - used) / 8)), n_threads

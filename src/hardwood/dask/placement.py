"""Which way a forest is grown, from the memory of the workers."""

import warnings
from dataclasses import dataclass
from typing import Any

from distributed import Client

from hardwood.dask.tables import bytes_of_row
from hardwood.dask.training import DistributedSet

LEAST_SUBTREE = 4096  # rows; below, the engine itself treats a subtree as one

# What growing takes, in multiples of the codes: the blocks as they arrive, the columns, their
# layout by rows, and the samples of the trees that grow at the same time.
COPIES = 4
SAMPLE_BYTES = 24
SHARE = 0.5  # of a worker's memory; the rest is for its own blocks, Python, and results


@dataclass(frozen=True)
class Placement:
    """The way to grow, and the most rows of a subtree that one worker grows."""

    name: str
    subtree_rows: int = LEAST_SUBTREE

    def replicated(self, problem: str) -> "Placement":
        """Return the other way, with a warning."""
        warnings.warn(
            f"The codes may not fit in the workers' memory, but are replicated: {problem}",
            stacklevel=5,
        )
        return Placement("replicate")


def choose_placement(asked: str, data: DistributedSet, client: Client) -> Placement:
    """Return the way to grow that was asked for, or one that fits the workers' memory."""
    limits = [
        worker["memory_limit"]
        for worker in client.scheduler_info(n_workers=-1)["workers"].values()
        if worker["memory_limit"]
    ]
    row = COPIES * bytes_of_row(data.tables) + SAMPLE_BYTES
    room: Any = SHARE * min(limits) / row if limits else float("inf")
    rows = data.n_rows if room == float("inf") else int(room)
    if asked == "auto":
        asked = "replicate" if data.n_rows <= room else "distribute"
    return Placement(asked, max(LEAST_SUBTREE, min(rows, data.n_rows // 2)))

"""The coded blocks by the workers that hold them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hardwood.dask.tables import bytes_of_row
from hardwood.dask.tasks import FAN_IN, Tasks
from hardwood.dask.training import DistributedSet


@dataclass(frozen=True)
class Shelf:
    """Some blocks of one worker, which one task looks at: their numbers, and they as futures."""

    home: str | None
    numbers: list[int]
    blocks: list[Any]
    drawings: list[Any]

    @property
    def held(self) -> tuple[list[int], list[Any], list[Any]]:
        """The numbers of the blocks, the blocks, and their draws."""
        return self.numbers, self.blocks, self.drawings


def fill_shelves(
    data: DistributedSet, drawings: Sequence[Any], tasks: Tasks, most_bytes: int, for_threads: bool
) -> list[Shelf]:
    """Return the blocks by workers, so many at a time as another worker could fetch in need.

    With `for_threads`, there are no more than each thread's share of them, and than one task merges.
    """
    blocks, row = data.blocks, bytes_of_row(data.tables)
    of_homes: dict[str | None, list[int]] = defaultdict(list)
    for number, home in enumerate(tasks.homes(blocks)):
        of_homes[home].append(number)
    n_threads: dict[Any, int] = tasks.threads()
    shelves = []
    for home, numbers in of_homes.items():
        largest = max(1, row * max(data.n_rows_of[number] for number in numbers))
        n_at_once = most_bytes // largest
        if for_threads:
            n_at_once = min(n_at_once, FAN_IN, len(numbers) // n_threads.get(home, 1))
        n_at_once = max(1, n_at_once)
        for first in range(0, len(numbers), n_at_once):
            some = numbers[first : first + n_at_once]
            shelves.append(
                Shelf(home, some, [blocks[i] for i in some], [drawings[i] for i in some])
            )
    return shelves

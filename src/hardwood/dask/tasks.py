"""Tasks of one fit on a cluster."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from dask.base import annotate
from dask.delayed import delayed
from distributed import Client, Future, KilledWorker, as_completed, default_client, wait
from numpy.typing import NDArray

FAN_IN = 8  # results that one task merges


class Tasks:
    """The tasks of a fit, under names that Dask's dashboard shows.

    All futures are released at the end, also if the fit fails or is interrupted, so that no work and
    no memory is left on the workers.
    """

    def __init__(self, client: Client | None) -> None:
        self.client = default_client() if client is None else client
        self._token = uuid4().hex[:12]
        self._n_tasks = 0
        self._futures: set[Any] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self.client.status == "running":
            # Not `client.cancel`: it fails on tasks that only other tasks want.
            self.release(list(self._futures))
        self._futures.clear()

    def threads(self) -> dict[str, int]:
        """Return the workers and how many threads each has. Wait if there is none: it may restart."""
        while True:
            # Not `client.scheduler_info`: now and then the client's heartbeat empties it.
            found: dict[str, int] = self.client.nthreads()
            if found:
                return found
            self.client.wait_for_workers(1)

    def _key(self, name: str) -> str:
        self._n_tasks += 1
        return f"hardwood-{name}-{self._token}-{self._n_tasks}"

    def run(self, name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the future of a function of values, futures and lists of these."""
        future = self.client.submit(function, *args, key=self._key(name), pure=False, **options)
        self._futures.add(future)
        return future

    def send(self, value: Any) -> Any:
        """Return the future of a value that many tasks need.

        The scheduler keeps it, so it is not lost with the worker that holds it.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.run("send", _same, value)

    def blocks(self, name: str, function: Callable[..., Any], blocks: Sequence[Any]) -> list[Any]:
        """Return futures of a function of each block, which is a tuple of delayed objects.

        Futures among them are those of other tasks.
        """
        # All at once and without a choice of workers, or Dask would read blocks that nobody can take.
        calls = [self.later(name, function, *block) for block in blocks]
        futures: list[Any] = self.client.compute(calls)
        self._futures.update(futures)
        return futures

    def later(
        self, name: str, function: Callable[..., Any], *args: Any, home: str | None = None
    ) -> Any:
        """Return a delayed task, which runs when a task that needs it is started.

        It runs on the worker `home`, as long as that lives.
        """
        if home is None:
            return delayed(function, pure=False)(*args, dask_key_name=self._key(name))
        with annotate(workers=[home], allow_other_workers=True):
            return self.later(name, function, *args)

    def start(self, task: Any) -> Any:
        """Return the future of a delayed task. It goes after those started before it."""
        if isinstance(task, Future):
            return task
        future = self.client.compute(task, fifo_timeout="0 s")
        self._futures.add(future)
        return future

    def homes(self, futures: Sequence[Any]) -> list[Any]:
        """Return the workers that hold results, None where there is none yet."""
        holders = self.client.who_has(futures)
        return [min(holders.get(future.key) or (), default=None) for future in futures]

    def spread(self, futures: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
        """Return the futures when all are done, and let no worker hold much more than the others.

        Results move as soon as a worker has more than its share for each of its threads.
        """
        n_threads = self.threads()
        share = sum(sizes) / sum(n_threads.values())
        numbers = {future.key: number for number, future in enumerate(futures)}
        held = list(futures)
        homes: list[str | None] = [None] * len(held)
        for batch in as_completed(futures).batches():
            done = list(batch)
            if any(future.status != "finished" for future in done):
                break  # whoever asks for the results gets the error
            for future, home in zip(done, self.homes(done), strict=True):
                homes[numbers[future.key]] = home
            self._move(held, homes, sizes, n_threads, share)
        else:
            self._move(held, homes, sizes, n_threads, 0)
        return held

    def _move(
        self,
        held: list[Any],
        homes: list[str | None],
        sizes: Sequence[int],
        n_threads: dict[str, int],
        share: float,
    ) -> None:
        moves = _moves(homes, sizes, n_threads, share)
        old = [held[number] for number in moves]
        for number, worker in moves.items():
            homes[number] = worker
            held[number] = self.run(
                "move", _same, held[number], workers=[worker], allow_other_workers=True
            )
        wait([held[number] for number in moves])
        self.release(old)

    def merged(
        self,
        name: str,
        function: Callable[[list[Any]], Any],
        parts: Sequence[Any],
        homes: Sequence[Any] | None = None,
    ) -> Any:
        """Return the future of all parts merged up a tree of tasks.

        Parts are futures or delayed tasks. Dask merges the first parts before it makes the last.
        Without `homes`, parts are merged in their order. Otherwise those of the same home are merged
        before they move.
        """
        of_homes: dict[Any, list[Any]] = defaultdict(list)
        for part, home in zip(parts, homes or [None] * len(parts), strict=True):
            of_homes[home].append(part)
        level = [self._joined(name, function, *of_home) for of_home in of_homes.items()]
        return self.start(self._joined(name, function, None, level))

    def _joined(
        self, name: str, function: Callable[..., Any], home: str | None, level: list[Any]
    ) -> Any:
        while len(level) > 1:
            parts = [level[first : first + FAN_IN] for first in range(0, len(level), FAN_IN)]
            level = [self.later(name, function, part, home=home) for part in parts]
        return level[0]

    def gather(self, futures: Any) -> Any:
        """Return the results of futures."""
        try:
            return self.client.gather(futures)
        except KilledWorker as error:
            raise MemoryError(
                f"Workers died again and again while they ran {error.task!r}, probably because "
                "they ran out of memory. Start fewer workers with more memory each "
                "(memory_limit), use smaller partitions, or set placement='distribute'."
            ) from error

    def release(self, futures: Sequence[Any]) -> None:
        """Let results go that nobody but other tasks needs any more. None stands for no result."""
        given = [future for future in futures if future is not None]
        for future in given:
            future.release()
        self._futures.difference_update(given)


def _same(value: Any) -> Any:
    return value


def _moves(
    homes: Sequence[str | None], sizes: Sequence[int], n_threads: dict[str, int], share: float
) -> dict[int, str]:
    """Return which results to move where, so that workers with more than their share hold less."""
    held: dict[str, list[int]] = {worker: [] for worker in n_threads}
    for number, home in enumerate(homes):
        if home in held:
            held[home].append(number)

    def load(worker: str, more: int = 0) -> float:
        return (sum(sizes[number] for number in held[worker]) + more) / n_threads[worker]

    moves: dict[int, str] = {}
    while held:
        fullest = max(held, key=load)
        some = [number for number in held[fullest] if sizes[number]]  # empty ones need not move
        if not some or load(fullest) <= share:
            break
        number = min(some, key=sizes.__getitem__)  # it costs least, and fits best
        after = {worker: load(worker, sizes[number]) for worker in held}
        target = min(after, key=after.__getitem__)
        if after[target] >= load(fullest):
            break
        held[fullest].remove(number)
        held[target].append(number)
        moves[number] = target
    return moves


def n_bytes(*arrays: NDArray[Any] | None) -> int:
    """Return the bytes of arrays, for `__sizeof__`: Dask asks for it, but does not look inside."""
    return sum(array.nbytes for array in arrays if array is not None)

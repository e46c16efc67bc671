"""Tasks of one fit on a cluster."""

import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from dask.delayed import delayed
from distributed import Client, KilledWorker, default_client

FAN_IN = 8  # results that one task merges


class Tasks:
    """The tasks of a fit, under names that Dask's dashboard shows.

    All futures are released at the end. If the fit fails or is interrupted they are cancelled, so
    that no work and no memory is left on the workers.
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
            self.client.cancel(list(self._futures), force=True)
        self._futures.clear()

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers."""
        of_workers: dict[str, int] = self.client.nthreads()
        return max(1, sum(of_workers.values()))

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
        task = delayed(function, pure=False)
        calls = [task(*block, dask_key_name=self._key(name)) for block in blocks]
        futures: list[Any] = self.client.compute(calls)
        self._futures.update(futures)
        return futures

    def merged(self, name: str, function: Callable[[list[Any]], Any], parts: Sequence[Any]) -> Any:
        """Return the future of all parts merged, in their order, up a tree of tasks."""
        level = list(parts)
        while True:
            firsts = range(0, len(level), FAN_IN)
            level = [self.run(name, function, level[first : first + FAN_IN]) for first in firsts]
            if len(level) == 1:
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
        """Let results go that nobody needs any more."""
        self._futures.difference_update(futures)


def _same(value: Any) -> Any:
    return value

"""Performs runs, here or spread over processes and machines, and stores their results.

This process claims runs and stores results. Workers only compute, so they can be anywhere.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import joblib
from joblib.parallel import get_active_backend

from lab.store import Measured, Run, Store

if TYPE_CHECKING:
    from lab.paper.estimates import Estimates

__all__ = ["Observer", "Plan", "Summary", "perform_all"]

_LOCAL_BACKENDS = {"SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend"}


class Observer:
    """Follows the runs. This one ignores them; `seconds_left` is None if it cannot be estimated."""

    def planned(self, n_runs: int, n_done: int, seconds_left: float | None) -> None:
        """Learn how many runs there are and how many are done."""

    def started(self, run: Run) -> None:
        """Learn that a worker has received a run."""

    def ended(self, run: Run, outcome: Measured | str, seconds_left: float | None) -> None:
        """Learn what a run measured, or the message of its error."""

    def skipped(self, run: Run, reason: str, seconds_left: float | None) -> None:
        """Learn that a run is left out, and why."""


@dataclass(frozen=True)
class Summary:
    """What a call of `perform_all` did: numbers of runs."""

    n_done: int = 0
    n_before: int = 0  # completed earlier
    n_failed: int = 0
    n_elsewhere: int = 0  # claimed by another process
    n_left_out: int = 0  # by the plan

    def __str__(self) -> str:
        parts = [f"{self.n_done:,} runs completed", f"{self.n_before:,} completed earlier"]
        if self.n_elsewhere:
            parts.append(f"{self.n_elsewhere:,} claimed by another process")
        if self.n_left_out:
            parts.append(f"{self.n_left_out:,} left out")
        if self.n_failed:
            parts.append(f"{self.n_failed:,} failed and will be retried next time")
        return ", ".join(parts)


@dataclass(frozen=True)
class Plan:
    """What to run, and how. By default, one run after another in this process.

    Attributes
    ----------
    runs : sequence of Run
        All runs, including those that may be done.
    perform : callable
        Takes a run and the number of threads, and returns what it measured. Where runs are spread
        over processes it must be picklable.
    versions : str
        Versions of the libraries, stored with each result.
    blocks : callable
        Groups the open runs; one group is finished before the next starts.
    by_threads : callable
        Whether a run trains its model with all threads. Other runs train with one, side by side.
    leave_out : callable
        Takes a run and all results so far, and returns why not to do it, or "".
    estimates : Estimates, optional
        Tells how long the rest takes.
    """

    runs: Sequence[Run]
    perform: Callable[[Run, int], Measured]
    versions: str
    blocks: Callable[[Sequence[Run]], Iterable[Sequence[Run]]] = lambda runs: [runs]
    by_threads: Callable[[Run], bool] = lambda run: True
    leave_out: Callable[[Run, Mapping[Run, Measured]], str] = lambda run, measured: ""
    estimates: Estimates | None = None


def perform_all(
    plan: Plan, store: Store, jobs: int | None = None, observer: Observer | None = None
) -> Summary:
    """Perform the runs of a plan that the store does not hold yet, with `jobs` processors.

    The store receives each result as soon as its run ends. If a result cannot be stored, a
    `StoreError` is raised; earlier results are safe. By default, all processors are used.
    """
    return _Runner(plan, store, jobs, observer or Observer()).run()


class _Runner:
    def __init__(self, plan: Plan, store: Store, jobs: int | None, observer: Observer) -> None:
        self._plan, self._store, self._observer = plan, store, observer
        backend, _ = get_active_backend()
        self._is_local = type(backend).__name__ in _LOCAL_BACKENDS
        self._jobs = jobs or (joblib.cpu_count() if self._is_local else -1)
        self._measured = {result.run: result.measured for result in store.results()}
        self._open: set[Run] = set()
        self._suspects: set[Run] = set()  # in flight when a worker died, and still claimed
        self._summary = Summary()
        self._lock = threading.Lock()  # joblib's threads count what they skip
        self._broken: Exception | None = None
        self._estimated_at, self._left = float("-inf"), 0.0

    def run(self) -> Summary:
        runs = self._plan.runs
        left = [run for run in runs if run not in self._measured]
        self._open = set(left)
        self._count(n_before=len(runs) - len(left))
        self._observer.planned(len(runs), self._summary.n_before, self._seconds_left())
        with self._store.beating():
            try:
                for block in self._plan.blocks(left) if left else ():
                    # Usually once. After a worker died: each suspect alone, then the rest.
                    while rest := [run for run in block if run in self._open]:
                        self._run_block([run for run in rest if run in self._suspects][:1] or rest)
            finally:
                self._store.release()
        return self._summary

    def _run_block(self, block: Sequence[Run]) -> None:
        # One forest by all threads is faster than several at once, and needs less memory.
        by_threads = self._is_local and self._plan.by_threads(block[0])
        threads = self._jobs if by_threads else 1
        parallel = joblib.Parallel(
            n_jobs=1 if by_threads else self._jobs, return_as="generator_unordered", batch_size=1
        )
        in_flight: set[Run] = set()
        tasks = (
            joblib.delayed(_attempt)(self._plan.perform, run, threads)
            for run in self._claimed(block, in_flight)
        )
        outcomes = parallel(tasks)
        try:
            for run, outcome in outcomes:
                in_flight.discard(run)
                self._end(run, outcome, threads)
        except BrokenProcessPool as error:
            if not in_flight:
                raise
            if len(in_flight) > 1:
                self._suspects |= in_flight
            else:
                why = f"A worker process died, perhaps because it ran out of memory: {error}"
                self._end(in_flight.pop(), why, threads)
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # joblib's, about cancelled tasks
                outcomes.close()
        # joblib takes tasks in threads of its own, where an error would go unnoticed.
        if self._broken is not None:
            raise self._broken

    def _claimed(self, block: Iterable[Run], in_flight: set[Run]) -> Iterator[Run]:
        """Yield the runs that this process gets, claiming each when a worker is free for it."""
        try:
            for run in block:
                if reason := self._plan.leave_out(run, self._measured):
                    self._count(n_left_out=1)
                    self._skip(run, reason)
                elif run in self._suspects or self._store.claim(run):
                    in_flight.add(run)
                    self._observer.started(run)
                    yield run
                else:
                    self._count(n_elsewhere=1)
                    self._skip(run, "claimed by another process")
        except Exception as error:
            self._broken = error

    def _end(self, run: Run, outcome: Measured | str, threads: int) -> None:
        self._open.discard(run)
        self._suspects.discard(run)
        if isinstance(outcome, str):
            self._store.fail(run, outcome)
            self._count(n_failed=1)
        else:
            kept = self._store.finish(run, outcome, threads, self._plan.versions)
            self._count(n_done=int(kept), n_elsewhere=int(not kept))
            self._measured[run] = outcome
            if self._plan.estimates is not None:
                self._plan.estimates.learn(run, outcome["seconds"])
        self._observer.ended(run, outcome, self._seconds_left())

    def _skip(self, run: Run, reason: str) -> None:
        self._open.discard(run)
        self._observer.skipped(run, reason, self._seconds_left())

    def _count(self, **more: int) -> None:
        with self._lock:
            counts = {name: getattr(self._summary, name) + n for name, n in more.items()}
            self._summary = replace(self._summary, **counts)

    def _seconds_left(self) -> float | None:
        plan = self._plan
        if plan.estimates is None:
            return None
        # A sum over thousands of runs is too slow to repeat after runs that take milliseconds.
        if time.monotonic() - self._estimated_at > 1 or not self._open:
            jobs = max(self._jobs, 1)
            self._left = sum(
                plan.estimates.seconds(run) / (1 if plan.by_threads(run) else jobs)
                for run in list(self._open)
                if not plan.leave_out(run, self._measured)
            )
            self._estimated_at = time.monotonic()
        return self._left


def _attempt(
    perform: Callable[[Run, int], Measured], run: Run, threads: int
) -> tuple[Run, Measured | str]:
    """Perform a run in a worker; an error is its outcome and does not stop other runs."""
    try:
        return run, perform(run, threads)
    except Exception as error:
        return run, f"{type(error).__name__}: {error}"

"""Spreads runs over processes or machines, and stores what comes of them.

This process claims runs and stores results; workers only compute, so that they may be anywhere.
"""

from __future__ import annotations

import platform
import threading
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import groupby
from typing import Any, Protocol

import joblib
from joblib.parallel import get_active_backend

from lab.paper.estimates import Estimates
from lab.paper.protocol import Outcome, perform
from lab.paper.spec import FORESTS, Run, Source, Spec
from lab.paper.store import Store

__all__ = ["Observer", "Summary", "run"]

# The engine's threads do better than several forests at once, and hold one forest in memory.
_LOCAL_BACKENDS = {"SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend"}


class Observer(Protocol):
    """Who is told how the runs go on."""

    def planned(self, n_runs: int, n_done: int, seconds_left: float) -> None:
        """Tell how many runs the spec has, how many are done, and how long the rest may take."""

    def started(self, run: Run) -> None:
        """Tell that a run was handed to a worker."""

    def ended(self, run: Run, outcome: Outcome | str, seconds_left: float) -> None:
        """Tell what came of a run, an error's message included, and how long the rest may take."""

    def skipped(self, run: Run, reason: str, seconds_left: float) -> None:
        """Tell that a run is left out, and why."""


@dataclass(frozen=True)
class Summary:
    """What a call of `run` did.

    Attributes
    ----------
    n_done : int
        Runs that ended well in this call.
    n_before : int
        Runs that were done before.
    n_failed : int
        Runs that failed in this call.
    n_elsewhere : int
        Runs that another process has claimed.
    n_left_out : int
        Further seeds of slow forests.
    """

    n_done: int = 0
    n_before: int = 0
    n_failed: int = 0
    n_elsewhere: int = 0
    n_left_out: int = 0


def run(
    spec: Spec, store: Store, jobs: int | None = None, observer: Observer | None = None
) -> Summary:
    """Perform the runs of a spec that the store does not hold, the cheap ones first.

    Trees are trained side by side in `jobs` processes, forests one after another by `jobs` threads.
    Within ``joblib.parallel_config`` of a backend that reaches other machines, dask or ray, trees
    and forests alike are spread over its workers, which must find the data sets themselves.

    Parameters
    ----------
    spec : Spec
        What to run.
    store : Store
        Where results go, each as its run ends.
    jobs : int, optional
        How many processors to use; all by default.
    observer : Observer, optional
        Who is told how it goes on.

    Returns
    -------
    Summary
        What was done.

    Raises
    ------
    StoreError
        If a result cannot be stored. Those before it are.
    """
    return _Runner(spec, store, jobs, observer or _Silent()).run()


class _Runner:
    def __init__(self, spec: Spec, store: Store, jobs: int | None, observer: Observer) -> None:
        self._spec, self._store, self._observer = spec, store, observer
        backend, _ = get_active_backend()
        self._is_local = type(backend).__name__ in _LOCAL_BACKENDS
        self._jobs = jobs or (joblib.cpu_count() if self._is_local else -1)
        self._versions = _versions()
        results = store.results()
        self._seconds = {result.run: result.outcome.seconds for result in results}
        self._estimates = Estimates(spec.sources, results)
        self._open: set[Run] = set()
        self._suspects: set[Run] = set()  # in flight when a worker died, and claimed still
        self._summary = Summary()
        self._lock = threading.Lock()  # joblib's threads count what they skip
        self._broken: Exception | None = None
        self._estimated_at, self._left = float("-inf"), 0.0

    def run(self) -> Summary:
        runs = list(self._spec.runs())
        self._open = {run for run in runs if run not in self._seconds}
        self._count(n_before=len(runs) - len(self._open))
        self._observer.planned(len(runs), self._summary.n_before, self._seconds_left())
        with self._store.beating():
            try:
                for block in _blocks(self._open, self._estimates):
                    # Once, or where a worker died again: each of its runs alone, then the rest.
                    while rest := [run for run in block if run in self._open]:
                        self._run_block([run for run in rest if run in self._suspects][:1] or rest)
            finally:
                self._store.release()
        return self._summary

    def _run_block(self, block: Sequence[Run]) -> None:
        """Perform the runs of one data set, task and model."""
        by_threads = self._is_local and block[0].model in FORESTS
        threads = self._jobs if by_threads else 1
        parallel = joblib.Parallel(
            n_jobs=1 if by_threads else self._jobs,
            return_as="generator_unordered",
            batch_size=1,
        )
        in_flight: set[Run] = set()
        tasks = (
            joblib.delayed(_attempt)(run, self._spec.sources[run.dataset], threads)
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
                why = f"A worker process died, maybe for lack of memory: {error}"
                self._end(in_flight.pop(), why, threads)
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # joblib's, of what it cancels
                outcomes.close()
        # joblib takes tasks in threads of its own, where an error would go unseen.
        if self._broken is not None:
            raise self._broken

    def _claimed(self, block: Iterable[Run], in_flight: set[Run]) -> Iterator[Run]:
        """Yield the runs that this process got, each claimed when a worker has room for it."""
        try:
            for run in block:
                if self._is_slow(run):
                    self._count(n_left_out=1)
                    self._skip(run, "its first seed took long")
                elif run in self._suspects or self._store.claim(run):
                    in_flight.add(run)
                    self._observer.started(run)
                    yield run
                else:
                    self._count(n_elsewhere=1)
                    self._skip(run, "another process has it")
        except Exception as error:
            self._broken = error

    def _is_slow(self, run: Run) -> bool:
        return (
            run.model in FORESTS
            and run.seed > 0
            and self._seconds.get(run.cell, 0.0) > self._spec.slow_forest
        )

    def _end(self, run: Run, outcome: Outcome | str, threads: int) -> None:
        self._open.discard(run)
        self._suspects.discard(run)
        if isinstance(outcome, str):
            self._store.fail(run, outcome)
            self._count(n_failed=1)
        else:
            kept = self._store.finish(run, outcome, threads, self._versions)
            self._count(n_done=int(kept), n_elsewhere=int(not kept))
            self._seconds[run] = outcome.seconds
            self._estimates.learn(run, outcome.seconds)
        self._observer.ended(run, outcome, self._seconds_left())

    def _skip(self, run: Run, reason: str) -> None:
        self._open.discard(run)
        self._observer.skipped(run, reason, self._seconds_left())

    def _count(self, **more: int) -> None:
        with self._lock:
            counts = {name: getattr(self._summary, name) + n for name, n in more.items()}
            self._summary = replace(self._summary, **counts)

    def _seconds_left(self) -> float:
        # A sum over thousands of runs: not after each of those that take milliseconds.
        if time.monotonic() - self._estimated_at > 1 or not self._open:
            jobs = max(self._jobs, 1)
            self._left = sum(
                self._estimates.seconds(run) / (1 if run.model in FORESTS else jobs)
                for run in list(self._open)
                if not self._is_slow(run)
            )
            self._estimated_at = time.monotonic()
        return self._left


def _blocks(runs: Iterable[Run], estimates: Estimates) -> list[list[Run]]:
    """Group runs by data set, task and model, the cheapest group first.

    Within a group, seeds come one after the other, and the runs that share noisy labels together.
    """

    def block(run: Run) -> tuple[str, str, str]:
        return run.dataset, run.task, run.model

    ordered = sorted(runs, key=lambda run: (block(run), run.seed, run.noise, run.criterion))
    blocks = [list(group) for _, group in groupby(ordered, key=block)]
    return sorted(blocks, key=lambda group: max(map(estimates.seconds, group)))


def _attempt(run: Run, source: Source, threads: int) -> tuple[Run, Outcome | str]:
    """Perform a run in a worker; an error is its outcome and stops no other run."""
    try:
        return run, perform(run, source, threads)
    except Exception as error:
        return run, f"{type(error).__name__}: {error}"


def _versions() -> str:
    named = [f"{name} {version(name)}" for name in ("hardwood", "numpy", "scikit-learn")]
    return ", ".join([*named, f"Python {platform.python_version()}"])


class _Silent:
    def planned(self, *_: Any) -> None: ...

    def started(self, *_: Any) -> None: ...

    def ended(self, *_: Any) -> None: ...

    def skipped(self, *_: Any) -> None: ...

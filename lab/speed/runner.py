"""Starts the workers in turns and gathers what they measure."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lab.speed.peers import PEERS
from lab.speed.worker import Job

__all__ = ["Outcome", "Plan", "Task", "run"]

Measured = dict[str, float | None]


class Task(NamedTuple):
    """A data set with a share of its training labels flipped."""

    dataset: str
    noise_rate: float


@dataclass(frozen=True)
class Plan:
    """What to compare, and how.

    Attributes
    ----------
    tasks : sequence of Task
        On what; one table each.
    peers : sequence of str
        Whom; one row each.
    n_trees, n_threads : int
        The same for all.
    n_rounds : int
        How many measurements the medians are of.
    timeout : float
        Seconds after which a worker is stopped.
    """

    tasks: Sequence[Task]
    peers: Sequence[str]
    n_trees: int
    n_threads: int
    n_rounds: int
    timeout: float

    def jobs(self) -> Iterator[Job]:
        """Yield all jobs of a task before the next task's, the peers taking turns.

        A slow spell of the machine then strikes all alike.
        """
        for task in self.tasks:
            for round in range(self.n_rounds):
                for peer in self.peers:
                    yield Job(peer, *task, self.n_trees, self.n_threads, round)


@dataclass
class Outcome:
    """What is known of one peer on one task.

    Attributes
    ----------
    measured : list of dict
        One per round.
    failure : str
        Why there are no more of them.
    """

    measured: list[Measured] = field(default_factory=list)
    failure: str = ""

    def median(self, measure: str) -> float | None:
        """Return the median over the rounds, or None where nothing was measured.

        Parameters
        ----------
        measure : str
            A key of what the worker measures.

        Returns
        -------
        float or None
            Seconds, bytes, a share or a number.
        """
        values = [value for taken in self.measured if (value := taken.get(measure)) is not None]
        return statistics.median(values) if values else None


def run(
    plan: Plan, results: Path | None = None, tell: Callable[[str], None] = print
) -> dict[tuple[Task, str], Outcome]:
    """Measure everything.

    Parameters
    ----------
    plan : Plan
        What to measure.
    results : Path, optional
        A file to keep every measurement in. What it holds already, from the same versions, is not
        measured again.
    tell : callable, default=print
        Takes a line of progress.

    Returns
    -------
    dict of (Task, str) to Outcome
        By task and peer.
    """
    outcomes = {(task, peer): Outcome() for task in plan.tasks for peer in plan.peers}
    versions = {peer: PEERS[peer].version() for peer in plan.peers}
    kept = _read(results)
    for job in plan.jobs():
        outcome = outcomes[Task(job.dataset, job.noise_rate), job.peer]
        if outcome.failure:
            continue
        key = {**asdict(job), "version": versions[job.peer]}
        record = next((old for old in kept if old["job"] == key), None)
        if record is None:
            record = {"job": key, **_start(job, plan.timeout)}
            if results is not None:
                results.parent.mkdir(parents=True, exist_ok=True)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
        outcome.failure = record["failure"]
        if not outcome.failure:
            outcome.measured.append(record["measured"])
        tell(_progress(job, record))
    return outcomes


def _start(job: Job, timeout: float) -> dict[str, Any]:
    """Run a worker to its end and return what it measured, or why it did not."""
    command = [sys.executable, "-m", "lab.speed", "--worker", job.to_json()]
    threads = {"OMP_NUM_THREADS": str(job.n_threads)}
    # In a session of its own, so that whatever it started ends with it.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **threads},
        start_new_session=True,
    ) as worker:
        try:
            output, errors = worker.communicate(timeout=timeout)
        except BaseException as error:
            _end(worker)
            if isinstance(error, subprocess.TimeoutExpired):
                return {"measured": None, "failure": f"stopped after {timeout:g} s"}
            raise
    if worker.returncode != 0:
        lines = errors.strip().splitlines() or [f"ended with code {worker.returncode}"]
        return {"measured": None, "failure": lines[-1]}
    return {"measured": json.loads(output.splitlines()[-1]), "failure": ""}


def _end(worker: subprocess.Popen[str]) -> None:
    if hasattr(os, "killpg"):
        import signal

        os.killpg(worker.pid, signal.SIGKILL)
    else:
        worker.kill()


def _read(results: Path | None) -> list[dict[str, Any]]:
    if results is None or not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def _progress(job: Job, record: dict[str, Any]) -> str:
    what = f"{job.dataset} {job.noise_rate:.0%}, round {job.round + 1}: {PEERS[job.peer].title}"
    if record["failure"]:
        return f"{what}: {record['failure']}"
    measured = record["measured"]
    return (
        f"{what}: fit {measured['fit_wall']:.3g} s ({measured['fit_cpu']:.3g} s CPU), "
        f"accuracy {measured['accuracy']:.2%}"
    )

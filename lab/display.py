"""Progress of the runs, in a terminal or in a log."""

from __future__ import annotations

import os
import threading
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Column

from lab.runner import Observer
from lab.store import Measured, Run

__all__ = ["Display"]


class Display(Observer):
    """An observer with a progress bar or, where there is no terminal, one line per run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[Run, None] = {}  # in the order of their start
        self._lock = threading.Lock()  # joblib starts runs in threads of its own
        self._n_ended, self._n_runs, self._left = 0, 0, ""
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True)),
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID = self._progress.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def planned(self, n_runs: int, n_done: int, seconds_left: float | None) -> None:
        """Show how much there is to do."""
        self._n_runs, self._n_ended = n_runs, n_done
        left = "" if seconds_left is None else f"; about {_duration(seconds_left)} left"
        self._console.print(f"{n_runs:,} runs, {n_done:,} of them completed{left}")
        self._show(seconds_left)

    def started(self, run: Run) -> None:
        """Show that a run has started."""
        with self._lock:
            self._running[run] = None
        self._show()

    def ended(self, run: Run, outcome: Measured | str, seconds_left: float | None) -> None:
        """Show a failure, and in a log also a result."""
        with self._lock:
            self._running.pop(run, None)
            self._n_ended += 1
        if isinstance(outcome, str):
            self._console.print(f"Failed: {run}: {outcome}", soft_wrap=True, markup=False)
        elif not self._console.is_terminal:
            left = "" if seconds_left is None else f"; {_duration(seconds_left)} left"
            self._console.print(
                f"[{self._n_ended}/{self._n_runs}] {run}: {_in_short(outcome)}{left}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )
        self._show(seconds_left)

    def skipped(self, run: Run, reason: str, seconds_left: float | None) -> None:
        """Count a run that is left out."""
        with self._lock:
            self._n_ended += 1
        self._show(seconds_left)

    def _show(self, seconds_left: float | None = None) -> None:
        with self._lock:
            if seconds_left is not None:
                self._left = f"{_duration(seconds_left)} left"
            # joblib hands out more runs than there are workers; the first ones are running.
            running = [str(run) for run in list(self._running)[: os.cpu_count() or 1]]
        self._progress.update(
            self._task,
            total=self._n_runs,
            completed=self._n_ended,
            description="; ".join(running),
            left=self._left,
        )


def _in_short(measured: Measured) -> str:
    if failure := measured.get("failure"):
        return str(failure)
    parts = [f"{measured['accuracy']:.2f} %"] if "accuracy" in measured else []
    return " in ".join([*parts, _duration(measured["seconds"])])


def _duration(seconds: float) -> str:
    """Write a time in at most two units."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"

"""A run, its result, and how results are written as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = [
    "END_COLUMNS",
    "RUN_COLUMNS",
    "Measured",
    "Result",
    "Run",
    "csv_text",
    "results_of_csv",
    "settings_json",
]

Measured = dict[str, Any]
"""What a run measured, by name: numbers, texts, or small JSON structures."""


@dataclass(frozen=True, order=True)
class Run:
    """One model trained on one data set with one kind of noise and one seed: a result's key.

    Attributes
    ----------
    dataset, task, model, criterion, noise : str
        The names that the spec or the benchmark uses. Benchmarks leave `criterion` empty.
    seed : int
        Seed of everything that is random; also the round of a timing.
    trees : int
        Number of trees; 1 for a decision tree.
    max_rows : int
        Maximum number of training rows; 0 for all.
    settings : str
        What the names stand for, as JSON (see `settings_json`). If a name changes its meaning,
        its runs become different runs.
    """

    dataset: str
    task: str
    model: str
    criterion: str
    noise: str
    seed: int
    trees: int
    max_rows: int
    settings: str

    @property
    def cell(self) -> Run:
        """The run with seed 0, which stands for all seeds."""
        return replace(self, seed=0)

    def __str__(self) -> str:
        model = f"{self.model} {self.criterion}".strip()
        return f"{self.dataset} {self.task}, {model}, noise {self.noise}, seed {self.seed}"


def settings_json(settings: Any) -> str:
    """Return settings as JSON in which equal settings have equal texts.

    Examples
    --------
    >>> from lab.results import settings_json
    >>> settings_json({"q": 1.0, "kind": "gce"})
    '{"kind":"gce","q":1}'
    """

    def canonical(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: canonical(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [canonical(item) for item in value]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return json.dumps(canonical(settings), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Result:
    """A completed run and what it measured.

    Attributes
    ----------
    run : Run
        The run.
    measured : dict
        What it measured, by name.
    threads : int
        Number of threads that trained the model.
    finished : str
        When it ended: UTC, ISO 8601.
    versions : str
        Versions of the libraries.
    """

    run: Run
    measured: Measured
    threads: int
    finished: str
    versions: str

    @property
    def accuracy(self) -> float:
        """Accuracy on the clean test labels, in percent."""
        return float(self.measured["accuracy"])


RUN_COLUMNS = tuple(field.name for field in fields(Run))
END_COLUMNS = ("threads", "finished", "versions")


def csv_text(value: Any) -> str:
    """Write a measure as JSON, a float with six digits and None as nothing."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else json.dumps(value)


def results_of_csv(rows: Iterator[list[str]]) -> Iterator[Result]:
    heading = next(rows, [])
    n_run, n_end = len(RUN_COLUMNS), len(END_COLUMNS)
    if tuple(heading[:n_run]) != RUN_COLUMNS or tuple(heading[-n_end:]) != END_COLUMNS:
        first, last = ",".join(RUN_COLUMNS), ",".join(END_COLUMNS)
        raise ValueError(f"its header must start with {first} and end with {last}.")
    texts = {"dataset", "task", "model", "criterion", "noise", "settings", "finished", "versions"}
    for number, row in enumerate(rows, 2):
        if len(row) != len(heading):
            raise ValueError(f"line {number} has {len(row)} fields instead of {len(heading)}.")
        values: list[Any] = []
        for column, text in zip(heading, row, strict=True):
            try:
                values.append(text if column in texts else json.loads(text or "null"))
            except ValueError as error:
                raise ValueError(f"line {number}: {column} is {text!r}.") from error
        measured = dict(zip(heading[n_run:-n_end], values[n_run:-n_end], strict=True))
        yield Result(Run(*values[:n_run]), measured, *values[-n_end:])

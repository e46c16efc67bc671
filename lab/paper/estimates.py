"""How long runs will take, to order them and to show the time left."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from hardwood.datasets import SHAPES
from lab.paper.spec import FORESTS, Source
from lab.store import Result, Run

__all__ = ["Estimates"]

_SECONDS_PER_VISIT = 6e-9  # a first guess; completed runs correct it


class Estimates:
    """Expected times, learned from similar runs if any have been completed.

    Parameters
    ----------
    sources : mapping of str to Source
        Where the data sets come from.
    results : iterable of Result
        The completed runs.
    """

    def __init__(self, sources: Mapping[str, Source], results: Iterable[Result] = ()) -> None:
        self._sources = sources
        self._guesses: dict[Run, float] = {}
        # For each kind of run: how many there were, and the sum of their times relative to the guess.
        self._ratios: dict[tuple[object, ...], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for result in results:
            if result.run.dataset in sources:
                self.learn(result.run, result.measured["seconds"])

    def learn(self, run: Run, seconds: float) -> None:
        """Take note of how long a run took."""
        for kind in _kinds(run):
            number, total = self._ratios[kind]
            self._ratios[kind] = number + 1, total + seconds / self._guess(run)

    def seconds(self, run: Run) -> float:
        """Return how long a run should take."""
        for kind in _kinds(run):
            if kind in self._ratios:
                number, total = self._ratios[kind]
                return self._guess(run) * total / number
        return self._guess(run)

    def _guess(self, run: Run) -> float:
        cell = run.cell
        if cell not in self._guesses:
            self._guesses[cell] = self._guess_anew(cell)
        return self._guesses[cell]

    def _guess_anew(self, run: Run) -> float:
        """Count the values that are looked at: n d log n per tree, with √d for d in a forest."""
        rows, features = self._shape(run.dataset)
        rows = min(rows, run.max_rows) if run.max_rows else rows
        if run.model in FORESTS:
            features = math.ceil(math.sqrt(features))
        tune = json.loads(run.settings).get("criterion", {}).get("tune", {})
        n_fits = math.prod(map(len, tune.values()))
        visits = n_fits * run.trees * rows * features * math.log2(max(rows, 2))
        return _SECONDS_PER_VISIT * visits

    def _shape(self, dataset: str) -> tuple[int, int]:
        source = self._sources[dataset]
        if source.dataset is not None:
            shape = SHAPES[source.dataset]
            return shape.n_train, shape.n_features
        n_bytes = Path(source.path or "").stat().st_size
        return max(2, n_bytes // 100), 100


def _kinds(run: Run) -> list[tuple[object, ...]]:
    """Return the kinds of runs that a run belongs to, the narrowest first."""
    block = (run.dataset, run.task, run.model, run.trees, run.max_rows)
    return [(*block, run.criterion, run.noise), (*block, run.criterion), block, (run.model,)]

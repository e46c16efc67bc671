"""How long runs will take: for their order, and for the time left."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from hardwood.datasets import SHAPES
from lab.paper.spec import FORESTS, Run, Source
from lab.paper.store import Result

__all__ = ["Estimates"]

_SECONDS_PER_VISIT = 6e-9  # a guess for the order; what has ended says better


class Estimates:
    """Expected times, from runs that have ended where there are any like it.

    Parameters
    ----------
    sources : mapping of str to Source
        Where the data sets come from.
    results : iterable of Result
        What has ended so far.
    """

    def __init__(self, sources: Mapping[str, Source], results: Iterable[Result] = ()) -> None:
        self._sources = sources
        self._guesses: dict[Run, float] = {}
        # By likeness, the number of runs and the sum of what each took relative to the guess.
        self._measured: dict[tuple[object, ...], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for result in results:
            if result.run.dataset in sources:
                self.learn(result.run, result.outcome.seconds)

    def learn(self, run: Run, seconds: float) -> None:
        """Take note of how long a run took.

        Parameters
        ----------
        run : Run
            What ended.
        seconds : float
            The time.
        """
        for likeness in _likenesses(run):
            number, total = self._measured[likeness]
            self._measured[likeness] = number + 1, total + seconds / self._guess(run)

    def seconds(self, run: Run) -> float:
        """Return how long a run should take.

        Parameters
        ----------
        run : Run
            The run.

        Returns
        -------
        float
            Seconds.
        """
        for likeness in _likenesses(run):
            if likeness in self._measured:
                number, total = self._measured[likeness]
                return self._guess(run) * total / number
        return self._guess(run)

    def _guess(self, run: Run) -> float:
        cell = run.cell
        if cell not in self._guesses:
            self._guesses[cell] = self._guess_anew(cell)
        return self._guesses[cell]

    def _guess_anew(self, run: Run) -> float:
        """Count the visits of rows and features: n d log n a tree, √d for d in a forest."""
        rows, features = self._shape(run.dataset)
        rows = min(rows, run.max_rows) if run.max_rows else rows
        if run.model in FORESTS:
            features = math.ceil(math.sqrt(features))
        tune = json.loads(run.settings)["criterion"].get("tune", {})
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


def _likenesses(run: Run) -> list[tuple[object, ...]]:
    """Return what a run has in common with others, the closest likeness first."""
    block = (run.dataset, run.task, run.model, run.trees, run.max_rows)
    return [(*block, run.criterion, run.noise), (*block, run.criterion), block, (run.model,)]

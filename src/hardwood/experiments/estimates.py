"""How long runs will take: for their order, and for the time left."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from hardwood.experiments.spec import FORESTS, Run, Source
from hardwood.experiments.store import Result

__all__ = ["Estimates"]

# Training rows and features of the known data sets; all that is asked of them is an order.
_SHAPES = {
    "mnist": (60_000, 784),
    "cifar10": (50_000, 3_072),
    "20news": (11_314, 300),
    "unsw_nb15": (175_341, 39),
    "covertype": (464_809, 54),
    "mushrooms": (6_499, 112),
}
_SECONDS_PER_VISIT = 2e-9


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
        path = self._sources[dataset].path if dataset in self._sources else None
        if path is None:
            return _SHAPES.get(dataset, (10_000, 100))
        return max(2, Path(path).stat().st_size // 100), 100


def _likenesses(run: Run) -> list[tuple[object, ...]]:
    """Return what a run has in common with others, the closest likeness first."""
    block = (run.dataset, run.task, run.model, run.trees, run.max_rows)
    return [(*block, run.criterion, run.noise), (*block, run.criterion), block, (run.model,)]

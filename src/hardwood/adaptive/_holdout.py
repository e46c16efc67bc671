"""The paper's ANE: λ by the accuracy on noisy rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import _engine
from hardwood._compat import Interval
from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet
from hardwood._io.storing import Stored
from hardwood._io.frames import Table
from hardwood.criteria import NegativeExponential

LAM_GRID = (0, 0.25, 0.5, 0.75, 1)
HOLDOUT_CONSTRAINTS: dict[str, Any] = {
    "lam_grid": ["array-like"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "refit": ["boolean"],
}

Grow = Callable[[TrainingSet, _engine.Codes], CompactForest]


@dataclass(frozen=True)
class Tuned:
    """What the rows held out chose.

    Attributes
    ----------
    lam : float
        The best λ, the first of equals.
    forest : CompactForest
        Grown with it, from all rows or from those not held out.
    table : dict
        The columns of ``tuning_scores_``: each λ and its accuracy on the rows held out, NaN if
        there is no row to hold out.
    """

    lam: float
    forest: CompactForest
    table: Table


def check_lam_grid(lam_grid: Any) -> list[float]:
    """Return the λ to try; a wrong one is a ValueError."""
    values = np.asarray(lam_grid, dtype=np.float64).ravel()
    if not len(values) or not np.all((values >= 0) & (values <= 1)):
        raise ValueError(
            f"lam_grid must hold one or more numbers between 0 and 1, got {lam_grid!r}."
        )
    return [float(value) for value in values]


def lam_from_stored(stored: Stored, name: str) -> float:
    """Return a λ from a file."""
    lam = stored.number(name)
    if not 0 <= lam <= 1:
        raise stored.wrong(name, "between 0 and 1")
    return lam


def tune(
    data: TrainingSet,
    lam_grid: Sequence[float],
    fraction: float,
    refit: bool,
    seed: int,
    n_threads: int,
    grow: Grow,
) -> Tuned:
    """Grow with each λ on the rows that are not held out, and choose the most accurate on the rest.

    The columns are coded once for all candidates, which share the seed too.
    """
    kept, held_out = _split(len(data.X), fraction, seed)
    part = _rows(data, kept) if len(held_out) else data
    codes = _engine.code(part.X, n_threads)
    test = _rows(data, held_out)
    best: tuple[float, float, CompactForest] | None = None
    accuracies = []
    for lam in lam_grid:
        forest = grow(_with_lam(part, lam), codes)
        accuracy = _accuracy(forest, test, n_threads)
        accuracies.append(accuracy)
        if best is None or accuracy > best[0]:
            best = accuracy, lam, forest
        del forest  # a large one is gone before the next one grows
    assert best is not None  # there is at least one λ
    _, lam, forest = best
    if refit and len(held_out):
        forest = grow(_with_lam(data, lam), _engine.code(data.X, n_threads))
    return Tuned(lam, forest, {"lam": list(lam_grid), "accuracy": accuracies})


def _split(n_rows: int, fraction: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to grow from and those held out: at least one of each, if there are two."""
    n_held_out = min(max(1, round(fraction * n_rows)), n_rows - 1)
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _rows(data: TrainingSet, rows: NDArray[np.intp]) -> TrainingSet:
    weights = None if data.weights is None else data.weights[rows]
    return replace(data, X=data.X[rows], labels=data.labels[rows], weights=weights, kept=None)


def _with_lam(data: TrainingSet, lam: float) -> TrainingSet:
    return replace(data, criterion=NegativeExponential(lam=lam)._for_engine(len(data.classes)))


def _accuracy(forest: CompactForest, test: TrainingSet, n_threads: int) -> float:
    if not len(test.X):
        return float("nan")
    predicted = forest.predict_proba(test.X, n_threads).argmax(axis=1)
    return float(np.average(predicted == test.labels, weights=test.weights))

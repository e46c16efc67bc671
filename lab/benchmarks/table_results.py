"""Results on a folder of tables, as cells.

A *cell* is one table with one kind of noise. Its value is the mean over the seeds that all models have.
All other means are means over cells, so that each of them counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from lab.benchmarks.table_models import CLEANLAB, MODELS, OUR_AUDIT, OURS, OURS_BALANCED
from lab.benchmarks.table_sets import HALVES, half_of
from lab.store import Result

Frame = Any  # pandas.DataFrame, which has no types of its own here

CELL = ["family", "table", "noise"]
METRICS = {
    "accuracy": ("Accuracy (%)", ".1f"),
    "balanced_accuracy": ("Balanced accuracy (%)", ".1f"),
    "auc": ("AUC (%)", ".1f"),
    "log_loss": ("Log loss", ".3f"),
}
"""What is measured of a classifier, with its title and the style of its numbers."""

WIN = 0.3
"""Points of accuracy in a cell beyond which a difference is a win or a loss."""


def frame_of(results: Sequence[Result]) -> Frame:
    """Return the results as a data frame with one line per run."""
    lines = [
        {
            "family": result.run.task,
            "table": result.run.dataset,
            "noise": result.run.noise,
            "half": half_of(result.run.dataset),
            "seed": result.run.seed,
            "model": result.run.model,
            "trees": result.run.trees,
            **result.measured,
        }
        for result in results
    ]
    frame = pd.DataFrame(lines)
    return frame.astype({"auc": float}) if "auc" in frame else frame  # it can be None


@dataclass(frozen=True)
class Scope:
    """Results on some of the tables.

    Attributes
    ----------
    name : str
        What the tables are called.
    runs : DataFrame
        The results, as `frame_of` returns them.
    """

    name: str
    runs: Frame

    def where(self, mask: Any) -> Scope:
        """Return the results of some of the runs."""
        return Scope(self.name, self.runs[mask])

    def family(self, family: str) -> Scope:
        """Return the results on one family of tables."""
        return self.where(self.runs["family"] == family)

    @cached_property
    def models(self) -> list[str]:
        """The classifiers that have results, in the order of the tables."""
        found = set(self.runs["model"])
        return [model for model in MODELS if model in found]

    @property
    def peers(self) -> list[str]:
        """The classifiers of other libraries."""
        return [model for model in self.models if model not in (OURS, OURS_BALANCED)]

    @cached_property
    def classified(self) -> Frame:
        """The runs of classifiers, on the cells and seeds that all of them have."""
        return common(self.runs, self.models)

    @cached_property
    def cells(self) -> Frame:
        """A line per cell; columns are pairs of a metric and a model."""
        return by_cell(self.classified, [*METRICS, "cpu_seconds"])

    @cached_property
    def audited(self) -> Frame:
        """A line per cell that has wrong labels; columns are pairs of a measure and an audit."""
        if not {OUR_AUDIT, CLEANLAB} <= set(self.runs["model"]):
            return pd.DataFrame()
        noisy = self.runs[self.runs["average_precision"].notna()]
        return by_cell(common(noisy, [OUR_AUDIT, CLEANLAB]), ["average_precision", "missed"])

    @cached_property
    def our_audits(self) -> Frame:
        """The runs of our audit."""
        return self.runs[self.runs["model"] == OUR_AUDIT]

    def has(self, *models: str) -> bool:
        """Tell whether there are cells with these classifiers."""
        return set(models) <= set(self.models) and bool(len(self.classified))

    def mean(self, metric: str, model: str) -> float:
        """Return the mean of a metric over cells."""
        return float(self.cells[metric, model].mean())

    def wins_and_losses(self, peer: str) -> tuple[int, int]:
        """Return in how many cells our accuracy is above, and below, a peer's by `WIN` points."""
        difference = self.cells["accuracy", OURS] - self.cells["accuracy", peer]
        return int((difference > WIN).sum()), int((difference < -WIN).sum())

    def differences(self, peer: str) -> Frame:
        """Return our accuracy minus a peer's in each cell: mean, standard error and seeds.

        All seeds count that the two models have, whatever the other models have.
        """
        both = common(self.runs, [OURS, peer]).set_index([*CELL, "seed", "model"])
        by_seed = both["accuracy"].unstack("model")
        grouped = (by_seed[OURS] - by_seed[peer]).groupby(level=CELL)
        return pd.DataFrame({"mean": grouped.mean(), "error": grouped.sem(), "n": grouped.size()})

    @cached_property
    def high_scores(self) -> Frame:
        """The mean of our audit's high scores in each cell, and the share that is wrong, in percent.

        `chance` is the distance of the two to be expected if the scores were exact.
        """
        sums = self.our_audits.groupby(CELL)[["n_high", "high_score", "high_wrong"]].sum()
        sums = sums[sums["n_high"] > 0]
        shares = sums.div(sums["n_high"], axis=0)
        shares["chance"] = distance_by_chance(sums["n_high"], shares["high_score"])
        return 100 * shares.rename(columns={"high_score": "score", "high_wrong": "wrong"})

    def coverage(self) -> tuple[float, float]:
        """Return how often our interval covers the noise rate, and its mean width, in percent."""
        low, high = np.array(self.our_audits["interval"].tolist()).T
        flipped = self.our_audits["flipped"].to_numpy()
        covers = (low <= flipped) & (flipped <= high)
        return 100 * float(covers.mean()), 100 * float((high - low).mean())


def distance_by_chance(n: Any, p: Any) -> Any:
    """Return the mean distance of the share of successes in n trials to their probability p.

    It is 2 ν (1 − p) P(ν successes) / n, with ν the first whole number above n p (De Moivre).

    Examples
    --------
    >>> from lab.benchmarks.table_results import distance_by_chance
    >>> [round(float(distance_by_chance(n, 0.9)), 3) for n in (1, 10, 100, 1000)]
    [0.18, 0.07, 0.024, 0.008]
    """
    first = np.floor(n * p) + 1
    return 2 * first * (1 - p) * binom.pmf(first, n, p) / n


def common(runs: Frame, models: Sequence[str]) -> Frame:
    """Return the runs of these models in the cells and with the seeds that all of them have."""
    key = [*CELL, "seed"]
    runs = runs[runs["model"].isin(models)]
    n_models = runs.groupby(key)["model"].transform("nunique")
    return runs[n_models == len(models)]


def by_cell(runs: Frame, columns: Sequence[str]) -> Frame:
    """Return means over seeds: a line per cell, and a column per pair of a measure and a model."""
    return runs.groupby([*CELL, "model"])[list(columns)].mean().unstack("model")


def scopes(runs: Frame) -> list[Scope]:
    """Return the half that no rule was chosen on, and all tables."""
    return [
        Scope("held-out half", runs[runs["half"] == HALVES[1]]),
        Scope("all tables", runs),
    ]

"""Our results next to the paper's, cell by cell."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

from lab.data import TITLES, has_the_papers_rows
from lab.paper.spec import Spec
from lab.store import Result, Run

__all__ = [
    "NOT_COMPARABLE",
    "OTHER_FEATURES",
    "Accuracy",
    "Cell",
    "agreement",
    "compare",
    "paper_results",
]

NOT_COMPARABLE = frozenset({"Twoing"})
"""Criteria whose cells cannot agree: the paper's twoing is an artefact of its code."""

OTHER_FEATURES = {"20news": "different word vectors from the paper's"}
"""Data sets whose features are not the paper's, and how they differ."""

_ROUNDING = 0.005  # the paper prints two decimals

TOLERANCE = 0.5
"""Percentage points beyond the paper's two standard deviations that still count as agreement."""


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over seeds, in percent.

    Attributes
    ----------
    mean, two_sd : float
        Mean and twice the standard deviation; the latter is 0 if there is only one seed.
    n : int
        Number of seeds.
    """

    mean: float
    two_sd: float
    n: int

    @staticmethod
    def of(values: Sequence[float]) -> Accuracy:
        """Summarise the accuracies of one or more seeds.

        Examples
        --------
        >>> from lab.paper.compare import Accuracy
        >>> Accuracy.of([94.0, 96.0])
        Accuracy(mean=95.0, two_sd=2.8284271247461903, n=2)
        """
        return Accuracy(fmean(values), 2 * stdev(values) if len(values) > 1 else 0.0, len(values))


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    run : Run
        What the cell is about; the seed does not matter.
    paper, ours : Accuracy or None
        The paper's accuracy and ours, if there is one.
    bold : bool
        Whether the paper prints it in bold.
    others : mapping of str to Accuracy
        Our accuracies by other protocols; see `lab.paper.protocols`.
    """

    run: Run
    paper: Accuracy | None
    ours: Accuracy | None
    bold: bool = False
    others: Mapping[str, Accuracy] = field(default_factory=dict)

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.paper is None or self.ours is None else self.ours.mean - self.paper.mean

    @property
    def differs(self) -> bool:
        """Whether our band of two standard deviations and the paper's do not overlap."""
        if self.paper is None or self.ours is None:
            return False
        bands = self.paper.two_sd + self.ours.two_sd + _ROUNDING
        return abs(self.ours.mean - self.paper.mean) > bands

    @property
    def agrees(self) -> bool:
        """Whether our mean is within the paper's mean ± (2 sd + 0.5)."""
        return self.ours is not None and self.is_inside(self.ours)

    def is_inside(self, accuracy: Accuracy) -> bool:
        """Tell whether an accuracy of ours is within the paper's mean ± (2 sd + 0.5)."""
        if self.paper is None:
            return False
        return abs(accuracy.mean - self.paper.mean) <= self.paper.two_sd + TOLERANCE + _ROUNDING


def paper_results() -> dict[tuple[str, str, str, str, str], tuple[Accuracy, bool]]:
    """Return the paper's four tables.

    The keys are model, task, data set, criterion and noise; the values are the accuracy and whether
    it is in bold.

    Examples
    --------
    >>> from lab.paper.compare import paper_results
    >>> paper_results()["dt", "binary", "mnist", "CL", "cc1"]
    (Accuracy(mean=82.41, two_sd=1.19, n=5), True)
    """
    names = {title: name for name, title in TITLES.items()}
    path = Path(__file__).with_name("paper_results.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["model"], row["task"], names[row["dataset"]], row["criterion"], row["noise"]): (
                Accuracy(float(row["accuracy"]), float(row["two_sd"]), 5),
                row["bold"] == "1",
            )
            for row in csv.DictReader(file)
        }


def compare(spec: Spec, results: Iterable[Result]) -> list[Cell]:
    """Put the results of a spec next to the paper's.

    Parameters
    ----------
    spec : Spec
        The cells and their order.
    results : iterable of Result
        Results of this spec and possibly others.

    Returns
    -------
    list of Cell
        In the spec's order, with and without results. The paper's accuracy is left out where the
        training rows are not the paper's; for example, UNSW-NB15 is distributed in several parts.
    """
    paper = paper_results() if spec.paper else {}
    found: dict[Run, list[float]] = {run: [] for run in spec.cells()}
    on_other_rows = set()
    for result in results:
        run = result.run
        if run.cell not in found:
            continue
        found[run.cell].append(result.accuracy)
        if not run.max_rows and not has_the_papers_rows(run.dataset, result.measured["n_train"]):
            on_other_rows.add(run.dataset)
    cells = []
    for run, accuracies in found.items():
        key = (run.model, run.task, run.dataset, run.criterion, run.noise)
        published, bold = paper.get(key, (None, False))
        if run.dataset in on_other_rows:
            published, bold = None, False
        cells.append(Cell(run, published, Accuracy.of(accuracies) if accuracies else None, bold))
    return cells


def agreement(cells: Iterable[Cell]) -> tuple[int, int]:
    """Count the cells that agree with the paper, and those that both have."""
    compared = [cell for cell in cells if cell.difference is not None]
    return sum(cell.agrees for cell in compared), len(compared)

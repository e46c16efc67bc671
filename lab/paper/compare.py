"""Our results beside the paper's, cell by cell."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from hardwood.datasets import SHAPES
from lab.paper.spec import Run, Spec
from lab.paper.store import Result

__all__ = [
    "NOT_COMPARABLE",
    "TITLES",
    "Accuracy",
    "Cell",
    "agreement",
    "compare",
    "paper_results",
    "title",
]

TITLES = {
    "mnist": "MNIST",
    "20news": "20News",
    "unsw_nb15": "UNSW-NB15",
    "mushrooms": "Mushrooms",
    "covertype": "Covertype",
    "cifar10": "CIFAR-10",
}
NOT_COMPARABLE = frozenset({"Twoing"})
"""Criteria whose cells cannot agree: the paper's twoing is an artefact of its code."""

_ROUNDING = 0.005  # the paper prints two digits

TOLERANCE = 0.5
"""Percentage points beyond the paper's two standard deviations that still count as agreement."""


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy over seeds, in percent.

    Attributes
    ----------
    mean, two_sd : float
        Mean and twice the standard deviation.
    n : int
        Seeds. One has no deviation: `two_sd` is then 0.
    """

    mean: float
    two_sd: float
    n: int

    @staticmethod
    def of(values: Sequence[float]) -> Accuracy:
        """Summarise the accuracies of several seeds.

        Parameters
        ----------
        values : sequence of float
            At least one.

        Returns
        -------
        Accuracy
            The summary.

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
        What the cell is about; its seed means nothing.
    paper, ours : Accuracy or None
        What the paper says and what we found, where there is either.
    bold : bool
        Whether the paper prints it in bold.
    """

    run: Run
    paper: Accuracy | None
    ours: Accuracy | None
    bold: bool = False

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.paper is None or self.ours is None else self.ours.mean - self.paper.mean

    @property
    def differs(self) -> bool:
        """Whether the bands of two standard deviations, the paper's and ours, do not meet."""
        if self.paper is None or self.ours is None:
            return False
        bands = self.paper.two_sd + self.ours.two_sd + _ROUNDING
        return abs(self.ours.mean - self.paper.mean) > bands

    @property
    def agrees(self) -> bool:
        """Whether our mean is inside the paper's mean ± (2 sd + 0.5)."""
        if self.paper is None or self.ours is None:
            return False
        return abs(self.ours.mean - self.paper.mean) <= self.paper.two_sd + TOLERANCE + _ROUNDING


def title(dataset: str) -> str:
    """Return the paper's name of a data set.

    Parameters
    ----------
    dataset : str
        Our name of it.

    Returns
    -------
    str
        The paper's, or the same where it has none.

    Examples
    --------
    >>> from lab.paper.compare import title
    >>> title("20news")
    '20News'
    """
    return TITLES.get(dataset, dataset)


def paper_results() -> dict[tuple[str, str, str, str, str], tuple[Accuracy, bool]]:
    """Return the paper's four tables.

    Returns
    -------
    dict
        By model, task, data set, criterion and noise: the accuracy, and whether it is in bold.

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
    """Set the results of a spec beside the paper's.

    Parameters
    ----------
    spec : Spec
        Which cells, and in which order.
    results : iterable of Result
        What the store holds. Runs of other specs are left aside.

    Returns
    -------
    list of Cell
        In the spec's order, with and without results. Where the training rows are not the paper's,
        as UNSW-NB15 may be had in parts, the paper's accuracy is left out.
    """
    paper = paper_results() if spec.paper else {}
    found: Mapping[Run, list[float]] = defaultdict(list)
    on_other_rows = set()
    for result in results:
        found[result.run.cell].append(result.accuracy)
        if not _has_the_papers_rows(result):
            on_other_rows.add(result.run.dataset)
    cells = []
    for run in spec.cells():
        key = (run.model, run.task, run.dataset, run.criterion, run.noise)
        published, bold = paper.get(key, (None, False))
        ours = Accuracy.of(found[run]) if run in found else None
        if run.dataset in on_other_rows:
            published, bold = None, False
        cells.append(Cell(run, published, ours, bold))
    return cells


def _has_the_papers_rows(result: Result) -> bool:
    """Tell whether a data set of the paper was whole, give or take a hundredth."""
    shape = SHAPES.get(result.run.dataset)
    if shape is None or result.run.max_rows:
        return True
    return abs(result.outcome.n_train - shape.n_train) < 0.01 * shape.n_train


def agreement(cells: Iterable[Cell]) -> tuple[int, int]:
    """Count how many cells agree with the paper.

    Parameters
    ----------
    cells : iterable of Cell
        The cells.

    Returns
    -------
    n_agreeing, n_compared : int
        Among those that both have.
    """
    compared = [cell for cell in cells if cell.difference is not None]
    return sum(cell.agrees for cell in compared), len(compared)

"""The protocols that the paper's cells may come from, next to each other.

The plain protocol is what the paper's text says: the spec ``paper``. The others change one thing, and
were run for the cells that the plain protocol does not explain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lab.paper.compare import Accuracy, Cell, compare
from lab.paper.spec import Spec, load_spec
from lab.store import Result

__all__ = ["OTHERS", "Protocol", "compare_protocols"]


@dataclass(frozen=True)
class Protocol:
    """A protocol other than the plain one.

    Attributes
    ----------
    spec : str
        The spec that runs it.
    mark : str
        What marks its accuracies in tables.
    title : str
        What it does differently.
    color : str
        Its color in figures.
    """

    spec: str
    mark: str
    title: str
    color: str


OTHERS = (
    Protocol("bootstrap", "B", "bootstrap samples", "#1d4ed8"),
    Protocol("two_row_leaves", "L", "leaves of at least two rows", "#ea9a1e"),
    Protocol("swapped_rates", "S", "the second class gets the smaller rate", "#7c3aed"),
)


def compare_protocols(spec: Spec, results: Iterable[Result]) -> list[Cell]:
    """Put our results by every protocol next to the paper's.

    Parameters
    ----------
    spec : Spec
        The plain protocol's spec. A spec that is not compared with the paper has no other protocols.
    results : iterable of Result
        Results of this spec, of the other protocols' specs, and possibly of others.

    Returns
    -------
    list of Cell
        The cells of the spec, in its order. `Cell.others` maps the spec of another protocol to our
        accuracy by it.
    """
    results = list(results)
    cells = compare(spec, results)
    if not spec.paper:
        return cells
    others: dict[tuple[str, ...], dict[str, Accuracy]] = {}
    for protocol in OTHERS:
        if protocol.spec == spec.name:
            continue
        same_size = load_spec(protocol.spec).narrowed(trees=spec.trees, max_rows=spec.max_rows)
        for cell in compare(same_size, results):
            if cell.ours is not None:
                others.setdefault(_place(cell), {})[protocol.spec] = cell.ours
    return [replace(cell, others=others.get(_place(cell), {})) for cell in cells]


def _place(cell: Cell) -> tuple[str, ...]:
    run = cell.run
    return run.model, run.task, run.dataset, run.criterion, run.noise

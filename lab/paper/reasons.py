"""Why a cell is outside the paper's band, as far as we know."""

from __future__ import annotations

from lab.paper.compare import Cell
from lab.paper.protocols import OTHERS
from lab.store import Run

__all__ = ["UNEXPLAINED", "reason_for"]

UNEXPLAINED = "unexplained"

_CHANCE = {
    ("mushrooms", "binary", "rf", "MSE", "cc1"): "chance: our five seeds spread by ± 2.80",
    ("mnist", "binary", "rf", "ANE", "0.4"): "chance: which λ the held-out rows choose",
    ("covertype", "multiclass", "rf", "Credal", "0.4"): "chance: our two seeds differ by 0.3",
}


def reason_for(cell: Cell) -> str:
    """Return why a cell is outside the band, or `UNEXPLAINED`.

    A protocol of `lab.paper.protocols` that brings the cell inside is the reason. One that brings it
    nearer is named, too.
    """
    assert cell.ours is not None
    assert cell.paper is not None
    run = cell.run
    tried = {
        protocol: cell.others[protocol.spec] for protocol in OTHERS if protocol.spec in cell.others
    }
    for protocol, accuracy in tried.items():
        if cell.is_inside(accuracy):
            return f"{protocol.title}: {accuracy.mean:.2f}"
    if (chance := _CHANCE.get(_key(run))) is not None:
        return chance
    if run.noise == "cc":
        return "the paper's noise matrix is not published"
    distance = abs(cell.ours.mean - cell.paper.mean)
    for protocol, accuracy in tried.items():
        if abs(accuracy.mean - cell.paper.mean) < distance:
            return f"nearer with {protocol.title}: {accuracy.mean:.2f}"
    return UNEXPLAINED


def _key(run: Run) -> tuple[str, str, str, str, str]:
    return run.dataset, run.task, run.model, run.criterion, run.noise

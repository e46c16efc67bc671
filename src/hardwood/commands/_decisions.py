"""Files of decisions, for the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood.audit.decisions import Decisions, check_decisions, read_decisions
from hardwood.commands import _common as common
from hardwood.tables import TableError

Option = Annotated[
    Path | None,
    typer.Option(
        "--decisions", help="What a review found: the decisions.csv that the report exports."
    ),
]


def checked_decisions(path: Path, frame: Any, labels: NDArray[Any]) -> Decisions:
    """Return decisions on the labels of a table; a TableError if they are not about these."""
    classes, places = np.unique(labels, return_inverse=True)
    try:
        checked = check_decisions(frame, classes, places.astype(np.intp))
    except ValueError as error:
        raise TableError(f"{path}: {error}") from error
    n_labels = frame.groupby("row", sort=False)["label"].nunique(dropna=False)
    if len(conflicts := n_labels.index[n_labels > 1]):
        common.note(
            f"{path} has conflicting decisions on {len(conflicts):,} "
            f"{'row' if len(conflicts) == 1 else 'rows'}; the first is row {conflicts[0]}. The last line "
            "on a row counts."
        )
    return checked


def sources_of(decisions: Decisions, labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return for each row the row whose label it gets: its own, or one with the label decided on."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    sources = np.arange(len(labels))
    changed = decisions.labels != places[decisions.rows]
    sources[decisions.rows[changed]] = first[decisions.labels[changed]]
    return sources


def decided_sources(path: Path | None, labels: NDArray[Any]) -> NDArray[np.intp] | None:
    """Return `sources_of` a file of decisions, or None without a file."""
    if path is None:
        return None
    return sources_of(checked_decisions(path, read_decisions(path), labels), labels)

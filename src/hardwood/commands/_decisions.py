"""Files of decisions, for the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood.audit.decisions import Decisions, check_decisions
from hardwood.tables import TableError, read_table

Option = Annotated[
    Path | None,
    typer.Option(
        "--decisions", help="What a review found: the decisions.csv that the report exports."
    ),
]


def read_decisions(path: Path) -> Any:
    """Return a file of decisions as a data frame."""
    frame = read_table(path, text=["label", "given", "id"])
    for name in ("row", "label"):
        if name not in frame.columns:
            raise TableError(
                f"{path} has no column {name!r}. A file of decisions has the columns row, id, given, "
                "decision, label and time; row and label are required."
            )
    return frame


def checked_decisions(path: Path, frame: Any, labels: NDArray[Any]) -> Decisions:
    """Return decisions on the labels of a table; a TableError if they are not about these."""
    classes, places = np.unique(labels, return_inverse=True)
    try:
        return check_decisions(frame, classes, places.astype(np.intp))
    except ValueError as error:
        raise TableError(f"{path}: {error}") from error


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

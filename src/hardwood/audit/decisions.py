"""Decisions: what people found out about labels that they checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.noise.checks import Labels
from hardwood.tables.errors import nth
from hardwood.tables.formulas import unescape

COLUMNS = ("row", "id", "given", "decision", "label", "time")
"""The columns of ``decisions.csv``. Only `row` and `label` are required."""

KINDS = ("accept", "keep", "other", "unsure")
"""What `decision` says: the suggestion was accepted, the label kept, another class chosen, or none."""

# Classes named in a message.
_MAX_SHOWN = 3


@dataclass(frozen=True)
class Decisions:
    """The decided rows of a table, each once.

    Attributes
    ----------
    rows : ndarray of int
        Their positions, in the order of the decisions.
    labels : ndarray of int
        The labels decided on, as positions among the classes.
    unsure : ndarray of int
        The rows that were looked at without a decision.
    """

    rows: NDArray[np.intp]
    labels: Labels
    unsure: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.rows)

    def mask(self, n_rows: int) -> NDArray[np.bool_]:
        """Return for each row of the table whether it was decided."""
        mask = np.zeros(n_rows, dtype=bool)
        mask[self.rows] = True
        return mask

    def applied(self, labels: Labels) -> Labels:
        """Return labels with those decided in their places."""
        decided = labels.copy()
        decided[self.rows] = self.labels
        return decided

    def joined(self, later: Decisions) -> Decisions:
        """Return both, later decisions in place of earlier ones on the same rows."""
        kept = ~np.isin(self.rows, np.concatenate([later.rows, later.unsure]))
        unsure = self.unsure[~np.isin(self.unsure, np.concatenate([later.rows, later.unsure]))]
        return replace(
            self,
            rows=np.concatenate([self.rows[kept], later.rows]),
            labels=np.concatenate([self.labels[kept], later.labels]),
            unsure=np.concatenate([unsure, later.unsure]),
        )


def no_decisions() -> Decisions:
    """Return decisions on no row."""
    none = np.empty(0, dtype=np.intp)
    return Decisions(none, none, none)


def check_decisions(decisions: Any, classes: NDArray[Any], given: Labels) -> Decisions:
    """Check a table of decisions against the labels that they are about.

    Parameters
    ----------
    decisions : DataFrame, dict of columns, path of a file or None
        The columns `row` and `label`. A missing label means that there is no decision. A column
        `given`, if there is one, must have the labels of these rows.
    classes : ndarray of shape (n_classes,)
        The classes.
    given : ndarray of int of shape (n_rows,)
        The labels, as positions among the classes.

    Raises
    ------
    ValueError
        If a row does not exist, a label is not one of the classes, or the decisions are about other
        labels.
    """
    if decisions is None:
        return no_decisions()
    if isinstance(decisions, str | PathLike):
        decisions = read_decisions(decisions)
    columns = _columns_of(decisions)
    rows = _checked_rows(columns["row"], len(given))
    place_of = _places_by_text(classes)
    labels = np.full(len(rows), -1, dtype=np.intp)
    for line, label in enumerate(columns["label"]):
        text = _as_text(label)
        if text is None:
            continue
        text = text if text in place_of else unescape(text)
        if text not in place_of:
            known = ", ".join(map(repr, list(place_of)[:_MAX_SHOWN]))
            more = f" and {len(classes) - _MAX_SHOWN} more" if len(classes) > _MAX_SHOWN else ""
            raise ValueError(
                f"decisions: the label {text!r} of row {rows[line]} is not one of the classes: "
                f"{known}{more}."
            )
        labels[line] = place_of[text]
    if "given" in columns:
        _check_given(columns["given"], rows, place_of, classes, given)
    # The last line on a row counts.
    last = {int(row): line for line, row in enumerate(rows)}
    lines = np.array(sorted(last.values()), dtype=np.intp)
    rows, labels = rows[lines], labels[lines]
    return Decisions(rows[labels >= 0], labels[labels >= 0], rows[labels < 0])


def read_decisions(path: str | PathLike[str]) -> Any:
    """Return a file of decisions as a data frame, with labels as they are written.

    Raises
    ------
    TableError
        If it cannot be read, or a column is missing.
    """
    from hardwood.tables import TableError, read_table  # they import this package

    frame = read_table(path, text=["label", "given", "id"])
    for name in ("row", "label"):
        if name not in frame.columns:
            raise TableError(
                f"{path} has no column {name!r}. A file of decisions has the columns row, id, given, "
                "decision, label and time; row and label are required."
            )
    return frame


def _columns_of(decisions: Any) -> dict[str, list[Any]]:
    names = getattr(decisions, "columns", decisions if isinstance(decisions, dict) else None)
    if names is None:
        raise TypeError(
            f"decisions must be a data frame with columns 'row' and 'label', or the path of a file, got "
            f"{type(decisions).__name__}."
        )
    names = [str(name) for name in names]
    for name in ("row", "label"):
        if name not in names:
            raise ValueError(
                f"decisions must have the columns 'row' and 'label', but has no column {name!r}."
            )
    columns = {name: decisions[name] for name in ("row", "label", "given") if name in names}
    found = {
        name: [values] if np.ndim(values) == 0 else list(values) for name, values in columns.items()
    }
    if len(set(map(len, found.values()))) > 1:
        raise ValueError("decisions: the columns must have the same length.")
    return found


def _checked_rows(values: Iterable[Any], n_rows: int) -> NDArray[np.intp]:
    rows = []
    for line, value in enumerate(values):
        if _as_text(value) is None:
            raise ValueError(
                f"decisions: the {nth(line)} one has no row. Rows are whole numbers, counted from 0."
            )
        try:
            row = int(value)
            if row != float(value):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"decisions: {value!r} is not the number of a row. Rows are whole numbers, counted "
                "from 0."
            ) from None
        if not 0 <= row < n_rows:
            raise ValueError(
                f"decisions: there is no row {row}. The table has {n_rows} rows, from 0 to "
                f"{n_rows - 1}."
            )
        rows.append(row)
    return np.array(rows, dtype=np.intp)


def _check_given(
    values: list[Any],
    rows: NDArray[np.intp],
    place_of: dict[str, int],
    classes: NDArray[Any],
    given: Labels,
) -> None:
    for row, value in zip(rows, values, strict=True):
        text = _as_text(value)
        if text is None:
            continue
        text = text if text in place_of else unescape(text)
        if place_of.get(text) != given[row]:
            raise ValueError(
                f"decisions: row {row} was labelled {text!r} when it was decided, but here its label "
                f"is {label_text(classes[given[row]])!r}. Are these the decisions of another table?"
            )


def _places_by_text(classes: NDArray[Any]) -> dict[str, int]:
    return {label_text(value): place for place, value in enumerate(classes.tolist())}


def label_text(value: Any) -> str:
    """Return a label as ``decisions.csv`` has it.

    Examples
    --------
    >>> label_text(1.0), label_text(True), label_text(" a")
    ('1', 'True', 'a')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    # UTF-8 has no lone surrogates, and pages no NUL.
    text = str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd").strip()


def _as_text(value: Any) -> str | None:
    """Return a label as text, or None if it is missing."""
    if value is None:
        return None
    try:
        if value != value:
            return None
    except (TypeError, ValueError):  # pandas' NA has no truth value
        return None
    text = label_text(value)
    return text or None

"""Drop, relabel or down-weight suspect labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing
from hardwood._io.frames import Table
from hardwood.noise.checks import Array

HOW = ("drop", "relabel", "weight")


def clean_by(table: Table, X: Any, y: Any, how: str) -> tuple[Any, Any, Array | None]:
    """Return X, y and weights, cleaned as a table of `hardwood.audit.issues.issues_table` says.

    Parameters
    ----------
    table : dict
        The columns of the table.
    X, y : array-like
        The rows and labels that the table describes.
    how : {"drop", "relabel", "weight"}
        What to do with suspect labels.
    """
    check_how(how)
    n_rows = len(table["score"])
    for name, values in (("X", X), ("y", y)):
        length = values.shape[0] if hasattr(values, "shape") else len(values)
        if length != n_rows:
            raise ValueError(
                f"{name} must have the {n_rows} rows that were audited, got {length} rows."
            )
    is_open = table["is_issue"] & ~_decided(table)
    suspect = is_open & ~_least_suspect_of_classes(table)
    y = with_decisions(table, y)
    if how == "weight":
        # Fully grown trees learn a wrong label whatever its weight, unless the weight is 0.
        right = np.where(_decided(table), 1.0, 1 - table["score"])
        return X, y, np.where(suspect, 0.0, right)
    if how == "drop":
        rows = np.flatnonzero(~suspect)
        return safe_indexing(X, rows), safe_indexing(y, rows), None
    changed = suspect | _decided(table)
    relabelled = np.where(changed, table["suggested"], table["given"])
    return X, _like(y, np.asarray(relabelled)), None


def check_how(how: str) -> None:
    """Raise a ValueError unless `how` is a way to clean."""
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(map(repr, HOW))}, got {how!r}.")


def _decided(table: Table) -> NDArray[np.bool_]:
    """Return which labels people have decided on."""
    none = np.zeros(len(table["score"]), dtype=bool)
    decided: NDArray[np.bool_] = table.get("decided", none)
    return decided


def with_decisions(table: Table, y: Any) -> Any:
    """Return the labels with those that people decided on."""
    decided = _decided(table)
    if not decided.any():
        return y
    return _like(y, np.asarray(np.where(decided, table["suggested"], table["given"])))


def _least_suspect_of_classes(table: Table) -> NDArray[np.bool_]:
    """Mark the least suspect label of each class, which is kept so that no class is lost."""
    _, labels = np.unique(table["given"], return_inverse=True)
    last = np.zeros(labels.max() + 1, dtype=np.int64)
    np.maximum.at(last, labels, table["rank"])
    return np.asarray(table["rank"] == last[labels])


def _like(y: Any, values: NDArray[Any]) -> Any:
    """Return the labels as a series with the index of y if y is a series."""
    if hasattr(y, "iloc"):
        dtype = object if y.dtype == object else None
        return type(y)(values, index=y.index, name=y.name, dtype=dtype)
    return values

"""Data without the labels that are probably wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing
from hardwood._io.frames import Table
from hardwood.noise.checks import Array

HOW = ("drop", "relabel", "weight")


def clean_by(table: Table, X: Any, y: Any, how: str) -> tuple[Any, Any, Array | None]:
    """Return the data cleaned by a table of `hardwood.audit.issues.issues_table`.

    Parameters
    ----------
    table : dict
        The table's columns.
    X, y : array-like
        The data that it is about.
    how : {"drop", "relabel", "weight"}
        What to do with suspect labels.
    """
    check_how(how)
    n_rows = len(table["score"])
    for name, values in (("X", X), ("y", y)):
        length = values.shape[0] if hasattr(values, "shape") else len(values)
        if length != n_rows:
            raise ValueError(f"{name} must have the {n_rows} rows of the audit, but has {length}.")
    suspect = table["is_issue"] & ~_least_suspect_of_classes(table)
    if how == "weight":
        # Trees grown to the end learn a wrong label of whatever weight, unless it is 0.
        return X, y, np.where(suspect, 0.0, 1 - table["score"])
    if how == "drop":
        rows = np.flatnonzero(~suspect)
        return safe_indexing(X, rows), safe_indexing(y, rows), None
    relabelled = table["given"].copy()
    relabelled[suspect] = table["suggested"][suspect]
    return X, _like(y, relabelled), None


def check_how(how: str) -> None:
    """Refuse what is no way to clean."""
    if how not in HOW:
        raise ValueError(f"how must be one of {', '.join(map(repr, HOW))}, got {how!r}.")


def _least_suspect_of_classes(table: Table) -> NDArray[np.bool_]:
    """Say which label of each class is its least suspect: it stays, so that the class does."""
    _, labels = np.unique(table["given"], return_inverse=True)
    last = np.zeros(labels.max() + 1, dtype=np.int64)
    np.maximum.at(last, labels, table["rank"])
    return np.asarray(table["rank"] == last[labels])


def _like(y: Any, values: NDArray[Any]) -> Any:
    """Return the labels as a series with y's index if y is one."""
    if hasattr(y, "iloc"):
        return type(y)(values, index=y.index, name=y.name)
    return values

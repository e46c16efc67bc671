"""The most suspect rows, compact enough for the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing
from hardwood.audit.report.findings import Findings
from hardwood.audit.report.reasons import contributions
from hardwood.audit.report.words import as_text
from hardwood.noise.checks import Array, Labels

MAX_BYTES = 4_000_000  # of JSON
_MAX_REASONS = 3
# Contributions below this share of the largest are not shown.
_MIN_SHARE = 0.1
_SCORE_UNIT = 10_000
_MAX_CONTRIBUTIONS = 2**25  # computed at once, in single precision


@dataclass(frozen=True)
class Suspects:
    """Issues, the most suspect first.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers.
    given, suggested : ndarray of int
        Labels, as positions in `classes`.
    scores : ndarray of float
        Probabilities that the labels are wrong.
    reasons : list of list of (str, str) or None
        For each row, the names and values of the features that argue most for the suggestion; None
        without a forest.
    classes : list of str
        The labels that occur.
    class_places : ndarray of int
        Their positions in the audit's classes.
    n_all : int
        Number of issues, including those left out.
    """

    rows: NDArray[np.intp]
    given: Labels
    suggested: Labels
    scores: Array
    reasons: list[list[tuple[str, str]]] | None
    classes: list[str]
    class_places: NDArray[np.intp]
    n_all: int

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> Suspects:
        """Return the first ones, and only the labels that occur in them."""
        used, places = np.unique(
            np.concatenate([self.given[:count], self.suggested[:count]]), return_inverse=True
        )
        given, suggested = np.split(places.ravel(), 2)
        return Suspects(
            self.rows[:count],
            given,
            suggested,
            self.scores[:count],
            None if self.reasons is None else self.reasons[:count],
            [self.classes[place] for place in used],
            self.class_places[used],
            self.n_all,
        )

    def within(self, max_bytes: int) -> tuple[Suspects, str]:
        """Return as many as fit into a size, and their JSON."""
        fitting = self
        while len(encoded := fitting.as_json()) > max_bytes:
            fitting = fitting.first(len(fitting) // 2)
        return fitting, encoded

    def as_json(self) -> str:
        """Return columns of numbers that index lists of texts, safe inside a script element."""
        names: dict[str, int] = {}
        values: dict[str, int] = {}
        reasons = None
        if self.reasons is not None:
            reasons = [
                [
                    place
                    for name, value in of_row
                    for place in (
                        names.setdefault(name, len(names)),
                        values.setdefault(value, len(values)),
                    )
                ]
                for of_row in self.reasons
            ]
        content = {
            "row": self.rows.tolist(),
            "given": self.given.tolist(),
            "suggested": self.suggested.tolist(),
            "score": np.rint(self.scores * _SCORE_UNIT).astype(int).tolist(),
            "scoreUnit": _SCORE_UNIT,
            "reasons": reasons,
            "classes": self.classes,
            "features": list(names),
            "values": list(values),
        }
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        # Nothing may end the element or start another.
        return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def find_suspects(found: Findings, max_rows: int, values: Any = None) -> Suspects:
    """Return the most suspect rows with reasons; show `values` as the values of the features."""
    issues = np.flatnonzero(found.is_issue)
    rows = issues[np.argsort(found.rank[issues], kind="stable")][:max_rows]
    given, suggested = found.given[rows], found.suggested[rows]
    suspects = Suspects(
        rows,
        given,
        suggested,
        np.clip(np.nan_to_num(found.score[rows]), 0, 1),
        _reasons(found, rows, given, suggested, values),
        [as_text(label) for label in found.classes],
        np.arange(len(found.classes)),
        len(issues),
    )
    return suspects.first(len(rows))


def _reasons(
    found: Findings, rows: NDArray[np.intp], given: Labels, suggested: Labels, values: Any
) -> list[list[tuple[str, str]]] | None:
    X, trees = found.X, found.trees
    if X is None or trees is None or len(trees) == 0:
        return None
    names = found.feature_names
    if names is None:
        names = [f"feature {place}" for place in range(np.shape(X)[1])]
    names = [as_text(name) for name in names]
    n_parts = -(-len(rows) * len(names) // _MAX_CONTRIBUTIONS)
    reasons = []
    for part in np.array_split(np.arange(len(rows)), max(1, n_parts)):
        own = safe_indexing(X, rows[part])
        parts = contributions(trees, _as_floats(own), suggested[part], given[part]).by_feature
        shown = _columns(own if values is None else safe_indexing(values, rows[part]))
        best = np.argsort(-parts, axis=1, kind="stable")[:, :_MAX_REASONS]
        sizes = np.take_along_axis(parts, best, axis=1)
        wanted = (sizes > 0) & (sizes >= _MIN_SHARE * sizes[:, :1])
        reasons += [
            [
                (names[feature], as_text(shown[feature][row]))
                for feature in best[row][wanted[row]].tolist()
            ]
            for row in range(len(part))
        ]
    return reasons


def _as_floats(X: Any) -> NDArray[np.floating[Any]]:
    """Return a frame or an array as floating-point numbers, with NaN for missing values."""
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    values: NDArray[Any] = np.asarray(X.to_numpy() if hasattr(X, "columns") else X)
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def _columns(X: Any) -> list[NDArray[Any]]:
    """Return the columns with their own types."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, place].to_numpy() for place in range(X.shape[1])]
    if hasattr(X, "columns"):
        return [column.to_numpy() for column in X.get_columns()]
    return list(np.asarray(X).T)

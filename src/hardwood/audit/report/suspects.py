"""The most suspect rows, small enough to be sent with the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._compat import safe_indexing
from hardwood.audit.report.frames import as_floats, columns, feature_names
from hardwood.audit.report.reasons import contributions
from hardwood.audit.report.words import as_text

__all__ = ["MOST_BYTES", "Suspects", "find_suspects"]

MOST_BYTES = 4_000_000  # of JSON
_MOST_REASONS = 3
# A contribution below this share of the largest is no reason.
_LEAST_SHARE = 0.1
_SCORE_UNIT = 10_000
_MOST_CONTRIBUTIONS = 2**25  # kept at once, in single precision


@dataclass(frozen=True)
class Suspects:
    """Rows whose labels are called wrong, most suspect first.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers.
    given, suggested : ndarray of int
        Their labels, as places in `classes`.
    scores : ndarray of float
        Probabilities that the labels are wrong.
    reasons : list of list of (str, str) or None
        For each row the names and values of the features that speak most for the suggestion; None
        where no forest is there to tell.
    classes : list of str
        The labels that occur.
    class_places : ndarray of int
        Their places in the audit's ``classes_``.
    n_all : int
        How many rows are called wrong in all.
    """

    rows: NDArray[np.intp]
    given: NDArray[np.intp]
    suggested: NDArray[np.intp]
    scores: NDArray[np.float64]
    reasons: list[list[tuple[str, str]]] | None
    classes: list[str]
    class_places: NDArray[np.intp]
    n_all: int

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> Suspects:
        """Return the most suspect of them."""
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

    def within(self, most_bytes: int) -> tuple[Suspects, str]:
        """Return as many of them as fit, and their JSON."""
        fitting = self
        while len(encoded := fitting.as_json()) > most_bytes:
            fitting = fitting.first(len(fitting) // 2)
        return fitting, encoded

    def as_json(self) -> str:
        """Return columns of numbers that refer to lists of texts, safe inside a script element."""
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
        # Nothing that could end the element, or start another.
        return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def find_suspects(
    audit: Any, given: NDArray[np.intp], suggested: NDArray[np.intp], most: int, values: Any
) -> Suspects:
    """Return the most suspect rows, with reasons.

    Parameters
    ----------
    audit : LabelAudit
        A fitted audit.
    given, suggested : ndarray of shape (n_samples,)
        Labels, as places in ``audit.classes_``.
    most : int
        How many rows to return at most.
    values : array-like of shape (n_samples, n_features) or None
        Values to show for the features in place of the audit's own.
    """
    issues = audit.issues_
    flagged = np.flatnonzero(issues["is_issue"].to_numpy(dtype=bool))
    rank = issues["rank"].to_numpy()[flagged]
    rows = flagged[np.argsort(rank, kind="stable")][:most]
    suspects = Suspects(
        rows,
        given[rows],
        suggested[rows],
        np.clip(np.nan_to_num(issues["score"].to_numpy(dtype=np.float64)[rows]), 0, 1),
        _reasons(audit, rows, given[rows], suggested[rows], values),
        [as_text(label) for label in audit.classes_],
        np.arange(len(audit.classes_)),
        len(flagged),
    )
    return suspects.first(len(rows))


def _reasons(
    audit: Any,
    rows: NDArray[np.intp],
    given: NDArray[np.intp],
    suggested: NDArray[np.intp],
    values: Any,
) -> list[list[tuple[str, str]]] | None:
    X = getattr(audit, "_X", None)
    trees = getattr(audit.estimator_, "estimators_", None)
    if X is None or trees is None or len(trees) == 0:
        return None
    names = [as_text(name) for name in feature_names(audit, np.shape(X)[1])]
    n_parts = -(-len(rows) * len(names) // _MOST_CONTRIBUTIONS)
    reasons = []
    for part in np.array_split(np.arange(len(rows)), max(1, n_parts)):
        own = safe_indexing(X, rows[part])
        parts = contributions(trees, as_floats(own), suggested[part], given[part]).by_feature
        shown = columns(own if values is None else safe_indexing(values, rows[part]))
        best = np.argsort(-parts, axis=1, kind="stable")[:, :_MOST_REASONS]
        sizes = np.take_along_axis(parts, best, axis=1)
        wanted = (sizes > 0) & (sizes >= _LEAST_SHARE * sizes[:, :1])
        reasons += [
            [
                (names[feature], as_text(shown[feature][row]))
                for feature in best[row][wanted[row]].tolist()
            ]
            for row in range(len(part))
        ]
    return reasons

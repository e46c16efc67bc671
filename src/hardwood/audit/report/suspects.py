"""The most suspect rows, compact enough for the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.far import take_rows
from hardwood._core.sparse import is_sparse
from hardwood.audit.decisions import label_text
from hardwood.audit.report.findings import Findings
from hardwood.audit.report.reasons import contributions
from hardwood.audit.report.words import as_text
from hardwood.noise.checks import Array, Labels

MAX_BYTES = 4_000_000  # of JSON
_MAX_REASONS = 3
# Contributions below this share of the largest are not shown.
_MIN_SHARE = 0.1
# Other values of the row that are shown after those of the reasons.
_MAX_VALUES = 12
_SCORE_UNIT = 10_000
_MAX_CONTRIBUTIONS = 2**25  # computed at once, in single precision

Values = list[tuple[str, str]]
"""Names of features, and their values."""


@dataclass(frozen=True)
class Similar:
    """A row that the forest finds similar: its number, the label that the audit trusts, its values."""

    row: int
    label: int
    proximity: float
    values: list[str]


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
    values : list of list of (str, str)
        For each row, the names and values of some other features.
    similar : list of list of Similar
        For each row, similar rows with their values of the features in `reasons`.
    ids : list of str or None
        What users call the rows.
    classes : list of str
        The classes as they are shown.
    labels : list of str
        The classes as files of decisions have them.
    n_all : int
        Number of issues, including those left out.
    """

    rows: NDArray[np.intp]
    given: Labels
    suggested: Labels
    scores: Array
    reasons: list[Values] | None
    values: list[Values]
    similar: list[list[Similar]]
    ids: list[str] | None
    classes: list[str]
    labels: list[str]
    n_all: int

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> Suspects:
        """Return the first ones."""
        return replace(
            self,
            rows=self.rows[:count],
            given=self.given[:count],
            suggested=self.suggested[:count],
            scores=self.scores[:count],
            reasons=None if self.reasons is None else self.reasons[:count],
            values=self.values[:count],
            similar=self.similar[:count],
            ids=None if self.ids is None else self.ids[:count],
        )

    def within(self, max_bytes: int) -> tuple[Suspects, str]:
        """Return as many as fit into a size, to within a twentieth, and their JSON."""
        encoded = self.as_json()
        if len(encoded) <= max_bytes:
            return self, encoded
        fits, too_many = 0, len(self)
        fitting = self.first(0)
        encoded = fitting.as_json()
        while too_many - fits > max(1, fits // 20):
            middle = (fits + too_many) // 2
            shorter = self.first(middle)
            text = shorter.as_json()
            if len(text) <= max_bytes:
                fits, fitting, encoded = middle, shorter, text
            else:
                too_many = middle
        return fitting, encoded

    def as_json(self) -> str:
        """Return columns of numbers that index lists of texts, safe inside a script element."""
        names: dict[str, int] = {}
        values: dict[str, int] = {}

        def places(of_row: Values) -> list[int]:
            return [
                place
                for name, value in of_row
                for place in (
                    names.setdefault(name, len(names)),
                    values.setdefault(value, len(values)),
                )
            ]

        content = {
            "row": self.rows.tolist(),
            "given": self.given.tolist(),
            "suggested": self.suggested.tolist(),
            "score": np.rint(self.scores * _SCORE_UNIT).astype(int).tolist(),
            "scoreUnit": _SCORE_UNIT,
            "reasons": None if self.reasons is None else list(map(places, self.reasons)),
            "others": list(map(places, self.values)),
            "similar": [
                [
                    [
                        each.row,
                        each.label,
                        round(100 * each.proximity),
                        *(values.setdefault(value, len(values)) for value in each.values),
                    ]
                    for each in of_row
                ]
                for of_row in self.similar
            ],
            "ids": self.ids,
            "classes": self.classes,
            # Only where they are shown in another way.
            "labels": {
                str(place): label
                for place, label in enumerate(self.labels)
                if label != self.classes[place]
            },
            "features": list(names),
            "values": list(values),
        }
        return as_script(content)


def as_script(content: Any) -> str:
    """Return JSON in which nothing can end a script element or start another."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def find_suspects(found: Findings, max_rows: int, values: Any = None) -> Suspects:
    """Return the most suspect rows with reasons; show `values` as the values of the features."""
    issues = np.flatnonzero(found.is_open)
    rows = issues[np.argsort(found.rank[issues], kind="stable")][:max_rows]
    given, suggested = found.given[rows], found.suggested[rows]
    names = _names(found)
    reasons = _reasons(found, rows, given, suggested, values, names)
    shown = found.X if values is None else values
    return Suspects(
        rows,
        given,
        suggested,
        np.clip(np.nan_to_num(found.score[rows]), 0, 1),
        None
        if reasons is None
        else [[(names[k], text) for k, text in of_row] for of_row in reasons],
        _other_values(rows, shown, names, reasons),
        _similar(found, rows, shown, reasons),
        None if found.ids is None else [as_text(found.ids[row]) for row in rows.tolist()],
        [as_text(label) for label in found.classes],
        [label_text(label) for label in found.classes],
        len(issues),
    )


def _is_table(X: Any) -> bool:
    """Return whether X has columns to show. With probabilities, X may be anything, such as texts."""
    return X is not None and len(np.shape(X)) == 2


def _names(found: Findings) -> list[str]:
    if not _is_table(found.X):
        return []
    if found.feature_names is None:
        return [f"feature {place}" for place in range(np.shape(found.X)[1])]
    return [as_text(name) for name in found.feature_names]


def _other_values(
    rows: NDArray[np.intp], shown: Any, names: list[str], reasons: list[Reasons] | None
) -> list[Values]:
    """Return the values of the first features of each row that are not among its reasons."""
    if not _is_table(shown) or not len(rows):
        return [[] for _ in rows]
    first = list(range(min(len(names), _MAX_VALUES + _MAX_REASONS)))
    cells = _cells(take_rows(shown, rows))
    others = []
    for i in range(len(rows)):
        named = set() if reasons is None else {feature for feature, _ in reasons[i]}
        kept = [feature for feature in first if feature not in named][:_MAX_VALUES]
        others.append([(names[feature], as_text(cells(i, feature))) for feature in kept])
    return others


def _similar(
    found: Findings, rows: NDArray[np.intp], shown: Any, reasons: list[Reasons] | None
) -> list[list[Similar]]:
    """Return similar rows with a label that the audit trusts."""
    if found.similar is None or not len(rows):
        return [[] for _ in rows]
    nearest = found.similar(rows)
    used = np.unique([row for of_row in nearest for row, _ in of_row]).astype(np.intp)
    place_of = {row: place for place, row in enumerate(used.tolist())}
    cells = _cells(take_rows(shown, used))
    return [
        [
            Similar(
                row,
                int(found.suggested[row]),
                proximity,
                [
                    as_text(cells(place_of[row], feature))
                    for feature, _ in ([] if reasons is None else reasons[i])
                ],
            )
            for row, proximity in of_row
        ]
        for i, of_row in enumerate(nearest)
    ]


Reasons = list[tuple[int, str]]
"""Features, by their positions, and the values of a row."""


def _reasons(
    found: Findings,
    rows: NDArray[np.intp],
    given: Labels,
    suggested: Labels,
    values: Any,
    names: list[str],
) -> list[Reasons] | None:
    X, trees = found.X, found.trees
    if not _is_table(X) or trees is None or len(trees) == 0:
        return None
    if not len(rows):
        return []
    n_parts = -(-len(rows) * len(names) // _MAX_CONTRIBUTIONS)
    reasons = []
    for part in np.array_split(np.arange(len(rows)), max(1, n_parts)):
        own = take_rows(X, rows[part])
        numbers = _as_numbers(own, trees[0])
        parts = contributions(trees, numbers, suggested[part], given[part]).by_feature
        shown = _cells(own if values is None else take_rows(values, rows[part]))
        best = np.argsort(-parts, axis=1, kind="stable")[:, :_MAX_REASONS]
        sizes = np.take_along_axis(parts, best, axis=1)
        wanted = (sizes > 0) & (sizes >= _MIN_SHARE * sizes[:, :1])
        reasons += [
            [(feature, as_text(shown(row, feature))) for feature in best[row][wanted[row]].tolist()]
            for row in range(len(part))
        ]
    return reasons


def _as_numbers(X: Any, tree: Any) -> Any:
    """Return rows as a tree sees them."""
    if np.any(getattr(tree, "is_categorical_", False)):
        return tree.encode_categories(X)
    return _as_floats(X)


def reasons_of_row(
    trees: Sequence[Any], X: Any, names: Any, row: int, suggested: int, given: int
) -> tuple[list[str], dict[str, list[Any]]]:
    """Return the features on the paths of a row, and their values and contributions."""
    if not len(trees):
        return [], {"value": [], "contribution": []}
    own = take_rows(X, [row])
    numbers = _as_numbers(own, trees[0])
    parts = contributions(trees, numbers, np.array([suggested]), np.array([given]))
    contribution = parts.by_feature[0]
    shown = _cells(own)
    places = np.argsort(-contribution, kind="stable")
    places = places[contribution[places] != 0]
    all_names = [f"feature {k}" for k in range(len(contribution))] if names is None else list(names)
    return (
        [str(all_names[place]) for place in places],
        {
            "value": [shown(0, place) for place in places],
            "contribution": contribution[places].tolist(),
        },
    )


def _as_floats(X: Any) -> Any:
    """Return a frame, an array or a sparse matrix as floating-point numbers; NaN: missing."""
    if is_sparse(X):
        return X.tocsr()
    if hasattr(X, "iloc"):
        return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
    values: NDArray[Any] = np.asarray(X.to_numpy() if hasattr(X, "columns") else X)
    return values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)


def _cells(X: Any) -> Callable[[int, int], Any]:
    """Return a function that looks up cells, with the types of their columns."""
    if is_sparse(X):
        of_rows = X.tocsr()
        return lambda row, column: of_rows[row, column]
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place].to_numpy() for place in range(X.shape[1])]
    elif hasattr(X, "columns"):
        columns = [column.to_numpy() for column in X.get_columns()]
    else:
        columns = list(np.asarray(X).T)
    return lambda row, column: columns[column][row]

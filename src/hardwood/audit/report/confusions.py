"""Which classes are taken for which: the noise matrix as a picture, and the pairs by their size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.audit.report.words import about, as_text, percent

__all__ = ["Cell", "HeatMap", "Pair", "confused_pairs", "heat_map", "pairs_in_words"]

Array = NDArray[np.float64]

_MOST_PAIRS = 8
_MOST_CLASSES = 20


@dataclass(frozen=True)
class Pair:
    """A class, what its rows are labelled instead, and how often.

    Attributes
    ----------
    true, given : str
        The class and the wrong label.
    expected : str
        About how many rows.
    share : float
        Of all wrong labels.
    flagged : int
        How many rows are called wrong so.
    """

    true: str
    given: str
    expected: str
    share: float
    flagged: int


@dataclass(frozen=True)
class Cell:
    """A number of the noise matrix: its text, and how dark it is, from 0 to 1."""

    text: str
    darkness: float
    is_diagonal: bool


@dataclass(frozen=True)
class HeatMap:
    """The noise matrix, or the part of it with the most wrong labels."""

    classes: list[str]
    rows: list[list[Cell]]
    n_left_out: int


def confused_pairs(
    audit: Any, given: NDArray[np.intp], suggested: NDArray[np.intp]
) -> list[tuple[Pair, int, int]]:
    """Return the pairs of classes with the most wrong labels, and their places in ``classes_``.

    Of n rows, n P(true i) T[i, j] are of class i and labelled j.
    """
    wrong = _expected_wrong(audit) * len(given)
    if not wrong.sum() > 0:
        return []
    n_classes = len(wrong)
    flagged = audit.issues_["is_issue"].to_numpy(dtype=bool)
    counts = np.bincount(
        suggested[flagged] * n_classes + given[flagged], minlength=n_classes**2
    ).reshape(n_classes, n_classes)
    largest = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    names = audit.classes_
    return [
        (
            Pair(
                as_text(names[i]),
                as_text(names[j]),
                about(wrong[i, j]),
                float(wrong[i, j] / wrong.sum()),
                int(counts[i, j]),
            ),
            int(i),
            int(j),
        )
        for i, j in zip(*np.unravel_index(largest, wrong.shape), strict=True)
        if wrong[i, j] >= 0.5
    ]


def pairs_in_words(pairs: list[Pair]) -> str:
    """Return what follows the name of the largest pair: how much of all errors it is."""
    first = pairs[0]
    words = f"about {first.expected} rows, {percent(first.share)} of all wrong labels"
    if len(pairs) > 2 and (three := sum(pair.share for pair in pairs[:3])) > first.share:
        words += f". The three largest pairs make up {percent(three)}"
    return words


def heat_map(audit: Any) -> HeatMap | None:
    """Return the noise matrix to be shown; None where it is not known."""
    T = audit.noise_matrix_
    if T is None or not np.isfinite(T).all():
        return None
    wrong = _expected_wrong(audit)
    shown = np.arange(len(T))
    if len(T) > _MOST_CLASSES:
        involved = wrong.sum(axis=0) + wrong.sum(axis=1)
        shown = np.sort(np.argsort(-involved, kind="stable")[:_MOST_CLASSES])
    part = T[np.ix_(shown, shown)]
    off_diagonal = part[~np.eye(len(part), dtype=bool)]
    largest = max(off_diagonal.max(initial=0.0), 1e-9)
    rows = [
        [
            Cell(_short_percent(share), 0.0 if i == j else float(share / largest), i == j)
            for j, share in enumerate(row)
        ]
        for i, row in enumerate(part)
    ]
    return HeatMap([as_text(audit.classes_[k]) for k in shown], rows, len(T) - len(shown))


def _expected_wrong(audit: Any) -> Array:
    """Return P(true i) T[i, j], zero where i = j or where T is not known."""
    T = audit.noise_matrix_
    n_classes = len(audit.classes_)
    if T is None or not np.isfinite(T).all():
        return np.zeros((n_classes, n_classes))
    wrong: Array = np.asarray(audit.class_prior_)[:, np.newaxis] * T
    np.fill_diagonal(wrong, 0)
    return wrong


def _short_percent(share: float) -> str:
    value = 100 * share
    if value < 0.05:
        return "0"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"

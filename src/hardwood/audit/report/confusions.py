"""Which classes are confused: the noise matrix as a heat map, and the most common errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.audit.report.findings import Findings
from hardwood.audit.report.words import about, as_text, percent
from hardwood.noise.checks import Array

_MAX_PAIRS = 8
_MAX_CLASSES = 20


@dataclass(frozen=True)
class Pair:
    """A true class and the wrong label that its rows get.

    Attributes
    ----------
    places : tuple of int
        The positions of both in the audit's classes.
    true, given : str
        The class and the wrong label.
    expected : str
        About how many rows.
    share : float
        Share of all wrong labels.
    flagged : int
        Number of undecided issues with this label for which the true class is suggested.
    """

    places: tuple[int, int]
    true: str
    given: str
    expected: str
    share: float
    flagged: int


@dataclass(frozen=True)
class Cell:
    """An entry of the noise matrix: its text, and the strength of its colour from 0 to 1."""

    text: str
    darkness: float
    is_diagonal: bool


@dataclass(frozen=True)
class HeatMap:
    """The noise matrix, or its part with the most wrong labels."""

    classes: list[str]
    rows: list[list[Cell]]
    n_left_out: int


def confused_pairs(found: Findings) -> list[Pair]:
    """Return the pairs of classes with the most wrong labels.

    Of n rows, n P(true i) T[i, j] are of class i and labelled j.
    """
    wrong = _expected_wrong(found) * len(found.given)
    flagged = np.zeros_like(wrong, dtype=int)
    issues = found.is_open
    np.add.at(flagged, (found.suggested[issues], found.given[issues]), 1)
    largest = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_PAIRS]
    return [
        Pair(
            (int(i), int(j)),
            as_text(found.classes[i]),
            as_text(found.classes[j]),
            about(wrong[i, j]),
            float(wrong[i, j] / wrong.sum()),
            int(flagged[i, j]),
        )
        for i, j in zip(*np.unravel_index(largest, wrong.shape), strict=True)
        if wrong[i, j] >= 0.5
    ]


def pairs_in_words(pairs: list[Pair]) -> str:
    """Return how many of all wrong labels the largest pairs make up."""
    first = pairs[0]
    words = f"about {first.expected} rows, {percent(first.share)} of the labels that look wrong"
    if len(pairs) > 2 and (three := sum(pair.share for pair in pairs[:3])) > first.share:
        words += f". The three most common errors make up {percent(three)}"
    return words


def heat_map(found: Findings) -> HeatMap | None:
    """Return the noise matrix to show, or None if it is not finite."""
    T = found.noise_matrix
    if not np.isfinite(T).all():
        return None
    shown = np.arange(len(T))
    if len(T) > _MAX_CLASSES:
        wrong = _expected_wrong(found)
        involved = wrong.sum(axis=0) + wrong.sum(axis=1)
        shown = np.sort(np.argsort(-involved, kind="stable")[:_MAX_CLASSES])
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
    return HeatMap([as_text(found.classes[k]) for k in shown], rows, len(T) - len(shown))


def _expected_wrong(found: Findings) -> Array:
    """Return P(true i) T[i, j] for i ≠ j, and 0 where i = j or where T is not known."""
    wrong = np.nan_to_num(found.class_prior[:, np.newaxis] * found.noise_matrix)
    np.fill_diagonal(wrong, 0)
    return wrong


def _short_percent(share: float) -> str:
    value = 100 * share
    if value < 0.05:
        return "0"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"

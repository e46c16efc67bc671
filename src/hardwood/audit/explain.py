"""Why a label looks wrong, or right: votes, features and similar rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Explanation:
    """Why an audit thinks what it does about one row.

    Attributes
    ----------
    row : int
        The row, counted from 0.
    given, suggested : object
        The given label, and the one that fits best among the others.
    score : float
        The probability that the given label is wrong.
    votes : pandas.Series
        For each class, its share of the votes of the trees that were not trained on the row.
    features : pandas.DataFrame
        The features on the row's paths through the trees that were not trained on it, with the
        row's `value` and a `contribution`: how far the splits on this feature moved the evidence
        from the given label to the suggested one. The largest comes first.
    neighbors : pandas.DataFrame
        The rows that are most often in the same leaf, in trees trained on neither: their `row`, the
        `proximity` (the share of these trees), the label `given`, and the label that the audit
        trusts (`trusted`), which for issues is the suggested one.
    """

    row: int
    given: Any
    suggested: Any
    score: float
    votes: Any
    features: Any
    neighbors: Any

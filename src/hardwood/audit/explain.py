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
        The label given, and the label that fits best apart from it.
    score : float
        The probability that the label given is wrong.
    votes : pandas.Series
        For each class, the share of the votes of trees that did not draw the row.
    features : pandas.DataFrame
        The features on the row's paths through the trees that did not draw it, with the row's
        `value` and a `contribution`: how much the splits on this feature moved the evidence from
        the label given to the one suggested. The largest comes first.
    neighbors : pandas.DataFrame
        The rows that are most often in the same leaf, in trees that drew neither: their `row`, the
        `proximity` (the share of these trees), the label `given`, and the label that the audit trusts
        (`trusted`), which is the suggested one for issues.
    """

    row: int
    given: Any
    suggested: Any
    score: float
    votes: Any
    features: Any
    neighbors: Any

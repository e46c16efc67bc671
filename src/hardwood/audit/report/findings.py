"""What the report shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.frames import Table
from hardwood.audit.gain import Gain
from hardwood.noise.checks import Array, Labels


@dataclass(frozen=True)
class Findings:
    """The results of an audit.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    given, suggested : ndarray of int of shape (n_rows,)
        The labels, as positions in `classes`.
    score, is_issue, rank : ndarray of shape (n_rows,)
        How suspect each label is, as in ``LabelAudit.issues_``.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        Estimate of T.
    noise_rate : float
        Estimated share of wrong labels.
    noise_rate_interval : tuple of float
        Low and high estimate of that share.
    can_tell : bool
        Whether anything can be said about the labels. If not, there are no issues.
    class_prior : ndarray of shape (n_classes,)
        Estimated shares of the true classes.
    X : array-like of shape (n_rows, n_features) or None
        The rows, if known.
    feature_names : sequence of str or None
        The names of the columns of X, if known.
    trees : sequence of tree estimators or None
        The trees of the forest, which explain its suggestions.
    adaptation : pandas.DataFrame or None
        The settings that an adaptive forest compared.
    decision_reason : str
        Why an adaptive forest corrects its decisions for the noise, or does not.
    is_corrected : bool
        Whether the forest corrects its decisions for noise that differs between the classes.
    n_copies : int
        Number of rows that are copies of others.
    gain : Gain, str or None
        What cleaning gains, or why that cannot be measured; None if it was not asked for.
    decided : ndarray of bool of shape (n_rows,) or None
        The rows that people have already decided.
    ids : array-like of shape (n_rows,) or None
        What users call the rows.
    plan : dict or None
        The columns of ``LabelAudit.review_plan``.
    target : float
        The share of wrong labels at which the plan ends.
    similar : callable or None
        Takes rows and returns for each the most similar rows with a label that the audit trusts,
        with their proximities.
    """

    classes: NDArray[Any]
    given: Labels
    suggested: Labels
    score: Array
    is_issue: NDArray[np.bool_]
    rank: NDArray[np.integer[Any]]
    noise_matrix: Array
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    class_prior: Array
    X: Any = None
    feature_names: Sequence[str] | None = None
    trees: Sequence[Any] | None = None
    adaptation: Any = None
    decision_reason: str = ""
    is_corrected: bool = False
    n_copies: int = 0
    gain: Gain | str | None = None
    can_tell: bool = True
    decided: NDArray[np.bool_] | None = None
    ids: Any = None
    plan: Table | None = None
    target: float = 0.01
    similar: Callable[[NDArray[np.intp]], list[list[tuple[int, float]]]] | None = None

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """The issues that nobody has decided yet."""
        return self.is_issue if self.decided is None else self.is_issue & ~self.decided

"""What the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    n_copies : int
        Number of rows that are copies of others.
    gain : Gain, str or None
        What cleaning gains, or why that cannot be measured; None if it was not asked for.
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
    n_copies: int = 0
    gain: Gain | str | None = None
    can_tell: bool = True

"""The table of issues: how suspect each label is, and which label fits better."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from hardwood._io.frames import Table, frame
from hardwood.audit.detectors import DEFAULT, DETECTORS, Evidence
from hardwood.audit.review import Review
from hardwood.noise import truth
from hardwood.noise.checks import Array, check_labels, check_proba
from hardwood.noise.label_model import SURE, fit_label_model
from hardwood.noise.matrices import check_matrix

# Equal probabilities differ by up to this much, so that the order of the scores is that of the ranks.
_STEP = 1e-6
# The trade-off shows reviews of these shares of the issues.
_SHARES = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3)


def find_label_issues(
    y: Any,
    proba: Any,
    *,
    classes: Any = None,
    noise_matrix: Any = None,
    detector: str = DEFAULT,
) -> Any:
    """Estimate how likely each label is to be wrong, from the probabilities of any classifier.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels.
    proba : array-like of shape (n_samples, n_classes)
        Out-of-sample probabilities, as `hardwood.noise.estimate_noise_matrix` takes them.
    classes : array-like of shape (n_classes,), default=None
        The classes in the order of the columns of `proba`; None for the sorted labels of `y`.
    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        ``T[i, j] = P(observed j | true i)`` if you know it; None to estimate it.
    detector : str, default="posterior"
        Name of the detector that ranks the labels, a key of `hardwood.audit.DETECTORS`.

    Returns
    -------
    issues : pandas.DataFrame
        One line per label, in the order of `y`: the label `given`, the label `suggested` (the same
        unless the label is an issue), the `score` (the probability that the label is wrong),
        `is_issue`, and the `rank` (1 is the most suspect label, the one with the highest score).
        Issues are the most suspect labels, as many as are expected to be wrong: the sum of the
        scores, rounded. If `proba` says nothing about the labels, there are no issues, and no score
        is above 0.5.

    Examples
    --------
    >>> from hardwood import RobustForestClassifier
    >>> from hardwood.audit import find_label_issues
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> X, y, *_ = load("mushrooms")
    >>> noisy_y, flipped = corrupt(y, uniform(2, 0.1), random_state=0)
    >>> forest = RobustForestClassifier(100, oob_score=True, random_state=0).fit(X, noisy_y)
    >>> issues = find_label_issues(noisy_y, forest.oob_decision_function_)
    >>> issues.columns.tolist()
    ['given', 'suggested', 'score', 'is_issue', 'rank']
    >>> bool((issues["is_issue"] == flipped).mean() > 0.99)
    True
    """
    check_detector(detector)
    classes, labels = check_labels(y, classes)
    proba = check_proba(proba, len(labels), classes)
    T = noise_matrix
    if T is not None:
        T = check_matrix(T, "noise_matrix", len(classes))
    model = fit_label_model(proba, labels, sure=SURE, T=T)
    return frame(issues_table(Evidence(labels, proba, model), classes, detector))


def check_detector(detector: Any) -> None:
    """Raise a ValueError unless there is a detector of this name."""
    if not isinstance(detector, str) or detector not in DETECTORS:
        raise ValueError(f"detector must be one of {', '.join(DETECTORS)}, got {detector!r}.")


def issues_table(evidence: Evidence, classes: NDArray[Any], detector: str) -> Table:
    """Return the columns of the table that `find_label_issues` describes."""
    labels, model = evidence.labels, evidence.model
    n_rows = len(labels)
    # Where the detector ties, for example if no label seems to be wrong, the less probable label is first.
    probable = truth.of_label(evidence.proba, labels)
    order = np.lexsort((probable, -DETECTORS[detector](evidence)))
    rank = np.empty(n_rows, dtype=np.int64)
    rank[order] = np.arange(1, n_rows + 1)
    wrong = evidence.wrong if model.can_tell else np.minimum(evidence.wrong, 0.5)
    score = _scores_in_order(wrong, order)
    n_issues = round(score.sum()) if model.can_tell else 0
    posterior = truth.posterior(evidence.truth, model.T, labels)
    return _columns(classes, labels, posterior, score, rank <= n_issues, rank)


def _columns(
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    posterior: Array,
    score: Array,
    is_issue: NDArray[np.bool_],
    rank: NDArray[np.int64],
) -> Table:
    """Return the columns of the table. Issues get the other class that is most probable."""
    others = posterior.copy()
    others[np.arange(len(labels)), labels] = -1
    suggested = np.where(is_issue, others.argmax(axis=1), labels)
    return {
        "given": classes[labels],
        "suggested": classes[suggested],
        "score": score,
        "is_issue": is_issue,
        "rank": rank,
    }


def consensus_table(posterior: Array, classes: NDArray[Any]) -> Table:
    """Return the columns of the table for consensus labels, given P(true class) of each row."""
    n_rows = len(posterior)
    labels = posterior.argmax(axis=1)
    wrong = 1 - posterior[np.arange(n_rows), labels]
    order = np.argsort(-wrong, kind="stable")
    rank = np.empty(n_rows, dtype=np.int64)
    rank[order] = np.arange(1, n_rows + 1)
    score = _scores_in_order(wrong, order)
    return _columns(classes, labels, posterior, score, rank <= round(score.sum()), rank)


def reviewed_table(review: Review, classes: NDArray[Any], can_tell: bool) -> Table:
    """Return the columns of the table once some rows are decided, with a column that marks them."""
    labels, undecided, wrong = review.given, review.undecided, review.wrong
    rank = np.empty(len(labels), dtype=np.int64)
    rank[review.order] = np.arange(1, len(labels) + 1)
    n_issues = round(wrong[undecided].sum()) if can_tell else 0
    is_issue = undecided & (rank <= n_issues)
    suggested = np.where(is_issue, review.others.argmax(axis=1), labels)
    suggested = review.decisions.applied(suggested)
    return {
        "given": classes[labels],
        "suggested": classes[suggested],
        "score": wrong,
        "is_issue": suggested != labels,
        "rank": rank,
        "decided": ~undecided,
    }


def _scores_in_order(wrong: Array, order: NDArray[np.intp]) -> Array:
    """Return probabilities of being wrong that strictly follow an order: regress P(wrong) on it."""
    n_rows = len(order)
    regressed = isotonic_regression(wrong[order], increasing=False).x
    steps = 1 - (np.arange(n_rows) + 0.5) / n_rows
    score = np.empty(n_rows)
    score[order] = (1 - _STEP) * regressed + _STEP * steps
    return score


def trade_off(score: Array, n_issues: int) -> Table:
    """Return the columns of ``LabelAudit.trade_off``, from the scores of all labels."""
    if not n_issues:
        return {name: np.empty(0) for name in ("rows", "found", "left", "share")}
    rows = np.unique([round(n_issues * share) for share in _SHARES])
    rows = rows[(rows > 0) & (rows <= len(score))]
    found = np.cumsum(-np.sort(-score))[rows - 1]
    total = float(score.sum())
    return {"rows": rows, "found": found, "left": total - found, "share": found / total}

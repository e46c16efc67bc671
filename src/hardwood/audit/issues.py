"""The table of issues: how suspect each label is, and which label fits better."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from hardwood._io.frames import Table, frame
from hardwood.audit.detectors import DEFAULT, DETECTORS, Evidence
from hardwood.audit.detectors.posterior import posterior
from hardwood.noise import truth
from hardwood.noise.checks import check_labels, check_proba
from hardwood.noise.estimation import fit_noise_model
from hardwood.noise.matrices import check_matrix


def find_label_issues(
    y: Any,
    proba: Any,
    *,
    classes: Any = None,
    noise_matrix: Any = None,
    detector: str = DEFAULT,
) -> Any:
    """Estimate for each label how likely it is wrong, from the probabilities of any classifier.

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
        The name of the detector in `hardwood.audit.DETECTORS` that ranks the labels.

    Returns
    -------
    issues : pandas.DataFrame
        One line per label, in the order of `y`: the label `given`, the label `suggested` (the same
        unless the label is an issue), the `score` (the probability that the label is wrong),
        `is_issue` (whether the score is above 0.5), and the `rank` (1 is the most suspect).

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
    classes, labels = check_labels(y, classes)
    proba = check_proba(proba, len(labels), classes)
    model = fit_noise_model(proba, labels)
    if noise_matrix is not None:
        model = replace(model, T=check_matrix(noise_matrix, "noise_matrix", len(classes)))
    return frame(issues_table(Evidence(labels, proba, model), classes, detector))


def issues_table(evidence: Evidence, classes: NDArray[Any], detector: str) -> Table:
    """Return the columns of the table that `find_label_issues` describes."""
    if detector not in DETECTORS:
        raise ValueError(f"detector must be one of {', '.join(DETECTORS)}, got {detector!r}.")
    labels, suspect = evidence.labels, DETECTORS[detector]
    odds = posterior(evidence)
    score = wrong = odds / (1 + odds)
    suspicion = odds if suspect is posterior else suspect(evidence)
    order = np.argsort(-suspicion, kind="stable")
    if suspect is not posterior:
        # Make probabilities that follow the detector's order: regress P(wrong) on it.
        score = np.empty_like(wrong)
        score[order] = isotonic_regression(wrong[order], y_min=0, y_max=1, increasing=False)
    is_issue = score > 0.5
    others = truth.posterior(evidence.truth, evidence.model.T, labels)
    others[np.arange(len(labels)), labels] = -1
    suggested = np.where(is_issue, others.argmax(axis=1), labels)
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(1, len(labels) + 1)
    return {
        "given": classes[labels],
        "suggested": classes[suggested],
        "score": score,
        "is_issue": is_issue,
        "rank": rank,
    }

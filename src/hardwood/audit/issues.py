"""The table of labels: how suspect each is, and what it should rather be."""

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
    """Say of each label how probably it is wrong, by out-of-sample probabilities of any classifier.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels, some of them wrong.
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of the labels by a classifier that learnt from such labels, but not from the
        row's own: out of bag, or by cross-validation. Columns are in the order of the classes.
    classes : array-like of shape (n_classes,), default=None
        The classes; None for the sorted labels of `y`.
    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        ``T[i, j] = P(observed j | true i)``, where known; None to estimate it.
    detector : str, default="posterior"
        What ranks the labels, one of `hardwood.audit.DETECTORS`.

    Returns
    -------
    issues : pandas.DataFrame
        A line for each label, in the order given: the label `given`, the one `suggested` (the same
        where there is nothing to say against it), the `score`, which is the probability that the
        label is wrong, whether it `is_issue` (a score above one half), and its `rank`, 1 for the
        most suspect.

    Examples
    --------
    >>> from hardwood import RobustForestClassifier
    >>> from hardwood.audit import find_label_issues
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, flipped = corrupt(data.y_train, uniform(2, 0.1), random_state=0)
    >>> forest = RobustForestClassifier(100, oob_score=True, random_state=0)
    >>> proba = forest.fit(data.X_train, noisy_y).oob_decision_function_
    >>> issues = find_label_issues(noisy_y, proba)
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
    """Return the columns of the table."""
    if detector not in DETECTORS:
        raise ValueError(f"detector must be one of {', '.join(DETECTORS)}, got {detector!r}.")
    labels, suspect = evidence.labels, DETECTORS[detector]
    odds = posterior(evidence)
    score = wrong = odds / (1 + odds)
    suspicion = odds if suspect is posterior else suspect(evidence)
    order = np.argsort(-suspicion, kind="stable")
    if suspect is not posterior:
        # Probabilities in the detector's own order: the isotonic regression on it of P(wrong).
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

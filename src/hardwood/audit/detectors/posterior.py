"""A label is suspect if Bayes' rule says so, given the noise matrix."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise import truth
from hardwood.noise.checks import Array


def posterior(evidence: Evidence) -> Array:
    """Return the odds that the label is wrong, Σ_{k ≠ y} p[k] T[k, y] / (p[y] T[y, y]).

    p is P(true | x) by the model of the labels. Unlike scores that only look at the row, the odds account
    for which classes are mistaken for which. Odds above 1 are raised to the power of
    max_{k ≠ y} s[k] / Σ_{k ≠ y} s[k]: votes scattered over many classes count less against a label
    than votes that agree on one. With two classes, this exponent is 1.
    """
    labels = evidence.labels
    odds = truth.odds_of_error(evidence.truth, evidence.model.T, labels)
    others = evidence.proba.copy()
    others[np.arange(len(labels)), labels] = 0
    all_others = others.sum(axis=1)
    agreement = np.divide(
        others.max(axis=1), all_others, where=all_others > 0, out=np.ones_like(odds)
    )
    return np.where(odds > 1, odds**agreement, odds)

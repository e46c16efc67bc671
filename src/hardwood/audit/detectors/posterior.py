"""A label is suspect if Bayes' rule says so, given the noise. The default."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array


def posterior(evidence: Evidence) -> Array:
    """Return −P(true = y | x, observed = y).

    Unlike scores that only look at the row, Bayes' rule accounts for which classes are mistaken for
    which. Small probabilities of being right still rank labels whose probabilities of being wrong
    all round to 1.

    If more than two classes are clearly mistaken for particular others, votes against a wrong label
    agree on the true class, where votes against a label that is only hard scatter. P(wrong) is then
    multiplied by max_{k ≠ y} s[k] / Σ_{k ≠ y} s[k].
    """
    right, n_classes = evidence.right, evidence.proba.shape[1]
    if n_classes == 2 or not evidence.model.is_asymmetric:
        return -right
    others = evidence.proba.copy()
    others[np.arange(len(others)), evidence.labels] = 0
    total = others.sum(axis=1)
    agreement = np.divide(others.max(axis=1), total, where=total > 0, out=np.ones_like(right))
    # −(1 − P(wrong) · agreement), such that small numbers stay apart
    return np.asarray(-(1 - agreement + right * agreement))

"""A label is suspect if Bayes' rule says so, given the noise. The default."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array
from hardwood.noise.truth import of_label

# Probabilities below this are too small to be compared: other evidence decides then.
_TINY = 1e-6


def posterior(evidence: Evidence) -> Array:
    """Return −P(true = y | x, observed = y), or its log odds and those by trees grown again.

    Unlike scores that only look at the row, Bayes' rule accounts for which classes are mistaken for
    which. Small probabilities of being right still rank labels whose probabilities of being wrong
    all round to 1.

    If more than two classes are clearly mistaken for particular others, votes against a wrong label
    agree on the true class, where votes against a label that is only hard scatter. P(wrong) is then
    multiplied by max_{k ≠ y} s[k] / Σ_{k ≠ y} s[k].

    Trees that were grown again, from labels that are probably right, have seen fewer wrong labels. If
    there are any, the log odds of both are added.
    """
    right = _right(evidence)
    if evidence.again is None:
        return -right
    return -_log_odds(right) - _log_odds(of_label(evidence.again, evidence.labels))


def _right(evidence: Evidence) -> Array:
    right, n_classes = evidence.right, evidence.proba.shape[1]
    if n_classes == 2 or not evidence.model.is_asymmetric:
        return right
    others = evidence.proba.copy()
    others[np.arange(len(others)), evidence.labels] = 0
    total = others.sum(axis=1)
    agreement = np.divide(others.max(axis=1), total, where=total > 0, out=np.ones_like(right))
    # 1 − P(wrong) · agreement, such that small numbers stay apart
    return np.asarray(1 - agreement + right * agreement)


def _log_odds(p: Array) -> Array:
    return np.asarray(np.log(p + _TINY) - np.log(1 - p + _TINY))

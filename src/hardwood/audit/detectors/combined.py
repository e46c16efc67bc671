"""A label is suspect if Bayes' rule says so and the label is improbable. The default."""

import numpy as np
from scipy.stats import rankdata

from hardwood.audit.detectors.evidence import Evidence
from hardwood.audit.detectors.posterior import posterior
from hardwood.audit.detectors.self_confidence import self_confidence
from hardwood.noise.checks import Array


def combined(evidence: Evidence) -> Array:
    """Return the mean rank by `posterior` and by `self_confidence`, scaled to (0, 1].

    The posterior knows which classes are mistaken for which, but its noise matrix is an estimate.
    1 − s[y] does not depend on the estimate.
    """
    ranks = rankdata(posterior(evidence)) + rankdata(self_confidence(evidence))
    return np.asarray(ranks / (2 * len(evidence.labels)))

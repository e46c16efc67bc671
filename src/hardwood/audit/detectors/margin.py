"""A label is suspect if another label is much more probable."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array
from hardwood.noise.truth import of_label


def margin(evidence: Evidence) -> Array:
    """Return max_{k ≠ y} s[k] − s[y], scaled from [−1, 1] to [0, 1]."""
    others = evidence.proba.copy()
    others[np.arange(len(others)), evidence.labels] = -np.inf
    ahead = others.max(axis=1) - of_label(evidence.proba, evidence.labels)
    return np.asarray((1 + ahead) / 2)

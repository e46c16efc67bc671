"""A label is suspect if another one is predicted, the more so the surer the prediction."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array


def disagreement(evidence: Evidence) -> Array:
    """Return 1 + max s if another label is predicted, else 1 − max s, scaled to [0, 1].

    Every contradicted label thus ranks above every confirmed one.
    """
    surest = evidence.proba.max(axis=1)
    contradicted = evidence.proba.argmax(axis=1) != evidence.labels
    return np.asarray(np.where(contradicted, 1 + surest, 1 - surest) / 2)

"""A label is suspect if another one is predicted, by how surely it is."""

import numpy as np

from hardwood.noise.checks import Array
from hardwood.audit.detectors.evidence import Evidence


def disagreement(evidence: Evidence) -> Array:
    """Return max s where another label is predicted out of bag, 1 − max s where this one is.

    The halves never mix: every label that is contradicted comes before every one that is not.
    """
    surest = evidence.proba.max(axis=1)
    contradicted = evidence.proba.argmax(axis=1) != evidence.labels
    return np.asarray(np.where(contradicted, 1 + surest, 1 - surest) / 2)

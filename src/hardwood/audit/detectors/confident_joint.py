"""A label is suspect if the row is confidently assigned to another class (confident learning)."""

import numpy as np

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array
from hardwood.noise.truth import of_label


def confident_joint(evidence: Evidence) -> Array:
    """Return 1 − s[y], plus 1 for rows off the diagonal of the confident joint, scaled to [0, 1].

    The threshold of class k is the mean s[k] of the rows labelled k. A row is assigned to the class
    with the largest s among those whose thresholds it reaches (Northcutt, Jiang & Chuang,
    "Confident Learning", JAIR 2021).
    """
    s, labels = evidence.proba, evidence.labels
    n_classes = s.shape[1]
    own = of_label(s, labels)
    n_of = np.bincount(labels, minlength=n_classes)
    threshold = np.bincount(labels, weights=own, minlength=n_classes) / np.maximum(n_of, 1)
    reached = np.where(s >= threshold, s, -np.inf)
    counted_as = reached.argmax(axis=1)
    off_diagonal = np.isfinite(reached.max(axis=1)) & (counted_as != labels)
    return np.asarray(off_diagonal + (1 - own)) / 2

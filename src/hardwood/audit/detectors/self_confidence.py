"""A label is suspect if it is improbable."""

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array
from hardwood.noise.truth import of_label


def self_confidence(evidence: Evidence) -> Array:
    """Return 1 − s[y], the best order under uniform noise if the probabilities are exact."""
    return 1 - of_label(evidence.proba, evidence.labels)

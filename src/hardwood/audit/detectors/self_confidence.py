"""A label is suspect if it is improbable."""

from hardwood.noise.checks import Array
from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.truth import of_label


def self_confidence(evidence: Evidence) -> Array:
    """Return 1 − s[y]. Under uniform noise and with perfect probabilities no order is better."""
    return 1 - of_label(evidence.proba, evidence.labels)

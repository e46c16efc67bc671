"""A label is suspect if Bayes' rule says so, given the noise. The default."""

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise.checks import Array


def posterior(evidence: Evidence) -> Array:
    """Return −P(true = y | x, observed = y).

    Unlike scores that only look at the row, Bayes' rule accounts for which classes are mistaken for
    which. Small probabilities of being right still rank labels whose probabilities of being wrong
    all round to 1.
    """
    return -evidence.right

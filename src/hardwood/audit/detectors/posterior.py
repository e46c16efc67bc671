"""A label is suspect if Bayes' rule says so, given the noise matrix. The default."""

from hardwood.audit.detectors.evidence import Evidence
from hardwood.noise import truth
from hardwood.noise.checks import Array


def posterior(evidence: Evidence) -> Array:
    """Return the odds that the label is wrong, Σ_{k ≠ y} p[k] T[k, y] / (p[y] T[y, y]).

    p is P(true | x) by the model of the labels. Unlike scores that only look at the row, the odds
    account for which classes are mistaken for which.
    """
    return truth.odds_of_error(evidence.truth, evidence.model.T, evidence.labels)

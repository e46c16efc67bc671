"""A label is suspect if it is probably wrong: Bayes' rule with the noise matrix. The default."""

from hardwood.audit import truth
from hardwood.audit._checks import Array
from hardwood.audit.detectors.evidence import Evidence

# Out-of-bag votes are few. Where they are spread over many classes, that a label had none is no
# proof against it; an exponent of at least this much lets labels speak up where votes agree.
LEAST_EXPONENT = 4.0


def posterior(evidence: Evidence) -> Array:
    """Return the odds that the label is wrong, Σ_{k ≠ y} p[k] T[k, y] / (p[y] T[y, y]).

    p is P(true | x) by the noise model. Unlike scores that only look at the row, this one knows
    which classes are mistaken for which.
    """
    p = evidence.model.truth(evidence.proba, LEAST_EXPONENT)
    return truth.odds_of_error(p, evidence.model.T, evidence.labels)

"""Ways to tell how suspect a label is, by name; one in each file.

A detector is a function of the `Evidence` on all labels that returns a number for each of them,
the higher the more suspect. Only their order counts. Scores of different detectors are made
comparable, as probabilities that a label is wrong, by `hardwood.audit.issues`.
"""

from hardwood.audit.detectors.confident_joint import confident_joint
from hardwood.audit.detectors.disagreement import disagreement
from hardwood.audit.detectors.evidence import Detector, Evidence
from hardwood.audit.detectors.margin import margin
from hardwood.audit.detectors.posterior import posterior
from hardwood.audit.detectors.self_confidence import self_confidence

DETECTORS: dict[str, Detector] = {
    "posterior": posterior,
    "self_confidence": self_confidence,
    "margin": margin,
    "confident_joint": confident_joint,
    "disagreement": disagreement,
}
"""The detectors that `find_label_issues` and `LabelAudit` know; one's own can be added."""

DEFAULT = "posterior"
"""The best on average, and in most of the settings, of ``benchmarks/audit.py``."""

__all__ = ["DEFAULT", "DETECTORS", "Detector", "Evidence"]

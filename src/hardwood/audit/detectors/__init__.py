"""Detectors rank labels by how suspect they are; one in each file.

A detector takes the `Evidence` on all labels and returns a number for each label: the higher, the
more suspect. Only the order matters. `hardwood.audit.issues` turns it into probabilities that a label
is wrong, so that scores of different detectors are comparable.
"""

from hardwood.audit.detectors.evidence import Detector, Evidence
from hardwood.audit.detectors.margin import margin
from hardwood.audit.detectors.posterior import posterior
from hardwood.audit.detectors.self_confidence import self_confidence

DETECTORS: dict[str, Detector] = {
    "posterior": posterior,
    "self_confidence": self_confidence,
    "margin": margin,
}
"""The detectors of `find_label_issues` and `LabelAudit` by name. You can add your own."""

DEFAULT = "posterior"
"""The best on average, on small tables and on large ones."""

__all__ = ["DEFAULT", "DETECTORS", "Detector", "Evidence"]

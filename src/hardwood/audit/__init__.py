"""Find wrong labels, and estimate how many there are and which classes get confused.

`LabelAudit` does all of it with one fit of a forest. `find_label_issues` and `clean` are the single
steps, for out-of-sample probabilities from any classifier.
"""

from hardwood.audit.detectors import DETECTORS
from hardwood.audit.issues import find_label_issues
from hardwood.audit.label_audit import LabelAudit, clean

__all__ = ["DETECTORS", "LabelAudit", "clean", "find_label_issues"]

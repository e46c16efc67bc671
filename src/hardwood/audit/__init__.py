"""Which labels are wrong, how many of them, and mistaken for what.

`LabelAudit` does all of it after one fit of a forest. `find_label_issues` and `clean` are single
steps, for the out-of-sample probabilities of any classifier.
"""

from hardwood.audit.detectors import DETECTORS
from hardwood.audit.issues import find_label_issues
from hardwood.audit.label_audit import LabelAudit, clean

__all__ = ["DETECTORS", "LabelAudit", "clean", "find_label_issues"]

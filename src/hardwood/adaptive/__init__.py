"""Trees and forests that find out by themselves how far to trust noisy labels.

`AdaptiveTreeClassifier` and `AdaptiveForestClassifier` are the two to use, from here or from
``hardwood``.
"""

from hardwood.adaptive.forest import AdaptiveForestClassifier
from hardwood.adaptive.tree import AdaptiveTreeClassifier

__all__ = ["AdaptiveForestClassifier", "AdaptiveTreeClassifier"]

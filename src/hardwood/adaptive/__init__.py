"""Forests and trees that find out by themselves how far to trust noisy labels.

`AdaptiveForestClassifier` judges itself by its out-of-bag rows. `ANEForestClassifier` and
`ANETreeClassifier` are the paper's ANE, which chooses λ by held-out rows.
"""

from hardwood.adaptive.ane import ANEForestClassifier, ANETreeClassifier
from hardwood.adaptive.forest import AdaptiveForestClassifier
from hardwood.adaptive.tree import AdaptiveTreeClassifier

__all__ = [
    "ANEForestClassifier",
    "ANETreeClassifier",
    "AdaptiveForestClassifier",
    "AdaptiveTreeClassifier",
]

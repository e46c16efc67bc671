"""Decision trees and forests that stay accurate when training labels are wrong."""

from importlib.metadata import version

from hardwood.adaptive import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    ANETreeClassifier,
)
from hardwood.forest import RobustExtraTreesClassifier, RobustForestClassifier
from hardwood.persistence import load, save
from hardwood.tree import RobustTreeClassifier

__version__ = version("hardwood")

__all__ = [
    "ANEForestClassifier",
    "ANETreeClassifier",
    "AdaptiveForestClassifier",
    "AdaptiveTreeClassifier",
    "RobustExtraTreesClassifier",
    "RobustForestClassifier",
    "RobustTreeClassifier",
    "__version__",
    "load",
    "save",
]

"""Decision trees and forests that stay accurate when training labels are wrong."""

from importlib.metadata import version

from hardwood.tree import RobustTreeClassifier

__version__ = version("hardwood")

__all__ = ["RobustTreeClassifier", "__version__"]

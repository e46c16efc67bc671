"""Forests on a Dask cluster: the same trees, bit for bit, as one machine grows.

This requires the extra ``hardwood[dask]``.
"""

try:
    import distributed as _distributed
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "hardwood.dask requires dask[distributed]. Install it with: pip install 'hardwood[dask]'"
    ) from error

from hardwood.dask.adaptive import DaskAdaptiveForestClassifier
from hardwood.dask.estimators import DaskExtraTreesClassifier, DaskRobustForestClassifier

del _distributed

__all__ = [
    "DaskAdaptiveForestClassifier",
    "DaskExtraTreesClassifier",
    "DaskRobustForestClassifier",
]

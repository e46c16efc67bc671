"""Forests and audits on a Dask cluster: the same, bit for bit, as on one machine.

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
from hardwood.dask.label_audit import DaskLabelAudit

del _distributed

__all__ = [
    "DaskAdaptiveForestClassifier",
    "DaskExtraTreesClassifier",
    "DaskLabelAudit",
    "DaskRobustForestClassifier",
]

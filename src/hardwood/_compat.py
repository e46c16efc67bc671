"""Every private scikit-learn name that hardwood uses. No other module imports one."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context as fit_context
from sklearn.tree._tree import Tree
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

if TYPE_CHECKING:
    from hardwood._core.compact import ExpandedTree

__all__ = [
    "Interval",
    "StrOptions",
    "Tree",
    "check_sample_weight",
    "fit_context",
    "make_tree",
    "openmp_threads",
    "safe_indexing",
]


def check_sample_weight(sample_weight: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    """Return non-negative weights as float64, one for each row."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("The sum of sample_weight must be finite; scale the weights down.")
    if total == 0:  # scikit-learn 1.9 checks this itself
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.ascontiguousarray(weights)


def make_tree(expanded: "ExpandedTree", n_features: int) -> Tree:
    """Build a scikit-learn tree from the engine's arrays."""
    n_nodes, n_classes = expanded["value"].shape
    tree = Tree(n_features, np.array([n_classes], dtype=np.intp), 1)
    nodes = np.zeros(n_nodes, dtype=tree.__getstate__()["nodes"].dtype)
    for name in nodes.dtype.names:
        nodes[name] = expanded[name]  # type: ignore[literal-required]
    tree.__setstate__(
        {
            "max_depth": expanded["max_depth"],
            "node_count": n_nodes,
            "nodes": nodes,
            "values": expanded["value"].reshape(n_nodes, 1, n_classes),
        }
    )
    return tree

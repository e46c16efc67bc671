"""How many values a tree looks at while it grows. A visit is one row of one candidate feature.

Libraries differ in what ``max_features`` counts. scikit-learn draws that many features, and those
that are constant in the node cost it little. hardwood draws until that many features vary. Equal
parameters therefore mean unequal work. This module counts it for one tree on a bootstrap sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from sklearn.tree import DecisionTreeClassifier

from hardwood import RobustTreeClassifier

__all__ = ["count"]


def count(
    peer: str, X: NDArray[np.float32], y: NDArray[np.int64], max_features: int, seed: int
) -> float | None:
    """Return the visits of one tree, or None for a peer whose trees do not reveal them.

    `peer` is "sklearn", or "hardwood-" and a criterion. For scikit-learn, the result is the expected
    number of visits. `seed` is that of the bootstrap sample and of the tree.
    """
    library, _, criterion = peer.partition("-")
    if library not in ("sklearn", "hardwood"):
        return None
    drawn = np.random.default_rng(seed).integers(len(X), size=len(X))
    rows, multiplicities = np.unique(drawn, return_counts=True)
    X, y = X[rows], y[rows]
    make: Any = DecisionTreeClassifier if library == "sklearn" else RobustTreeClassifier
    tree = make(criterion=criterion or "gini", max_features=max_features, random_state=seed)
    tree.fit(X, y, sample_weight=multiplicities)
    n_varying = _varying_features(tree.tree_, X, tree.apply(X))
    n_looked_at = (
        _expected_among_drawn(n_varying, X.shape[1], max_features)
        if library == "sklearn"
        else np.minimum(n_varying, max_features)
    )
    searched = (tree.tree_.impurity > 0) & (tree.tree_.n_node_samples >= 2)
    return float(np.sum(tree.tree_.n_node_samples * n_looked_at, where=searched))


def _varying_features(tree: Any, X: NDArray[Any], leaf_of_row: NDArray[Any]) -> NDArray[Any]:
    """Count the features that vary in each node, working from the leaves up."""
    order = np.argsort(leaf_of_row, kind="stable")
    leaves, starts = np.unique(leaf_of_row[order], return_index=True)
    lowest = np.full((tree.node_count, X.shape[1]), np.inf, dtype=np.float32)
    highest = -lowest
    X_by_leaf = X[order]
    lowest[leaves] = np.minimum.reduceat(X_by_leaf, starts)
    highest[leaves] = np.maximum.reduceat(X_by_leaf, starts)
    left, right = tree.children_left, tree.children_right
    for node in range(tree.node_count - 1, -1, -1):  # children come after their parents
        if left[node] >= 0:
            np.minimum(lowest[left[node]], lowest[right[node]], out=lowest[node])
            np.maximum(highest[left[node]], highest[right[node]], out=highest[node])
    n_varying: NDArray[Any] = np.count_nonzero(lowest < highest, axis=1)
    return n_varying


def _expected_among_drawn(
    n_varying: NDArray[Any], n_features: int, max_features: int
) -> NDArray[Any]:
    """Return how many varying features scikit-learn is expected to look at.

    It draws max_features without replacement and, if none of them varies, continues to the first one
    that does: m·v/d + C(d − v, m)/C(d, m).
    """

    def log_choose(n: NDArray[Any]) -> NDArray[Any]:
        chosen: NDArray[Any] = gammaln(n + 1) - gammaln(np.maximum(n - max_features, 0) + 1)
        return np.where(n < max_features, -np.inf, chosen)

    none_varies = np.exp(
        log_choose(n_features - n_varying) - log_choose(np.array(n_features, dtype=np.float64))
    )
    return np.where(n_varying > 0, max_features * n_varying / n_features + none_varies, 0)

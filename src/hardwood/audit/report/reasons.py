"""Which feature values argue for one label against another, from the paths through a forest.

On its way down a tree, a row passes splits, each on one feature, and the class proportions of the
nodes change. With p(v) the proportions in node v, the evidence for class a against class b is

    e(v) = p_a(v) − p_b(v).

A split of node v on feature f that sends the row to node w contributes e(w) − e(v) to f. The
contributions along a path add up to e(last node) − e(root), and so do their averages over the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.noise.checks import Array, Labels

# Smaller nodes mostly reflect the row's own label, which the trees have seen. With this limit, the
# reasons agree much better with those of a forest that has not seen the row.
_MIN_ROWS = 20
_MAX_TREES = 50


class Contributions(NamedTuple):
    """What each feature contributes to the evidence for one class against another.

    Attributes
    ----------
    by_feature : ndarray of shape (n_rows, n_features)
        Mean contributions, positive where the feature value argues for the class.
    root : ndarray of shape (n_rows,)
        Mean evidence at the roots.
    last : ndarray of shape (n_rows,)
        Mean evidence at the ends of the paths: ``root + by_feature.sum(axis=1)``.
    """

    by_feature: NDArray[np.float32]
    root: Array
    last: Array


def contributions(
    trees: Sequence[Any],
    X: NDArray[Any],
    for_class: Labels,
    against_class: Labels,
    *,
    min_rows: int = _MIN_ROWS,
    max_trees: int = _MAX_TREES,
) -> Contributions:
    """Return the mean contributions of the features for each row.

    Parameters
    ----------
    trees : sequence of tree estimators
        The trees of a forest, each with a scikit-learn ``tree_``.
    X : ndarray of shape (n_rows, n_features)
        The rows, in the precision in which the trees compare.
    for_class, against_class : ndarray of shape (n_rows,)
        The positions of both classes, for each row.
    min_rows : int, default=20
        Paths end before nodes with fewer training rows.
    max_trees : int, default=50
        Maximum number of trees to use, evenly spaced.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood import RobustForestClassifier
    >>> from hardwood.audit.report.reasons import contributions
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> forest = RobustForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0)
    >>> parts = contributions(forest.estimators_, np.array([[1.0, 0.0]]), np.array([1]), np.array([0]))
    >>> bool(parts.by_feature[0, 0] > 10 * abs(parts.by_feature[0, 1]))  # the first feature decides
    True
    """
    n_rows, n_features = X.shape
    chosen = np.unique(np.linspace(0, len(trees) - 1, min(max_trees, len(trees))).astype(int))
    by_feature = np.zeros((n_rows, n_features), dtype=np.float32)
    root, last = np.zeros(n_rows), np.zeros(n_rows)
    for place in chosen:
        tree = trees[int(place)].tree_
        value = tree.value[:, 0, :]
        proportions = value / value.sum(axis=1, keepdims=True)
        left, right = tree.children_left, tree.children_right
        split_on, threshold = tree.feature, tree.threshold
        missing_left = tree.missing_go_to_left.astype(bool)
        rows = np.arange(n_rows)
        node = np.zeros(n_rows, dtype=np.intp)
        evidence = proportions[node, for_class] - proportions[node, against_class]
        root += evidence
        while len(rows):
            going = left[node] >= 0
            rows, node = rows[going], node[going]
            feature = split_on[node]
            x = X[rows, feature]
            goes_left = np.where(np.isnan(x), missing_left[node], x <= threshold[node])
            child = np.where(goes_left, left[node], right[node])
            large = tree.n_node_samples[child] >= min_rows
            rows, child, feature = rows[large], child[large], feature[large]
            at_child = proportions[child, for_class[rows]] - proportions[child, against_class[rows]]
            by_feature[rows, feature] += (at_child - evidence[rows]).astype(np.float32)
            evidence[rows] = at_child
            node = child
        last += evidence
    n_trees = len(chosen)
    return Contributions(by_feature / np.float32(n_trees), root / n_trees, last / n_trees)

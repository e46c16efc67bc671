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

from hardwood._core.pairs import share_out, with_pairs
from hardwood._core.sparse import is_sparse
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
    X: Any,
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
        The trees of a forest of hardwood or scikit-learn.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows, with categories as numbers.
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
    chosen = np.unique(np.linspace(0, len(trees) - 1, min(max_trees, len(trees))).astype(int))
    first = trees[int(chosen[0])]
    pairs = getattr(first, "_pairs", ())
    X = with_pairs(pairs, X) if pairs else X
    n_rows, n_columns = X.shape
    by_feature: NDArray[np.float32] = np.zeros((n_rows, n_columns), dtype=np.float32)
    root, last = np.zeros(n_rows), np.zeros(n_rows)
    for place in chosen:
        tree = _walked(first if place == chosen[0] else trees[int(place)], X)
        parent = np.full(len(tree.feature), -1)
        for children in (tree.left, tree.right):
            inner = np.flatnonzero(children >= 0)
            parent[children[inner]] = inner
        proportions = tree.value / tree.value.sum(axis=1, keepdims=True)
        node = tree.leaf
        while np.any(is_small := (tree.n_rows[node] < min_rows) & (node > 0)):
            node = np.where(is_small, parent[node], node)
        rows = np.arange(n_rows)
        evidence = proportions[node, for_class] - proportions[node, against_class]
        last += evidence
        while len(rows):  # from the end of each path to the root
            inside = node > 0
            root[rows[~inside]] += evidence[~inside]
            rows, node, below = rows[inside], parent[node[inside]], evidence[inside]
            evidence = proportions[node, for_class[rows]] - proportions[node, against_class[rows]]
            by_feature[rows, tree.feature[node]] += (below - evidence).astype(np.float32)
    n_trees = len(chosen)
    by_feature = share_out(by_feature, pairs)
    return Contributions(by_feature / np.float32(n_trees), root / n_trees, last / n_trees)


class _Walked(NamedTuple):
    """The nodes of a tree, and the leaf of each row."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    value: Array
    leaf: NDArray[np.int64]


def _walked(tree: Any, X: Any) -> _Walked:
    compact = getattr(tree, "_compact", None)
    if compact is not None:  # of hardwood, which may split by sets of categories
        of = tree._expanded
        rows = X if is_sparse(X) else np.require(X, requirements=["C", "A"])
        leaf = compact.apply(rows)[:, 0]
        return _Walked(
            of["left_child"],
            of["right_child"],
            of["feature"],
            of["n_node_samples"],
            of["value"],
            leaf,
        )
    of = tree.tree_
    leaf = of.apply(
        X.astype(np.float32) if is_sparse(X) else np.ascontiguousarray(X, dtype=np.float32)
    )
    return _Walked(
        of.children_left, of.children_right, of.feature, of.n_node_samples, of.value[:, 0, :], leaf
    )

"""What it means that two trees are the same."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

STRUCTURE = ("feature", "threshold", "missing_go_to_left")
STATISTICS = ("impurity", "n_node_samples", "weighted_n_node_samples", "value")


def preorder(tree: Any) -> list[int]:
    """Node ids, left before right: trees may number their nodes as they like."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] != -1:
            stack += [tree.children_right[node], tree.children_left[node]]
    return order


def assert_same_splits(one: Any, other: Any, *, but: tuple[str, ...] = ()) -> None:
    """The same questions in the same places, whatever the nodes hold."""
    i, j = preorder(one.tree_), preorder(other.tree_)
    inner = other.tree_.children_left[j] != -1
    np.testing.assert_array_equal(one.tree_.children_left[i] != -1, inner)
    for name in STRUCTURE:
        if name not in but:
            a, b = getattr(one.tree_, name)[i], getattr(other.tree_, name)[j]
            np.testing.assert_array_equal(a[inner], b[inner], err_msg=name)


def assert_same_tree(one: Any, other: Any, *, but: tuple[str, ...] = ()) -> None:
    """The same splits and statistics, bit for bit, apart from the arrays named in ``but``."""
    assert_same_splits(one, other, but=but)
    i, j = preorder(one.tree_), preorder(other.tree_)
    for name in STATISTICS:
        if name not in but:
            a, b = getattr(one.tree_, name)[i], getattr(other.tree_, name)[j]
            np.testing.assert_array_equal(a, b, err_msg=name)


def digest(estimator: Any) -> str:
    """A hash of all that ``tree_`` holds, or of the nodes and sets of a tree that has none."""
    if estimator._compact.has_sets:
        forest = estimator._compact.forest
        parts = (forest.nodes, forest.set_words, forest.entry_label, forest.entry_count)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    tree = estimator.tree_
    arrays = ("children_left", "children_right", *STRUCTURE, *STATISTICS)
    data = b"".join(np.ascontiguousarray(getattr(tree, name)).tobytes() for name in arrays)
    return hashlib.sha256(data).hexdigest()

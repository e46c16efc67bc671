"""Hold a fitted tree against the oracle: each split is a best one, each leaf is justified.

Nothing of the engine is used but the arrays of ``estimator.tree_``, or those in its place and the
sets where a tree splits by categories. The training rows are routed down the tree here, in their
own precision.
"""

from __future__ import annotations

from math import ceil
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from oracle import (
    Array,
    Criterion,
    Splits,
    all_sets,
    all_splits,
    gain,
    gain_scale,
    impurity,
    joined,
)

# Two splits tie, and may stand for one another, if their gains differ by less than this share.
TIE = 1e-9
# The engine's sums are rounded to about 1e-16 of a node's risk a step. A split must be clearly
# above that noise, and a leaf may only leave what could be noise: the genuine gains of design.md
# (1e-9 of the risk) are far above both.
LEAST_SPLIT_GAIN = 1e-13
MOST_LEAF_GAIN = 1e-11


class Node(NamedTuple):
    """A node on the way down, with the bounds monotonic constraints put on P(class 1)."""

    id: int
    rows: Array
    depth: int
    lower: float = 0.0
    upper: float = 1.0


def check_tree(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: Any = None,
    *,
    accuracy: float = TIE,
    noise: float = 0.0,
) -> Array:
    """Assert that ``estimator``, as fitted to this data, grew a tree the formulas allow.

    Returns the gain of each node's split, zero for leaves.

    ``sample_weight`` must have ``class_weight`` multiplied in already. Pruned trees are not
    handled. With ``splitter="random"`` or ``max_features`` each split must be a valid one, as
    what the others would have been is not to be seen; leaves are then taken as they are.

    ``accuracy`` is how far the engine's impurities may be off, relative to them: it tabulates those
    it does not know. ``noise`` is the same for the oracle's own, where they are found numerically.
    """
    return TreeCheck(estimator, X, y, sample_weight, accuracy, noise).run()


def tree_of(estimator: Any) -> Any:
    """Return ``tree_``, or the same attributes of a tree that splits by sets."""
    if not hasattr(estimator, "_compact") or not estimator._compact.has_sets:
        return estimator.tree_
    expanded = estimator._compact.expand()
    return SimpleNamespace(
        children_left=expanded["left_child"],
        children_right=expanded["right_child"],
        node_count=len(expanded["feature"]),
        n_leaves=np.sum(expanded["left_child"] == -1),
        **{**expanded, "value": expanded["value"][:, None, :]},
    )


class TreeCheck:
    """The training data as the oracle sees it, and the estimator's limits as plain numbers."""

    def __init__(
        self,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Any,
        accuracy: float,
        noise: float,
    ) -> None:
        self.accuracy = accuracy
        self.gain_accuracy = accuracy if accuracy > TIE else MOST_LEAF_GAIN
        self.noise = noise
        weight = np.ones(len(np.asarray(y))) if sample_weight is None else np.asarray(sample_weight)
        used = weight > 0  # the others take no part
        self.categorical = getattr(estimator, "is_categorical_", np.zeros(np.shape(X)[1], bool))
        if self.categorical.any():
            X = estimator.encode_categories(X)
        self.X = np.asarray(X)[used].astype(np.float64)
        self.y = np.searchsorted(estimator.classes_, np.asarray(y)[used])
        self.weight = weight[used].astype(np.float64)
        self.total = float(self.weight.sum())
        self.n_classes = len(estimator.classes_)
        self.tree = tree_of(estimator)
        self.sets = {
            node: estimator._compact.category_set(node)
            for node in np.flatnonzero(self.categorical.any() and np.isnan(self.tree.threshold))
        }
        self.criterion = Criterion.of(estimator.criterion)

        self.exhaustive = estimator.splitter == "best" and estimator.max_features is None
        self.max_depth = np.inf if estimator.max_depth is None else estimator.max_depth
        self.max_leaves = estimator.max_leaf_nodes
        self.min_leaf = self._rows(estimator.min_samples_leaf)
        self.min_split = max(2, self._rows(estimator.min_samples_split))
        self.min_leaf_weight = estimator.min_weight_fraction_leaf * self.total
        self.min_gain = estimator.min_impurity_decrease
        self.monotonic = estimator.monotonic_cst

    def _rows(self, limit: float) -> int:
        """A limit given as a number of rows, or as a share of them."""
        return limit if isinstance(limit, int) else ceil(limit * len(self.X))

    def run(self) -> Array:
        gains = np.zeros(self.tree.node_count)
        seen, deepest = 0, 0
        stack = [Node(0, np.arange(len(self.X)), 0)]
        while stack:
            node = stack.pop()
            seen += 1
            deepest = max(deepest, node.depth)
            self.check_statistics(node)
            splits = self.possible_splits(node)
            if self.tree.children_left[node.id] == -1:
                gains[node.id] = self.check_leaf(node, splits)
            else:
                gains[node.id] = self.check_split(node, splits)
                stack += self.children(node)
        assert seen == self.tree.node_count
        assert deepest == self.tree.max_depth
        assert self.tree.n_leaves == np.sum(self.tree.children_left == -1)
        if self.max_leaves is not None and self.exhaustive:
            self.check_best_first(gains)
        return np.where(self.tree.children_left == -1, 0, gains)

    def class_weights(self, rows: Array) -> Array:
        return np.bincount(self.y[rows], self.weight[rows], self.n_classes)

    def check_statistics(self, node: Node) -> None:
        n = self.class_weights(node.rows)
        tree = self.tree
        value = n / n.sum()
        if self.monotonic is not None:
            value = np.clip(value, [1 - node.upper, node.lower], [1 - node.lower, node.upper])
        assert tree.n_node_samples[node.id] == len(node.rows)
        np.testing.assert_allclose(tree.weighted_n_node_samples[node.id], n.sum(), rtol=1e-9)
        np.testing.assert_allclose(tree.value[node.id, 0], value, rtol=1e-9, atol=1e-12)
        expected = float(impurity(self.criterion, n))
        np.testing.assert_allclose(tree.impurity[node.id], expected, rtol=self.accuracy, atol=1e-9)

    # --- what could be done at a node -----------------------------------------------------------

    def possible_splits(self, node: Node) -> Splits:
        """All splits the limits allow; none where the node itself may not be split."""
        rows = node.rows
        if len(rows) < self.min_split or node.depth >= self.max_depth:
            rows = rows[:1]
        splits = self.splits_of(rows)
        return splits[self.allowed(splits, node, slack=-TIE)]

    def splits_of(self, rows: Array) -> Splits:
        X, of_rows = self.X[rows], (self.y[rows], self.weight[rows], self.n_classes)
        numeric = np.flatnonzero(~self.categorical)
        parts = []
        if len(numeric):
            parts.append(all_splits(X[:, numeric], *of_rows))
            parts[0].feature = numeric[parts[0].feature]
        for column in np.flatnonzero(self.categorical):
            parts.append(all_sets(X[:, column], *of_rows))
            parts[-1].feature += column
        return joined(parts)

    def allowed(self, splits: Splits, node: Node, slack: float) -> Array:
        """Which splits keep the limits, with real-valued limits kept up to ``slack``."""
        slack_weight = slack * self.total
        ok = np.minimum(splits.rows_left, splits.rows_right) >= self.min_leaf
        lightest = np.minimum(splits.left.sum(axis=1), splits.right.sum(axis=1))
        if self.min_leaf_weight > 0:
            ok &= lightest >= self.min_leaf_weight - slack_weight
        if self.monotonic is not None:
            # As in scikit-learn, bounds stop splits on constrained features only; elsewhere
            # the node's value is clipped to them.
            sign = np.asarray(self.monotonic)[splits.feature]
            left = splits.left[:, 1] / splits.left.sum(axis=1)
            right = splits.right[:, 1] / splits.right.sum(axis=1)
            inside = np.minimum(left, right) >= node.lower - slack
            inside &= np.maximum(left, right) <= node.upper + slack
            ok &= (sign == 0) | (inside & (sign * (right - left) >= -slack))
        return ok

    # --- what was done --------------------------------------------------------------------------

    def goes_left(self, node: Node) -> Array:
        x = self.X[node.rows, self.tree.feature[node.id]]
        missing_left = bool(self.tree.missing_go_to_left[node.id])
        if node.id in self.sets:
            return np.isin(x, self.sets[node.id]) != missing_left
        return np.where(np.isnan(x), missing_left, x <= self.tree.threshold[node.id])

    def children(self, node: Node) -> list[Node]:
        left = self.goes_left(node)
        bounds = [(node.lower, node.upper)] * 2
        if self.monotonic is not None and (sign := self.monotonic[self.tree.feature[node.id]]):
            sides = [self.class_weights(node.rows[side]) for side in (left, ~left)]
            middle = sum(n[1] / n.sum() for n in sides) / 2
            bounds = [(node.lower, middle), (middle, node.upper)][::sign]
        return [
            Node(ids[node.id], node.rows[side], node.depth + 1, *bound)
            for ids, side, bound in zip(
                (self.tree.children_left, self.tree.children_right),
                (left, ~left),
                bounds,
                strict=True,
            )
        ]

    def check_leaf(self, node: Node, splits: Splits) -> float:
        """The leaf's best gain, which must not be worth a split unless leaves have run out."""
        n = self.class_weights(node.rows)
        if np.count_nonzero(n) == 1 or not len(splits) or not self.exhaustive:
            return 0.0
        best = float(gain(self.criterion, splits.left, splits.right, self.total).max())
        scale = gain_scale(self.criterion, n, self.total)
        too_small = max(MOST_LEAF_GAIN, self.noise) * scale
        if self.min_gain > 0:
            too_small = max(too_small, self.min_gain * (1 + TIE) + self.gain_accuracy * scale)
        if best <= too_small:
            return 0.0
        assert self.max_leaves is not None, f"leaf {node.id} could gain {best:.3e}"
        return best

    def check_split(self, node: Node, splits: Splits) -> float:
        """The split's gain, which must be positive and no less than any other's."""
        assert len(node.rows) >= self.min_split
        assert node.depth < self.max_depth
        chosen = self.find(node)
        got = float(gain(self.criterion, chosen.left, chosen.right, self.total)[0])
        n = self.class_weights(node.rows)
        scale = gain_scale(self.criterion, n, self.total)
        assert got > (LEAST_SPLIT_GAIN - self.noise) * scale, (
            f"node {node.id} gains nothing: {got:.3e}"
        )
        assert got >= self.min_gain * (1 - TIE) - self.gain_accuracy * scale
        if self.exhaustive and len(splits):
            gains = gain(self.criterion, splits.left, splits.right, self.total)
            best = float(gains.max())
            slack = TIE * best + self.gain_accuracy * scale
            assert got >= best - slack, (
                f"node {node.id} gains {got:.12e} but feature {splits.feature[gains.argmax()]} "
                f"at {splits.threshold[gains.argmax()]} gains {best:.12e}"
            )
        return got

    def find(self, node: Node) -> Splits:
        """The split of an inner node, as the oracle would list it."""
        feature, threshold = self.tree.feature[node.id], self.tree.threshold[node.id]
        missing_left = bool(self.tree.missing_go_to_left[node.id])
        x = self.X[node.rows][:, [feature]]
        missing, left = np.isnan(x[:, 0]), self.goes_left(node)
        if node.id in self.sets:
            return self.find_set(node, left, missing, missing_left)
        splits = all_splits(x, self.y[node.rows], self.weight[node.rows], self.n_classes)
        same = splits.rows_left == left.sum()
        if missing.any():
            same &= splits.missing_left == missing_left
        else:
            self.check_larger_child(node, left, missing_left)
        if self.exhaustive:
            same &= splits.threshold == threshold
        else:
            assert np.nanmin(x) <= threshold
            # All values left is a split only where missing ones stay on the right.
            assert threshold < np.nanmax(x) or (missing.any() and not missing_left)
        assert same.sum() == 1, f"node {node.id}: {threshold!r} is no midpoint of feature {feature}"
        chosen = splits[same]
        chosen.feature = np.array([feature])
        assert self.allowed(chosen, node, slack=TIE).all(), f"node {node.id} breaks a limit"
        return chosen

    def find_set(self, node: Node, left: Array, missing: Array, missing_left: bool) -> Splits:
        """The same for a split by categories: each goes to one side, whole."""
        if missing.any():
            assert (left[missing] == missing_left).all()
        else:
            self.check_larger_child(node, left, missing_left)
        assert set(self.sets[node.id]) <= set(self.X[node.rows, self.tree.feature[node.id]])
        sides = [self.class_weights(node.rows[side]) for side in (left, ~left)]
        chosen = Splits(
            *(np.array([self.tree.feature[node.id]]), np.array([np.nan]), np.array([missing_left])),
            *(side[None, :] for side in sides),
            *(np.array([side.sum()]) for side in (left, ~left)),
        )
        assert self.allowed(chosen, node, slack=TIE).all(), f"node {node.id} breaks a limit"
        return chosen

    def check_larger_child(self, node: Node, left: Array, missing_left: bool) -> None:
        """Missing values that fit never saw go to the larger child, by rows and by weight."""
        weight = self.weight[node.rows]
        by_rows, by_weight = np.sign(left.mean() - 0.5), np.sign(weight @ (left - 0.5))
        if by_rows == by_weight != 0:
            assert missing_left == (by_rows > 0), f"node {node.id} sends missing values astray"

    def check_best_first(self, gains: Array) -> None:
        """Open the nodes in order of gain: all that were opened come before all that were not."""
        tree = self.tree
        inner = tree.children_left != -1
        assert tree.n_leaves <= self.max_leaves
        frontier = [0]
        for _ in range(min(self.max_leaves - 1, int((gains > 0).sum()))):
            # Among ties, take one that was opened.
            best = max(gains[frontier])
            slack = TIE * best if self.accuracy == TIE else self.accuracy
            node = max(frontier, key=lambda i: (gains[i] >= best - slack, inner[i]))
            assert inner[node], f"leaf {node} gains {gains[node]:.3e} but was not opened in turn"
            frontier.remove(node)
            frontier += [tree.children_left[node], tree.children_right[node]]
        assert not inner[frontier].any()

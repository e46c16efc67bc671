"""Theorem 5: why a node stops splitting."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.losses._checks import Array
from hardwood.losses._impurities import partial_risk
from hardwood.theory._gains import gains, impurity_of, resolved
from hardwood.theory.conservative import misclassification_constant

_GAIN_TOLERANCE = 1e-11  # a smaller gain, relative to the node's risk, is rounding
_WEIGHT_TOLERANCE = 1e-12  # relative, for sums of real weights


@dataclass(frozen=True)
class MaxNorm:
    """Both sides of the lemma behind Theorem 5.

    Attributes
    ----------
    norms_add : ndarray of bool
        Whether ‖x + y‖∞ = ‖x‖∞ + ‖y‖∞.
    maxima_shared : ndarray of bool
        Whether x + y is largest exactly where both x and y are largest.
    """

    norms_add: NDArray[np.bool_]
    maxima_shared: NDArray[np.bool_]

    @property
    def holds(self) -> bool:
        """Whether the two sides agree everywhere."""
        return bool(np.all(self.norms_add == self.maxima_shared))


def max_norm(x: ArrayLike, y: ArrayLike) -> MaxNorm:
    """Evaluate both sides of the lemma: norms add if and only if maxima are shared.

    For the class counts of two children, this is when a conservative loss gains nothing.

    Parameters
    ----------
    x, y : array-like of shape (..., K)
        Non-negative numbers. Integers, such as counts, are compared exactly.

    Returns
    -------
    MaxNorm
        Both sides.

    Examples
    --------
    >>> from hardwood.theory import max_norm
    >>> max_norm([[3, 1], [3, 1]], [[2, 2], [1, 2]])
    MaxNorm(norms_add=array([ True, False]), maxima_shared=array([ True, False]))
    """
    x, y = np.asarray(x), np.asarray(y)
    if np.any(x < 0) or np.any(y < 0):
        raise ValueError("x and y must not contain negative numbers.")
    whole = x + y
    norms_add = whole.max(axis=-1) == x.max(axis=-1) + y.max(axis=-1)
    shared = _maxima(x) & _maxima(y)
    return MaxNorm(np.asarray(norms_add), np.asarray((_maxima(whole) == shared).all(axis=-1)))


def _maxima(x: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(x == x.max(axis=-1, keepdims=True))


@dataclass(frozen=True)
class LeafExplanation:
    """Why growth stopped at a leaf.

    Attributes
    ----------
    reason : str
        "pure", "no varying feature", "same majority" (Theorem 5a), "same distribution"
        (Theorem 5b), "no gain", or the parameter that rules out every split with a gain:
        "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
        "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha", "monotonic_cst", "max_features" or
        "splitter".
    text : str
        The same in words.
    class_weights : ndarray of shape (n_classes,)
        Weight of each class in the leaf.
    gain : float
        Gain of the best split of the leaf, allowed or not; 0 if there is none.
    feature, threshold : int and float, or None
        That split.
    """

    reason: str
    text: str
    class_weights: Array
    gain: float = 0.0
    feature: int | None = None
    threshold: float | None = None

    def __str__(self) -> str:
        return self.text


def explain_leaf(
    tree: Any, X: ArrayLike, y: ArrayLike, leaf: int, sample_weight: ArrayLike | None = None
) -> LeafExplanation:
    """Explain why a tree did not split a leaf.

    All splits of the leaf's rows are tried again. Reasons that no parameter can change, such as a
    single class or no gain, come before limits.

    Parameters
    ----------
    tree : RobustTreeClassifier
        A fitted tree, or a tree of a forest fitted with ``bootstrap=False``.
    X, y : array-like
        The data it was fitted on.
    leaf : int
        Number of the leaf, as returned by `apply`.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights it was fitted with.

    Returns
    -------
    LeafExplanation
        The reason. Print it to read a sentence.

    Examples
    --------
    >>> from hardwood import RobustTreeClassifier
    >>> from hardwood.theory import explain_leaf
    >>> X, y = [[0], [0], [0], [1], [1], [1]], ["a", "a", "a", "a", "a", "b"]
    >>> tree = RobustTreeClassifier(criterion="misclassification").fit(X, y)
    >>> answer = explain_leaf(tree, X, y, leaf=0)
    >>> answer.reason
    'same majority'
    >>> print(answer)
    Leaf 0 (6 rows): every split leaves a majority of class 'a' on both sides (Theorem 5a).
    """
    node = _Node(tree, X, y, leaf, sample_weight)
    splits = node.splits()

    def explain(reason: str, text: str, best: int | None = None) -> LeafExplanation:
        text = f"Leaf {leaf} ({node.n_rows} rows): {text}."
        if best is None:
            return LeafExplanation(reason, text, node.class_weights)
        chosen = int(splits.feature[best]), float(splits.threshold[best])
        return LeafExplanation(reason, text, node.class_weights, float(gain[best]), *chosen)

    if np.count_nonzero(node.class_weights) == 1:
        return explain("pure", f"all are of class {node.majority_names()}")
    if not len(splits):
        return explain("no varying feature", "every feature is constant")

    criterion = resolved(tree.criterion)
    impurity = impurity_of(criterion)
    gain = gains(criterion, splits.left, splits.right, node.total_weight)
    risk = partial_risk(impurity, node.class_weights[None])[0] / node.total_weight
    worth = gain > _GAIN_TOLERANCE * risk
    best = int(np.argmax(gain))
    if not worth.any():
        is_conservative = misclassification_constant(impurity, len(node.classes)) is not None
        if _same_distribution(splits) and not is_conservative:
            text = "every split leaves the same class shares on both sides (Theorem 5b)"
            return explain("same distribution", text)
        # The theorem is about impurities, and credal's gain is not the gain of one.
        if _same_majority(splits) and criterion.name != "credal":
            text = f"every split leaves a majority of class {node.majority_names()} on both sides"
            return explain("same majority", f"{text} (Theorem 5a)")
        return explain("no gain", f"no split has a positive gain by {criterion!r}", best)

    where = f"feature {splits.feature[best]} at {splits.threshold[best]:.6g}"
    would = f"splitting {where} would gain {gain[best]:.3g}, but"
    for name, allowed, text in node.limits(tree, splits, gain):
        worth = worth & allowed
        if not worth.any():
            return explain(name, f"{would} {text}", best)
    raise ValueError(
        f"{would} neither the criterion nor a parameter rules it out: X, y and sample_weight must "
        "be those the tree was fitted with."
    )


@dataclass(frozen=True)
class _Splits:
    """Every split of a node: class weights and numbers of rows on both sides."""

    feature: NDArray[np.int64]
    threshold: Array
    left: Array
    right: Array
    rows_left: Array
    rows_right: Array

    def __len__(self) -> int:
        return len(self.feature)


class _Node:
    """The training rows of a leaf."""

    def __init__(
        self, tree: Any, X: ArrayLike, y: ArrayLike, leaf: int, sample_weight: ArrayLike | None
    ) -> None:
        self.structure = tree.tree_
        if not (0 <= leaf < self.structure.node_count) or self.structure.children_left[leaf] != -1:
            raise ValueError(f"leaf must be the number of a leaf, as in apply(X), got {leaf}.")
        classes = np.asarray(tree.classes_)
        y = np.asarray(y)
        if not np.isin(y, classes).all():
            raise ValueError("y contains a class that the tree was not fitted with.")
        weights = _weights(tree, y, sample_weight)
        leaves = np.asarray(tree.apply(X))
        inside = (leaves == leaf) & (weights > 0)
        self.leaf, self.classes = leaf, classes
        self.X = np.asarray(X, dtype=np.float64)[inside]
        self.labels = np.searchsorted(classes, y[inside])
        self.weights = weights[inside]
        self.n_rows = len(self.X)
        self.n_all_rows = int(np.count_nonzero(weights))
        self.total_weight = float(weights.sum())
        self.class_weights = np.zeros(len(classes))
        np.add.at(self.class_weights, self.labels, self.weights)
        if self.n_rows != self.structure.n_node_samples[leaf]:
            raise ValueError(
                f"{self.n_rows} rows of X end in leaf {leaf}, but it was grown from "
                f"{self.structure.n_node_samples[leaf]}: X, y and sample_weight must be those the "
                "tree was fitted with, without bootstrap."
            )

    def majority_names(self) -> str:
        """Return the majority classes, as text."""
        largest = self.class_weights >= self.class_weights.max() * (1 - _WEIGHT_TOLERANCE)
        return " and ".join(repr(name) for name in self.classes[largest].tolist())

    def splits(self) -> _Splits:
        """Return every split: each feature, each cut, missing values on either side."""
        mass = np.zeros((self.n_rows, len(self.classes) + 1))  # class weights, then rows
        mass[np.arange(self.n_rows), self.labels] = self.weights
        mass[:, -1] = 1
        parts = [_splits_of(x, mass) for x in self.X.T]
        threshold, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
        feature = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return _Splits(feature, threshold, left[:, :-1], right[:, :-1], left[:, -1], right[:, -1])

    def limits(
        self, tree: Any, splits: _Splits, gain: Array
    ) -> Iterator[tuple[str, NDArray[np.bool_] | bool, str]]:
        """Yield each limit of the tree: its name, which splits it allows, and its effect."""
        at_leaf = f"the leaf is at max_depth={tree.max_depth}"
        yield "max_depth", tree.max_depth is None or self._depth() < tree.max_depth, at_leaf
        fewest = self._count(tree.min_samples_split, 2)
        text = f"a node of fewer than {fewest} rows is not split (min_samples_split)"
        yield "min_samples_split", self.n_rows >= fewest, text
        fewest = self._count(tree.min_samples_leaf, 1)
        text = f"every split with a gain leaves fewer than {fewest} rows on a side"
        smaller = np.minimum(splits.rows_left, splits.rows_right)
        yield "min_samples_leaf", smaller >= fewest, f"{text} (min_samples_leaf)"
        lightest = tree.min_weight_fraction_leaf * self.total_weight
        text = f"every split with a gain leaves less weight than {lightest:.6g} on a side"
        lighter = np.minimum(splits.left.sum(axis=1), splits.right.sum(axis=1))
        yield "min_weight_fraction_leaf", lighter >= lightest, text
        text = f"min_impurity_decrease={tree.min_impurity_decrease:g} requires more"
        yield "min_impurity_decrease", gain >= tree.min_impurity_decrease, text
        yield "ccp_alpha", tree.ccp_alpha == 0, f"ccp_alpha={tree.ccp_alpha:g} pruned it"
        full = tree.max_leaf_nodes is not None and self.structure.n_leaves >= tree.max_leaf_nodes
        text = f"the tree has reached max_leaf_nodes={tree.max_leaf_nodes}"
        yield "max_leaf_nodes", not full, text
        yield "monotonic_cst", tree.monotonic_cst is None, "monotonic_cst rules it out"
        all_seen = tree.max_features_ >= self.X.shape[1]
        text = f"max_features={tree.max_features!r} left the feature unseen"
        yield "max_features", all_seen, text
        yield "splitter", tree.splitter == "best", 'splitter="random" did not try it'

    def _count(self, value: int | float, smallest: int) -> int:
        if isinstance(value, Integral):
            return int(value)
        return max(smallest, ceil(value * self.n_all_rows))

    def _depth(self) -> int:
        """Return the depth of the leaf, by climbing to the root."""
        left, right = self.structure.children_left, self.structure.children_right
        depth, node = 0, self.leaf
        while node != 0:
            depth, node = depth + 1, int(np.flatnonzero((left == node) | (right == node))[0])
        return depth


def _weights(tree: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> Array:
    from sklearn.utils import compute_sample_weight

    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    class_weight = getattr(tree, "class_weight", None)
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, y)
    return weights


def _splits_of(x: Array, mass: Array) -> tuple[Array, Array, Array]:
    """Return the thresholds of all splits of one feature, and the mass on both sides."""
    missing = np.isnan(x)
    lost = mass[missing].sum(axis=0)
    order = np.argsort(x, kind="stable")[: np.count_nonzero(~missing)]
    values = x[order]
    # Each side is summed separately: differences of real weights would leave rounding errors.
    below = mass[order].cumsum(axis=0)
    above = mass[order[::-1]].cumsum(axis=0)[::-1]
    cut = np.flatnonzero(values[:-1] < values[1:])
    threshold, left, right = values[cut] / 2 + values[cut + 1] / 2, below[cut], above[cut + 1]
    if not missing.any():
        return threshold, left, right
    # Missing values go right, go left, or are alone on the right.
    alone = slice(-1, None)
    return (
        np.concatenate([threshold, threshold, np.full(len(below[alone]), np.inf)]),
        np.concatenate([left, left + lost, below[alone]]),
        np.concatenate([right + lost, right, np.broadcast_to(lost, below[alone].shape)]),
    )


def _same_distribution(splits: _Splits) -> bool:
    """Return whether both sides of every split have the same class shares."""
    n_left, n_right = splits.left.sum(axis=1), splits.right.sum(axis=1)
    one, other = splits.left * n_right[:, None], splits.right * n_left[:, None]
    return bool(np.all(np.abs(one - other) <= _WEIGHT_TOLERANCE * (n_left * n_right)[:, None]))


def _same_majority(splits: _Splits) -> bool:
    """Return whether every split has a class that is in the majority on both sides."""
    norms = splits.left.max(axis=1) + splits.right.max(axis=1)
    whole = (splits.left + splits.right).max(axis=1)
    return bool(np.all(norms - whole <= _WEIGHT_TOLERANCE * whole))

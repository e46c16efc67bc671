"""Theorem 5: why a node stops splitting."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.losses import (
    CrossEntropy,
    GeneralizedCrossEntropy,
    MeanSquaredError,
    NegativeExponential,
    SimplexLoss,
    ZeroOne,
)
from hardwood.losses._checks import Array

# A gain below this share of the node's risk is rounding.
_GAIN_TOLERANCE = 1e-11
# Sums of real weights that differ by less than this share are equal.
_WEIGHT_TOLERANCE = 1e-12


@dataclass(frozen=True)
class MaxNorm:
    """Both sides of the lemma behind Theorem 5.

    Attributes
    ----------
    norms_add : ndarray of bool
        Whether ‖x + y‖∞ = ‖x‖∞ + ‖y‖∞.
    maxima_shared : ndarray of bool
        Whether the places of the largest entries of x + y are those that x and y share.
    """

    norms_add: NDArray[np.bool_]
    maxima_shared: NDArray[np.bool_]

    @property
    def holds(self) -> bool:
        """Whether each is true exactly where the other is."""
        return bool(np.all(self.norms_add == self.maxima_shared))


def max_norm(x: ArrayLike, y: ArrayLike) -> MaxNorm:
    """Evaluate both sides of the lemma: norms add up if and only if maxima are shared.

    With the class counts of two children, this is when a conservative loss gains nothing.

    Parameters
    ----------
    x, y : array-like of shape (..., K)
        Numbers, none negative; whole ones, such as counts, are compared without rounding.

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
        raise ValueError("x and y must not hold negative numbers.")
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
        (Theorem 5b), "no gain", or the parameter that forbids every split that gains: "max_depth",
        "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
        "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha", "monotonic_cst", "max_features",
        "splitter".
    text : str
        The same in words.
    class_weights : ndarray of shape (n_classes,)
        Weight of each class in the leaf.
    gain : float
        Gain of the best split of the leaf, were it allowed; 0 if there is none.
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

    All splits of the leaf's rows are made again. A reason that no parameter could change, such as
    one class or no gain, is named before a limit.

    Parameters
    ----------
    tree : RobustTreeClassifier
        A fitted tree, or one of a forest that drew no bootstrap.
    X, y : array-like
        The data that it was fitted with.
    leaf : int
        Number of the leaf, as `apply` returns it.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights that it was fitted with.

    Returns
    -------
    LeafExplanation
        The reason; printed, a sentence.

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
        return LeafExplanation(reason, text, node.class_weights, float(gains[best]), *chosen)

    if np.count_nonzero(node.class_weights) == 1:
        return explain("pure", f"all are of class {node.majority_names()}")
    if not len(splits):
        return explain("no varying feature", "no feature takes two values")

    criterion = _resolved(tree.criterion)
    gains = _gains(criterion, splits.left, splits.right, node.total_weight)
    worth = gains > _GAIN_TOLERANCE * node.risk(_impurity(criterion))
    best = int(np.argmax(gains))
    if not worth.any():
        same = _same_distribution(splits)
        if same and not _is_conservative(criterion):
            text = "every split leaves the same class shares on both sides (Theorem 5b)"
            return explain("same distribution", text)
        if _same_majority(splits) and criterion.name != "credal":  # which is no impurity's gain
            text = f"every split leaves a majority of class {node.majority_names()} on both sides"
            return explain("same majority", f"{text} (Theorem 5a)")
        return explain("no gain", f"no split gains anything by {criterion!r}", best)

    where = f"feature {splits.feature[best]} at {splits.threshold[best]:.6g}"
    would = f"the split of {where} would gain {gains[best]:.3g}, but"
    for name, allowed, text in node.limits(tree, splits, gains):
        worth = worth & allowed
        if not worth.any():
            return explain(name, f"{would} {text}", best)
    raise ValueError(
        f"{would} neither the criterion nor a parameter forbids it: X, y and sample_weight must be "
        "those that the tree was fitted with."
    )


# --- the leaf's rows and their splits ------------------------------------------------------------


@dataclass(frozen=True)
class _Splits:
    """Every split of a node, one entry each: class weights and numbers of rows on both sides."""

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
            raise ValueError(f"leaf must be the number of a leaf, as apply returns it, got {leaf}.")
        classes = np.asarray(tree.classes_)
        y = np.asarray(y)
        if not np.isin(y, classes).all():
            raise ValueError("y holds a class that the tree was not fitted with.")
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
                f"{self.structure.n_node_samples[leaf]}: X, y and sample_weight must be those that "
                "the tree was fitted with, without bootstrap."
            )

    def risk(self, impurity: Callable[[Array], Array]) -> float:
        """Return the impurity of the leaf, as a share of all data."""
        weight = self.class_weights.sum()
        return float(weight / self.total_weight * impurity(self.class_weights[None] / weight)[0])

    def majority_names(self) -> str:
        """Return the majority classes, as text."""
        largest = self.class_weights >= self.class_weights.max() * (1 - _WEIGHT_TOLERANCE)
        return " and ".join(repr(name) for name in self.classes[largest].tolist())

    def splits(self) -> _Splits:
        """Return every split: each feature, each cut between values, missing ones on each side."""
        mass = np.zeros((self.n_rows, len(self.classes) + 1))  # class weights, then rows
        mass[np.arange(self.n_rows), self.labels] = self.weights
        mass[:, -1] = 1
        parts = [_splits_of(x, mass) for x in self.X.T]
        threshold, left, right = (np.concatenate(column) for column in zip(*parts, strict=True))
        feature = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        return _Splits(feature, threshold, left[:, :-1], right[:, :-1], left[:, -1], right[:, -1])

    def limits(
        self, tree: Any, splits: _Splits, gains: Array
    ) -> Iterator[tuple[str, NDArray[np.bool_] | bool, str]]:
        """Yield each limit of the tree: its name, which splits it allows, and what it says."""
        at_leaf = f"the leaf is at max_depth={tree.max_depth}"
        yield "max_depth", tree.max_depth is None or self._depth() < tree.max_depth, at_leaf
        fewest = self._count(tree.min_samples_split, 2)
        text = f"a node of fewer than {fewest} rows is not split (min_samples_split)"
        yield "min_samples_split", self.n_rows >= fewest, text
        fewest = self._count(tree.min_samples_leaf, 1)
        text = f"all that gain leave fewer than {fewest} rows on a side (min_samples_leaf)"
        smaller = np.minimum(splits.rows_left, splits.rows_right)
        yield "min_samples_leaf", smaller >= fewest, text
        lightest = tree.min_weight_fraction_leaf * self.total_weight
        text = f"all that gain leave less weight than {lightest:.6g} on a side"
        lighter = np.minimum(splits.left.sum(axis=1), splits.right.sum(axis=1))
        yield "min_weight_fraction_leaf", lighter >= lightest, text
        text = f"min_impurity_decrease={tree.min_impurity_decrease:g} asks for more"
        yield "min_impurity_decrease", gains >= tree.min_impurity_decrease, text
        text = f"ccp_alpha={tree.ccp_alpha:g} has pruned it"
        yield "ccp_alpha", tree.ccp_alpha == 0, text
        full = tree.max_leaf_nodes is not None and self.structure.n_leaves >= tree.max_leaf_nodes
        yield "max_leaf_nodes", not full, f"the tree has max_leaf_nodes={tree.max_leaf_nodes}"
        yield "monotonic_cst", tree.monotonic_cst is None, "monotonic_cst forbids it"
        all_seen = tree.max_features_ >= self.X.shape[1]
        yield "max_features", all_seen, f"max_features={tree.max_features!r} left it unseen"
        yield "splitter", tree.splitter == "best", 'splitter="random" did not look at it'

    def _count(self, value: int | float, smallest: int) -> int:
        if isinstance(value, Integral):
            return int(value)
        return max(smallest, ceil(value * self.n_all_rows))

    def _depth(self) -> int:
        """Return the leaf's depth, by going up from it."""
        parent = {}
        for children in (self.structure.children_left, self.structure.children_right):
            parent.update({int(child): i for i, child in enumerate(children) if child != -1})
        depth, node = 0, self.leaf
        while node in parent:
            depth, node = depth + 1, parent[node]
        return depth


def _weights(tree: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> Array:
    from sklearn.utils import compute_sample_weight

    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    class_weight = getattr(tree, "class_weight", None)
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, y)
    return weights


def _splits_of(x: Array, mass: Array) -> tuple[Array, Array, Array]:
    """Return the thresholds of all splits of one feature, and what is on their two sides."""
    missing = np.isnan(x)
    lost = mass[missing].sum(axis=0)
    order = np.argsort(x, kind="stable")[: np.count_nonzero(~missing)]
    values = x[order]
    # Each side is summed on its own: differences of real weights would leave crumbs.
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
    """Whether both sides of every split have the same class shares."""
    n_left, n_right = splits.left.sum(axis=1), splits.right.sum(axis=1)
    one, other = splits.left * n_right[:, None], splits.right * n_left[:, None]
    return bool(np.all(np.abs(one - other) <= _WEIGHT_TOLERANCE * (n_left * n_right)[:, None]))


def _same_majority(splits: _Splits) -> bool:
    """Whether some class has the majority on both sides of every split: the norms add up."""
    norms = splits.left.max(axis=1) + splits.right.max(axis=1)
    whole = (splits.left + splits.right).max(axis=1)
    return bool(np.all(norms - whole <= _WEIGHT_TOLERANCE * whole))


# --- criteria ------------------------------------------------------------------------------------


def _resolved(criterion: Any) -> Any:
    """Return a criterion object; that of the closed form, where a loss has one."""
    from hardwood.criteria import resolve

    criterion = resolve(criterion)
    if hasattr(getattr(criterion, "loss", None), "criterion"):
        closed_form = criterion.loss.criterion()
        return criterion if type(closed_form) is type(criterion) else closed_form
    return criterion


def _is_conservative(criterion: Any) -> bool:
    name = criterion.name
    return bool(
        name == "misclassification"
        or (name == "ne" and criterion.lam == 1)
        or (name == "gce" and criterion.q >= 1)
    )


def _impurity(criterion: Any) -> Callable[[Array], Array]:
    """Return the impurity of class distributions that a criterion rests on."""
    gini = MeanSquaredError().impurity
    match criterion.name:
        case "gini" | "twoing" | "ranking":
            return gini
        case "entropy":
            return CrossEntropy().impurity
        case "misclassification":
            return ZeroOne().impurity
        case "ne" if criterion.lam > 0:
            return NegativeExponential(lam=criterion.lam).impurity_multiclass
        case "sqrt_gini" | "ne":
            return lambda p: np.sqrt(gini(p))
        case "gce":
            return GeneralizedCrossEntropy(criterion.q).impurity
        case "credal":
            return CrossEntropy().impurity
    # FromLoss has a loss, of class distributions or of the second class; CustomImpurity a function.
    loss = getattr(criterion, "loss", None)
    if loss is not None and not isinstance(loss, SimplexLoss):
        return lambda p: loss.impurity(p[..., 1])
    function = criterion.function if loss is None else loss.impurity
    return lambda p: np.asarray(function(p), dtype=np.float64)


def _gains(criterion: Any, left: Array, right: Array, total: float) -> Array:
    """Return the gain of every split, as a share of all data (see docs/criteria.md)."""
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    n = n_left + n_right
    p_left, p_right = left / n_left[:, None], right / n_right[:, None]
    if criterion.name == "twoing":
        distance = np.abs(p_left - p_right).sum(axis=1)
        return np.asarray(n_left * n_right / n / 4 * distance**2 / total)
    if criterion.name == "ranking":
        if left.shape[1] == 1:
            return np.zeros(len(left))
        return np.asarray(
            np.abs(left[:, 0] * right[:, 1] - left[:, 1] * right[:, 0]) / 2 / total**2
        )
    if criterion.name == "credal":
        s = criterion.s
        one, other, whole = (_upper_entropy(part, s) for part in (left, right, left + right))
        children = (n_left * one + n_right * other + s * np.maximum(one, other)) / (n + s)
        return np.asarray((whole - children) * n / total)
    impurity = _impurity(criterion)
    whole = n * impurity((left + right) / n[:, None])
    return np.asarray((whole - n_left * impurity(p_left) - n_right * impurity(p_right)) / total)


def _upper_entropy(counts: Array, s: float) -> Array:
    """Return the entropy after a mass s has filled up the smallest counts like water."""
    lowest = np.sort(counts, axis=1).cumsum(axis=1)
    level = ((s + lowest) / np.arange(1, counts.shape[1] + 1)).min(axis=1, keepdims=True)
    filled = np.maximum(counts, level)
    return CrossEntropy().impurity(filled / filled.sum(axis=1, keepdims=True))

"""A brute-force splitter, straight from the formulas, that knows nothing of the engine but names.

``class weights`` are the weights of a node's rows summed by class: the array ``n`` of the
formulas, always with the classes on the last axis. ``total`` is the weight of the whole training
set. A ``split`` is a feature, a threshold and a side for the missing values, or a set of
categories; every one of them is tried. ``check_tree`` (in ``tree_check.py``) holds a fitted tree
against them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.criteria import resolve

Array = NDArray[Any]

# Where the platform has it (x86: 64 bits of mantissa), the oracle's own rounding is a thousand
# times smaller than the engine's, so a gain of zero and a tiny gain are told apart.
Real = np.longdouble


@dataclass(frozen=True)
class Criterion:
    """The name of a criterion and its parameters (λ, q, s, a loss, a function), if it has any."""

    name: str
    parameters: tuple[Any, ...] = ()

    @classmethod
    def of(cls, criterion: Any) -> Criterion:
        """Read an estimator's ``criterion``: a name, or an object with ``get_params``."""
        criterion = resolve(criterion)
        return cls(criterion.name, tuple(criterion.get_params(deep=False).values()))


# --- impurities ----------------------------------------------------------------------------------


def shares(n: Array) -> Array:
    """Class proportions p."""
    return n / n.sum(axis=-1, keepdims=True)


def gini(p: Array) -> Array:
    """1 - Σ p², written Σ p (1 - p) so that a pure node's is exactly zero."""
    return (p * (1 - p)).sum(axis=-1)


def entropy(p: Array) -> Array:
    """-Σ p ln p, with 0 ln 0 = 0."""
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)


def misclassification(p: Array) -> Array:
    """1 - max p."""
    return 1 - p.max(axis=-1)


def negative_exponential(p: Array, lam: float) -> Array:
    """min{1 - max p, λ √((1 - Σp²)(K-1)/K)}; λ = 0 is the limit √(1 - Σp²) (Theorem 6)."""
    if lam == 0:
        return np.sqrt(gini(p))
    n_classes = p.shape[-1]
    root = lam * np.sqrt(gini(p) * (n_classes - 1) / n_classes)
    return np.minimum(misclassification(p), root)


def generalized_cross_entropy(p: Array, q: float) -> Array:
    """(1 - ||p||_{1/(1-q)})/q, with entropy and misclassification at the ends (Theorem 1d)."""
    if q == 0:
        return entropy(p)
    if q >= 1:
        return misclassification(p) / q
    r = 1 / (1 - Real(q))
    largest = p.max(axis=-1, keepdims=True)  # factored out, as p^r underflows for q near 1
    norm = largest[..., 0] * ((p / largest) ** r).sum(axis=-1) ** (1 / r)
    return (1 - norm) / q


def water_fill(n: Array, s: float) -> Array:
    """Pour mass s onto the smallest class weights: max(n, level) with Σ max(0, level - n) = s.

    Filling only the j smallest would need the level (s + their sum)/j. The true level is below
    each of these, and equal to one.
    """
    lowest = np.sort(n, axis=-1).cumsum(axis=-1)
    level = ((s + lowest) / np.arange(1, n.shape[-1] + 1)).min(axis=-1, keepdims=True)
    return np.maximum(n, level)


IMPURITIES: dict[str, Callable[..., Array]] = {
    "gini": lambda n: gini(shares(n)),
    "entropy": lambda n: entropy(shares(n)),
    "misclassification": lambda n, constant: constant * misclassification(shares(n)),
    "sqrt_gini": lambda n: np.sqrt(gini(shares(n))),
    "ne": lambda n, lam: negative_exponential(shares(n), lam),
    "gce": lambda n, q: generalized_cross_entropy(shares(n), q),
    "twoing": lambda n: gini(shares(n)),
    "credal": lambda n, s: entropy(shares(water_fill(n, s))),
    "ranking": lambda n: gini(shares(n)) / 2,  # n_0 n_1/n², and zero for a lone class
    "from_loss": lambda n, loss: loss.impurity(shares(n)[..., 1]),
    "custom_impurity": lambda n, f: f(shares(n).reshape(-1, n.shape[-1])).reshape(n.shape[:-1]),
}


def impurity(criterion: Criterion, n: Array) -> Array:
    """What ``tree_.impurity`` should hold for nodes of these class weights."""
    return IMPURITIES[criterion.name](np.asarray(n, Real), *criterion.parameters)


# --- gains ---------------------------------------------------------------------------------------


def gain(criterion: Criterion, left: Array, right: Array, total: float) -> Array:
    """The gain of each split into children of class weights ``left`` and ``right``."""
    left, right = np.asarray(left, Real), np.asarray(right, Real)
    node = left + right
    n_left, n_right, n = left.sum(axis=-1), right.sum(axis=-1), node.sum(axis=-1)
    if criterion.name == "twoing":
        distance = np.abs(shares(left) - shares(right)).sum(axis=-1)
        return n_left * n_right / n**2 / 4 * distance**2 * n / total
    if criterion.name == "ranking":
        concordance = left[..., 0] * right[..., 1] - left[..., 1] * right[..., 0]
        return np.abs(concordance) / 2 / Real(total) ** 2
    whole, one, other = (impurity(criterion, part) for part in (node, left, right))
    if criterion.name == "credal":  # the extra mass goes to the child of larger entropy
        (s,) = criterion.parameters
        parts = (n_left * one + n_right * other + s * np.maximum(one, other)) / (n + s)
        return (whole - parts) * n / total
    return (n * whole - n_left * one - n_right * other) / total


def gain_scale(criterion: Criterion, n: Array, total: float) -> float:
    """An upper bound on a node's gains, against which rounding is measured: its risk."""
    weight = n.sum() / total
    if criterion.name == "ranking":  # |n_L0 n_R1 - n_L1 n_R0| <= n_0 n_1, over total²
        weight = weight**2
    return float(weight * impurity(criterion, n))


# --- splits --------------------------------------------------------------------------------------


@dataclass
class Splits:
    """Every split of a node, one entry each: who goes where, by class weight and by rows."""

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    rows_left: Array
    rows_right: Array

    def __len__(self) -> int:
        return len(self.feature)

    def __getitem__(self, chosen: Array) -> Splits:
        return Splits(*(part[chosen] for part in vars(self).values()))


def all_splits(X: Array, y: Array, weight: ArrayLike, n_classes: int) -> Splits:
    """Every feature × every midpoint of adjacent values present × where missing values go.

    With missing values present, their own split is there too: all values left (threshold
    infinity), missing right. ``X`` is float64, ``y`` holds class indices.
    """
    n_rows = len(X)
    mass = np.zeros((n_rows, n_classes + 1), Real)  # class weights, and in the last column rows
    mass[np.arange(n_rows), y] = weight
    mass[:, -1] = 1

    order = np.argsort(X, axis=0)  # missing values last
    x = np.take_along_axis(X, order, axis=0)
    missing = np.isnan(X)
    lost = np.tensordot(missing, mass, axes=(0, 0))
    present = np.where(np.isnan(x)[..., None], 0, mass[order])
    # Both sides are summed on their own: subtracting real weights would leave crumbs of absent
    # classes, and the square root of a crumb is no crumb.
    below = present.cumsum(axis=0)
    above = present[::-1].cumsum(axis=0)[::-1]

    cut, feature = np.nonzero(x[:-1] < x[1:])
    low, high = x[cut, feature], x[cut + 1, feature]
    threshold = low / 2 + high / 2
    threshold = np.where(threshold < high, threshold, low)  # adjacent floats: x <= low
    left, right = below[cut, feature], above[cut + 1, feature]

    either = missing.any(axis=0)[feature]  # here the missing values can go left as well
    alone = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    left = np.concatenate([left, (left + lost[feature])[either], below[-1, alone]])
    right = np.concatenate([right + lost[feature], right[either], lost[alone]])
    return Splits(
        feature=np.concatenate([feature, feature[either], alone]),
        threshold=np.concatenate([threshold, threshold[either], np.full(len(alone), np.inf)]),
        missing_left=np.repeat([False, True, False], [len(feature), either.sum(), len(alone)]),
        left=left[:, :-1],
        right=right[:, :-1],
        rows_left=left[:, -1],
        rows_right=right[:, -1],
    )


def all_sets(x: Array, y: Array, weight: ArrayLike, n_classes: int) -> Splits:
    """Every way to part the categories of one feature in two; missing values are a category.

    The thresholds are NaN, and the feature is 0.
    """
    numbers = np.where(np.isnan(x), -1, x)
    categories, index = np.unique(numbers, return_inverse=True)
    mass = np.zeros((len(categories), n_classes + 1), Real)
    np.add.at(mass, (index, y), weight)
    np.add.at(mass[:, -1], index, 1)
    # The last category goes right: swapping the sides gives no other split.
    sets = np.arange(1, 2 ** (len(categories) - 1))
    goes_left = (sets[:, None] >> np.arange(len(categories)) & 1).astype(bool)
    # Sides are summed on their own, for the reason given above.
    left, right = (
        np.array([mass[side].sum(axis=0) for side in sides]).reshape(len(sets), n_classes + 1)
        for sides in (goes_left, ~goes_left)
    )
    return Splits(
        feature=np.zeros(len(sets), int),
        threshold=np.full(len(sets), np.nan),
        missing_left=goes_left[:, 0] & (categories[0] == -1),
        left=left[:, :-1],
        right=right[:, :-1],
        rows_left=left[:, -1],
        rows_right=right[:, -1],
    )


def joined(parts: list[Splits]) -> Splits:
    """The splits of several features."""
    return Splits(
        *(np.concatenate(each) for each in zip(*(vars(p).values() for p in parts), strict=True))
    )

"""The impurities in closed form, and the risk and gain they give a node.

``p`` holds class distributions, with the classes along the last axis. Each formula stands here
once: the losses and `hardwood.theory` both use it.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import entr

from hardwood.losses._checks import Array

Impurity = Callable[[Array], Array]


def gini(p: Array) -> Array:
    """Return 1 − Σ pₖ², written as Σ pₖ (1 − pₖ) so that a pure node has exactly 0."""
    return np.asarray((p * (1 - p)).sum(axis=-1))


def sqrt_gini(p: Array) -> Array:
    """Return √(1 − Σ pₖ²)."""
    return np.asarray(np.sqrt(gini(p)))


def entropy(p: Array) -> Array:
    """Return −Σ pₖ log pₖ."""
    return np.asarray(entr(p).sum(axis=-1))


def misclassification(p: Array) -> Array:
    """Return 1 − max pₖ."""
    return np.asarray(1 - p.max(axis=-1))


def negative_exponential(p: Array, lam: float) -> Array:
    """Return min{1 − max pₖ, λ √((1 − Σ pₖ²)(K−1)/K)}; λ = 0 stands for the limit, √Gini."""
    if lam == 0:
        return sqrt_gini(p)
    n_classes = p.shape[-1]
    root = lam * np.sqrt(gini(p) * (n_classes - 1) / n_classes)
    return np.asarray(np.minimum(misclassification(p), root))


def generalized_cross_entropy(p: Array, q: float) -> Array:
    """Return (1 − ‖p‖_r)/q with r = 1/(1 − q); entropy at q = 0, misclassification/q from 1 on."""
    if q >= 1:
        return np.asarray(misclassification(p) / q)
    if q == 0:
        return entropy(p)
    # log ‖p‖_r = (1 − q) log Σ p^r
    if q < 0.5:
        # Σ p^r = 1 + Σ p (p^(r−1) − 1): nothing cancels as q → 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * np.expm1(q / (1 - q) * np.log(p)), 0.0)
        log_norm = (1 - q) * np.log1p(terms.sum(axis=-1))
    else:
        # The largest entry is factored out: nothing underflows as q → 1.
        largest = p.max(axis=-1, keepdims=True)
        sums = ((p / largest) ** (1 / (1 - q))).sum(axis=-1)
        log_norm = np.log(largest[..., 0]) + (1 - q) * np.log(sums)
    return np.asarray(np.maximum(-np.expm1(log_norm) / q, 0.0))


def partial_risk(impurity: Impurity, class_weights: Array) -> Array:
    """Return the weight of nodes times their impurity: their part of the empirical risk.

    Divide it by the weight of all data to get a share of the risk.
    """
    weight = class_weights.sum(axis=-1)
    return np.asarray(weight * impurity(class_weights / weight[..., None]))


def risk_reduction(impurity: Impurity, left: Array, right: Array) -> Array:
    """Return by how much splits into these children reduce the partial risk."""
    children = partial_risk(impurity, left), partial_risk(impurity, right)
    return np.asarray(partial_risk(impurity, left + right) - children[0] - children[1])

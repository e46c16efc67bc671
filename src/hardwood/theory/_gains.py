"""The gain of a split by each criterion, from the impurities of `hardwood.losses`.

This is a second, independent statement of what the engine computes, so that each can check the
other. `docs/criteria.md` has the formulas.
"""

from functools import partial
from typing import Any

import numpy as np

from hardwood.losses import _impurities
from hardwood.losses._checks import Array
from hardwood.losses._impurities import Impurity
from hardwood.losses._loss import Loss


def resolved(criterion: Any) -> Any:
    """Return a criterion object; for a loss with a closed form, the criterion of that form."""
    from hardwood.criteria import resolve

    criterion = resolve(criterion)
    if hasattr(getattr(criterion, "loss", None), "criterion"):
        closed_form = criterion.loss.criterion()
        return criterion if type(closed_form) is type(criterion) else closed_form
    return criterion


def impurity_of(criterion: Any) -> Impurity:
    """Return the impurity of class distributions that a criterion rests on."""
    match criterion.name:
        case "gini" | "twoing" | "ranking":
            return _impurities.gini
        case "entropy" | "credal":
            return _impurities.entropy
        case "sqrt_gini":
            return _impurities.sqrt_gini
        case "misclassification":
            return lambda p: criterion.constant * _impurities.misclassification(p)
        case "ne":
            return partial(_impurities.negative_exponential, lam=criterion.lam)
        case "gce":
            return partial(_impurities.generalized_cross_entropy, q=criterion.q)
        case "custom_impurity":
            return lambda p: np.asarray(criterion.function(p), dtype=np.float64)
        case "from_loss" if isinstance(criterion.loss, Loss):
            return criterion.loss.impurity_multiclass
        case "from_loss":  # any object with a method impurity(p), p of the second class
            return lambda p: np.asarray(criterion.loss.impurity(p[..., 1]), dtype=np.float64)
    raise ValueError(f"hardwood.theory does not know the impurity of criterion={criterion!r}.")


def gains(criterion: Any, left: Array, right: Array, total: float) -> Array:
    """Return the gain of splits into children of these class weights, as a share of all data."""
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    n = n_left + n_right
    match criterion.name:
        case "twoing":
            p_left, p_right = left / n_left[:, None], right / n_right[:, None]
            distance = np.abs(p_left - p_right).sum(axis=1)
            gain = n_left * n_right / n / 4 * distance**2
        case "ranking":
            pairs = left[:, 0] * right[:, -1] - left[:, -1] * right[:, 0]  # 0 for a single class
            return np.asarray(np.abs(pairs) / 2 / total**2)
        case "credal":
            s = criterion.s
            one, other, whole = (_upper_entropy(part, s) for part in (left, right, left + right))
            children = (n_left * one + n_right * other + s * np.maximum(one, other)) / (n + s)
            gain = (whole - children) * n
        case _:
            gain = _impurities.risk_reduction(impurity_of(criterion), left, right)
    return np.asarray(gain / total)


def _upper_entropy(counts: Array, s: float) -> Array:
    """Return the entropy after a mass s has filled up the smallest counts like water."""
    lowest = np.sort(counts, axis=1).cumsum(axis=1)
    level = ((s + lowest) / np.arange(1, counts.shape[1] + 1)).min(axis=1, keepdims=True)
    filled = np.maximum(counts, level)
    return _impurities.entropy(filled / filled.sum(axis=1, keepdims=True))

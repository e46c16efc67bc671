r"""LightGBM with the robust focal loss of Robust-GBDT.

From Luo, Quan and Xu, "Robust-GBDT: GBDT with nonconvex loss for tabular classification in the presence
of label noise and class imbalance" (arXiv 2310.05067). With p the probability of the observed label,

    loss = (1 − p)^r · (1 − p^q) / q,

which is the focal loss as q → 0 and generalised cross entropy for r = 0. We take from it the formula, the
exact gradient and Hessian, the Hessian clipped from below at 1e-16, the grid of r and q, and what chooses
among them: AUC for two classes and accuracy for more. Ours is that LightGBM's own parameters are not
tuned, that L2 regularisation is 1, XGBoost's default, because clipped Hessians need some, and that one
fifth of the training rows, instead of cross-validation, chooses r and q and stops the boosting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.metrics import accuracy_score, roc_auc_score

Array = npt.NDArray[Any]

GRID = tuple(product((0.0, 0.5, 1.0), (0.0, 0.1, 0.3, 0.5)))
"""The published values of r and q."""

_CLIP = 1e-9  # of probabilities, so that powers of them are finite
_MIN_HESSIAN = 1e-16


@dataclass(frozen=True)
class RobustFocalLoss:
    """The robust focal loss of raw scores, as an objective of LightGBM.

    Raw scores are logits of class 1 for two classes, and one column of logits per class for more.

    Attributes
    ----------
    r : float
        How much rows that are predicted well count for less. At least 0.
    q : float
        How much rows that are predicted badly count for less. Between 0 and 1.
    """

    r: float
    q: float

    def __call__(self, y: Array, raw: Array) -> tuple[Array, Array]:
        """Return the gradient and the clipped Hessian for each row and column of the raw scores."""
        p, is_class, p_label = _probabilities(y, raw)
        r, q, rest = self.r, self.q, 1 - p_label
        bounded = self._bounded_log(p_label)
        # p·loss'(p) and p²·loss''(p), at the probability of the label
        first = -r * p_label * rest ** (r - 1) * bounded - rest**r * p_label**q
        second = (
            r * (r - 1) * p_label**2 * rest ** (r - 2) * bounded
            + 2 * r * p_label ** (q + 1) * rest ** (r - 1)
            + (1 - q) * rest**r * p_label**q
        )
        # For a logit z of class k: dp/dz = p·(1[k] − p_k), d²p/dz² = p·(1[k] − p_k)·(1 − 2·p_k).
        slope = is_class - p
        hessian = second * slope**2 + first * slope * (1 - 2 * p)
        shape = raw.shape
        return (first * slope).reshape(shape), np.maximum(hessian, _MIN_HESSIAN).reshape(shape)

    def metric(self, y: Array, raw: Array) -> tuple[str, float, bool]:
        """Return a name, the mean loss, and that less is better, as LightGBM's metrics do."""
        _, _, p_label = _probabilities(y, raw)
        loss = (1 - p_label) ** self.r * self._bounded_log(p_label)
        return "robust focal loss", float(loss.mean()), False

    def _bounded_log(self, p: Array) -> Array:
        """Return (1 − p^q) / q, whose limit for q → 0 is −log p."""
        return np.asarray((1 - p**self.q) / self.q if self.q else -np.log(p))


def _probabilities(y: Array, raw: Array) -> tuple[Array, Array, Array]:
    """Return the probabilities by column, whether a column is the label's, and the label's."""
    labels = np.asarray(y)[:, np.newaxis]
    if raw.ndim == 1:
        p = expit(raw)[:, np.newaxis]
        is_class = labels == 1
        p_label = np.where(is_class, p, 1 - p)
    else:
        p = softmax(raw, axis=1)
        is_class = labels == np.arange(raw.shape[1])
        p_label = np.sum(p * is_class, axis=1, keepdims=True)
    return p, is_class, np.clip(p_label, _CLIP, 1 - _CLIP)


class RobustFocalBooster:
    """LightGBM with the robust focal loss that does best on rows held out.

    Parameters
    ----------
    make : callable
        Returns a new ``LGBMClassifier`` for keyword parameters.
    fit : callable
        Fits one with early stopping, given it and an ``eval_metric``.
    """

    def __init__(self, make: Callable[..., Any], fit: Callable[[Any, Any], Any]) -> None:
        self._make, self._fit = make, fit

    def choose(self, X: Array, y: Array) -> RobustFocalBooster:
        """Fit one model for each r and q, and keep the one that does best on X and y."""
        best = -1.0
        for r, q in GRID:
            loss = RobustFocalLoss(r, q)
            model = self._fit(self._make(objective=loss, reg_lambda=1.0), loss.metric)
            score = _score(y, model.classes_, _proba(model, X))
            if score > best:
                best, self.chosen, self.model_ = score, loss, model
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Array) -> Array:
        """Return the probabilities of the classes."""
        return _proba(self.model_, X)

    def predict(self, X: Array) -> Array:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[_proba(self.model_, X).argmax(axis=1)])


def _proba(model: Any, X: Array) -> Array:
    raw = np.asarray(model.predict(X, raw_score=True))
    if raw.ndim == 1:
        return np.column_stack([expit(-raw), expit(raw)])
    return np.asarray(softmax(raw, axis=1))


def _score(y: Array, classes: Array, proba: Array) -> float:
    if len(classes) == 2 and len(np.unique(y)) == 2:
        return float(roc_auc_score(y == classes[1], proba[:, 1]))
    return float(accuracy_score(y, classes[proba.argmax(axis=1)]))

"""Losses over the simplex: a prediction is a class distribution ŷ, a label one of K classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from hardwood._io.storing import storable
from hardwood.losses import _checks, _impurities
from hardwood.losses._checks import Array
from hardwood.losses._envelope import Envelope, trace
from hardwood.losses._loss import Loss
from hardwood.losses._search import minimise


class SimplexLoss(Loss):
    """Base of the losses over the simplex. A proper loss predicts `p` itself (Theorem 3)."""

    def _checked_prediction(self, prediction: ArrayLike) -> Array:
        return _checks.distributions("prediction", prediction)

    def _class_index(self, label: ArrayLike, n_classes: int) -> NDArray[np.intp]:
        return _checks.class_indices(label, n_classes)

    def _class_shares(self, p: ArrayLike) -> Array:
        return _checks.distributions("p", p)

    def _optimal_prediction(self, p: Array) -> Array:
        return p.copy()


class _Conservative(SimplexLoss):
    """A C-conservative loss: impurity C (1 − max pₖ), one-hot predictions (Theorems 2 and 3)."""

    constant = 1.0

    def _impurity(self, p: Array) -> Array:
        return np.asarray(self.constant * _impurities.misclassification(p))

    def _optimal_prediction(self, p: Array) -> Array:
        return _one_hot_mode(p)

    def _kinks(self) -> Array:
        return np.array([0.5])

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "Misclassification", {"constant": self.constant}


@storable("losses.MeanSquaredError")
class MeanSquaredError(SimplexLoss):
    """Squared error ‖ŷ − e_j‖₂². Its impurity is Gini, 1 − Σ pₖ² (Theorem 1a).

    Examples
    --------
    >>> from hardwood.losses import MeanSquaredError
    >>> MeanSquaredError().impurity([0.5, 0.25, 0.25])
    array(0.625)
    """

    def _losses(self, prediction: Array) -> Array:
        # ‖ŷ − e_j‖² = ‖ŷ‖² − ŷ_j² + (1 − ŷ_j)²
        square = (prediction**2).sum(axis=-1, keepdims=True)
        return np.asarray(square - prediction**2 + (1 - prediction) ** 2)

    def _impurity(self, p: Array) -> Array:
        return _impurities.gini(p)

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "Gini", {}


@storable("losses.CrossEntropy")
class CrossEntropy(SimplexLoss):
    """Cross entropy −log ŷ_j. Its impurity is the entropy −Σ pₖ log pₖ (Theorem 1b).

    Examples
    --------
    >>> from hardwood.losses import CrossEntropy
    >>> CrossEntropy().losses([0.5, 0.5, 0.0]).round(3)
    array([0.693, 0.693,   inf])
    >>> CrossEntropy().impurity([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]).round(3)
    array([0.693, 0.   ])
    """

    def _losses(self, prediction: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(-np.log(prediction), 0.0))

    def _impurity(self, p: Array) -> Array:
        return _impurities.entropy(p)

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "Entropy", {}


@storable("losses.ZeroOne")
class ZeroOne(_Conservative):
    """01 loss, 1 where ŷ ≠ e_j. Its impurity is 1 − max pₖ (Theorem 1c); C = 1.

    Examples
    --------
    >>> from hardwood.losses import ZeroOne
    >>> ZeroOne().losses([[1.0, 0.0], [0.9, 0.1]])
    array([[0., 1.],
           [1., 1.]])
    """

    def _losses(self, prediction: Array) -> Array:
        return np.asarray(prediction != 1, dtype=np.float64)


@storable("losses.MeanAbsoluteError")
class MeanAbsoluteError(_Conservative):
    """Absolute error ‖ŷ − e_j‖₁ = 2 − 2ŷ_j. Its impurity is 2 (1 − max pₖ) (Theorem 1e); C = 2.

    Examples
    --------
    >>> from hardwood.losses import MeanAbsoluteError
    >>> MeanAbsoluteError().loss([0.75, 0.25], 0)
    array(0.5)
    """

    constant = 2.0

    def _losses(self, prediction: Array) -> Array:
        return np.maximum(2 - 2 * prediction, 0.0)


@storable("losses.InfinityNorm")
class InfinityNorm(_Conservative):
    """Largest error ‖ŷ − e_j‖∞ = 1 − ŷ_j. Its impurity is 1 − max pₖ (Corollary 1); C = 1.

    Examples
    --------
    >>> from hardwood.losses import InfinityNorm
    >>> InfinityNorm().loss([0.75, 0.25], [0, 1])
    array([0.25, 0.75])
    """

    def _losses(self, prediction: Array) -> Array:
        # The other entries of ŷ sum to 1 − ŷ_j, so none of them is larger.
        return np.maximum(1 - prediction, 0.0)


@storable("losses.GeneralizedCrossEntropy")
class GeneralizedCrossEntropy(SimplexLoss):
    """Generalised cross entropy (1 − ŷ_j^q)/q (Theorem 1d).

    q = 0 is the cross entropy. For q ≥ 1 the loss is conservative with C = 1/q.

    Parameters
    ----------
    q : float, default=0.7
        Exponent, at least 0.

    Examples
    --------
    >>> from hardwood.losses import GeneralizedCrossEntropy
    >>> GeneralizedCrossEntropy(q=0.5).impurity([[0.6, 0.4], [1.0, 0.0]]).round(4)
    array([0.5578, 0.    ])
    >>> GeneralizedCrossEntropy(q=0.5).optimal_prediction([0.75, 0.25])
    array([0.9, 0.1])
    >>> GeneralizedCrossEntropy(q=2).impurity([0.75, 0.25])
    array(0.125)
    """

    _parameters = ("q",)

    def __init__(self, q: float = 0.7) -> None:
        if not 0 <= q < np.inf:
            raise ValueError(f"q must be a finite number >= 0, got {q}.")
        self.q = float(q)

    def _losses(self, prediction: Array) -> Array:
        with np.errstate(divide="ignore"):
            log = np.minimum(np.log(prediction), 0.0)
        if self.q == 0:
            return np.asarray(-log)
        return np.asarray(-np.expm1(self.q * log) / self.q)  # precise for small q

    def _impurity(self, p: Array) -> Array:
        return _impurities.generalized_cross_entropy(p, self.q)

    def _optimal_prediction(self, p: Array) -> Array:
        if self.q >= 1:
            return _one_hot_mode(p)
        powers = (p / p.max(axis=-1, keepdims=True)) ** (1 / (1 - self.q))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    def _kinks(self) -> Array:
        return np.array([0.5]) if self.q >= 1 else np.empty(0)

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "GeneralizedCrossEntropy", {"q": self.q}


class CustomLoss(SimplexLoss):
    """A loss over the simplex of your own.

    Parameters
    ----------
    losses : callable
        Maps predictions of shape (..., K) to the loss on each class, in the same shape. Losses
        must not be negative; infinity is allowed.

    Notes
    -----
    Impurities and optimal predictions are found numerically. For two classes they come from a
    convex hull that is computed once, and are accurate to about 1e-10. For more classes, each
    distribution needs a search from many starting points. It is accurate to about 1e-6 and takes
    some tenths of a second. To grow trees for many classes, give the formula of the impurity to
    `hardwood.criteria.CustomImpurity` instead.

    Examples
    --------
    The spherical loss:

    >>> import numpy as np
    >>> from hardwood.losses import CustomLoss
    >>> spherical = CustomLoss(lambda y: 1 - y / np.linalg.norm(y, axis=-1, keepdims=True))
    >>> p = np.array([[0.6, 0.4], [0.0, 1.0]])
    >>> spherical.impurity(p).round(6)
    array([0.27889, 0.     ])
    >>> (1 - np.linalg.norm(p, axis=-1)).round(6)
    array([0.27889, 0.     ])
    """

    def __init__(self, losses: Callable[[Array], Any]) -> None:
        if not callable(losses):
            raise TypeError(
                f"losses must be a function of predictions of shape (..., K), got {losses!r}."
            )
        self.function = losses

    def __repr__(self) -> str:
        return f"CustomLoss({getattr(self.function, '__name__', repr(self.function))})"

    def _kinks(self) -> Array:
        return self._envelope.kinks()

    def _losses(self, prediction: Array) -> Array:
        return _checks.loss_values(self.function(prediction), prediction.shape)

    def _impurity(self, p: Array) -> Array:
        if p.shape[-1] == 2:
            return self._envelope.impurity(p[..., 1])
        return self.risk(self._optimal_prediction(p), p)

    def _optimal_prediction(self, p: Array) -> Array:
        if p.shape[-1] == 2:
            return _two_classes(self._envelope.prediction(p[..., 1]))
        best = np.empty_like(p)
        for index in np.ndindex(p.shape[:-1]):
            row = p[index]
            best[index], _ = minimise(partial(self.risk, p=row), len(row), row)
        return best

    @cached_property
    def _envelope(self) -> Envelope:
        # Over the log-odds of the prediction; at ±745 one probability is the smallest float.
        half = np.sinh(np.linspace(0, np.arcsinh(745), 1000))
        grid = np.concatenate([[-np.inf], -half[:0:-1], half, [np.inf]])
        return trace(lambda z: self.losses(_two_classes(z)), grid)


def _one_hot_mode(p: Array) -> Array:
    """Return one-hot distributions of the most probable class, the first one on ties."""
    return np.asarray(np.eye(p.shape[-1])[p.argmax(axis=-1)])


def _two_classes(log_odds: Array) -> Array:
    """Return two-class distributions, given the log-odds of the second class."""
    return np.asarray(expit(np.stack([-log_odds, log_odds], axis=-1)))

"""Losses over the simplex: a prediction is a class distribution ŷ, a label one of K classes.

The impurity of a node is the smallest risk that a constant prediction reaches there (Theorem 1).
Everything is vectorised over the last axis, which runs over the classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit

from hardwood.losses import _checks
from hardwood.losses._checks import Array
from hardwood.losses._envelope import Envelope, trace
from hardwood.losses._fixed import Fixed
from hardwood.losses._search import minimise

if TYPE_CHECKING:
    from hardwood.criteria import Criterion

__all__ = [
    "CrossEntropy",
    "CustomLoss",
    "GeneralizedCrossEntropy",
    "InfinityNorm",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "SimplexLoss",
    "ZeroOne",
]


class SimplexLoss(Fixed, ABC):
    """Base of the losses over the simplex."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def loss(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        """Return the loss of predictions on labels.

        Parameters
        ----------
        prediction : array-like of shape (..., K)
            Class distributions ŷ.
        label : array-like of int
            Class indices, of a shape that broadcasts with that of `prediction` without K.

        Returns
        -------
        ndarray
            ℓ(ŷ, e_j) for the labels j.
        """
        losses = self.losses(prediction)
        label = _checks.class_indices(label, losses.shape[-1])
        shape = np.broadcast_shapes(losses.shape[:-1], label.shape)
        losses = np.broadcast_to(losses, (*shape, losses.shape[-1]))
        label = np.broadcast_to(label, shape)
        return np.take_along_axis(losses, label[..., None], axis=-1)[..., 0]

    def losses(self, prediction: ArrayLike) -> Array:
        """Return the loss of predictions on each class.

        Parameters
        ----------
        prediction : array-like of shape (..., K)
            Class distributions ŷ.

        Returns
        -------
        ndarray of shape (..., K)
            ℓ(ŷ, e_j) for every class j.
        """
        return self._losses(_checks.distributions("prediction", prediction))

    def risk(self, prediction: ArrayLike, p: ArrayLike) -> Array:
        """Return the average loss of predictions on labels of a distribution.

        Parameters
        ----------
        prediction : array-like of shape (..., K)
            Class distributions ŷ.
        p : array-like of shape (..., K)
            Class distributions of the labels.

        Returns
        -------
        ndarray of shape (...)
            Σ p_j ℓ(ŷ, e_j); what has probability 0 costs nothing.
        """
        p = _checks.distributions("p", p)
        losses = self.losses(prediction)
        if losses.shape[-1] != p.shape[-1]:
            raise ValueError(
                f"prediction has {losses.shape[-1]} classes along its last axis, p {p.shape[-1]}."
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(p > 0, p * losses, 0.0).sum(axis=-1))

    def impurity(self, p: ArrayLike) -> Array:
        """Return the smallest risk of any prediction.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Class distributions.

        Returns
        -------
        ndarray of shape (...)
            Impurities.
        """
        return self._impurity(_checks.distributions("p", p))

    def optimal_prediction(self, p: ArrayLike) -> Array:
        """Return a prediction of smallest risk.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Class distributions.

        Returns
        -------
        ndarray of shape (..., K)
            Class distributions ŷ. Where several are best, that of the first class among equals.
        """
        return self._optimal_prediction(_checks.distributions("p", p))

    def kinks(self) -> Array:
        """Return where the slope of the impurity of two classes jumps.

        Returns
        -------
        ndarray
            The probabilities of the second class in (0, 1), in ascending order.
        """
        return np.empty(0)

    @abstractmethod
    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity."""

    @abstractmethod
    def _losses(self, prediction: Array) -> Array: ...

    @abstractmethod
    def _impurity(self, p: Array) -> Array: ...

    @abstractmethod
    def _optimal_prediction(self, p: Array) -> Array: ...


class _Proper(SimplexLoss):
    """A loss whose best prediction is the distribution of the labels (Theorem 3)."""

    def _optimal_prediction(self, p: Array) -> Array:
        return p.copy()


class _Conservative(SimplexLoss):
    """A C-conservative loss: impurity C (1 − max p), best prediction one-hot (Theorems 2, 3)."""

    constant = 1.0

    def _impurity(self, p: Array) -> Array:
        return np.asarray(self.constant * (1 - p.max(axis=-1)))

    def _optimal_prediction(self, p: Array) -> Array:
        return _one_hot_mode(p)

    def kinks(self) -> Array:
        """Return where the slope of the impurity of two classes jumps: at ½.

        Returns
        -------
        ndarray
            ½ alone.
        """
        return np.array([0.5])

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity.

        Returns
        -------
        Misclassification
            C (1 − max pₖ), with the loss's constant C.
        """
        from hardwood.criteria import Misclassification

        return Misclassification(self.constant)


class MeanSquaredError(_Proper):
    """Squared error ‖ŷ − e_j‖₂²; its impurity is Gini's, 1 − Σ pₖ² (Theorem 1a).

    Examples
    --------
    >>> from hardwood.losses import MeanSquaredError
    >>> MeanSquaredError().impurity([0.5, 0.25, 0.25])
    array(0.625)
    """

    def _losses(self, prediction: Array) -> Array:
        # ‖ŷ − e_j‖² = ‖ŷ‖² − ŷ_j² + (1 − ŷ_j)²
        square = (prediction**2).sum(axis=-1, keepdims=True)
        values: Array = square - prediction**2 + (1 - prediction) ** 2
        return values

    def _impurity(self, p: Array) -> Array:
        return np.asarray((p * (1 - p)).sum(axis=-1))

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity.

        Returns
        -------
        Gini
            1 − Σ pₖ².
        """
        from hardwood.criteria import Gini

        return Gini()


class CrossEntropy(_Proper):
    """Cross entropy −log ŷ_j; its impurity is the entropy −Σ pₖ log pₖ (Theorem 1b).

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
        return np.asarray(entr(p).sum(axis=-1))

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity.

        Returns
        -------
        Entropy
            −Σ pₖ log pₖ.
        """
        from hardwood.criteria import Entropy

        return Entropy()


class ZeroOne(_Conservative):
    """01 loss, 1 where ŷ ≠ e_j; its impurity is 1 − max pₖ (Theorem 1c), C = 1.

    Examples
    --------
    >>> from hardwood.losses import ZeroOne
    >>> ZeroOne().losses([[1.0, 0.0], [0.9, 0.1]])
    array([[0., 1.],
           [1., 1.]])
    """

    def _losses(self, prediction: Array) -> Array:
        return np.asarray(prediction != 1, dtype=np.float64)


class MeanAbsoluteError(_Conservative):
    """Absolute error ‖ŷ − e_j‖₁ = 2 − 2ŷ_j; its impurity is 2(1 − max pₖ) (Theorem 1e), C = 2.

    Examples
    --------
    >>> from hardwood.losses import MeanAbsoluteError
    >>> MeanAbsoluteError().loss([0.75, 0.25], 0)
    array(0.5)
    """

    constant = 2.0

    def _losses(self, prediction: Array) -> Array:
        return np.maximum(2 - 2 * prediction, 0.0)


class InfinityNorm(_Conservative):
    """Largest error ‖ŷ − e_j‖∞ = 1 − ŷ_j; its impurity is 1 − max pₖ (Corollary 1), C = 1.

    Examples
    --------
    >>> from hardwood.losses import InfinityNorm
    >>> InfinityNorm().loss([0.75, 0.25], [0, 1])
    array([0.25, 0.75])
    """

    def _losses(self, prediction: Array) -> Array:
        # The others' ŷ_i add up to 1 − ŷ_j, so that none of them is larger.
        return np.maximum(1 - prediction, 0.0)


class GeneralizedCrossEntropy(SimplexLoss):
    """Generalised cross entropy (1 − ŷ_j^q)/q (Theorem 1d).

    q = 0 is the cross entropy. For q ≥ 1 it is conservative with C = 1/q.

    Parameters
    ----------
    q : float, default=0.7
        At least 0.

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

    def __repr__(self) -> str:
        return f"GeneralizedCrossEntropy(q={self.q:g})"

    def _losses(self, prediction: Array) -> Array:
        with np.errstate(divide="ignore"):
            log = np.minimum(np.log(prediction), 0.0)
        if self.q == 0:
            return np.asarray(-log)
        return np.asarray(-np.expm1(self.q * log) / self.q)  # precise for a small q

    def _impurity(self, p: Array) -> Array:
        q = self.q
        if q >= 1:
            return np.asarray((1 - p.max(axis=-1)) / q)
        if q == 0:
            return np.asarray(entr(p).sum(axis=-1))
        # (1 − ‖p‖_r)/q, r = 1/(1 − q), by log ‖p‖_r = (1 − q) log Σ p^r.
        if q < 0.5:
            # Σ p^r = 1 + Σ p (p^(r−1) − 1): as q → 0 nothing cancels.
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(p > 0, p * np.expm1(q / (1 - q) * np.log(p)), 0.0)
            log_norm = (1 - q) * np.log1p(terms.sum(axis=-1))
        else:
            # The largest factored out: as q → 1 nothing underflows.
            largest = p.max(axis=-1, keepdims=True)
            sums = ((p / largest) ** (1 / (1 - q))).sum(axis=-1)
            log_norm = np.log(largest[..., 0]) + (1 - q) * np.log(sums)
        return np.asarray(np.maximum(-np.expm1(log_norm) / q, 0.0))

    def _optimal_prediction(self, p: Array) -> Array:
        if self.q >= 1:
            return _one_hot_mode(p)
        powers = (p / p.max(axis=-1, keepdims=True)) ** (1 / (1 - self.q))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    def kinks(self) -> Array:
        """Return where the slope of the impurity of two classes jumps.

        Returns
        -------
        ndarray
            ½ for q ≥ 1, else nothing.
        """
        return np.array([0.5]) if self.q >= 1 else np.empty(0)

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity.

        Returns
        -------
        hardwood.criteria.GeneralizedCrossEntropy
            With the same q.
        """
        from hardwood import criteria

        return criteria.GeneralizedCrossEntropy(q=self.q)


class CustomLoss(SimplexLoss):
    """A loss over the simplex of your own.

    Parameters
    ----------
    losses : callable
        From predictions of shape (..., K) to the losses on each class, of the same shape, none
        negative; infinity is allowed.

    Notes
    -----
    Impurities and best predictions are found numerically. For two classes from a lower convex hull
    that is made once, to about 1e-10. For more classes by a search with many starts for every
    single distribution, to about 1e-6; it takes some tenths of a second each, so that trees of many
    classes are better grown by the formula of the impurity (`hardwood.criteria.CustomImpurity`).

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

    def kinks(self) -> Array:
        """Return where the slope of the impurity of two classes jumps, found numerically.

        Returns
        -------
        ndarray
            The probabilities of the second class in (0, 1), in ascending order.
        """
        return self._envelope.kinks()

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity, to grow trees of two classes with.

        Returns
        -------
        FromLoss
            Of this loss.
        """
        from hardwood.criteria import FromLoss

        return FromLoss(self)

    def _losses(self, prediction: Array) -> Array:
        values = self.function(prediction)
        return _checks.loss_values("The loss function", values, prediction.shape)

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
        # The log-odds of the prediction; at ±745 the smaller probability is the smallest float.
        half = np.sinh(np.linspace(0, np.arcsinh(745), 1000))
        grid = np.concatenate([[-np.inf], -half[:0:-1], half, [np.inf]])
        return trace(lambda z: self.losses(_two_classes(z)), grid)


def _one_hot_mode(p: Array) -> Array:
    """Return one-hot distributions of the most probable class, the first of equals."""
    return np.asarray(np.eye(p.shape[-1])[p.argmax(axis=-1)])


def _two_classes(log_odds: Array) -> Array:
    """Return the distributions of two classes whose second class has these log-odds."""
    return np.asarray(expit(np.stack([-log_odds, log_odds], axis=-1)))

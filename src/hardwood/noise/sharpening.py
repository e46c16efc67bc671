"""P(true | x) from the votes of trees, which are less sure of it than they could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.storing import Stored, storable
from hardwood.noise.checks import Array

# log a has a normal prior around log 3. Smoothed votes need large exponents.
EXPONENTS = 2.0 ** np.arange(-1, 5.01, 0.25)
_EXPONENT, _EXPONENT_SPREAD = 3.0, 1.0
# Points of the grid with less of the weight are left out.
LEAST_WEIGHT = 1e-3


@storable("Sharpening")
@dataclass(frozen=True)
class Sharpening:
    """P(true | x) as a function of s: a weighted mean over exponents and offsets.

    Attributes
    ----------
    exponents : ndarray of shape (n_points,)
        a.
    offsets : ndarray of shape (n_points, n_classes)
        b.
    weights : ndarray of shape (n_points,)
        Weights of the points. They sum to 1.
    even : float
        An even share of all classes is mixed into s, so that no class is impossible only because a
        few dozen trees never voted for it.
    """

    exponents: Array
    offsets: Array
    weights: Array
    even: float

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.offsets.shape[1])

    def probabilities(self, scores: Array) -> Array:
        """Return P(true | x)."""
        log = log_of(scores, self.even)
        mean = np.zeros_like(log)
        for a, b, weight in zip(self.exponents, self.offsets, self.weights, strict=True):
            mean += weight * softmax(a * (log + b))
        return mean

    def _to_stored(self) -> dict[str, Any]:
        return {
            "exponents": self.exponents,
            "offsets": self.offsets,
            "weights": self.weights,
            "even": self.even,
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> Sharpening:
        exponents = stored.array("exponents", "f8", (None,))
        offsets = stored.array("offsets", "f8", (len(exponents), None))
        weights = stored.array("weights", "f8", exponents.shape)
        even = stored.number("even")
        if not (len(exponents) and np.isfinite(exponents).all() and (exponents > 0).all()):
            raise stored.wrong("exponents", "positive numbers")
        if not np.isfinite(offsets).all():
            raise stored.wrong("offsets", "finite")
        if not (np.all(weights >= 0) and abs(weights.sum() - 1) < 1e-9):
            raise stored.wrong("weights", "shares that sum to 1")
        if not 0 < even <= 1:
            raise stored.wrong("even", "above 0 and at most 1")
        return cls(exponents, offsets, weights, even)


def softmax(logits: Array) -> Array:
    """Return exp(logits) scaled to rows that sum to 1."""
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=1, keepdims=True))


def log_of(scores: NDArray[Any], even: float) -> Array:
    """Return log s, with an even share of all classes mixed in."""
    return np.asarray(np.log((np.maximum(scores, 0) + even / scores.shape[1]) / (1 + even)))


def exponent_prior(exponents: Array, centre: float = _EXPONENT) -> Array:
    """Return the log prior of exponents."""
    return np.asarray(-0.5 * (np.log(exponents / centre) / _EXPONENT_SPREAD) ** 2)


def weights_of(log_posterior: Array) -> Array:
    """Return weights that sum to 1."""
    weight = np.exp(log_posterior - log_posterior.max())
    return np.asarray(weight / weight.sum())

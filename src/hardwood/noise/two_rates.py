"""Two classes that are mislabelled at different rates: likelihoods of the labels, and what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.noise.checks import Array
from hardwood.noise.sharpening import EXPONENTS, LEAST_WEIGHT, Sharpening, exponent_prior

# b and the difference of the rates are probably small.
OFFSETS = np.array([-2, -1.5, -1.2, -0.9, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.9, 1.2, 1.5, 2])
_RATES = np.array([0, 0.025, *np.arange(0.05, 0.46, 0.05)])
_OFFSET_SPREAD, _DIFFERENCE = 1.0, 0.1
_N_BINS = 64


def with_two_rates(log_odds: Array, labels: NDArray[Any], weights: Array, T: Array | None) -> Array:
    """Return the log-likelihood for each a, b, T[0, 1] and T[1, 0]; for T alone if it is known.

    Rows are put into bins of similar odds, as only the odds matter.
    """
    edges = np.unique(np.quantile(log_odds, np.linspace(0, 1, _N_BINS + 1)))
    place = np.clip(np.searchsorted(edges, log_odds, side="right") - 1, 0, max(len(edges) - 2, 0))
    in_bin = np.bincount(place, weights=weights)
    centre = np.bincount(place, weights=weights * log_odds) / np.maximum(in_bin, 1e-300)
    second = np.bincount(place, weights=weights * labels)
    p = _sigmoid(EXPONENTS[:, np.newaxis, np.newaxis] * (centre + OFFSETS[:, np.newaxis]))
    up, down = _two_rates(T)
    out = np.empty((len(EXPONENTS), len(OFFSETS), len(up), len(down)))
    for i, r in enumerate(up):
        for j, q in enumerate(down):
            observed = np.clip(r + (1 - r - q) * p, 1e-12, 1 - 1e-12)
            out[:, :, i, j] = np.log(observed) @ second + np.log1p(-observed) @ (in_bin - second)
    return out


def _two_rates(T: Array | None) -> tuple[Array, Array]:
    """Return the values of T[0, 1] and of T[1, 0] to try."""
    return (_RATES, _RATES) if T is None else (T[0, 1:], T[1, :1])


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -500, 500))))


def prior_of_two_rates(shape_of_known: tuple[int, ...] | None) -> Array:
    """Return the log prior of each a, b, T[0, 1] and T[1, 0]; of a and b alone if T is known."""
    prior = exponent_prior(EXPONENTS)[:, np.newaxis, np.newaxis, np.newaxis]
    offsets = -0.5 * (OFFSETS / _OFFSET_SPREAD) ** 2
    if shape_of_known is not None:
        return np.asarray(prior + np.zeros((1, len(OFFSETS), *shape_of_known)))
    difference = -np.abs(_RATES[:, np.newaxis] - _RATES) / _DIFFERENCE
    return np.asarray(prior + offsets[:, np.newaxis, np.newaxis] + difference)


def sharpening_of_two(weight: Array, if_clean: Array, even: float) -> Sharpening:
    """Return the mean over a and b, given weights [a, b, T[0, 1], T[1, 0]]."""
    of_point = weight.sum(axis=(2, 3)) * (1 - if_clean.sum())
    of_point[:, OFFSETS == 0] += if_clean[:, np.newaxis]
    a, b = np.nonzero(of_point > LEAST_WEIGHT * of_point.max())
    shares = of_point[a, b] / of_point[a, b].sum()
    # Half of b to either class, so that both stand alike.
    offsets = OFFSETS[b][:, np.newaxis] * np.array([-0.5, 0.5])
    return Sharpening(EXPONENTS[a], offsets, shares, even)


def mean_matrix_of_two(weight: Array) -> Array:
    """Return the mean of T."""
    up, down = weight.sum(axis=(0, 1, 3)) @ _RATES, weight.sum(axis=(0, 1, 2)) @ _RATES
    return np.array([[1 - up, up], [down, 1 - down]])


def noise_rates_of_two(
    weight: Array, labels: NDArray[Any], weights: Array, T: Array | None
) -> tuple[Array, Array]:
    """Return the values of the noise rate, and their weights."""
    up, down = _two_rates(T)
    r, q = (each.ravel() for each in np.meshgrid(up, down, indexing="ij"))
    second = weights @ labels / weights.sum()
    # P(true = 1) from P(observed = 1) = r (1 − P) + (1 − q) P
    of_second = np.clip((second - r) / np.maximum(1 - r - q, 1e-9), 0, 1)
    return np.asarray((1 - of_second) * r + of_second * q), weight.sum(axis=(0, 1)).ravel()

"""Theorem 4: how likely the majority class of a node is to survive uniform label noise."""

from math import ceil, exp, log

import numpy as np
from numpy.typing import ArrayLike

from hardwood.losses._checks import Array, distributions
from hardwood.noise import uniform


def majority_bound(p: ArrayLike, n: int, rate: float) -> float:
    """Return a lower bound on the probability that the majority class survives the noise.

    The bound is 1 − (K − 1) exp(−nγ²/2), where γ = (1 − Kη/(K−1)) · min (p_k* − p_k) is the lead
    of the majority class k* after the noise.

    Parameters
    ----------
    p : array-like of shape (n_classes,)
        Class shares of the clean labels.
    n : int
        Number of labels.
    rate : float
        Rate η of the uniform noise, below (K − 1)/K.

    Returns
    -------
    float
        The bound, or 0 where it is negative.

    Examples
    --------
    >>> from hardwood.theory import majority_bound
    >>> round(majority_bound([0.8, 0.2], n=100, rate=0.3), 4)
    0.9439
    """
    p = _checked_shares(p)
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    return max(0.0, 1 - (len(p) - 1) * exp(-n * _noisy_margin(p, rate) ** 2 / 2))


def samples_needed(p: ArrayLike, rate: float, confidence: float) -> int:
    """Return the number of labels for which the bound of Theorem 4 reaches a confidence.

    It is n = ⌈2 log((K − 1)/(1 − confidence)) / γ²⌉.

    Parameters
    ----------
    p : array-like of shape (n_classes,)
        Class shares of the clean labels. One must be the largest.
    rate : float
        Rate of the uniform noise, below (K − 1)/K.
    confidence : float
        Probability, at least 0 and less than 1.

    Returns
    -------
    int
        The smallest such number.

    Examples
    --------
    >>> from hardwood.theory import samples_needed
    >>> samples_needed([0.8, 0.2], rate=0.3, confidence=0.95)
    105
    """
    p = _checked_shares(p)
    if not 0 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0 and less than 1, got {confidence}.")
    margin = _noisy_margin(p, rate)
    if margin == 0:
        raise ValueError("p must have a single largest entry; no number of labels settles a tie.")
    n = max(1, ceil(2 * log((len(p) - 1) / (1 - confidence)) / margin**2))
    while majority_bound(p, n, rate) < confidence:  # rounding
        n += 1
    while n > 1 and majority_bound(p, n - 1, rate) >= confidence:
        n -= 1
    return n


def majority_simulated(
    p: ArrayLike,
    n: int,
    rate: float,
    *,
    n_draws: int = 10_000,
    random_state: int | np.random.Generator | None = None,
) -> float:
    """Estimate the probability that `majority_bound` bounds by simulation.

    Parameters
    ----------
    p : array-like of shape (n_classes,)
        Class shares of the clean labels. All ``n * p`` must be integers.
    n : int
        Number of labels.
    rate : float
        Rate of the uniform noise, from 0 to 1.
    n_draws : int, default=10_000
        Number of noisy copies of the labels to draw.
    random_state : int, Generator or None, default=None
        Seed or generator for the draws.

    Returns
    -------
    float
        Share of the copies in which no class outnumbers the clean majority class.

    Examples
    --------
    >>> from hardwood.theory import majority_simulated
    >>> round(majority_simulated([0.8, 0.2], n=25, rate=0.3, random_state=0), 2)
    0.91
    """
    p = _checked_shares(p)
    exact = n * p
    counts = np.rint(exact).astype(np.int64)
    if n < 1 or np.abs(exact - counts).max() > 1e-6:
        raise ValueError(
            f"n * p must be integers, the class counts, but n = {n} gives {exact.tolist()}."
        )
    rng = np.random.default_rng(random_state)
    T = uniform(len(p), rate)
    drawn = [rng.multinomial(count, row, n_draws) for count, row in zip(counts, T, strict=True)]
    noisy = np.sum(drawn, axis=0)
    majority = int(np.argmax(counts))
    return float(np.mean(noisy[:, majority] >= noisy.max(axis=1)))


def _checked_shares(p: ArrayLike) -> Array:
    p = distributions("p", p)
    if p.ndim != 1 or len(p) < 2:
        raise ValueError(f"p must hold the shares of two or more classes, got shape {p.shape}.")
    return p


def _noisy_margin(p: Array, rate: float) -> float:
    """Return γ, the expected lead of the majority class after the noise."""
    n_classes = len(p)
    if not 0 <= rate < (n_classes - 1) / n_classes:
        raise ValueError(
            f"rate must be at least 0 and less than (K − 1)/K = {1 - 1 / n_classes:.4g}, got {rate}."
        )
    second, first = np.sort(p)[-2:]
    return float((1 - n_classes * rate / (n_classes - 1)) * (first - second))

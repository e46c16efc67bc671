"""In which shares to mix the forests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hardwood.adaptive._out_of_bag import OutOfBag
from hardwood.noise.checks import Array

# Forests are mixed in shares that are multiples of this fraction, and those below the least are left out.
_STEPS_OF_SHARES = 4
_LEAST_SHARE = 0.02


def mixtures(n_forests: int) -> Array:
    """Return all ways to mix forests in shares that are multiples of a quarter.

    Examples
    --------
    >>> from hardwood.adaptive._mixing import mixtures
    >>> mixtures(2).tolist()
    [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]
    """
    steps = range(_STEPS_OF_SHARES + 1)
    counts = [c for c in product(steps, repeat=n_forests) if sum(c) == _STEPS_OF_SHARES]
    return np.array(counts) / _STEPS_OF_SHARES


def likely_shares(evidence: OutOfBag, places: Sequence[int]) -> Array:
    """Return the shares in which to mix the forests with these settings.

    They are the mean over all mixtures, weighted by how likely these make the labels. If the labels
    do not tell which forest is better, this is about an even mixture. Small shares are left out.
    """
    tried = mixtures(len(places))
    if len(tried) == 1:
        return np.ones(1)
    likelihoods = [float(evidence.mixed(places, shares).likelihoods()[0]) for shares in tried]
    return _mean_shares(tried, np.array(likelihoods))


def shares_to_expect(
    evidence: OutOfBag, places: Sequence[int], n_trees: int, n_threads: int = 1
) -> Array:
    """Return the same by how likely the mixtures would make the labels if they had `n_trees` trees.

    Out of bag, all trees of all forests vote, so that a mixture has more of them than a single forest.
    In the final model it has not. With shares w, the votes of a mixture vary as those of n/Σ w² trees
    do, where n is the number of votes of each forest. The loss of a finite forest falls as 1/trees, so
    from n to N votes it is expected to fall by (whole − half) · (1 − n/(N Σ w²)).
    """
    tried = mixtures(len(places))
    if len(tried) == 1:
        return np.ones(1)
    mixed = evidence.mixtures(places, tried)
    likelihoods = mixed.likelihoods(n_threads)
    if len(evidence.halves) == 2:
        n_votes = evidence.n_votes.mean() / np.square(tried).sum(axis=1)
        to_come = np.maximum(0, 1 - n_votes / n_trees)
        likelihoods += (likelihoods - mixed.likelihoods_of_halves(n_threads)) * to_come
    return _mean_shares(tried, likelihoods)


def _mean_shares(tried: Array, likelihoods: Array) -> Array:
    weights = np.exp(likelihoods - likelihoods.max())
    shares = weights @ tried / weights.sum()
    shares = np.where(shares < _LEAST_SHARE, 0, shares)
    return np.asarray(shares / shares.sum())


def apportioned(shares: Array, n_trees: int) -> NDArray[np.intp]:
    """Return numbers of trees in these shares that add up, by the largest remainders.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.adaptive._mixing import apportioned
    >>> apportioned(np.array([0.5, 0.3, 0.2]), 5).tolist()
    [3, 1, 1]
    """
    exact = shares * n_trees
    numbers = np.floor(exact + 1e-9).astype(np.intp)
    largest = np.argsort(numbers - exact, kind="stable")
    numbers[largest[: n_trees - numbers.sum()]] += 1
    return numbers

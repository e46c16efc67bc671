"""Sums that are exact, so that it does not matter in which order, or in which parts, they are made."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_HALF = 2**27  # a mantissa is split in two: sums of 2**26 halves are exact in float64
_MOST = 2**26


def exact_sum(values: NDArray[np.float64]) -> Fraction:
    """Return the sum of finite numbers, without any rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood._core.exact import exact_sum
    >>> float(exact_sum(np.array([1e20, 1.0, -1e20])))
    1.0
    """
    total = Fraction(0)
    for first in range(0, len(values), _MOST):
        mantissas, exponents = np.frexp(values[first : first + _MOST])
        low = int(exponents.min())
        whole = mantissas * 2.0**53
        upper = np.floor(whole / _HALF)
        lower = whole - upper * _HALF
        for half, scale in ((upper, _HALF), (lower, 1)):
            for place, part in enumerate(np.bincount(exponents - low, half).tolist()):
                if part:
                    total += Fraction(int(part) * scale) * Fraction(2) ** (low + place - 53)
    return total


def exact_sums(values: NDArray[np.float64], parts: NDArray[np.integer]) -> list[Fraction]:
    """Return the sum of the values in each part, numbered from 0."""
    order = np.argsort(parts, kind="stable")
    ends = np.cumsum(np.bincount(parts))[:-1]
    return [exact_sum(some) for some in np.split(np.asarray(values)[order], ends)]

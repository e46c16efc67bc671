"""All predictions of a loss: the simplex, or the extended real numbers."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hardwood.losses import DistributionLoss, SimplexLoss
from hardwood.losses._checks import Array
from hardwood.losses._search import minimise

Loss = SimplexLoss | DistributionLoss

# Losses are compared up to this, relative to their size.
TOLERANCE = 1e-6


class Predictions:
    """The predictions of a loss on `n_classes` classes, and the smallest of a function of them.

    Attributes
    ----------
    vertices : ndarray
        One prediction for each class: one-hot, or −∞ and +∞ for a loss of a margin.
    """

    def __init__(self, loss: Loss, n_classes: int) -> None:
        if n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {n_classes}.")
        self._minimise: Callable[[Callable[[Array], Array]], tuple[Array, float]]
        if isinstance(loss, SimplexLoss):
            self.vertices = np.eye(n_classes)
            self._minimise = partial(minimise, n_classes=n_classes)
        elif isinstance(loss, DistributionLoss):
            if n_classes != 2:
                raise ValueError(f"{loss!r} is a loss of two classes, got n_classes={n_classes}.")
            self.vertices = np.array([-np.inf, np.inf])
            self._minimise = partial(_minimise_between, grid=loss.grid)
        else:
            raise TypeError(
                f"loss must be of hardwood.losses, got {loss!r}; CustomLoss(function) and "
                "DistributionLoss(cdf) make one of your own."
            )

    def minimise(self, function: Callable[[Array], Array]) -> tuple[Array, float]:
        """Return the prediction where a vectorised function is smallest, and its value there."""
        return self._minimise(function)


def impurity(loss: Loss, p: ArrayLike) -> Array:
    """Return the impurity at class distributions of shape (..., n_classes), whatever the loss."""
    p = np.asarray(p, dtype=np.float64)
    return loss.impurity(p[..., 1] if isinstance(loss, DistributionLoss) else p)


def _minimise_between(function: Callable[[Array], Array], grid: Array) -> tuple[Array, float]:
    """Search the best interval of a grid of real numbers ever more finely."""
    values = function(grid)
    best = int(np.argmin(values))
    point, value = grid[best], float(values[best])
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    while np.isfinite([low, high]).all() and high - low > 1e-9 * max(1.0, abs(point)):
        finer = np.linspace(low, high, 17)
        values = function(finer)
        best = int(np.argmin(values))
        if values[best] < value:
            point, value = finer[best], float(values[best])
        low, high = finer[max(best - 1, 0)], finer[min(best + 1, 16)]
    return np.asarray(point), value

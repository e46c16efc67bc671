"""All predictions of a loss: the simplex, or the extended real numbers."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hardwood.losses import DistributionLoss, SimplexLoss
from hardwood.losses._checks import Array
from hardwood.losses._loss import Loss
from hardwood.losses._search import minimise

TOLERANCE = 1e-6  # relative, for comparing losses

Extreme = tuple[Array, float]  # a prediction, and the value there


class Predictions:
    """The predictions of a loss on `n_classes` classes, and where its losses are extreme.

    `vertices` has one prediction for each class: one-hot, or −∞ and +∞ for a margin loss.
    """

    def __init__(self, loss: Loss, n_classes: int) -> None:
        if n_classes < 2:
            raise ValueError(f"n_classes must be at least 2, got {n_classes}.")
        self._minimise: Callable[[Callable[[Array], Array]], Extreme]
        if isinstance(loss, SimplexLoss):
            self.vertices = np.eye(n_classes)
            self._minimise = partial(minimise, n_classes=n_classes)
        elif isinstance(loss, DistributionLoss):
            if n_classes != 2:
                raise ValueError(f"{loss!r} is for two classes, got n_classes={n_classes}.")
            self.vertices = np.array([-np.inf, np.inf])
            self._minimise = partial(_minimise_between, grid=loss.grid)
        else:
            raise TypeError(
                f"loss must be from hardwood.losses, got {loss!r}. Use CustomLoss(function) or "
                "DistributionLoss(cdf) for a loss of your own."
            )
        self._losses = loss.losses

    def smallest_total(self) -> Extreme:
        """Return where the losses on all classes have the smallest sum, and that sum."""
        return self._minimise(lambda ŷ: self._losses(ŷ).sum(axis=-1))

    def largest_total(self) -> Extreme:
        """Return where the losses on all classes have the largest sum, and that sum."""
        prediction, negative = self._minimise(lambda ŷ: -self._losses(ŷ).sum(axis=-1))
        return prediction, -negative

    def largest_loss(self) -> Extreme:
        """Return where the loss on some class is largest, and that loss."""
        prediction, negative = self._minimise(lambda ŷ: -self._losses(ŷ).max(axis=-1))
        return prediction, -negative


def _minimise_between(function: Callable[[Array], Array], grid: Array) -> Extreme:
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

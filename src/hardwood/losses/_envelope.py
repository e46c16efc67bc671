"""The impurity of any two-class loss: the lower convex hull of a curve.

A prediction z costs a(z) if the label is negative and b(z) if it is positive. If a share p of the
labels is positive, its risk is (1 − p) a(z) + p b(z): a line in p. The impurity at p is the lowest
of these lines. The lines that are lowest somewhere are the corners of the lower left convex hull
of the points (a(z), b(z)), so one hull answers every p, whatever the number of local minima.

Predictions are extended real numbers: −∞ and +∞ are part of the curve.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hardwood.losses._checks import Array

# From predictions of shape (n,) to their losses (a, b) of shape (n, 2).
Curve = Callable[[Array], Array]

# Intervals are quartered until they can hide no more than this. A quarter of a smooth curve bends
# sixteen times less, so the envelope is then accurate to 1e-10.
TOLERANCE = 1e-9
# A curve that crosses an interval this evenly neither jumps nor bends sharply inside it.
_EVEN = 0.01
# No dip of a monotone curve deeper than this is missed, however narrow it is.
_COARSE = 1e-3
# At a kink the slope of the impurity changes by _KINK within a distance of _KINK_WIDTH in p. The
# change must also move the value by _KINK_VALUE, since slopes may be unbounded near p = 0 and 1.
_KINK = 1e-3
_KINK_WIDTH = 1e-9
_KINK_VALUE = 1e-5
_QUARTERS = np.array([0.25, 0.5, 0.75])
# Stops the refinement of curves whose own error is above the tolerance.
_MOST_POINTS = 1_000_000
# Stands for infinity, so that a loss of probability 0 costs nothing.
_INFINITE = 1e100


class Envelope:
    """The lower envelope of the risks of predictions z, as a function of p.

    `losses` has the loss of each prediction on a negative and on a positive label, all finite.
    """

    def __init__(self, z: Array, losses: Array) -> None:
        corners = _lower_left_hull(losses)
        self.z = z[corners]
        self.a, self.b = losses[corners].T
        # Neighbouring lines meet where (1 − p) Δa = p Δb; the slope falls by Δa + Δb there.
        rise, fall = np.diff(self.a), -np.diff(self.b)
        self._bends = rise + fall
        self._breaks = rise / self._bends

    def impurity(self, p: Array) -> Array:
        """Return the smallest risk at each p."""
        best = self._best(p)
        values: Array = (1 - p) * self.a[best] + p * self.b[best]
        return values

    def prediction(self, p: Array) -> Array:
        """Return a prediction of smallest risk at each p, the most negative one on ties."""
        predictions: Array = self.z[self._best(p)]
        return predictions

    def _best(self, p: Array) -> NDArray[np.intp]:
        # The last break may round to 1, but a pure node's risk is exactly that of the last corner.
        last = len(self._breaks)
        return np.where(p == 1, last, np.searchsorted(self._breaks, p))

    def kinks(self) -> Array:
        """Return the p in (0, 1) where the slope of the impurity jumps."""
        if not len(self._breaks):
            return np.empty(0)
        # Up to rounding, all lines from a straight piece of the curve meet at one p.
        new = np.diff(self._breaks, prepend=-np.inf) > _KINK_WIDTH
        first = np.flatnonzero(new)
        bends = np.add.reduceat(self._bends, first)
        places = np.add.reduceat(self._bends * self._breaks, first) / bends
        in_value = bends * np.minimum(places, 1 - places)
        return places[(bends > _KINK) & (in_value > _KINK_VALUE)]


def monotone_grid(curve: Curve, z: Array) -> Array:
    """Bisect a grid until no dip deeper than `_COARSE` can hide between its points.

    The curve's a must rise and its b must fall. Between two neighbours, its points lie to the right
    of the first one's a and above the second one's b. Such a corner has less risk than both
    neighbours by at most min(p Δb, (1 − p) Δa) ≤ ΔaΔb / (Δa + Δb).
    """
    losses = curve(z)
    while True:
        rise, fall = np.maximum([np.diff(losses[:, 0]), -np.diff(losses[:, 1])], 0.0)  # rounding
        middle = z[:-1] / 2 + z[1:] / 2
        inside = (z[:-1] < middle) & (middle < z[1:])  # not for adjacent floats and infinity
        todo = np.flatnonzero(inside & (rise * fall > _COARSE * (rise + fall)))
        if not len(todo):
            return z
        losses = np.insert(losses, todo + 1, curve(middle[todo]), axis=0)
        z = np.insert(z, todo + 1, middle[todo])


def trace(curve: Curve, z: Array) -> Envelope:
    """Return the envelope of a curve, refined between the points of a grid."""
    losses = _bounded(curve(z))
    all_z, all_losses = [z], [losses]
    low, high = slice(None, -1), slice(1, None)
    ends = np.stack([z[low], z[high]], axis=1)
    end_losses = np.stack([losses[low], losses[high]], axis=1)
    searchable = np.isfinite(ends).all(axis=1)
    ends, end_losses = ends[searchable], end_losses[searchable]
    n_points = len(z)
    while len(ends) and n_points + 3 * len(ends) <= _MOST_POINTS:
        inner = ends[:, :1] * (1 - _QUARTERS) + ends[:, 1:] * _QUARTERS
        inner_losses = _bounded(curve(inner.ravel())).reshape(-1, 3, 2)
        all_z.append(inner.ravel())
        all_losses.append(inner_losses.reshape(-1, 2))
        n_points += inner.size
        z = np.column_stack([ends[:, 0], inner, ends[:, 1]])
        losses = np.concatenate([end_losses[:, :1], inner_losses, end_losses[:, 1:]], axis=1)
        distinct = (np.diff(z) > 0).all(axis=1)
        go_on = distinct & ((_depth(losses) > TOLERANCE) | _hides(losses))
        z, losses = z[go_on], losses[go_on]
        ends = np.stack([z[:, :-1], z[:, 1:]], axis=2).reshape(-1, 2)
        end_losses = np.stack([losses[:, :-1], losses[:, 1:]], axis=2).reshape(-1, 2, 2)
    return Envelope(np.concatenate(all_z), np.concatenate(all_losses))


def _bounded(losses: Array) -> Array:
    return np.minimum(losses, _INFINITE)


def _depth(losses: Array) -> Array:
    """Return the largest advantage, over all p, of an inner point's risk over both ends' risks.

    min(risk of one end, risk of the other) − risk of the point is concave in p and bends where the
    ends' lines meet. Its largest value is there, at p = 0 or at p = 1.
    """
    one, other, inner = losses[:, 0], losses[:, -1], losses[:, 1:-1]
    rise, fall = other[:, 0] - one[:, 0], one[:, 1] - other[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        meeting = rise / (rise + fall)
    meeting = np.where((meeting >= 0) & (meeting <= 1), meeting, 0.0)
    depth = np.zeros(len(losses))
    for p in (np.zeros_like(meeting), meeting, np.ones_like(meeting)):
        weights = np.stack([1 - p, p], axis=1)
        lowest_end = np.minimum((weights * one).sum(axis=1), (weights * other).sum(axis=1))
        risks = (weights[:, None] * inner).sum(axis=2)
        depth = np.maximum(depth, lowest_end - risks.min(axis=1))
    return depth


def _hides(losses: Array) -> NDArray[np.bool_]:
    """Return whether an interval may hide a jump or a bend that matters.

    It cannot if the curve crosses it evenly, or if its corner is not deep (see `monotone_grid`).
    """
    steps = np.abs(np.diff(losses, axis=1))
    lengths = steps.sum(axis=1)
    a, b = lengths.T
    uneven = (steps.max(axis=1) > (0.25 + _EVEN) * lengths).any(axis=1)
    matters: NDArray[np.bool_] = uneven & (a * b > TOLERANCE * (a + b))
    return matters


def _lower_left_hull(points: Array) -> NDArray[np.intp]:
    """Return the corners of the lower left convex hull, from left to right."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    lowest_so_far = np.minimum.accumulate(points[order, 1])
    undominated = np.concatenate([[True], points[order[1:], 1] < lowest_so_far[:-1]])
    order = order[undominated]
    hull: list[int] = []
    a, b = points[order].T.tolist()
    for i in range(len(order)):
        # Drop the last corner while it lies on or above the line from the one before it.
        while len(hull) > 1 and (
            (a[hull[-1]] - a[hull[-2]]) * (b[i] - b[hull[-2]])
            <= (b[hull[-1]] - b[hull[-2]]) * (a[i] - a[hull[-2]])
        ):
            hull.pop()
        hull.append(i)
    corners: NDArray[np.intp] = order[hull]
    return corners

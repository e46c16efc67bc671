"""Minimisation over the simplex without derivatives, from many starts."""

from collections.abc import Callable

import numpy as np

from hardwood.losses._checks import Array

_ON_EDGES = 33
_DRAWS = 256
_STARTS = 8
_SMALLEST_STEP = 1e-10


def minimise(
    function: Callable[[Array], Array], n_classes: int, *starts: Array
) -> tuple[Array, float]:
    """Return the point of the simplex where a function is smallest, and its value there.

    The candidates are the vertices, points along all edges, the centre, random points (always the
    same) and `starts`. From the best of them, mass is moved between pairs of classes in ever
    smaller steps. The function must map points of shape (..., n_classes) to values of shape (...).
    """
    points = np.vstack([_candidates(n_classes), *starts])
    values = function(points)
    first = np.argsort(values, kind="stable")[:_STARTS]
    found = [_descend(function, points[i], float(values[i])) for i in first]
    return min(found, key=lambda point_and_value: point_and_value[1])


def _candidates(n_classes: int) -> Array:
    """Return the vertices, points along all edges, the centre, and random points."""
    vertices = np.eye(n_classes)
    one, other = np.triu_indices(n_classes, 1)
    share = np.linspace(0, 1, _ON_EDGES + 1, endpoint=False)[1:, None, None]
    edges = (share * vertices[one] + (1 - share) * vertices[other]).reshape(-1, n_classes)
    centre = np.full((1, n_classes), 1 / n_classes)
    rng = np.random.default_rng(0)
    inside = rng.dirichlet(np.ones(n_classes), _DRAWS)
    near_faces = rng.dirichlet(np.full(n_classes, 0.2), _DRAWS)
    return np.concatenate([vertices, edges, centre, inside, near_faces])


def _descend(function: Callable[[Array], Array], point: Array, value: float) -> tuple[Array, float]:
    """Move mass from one class to another while that lowers the function."""
    giver, taker = np.nonzero(~np.eye(len(point), dtype=bool))
    step = 0.25
    while step > _SMALLEST_STEP:
        amount = np.minimum(step, point[giver])
        moved = np.repeat(point[None], len(giver), axis=0)
        rows = np.arange(len(giver))
        moved[rows, giver] -= amount
        moved[rows, taker] += amount
        values = function(moved)
        best = int(np.argmin(values)) if len(values) else 0
        if len(values) and values[best] < value - 1e-15:
            point, value = moved[best], float(values[best])
        else:
            step /= 2
    return point, value

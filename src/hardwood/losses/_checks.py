"""What the losses take: class distributions, probabilities, labels; checked, as arrays."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# Sums of probabilities that were added up in floating point.
_SUM_TOLERANCE = 1e-6
# Zero, computed by a user's formula.
_ROUNDING = 1e-9


def distributions(name: str, p: ArrayLike) -> Array:
    """Return class probabilities along the last axis."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(
            f"{name} must hold class probabilities along its last axis, got shape {p.shape}."
        )
    if not np.all((p >= 0) & (p <= 1 + _SUM_TOLERANCE)):  # NaN fails as well
        raise ValueError(f"{name} must hold probabilities: an entry lies outside 0 to 1.")
    sums = p.sum(axis=-1)
    if not np.all(np.abs(sums - 1) <= _SUM_TOLERANCE):
        worst = sums.flat[np.argmax(np.abs(sums - 1))]
        raise ValueError(f"{name} must sum to 1 along its last axis, but a row sums to {worst:g}.")
    return p


def probabilities(name: str, p: ArrayLike) -> Array:
    """Return probabilities of the positive class."""
    p = np.asarray(p, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(
            f"{name} is the probability of the positive class and must lie in 0 to 1, "
            f"got {_first(p, ~((p >= 0) & (p <= 1)))}."
        )
    return p


def class_indices(label: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """Return labels that index the classes."""
    label = np.asarray(label)
    if label.dtype.kind not in "iu" or not np.all((label >= 0) & (label < n_classes)):
        raise ValueError(
            f"label must hold class indices, whole numbers from 0 to {n_classes - 1}, got {label}."
        )
    return label.astype(np.intp)


def signs(label: ArrayLike) -> Array:
    """Return labels −1 and +1."""
    label = np.asarray(label)
    if not np.all((label == 1) | (label == -1)):
        raise ValueError(f"label must be −1 or +1, as margins need, got {label}.")
    return label.astype(np.float64)


def loss_values(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return what a user's loss gave, one value for each class; infinity is allowed."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            f"{name} must return one loss for each class, shape {shape} for predictions of that "
            f"shape, but returned shape {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError(f"{name} returned NaN; a loss is a number or infinity.")
    if (values < -_ROUNDING).any():
        raise ValueError(f"{name} returned the negative value {values.min():g}; a loss is >= 0.")
    return np.asarray(np.maximum(values, 0.0))


def _first(values: Array, wrong: NDArray[np.bool_]) -> float:
    return float(values[wrong].flat[0])

"""Checks of what users pass to the losses; each returns an array."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_SUM_TOLERANCE = 1e-6  # probabilities were summed in floating point
_ROUNDING = 1e-9  # a user's formula may return a little less than zero


def distributions(name: str, p: ArrayLike) -> Array:
    """Return class probabilities along the last axis."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise ValueError(
            f"{name} must hold class probabilities along its last axis, got shape {p.shape}."
        )
    if not np.all((p >= 0) & (p <= 1 + _SUM_TOLERANCE)):  # also catches NaN
        raise ValueError(f"{name} must hold probabilities, but an entry lies outside 0 to 1.")
    sums = p.sum(axis=-1)
    if not np.all(np.abs(sums - 1) <= _SUM_TOLERANCE):
        worst = sums.flat[np.argmax(np.abs(sums - 1))]
        raise ValueError(f"{name} must sum to 1 along its last axis, but a row sums to {worst:g}.")
    return p


def probabilities(name: str, p: ArrayLike) -> Array:
    """Return probabilities of the positive class."""
    p = np.asarray(p, dtype=np.float64)
    inside = (p >= 0) & (p <= 1)
    if not np.all(inside):
        raise ValueError(
            f"{name} is the probability of the positive class and must lie in 0 to 1, "
            f"got {p[~inside].flat[0]}."
        )
    return p


def class_indices(label: ArrayLike, n_classes: int) -> NDArray[np.intp]:
    """Return labels that index the classes."""
    label = np.asarray(label)
    if label.dtype.kind not in "iu" or not np.all((label >= 0) & (label < n_classes)):
        raise ValueError(
            f"label must hold class indices, integers from 0 to {n_classes - 1}, got {label}."
        )
    return label.astype(np.intp)


def sign_indices(label: ArrayLike) -> NDArray[np.intp]:
    """Return 0 for the label −1 and 1 for +1."""
    label = np.asarray(label)
    if not np.all((label == 1) | (label == -1)):
        raise ValueError(f"label must be −1 or +1 for a margin loss, got {label}.")
    return (label > 0).astype(np.intp)


def loss_values(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return what a user's loss function returned, one value per class; infinity is allowed."""
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(
            f"The loss function must return one loss for each class: for predictions of shape "
            f"{shape} it must return that shape, but it returned shape {values.shape}."
        )
    if np.isnan(values).any():
        raise ValueError("The loss function returned NaN; a loss must be a number or infinity.")
    if (values < -_ROUNDING).any():
        raise ValueError(
            f"The loss function returned the negative value {values.min():g}; a loss must be >= 0."
        )
    return np.asarray(np.maximum(values, 0.0))

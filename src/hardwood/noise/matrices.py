"""Noise matrices, and what they do to labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NoiseMatrix = npt.NDArray[np.float64]


def uniform(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise matrix that moves a share of each class evenly to all the others.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Share of the labels that is flipped, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``: ``1 - rate`` on the diagonal,
        ``rate / (n_classes - 1)`` elsewhere.

    Examples
    --------
    >>> from hardwood.noise import uniform
    >>> uniform(3, 0.5)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    _check_size(n_classes, rate)
    T = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return T


def class_conditional(rates: npt.ArrayLike) -> NoiseMatrix:
    """Return the noise matrix of classes that are flipped at different rates.

    Parameters
    ----------
    rates : array-like of shape (2,) or (n_classes, n_classes)
        For two classes, ``rates[i]`` is the share of class ``i`` that is flipped, between 0
        and 1. For more classes, the whole matrix: ``rates[i, j]`` is the share of class ``i``
        that is observed as ``j``.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``.

    Examples
    --------
    >>> from hardwood.noise import class_conditional
    >>> class_conditional([0.1, 0.3])
    array([[0.9, 0.1],
           [0.3, 0.7]])
    """
    rates = np.asarray(rates, dtype=np.float64)
    if rates.ndim == 2:
        return check_matrix(rates, name="rates").copy()
    if rates.shape != (2,):
        raise ValueError(
            "rates must hold two flip rates, one for each class, or be a square matrix, "
            f"got shape {rates.shape}."
        )
    first, second = rates
    check_rate("rates[0]", first)
    check_rate("rates[1]", second)
    return np.array([[1 - first, first], [second, 1 - second]])


def pair_flip(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise matrix that moves a share of each class to the next one.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Share of class ``i`` that is observed as class ``(i + 1) % n_classes``.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``, with ``1 - rate`` on the diagonal.

    Examples
    --------
    >>> from hardwood.noise import pair_flip
    >>> pair_flip(4, 0.25)[0]
    array([0.75, 0.25, 0.  , 0.  ])
    """
    _check_size(n_classes, rate)
    stay = np.eye(n_classes)
    return (1 - rate) * stay + rate * np.roll(stay, 1, axis=1)


@dataclass(frozen=True)
class NoiseSummary:
    """The summary of a noise matrix that `describe` returns.

    Attributes
    ----------
    rate : float
        Expected share of wrong labels.
    class_rates : tuple of float
        Share of wrong labels in each class.
    outnumbered : tuple of int
        Classes whose own label is not strictly the most likely one in their row.
    """

    rate: float
    class_rates: tuple[float, ...]
    outnumbered: tuple[int, ...]

    @property
    def diagonal_is_largest(self) -> bool:
        """Whether each diagonal entry is the largest of its row, which noise tolerance requires."""
        return not self.outnumbered

    def __str__(self) -> str:
        text = (
            f"{len(self.class_rates)} classes, {100 * self.rate:.1f} % of the labels wrong "
            f"({100 * min(self.class_rates):.1f} to {100 * max(self.class_rates):.1f} % by class); "
        )
        if self.diagonal_is_largest:
            return text + "each diagonal entry is the largest of its row"
        rows = ", ".join(map(str, self.outnumbered))
        return text + f"the diagonal entry is not the largest in row(s) {rows}"


def describe(T: npt.ArrayLike, class_frequencies: npt.ArrayLike | None = None) -> NoiseSummary:
    """Say how many labels a noise matrix flips, and whether the theorems cover it.

    Noise-tolerant losses tolerate noise only if each class's own label stays the most likely one.
    For uniform noise, this means a rate below (K − 1)/K.

    Parameters
    ----------
    T : array-like of shape (n_classes, n_classes)
        Noise matrix.
    class_frequencies : array-like of shape (n_classes,), optional
        Frequencies of the true classes, as counts or shares. Equal if not given.

    Returns
    -------
    NoiseSummary
        The expected noise rate, the rate of each class, and the classes that are outnumbered in
        their row.

    Examples
    --------
    >>> from hardwood.noise import class_conditional, describe
    >>> print(describe(class_conditional([0.1, 0.6]), class_frequencies=[300, 100]))
    2 classes, 22.5 % of the labels wrong (10.0 to 60.0 % by class); the diagonal entry is not the largest in row(s) 1
    """
    T = check_matrix(T)
    frequencies = np.ones(len(T)) if class_frequencies is None else np.asarray(class_frequencies)
    if frequencies.shape != (len(T),):
        raise ValueError(
            f"class_frequencies must hold one number for each of the {len(T)} classes, "
            f"got shape {frequencies.shape}."
        )
    frequencies = frequencies.astype(np.float64)
    total = frequencies.sum()
    if not (np.isfinite(total) and total > 0 and frequencies.min() >= 0):
        raise ValueError("class_frequencies must be finite, not negative, and not all zero.")
    class_rates = 1 - np.diag(T)
    others = T.copy()
    np.fill_diagonal(others, -np.inf)
    outnumbered = np.flatnonzero(np.diag(T) <= others.max(axis=1))
    return NoiseSummary(
        rate=float(class_rates @ frequencies / total),
        class_rates=tuple(class_rates.tolist()),
        outnumbered=tuple(outnumbered.tolist()),
    )


def _check_size(n_classes: int, rate: float) -> None:
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}.")
    check_rate("rate", rate)


def check_rate(name: str, rate: float) -> None:
    """Raise a ValueError unless a rate is between 0 and 1."""
    if not 0 <= rate <= 1:  # NaN fails too
        raise ValueError(f"{name} must be between 0 and 1, got {rate}.")


def check_matrix(T: npt.ArrayLike, name: str = "T", n_classes: int | None = None) -> NoiseMatrix:
    """Return a noise matrix as an array, or raise a ValueError that says what is wrong with it."""
    T = np.asarray(T, dtype=np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not T.size:
        raise ValueError(
            f"{name} must be a square matrix with one row and one column per class, "
            f"got shape {T.shape}."
        )
    if n_classes is not None and len(T) != n_classes:
        raise ValueError(
            f"{name} must have one row and one column for each of the {n_classes} classes of y, "
            f"got shape {T.shape}."
        )
    return check_probabilities(T, name)


def check_probabilities(P: NoiseMatrix, name: str) -> NoiseMatrix:
    """Return a matrix whose rows are probabilities, or raise a ValueError."""
    if not np.all((P >= 0) & (P <= 1)):
        raise ValueError(f"{name} must hold probabilities, but an entry is outside 0 to 1.")
    row_sums = P.sum(axis=1)
    if not np.allclose(row_sums, 1):
        row = int(np.argmax(np.abs(row_sums - 1)))
        raise ValueError(
            f"Each row of {name} must sum to 1 (it holds the probabilities of the observed labels), "
            f"but row {row} sums to {row_sums[row]:g}."
        )
    return P


def can_be_undone(T: NoiseMatrix) -> bool:
    """Return whether labels observed through T still tell the classes apart.

    T must be invertible. With two classes, each label must also be more likely for its own class
    than for the other.
    """
    return bool(np.linalg.cond(T) <= 1e6 and (len(T) != 2 or T[1, 1] > T[0, 1]))

"""Means and scatters of the classes, and equations in a covariance that may be singular."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, eigh, lapack

FloatArray = npt.NDArray[np.float64]

# A direction whose variance is below this share of the largest one's does not vary: rounding
# leaves up to some 1e-14 there. Variances are compared in units of each feature's own.
_NO_VARIANCE = 1e-12


class ClassMoments(NamedTuple):
    """What one class's rows add to a covariance.

    Attributes
    ----------
    rows : ndarray of int
        The places of the class's rows.
    mean : ndarray of shape (n_features,)
        Their mean.
    scatter : ndarray of shape (n_features, n_features)
        Sum over the rows of (x − mean)(x − mean)ᵀ.
    """

    rows: npt.NDArray[np.intp]
    mean: FloatArray
    scatter: FloatArray


def class_moments(X: npt.NDArray[Any], y: npt.NDArray[np.integer[Any]]) -> Iterator[ClassMoments]:
    """Yield the moments of class 0, 1, … one by one; only one class's rows are held as float64."""
    for label in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == label)
        centred = X[rows].astype(np.float64)
        # Taking off a row first leaves exactly zero in a column that is constant in the class.
        origin = centred[0].copy()
        centred -= origin
        shift = centred.mean(axis=0)
        centred -= shift
        yield ClassMoments(rows, origin + shift, centred.T @ centred)


def solve(covariance: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return S⁻¹·v for each of the vectors v, the columns of an array or one alone.

    Where the covariance S is singular, directions in which the data does not vary count for
    nothing, as with a pseudo-inverse S⁺: products of the result with vectors in the other
    directions are those of S⁺·v. Features are taken in units of their own standard deviation, so
    that the features' units do not matter.
    """
    solution = np.zeros_like(vectors)
    deviations = np.sqrt(np.diag(covariance))
    varying = np.flatnonzero(deviations)
    if not varying.size:
        return solution
    # S = D·C·D with D the standard deviations and C the correlations, so S⁻¹ = D⁻¹·C⁻¹·D⁻¹.
    scale = deviations[varying]
    correlation = covariance[np.ix_(varying, varying)] / scale / scale[:, np.newaxis]
    scale = scale.reshape(-1, *[1] * (vectors.ndim - 1))
    solution[varying] = _solve_correlation(correlation, vectors[varying] / scale) / scale
    return solution


def _solve_correlation(C: FloatArray, vectors: FloatArray) -> FloatArray:
    # Cholesky with pivoting picks features that span all the others, and solves for those. If that
    # solves for the others as well, the vectors lie where the data varies, and any solution gives
    # the same products with such vectors. If not, they are projected there by the eigenvectors,
    # which takes far longer.
    factor, pivots, rank, _ = lapack.dpstrf(C, tol=_NO_VARIANCE)
    spanning = pivots[:rank] - 1
    solution = np.zeros_like(vectors)
    solution[spanning] = cho_solve((factor[:rank, :rank], False), vectors[spanning])
    if np.allclose(C @ solution, vectors, rtol=0, atol=1e-9 * np.abs(vectors).max()):
        return solution
    variances, directions = eigh(C, driver="evd")
    vary = variances > _NO_VARIANCE * variances[-1]
    coordinates = directions[:, vary].T @ vectors
    return np.asarray(directions[:, vary] @ (coordinates.T / variances[vary]).T)

"""Means and scatter matrices of the classes, and linear systems whose covariance may be singular."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, eigh, lapack

FloatArray = npt.NDArray[np.float64]

# A direction whose variance is below this share of the largest one does not vary: rounding leaves
# up to about 1e-14 there. Variances are measured in units of each feature's own variance.
_NO_VARIANCE = 1e-12


class ClassMoments(NamedTuple):
    """What the rows of one class contribute to a covariance.

    Attributes
    ----------
    rows : ndarray of int
        Indices of the rows of the class.
    mean : ndarray of shape (n_features,)
        Their mean.
    scatter : ndarray of shape (n_features, n_features)
        Sum over the rows of (x − mean)(x − mean)ᵀ.
    """

    rows: npt.NDArray[np.intp]
    mean: FloatArray
    scatter: FloatArray


def class_moments(X: npt.NDArray[Any], y: npt.NDArray[np.integer[Any]]) -> Iterator[ClassMoments]:
    """Yield the moments of class 0, 1, … in turn; only one class at a time is held as float64."""
    for label in range(int(y.max()) + 1):
        rows = np.flatnonzero(y == label)
        centred = X[rows].astype(np.float64)
        # Subtracting a row first leaves exact zeros in columns that are constant in the class.
        origin = centred[0].copy()
        centred -= origin
        shift = centred.mean(axis=0)
        centred -= shift
        yield ClassMoments(rows, origin + shift, centred.T @ centred)


def solve(covariance: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return S⁻¹·v for each vector v: a single one, or the columns of an array.

    If the covariance S is singular, directions in which the data does not vary have no effect, as
    with a pseudo-inverse S⁺: products of the result with vectors in the other directions equal
    those of S⁺·v. Features are measured in their own standard deviations, so units do not matter.
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
    # Pivoted Cholesky picks features that span all the others, and solves for those. If this also
    # solves for the others, the vectors lie where the data varies, and every solution gives the
    # same products with such vectors. If not, the eigenvectors project them there, which is far
    # slower.
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

"""Noise that depends on the features: similar classes, and rows near the boundary, are confused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from hardwood.noise.class_moments import class_moments, solve
from hardwood.noise.corruption import check_integers
from hardwood.noise.matrices import NoiseMatrix, check_rate


def mahalanobis(
    X: npt.ArrayLike, y: npt.ArrayLike, low: float = 0.5, high: float = 0.9
) -> NoiseMatrix:
    """Return the noise matrix that confuses similar classes, as in the paper's multiclass experiments.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        The clean labels, integers from 0. Each class needs at least two rows.
    low, high : float, default=0.5 and 0.9
        Share of correct labels in the class that is nearest to the others, and in the class that
        is farthest from them.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``. Its diagonal spans exactly `low` to `high`. If all classes are
        equally far from the others, as two classes always are, it is ``(low + high) / 2``.

    Notes
    -----
    The distance between two classes is that of their means under their pooled covariance *S*::

        d(i, j)² = (mean_i − mean_j)ᵀ S⁺ (mean_i − mean_j)

    The diagonal is each class's total distance to the others, scaled linearly to `low` … `high`.
    The rest of row ``i`` is proportional to ``1 / d(i, j)``. (Algorithm 1 prints
    ``s_ij / (1 − s_ii)`` instead, which is not a probability.)

    If *S* is singular, its pseudo-inverse is used, in units of each feature's standard deviation.
    Directions in which neither class varies then have no effect.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.noise import mahalanobis
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 1000)
    >>> X = np.array([0.0, 1.0, 9.0])[y, np.newaxis] + rng.normal(size=(3000, 1))
    >>> mahalanobis(X, y).round(2)
    array([[0.56, 0.39, 0.04],
           [0.44, 0.5 , 0.06],
           [0.05, 0.05, 0.9 ]])
    """
    X, y = _checked_data(X, y)
    check_rate("low", low)
    check_rate("high", high)
    if low > high:
        raise ValueError(f"low must not be above high, got low={low} and high={high}.")

    classes = list(class_moments(X, y))
    distance = np.zeros((len(classes), len(classes)))
    for i, one in enumerate(classes):
        for j, other in enumerate(classes[:i]):
            degrees_of_freedom = len(one.rows) + len(other.rows) - 2
            covariance = (one.scatter + other.scatter) / degrees_of_freedom
            difference = one.mean - other.mean
            squared = float(difference @ solve(covariance, difference))
            distance[i, j] = distance[j, i] = max(squared, 0.0) ** 0.5

    total = distance.sum(axis=1)
    nearest, farthest = total.min(), total.max()
    if np.isclose(nearest, farthest, rtol=1e-12, atol=0):
        correct = np.full(len(classes), (low + high) / 2)
    else:
        # np.interp gives its end points without rounding.
        correct = np.interp(total, [nearest, farthest], [low, high])
    T = _inverse_distances(distance)
    T *= ((1 - correct) / T.sum(axis=1))[:, np.newaxis]
    np.fill_diagonal(T, correct)
    return T


def instance_dependent(
    X: npt.ArrayLike, y: npt.ArrayLike, rate: float, highest: float = 0.5
) -> npt.NDArray[np.float64]:
    """Return noise that flips the labels of rows near the boundaries between classes.

    Parameters
    ----------
    X, y : array-like
        The features and the clean labels, as for `mahalanobis`.
    rate : float
        Share of the labels that is flipped, between 0 and `highest`.
    highest : float, default=0.5
        Upper limit of a row's probability of being flipped, reached by the hardest row. Up to
        0.5, each row's own label remains the most likely one, so that noise does not change the
        best possible prediction.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The probabilities of each row's observed label, for `corrupt`. The mean probability of a
        flip is `rate`.

    Notes
    -----
    A linear discriminant with equal priors puts a hyperplane between each two classes. A row's
    *margin* is its Mahalanobis distance to the nearest hyperplane of its own class, negative on
    the wrong side. Only the order of the margins matters: the share ``u`` of the rows with the
    largest margins receives the share ``u^(highest / rate)`` of the flips, so that the probability
    of a flip rises from nearly 0 to nearly `highest`. A flipped label becomes another class with
    the probability that the discriminant gives to that class.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.noise import instance_dependent
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), [0, 0, 0, 1, 1, 1]
    >>> probabilities = instance_dependent(X, y, rate=0.2)
    >>> probabilities.round(2)
    array([[0.96, 0.04],
           [0.82, 0.18],
           [0.62, 0.38],
           [0.38, 0.62],
           [0.18, 0.82],
           [0.04, 0.96]])
    """
    X, y = _checked_data(X, y)
    check_rate("highest", highest)
    if not 0 <= rate <= highest:
        raise ValueError(f"rate must be between 0 and highest={highest}, got {rate}.")

    score, separation = _discriminant(X, y)
    own = (np.arange(len(y)), y)
    lead = score[own][:, np.newaxis] - score
    gap = separation[y]
    margins = np.divide(lead, gap, out=np.zeros_like(lead), where=gap > 0)
    margins[own] = np.inf
    flip = _rising_with_rank(-margins.min(axis=1), rate, highest)

    score[own] = -np.inf
    likelihood = np.exp(score - score.max(axis=1, keepdims=True))
    probabilities: npt.NDArray[np.float64] = likelihood / likelihood.sum(axis=1, keepdims=True)
    probabilities *= flip[:, np.newaxis]
    probabilities[own] = 1 - flip
    return probabilities


def _inverse_distances(distance: NoiseMatrix) -> NoiseMatrix:
    """Return 1/d(i, j), up to a factor per row, and 0 on the diagonal.

    Classes at distance zero get the whole weight of a row, which is the limit.
    """
    apart = np.where(np.eye(len(distance), dtype=bool), np.inf, distance)
    closest = apart.min(axis=1, keepdims=True)
    weight = np.where(closest > 0, closest / np.where(apart > 0, apart, 1), apart == 0)
    return np.asarray(weight, dtype=np.float64)


def _discriminant(
    X: npt.NDArray[Any], y: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return each row's log likelihood under each class, and the distances between the classes.

    For normal classes with a common covariance S, up to a term that is the same for all classes k::

        log p(x | k) = (x − mean_k/2)ᵀ S⁺ mean_k
    """
    places, means = [], []
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for moments in class_moments(X, y):
        places.append(moments.rows)
        means.append(moments.mean)
        scatter += moments.scatter
    # Measured from the mean of the means: differences stay the same and keep their precision.
    origin = np.mean(means, axis=0)
    centres = np.array(means) - origin
    weights = solve(scatter / (len(y) - len(means)), centres.T)
    products = centres @ weights
    squares = np.diag(products)
    score = np.empty((len(y), len(means)))
    for rows in places:
        score[rows] = (X[rows] - origin) @ weights - squares / 2
    # d(i, j)² = mean_iᵀ S⁺ mean_i + mean_jᵀ S⁺ mean_j − 2 mean_iᵀ S⁺ mean_j
    squared = squares[:, np.newaxis] + squares - products - products.T
    return score, np.sqrt(np.maximum(squared, 0))


def _rising_with_rank(
    difficulty: npt.NDArray[np.float64], rate: float, highest: float
) -> npt.NDArray[np.float64]:
    """Return probabilities of mean `rate` that rise with the difficulty, to at most `highest`.

    The share u of the easiest rows receives F(u) = u^(highest/rate) of the flips. Each row, or
    group of equally difficult rows, spans an interval of u and receives the increase of F over it.
    The sum is therefore exactly n·rate, and the steepest increase, at u = 1, is F' = highest/rate.
    """
    n = len(difficulty)
    if rate == 0:
        return np.zeros(n)
    _, group, sizes = np.unique(difficulty, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    share_of_flips = (upto / n) ** (highest / rate)
    flips = rate * n * np.diff(share_of_flips, prepend=0) / sizes
    return np.asarray(np.minimum(flips, highest)[group])


def _checked_data(
    X: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.integer[Any]]]:
    """Return features and labels, of which each class 0, 1, … has at least two rows."""
    features: npt.NDArray[Any] = check_array(X, input_name="X")
    y = check_integers(y)
    check_consistent_length(features, y)
    if y.min() < 0:
        raise ValueError(f"y must hold integer labels from 0, got {y.min()}.")
    counts = np.bincount(y)
    if len(counts) < 2:
        raise ValueError("y must hold at least two classes, got only label 0.")
    if counts.min() < 2:
        label = int(np.argmin(counts))
        raise ValueError(
            f"Each class needs at least two rows for its covariance, but class {label} has "
            f"{counts[label]}; labels must be the integers from 0 to n_classes - 1."
        )
    return features, y

"""Label noise: noise matrices, and labels corrupted by them.

A noise matrix ``T`` has one row per true class and one column per observed class:
``T[i, j]`` is the probability that a label of class ``i`` is observed as ``j``.
Its rows sum to 1. Noise that depends on the features has such a row for each sample instead.

Labels are whole numbers that index ``T``. Nothing here knows an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from hardwood.noise._class_moments import class_moments, solve

__all__ = [
    "NoiseSummary",
    "class_conditional",
    "corrupt",
    "describe",
    "instance_dependent",
    "mahalanobis",
    "pair_flip",
    "uniform",
]

NoiseMatrix = npt.NDArray[np.float64]


def uniform(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise that moves a share of every class evenly to all others.

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
    _check_n_classes(n_classes)
    _check_rate("rate", rate)
    T = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(T, 1 - rate)
    return T


def class_conditional(rates: npt.ArrayLike) -> NoiseMatrix:
    """Return the noise of classes that are flipped at different rates.

    Parameters
    ----------
    rates : array-like of shape (2,) or (n_classes, n_classes)
        For two classes, ``rates[i]`` is the share of class ``i`` that is flipped, between 0
        and 1. For more, the whole matrix: ``rates[i, j]`` is the share of class ``i`` that is
        observed as ``j``.

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
        return _checked_matrix(rates, name="rates").copy()
    if rates.shape != (2,):
        raise ValueError(
            f"rates must hold one flip rate for each of two classes, or be a square matrix, "
            f"got shape {rates.shape}."
        )
    first, second = rates
    _check_rate("rates[0]", first)
    _check_rate("rates[1]", second)
    return np.array([[1 - first, first], [second, 1 - second]])


def pair_flip(n_classes: int, rate: float) -> NoiseMatrix:
    """Return the noise that moves a share of every class to the next one.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Share of class ``i`` that is observed as class ``(i + 1) % n_classes``,
        between 0 and 1.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``.

    Examples
    --------
    >>> from hardwood.noise import pair_flip
    >>> pair_flip(3, 0.25)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    _check_n_classes(n_classes)
    _check_rate("rate", rate)
    stay = np.eye(n_classes)
    return (1 - rate) * stay + rate * np.roll(stay, 1, axis=1)


def mahalanobis(
    X: npt.ArrayLike, y: npt.ArrayLike, low: float = 0.5, high: float = 0.9
) -> NoiseMatrix:
    """Return the noise that confuses similar classes, as in the paper's multiclass experiments.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their clean labels, whole numbers from 0. Each class needs at least two rows.
    low, high : float, default=0.5 and 0.9
        Shares of correct labels in the class that is nearest to the others and in the class that
        is farthest from them.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        The noise matrix ``T``. Its diagonal spans exactly `low` to `high`; where all classes are
        equally far from the others, as any two are, it is the middle, ``(low + high) / 2``.

    Notes
    -----
    The distance of two classes is that of their means under their pooled covariance *S*::

        d(i, j)² = (mean_i − mean_j)ᵀ S⁺ (mean_i − mean_j)

    The diagonal is each class's total distance to the others, scaled linearly to `low` … `high`.
    The rest of row ``i`` is in proportion to ``1 / d(i, j)``. (Algorithm 1 prints
    ``s_ij / (1 − s_ii)`` for it, which is not a probability.)

    Where *S* is singular, its pseudo-inverse is taken in units of each feature's standard
    deviation: directions in which neither class varies count for nothing.

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
    _check_rate("low", low)
    _check_rate("high", high)
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
    """Return the noise that flips the labels of rows near the boundaries between classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,)
        Their clean labels, whole numbers from 0. Each class needs at least two rows.
    rate : float
        Share of the labels that is flipped, between 0 and `highest`.
    highest : float, default=0.5
        What the probability to be flipped goes up to, for the hardest row. Up to 0.5 every row's
        own label remains its likeliest, so that the best possible prediction stays the same.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The probabilities of each row's observed label, for `corrupt`. The flips' mean is `rate`.

    Notes
    -----
    Class means and the pooled covariance of all classes put a hyperplane between any two classes
    (that of a linear discriminant with equal priors). A row's *margin* is its Mahalanobis distance
    to the nearest of its own class's, negative on the wrong side. Only the margins' order counts:
    the share ``u`` of the rows with the largest margins gets the share ``u^(highest / rate)`` of
    the flips, so that the probability rises from nearly 0 to nearly `highest`.
    A flipped label is another class with the probability that the discriminant gives it.

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
    _check_rate("highest", highest)
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


def corrupt(
    y: npt.ArrayLike,
    T: npt.ArrayLike,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.bool_]]:
    """Replace each label by one drawn from a noise matrix, or from probabilities of its own.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Whole-number labels that index ``T``. They are left as they are.
    T : array-like of shape (n_classes, n_classes) or (n_samples, n_classes)
        Noise matrix, ``T[i, j] = P(observed j | true i)``; or a row for each label, as
        `instance_dependent` makes them. A square `T` is always a noise matrix.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws; an int gives the same labels each time.

    Returns
    -------
    noisy_y : ndarray of shape (n_samples,)
        The observed labels, in the dtype of `y` (widened if that cannot hold every class).
    flipped_mask : ndarray of bool of shape (n_samples,)
        Where `noisy_y` differs from `y`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.noise import corrupt, uniform
    >>> y = np.repeat([0, 1], 500)
    >>> noisy_y, flipped = corrupt(y, uniform(2, 0.3), random_state=0)
    >>> bool(np.array_equal(flipped, noisy_y != y))
    True
    >>> round(float(flipped.mean()), 1)
    0.3
    """
    T = np.asarray(T, dtype=np.float64)
    per_row = T.ndim == 2 and T.shape[0] != T.shape[1] and len(T) == np.size(y)
    T = _checked_probabilities(T, "T") if per_row else _checked_matrix(T)
    n_classes = T.shape[1]
    y = _checked_labels(y, n_classes)

    # Inverse transform sampling. Dividing by the last sum makes it exactly 1, so that rounding
    # cannot give a label of probability zero.
    cumulative = np.cumsum(T, axis=1)
    cumulative /= cumulative[:, -1:]
    draws = _generator(random_state).random(len(y))
    holds_every_class = n_classes - 1 <= np.iinfo(y.dtype).max
    noisy_y = np.empty(len(y), dtype=y.dtype if holds_every_class else np.intp)
    if per_row:
        noisy_y[:] = (cumulative <= draws[:, np.newaxis]).sum(axis=1)
    else:
        for label in range(n_classes):
            rows = np.flatnonzero(y == label)
            noisy_y[rows] = np.searchsorted(cumulative[label], draws[rows], side="right")
    return noisy_y, noisy_y != y


@dataclass(frozen=True)
class NoiseSummary:
    """What `describe` tells of a noise matrix.

    Attributes
    ----------
    rate : float
        Expected share of wrong labels.
    class_rates : tuple of float
        Share of wrong labels in each class.
    outnumbered : tuple of int
        Classes whose own label is not strictly the likeliest in their row.
    """

    rate: float
    class_rates: tuple[float, ...]
    outnumbered: tuple[int, ...]

    @property
    def diagonal_is_largest(self) -> bool:
        """Whether each diagonal entry is its row's largest, which noise tolerance asks for."""
        return not self.outnumbered

    def __str__(self) -> str:
        text = (
            f"{len(self.class_rates)} classes, {100 * self.rate:.1f} % of the labels wrong "
            f"({100 * min(self.class_rates):.1f} to {100 * max(self.class_rates):.1f} % by class); "
        )
        if self.diagonal_is_largest:
            return text + "each diagonal entry is its row's largest"
        rows = ", ".join(map(str, self.outnumbered))
        return text + f"the diagonal entry is not the largest in row(s) {rows}"


def describe(T: npt.ArrayLike, class_frequencies: npt.ArrayLike | None = None) -> NoiseSummary:
    """Tell how many labels a noise matrix flips, and whether the theorems cover it.

    Losses that tolerate noise do so only where each class's own label stays the likeliest: under
    uniform noise, where the rate is below (K − 1)/K.

    Parameters
    ----------
    T : array-like of shape (n_classes, n_classes)
        Noise matrix.
    class_frequencies : array-like of shape (n_classes,), optional
        How often each true class occurs, as counts or shares; all equally if not given.

    Returns
    -------
    NoiseSummary
        The expected noise rate, each class's rate, and the classes that are outnumbered in
        their row.

    Examples
    --------
    >>> from hardwood.noise import class_conditional, describe
    >>> print(describe(class_conditional([0.1, 0.6]), class_frequencies=[300, 100]))
    2 classes, 22.5 % of the labels wrong (10.0 to 60.0 % by class); the diagonal entry is not the largest in row(s) 1
    """
    T = _checked_matrix(T)
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


def _inverse_distances(distance: NoiseMatrix) -> NoiseMatrix:
    """Return 1/d(i, j), up to a factor in each row, and 0 on the diagonal.

    Classes at distance zero take a row's whole weight: the limit as their distance goes to zero.
    """
    apart = np.where(np.eye(len(distance), dtype=bool), np.inf, distance)
    closest = apart.min(axis=1, keepdims=True)
    weight = np.where(closest > 0, closest / np.where(apart > 0, apart, 1), apart == 0)
    return np.asarray(weight, dtype=np.float64)


def _discriminant(
    X: npt.NDArray[Any], y: npt.NDArray[np.integer[Any]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return each row's log likelihood of each class, and the distances between the classes.

    With normal classes of one covariance S, up to what is the same for all classes k::

        log p(x | k) = (x − mean_k/2)ᵀ S⁺ mean_k
    """
    places, means = [], []
    scatter = np.zeros((X.shape[1], X.shape[1]))
    for moments in class_moments(X, y):
        places.append(moments.rows)
        means.append(moments.mean)
        scatter += moments.scatter
    # From the middle of the means, which does not change the differences and keeps them precise.
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
    """Return probabilities of mean `rate` that rise with the difficulty, at most to `highest`.

    The share u of the easiest rows gets F(u) = u^(highest/rate) of the flips. A row, or a group of
    equally difficult ones, spans an interval of u and gets F's increase over it, so that the sum
    of all is exactly n·rate; the steepest increase, at u = 1, is F' = highest/rate.
    """
    n = len(difficulty)
    if rate == 0:
        return np.zeros(n)
    _, group, sizes = np.unique(difficulty, return_inverse=True, return_counts=True)
    upto = np.cumsum(sizes)
    share_of_flips = (upto / n) ** (highest / rate)
    flips = rate * n * np.diff(share_of_flips, prepend=0) / sizes
    return np.asarray(np.minimum(flips, highest)[group])


def _check_n_classes(n_classes: int) -> None:
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}.")


def _check_rate(name: str, rate: float) -> None:
    if not 0 <= rate <= 1:  # true of NaN as well
        raise ValueError(f"{name} must be between 0 and 1, got {rate}.")


def _checked_matrix(T: npt.ArrayLike, name: str = "T") -> NoiseMatrix:
    T = np.asarray(T, dtype=np.float64)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not T.size:
        raise ValueError(
            f"{name} must be a square matrix with a row and a column for each class, "
            f"got shape {T.shape}."
        )
    return _checked_probabilities(T, name)


def _checked_probabilities(P: NoiseMatrix, name: str) -> NoiseMatrix:
    if not np.all((P >= 0) & (P <= 1)):
        raise ValueError(f"{name} must hold probabilities: an entry lies outside 0 to 1.")
    row_sums = P.sum(axis=1)
    if not np.allclose(row_sums, 1):
        row = int(np.argmax(np.abs(row_sums - 1)))
        raise ValueError(
            f"Each row of {name} must sum to 1 (it holds the probabilities of the labels observed), "
            f"but row {row} sums to {row_sums[row]:g}."
        )
    return P


def _checked_labels(y: npt.ArrayLike, n_classes: int) -> npt.NDArray[np.integer[Any]]:
    y = _whole_numbers(y)
    if y.size and not 0 <= y.min() <= y.max() < n_classes:
        raise ValueError(
            f"T has {n_classes} classes, so labels must lie in 0 to {n_classes - 1}, "
            f"but y spans {y.min()} to {y.max()}."
        )
    return y


def _checked_data(
    X: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[np.integer[Any]]]:
    """Return features and labels of which each class 0, 1, … has at least two rows."""
    features: npt.NDArray[Any] = check_array(X, input_name="X")
    y = _whole_numbers(y)
    check_consistent_length(features, y)
    if y.min() < 0:
        raise ValueError(f"y must hold labels that count from 0, got {y.min()}.")
    counts = np.bincount(y)
    if len(counts) < 2:
        raise ValueError("y must hold at least two classes, got label 0 alone.")
    if counts.min() < 2:
        label = int(np.argmin(counts))
        raise ValueError(
            f"Each class needs at least two rows, to have a covariance, but class {label} has "
            f"{counts[label]}; labels must be the whole numbers from 0 to n_classes - 1."
        )
    return features, y


def _whole_numbers(y: npt.ArrayLike) -> npt.NDArray[np.integer[Any]]:
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}.")
    if y.dtype.kind not in "iu":
        raise ValueError(
            f"y must hold whole-number labels that index T, got dtype {y.dtype}; "
            f"np.unique(y, return_inverse=True) gives such labels."
        )
    return y


def _generator(
    random_state: int | np.random.Generator | np.random.RandomState | None,
) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)

"""How likely labels are wrong once some of them have been checked.

An audit gives each label a probability w of being wrong. Verdicts on some of the labels show how far
these probabilities can be trusted. With z = log(w / (1 − w)) and j the label given, the model is::

    P(wrong) = 1 / (1 + exp(−(z + a + b z + c_j)))

How uncertain the number of wrong labels is depends on the table. The audit's own interval of the noise
rate tells: with d half its width relative to the rate, at most 1, the logarithm of the number relative to
its estimate, the *change*, has a normal prior with mean ``m d²`` and standard deviation ``exp(s + t d)``.
The mean is above 0 because doubtful estimates tend to be too low. a is what makes the number so, whatever
b is: b turns the scores without changing the number. b and c have normal priors with mean 0, and the
standard deviation of b is in proportion to d.

The label and z are all that the model takes into account, so it does not matter that people check the
most suspect labels first: rows that were chosen by their label and their score are not chosen by the
verdict.

The posterior of a, b and c is approximated by a normal distribution around its maximum, and its draws
give the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hardwood.noise.checks import Array, Labels

# m, s and t, the standard deviation of c, and `Trust.turn` and `Trust.bend` relative to d.
# ``python -m lab bench calibration`` fits the first three to the development half of the real tables; s is
# rounded up, as other tables are less alike. The others were chosen on that half, too, such that intervals
# hold later in the plan, and after a first batch of verdicts.
_CENTRE, _DOUBT, _GROWTH, _OF_CLASS = 0.4, -3.3, 2.2, 0.1
_TURN, _BEND = 0.6, 1.0
# The interval says no more if it is wider than this. With more than two classes, it says less: this is
# added to the standard deviation, as the root of the sum of squares.
_MOST_DOUBT, _MORE_CLASSES = 1.0, 0.1
# With more classes, each has few verdicts, and one shift has to do for all.
_MAX_CLASSES = 30
# Probabilities are kept this far from 0 and 1.
LEAST = 1e-4
_N_STEPS, _TOLERANCE, _LONGEST_STEP = 50, 1e-6, 0.5
# Numbers of labels are summed over bins of z, for these values of a and b.
_N_BINS = 500
_SHIFTS, _SLOPES = np.linspace(-15, 15, 601), np.linspace(-0.9, 0.9, 7)
_SMALL = 1e-3
N_DRAWS = 400


@dataclass(frozen=True)
class Trust:
    """What is known about the scores before any verdict.

    Attributes
    ----------
    centre, spread : float
        Mean and standard deviation of the change.
    turn, bend : float
        Standard deviations of b, and of the logarithm of the power to which the share of the wrong labels
        that a review has left is raised: it falls faster or more slowly than the scores say.
    changes : ndarray of shape (n_slopes, n_shifts)
        The change that each a makes, for each b.
    """

    centre: float
    spread: float
    turn: float
    bend: float
    changes: Array

    def shift(self, change: Array, slope: Array) -> Array:
        """Return a, given the change and b."""
        below, between = self._between(change, slope)
        low, high = between
        return np.asarray(low + (high - low) * below)

    def gradient(self, change: float, slope: float) -> tuple[float, float]:
        """Return the derivatives of a with respect to the change and to b."""
        at = np.array([change - _SMALL, change, change + _SMALL])
        below, (low, high) = self._between(at, np.full(3, slope))
        a = low + (high - low) * below
        return float(a[2] - a[0]) / (2 * _SMALL), float(high[1] - low[1]) / (
            _SLOPES[1] - _SLOPES[0]
        )

    def _between(self, change: Array, slope: Array) -> tuple[Array, tuple[Array, Array]]:
        """Return a at the values of b on the grid below and above, and how far b is between them."""
        change, slope = np.broadcast_arrays(change, slope)
        at = np.array([np.interp(change, changes, _SHIFTS) for changes in self.changes])
        place = np.clip((slope - _SLOPES[0]) / (_SLOPES[1] - _SLOPES[0]), 0, len(_SLOPES) - 1)
        first = np.minimum(place.astype(np.intp), len(_SLOPES) - 2)
        low = np.take_along_axis(at, first[np.newaxis], axis=0)[0]
        high = np.take_along_axis(at, first[np.newaxis] + 1, axis=0)[0]
        return np.asarray(place - first), (low, high)


def trust_in(scores: Array, rate: float, doubt: float, n_classes: int) -> Trust:
    """Return how far scores can be trusted before any verdict.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        P(wrong) of all labels, by the audit.
    rate : float
        The expected share of wrong labels.
    doubt : float
        d, half the width of the interval of that share, relative to it.
    n_classes : int
        Number of classes.
    """
    doubt = min(doubt, _MOST_DOUBT)
    spread = float(np.hypot(np.exp(_DOUBT + _GROWTH * doubt), (n_classes > 2) * _MORE_CLASSES))
    low, high = log_odds(np.array([0.0, 1.0]))
    counts, edges = np.histogram(log_odds(scores), _N_BINS, (low, high))
    z = ((edges[1:] + edges[:-1]) / 2)[counts > 0]
    expected = max(rate * len(scores), np.finfo(np.float64).tiny)
    numbers = [
        expit(z * (1 + slope) + _SHIFTS[:, np.newaxis]) @ counts[counts > 0] for slope in _SLOPES
    ]
    changes = np.log(np.array(numbers) / expected)
    return Trust(_CENTRE * doubt**2, spread, _TURN * doubt, _BEND * doubt, changes)


@dataclass(frozen=True)
class Calibration:
    """The posterior of a, b and c.

    Attributes
    ----------
    mean : ndarray of shape (n_parameters,)
        Its maximum: the change that a makes, b, and c of each class if there are few.
    root : ndarray of shape (n_parameters, n_parameters)
        A square root of its covariance.
    trust : Trust
        What was known before the verdicts.
    n_verdicts : int
        Number of verdicts.
    """

    mean: Array
    root: Array
    trust: Trust
    n_verdicts: int

    def wrong(self, scores: Array, given: Labels) -> Array:
        """Return P(wrong) of labels that nobody has checked.

        Without verdicts, the number of wrong labels is the one that the audit estimates.
        """
        best = self.mean if self.n_verdicts else np.zeros_like(self.mean)
        return self.wrong_by(log_odds(scores), given, best)

    def wrong_by(self, z: Array, given: Labels, parameters: Array) -> Array:
        """Return P(wrong) for each row, or for each draw of the parameters and each row."""
        effects = parameters[..., 2:]
        change, slope = parameters[..., :1], parameters[..., 1:2]
        shift = self.trust.shift(change, slope) + (effects[..., given] if effects.size else 0)
        return np.asarray(expit(z * (1 + slope) + shift))

    def draws(self, seed: int) -> Array:
        """Return draws from the posterior, an ndarray of shape (n_draws, n_parameters)."""
        normal = np.random.default_rng(seed).standard_normal((N_DRAWS, len(self.mean)))
        return np.asarray(self.mean + normal @ self.root.T)


def fit_calibration(
    scores: Array,
    given: Labels,
    said_wrong: NDArray[np.bool_],
    n_classes: int,
    reviewer_accuracy: float,
    trust: Trust,
) -> Calibration:
    """Weigh a, b and c by verdicts.

    Parameters
    ----------
    scores : ndarray of shape (n_verdicts,)
        P(wrong) of the labels that were checked, by the audit.
    given : ndarray of int of shape (n_verdicts,)
        The labels.
    said_wrong : ndarray of bool of shape (n_verdicts,)
        Whether the reviewer found another label.
    n_classes : int
        Number of classes.
    reviewer_accuracy : float
        Probability that a reviewer names the true class.
    trust : Trust
        What is known before the verdicts.
    """
    z = log_odds(scores)
    n_effects = n_classes if n_classes <= _MAX_CLASSES else 0
    prior = np.array([trust.spread, trust.turn, *[_OF_CLASS] * n_effects]) ** -2.0
    centre = np.zeros(len(prior))
    centre[0] = trust.centre
    mean, precision = centre, np.diag(prior)
    columns = _columns(z, given, n_effects)
    missed, invented = _mistakes(n_classes, reviewer_accuracy)
    for _ in range(_N_STEPS if len(z) else 0):
        by_change, by_slope = trust.gradient(mean[0], mean[1])
        columns[:, 0], columns[:, 1] = by_change, z + by_slope
        shift = trust.shift(mean[0], mean[1])
        p = expit(z * (1 + mean[1]) + shift + columns[:, 2:] @ mean[2:])
        q = invented + (1 - missed - invented) * p  # P(the reviewer finds another label)
        q = np.clip(q, 1e-9, 1 - 1e-9)
        slope = (1 - missed - invented) * p * (1 - p)
        gradient = columns.T @ (slope * (said_wrong - q) / (q * (1 - q))) - prior * (mean - centre)
        information = slope**2 / (q * (1 - q))
        precision = (columns.T * information) @ columns + np.diag(prior)
        step = np.linalg.solve(precision, gradient)
        # Short steps keep the search from leaping over the maximum.
        mean = mean + step / max(1.0, float(np.abs(step).max()) / _LONGEST_STEP)
        if np.abs(step).max() < _TOLERANCE:
            break
    return Calibration(mean, np.linalg.inv(np.linalg.cholesky(precision)).T, trust, len(z))


def checked_wrong(
    wrong: Array, said_wrong: NDArray[np.bool_], n_classes: int, right: float
) -> Array:
    """Return P(the label is wrong | verdict), given P(wrong) before it, by Bayes' rule."""
    missed, invented = _mistakes(n_classes, right)
    if_wrong = np.where(said_wrong, 1 - missed, missed)
    if_right = np.where(said_wrong, invented, 1 - invented)
    total = wrong * if_wrong + (1 - wrong) * if_right
    return np.asarray(np.divide(wrong * if_wrong, total, out=said_wrong * 1.0, where=total > 0))


def log_odds(scores: Array) -> Array:
    """Return z of probabilities."""
    return np.asarray(logit(np.clip(scores, LEAST, 1 - LEAST)))


def _columns(z: Array, given: Labels, n_effects: int) -> Array:
    columns = np.zeros((len(z), 2 + n_effects))
    columns[:, 0] = 1
    columns[:, 1] = z
    if n_effects:
        columns[np.arange(len(z)), 2 + given] = 1
    return columns


def _mistakes(n_classes: int, reviewer_accuracy: float) -> tuple[float, float]:
    """Return P(a reviewer keeps a wrong label) and P(a reviewer changes a right one)."""
    wrong = 1 - reviewer_accuracy
    return wrong / max(1, n_classes - 1), wrong

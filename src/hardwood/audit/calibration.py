"""How likely labels are wrong once some of them have been checked.

An audit gives each label a probability w of being wrong. Verdicts on some of the labels show how far
these probabilities can be trusted. With z = log(w / (1 − w)) and j the label given, the model is::

    P(wrong) = 1 / (1 + exp(−(z + a + b z + c_j)))

with normal priors. Without verdicts, the probabilities are those of the audit. The label
and z are all that it takes into account, so it does not matter that people check the most suspect
labels first: rows that were chosen by their label and their score are not chosen by the verdict.

The posterior of a, b and c is approximated by a normal distribution around its maximum, and its draws
give the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hardwood.noise.checks import Array, Labels

# Standard deviations of a, b and c, and the mean of a, which is above 0 because the audit's scores tend
# to be too low where labels are wrong. Chosen on the development half of the real tables, such that 90 %
# intervals contain the number of wrong labels there. b and c have mean 0.
_SHIFT, _SLOPE, _OF_CLASS, _CENTRE = 0.4, 0.22, 0.3, 0.3
# The standard deviation and the mean of a in tables that cannot tell which labels are wrong. No score is
# above 0.5 there, so the scores are far too low.
_BLIND_SHIFT, _BLIND_CENTRE = 0.6, 1.4
# With more classes, each has few verdicts, and one shift has to do for all.
_MAX_CLASSES = 30
# Probabilities are kept this far from 0 and 1.
_LEAST = 1e-4
_N_STEPS, _TOLERANCE = 50, 1e-8
N_DRAWS = 400


@dataclass(frozen=True)
class Calibration:
    """The posterior of a, b and c.

    Attributes
    ----------
    mean : ndarray of shape (n_parameters,)
        Its maximum: a, b, and c of each class if there are few.
    root : ndarray of shape (n_parameters, n_parameters)
        A square root of its covariance.
    n_verdicts : int
        Number of verdicts.
    """

    mean: Array
    root: Array
    n_verdicts: int

    def wrong(self, scores: Array, given: Labels) -> Array:
        """Return P(wrong) of labels that nobody has checked."""
        if not self.n_verdicts:
            return scores
        return wrong_by(log_odds(scores), given, self.mean)

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
    can_tell: bool = True,
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
    can_tell : bool, default=True
        Whether the audit can tell which labels are wrong.
    """
    z = log_odds(scores)
    n_effects = n_classes if n_classes <= _MAX_CLASSES else 0
    shift, middle = (_SHIFT, _CENTRE) if can_tell else (_BLIND_SHIFT, _BLIND_CENTRE)
    prior = np.array([shift, _SLOPE, *[_OF_CLASS] * n_effects]) ** -2.0
    centre = np.zeros(len(prior))
    centre[0] = middle
    mean, precision = centre, np.diag(prior)
    columns = _columns(z, given, n_effects)
    missed, invented = _mistakes(n_classes, reviewer_accuracy)
    for _ in range(_N_STEPS if len(z) else 0):
        p = expit(z + columns @ mean)
        q = invented + (1 - missed - invented) * p  # P(the reviewer finds another label)
        q = np.clip(q, 1e-9, 1 - 1e-9)
        slope = (1 - missed - invented) * p * (1 - p)
        gradient = columns.T @ (slope * (said_wrong - q) / (q * (1 - q))) - prior * (mean - centre)
        information = slope**2 / (q * (1 - q))
        precision = (columns.T * information) @ columns + np.diag(prior)
        step = np.linalg.solve(precision, gradient)
        # Steps of at most 1 keep the search from leaping over the maximum.
        mean = mean + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < _TOLERANCE:
            break
    return Calibration(mean, np.linalg.inv(np.linalg.cholesky(precision)).T, len(z))


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
    return np.asarray(logit(np.clip(scores, _LEAST, 1 - _LEAST)))


def wrong_by(z: Array, given: Labels, parameters: Array) -> Array:
    """Return P(wrong) for each row, or for each draw of the parameters and each row."""
    effects = parameters[..., 2:]
    shift = parameters[..., :1] + (effects[..., given] if effects.shape[-1] else 0)
    return np.asarray(expit(z * (1 + parameters[..., 1:2]) + shift))


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

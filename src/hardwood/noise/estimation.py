"""Estimate the noise matrix from out-of-sample probabilities of the observed labels.

Let s be the probabilities of a row's *observed* label, from a model that has not seen that label.
The noise model is::

    P(true = i | x)     = p_i(x) ∝ s_i(x)^a · exp(b_i)
    P(observed = j | x) = Σ_i p_i(x) T[i, j]

A model trained on noisy labels is less sure of the true class than it could be: noise lowers the
largest s and raises the others. The exponent a sharpens s again, b moves the boundaries between
classes that are mislabelled at different rates, and T explains what remains. All three are fitted
to the observed labels by maximum likelihood.

Labels alone cannot tell noise from overlapping classes: if s were exact, "no noise, a = 1" would
explain them as well as the truth does. T therefore has a prior, given by the labels of the rows
whose class is most certain, where classes overlap least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from hardwood.noise.checks import Array, Labels, check_labels, check_proba
from hardwood.noise.truth import of_label, posterior

# Mixed into s, so that no class is impossible only because a few dozen trees never voted for it.
_EVEN = 0.02
# The prior is read from at least this many, and this share, of the rows predicted as a class. They
# are chosen by the share of the class's own label, less this many standard errors.
_FEWEST, _LEAST_SHARE, _ERRORS = 200, 0.3, 2.0
_UNKNOWN_RATE, _LEAST_START = 0.2, 1e-3
# The fit starts from the most likely of these: strongly smoothed votes need large exponents.
_START_EXPONENTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# The prior counts as this share of each class's labels, plus one label, so that no entry of T
# becomes 0. A larger share takes more overlap for noise; a smaller one takes more noise for overlap.
_PRIOR_SHARE, _PRIOR_LABELS = 0.25, 1.0
# Pulls b towards 0, as a normal prior does: boundaries move only if the labels say so.
_STIFFNESS = 1e-3
# A random sample of the rows is enough beyond this many numbers in s.
_MOST_NUMBERS = 300_000
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class NoiseModel:
    """A fitted noise model.

    Attributes
    ----------
    T : ndarray of shape (n_classes, n_classes)
        The noise matrix, ``T[i, j] = P(observed j | true i)``.
    exponent : float
        a.
    offset : ndarray of shape (n_classes,)
        b.
    """

    T: Array
    exponent: float
    offset: Array

    def truth(self, proba: Array, least_exponent: float = 0.0) -> Array:
        """Return P(true | x).

        Parameters
        ----------
        proba : ndarray of shape (n_rows, n_classes)
            s.
        least_exponent : float, default=0
            Smallest exponent to sharpen with. b is scaled along with a, so that the boundaries
            between the classes stay.
        """
        more = max(1.0, least_exponent / self.exponent)
        return _softmax(more * (self.exponent * _log(proba) + self.offset))

    def wrong(self, proba: Array, labels: Labels) -> Array:
        """Return P(true ≠ y | x, observed = y), the probability that each label is wrong."""
        return 1 - of_label(posterior(self.truth(proba), self.T, labels), labels)

    def noise_rate(self, proba: Array, labels: Labels, weights: Array | None = None) -> float:
        """Return the expected share of wrong labels, the mean of `wrong`."""
        return float(np.average(self.wrong(proba, labels), weights=weights))


class Noise(NamedTuple):
    """A noise matrix, and the share of wrong labels."""

    matrix: Array
    rate: float


def estimate_noise_matrix(y: Any, proba: Any, *, classes: Any = None) -> Array:
    """Estimate the noise matrix of labels from out-of-sample probabilities of any classifier.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels, some of them wrong.
    proba : array-like of shape (n_samples, n_classes)
        Probabilities of the labels, predicted by a classifier that was trained on such labels but
        not on the row itself: out of bag, or by cross-validation. Columns are in the order of the
        classes.
    classes : array-like of shape (n_classes,), default=None
        The classes. None means the sorted labels of `y`.

    Returns
    -------
    T : ndarray of shape (n_classes, n_classes)
        ``T[i, j]`` is the probability that a label of true class i is observed as j. Rows sum
        to 1.

    See Also
    --------
    hardwood.audit.LabelAudit : Also provides the classifier.

    Notes
    -----
    With s the probabilities of a row, the probabilities of the true class are modelled as
    proportional to ``s_i^a exp(b_i)``, and T turns them into those of the observed label. a, b and
    T maximize the likelihood of the labels. Classes that no classifier can tell apart look like
    classes that are mistaken for each other: if classes overlap, T overestimates the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_predict
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import class_conditional, corrupt, estimate_noise_matrix
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, class_conditional([0.1, 0.2]), random_state=0)
    >>> forest = RandomForestClassifier(50, min_samples_leaf=20, random_state=0)
    >>> proba = cross_val_predict(forest, data.X_train, noisy_y, method="predict_proba")
    >>> estimate_noise_matrix(noisy_y, proba).round(1)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    classes, labels = check_labels(y, classes)
    return fit_noise_model(check_proba(proba, len(labels), classes), labels).T


def estimated_noise(
    proba: Array, labels: Labels, weights: Array | None = None, T: Array | None = None
) -> Noise:
    """Estimate the noise, or only its rate if the noise matrix T is known."""
    model = fit_noise_model(proba, labels, weights)
    if T is not None:
        model = replace(model, T=T)
    return Noise(model.T, model.noise_rate(proba, labels, weights))


def fit_noise_model(
    proba: Array,
    labels: Labels,
    weights: Array | None = None,
    *,
    start: NoiseModel | None = None,
    max_iterations: int = 100,
) -> NoiseModel:
    """Fit the noise model by maximum likelihood.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_classes)
        Out-of-sample probabilities of the observed labels.
    labels : ndarray of int of shape (n_rows,)
        The observed labels.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows. Their scale does not matter.
    start : NoiseModel, optional
        Where to start.
    max_iterations : int, default=100
        Maximum number of iterations.
    """
    n_rows, n_classes = proba.shape
    weights = np.ones(n_rows) if weights is None else weights
    most = max(1, _MOST_NUMBERS // n_classes)
    if n_rows > most:
        rows = np.random.default_rng(0).permutation(n_rows)[:most]
        proba, labels, weights = proba[rows], labels[rows], weights[rows]
    weights = weights / weights.mean()
    T = confident_matrix(proba, labels, weights)
    in_class = np.bincount(labels, weights=weights, minlength=n_classes)
    prior = (_PRIOR_LABELS + _PRIOR_SHARE * in_class)[:, np.newaxis] * T
    likelihood = _Likelihood(proba, labels, prior, weights)
    if start is None:
        starts = [NoiseModel(T, a, np.zeros(n_classes)) for a in _START_EXPONENTS]
        start = min(starts, key=lambda model: likelihood.loss(likelihood.packed(model))[0])
    found = minimize(
        likelihood.loss,
        likelihood.packed(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "ftol": _TOLERANCE},
    )
    return likelihood.unpacked(found.x)


def confident_matrix(proba: Array, labels: Labels, weights: Array) -> Array:
    """Return the T observed among the rows whose class is most certain.

    For each class, take the rows predicted as that class, the most certain first. Take as many as
    maximize the share of the class's own label, less two standard errors; but at least 200 of them
    and 30 %.
    """
    n_classes = proba.shape[1]
    T = np.empty((n_classes, n_classes))
    predicted = proba.argmax(axis=1)
    for k in range(n_classes):
        rows = np.flatnonzero(predicted == k)
        if not len(rows):
            T[k] = _UNKNOWN_RATE / (n_classes - 1)
            T[k, k] = 1 - _UNKNOWN_RATE
            continue
        rows = rows[np.argsort(-proba[rows, k], kind="stable")]
        n = np.cumsum(weights[rows])
        share = (np.cumsum(weights[rows] * (labels[rows] == k)) + 1) / (n + 2)
        at_least = share - _ERRORS * np.sqrt(share * (1 - share) / n)
        fewest = min(max(_FEWEST, int(_LEAST_SHARE * len(rows))), len(rows))
        taken = rows[: fewest + int(np.argmax(at_least[fewest - 1 :]))]
        in_class = np.bincount(labels[taken], weights=weights[taken], minlength=n_classes)
        T[k] = in_class / in_class.sum()
    T = np.maximum(T, _LEAST_START)
    return np.asarray(T / T.sum(axis=1, keepdims=True))


class _Likelihood:
    """The negative mean log-likelihood as a function of one vector: log a, b, log T by rows.

    The prior on T counts as `pseudo_counts[i, j]` more rows of true class i and label j.
    """

    def __init__(self, proba: Array, labels: Labels, pseudo_counts: Array, weights: Array) -> None:
        order = np.argsort(labels, kind="stable")  # rows of the same label together
        self._log_proba = _log(proba[order])
        self._n_rows, self._n_classes = proba.shape
        self._weights = weights[order]
        self._counts = np.bincount(labels, minlength=self._n_classes)
        self._present = self._counts > 0
        self._firsts = (np.cumsum(self._counts) - self._counts)[self._present]
        self._pseudo_counts = pseudo_counts

    @staticmethod
    def packed(model: NoiseModel) -> Array:
        log_T = np.log(np.maximum(model.T, 1e-6)).ravel()
        return np.concatenate([[np.log(model.exponent)], model.offset, log_T])

    def unpacked(self, packed: Array) -> NoiseModel:
        K = self._n_classes
        T = _softmax(packed[1 + K :].reshape(K, K))
        return NoiseModel(T, float(np.exp(packed[0])), packed[1 : 1 + K])

    def loss(self, packed: Array) -> tuple[float, Array]:
        model = self.unpacked(packed)
        a, b, T = model.exponent, model.offset, model.T
        p = _softmax(a * self._log_proba + b)
        joint = p * np.repeat(T.T, self._counts, axis=0)  # P(true i, the observed label | x)
        observed = joint.sum(axis=1)
        weights = self._weights[:, np.newaxis]
        posterior = weights * (joint / observed[:, np.newaxis])
        # The gradients: the difference between what the labels say and what was expected.
        surprise = posterior - weights * p
        moved = self._pseudo_counts.copy()  # true i, observed j
        moved[:, self._present] += np.add.reduceat(posterior, self._firsts, axis=0).T
        gradient = np.concatenate(
            [
                [-a * np.vdot(surprise, self._log_proba)],
                -surprise.sum(axis=0) + self._n_rows * _STIFFNESS * b,
                (moved.sum(axis=1, keepdims=True) * T - moved).ravel(),
            ]
        )
        loss = (
            -(self._weights * np.log(observed)).sum()
            - np.vdot(self._pseudo_counts, np.log(T))
            + self._n_rows * _STIFFNESS * (b @ b) / 2
        )
        return float(loss / self._n_rows), gradient / self._n_rows


def _log(proba: Array) -> Array:
    """Return log s, with an even share of all classes mixed in."""
    return np.asarray(np.log((proba + _EVEN / proba.shape[1]) / (1 + _EVEN)))


def _softmax(logits: Array) -> Array:
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=1, keepdims=True))

"""How labels came about: classes as sharp as the labels allow, mislabelled by a noise matrix.

With s the out-of-sample probabilities of a row's *observed* label, none of which knows that label
itself, the model is::

    P(true = i | x)     = p_i(x) ∝ s_i(x)^a · exp(b_i)
    P(observed = j | x) = Σ_i p_i(x) T[i, j]

A forest that learnt from noisy labels is less sure of the true class than it could be: noise
lowers the largest s and lifts the others. The exponent a sharpens it again, b moves the borders
between classes of which one is mislabelled more than the other, and T is what then remains to be
explained. All three are fitted by maximum likelihood to the labels observed.

Labels alone cannot tell noise from classes that overlap: were s exact, "no noise, a = 1" would
explain them as well as the truth does. So T has a prior, the labels of the rows whose class is
surest, where classes overlap least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from hardwood.audit._checks import Array, Labels

# Mixed into s, so that no class is impossible because a few dozen trees never voted for it.
_EVEN = 0.02
# Of the rows predicted as a class, so many and that share at least tell what to start T from; the
# share of the class's own label among them counts less that many standard errors.
_FEWEST, _LEAST_SHARE, _ERRORS = 200, 0.3, 2.0
_UNKNOWN_RATE, _LEAST_START = 0.2, 1e-3
# The likeliest of these is started from: much smoothed votes ask for large exponents.
_START_EXPONENTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# What these rows tell counts as that share of each class's labels, and as one label more, so that
# no entry of T ends at 0. A larger share takes more overlap for noise, a smaller one less noise for
# noise.
_PRIOR_SHARE, _PRIOR_LABELS = 0.25, 1.0
# Draws b to 0 as a normal prior would: the borders move where the labels say so.
_STIFFNESS = 1e-3
# More numbers than this in s tell no more: a random part of the rows is enough.
_MOST_NUMBERS = 300_000
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class NoiseModel:
    """A fitted model of the labels.

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
        """Return P(true | x), from probabilities of the observed labels.

        Parameters
        ----------
        proba : ndarray of shape (n_rows, n_classes)
            s.
        least_exponent : float, default=0
            Sharpen at least so far; b goes with a, so that the borders between classes stay.
        """
        more = max(1.0, least_exponent / self.exponent)
        return _softmax(more * (self.exponent * _log(proba) + self.offset))


def fit_noise_model(
    proba: Array,
    labels: Labels,
    *,
    start: NoiseModel | None = None,
    max_iterations: int = 100,
) -> NoiseModel:
    """Fit the model by maximum likelihood.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_classes)
        Out-of-sample probabilities of the observed labels.
    labels : ndarray of int of shape (n_rows,)
        The labels observed.
    start : NoiseModel, optional
        Where to start.
    max_iterations : int, default=100
        When to end at the latest.
    """
    n_rows, n_classes = proba.shape
    most = max(1, _MOST_NUMBERS // n_classes)
    if n_rows > most:
        rows = np.random.default_rng(0).permutation(n_rows)[:most]
        proba, labels = proba[rows], labels[rows]
    T = confident_matrix(proba, labels)
    weight = _PRIOR_LABELS + _PRIOR_SHARE * np.bincount(labels, minlength=n_classes)
    likelihood = _Likelihood(proba, labels, weight[:, np.newaxis] * T)
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


def confident_matrix(proba: Array, labels: Labels) -> Array:
    """Return the T that the rows tell of whose class the probabilities are surest.

    For each class, the rows predicted as it are taken from the surest on, as many as make the
    share of that class's own label, less two standard errors, the highest; at least 200 and 30 %.
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
        n = np.arange(1, len(rows) + 1)
        share = (np.cumsum(labels[rows] == k) + 1) / (n + 2)
        at_least = share - _ERRORS * np.sqrt(share * (1 - share) / n)
        fewest = min(max(_FEWEST, int(_LEAST_SHARE * len(rows))), len(rows))
        n_taken = fewest + int(np.argmax(at_least[fewest - 1 :]))
        T[k] = np.bincount(labels[rows[:n_taken]], minlength=n_classes) / n_taken
    T = np.maximum(T, _LEAST_START)
    return np.asarray(T / T.sum(axis=1, keepdims=True))


class _Likelihood:
    """The negative mean log likelihood as a function of one vector: log a, b, log T by rows.

    T's entries have a prior, as if `pseudo_counts` of rows of true class i with label j were seen.
    """

    def __init__(self, proba: Array, labels: Labels, pseudo_counts: Array) -> None:
        order = np.argsort(labels, kind="stable")  # rows of a label together
        self._log_proba = _log(proba[order])
        self._n_rows, self._n_classes = proba.shape
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
        joint = p * np.repeat(T.T, self._counts, axis=0)  # P(true i, the label observed | x)
        observed = joint.sum(axis=1)
        posterior = joint / observed[:, np.newaxis]
        # The gradients: how far what the labels say differs from what was expected without them.
        surprise = posterior - p
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
            -np.log(observed).sum()
            - np.vdot(self._pseudo_counts, np.log(T))
            + self._n_rows * _STIFFNESS * (b @ b) / 2
        )
        return float(loss / self._n_rows), gradient / self._n_rows


def _log(proba: Array) -> Array:
    """Return log s, an even share of all classes mixed in."""
    return np.asarray(np.log((proba + _EVEN / proba.shape[1]) / (1 + _EVEN)))


def _softmax(logits: Array) -> Array:
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exp / exp.sum(axis=1, keepdims=True))

"""How noise made the observed labels, judged by out-of-sample votes on them.

Let s be the probabilities of a row's *observed* label, such as the mean votes of trees that did not
see the row. The model is::

    P(true = i | x)     = p_i(x) ∝ (s_i(x) exp(b_i))^a
    P(observed = j | x) = Σ_i p_i(x) T[i, j]

Noise and smoothing make s less sure of the true class than it could be. The exponent a sharpens it
again, and T explains the labels that still disagree. As a rule the noise is uniform, ``T = (1 − e) I
+ e/K``, and b = 0, so that sharpening never changes which class is most probable. If the labels say so
clearly, T is not uniform: two classes have a rate each, and b moves the threshold between them; more
classes are mistaken for each other as the surest rows show, ``T = (1 − e) I + e C``, with C the labels
of the rows that s is surest of. If that makes the labels more likely, only the wrong labels of these rows
count, and all classes have the same rate: sure rows of rare classes can be of other classes.

Labels alone cannot tell noise from overlap of the classes: if s were exact, "no noise, a = 1" would
explain them as well as the truth does. The votes of trees are not that exact: they scatter, and labels
that do not follow the scatter tell of noise. For probabilities that may be exact, the prior can prefer
models that are sure of the class where s is surest, where classes overlap least. Few labels do not tell
a from e. So there is no single fit: probabilities are means over all a, b and
T on a grid, weighted by prior times likelihood. The maximum of the likelihood overfits small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.noise import truth
from hardwood.noise.checks import Array, Labels
from hardwood.noise.matrices import check_matrix, uniform
from hardwood.noise.sharpening import (
    EXPONENTS,
    LEAST_WEIGHT,
    Sharpening,
    exponent_prior,
    log_of,
    softmax,
    weights_of,
)
from hardwood.noise.two_rates import (
    OFFSETS,
    mean_matrix_of_two,
    noise_rates_of_two,
    prior_of_two_rates,
    sharpening_of_two,
    with_two_rates,
)
from hardwood.noise.vote_likelihoods import MAX_NUMBERS

# The surest rows together count as this many labels of their classes. Each of them counts as a share of
# a label for probabilities that may be exact, and where more than two classes are mistaken for each
# other; and as a smaller share for the question whether two rates differ.
_SURE_LABELS, SURE, _SURE_OF_TWO = 1.0, 0.25, 0.1
_MIXED_IN = np.concatenate([[0, 0.01], np.arange(0.025, 0.96, 0.025)])  # e
# The surest rows of a class are at least this many, and this share, of those predicted as it. They are
# chosen by the share of the class's own label, less this many standard errors.
_FEWEST, _LEAST_SHARE, _ERRORS = 200, 0.3, 2.0
# Rates differ, or votes know something about the labels, if that is e³ = 20 times as likely.
CLEAR = 3.0
# Weak labels may be noisy labels of clear classes, or clean labels of classes that overlap. In a table
# of n rows, a share of 50/(n + 50) is kept for the latter: no noise, with log a around log 1.5.
_ROWS_OF_DOUBT, _CLEAN_EXPONENT = 50.0, 1.5
# And a probability of 20/(n + 20) that no label is wrong.
_ROWS_OF_TRUST = 20.0
# If labels are more random than this, T[0, 1] + T[1, 0], they do not tell which class is mislabelled
# more often.
_MOST_RANDOM = 0.7
# If neither class is mislabelled as often as this, a corrected decision would be nearly the same.
_LEAST_RATE = 0.1
_LIGHTEST = 1e-30
# More rows than this hardly change the weights.
_MAX_ROWS = 20_000
# Rows whose probabilities at all rates are in memory at once.
_ROWS_AT_ONCE = 2**16
# T is read off the labels in so many steps, from uniform noise on, which counts as some labels.
_STEPS, _PRIOR_LABELS = 3, 2.0
# The interval of the noise rate holds this much of the weight, and is this much wider on both sides,
# as overlap of the classes can look like noise, and noise like overlap.
_TAIL, _OVERLAP = 0.05, 0.015


@dataclass(frozen=True)
class LabelModel:
    """What the labels of a table say about their noise.

    Attributes
    ----------
    sharpening : Sharpening
        Turns s into P(true | x).
    T : ndarray of shape (n_classes, n_classes)
        The noise matrix, ``T[i, j] = P(observed j | true i)``.
    rate_interval : tuple of float
        A low and a high estimate of the share of wrong labels.
    asymmetry : float
        The logarithm of how much more likely the labels are if the rates of two classes differ.
    learnt : float
        The logarithm of how much more likely the labels are given s than by their frequencies
        alone.
    uniform_weights : ndarray of shape (n_exponents, n_rates) or None
        The weights of all a and e if the noise is uniform, else None.
    clean : float
        A probability that is kept for no label being wrong.
    """

    sharpening: Sharpening
    T: Array
    rate_interval: tuple[float, float]
    asymmetry: float
    learnt: float
    uniform_weights: Array | None = None
    clean: float = 0.0

    @property
    def is_asymmetric(self) -> bool:
        """Whether the labels clearly say that two classes are mislabelled at different rates."""
        return self.asymmetry > CLEAR

    @property
    def can_tell(self) -> bool:
        """Whether s knows anything about the labels, so that one can tell wrong ones."""
        return self.learnt > CLEAR

    def truth(self, proba: Array) -> Array:
        """Return P(true | x), from s."""
        return self.sharpening.probabilities(proba)

    def posterior(self, proba: Array, labels: Labels) -> Array:
        """Return P(true | x, observed label)."""
        return truth.posterior(self.truth(proba), self.T, labels)

    def right(self, proba: Array, labels: Labels) -> Array:
        """Return P(true = y | x, observed = y), the probability that each label is right.

        This leaves `clean` aside, which would hide how small the probability is.

        Uniform noise is not taken at its mean rate: the probabilities at all rates are averaged. If
        there may be no noise at all, no label is surely wrong.
        """
        if self.uniform_weights is None:
            return truth.of_label(self.posterior(proba, labels), labels)
        log = log_of(proba, self.sharpening.even)
        right, total = np.zeros(len(labels)), 0.0
        even = _MIXED_IN / proba.shape[1]
        for a, weight in zip(EXPONENTS, self.uniform_weights, strict=True):
            if weight.sum() > LEAST_WEIGHT:
                of_all = _own(a, log, labels)[:, np.newaxis]
                for first in range(0, len(labels), _ROWS_AT_ONCE):
                    rows = slice(first, first + _ROWS_AT_ONCE)
                    own = of_all[rows]
                    observed = np.maximum((1 - _MIXED_IN) * own + even, 1e-300)
                    right[rows] += (own * (1 - _MIXED_IN + even) / observed) @ weight
                total += weight.sum()
        return np.asarray(np.minimum(right / total, 1))

    def wrong(self, proba: Array, labels: Labels) -> Array:
        """Return P(true ≠ y | x, observed = y), the probability that each label is wrong."""
        return np.asarray((1 - self.clean) * (1 - self.right(proba, labels)))

    def noise_rate(self, proba: Array, labels: Labels, weights: Array | None = None) -> float:
        """Return the expected share of wrong labels, the mean of `wrong`."""
        return float(np.average(self.wrong(proba, labels), weights=weights))


def relative(weights: Array) -> Array:
    """Return weights relative to the largest, but none so small that its square would vanish."""
    return np.asarray(np.maximum(weights / weights.max(), _LIGHTEST))


def fit_label_model(
    proba: Array,
    labels: NDArray[Any],
    weights: Array | None = None,
    *,
    n_votes: float = 50.0,
    sure: float = 0.0,
    T: Array | None = None,
    may_differ: bool = True,
) -> LabelModel:
    """Weigh all models by the labels.

    Parameters
    ----------
    proba : ndarray of shape (n_rows, n_classes)
        s, out-of-sample probabilities of the observed labels.
    labels : ndarray of int of shape (n_rows,)
        The observed labels.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows. Their scale does not matter.
    n_votes : float, default=50
        How many votes s is a mean of: it may be off by one of them.
    sure : float, default=0
        The share of a label that each of the surest rows counts as; `SURE` for probabilities that
        may be exact. (On real tables, votes of forests with 0.1 doubled the calibration error.)
    T : ndarray of shape (n_classes, n_classes), optional
        The noise matrix, if it is known.
    may_differ : bool, default=True
        Whether the rates of two classes may differ, if they are not known.
    """
    n_classes = proba.shape[1]
    even = min(1.0, 1 / n_votes)
    if n_classes == 1:
        certain = Sharpening(np.ones(1), np.zeros((1, 1)), np.ones(1), even)
        return LabelModel(certain, np.ones((1, 1)), (0.0, 0.0), 0.0, np.inf)
    labels = labels.astype(np.intp)
    all_rows = proba, labels, weights
    weights = np.ones(len(labels)) if weights is None else relative(weights)
    most = min(_MAX_ROWS, max(1, MAX_NUMBERS // n_classes))
    n_effective = weights.sum() ** 2 / np.square(weights).sum()
    if len(labels) > most:
        rows = np.random.default_rng(0).permutation(len(labels))[:most]
        proba, labels, weights = proba[rows], labels[rows], weights[rows]
    weights = weights * (n_effective / weights.sum())
    in_class = np.asarray(
        np.bincount(labels, weights=weights, minlength=n_classes), dtype=np.float64
    )
    log = log_of(proba, even)
    symmetric = _mixed_with_even(log, labels, weights, EXPONENTS, _MIXED_IN)
    surest = _surest_rows(proba, labels, weights)
    sure = max(sure, _SURE_LABELS / sum(weights[rows].sum() for rows in surest))
    of_surest = _log_of_surest(log, surest, weights, np.zeros(1))
    log_prior = exponent_prior(EXPONENTS)[:, np.newaxis]
    if n_classes == 2:
        likelihood = with_two_rates(log[:, 1] - log[:, 0], labels, weights, T)
        sure_of_two = max(sure, _SURE_OF_TWO)
        of_two = _log_of_surest(log, surest, weights, OFFSETS)[:, :, np.newaxis, np.newaxis]
        likelihood = likelihood + sure_of_two * of_two
        prior_of_two = prior_of_two_rates(None if T is None else likelihood.shape[2:])
        asymmetry = _log_mean_exp(likelihood, prior_of_two) - _log_mean_exp(
            symmetric + sure_of_two * of_surest, log_prior
        )
        asymmetry = np.inf if T is not None else asymmetry if may_differ else -np.inf
        if T is None:
            rates_of_two = 1 - np.diag(mean_matrix_of_two(weights_of(likelihood + prior_of_two)))
            if rates_of_two.sum() > _MOST_RANDOM or rates_of_two.max() < _LEAST_RATE:
                asymmetry = -np.inf
    else:
        mixed_in = np.linspace(0, 1, 41) if T is None else np.ones(1)
        ways = _WAYS_TO_MISTAKE if T is None else (lambda *_: T,)
        sure_of_more = max(sure, SURE)
        likelihoods = (
            _mixed_with_surest(ways, proba, log, labels, weights, mixed_in)
            + sure_of_more * of_surest
        )
        chosen = int(np.argmax(likelihoods.max(axis=(1, 2))))
        C, likelihood = ways[chosen](surest, labels, weights), likelihoods[chosen]
        asymmetry = _log_mean_exp(likelihood, log_prior) - _log_mean_exp(
            symmetric + sure_of_more * of_surest, log_prior
        )
    if_clean = _if_clean(symmetric, n_effective) * (T is None)
    of_uniform, n_steps = None, _STEPS
    if n_classes > 2 and (asymmetry > CLEAR or T is not None):
        weight = weights_of(likelihood + log_prior)
        sharpening = _sharpening(weight, if_clean, n_classes, even)
        rates = mixed_in * _rate_of(C, in_class), weight.sum(axis=0)
        start = np.eye(n_classes) + float(mixed_in @ rates[1]) * (C - np.eye(n_classes))
        if T is None and ways[chosen] is _wrong_labels_of:
            n_steps = 1  # more of them would take overlap of the classes for noise
    elif asymmetry > CLEAR:
        weight = weights_of(likelihood + prior_of_two)
        sharpening = sharpening_of_two(weight, if_clean, even)
        rates = noise_rates_of_two(weight, labels, weights, T)
        start = mean_matrix_of_two(weight) if T is None else T
    else:
        weight = weights_of(symmetric + sure * of_surest + log_prior)
        sharpening = _sharpening(weight, if_clean, n_classes, even)
        rates = _MIXED_IN * (1 - 1 / n_classes), weight.sum(axis=0)
        start = uniform(n_classes, float(rates[0] @ rates[1]))
        of_uniform = weight
    frequencies = (in_class + 1 / n_classes) / (in_class.sum() + 1)
    return LabelModel(
        sharpening,
        _read_off(sharpening, start, n_steps, *all_rows) if T is None else T,
        _interval(*rates),
        float(asymmetry),
        float(symmetric.max() - in_class @ np.log(frequencies)),
        of_uniform,
        _ROWS_OF_TRUST / (n_effective + _ROWS_OF_TRUST) if T is None else 0.0,
    )


def _surest_rows(proba: Array, labels: Labels, weights: Array) -> list[NDArray[np.intp]]:
    """Return for each class the rows that are most certainly of that class.

    Take the rows predicted as the class, the most certain first. Take as many as maximize the share
    of the class's own label, less two standard errors; but at least 200 of them and 30 %.
    """
    predicted = proba.argmax(axis=1)
    surest = []
    for k in range(proba.shape[1]):
        rows = np.flatnonzero(predicted == k)
        if len(rows):
            rows = rows[np.argsort(-proba[rows, k], kind="stable")]
            n = np.cumsum(weights[rows])
            share = (np.cumsum(weights[rows] * (labels[rows] == k)) + 1) / (n + 2)
            at_least = share - _ERRORS * np.sqrt(share * (1 - share) / n)
            fewest = min(max(_FEWEST, int(_LEAST_SHARE * len(rows))), len(rows))
            rows = rows[: fewest + int(np.argmax(at_least[fewest - 1 :]))]
        surest.append(rows)
    return surest


def _log_of_surest(
    log: Array, surest: list[NDArray[np.intp]], weights: Array, offsets: Array
) -> Array:
    """Return the sum of log p_k over the surest rows of each class k, for each a and each b."""
    out = np.zeros((len(EXPONENTS), len(offsets)))
    for k, rows in enumerate(surest):
        ahead = log[rows] - log[rows, k][:, np.newaxis]
        for j, b in enumerate(offsets):
            moved = ahead + b * (np.arange(log.shape[1]) - k) if b else ahead
            for i, a in enumerate(EXPONENTS):
                with np.errstate(over="ignore"):
                    out[i, j] -= weights[rows] @ np.log(np.exp(a * moved).sum(axis=1))
    return np.maximum(out, -1e12)


# --- uniform noise -------------------------------------------------------------------------------


def _mixed_with_even(
    log: Array, labels: NDArray[Any], weights: Array, exponents: Array, mixed_in: Array
) -> Array:
    """Return the log-likelihood Σ log((1 − e) p_y + e/K) for each a and e."""
    n_classes = log.shape[1]
    out = np.empty((len(exponents), len(mixed_in)))
    for i, a in enumerate(exponents):
        own = _own(a, log, labels)
        observed = (1 - mixed_in) * own[:, np.newaxis] + mixed_in / n_classes
        out[i] = weights @ np.log(np.maximum(observed, 1e-300))
    return out


def _own(a: float, log: Array, labels: NDArray[Any]) -> Array:
    """Return p_y, with log p_y = −log Σ_k exp(a (log s_k − log s_y))."""
    ahead = log - log[np.arange(len(log)), labels][:, np.newaxis]
    with np.errstate(over="ignore"):
        return np.asarray(1 / np.exp(a * ahead).sum(axis=1))


def _if_clean(symmetric: Array, n_rows: float) -> Array:
    """Return the weights of the exponents if no label is wrong, as shares of all weights."""
    weight = weights_of(symmetric[:, 0] + exponent_prior(EXPONENTS, _CLEAN_EXPONENT))
    return weight * (_ROWS_OF_DOUBT / (n_rows + _ROWS_OF_DOUBT))


def _sharpening(weight: Array, if_clean: Array, n_classes: int, even: float) -> Sharpening:
    """Return the mean over a, given weights [a, e]."""
    of_exponent = weight.sum(axis=1) * (1 - if_clean.sum()) + if_clean
    kept = of_exponent > LEAST_WEIGHT * of_exponent.max()
    shares = of_exponent[kept] / of_exponent[kept].sum()
    return Sharpening(EXPONENTS[kept], np.zeros((kept.sum(), n_classes)), shares, even)


# --- more classes, mistaken as the surest rows show ---------------------------------------------


def _mixed_with_surest(
    ways: Sequence[Callable[..., Array]],
    proba: Array,
    log: Array,
    labels: Labels,
    weights: Array,
    mixed_in: Array,
) -> Array:
    """Return log-likelihoods, [way, a, e], if classes are mistaken as the surest rows show.

    Each way returns C from the surest rows. Each half of the rows is judged by the C of the other half: K²
    numbers fit their own labels well in any case.
    """
    halves = [np.arange(start, len(labels), 2) for start in (0, 1)]
    total = np.zeros((len(ways), len(EXPONENTS), len(mixed_in)))
    for half, other in (halves, halves[::-1]):
        surest = _surest_rows(proba[other], labels[other], weights[other])
        Cs = [way(surest, labels[other], weights[other]) for way in ways]
        total += _mixed_with(Cs, log[half], labels[half], weights[half], mixed_in)
    return total


def _mixed_with(
    Cs: Sequence[Array], log: Array, labels: NDArray[Any], weights: Array, mixed_in: Array
) -> Array:
    """Return the log-likelihood Σ log((1 − e) p_y + e Σ_i p_i C[i, y]) for each C, a and e."""
    rows = np.arange(len(labels))
    of_labels = [C[:, labels].T for C in Cs]
    out = np.empty((len(Cs), len(EXPONENTS), len(mixed_in)))
    for i, a in enumerate(EXPONENTS):
        p = softmax(a * log)
        own = (1 - mixed_in) * p[rows, labels][:, np.newaxis]
        for of_label, likelihood in zip(of_labels, out[:, i], strict=True):
            mistaken = np.einsum("ik,ik->i", p, of_label)[:, np.newaxis]
            likelihood[:] = weights @ np.log(np.maximum(own + mixed_in * mistaken, 1e-300))
    return out


def _rate_of(C: Array, in_class: Array) -> float:
    """Return the share of wrong labels if T is C, roughly."""
    return float((1 - np.diag(C)) @ in_class / in_class.sum())


def _labels_of(surest: list[NDArray[np.intp]], labels: Labels, weights: Array) -> Array:
    """Return the frequencies of the labels among the surest rows of each class."""
    n_classes = len(surest)
    C = uniform(n_classes, 0.2)
    for k, rows in enumerate(surest):
        counts = np.bincount(labels[rows], weights=weights[rows], minlength=n_classes)
        C[k] = (counts + C[k]) / (counts.sum() + 1)
    return C


def _wrong_labels_of(surest: list[NDArray[np.intp]], labels: Labels, weights: Array) -> Array:
    """Return the same, but each class keeps half of its labels: only the wrong ones are looked at."""
    wrong = _labels_of(surest, labels, weights)
    np.fill_diagonal(wrong, 0)
    return np.asarray((np.eye(len(wrong)) + wrong / wrong.sum(axis=1, keepdims=True)) / 2)


_WAYS_TO_MISTAKE = (_labels_of, _wrong_labels_of)


# --- what follows --------------------------------------------------------------------------------


def _log_mean_exp(log_likelihood: Array, log_prior: Array) -> float:
    """Return the logarithm of the likelihood's mean under the prior."""
    log_prior = np.broadcast_to(log_prior, log_likelihood.shape)
    joint = log_likelihood + log_prior
    top = joint.max()
    total_prior = np.exp(log_prior - log_prior.max()).sum()
    return float(top + np.log(np.exp(joint - top).sum()) - np.log(total_prior) - log_prior.max())


def _read_off(
    sharpening: Sharpening,
    T: Array,
    n_steps: int,
    proba: Array,
    labels: NDArray[Any],
    weights: Array | None,
) -> Array:
    """Return T as the labels show it: the expected labels of each class, given s and the labels."""
    p = sharpening.probabilities(proba)
    start = T
    n_classes = len(T)
    labels = labels.astype(np.intp)
    for _ in range(n_steps):
        posterior = truth.posterior(p, T, labels)
        if weights is not None:
            posterior = posterior * (weights / weights.mean())[:, np.newaxis]
        counts = np.zeros((n_classes, n_classes))
        for j in range(n_classes):
            counts[:, j] = posterior[labels == j].sum(axis=0)
        counts += _PRIOR_LABELS * start
        T = counts / counts.sum(axis=1, keepdims=True)
    return check_matrix(T)


def _interval(rates: Array, weights: Array) -> tuple[float, float]:
    order = np.argsort(rates, kind="stable")
    below = np.cumsum(weights[order])
    low = rates[order][np.searchsorted(below, _TAIL)]
    high = rates[order][min(int(np.searchsorted(below, 1 - _TAIL)), len(rates) - 1)]
    return max(0.0, float(low) - _OVERLAP), min(1.0, float(high) + _OVERLAP)

"""What the labels of several people and the votes of a forest say together.

The model is that of Dawid and Skene (1979), with a prior for each row that a forest provides. With s the
out-of-bag votes of the forest on row x, and l_a the label that annotator a gave::

    P(true = k | x)           = p_k ∝ π_k (s_k / s̄_k)^c
    P(l_a = j | true = k)     = T_a[k, j]
    P(true = k | x, labels)   ∝ p_k Π_a T_a[k, l_a]

The expectation-maximization algorithm finds the noise matrices T_a and the shares π of the classes. The
exponent c says how much the votes count. With c = 0, they do not count, and the model is that of Dawid and
Skene alone. All exponents are weighted by how likely they make the labels, with the prior exp(−c).

A forest that was trained on a consensus to which another forest has contributed repeats what that one said:
its votes seem to know more about the labels than they do. So there can be two kinds of votes. s is the
geometric mean of both, and the exponents are weighted by the votes of the forest that no other one has helped.

Priors keep small tables from being overfitted. An annotator's matrix is drawn towards uniform noise at the
annotator's own rate, and this rate towards that of all annotators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hardwood.audit.annotators import Annotations
from hardwood.noise.checks import Array, Labels

_EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
# An even share of all classes in the votes, so that no class is impossible.
_EVEN = 0.02
# Uniform noise, at the rate at which the annotator errs on all classes, counts as so many labels of
# each class. Rare classes have few labels of their own.
_PRIOR_LABELS = 50.0
# That rate, in turn, is drawn towards the rate of all annotators together, which counts as so many labels.
# From few rows, agreement does not tell which annotator is the better one, and an annotator who is
# trusted too much outvotes the others. Both were chosen on the development half of the real tables, and on
# tables that come with R packages.
_SHARED_LABELS = 100.0
_MAX_STEPS, _TOLERANCE = 200, 1e-5
# More rows hardly change the weights of the exponents.
_MAX_ROWS = 20_000
_LEAST_WEIGHT = 0.01
_TINY = 1e-300


@dataclass(frozen=True)
class Consensus:
    """What the labels of several people say together.

    Attributes
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        P(true class) of each row, given the labels and the forest's votes, if any.
    matrices : ndarray of shape (n_annotators, n_classes, n_classes)
        The noise matrix of each annotator.
    exponent : float
        How much the forest's votes count, on average.
    likelihood : float
        The logarithm of the likelihood of the labels, on average.
    """

    posterior: Array
    matrices: Array
    exponent: float
    likelihood: float

    @property
    def labels(self) -> Labels:
        """The consensus labels."""
        return np.asarray(self.posterior.argmax(axis=1), dtype=np.intp)

    def of_all_classes(self) -> Labels:
        """Return labels to train on: every class has the row at least where it is most probable."""
        labels = self.labels
        for k in np.setdiff1d(np.arange(self.posterior.shape[1]), labels):
            labels[self.posterior[:, k].argmax()] = k
        return labels

    def wrong(self, labels: Labels) -> Array:
        """Return the probability that each of some labels is wrong."""
        return np.asarray(1 - self.posterior[np.arange(len(labels)), labels])


def find_consensus(
    annotations: Annotations, votes: Array | None = None, unaided: Array | None = None
) -> Consensus:
    """Combine the labels of several people and the votes of a forest.

    Parameters
    ----------
    annotations : Annotations
        The labels.
    votes : ndarray of shape (n_rows, n_classes), default=None
        Out-of-bag probabilities of the classes; None for the model of Dawid and Skene alone.
    unaided : ndarray of shape (n_rows, n_classes), default=None
        The same by a forest trained on labels to which no forest has contributed. None if this is
        true of `votes`.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.audit.annotators import check_annotations
    >>> from hardwood.audit.consensus import find_consensus
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=500)
    >>> wrong = rng.random((500, 3)) < [0.05, 0.1, 0.4]
    >>> found = find_consensus(check_annotations(np.where(wrong, 1 - truth[:, None], truth[:, None])))
    >>> bool(found.matrices[1, 0, 0] > 0.8 > found.matrices[2, 0, 0])
    True
    """
    labels, start = annotations.labels, _shares_of_labels(annotations)
    if votes is None:
        return _maximized(labels, start, None, 0.0)
    log_odds = _log_odds(votes)
    judged = log_odds if unaided is None else _log_odds(unaided)
    rows = np.arange(len(votes))
    if len(rows) > _MAX_ROWS:
        rows = np.random.default_rng(0).permutation(len(rows))[:_MAX_ROWS]
    likelihoods = np.array(
        [_maximized(labels[rows], start[rows], judged[rows], c).likelihood for c in _EXPONENTS]
    )
    log_weights = likelihoods - np.array(_EXPONENTS)
    weights = np.exp(log_weights - log_weights.max())
    weights[weights < _LEAST_WEIGHT] = 0
    found = [
        (_maximized(labels, start, (log_odds + judged) / 2, c), weight / weights.sum())
        for c, weight in zip(_EXPONENTS, weights, strict=True)
        if weight
    ]
    return Consensus(
        np.asarray(sum(weight * each.posterior for each, weight in found)),
        np.asarray(sum(weight * each.matrices for each, weight in found)),
        float(sum(weight * each.exponent for each, weight in found)),
        float(sum(weight * each.likelihood for each, weight in found)),
    )


def _shares_of_labels(annotations: Annotations) -> Array:
    """Return the share of each class in the labels of a row, which a label spread evenly is added to."""
    counts = annotations.counts()
    return np.asarray((counts + 1 / counts.shape[1]) / (counts.sum(axis=1, keepdims=True) + 1))


def _log_odds(votes: Array) -> Array:
    even = (votes + _EVEN / votes.shape[1]) / (1 + _EVEN)
    return np.asarray(np.log(even) - np.log(even.mean(axis=0)))


def _maximized(
    labels: NDArray[np.intp],
    posterior: Array,
    log_odds: Array | None,
    exponent: float,
) -> Consensus:
    """Run expectation and maximization in turn."""
    (n_rows, n_annotators), n_classes = labels.shape, posterior.shape[1]
    moved = 0.0 if log_odds is None else exponent * log_odds
    said = _indicators(labels, n_classes)
    before = -np.inf
    for _ in range(_MAX_STEPS):
        shares = (posterior.sum(axis=0) + 1) / (n_rows + n_classes)
        counts = _label_counts(said, posterior, n_annotators)
        expected = _PRIOR_LABELS * _uniform(_accuracies(counts), n_classes)
        matrices = (counts + expected) / (counts + expected).sum(axis=2, keepdims=True)
        log_matrices = np.log(matrices + _TINY)
        log_prior = np.broadcast_to(np.log(shares) + moved, posterior.shape)
        joint = log_prior - _log_sum(log_prior) + said @ np.concatenate([T.T for T in log_matrices])
        total = _log_sum(joint)
        posterior = np.exp(joint - total)
        likelihood = float(total.sum() + (expected * log_matrices).sum())
        if likelihood - before < _TOLERANCE * n_rows:
            break
        before = likelihood
    return Consensus(posterior, matrices, exponent, likelihood)


def _accuracies(counts: Array) -> Array:
    """Return how often each annotator is right, drawn towards what all of them are together."""
    right, total = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    of_all = (right.sum() + 1) / (total.sum() + 2)
    return np.asarray((right + 1 + _SHARED_LABELS * of_all) / (total + 2 + _SHARED_LABELS))


def _indicators(labels: NDArray[np.intp], n_classes: int) -> csr_array:
    """Return for each annotator and each class a column of which rows got this label from them."""
    rows, annotators = np.nonzero(labels >= 0)
    columns = annotators * n_classes + labels[rows, annotators]
    shape = len(labels), labels.shape[1] * n_classes
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _label_counts(said: csr_array, posterior: Array, n_annotators: int) -> Array:
    """Return how often each annotator is expected to have given label j to true class k, as [a, k, j]."""
    n_classes = posterior.shape[1]
    counts = said.T @ posterior
    return np.asarray(counts.reshape(n_annotators, n_classes, n_classes).transpose(0, 2, 1))


def _uniform(accuracies: Array, n_classes: int) -> Array:
    """Return matrices of uniform noise, one for each accuracy."""
    wrong = ((1 - accuracies) / max(n_classes - 1, 1))[:, np.newaxis, np.newaxis]
    is_right = np.eye(n_classes, dtype=bool)
    return np.where(is_right, accuracies[:, np.newaxis, np.newaxis], wrong)


def _log_sum(values: Array) -> Array:
    top = values.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=1, keepdims=True)))

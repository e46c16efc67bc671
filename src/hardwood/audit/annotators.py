"""Labels of several people: what is true, and how reliable each of them is.

The model is that of Dawid and Skene (1979), with a prior for each row that a forest provides. With s the
out-of-bag votes of the forest on row x, and l_a the label that annotator a gave::

    P(true = k | x)           = p_k ∝ π_k (s_k / s̄_k)^c
    P(l_a = j | true = k)     = T_a[k, j]
    P(true = k | x, labels)   ∝ p_k Π_a T_a[k, l_a]

The expectation-maximization algorithm finds the noise matrices T_a and the shares π of the classes. The
exponent c says how much the votes count. It is the one that makes the labels most likely. With c = 0,
the votes do not count, and the model is that of Dawid and Skene alone.

Priors keep small tables from being overfitted. An annotator's matrix is drawn towards uniform noise at the
annotator's own rate, and this rate towards that of all annotators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.frames import Table
from hardwood.noise.checks import Array, Labels, check_labels
from hardwood.noise.matrices import uniform

_EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
# An even share of all classes in the votes, so that no class is impossible.
_EVEN = 0.02
# Uniform noise, at the rate at which the annotator errs on all classes, counts as so many labels of
# each class. Rare classes have few labels of their own.
_PRIOR_LABELS = 20.0
# That rate, in turn, is drawn towards the rate of all annotators together, which counts as so many labels.
# From few rows, agreement does not tell which annotator is the better one, and an annotator who is
# trusted too much outvotes the others. Chosen on the development half of the real tables.
_SHARED_LABELS = 100.0
_MAX_STEPS, _TOLERANCE = 200, 1e-5
# More rows hardly change which exponent is best.
_MAX_ROWS = 20_000


@dataclass(frozen=True)
class Annotations:
    """Labels of several people.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    labels : ndarray of int of shape (n_rows, n_annotators)
        Labels as positions among the classes, −1 where there is none.
    names : list of str
        What the annotators are called.
    """

    classes: NDArray[Any]
    labels: NDArray[np.intp]
    names: list[str]

    @property
    def is_given(self) -> NDArray[np.bool_]:
        """Where there is a label."""
        return np.asarray(self.labels >= 0)

    def counts(self) -> Array:
        """Return how many annotators gave each class to each row."""
        counts = np.zeros((len(self.labels), len(self.classes)))
        rows, _ = np.nonzero(self.is_given)
        np.add.at(counts, (rows, self.labels[self.is_given]), 1)
        return counts


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
        How much the forest's votes count.
    likelihood : float
        The logarithm of the likelihood of the labels.
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


def has_annotators(y: Any) -> bool:
    """Return whether y has a column for each of several people."""
    # As objects: an array of texts would have room for the longest of them in each row.
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    return len(shape) == 2 and shape[1] > 1


def check_annotations(Y: Any) -> Annotations:
    """Return labels of several people in standard form.

    Parameters
    ----------
    Y : array-like of shape (n_rows, n_annotators)
        The labels; NaN or None where an annotator gave none.
    """
    names = [str(name) for name in getattr(Y, "columns", [])]
    frame = Y.to_pandas() if hasattr(Y, "to_pandas") else Y
    values = np.asarray(
        frame.to_numpy(dtype=object) if hasattr(frame, "iloc") else frame, dtype=object
    )
    names = names or [f"annotator {k}" for k in range(values.shape[1])]
    if not len(values):
        raise ValueError("y must hold at least two labels, got 0.")
    is_given = np.array([[not _is_missing(value) for value in row] for row in values], dtype=bool)
    empty = np.flatnonzero(~is_given.any(axis=1))
    if len(empty):
        raise ValueError(
            f"y must have a label of at least one annotator in each row, but has none in {len(empty)} of "
            f"{len(values)} rows. The first is row {empty[0]}, counted from 0. Remove these rows."
        )
    silent = np.flatnonzero(~is_given.any(axis=0))
    if len(silent):
        raise ValueError(f"y: {names[silent[0]]!r} gave no label at all. Remove this column.")
    classes, found = check_labels(_of_one_type(values[is_given]))
    labels = np.full(values.shape, -1, dtype=np.intp)
    labels[is_given] = found
    return Annotations(classes, labels, names)


def _of_one_type(values: NDArray[np.object_]) -> NDArray[Any]:
    """Return labels as an array of their own type. Whole numbers next to NaN had become floats."""
    plain = values.tolist()
    if all(isinstance(value, float) and value.is_integer() for value in plain):
        return np.array([int(value) for value in plain])
    return np.array(plain) if len({type(value) for value in plain}) == 1 else values


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA
        return True


def majority(annotations: Annotations) -> Labels:
    """Return the most frequent label of each row, the first class if several are."""
    return np.asarray(annotations.counts().argmax(axis=1), dtype=np.intp)


def find_consensus(annotations: Annotations, votes: Array | None = None) -> Consensus:
    """Combine the labels of several people and the votes of a forest.

    Parameters
    ----------
    annotations : Annotations
        The labels.
    votes : ndarray of shape (n_rows, n_classes), default=None
        Out-of-bag probabilities of the classes; None for the model of Dawid and Skene alone.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood.audit.annotators import check_annotations, find_consensus
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=500)
    >>> wrong = rng.random((500, 3)) < [0.05, 0.1, 0.4]
    >>> found = find_consensus(check_annotations(np.where(wrong, 1 - truth[:, None], truth[:, None])))
    >>> bool(found.matrices[1, 0, 0] > 0.8 > found.matrices[2, 0, 0])
    True
    """
    start = annotations.counts()
    start = (start + 1 / start.shape[1]) / (start.sum(axis=1, keepdims=True) + 1)
    if votes is None:
        return _maximized(annotations.labels, start, None, 0.0)
    even = (votes + _EVEN / votes.shape[1]) / (1 + _EVEN)
    log_odds = np.log(even) - np.log(even.mean(axis=0))
    rows = np.arange(len(votes))
    if len(rows) > _MAX_ROWS:
        rows = np.random.default_rng(0).permutation(len(rows))[:_MAX_ROWS]
    alike = [
        _maximized(annotations.labels[rows], start[rows], log_odds[rows], c) for c in _EXPONENTS
    ]
    best = max(alike, key=lambda found: found.likelihood).exponent
    return _maximized(annotations.labels, start, log_odds, best)


def _maximized(
    labels: NDArray[np.intp], posterior: Array, log_odds: Array | None, exponent: float
) -> Consensus:
    """Run expectation and maximization in turn."""
    n_rows, n_annotators = labels.shape
    n_classes = posterior.shape[1]
    moved = 0.0 if log_odds is None or exponent == 0 else exponent * log_odds
    before = -np.inf
    for _ in range(_MAX_STEPS):
        shares = (posterior.sum(axis=0) + 1) / (n_rows + n_classes)
        counts = _label_counts(labels, posterior)
        prior = _PRIOR_LABELS * np.array([uniform(n_classes, 1 - p) for p in _accuracies(counts)])
        matrices = (counts + prior) / (counts + prior).sum(axis=2, keepdims=True)
        log_matrices = np.log(np.maximum(matrices, 1e-300))
        log_prior = np.log(shares) + moved
        log_prior = log_prior - _log_sum(np.broadcast_to(log_prior, posterior.shape))
        joint = np.array(np.broadcast_to(log_prior, posterior.shape))
        for a in range(n_annotators):
            given = labels[:, a] >= 0
            joint[given] += log_matrices[a][:, labels[given, a]].T
        total = _log_sum(joint)
        posterior = np.exp(joint - total)
        likelihood = float(total.sum() + (prior * log_matrices).sum())
        if likelihood - before < _TOLERANCE * n_rows:
            break
        before = likelihood
    return Consensus(posterior, matrices, exponent, likelihood)


def _label_counts(labels: NDArray[np.intp], posterior: Array) -> Array:
    """Return how often each annotator is expected to have given label j to true class k, as [a, k, j]."""
    n_classes = posterior.shape[1]
    return np.array(
        [
            np.stack([posterior[said == j].sum(axis=0) for j in range(n_classes)], axis=1)
            for said in labels.T
        ]
    )


def _accuracies(counts: Array) -> Array:
    """Return how often each annotator is right, drawn towards what all of them are together."""
    right, total = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    of_all = (right.sum() + 1) / (total.sum() + 2)
    return np.asarray((right + 1 + _SHARED_LABELS * of_all) / (total + 2 + _SHARED_LABELS))


def _log_sum(values: Array) -> Array:
    top = values.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=1, keepdims=True)))


def annotators_table(annotations: Annotations, consensus: Consensus) -> Table:
    """Return for each annotator the number of labels and how often they are right."""
    given = annotations.is_given
    agreed = annotations.labels == consensus.labels[:, np.newaxis]
    right = [
        float(consensus.posterior[given[:, a], annotations.labels[given[:, a], a]].mean())
        for a in range(len(annotations.names))
    ]
    return {
        "annotator": annotations.names,
        "labels": given.sum(axis=0),
        "accuracy": right,
        "agreement": [float(agreed[given[:, a], a].mean()) for a in range(len(right))],
    }


def agreement_table(annotations: Annotations) -> Table:
    """Return for each pair of annotators how often they agree, those that disagree most first."""
    labels, K = annotations.labels, len(annotations.classes)
    lines = []
    for a in range(labels.shape[1]):
        for b in range(a + 1, labels.shape[1]):
            both = (labels[:, a] >= 0) & (labels[:, b] >= 0)
            n = int(both.sum())
            same = float(np.mean(labels[both, a] == labels[both, b])) if n else np.nan
            shares = [np.bincount(labels[both, each], minlength=K) / max(n, 1) for each in (a, b)]
            by_chance = float(shares[0] @ shares[1])
            kappa = (same - by_chance) / (1 - by_chance) if by_chance < 1 else np.nan
            lines.append((annotations.names[a], annotations.names[b], n, same, kappa))
    lines.sort(key=lambda line: (np.isnan(line[3]), line[3]))
    names = ("first", "second", "rows", "agreement", "kappa")
    return {name: [line[k] for line in lines] for k, name in enumerate(names)}

"""A second opinion on the labels of small tables: what linear and radial ridge regression say about them.

Trees need many rows to follow a slanted line or a round border between classes. Ridge regression on the
labels follows them with few. It is cheap to judge each row without its own label. With H the matrix
that turns labels Y into fitted values, a row's prediction by a regression on all others is::

    f_i = Y_i − (Y − H Y)_i / (1 − H_ii)

The more likely a regression makes the labels, the more it counts. The votes of the trees are mixed with
the means of the linear and of the radial regressions in all shares, which count in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri
from scipy.stats import rankdata

from hardwood._core.far import take_rows
from hardwood._core.sparse import is_sparse
from hardwood.adaptive import AdaptiveForestClassifier
from hardwood.adaptive._mixing import mixtures
from hardwood.noise.checks import Array, Labels
from hardwood.noise.sharpening import weights_of
from hardwood.noise.vote_likelihoods import vote_likelihoods

# Larger tables have enough rows for trees, and more classes or columns would be costly.
MOST_ROWS, _MOST_NUMBERS = 10_000, 2_000_000
# Radial kernels, exp(−d²/2w²), with d the root mean square over columns. Rows are compared with so many.
_WIDTHS = (0.35, 0.7, 1.5)
_LANDMARKS = 400
_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
# Before the labels are looked at, trees count half, and each kind of regression a quarter.
_PRIOR_SHARES = np.array([0.5, 0.25, 0.25])
# Numbers of few values can be categories. Values are cut off at so many standard deviations.
_MOST_CATEGORIES, _FARTHEST = 10, 4.0
_LEAST_SCORE, _LEAST_EIGENVALUE = 1e-3, 1e-9

Features = Callable[[Array], Array]


@dataclass(frozen=True)
class Opinion:
    """Probabilities of the labels, and the logarithm of how likely they make them."""

    proba: Array
    log_likelihood: float


def is_asked(n_rows: int, n_columns: int, n_classes: int) -> bool:
    """Return whether a table is small enough for a second opinion.

    Examples
    --------
    >>> from hardwood.audit.second_opinion import is_asked
    >>> is_asked(1000, 20, 2), is_asked(20_000, 20, 2), is_asked(9000, 500, 2)
    (True, False, False)
    """
    return n_rows <= MOST_ROWS and n_rows * max(n_columns, 5 * n_classes) <= _MOST_NUMBERS


def on_table(
    votes: Array, n_votes: float, X: Any, y: Any, copies: NDArray[np.intp] | None, n_threads: int
) -> Array:
    """Return the votes on a table, mixed with a second opinion if the table is small.

    Parameters
    ----------
    votes, n_votes
        As for `with_second_opinion`.
    X, y : array-like
        The rows, here or on a cluster, and the labels that the trees were trained on.
    copies : ndarray of int of shape (n_rows,) or None
        Groups of rows that are copies of each other. The regressions see one row of each.
    n_threads : int
        Number of threads.
    """
    n_rows, n_classes = votes.shape
    n_columns = X.shape[1] if hasattr(X, "shape") else 1
    if n_classes < 2 or not is_asked(n_rows, n_columns, n_classes):
        return votes
    data = AdaptiveForestClassifier()._prepared(take_rows(X, np.arange(n_rows)), y, None)
    if not is_asked(n_rows, data.X.shape[1], n_classes):
        return votes
    X = data.X.toarray() if is_sparse(data.X) else data.X
    once: Any = slice(None) if copies is None else np.unique(copies, return_index=True)[1]
    labels = data.labels.astype(np.intp)[once]
    mixed = with_second_opinion(
        votes[once], n_votes, X[once], labels, data.category_columns, n_threads
    )
    return mixed if copies is None else mixed[copies]


def with_second_opinion(
    votes: Array,
    n_votes: float,
    X: Array,
    labels: Labels,
    category_columns: Sequence[int] = (),
    n_threads: int = 1,
) -> Array:
    """Mix out-of-sample votes with what regressions say.

    Parameters
    ----------
    votes : ndarray of shape (n_rows, n_classes)
        Out-of-sample probabilities of the labels by trees.
    n_votes : float
        How many votes they are a mean of.
    X : ndarray of shape (n_rows, n_features)
        The rows; NaN is a missing value.
    labels : ndarray of int of shape (n_rows,)
        The labels that the trees were trained on.
    category_columns : sequence of int, default=()
        Columns of X with the numbers of categories.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    proba : ndarray of shape (n_rows, n_classes)
        The probabilities, mixed.
    """
    tables = [columns_of(X, category_columns), ranks_of(X)]
    if not all(table.shape[1] for table in tables):
        return votes
    n_classes = votes.shape[1]

    def judged(scores: Array) -> Array:
        """Return how likely scores [setting, row, class] make the labels."""
        n_each = np.full(len(labels), max(round(n_votes), 1))
        sums = np.transpose(scores, (1, 0, 2)).astype(np.float32) * np.float32(n_each[0])
        return vote_likelihoods(sums, n_each, labels, np.ones(len(labels)), n_threads)

    def opinion(features: Sequence[Features]) -> Array:
        return _mean(
            _averaged(scores, judged(scores))
            for table in tables
            for of_table in features
            for scores in [left_out_scores(of_table(table), labels, n_classes)]
        )

    kinds = np.array([votes, opinion([_linear]), opinion([_radial(width) for width in _WIDTHS])])
    shares = mixtures(len(kinds))
    likelihoods = judged(np.tensordot(shares, kinds, 1))
    mean_shares = weights_of(likelihoods + _log_prior(shares)) @ shares
    return np.asarray(np.tensordot(mean_shares, kinds, 1))


def _log_prior(shares: Array) -> Array:
    """Return the logarithm of multinomial probabilities of shares that are multiples of 1/steps."""
    counts = shares / shares[shares > 0].min()
    return np.asarray(counts @ np.log(_PRIOR_SHARES) - gammaln(counts + 1).sum(axis=1))


def _averaged(scores: Array, likelihoods: Array) -> Opinion:
    weights = weights_of(likelihoods)
    top = likelihoods.max()
    evidence = top + np.log(np.exp(likelihoods - top).mean())
    return Opinion(np.tensordot(weights, scores, 1), float(evidence))


def _mean(opinions: Iterator[Opinion]) -> Array:
    given = list(opinions)
    weights = weights_of(np.array([opinion.log_likelihood for opinion in given]))
    return np.asarray(np.tensordot(weights, np.array([opinion.proba for opinion in given]), 1))


# --- regressions ---------------------------------------------------------------------------------


def left_out_scores(features: Array, labels: Labels, n_classes: int) -> Array:
    """Return what ridge regressions on all other rows say about each row.

    Returns
    -------
    scores : ndarray of shape (n_penalties, n_rows, n_classes)
        Predictions of the label, one column per class, made positive and scaled to sum to 1.
    """
    n_rows = len(features)
    Y = np.eye(n_classes)[labels]
    from_mean = Y - Y.mean(axis=0)
    centred = features - features.mean(axis=0)
    eigenvalues, V = np.linalg.eigh(centred.T @ centred)
    least = max(_LEAST_EIGENVALUE * eigenvalues.max(), np.finfo(np.float64).tiny)
    kept = eigenvalues > least
    eigenvalues = eigenvalues[kept]
    U = centred @ (V[:, kept] / np.sqrt(eigenvalues))
    of_labels, squares = U.T @ from_mean, U * U
    scores = np.empty((len(_PENALTIES), n_rows, n_classes))
    for out, penalty in zip(scores, _PENALTIES, strict=True):
        shrunk = eigenvalues / (eigenvalues + penalty)
        fitted = U @ (shrunk[:, np.newaxis] * of_labels)
        left = 1 - (squares @ shrunk + 1 / n_rows)
        out[:] = Y - (from_mean - fitted) / np.maximum(left, _LEAST_SCORE)[:, np.newaxis]
    scores = np.maximum(scores, 0) + _LEAST_SCORE
    return np.asarray(scores / scores.sum(axis=2, keepdims=True))


def _linear(Z: Array) -> Array:
    if Z.shape[1] <= _LANDMARKS:
        return np.asarray(Z / np.sqrt(Z.shape[1]))
    return _features_of(Z, lambda rows, others: rows @ others.T / Z.shape[1])


def _radial(width: float) -> Features:
    def kernel(rows: Array, others: Array) -> Array:
        squares = np.square(rows).sum(axis=1)[:, np.newaxis] + np.square(others).sum(axis=1)
        distances = np.maximum(squares - 2 * rows @ others.T, 0) / rows.shape[1]
        return np.asarray(np.exp(-distances / (2 * width**2)))

    return lambda Z: _features_of(Z, kernel)


def _features_of(Z: Array, kernel: Callable[[Array, Array], Array]) -> Array:
    """Return features whose products are the values of a kernel, from random rows (Nyström's method)."""
    landmarks = Z
    if len(Z) > _LANDMARKS:
        landmarks = Z[np.random.default_rng(0).permutation(len(Z))[:_LANDMARKS]]
    eigenvalues, V = np.linalg.eigh(kernel(landmarks, landmarks))
    kept = eigenvalues > 1e-6 * eigenvalues.max()
    return np.asarray(kernel(Z, landmarks) @ (V[:, kept] / np.sqrt(eigenvalues[kept])))


# --- columns -------------------------------------------------------------------------------------


def columns_of(X: Array, category_columns: Sequence[int] = ()) -> Array:
    """Return standardized columns. A category becomes one column per value, of total variance 1.

    Missing values become 0, the mean. Whole numbers of few values count as categories.
    """
    parts = []
    for place, column in enumerate(np.asarray(X, dtype=np.float64).T):
        present = ~np.isnan(column)
        values = np.unique(column[present])
        few = 3 <= len(values) <= _MOST_CATEGORIES and bool(np.all(values == np.round(values)))
        if len(values) < 2:
            continue
        if few or (place in category_columns and len(values) <= _LANDMARKS):
            part = (column[:, np.newaxis] == values).astype(np.float64)
            part -= part.mean(axis=0)
            parts.append(part / np.sqrt(part.var(axis=0).sum()))
        else:
            parts.append(_standardized(column, present)[:, np.newaxis])
    return np.hstack(parts) if parts else np.empty((len(X), 0))


def ranks_of(X: Array) -> Array:
    """Return the ranks of each column as normal scores. Missing values become 0, the mean."""
    columns = []
    for column in np.asarray(X, dtype=np.float64).T:
        present = ~np.isnan(column)
        if len(np.unique(column[present])) < 2:
            continue
        ranks = np.zeros(len(column))
        ranks[present] = ndtri((rankdata(column[present]) - 0.5) / present.sum())
        columns.append(_standardized(ranks, present))
    return np.column_stack(columns) if columns else np.empty((len(X), 0))


def _standardized(column: Array, present: NDArray[np.bool_]) -> Array:
    values = column[present]
    values = values / max(np.abs(values).max(), 1e-300)  # whose squares do not overflow
    spread = values.std()
    scores = np.zeros(len(column))
    if spread > 0:
        scores[present] = np.clip((values - values.mean()) / spread, -_FARTHEST, _FARTHEST)
    return scores

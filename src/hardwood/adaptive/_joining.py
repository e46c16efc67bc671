"""Columns of categories to join in pairs, because the label depends on what they say together.

Trees choose one column at a time, so they miss categories that matter only in combination with
another column's, the more so if labels are wrong. A column of their joint categories shows them. What a
pair says beyond its columns is measured by the likelihood ratio test of the log-linear model without
the interaction of label, first and second column. With cells n and the cells m that this model fits,

    excess = Σ n · log(n / m) − degrees of freedom / 2

is how much likelier the interaction makes the labels, beyond chance. Its square root grows like a
standard score, so that a sum of roots does not sacrifice several pairs for one strong pair. A few trees
that see the pairs are then grown as well as a few that do not, and pairs are used if they make the
out-of-bag labels much likelier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby

import numpy as np
from numpy.typing import NDArray

from hardwood._core.grow import TrainingSet
from hardwood._core.pairs import MAX_JOINT, Pair, with_pairs
from hardwood.adaptive._candidates import Begun
from hardwood.adaptive._judged import Judged
from hardwood.adaptive._out_of_bag import Voting, few_rows, out_of_bag

# Larger tables show what matters together, and more trees would be costly.
MOST_ROWS = 10_000
# A pair has at least so many rows for each joint category.
_ROWS_PER_CATEGORY = 30
# With more columns or classes, the search would take long, and find much by chance.
_MOST_COLUMNS = 40
_MOST_CLASSES = 32
# Columns are joined if one of the pairs is at least so much in excess. Joined, they must make the labels
# e to the power of this likelier, by the out-of-bag votes of this many trees on this many rows.
_LEAST_EXCESS = 10.0
LEAST_GAIN = 20.0
_ENOUGH_TREES, _ENOUGH_ROWS = 12, 4_000
_STEPS = 20
_STARTS = 20
_LEAST_WORTH = 1e-6  # so that what is equal stays equal


def pairs_to_try(data: TrainingSet, n_categories: dict[int, int]) -> tuple[Pair, ...]:
    """Return the pairs of columns that are worth a forest that sees them joined, or none.

    Each column is in one pair at most, and pairs say more than chance. The sum of the roots of their
    excesses is as large as exchanging the columns of two pairs can make it.

    Parameters
    ----------
    data : TrainingSet
        The rows, with categories as numbers.
    n_categories : dict of int to int
        The number of categories of each column that has some.
    """
    if len(n_categories) > _MOST_COLUMNS or len(data.classes) > _MOST_CLASSES:
        return ()
    pairs = [
        Pair(a, b, n_categories[a], n_categories[b])
        for a, b in combinations(sorted(n_categories), 2)
        if min(n_categories[a], n_categories[b]) > 1
    ]
    most = min(MAX_JOINT, data.n_rows // _ROWS_PER_CATEGORY)
    excess = dict(_excesses((pair for pair in pairs if pair.n_joint <= most), data))
    if max(excess.values(), default=0.0) < _LEAST_EXCESS:
        return ()
    roots = {pair: round(float(np.sqrt(max(value, 0))), 6) for pair, value in excess.items()}
    return tuple(sorted(pair for pair in _matched(roots) if roots[pair] > 0))


def joined(data: TrainingSet, pairs: tuple[Pair, ...]) -> TrainingSet:
    """Return the data with the columns of pairs."""
    n_features = data.X.shape[1]
    of_pairs = range(n_features, n_features + len(pairs))
    return replace(
        data,
        X=with_pairs(pairs, data.X),
        category_columns=(*data.category_columns, *of_pairs),
    )


def n_to_tell(n_trees: int) -> int:
    """Return how many trees with pairs, and as many without, tell whether to join them.

    Examples
    --------
    >>> from hardwood.adaptive import _joining
    >>> [_joining.n_to_tell(n_trees) for n_trees in (1, 2, 20, 120)]
    [0, 1, 10, 12]
    """
    return min(_ENOUGH_TREES, n_trees // 2)


def gain(forests: Sequence[Begun], judged: Sequence[Judged], seed: int, n_threads: int) -> float:
    """Return how much likelier trees that see pairs make the out-of-bag labels: a logarithm.

    The trees are smoothed as suits them best. The same rows vote on both forests.

    Parameters
    ----------
    forests : sequence of dict of Cuts to CompactForest
        The first trees of a forest without pairs, and of one with them.
    judged : sequence of Judged
        The rows without pairs, and with them.
    seed : int
        The seed of the model.
    n_threads : int
        Number of threads.
    """
    rows = few_rows(judged[0].n_rows, seed, _ENOUGH_ROWS)
    likelihoods = []
    for trees, of_columns in zip(forests, judged, strict=True):
        evidence = out_of_bag(trees, of_columns, seed, Voting(of_columns, rows))
        if len(evidence) == 0:
            return 0.0
        likelihoods.append(float(evidence.likelihoods(n_threads).max()))
    return likelihoods[1] - likelihoods[0]


def _excesses(pairs: Iterable[Pair], data: TrainingSet) -> Iterator[tuple[Pair, float]]:
    """Return by how much each pair makes the labels likelier than its columns do."""
    K = len(data.classes)
    labels = data.labels.astype(np.intp)
    by_shape = sorted(pairs, key=lambda pair: (pair.n_first, pair.n_second))
    for (n_first, n_second), same in groupby(by_shape, lambda pair: pair[2:]):
        of_shape = list(same)
        tables = np.stack([_counts(pair, data.X, labels, K) for pair in of_shape])
        tables = tables.reshape(-1, n_first, n_second, K)
        freedom = (n_first - 1) * (n_second - 1) * (K - 1)
        fitted = _without_interaction(tables)
        logs = np.log(np.where(tables > 0, tables / np.where(fitted > 0, fitted, 1.0), 1.0))
        gains = (tables * logs).sum(axis=(1, 2, 3)) - freedom / 2
        yield from zip(of_shape, gains.tolist(), strict=True)


def _counts(
    pair: Pair, X: NDArray[np.float64], labels: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Return the number of rows in each cell of first category, second category and label."""
    joint = X[:, pair.first] * pair.n_second + X[:, pair.second]
    is_known = ~np.isnan(joint)
    cells = joint[is_known].astype(np.intp) * n_classes + labels[is_known]
    return np.bincount(cells, minlength=pair.n_joint * n_classes).astype(np.float64)


def _without_interaction(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cells that the model without the interaction fits, by proportional fitting."""
    fitted = np.ones_like(tables)
    for _ in range(_STEPS):
        for axis in (3, 2, 1):
            sums = fitted.sum(axis=axis, keepdims=True)
            fitted *= tables.sum(axis=axis, keepdims=True) / np.where(sums > 0, sums, 1.0)
    return fitted


def _matched(worth: dict[Pair, float]) -> list[Pair]:
    """Return pairs without a column in common that are worth much together.

    They are built up from each of the best pairs in turn, the best pair that is left next, and then
    improved by exchanges.
    """
    ordered = sorted(worth, key=lambda pair: (-worth[pair], pair))
    of_columns = {(pair.first, pair.second): pair for pair in worth}
    best: list[Pair] = []
    for first in ordered[:_STARTS]:
        chosen = _filled_up(first, ordered)
        while (better := _exchanged(chosen, worth, of_columns)) is not None:
            chosen = better
        if _total(chosen, worth) > _total(best, worth) + _LEAST_WORTH:
            best = chosen
    return best


def _filled_up(first: Pair, ordered: list[Pair]) -> list[Pair]:
    """Return a pair, and the next ones of a list that share no column with those before."""
    chosen: list[Pair] = []
    taken: set[int] = set()
    for pair in [first, *ordered]:
        if taken.isdisjoint(pair[:2]):
            chosen.append(pair)
            taken.update(pair[:2])
    return chosen


def _total(pairs: list[Pair], worth: dict[Pair, float]) -> float:
    return sum(worth[pair] for pair in pairs)


def _exchanged(
    chosen: list[Pair], worth: dict[Pair, float], of_columns: dict[tuple[int, int], Pair]
) -> list[Pair] | None:
    """Return the pairs after the first exchange between two of them that gains something."""
    for one, other in combinations(chosen, 2):
        (a, b), (c, d) = one[:2], other[:2]
        for columns in (((a, c), (b, d)), ((a, d), (b, c))):
            pairs = [of_columns.get((min(two), max(two))) for two in columns]
            new = [pair for pair in pairs if pair is not None]
            gain = _total(new, worth) - _total([one, other], worth)
            if len(new) == 2 and gain > _LEAST_WORTH:
                return [pair for pair in chosen if pair not in (one, other)] + new
    return None

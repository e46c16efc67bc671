"""Rows that are copies of others, found by their values and their labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.groups import Groups, number_groups
from hardwood._core.grow import Growth, TrainingSet, count_features, grow
from hardwood._core.validation import Matrix
from hardwood.criteria import Gini

# With this many different rows, it is no chance if each occurs equally often.
_MIN_DIFFERENT = 20
# Equal rows are copies if they are this many times as common as chance would make them ...
_MIN_SURPRISE = 5
# ... and their labels disagree less than this share of the times that those of similar rows do, by
# this many standard errors.
_MAX_DISAGREEMENT = 0.5
_ERRORS = 3.0
# Similar rows are those that these trees cannot tell apart.
_TREES = 16
# More rows would only cost time, most of all where trees are grown from them.
_MAX_ROWS, _MAX_ROWS_GROWN = 50_000, 20_000
# The same for rows that are nearly equal. Where labels hardly ever disagree, copies do no harm.
_ERRORS_NEAR = 4.0
_MIN_DISAGREEMENT = 0.1
_MAX_ROWS_NEAR = 10_000

_BLOCKS = 4
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

Hashes = NDArray[np.uint64]


def find_copies(
    data: TrainingSet, seed: int, n_threads: int = 1, hashes: Hashes | None = None
) -> Groups | None:
    """Return groups of rows that are copies of one another, or None if there are none.

    A copy carries the label of its original along, even if that is wrong. Trees that drew one of
    them know the label of the other, which makes wrong labels look right out of bag. Equal rows can
    also be separate observations, as in a table with few columns of few values. Then their labels
    were observed one by one, and each should help to judge the others. There are two rules.

    1. If every row, with its label, occurs g times or a multiple of that, the table is a smaller
       one repeated g times, and each of its rows is a group of g.
    2. Otherwise all equal rows form a group, if

       - separate observations would not be equal this often. The rows that agree in most columns,
         and the frequencies of the values in the other columns, tell how often to expect it. Or the
         numbers of rows that occur once, twice and so on show that repeating has a limit, unlike
         chance (see `_has_limit`);
       - and labels of equal rows disagree less than half as often as labels of rows that trees
         cannot tell apart, by three standard errors.

    The test of labels was chosen on the development half of the tables in `lab/benchmarks`: as they
    are, repeated, partly repeated, or drawn with replacement, with labels that were flipped before
    or after. The blocks of columns and the factor of chance were settled with a view of both halves,
    so the figures on the other half are not a clean test. `docs/adaptive.md` has them. On these
    tables labels alone do as well; the test of chance is there for tables of few distinct rows with
    labels that trees cannot learn, and was judged on made ones.

    Parameters
    ----------
    data : TrainingSet
        The rows and labels.
    seed : int
        Seed of the trees that compare labels.
    n_threads : int, default=1
        Number of threads.
    hashes : ndarray, optional
        What `block_hashes` returns for the rows, if X is elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood import RobustForestClassifier
    >>> from hardwood._core.copies import find_copies
    >>> X, y = np.arange(100.0).reshape(-1, 1), np.arange(100) % 2
    >>> forest = RobustForestClassifier()
    >>> find_copies(forest._prepared(X, y, None), seed=0) is None
    True
    >>> copies = find_copies(forest._prepared(np.tile(X, (2, 1)), np.tile(y, 2), None), seed=0)
    >>> copies[[0, 1, 100, 101]]
    array([0, 1, 0, 1], dtype=uint32)
    """
    blocks = block_hashes(data.X, n_threads) if hashes is None else hashes
    stack, sizes = _stacks(_mixed(blocks))
    if len(sizes) == len(stack):
        return None
    repeated = _repeated_table(_stacks(_mixed([*blocks, data.labels]))[0])
    if repeated is not None:
        return repeated
    random = np.random.default_rng(seed)
    if _surprise(blocks, random) < _MIN_SURPRISE and not _has_limit(sizes):
        return None
    return number_groups(stack) if _labels_agree(data, stack, random, n_threads) else None


def count_near_copies(data: TrainingSet, seed: int, n_threads: int = 1) -> int:
    """Return about how many rows are copies of others but for small changes.

    Trees are grown from half of the rows. Rows of the other half that share their leaves in all
    trees are similar. Such rows may be separate observations from a tight cluster. They count as
    copies only if their labels disagree less than half as often as those of the rows in the same
    leaves, by four standard errors, and if these disagree often enough to tell. Where labels are
    right and easy to predict, near copies are not counted, and do no harm.

    The thresholds were chosen on all tables of `find_copies` such that it counts none on any of
    them, whatever the noise. They were not judged on others, except on five large data sets.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(data.n_rows)[:_MAX_ROWS_NEAR]
    half, other = (data.part(np.sort(part)) for part in np.array_split(rows, 2))
    trees = _pilot(half, seed, n_threads)
    leaves = _mixed(trees.apply(other.X, n_threads).T)
    order = np.argsort(leaves, kind="stable")
    first, second = order[:-1], order[1:]
    values = _mixed(block_hashes(other.X, n_threads))
    similar = (leaves[first] == leaves[second]) & (values[first] != values[second])
    first, second = first[similar], second[similar]
    proba = trees.predict_proba(other.X, n_threads)
    unlike = 1 - proba[np.arange(len(proba)), other.labels]
    of_leaves = (unlike[first] + unlike[second]) / 2
    of_pairs = other.labels[first] != other.labels[second]
    less = _MAX_DISAGREEMENT * of_leaves - of_pairs
    if of_leaves.sum() <= _MIN_DISAGREEMENT * len(first) or not _is_above(less, _ERRORS_NEAR):
        return 0
    share = len(np.union1d(first, second)) / other.n_rows
    return round(min(1.0, 2 * share) * data.n_rows)  # half of the copies are where trees grew


def without_repeats(data: TrainingSet) -> TrainingSet:
    """Return a row of each group, if the groups found show that a smaller table was repeated.

    A forest of that table is the same, but it knows how many observations there are. Its row i is
    the first one of group i.
    """
    if data.groups is None or data.kept is not None:
        return data
    first = first_of_repeats(data.groups, data.labels, data.weights)
    return data if first is None else data.part(first)


def first_of_repeats(
    groups: Groups, labels: NDArray[np.uint16], weights: NDArray[np.float64] | None
) -> NDArray[np.intp] | None:
    """Return the first row of each group, if groups show that a smaller table was repeated."""
    _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    are_alike = np.array_equal(labels, labels[first][groups])
    if weights is not None:
        are_alike &= np.array_equal(weights, weights[first][groups])
    return first if are_alike and np.all(sizes == sizes[0]) else None


def block_hashes(X: Matrix, n_threads: int) -> Hashes:
    """Return hashes of the rows, [block, row], for each of a few blocks of columns."""
    parts = np.array_split(np.arange(X.shape[1]), min(_BLOCKS, X.shape[1]))
    starts = [0, *np.cumsum([len(part) for part in parts]).tolist()]
    hashes: Hashes = _engine.row_hashes(X, starts, n_threads)
    return hashes


def _mixed(columns: Sequence[NDArray[Any]] | NDArray[Any]) -> Hashes:
    """Return a hash of each row of several columns of whole numbers."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64, copy=False)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed


def _stacks(hashes: Hashes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of each row's stack, which holds all rows equal to it, and their sizes."""
    _, stack, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    return stack, sizes


def _repeated_table(stack: NDArray[np.intp]) -> Groups | None:
    """Return a group for each row of the table that was repeated as a whole, if one was.

    The stacks are those of rows that are equal and have the same label.
    """
    sizes = np.bincount(stack)
    times = int(np.gcd.reduce(sizes))
    if times == 1 or len(sizes) < _MIN_DIFFERENT:
        return None
    if np.all(stack.reshape(-1, times) == stack[::times, np.newaxis]):  # row by row
        return np.arange(len(stack), dtype=np.uint32) // np.uint32(times)
    # As a whole: of a stack of two rows repeated, [0, 1, 0, 1, ...].
    order, starts = np.argsort(stack, kind="stable"), np.cumsum(sizes) - sizes
    place = np.empty(len(stack), dtype=np.intp)
    place[order] = np.arange(len(stack)) - starts[stack[order]]
    return number_groups(starts[stack] + place % (sizes // times)[stack])


def _surprise(blocks: Hashes, random: np.random.Generator) -> float:
    """Return how many times as many pairs of rows are equal as chance would make equal.

    If r rows agree with a row in all columns but those of one block, and a share q of all rows
    agrees with it there, then r q / (1 − q) should by chance agree with it everywhere.
    """
    if blocks.shape[1] > _MAX_ROWS:
        blocks = blocks[:, random.choice(blocks.shape[1], _MAX_ROWS, replace=False)]
    n_rows = blocks.shape[1]
    n_equal = _n_like(_mixed(blocks)) - 1
    by_chance = []
    for block in range(len(blocks)):
        n_here = _n_like(blocks[block])
        others = np.delete(blocks, block, axis=0)
        n_elsewhere = _n_like(_mixed(others)) if len(others) else np.full(n_rows, n_rows)
        differ = n_elsewhere - 1 - n_equal
        if n_here.min() < n_rows:  # the block varies
            by_chance.append((differ * n_here / np.maximum(n_rows - n_here, 1)).sum())
    expected = np.mean(by_chance) if by_chance else np.inf
    return float(n_equal.sum() / max(expected, 1.0))


def _n_like(hashes: Hashes) -> NDArray[np.intp]:
    """Return the number of rows with the same hash, for each row."""
    stack, sizes = _stacks(hashes)
    return sizes[stack]


def _has_limit(sizes: NDArray[np.intp]) -> bool:
    """Return whether rows that occur often are rarer than chance would have it.

    Let f[k] be the number of different rows that occur k times. If rows are drawn at random, each
    with a probability of its own, then (k + 1) f[k + 1] / f[k] does not fall with k. In a table of
    which a third was copied once, f[3] is 0.
    """
    f = np.bincount(sizes, minlength=5).astype(np.float64)
    k = np.array([2, 3])
    least, found = (k / (k + 1) * f[k] ** 2 / (f[k - 1] + 1)).sum(), f[k + 1].sum()
    return bool(found < 0.75 * least and least - found > 4 * np.sqrt(least))


def _labels_agree(
    data: TrainingSet, stack: NDArray[np.intp], random: np.random.Generator, n_threads: int
) -> bool:
    """Return whether labels of equal rows disagree less than those of similar rows.

    A tree that did not draw a row or its equals puts it into a leaf of similar rows.
    """
    rows = np.arange(len(stack))
    if len(stack) > _MAX_ROWS_GROWN:
        n_kept = round(_MAX_ROWS_GROWN * (stack.max() + 1) / len(stack))
        rows = np.flatnonzero(np.isin(stack, random.permutation(stack.max() + 1)[:n_kept]))
    data, stack = data.part(rows), stack[rows]
    groups = number_groups(stack)
    if groups is None:
        return False
    data = replace(data, weights=None, groups=groups)
    seed = int(random.integers(2**31))
    trees = _pilot(data, seed, n_threads, n_draws=data.n_units)
    votes, n_votes = trees.oob_votes(data.X, None, data.n_units, seed, n_threads, groups)
    own = votes[np.arange(len(stack)), data.labels]
    unlike = 1 - own / np.maximum(n_votes, 1)
    sizes = np.bincount(groups)
    counts = np.zeros((len(sizes), len(data.classes)))
    np.add.at(counts, (groups, data.labels), 1)
    judged = (sizes > 1) & (np.bincount(groups, n_votes) > 0)
    of_similar = np.bincount(groups, unlike)[judged] / sizes[judged]
    counts, sizes = counts[judged], sizes[judged]
    of_equal = 1 - (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    less = (sizes - 1) * (_MAX_DISAGREEMENT * of_similar - of_equal)
    return _is_above(less, _ERRORS)


def _pilot(data: TrainingSet, seed: int, n_threads: int, n_draws: int = 0) -> CompactForest:
    """Return a few fully grown trees."""
    data = replace(data, criterion=Gini()._for_engine(len(data.classes)))
    growth = Growth(max_features=count_features("sqrt", data.X.shape[1]))
    return grow(growth, data, seed, n_trees=_TREES, n_draws=n_draws, n_threads=n_threads)


def _is_above(values: NDArray[np.float64], errors: float) -> bool:
    """Return whether the mean is above 0 by so many standard errors."""
    return bool(values.sum() > errors * np.sqrt(np.square(values).sum()))

"""Votes of trees on the rows that they did not draw, where these rows are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._core.sparse import is_sparse
from hardwood.dask.drawing import Drawing, plan_draws
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import CodedBlock, DistributedSet, Encoding

TREE_BYTES = 2**28  # of trees, that a worker holds at once

Votes = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Sums of votes of some rows, and how many trees voted."""


def out_of_bag_votes(
    data: DistributedSet, trees: CompactForest, seed: int, n_draws: int, tasks: Tasks
) -> Votes:
    """Return the votes on all rows given, by the trees that did not draw them.

    Every block has its votes added up in the order of the trees, as one machine does, and only
    the sums come to the client. Rows of weight zero are out of every bag.
    """
    places = list(zip(data.blocks, plan_draws(data, seed, n_draws, tasks), strict=True))
    trees = trees.as_voting()
    votes: list[Any] = [None] * len(places)
    for first, last in _parts_of(trees):
        sent = tasks.send((first, trees.trees(first, last), len(trees)))
        calls = [
            (data.encoding, sent, *place, before, *data.given.block(i))
            for i, (place, before) in enumerate(zip(places, votes, strict=True))
        ]
        so_far, votes = votes, tasks.blocks("vote", _vote, calls)
        tasks.release(so_far)
    of_blocks = tasks.gather(votes)
    tasks.release(votes)
    sums, n_votes = zip(*of_blocks, strict=True)
    return np.concatenate(sums), np.concatenate(n_votes)


def _parts_of(trees: CompactForest) -> Iterator[tuple[int, int]]:
    """Return the trees in parts that do not take much memory."""
    forest = trees.forest
    bytes_of_entry = forest.entry_label.itemsize + forest.entry_count.itemsize
    bytes_of = 16 * np.diff(forest.node_start) + bytes_of_entry * np.diff(forest.entry_start)
    first, size = 0, 0
    for t, n_bytes in enumerate(bytes_of.tolist()):
        if t > first and size + n_bytes > TREE_BYTES:
            yield first, t
            first, size = t, 0
        size += n_bytes
    yield first, len(trees)


def _vote(
    sent: tuple[Encoding, Any],
    part: tuple[int, CompactForest, int],
    block: CodedBlock,
    drawing: Drawing,
    before: Votes | None,
    X: Any,
    y: Any,
    weights: Any,
    groups: Any,
) -> Votes:
    """Add the votes of some trees to those of the trees before them."""
    first, trees, n_trees = part
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if before is None:
        votes, n_votes = np.zeros((n_rows, trees.n_classes)), np.zeros(n_rows, dtype=np.int64)
    else:
        votes, n_votes = before[0].copy(), before[1].copy()  # the old ones are the scheduler's
    if n_rows == 0:
        return votes, n_votes
    X, _, weights = sent[0].labelled(X, y, weights)
    X = X.tocsr() if is_sparse(X) else X
    kept = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
    is_out = np.ones(n_rows, dtype=bool)
    for t in range(len(trees)):
        is_out[kept] = drawing.times(block, first + t) == 0
        votes[is_out] += trees.tree(t).predict_proba(X[is_out])
        n_votes += is_out
    if first + len(trees) == n_trees:
        votes[~kept] = votes[~kept] / n_trees * n_trees  # rounded as the mean is elsewhere
    return votes, n_votes

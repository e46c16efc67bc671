"""Which rows of a block a tree draws, without drawing all others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood.dask.tasks import Tasks, n_bytes
from hardwood.dask.training import CodedBlock, DistributedSet

BLOCK = _engine.DRAW_BLOCK


@dataclass(frozen=True)
class Drawing:
    """What the draws of a fit depend on, and which of its rows or groups a block needs."""

    seed: int
    n_units: int
    n_draws: int  # 0: all rows, once
    first: int
    last: int
    block_weights: NDArray[np.uint64] | None = None
    unit_weights: NDArray[np.uint32] | None = None

    def __sizeof__(self) -> int:
        return n_bytes(self.block_weights, self.unit_weights)

    def times(self, block: CodedBlock, tree: int) -> NDArray[np.uint32]:
        """Return how often each row of the block is drawn for a tree."""
        if self.n_draws == 0:
            return np.ones(block.n_rows, dtype=np.uint32)
        times: NDArray[np.uint32] = _engine.draw_range(
            self.n_units,
            self.n_draws,
            self.seed,
            tree,
            self.first,
            self.last,
            self.block_weights,
            self.unit_weights,
        )
        return times if block.groups is None else times[block.groups]


def plan_draws(data: DistributedSet, seed: int, n_draws: int, tasks: Tasks) -> list[Any]:
    """Return a Drawing for each block; futures where rows have weights."""
    starts = data.starts
    ends = [(0, data.n_units)] * len(data.blocks)
    if data.group_sizes is None:
        ends = list(pairwise(starts))
    if n_draws == 0 or data.largest_weight is None:
        return [Drawing(seed, data.n_units, n_draws, *each) for each in ends]
    if data.group_sizes is not None:
        weights = [
            tasks.run("weigh", _group_weights, block, data.largest_weight, data.n_units)
            for block in data.blocks
        ]
        sums = tasks.gather(tasks.merged("weigh", sum, weights))
        units = ((sums + data.group_sizes // 2) // data.group_sizes).astype(np.uint32)
        of_blocks = _block_sums([units], [0], data.n_units)
        return [Drawing(seed, data.n_units, n_draws, *each, of_blocks, units) for each in ends]
    weights = [tasks.run("weigh", _row_weights, b, data.largest_weight) for b in data.blocks]
    parts = tasks.gather(
        [tasks.run("weigh", _partial_sums, w, s) for w, s in zip(weights, starts, strict=False)]
    )
    of_blocks = np.zeros(-(-data.n_units // BLOCK), dtype=np.uint64)
    for first, sums in parts:
        of_blocks[first : first + len(sums)] += sums
    return [
        _with_neighbors(
            Drawing(seed, data.n_units, n_draws, *each, of_blocks), weights, starts, tasks
        )
        for each in ends
    ]


def _with_neighbors(
    drawing: Drawing, weights: Sequence[Any], starts: Sequence[int], tasks: Tasks
) -> Any:
    """Return the drawing with the weights of all rows that share a block of draws with its own."""
    begin = drawing.first // BLOCK * BLOCK
    end = min(drawing.n_units, -(-drawing.last // BLOCK) * BLOCK)
    pieces, cuts = [], []
    for i, rows in enumerate(weights):
        first, last = max(begin, starts[i]), min(end, starts[i + 1])
        if first < last:
            pieces.append(rows)
            cuts.append((first - starts[i], last - starts[i]))
    return tasks.run("weigh", _completed, drawing, pieces, cuts)


def _completed(
    drawing: Drawing, pieces: Sequence[NDArray[np.uint32]], cuts: Sequence[tuple[int, int]]
) -> Drawing:
    none = np.empty(0, dtype=np.uint32)
    parts = [piece[first:last] for piece, (first, last) in zip(pieces, cuts, strict=True)]
    return replace(drawing, unit_weights=np.concatenate([none, *parts]))


def _row_weights(block: CodedBlock, largest: float) -> NDArray[np.uint32]:
    assert block.weights is not None
    weights: NDArray[np.uint32] = _engine.draw_weights(block.weights, largest)
    return weights


def _group_weights(block: CodedBlock, largest: float, n_units: int) -> NDArray[np.int64]:
    assert block.groups is not None
    sums = np.zeros(n_units, dtype=np.int64)
    np.add.at(sums, block.groups, _row_weights(block, largest))
    return sums


def _partial_sums(weights: NDArray[np.uint32], start: int) -> tuple[int, NDArray[np.uint64]]:
    """Return the number of the first block of draws, and the weights of the blocks' rows here."""
    numbers = np.arange(start, start + len(weights)) // BLOCK
    first = start // BLOCK
    sums = np.zeros(numbers[-1] - first + 1 if len(numbers) else 0, dtype=np.uint64)
    np.add.at(sums, numbers - first, weights.astype(np.uint64))
    return first, sums


def _block_sums(
    weights: Sequence[NDArray[np.uint32]], starts: Sequence[int], n_units: int
) -> NDArray[np.uint64]:
    sums = np.zeros(-(-n_units // BLOCK), dtype=np.uint64)
    for rows, start in zip(weights, starts, strict=True):
        first, part = _partial_sums(rows, start)
        sums[first : first + len(part)] += part
    return sums

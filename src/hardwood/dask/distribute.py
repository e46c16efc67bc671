"""Growing trees whose rows no single worker holds.

The trunk of each tree is grown on the client by the engine (`hardwood/trunk.hpp`), from class
counts that workers make of their blocks. These are summed up a tree of tasks, first on each worker.
All nodes of a level, of several trees, are counted in one task for a few blocks. Nodes with few enough
rows are sent to one worker, which grows the subtree (`subtrees.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import UNLIMITED, Growth
from hardwood.dask.drawing import Drawing, plan_draws
from hardwood.dask.rules import Root, Rules
from hardwood.dask.shelves import Shelf, fill_shelves
from hardwood.dask.subtrees import grow_subtrees
from hardwood.dask.tables import is_wide, n_codes
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import CodedBlock, DistributedSet

TREES_AT_ONCE = 8  # whose trunks grow together
MOST_WHOLE = 2**16 - 1  # what a row may weigh in the engine's whole arithmetic
MOST_COUNTED = 2**31 - 1  # and all rows


def check_distributable(
    data: DistributedSet, growth: Growth, n_draws: int, balance_draws: bool
) -> str | None:
    """Return why the rows cannot stay where they are; None if they can."""
    if growth.max_leaves != UNLIMITED:
        return "max_leaf_nodes grows best-first, which placement='distribute' does not support."
    if balance_draws:
        return "placement='distribute' does not support class_weight='balanced_subsample'."
    if n_draws == 0 and data.largest_weight is not None:
        return "placement='distribute' supports sample_weight and class_weight with bootstrap only."
    if n_draws > MOST_WHOLE and _most_expected(data, n_draws) > 20000:
        return "placement='distribute' does not support rows that are drawn 20,000 times a tree."
    if _largest_total(data, n_draws) > MOST_COUNTED:
        return f"placement='distribute' supports at most {MOST_COUNTED} draws of rows a tree."
    return None


def _most_expected(data: DistributedSet, n_draws: int) -> float:
    """Return an upper bound of how often to expect the row drawn most often."""
    if data.largest_weight is None:
        return n_draws / data.n_units
    return n_draws * data.largest_weight / data.total_unit_weight


def _largest_total(data: DistributedSet, n_draws: int) -> int:
    if n_draws == 0:
        return data.n_rows
    return n_draws * (1 if data.group_sizes is None else int(data.group_sizes.max()))


def grow_distributed(
    data: DistributedSet,
    growth: Growth,
    seed: int,
    tasks: Tasks,
    *,
    n_trees: int,
    n_draws: int,
    subtree_rows: int,
    count_bytes: int,
    shelf_bytes: int,
    first_tree: int = 0,
    progress: Callable[[int], None] | None,
) -> CompactForest:
    """Grow a forest. Subtrees of up to `subtree_rows` rows are grown by one worker."""
    total_weight = n_draws * data.n_rows / data.n_units if n_draws else data.total_weight
    rules = Rules(
        data.tables,
        data.criterion,
        len(data.classes),
        growth,
        total_weight,
        float(_largest_total(data, n_draws)),
    )
    drawings = plan_draws(data, seed, n_draws, tasks)
    sent = tasks.send(rules)
    trunk_shelves = fill_shelves(data, drawings, tasks, shelf_bytes, True)
    subtree_shelves = fill_shelves(data, drawings, tasks, shelf_bytes, False)
    forests = []
    for first in range(0, n_trees, TREES_AT_ONCE):
        last = min(n_trees, first + TREES_AT_ONCE)
        trees = list(range(first_tree + first, first_tree + last))
        trunks, roots = _grow_trunks(
            rules, sent, trunk_shelves, trees, seed, subtree_rows, count_bytes, tasks
        )
        forests += grow_subtrees(trunks, roots, sent, subtree_shelves, subtree_rows, tasks)
        if progress is not None:
            progress(last)
    return CompactForest.joined(
        [
            CompactForest(f, 1.0, data.criterion, growth.monotonic_cst, growth.leaf_prediction)
            for f in forests
        ]
    )


def _grow_trunks(
    rules: Rules,
    sent: Any,
    shelves: Sequence[Shelf],
    trees: Sequence[int],
    seed: int,
    subtree_rows: int,
    count_bytes: int,
    tasks: Tasks,
) -> tuple[dict[int, "_engine.Trunk"], dict[int, Root]]:
    homes = [shelf.home for shelf in shelves]
    parts = [
        tasks.later("draw", _roots, *shelf.held, trees, rules.n_classes, home=shelf.home)
        for shelf in shelves
    ]
    roots = tasks.gather(tasks.merged("sum", _merged_roots, parts, homes))
    handle, options = rules.criterion.handle(), rules.options()
    trunks = {
        tree: _engine.Trunk(
            tables=rules.tables,
            criterion=handle,
            options=options,
            n_classes=rules.n_classes,
            largest_total=rules.largest_total,
            unit_weights=root.unit_weights,
            subtree_rows=subtree_rows,
            n_rows=root.n_rows,
            counts=root.counts,
            seed=seed,
            tree=tree,
        )
        for tree, root in zip(trees, roots, strict=True)
    }
    while wanted := [
        (tree, trunk.routes(), requests)
        for tree, trunk in trunks.items()
        if (requests := trunk.requests())
    ]:
        for batch in _batches(wanted, rules, count_bytes):
            level = tasks.send(batch)
            parts = [
                tasks.later("count", _count, *shelf.held, sent, level, home=shelf.home)
                for shelf in shelves
            ]
            merged = tasks.merged("sum", _merged_counts, parts, homes)
            for (tree, _, requests), of_tree in zip(batch, tasks.gather(merged), strict=True):
                for (node, _, _), of_node in zip(requests, of_tree, strict=True):
                    trunks[tree].answer(node, [_in_order(counts) for counts in of_node])
            tasks.release([level, merged])
    return trunks, dict(zip(trees, roots, strict=True))


def _batches(wanted: Sequence[Any], rules: Rules, most_bytes: int) -> list[list[Any]]:
    """Return what trunks want in parts, such that the counts of each take little memory."""
    batches: list[list[Any]] = []
    room = 0
    for tree, routes, requests in wanted:
        for request in requests:
            n_bytes = sum(
                4 * n_codes(rules.tables[feature]) * (rules.n_classes + 1) for feature in request[1]
            )
            if not batches or n_bytes > room:
                batches.append([])
                room = most_bytes
            room -= n_bytes
            if not batches[-1] or batches[-1][-1][0] != tree:
                batches[-1].append((tree, routes, []))
            batches[-1][-1][2].append(request)
    return batches


def _roots(
    _: Sequence[int],
    blocks: Sequence[CodedBlock],
    drawings: Sequence[Drawing],
    trees: Sequence[int],
    n_classes: int,
) -> list[Root]:
    held = zip(blocks, drawings, strict=True)
    return _merged_roots([_roots_of_block(*each, trees, n_classes) for each in held])


def _roots_of_block(
    block: CodedBlock, drawing: Drawing, trees: Sequence[int], n_classes: int
) -> list[Root]:
    roots = []
    for tree in trees:
        times = drawing.times(block, tree)
        counts = np.bincount(block.labels, times, minlength=n_classes).astype(np.float64)
        roots.append(Root(int(np.count_nonzero(times)), counts, bool(np.all(times <= 1))))
    return roots


def _merged_roots(parts: Sequence[list[Root]]) -> list[Root]:
    return [
        Root(
            sum(root.n_rows for root in of_tree),
            np.sum([root.counts for root in of_tree], axis=0),
            all(root.unit_weights for root in of_tree),
        )
        for of_tree in zip(*parts, strict=True)
    ]


def _count(
    numbers: Sequence[int],
    blocks: Sequence[CodedBlock],
    drawings: Sequence[Drawing],
    rules: Rules,
    wanted: Sequence[Any],
) -> Any:
    """Return the counts that trunks want of some blocks: [tree][node][feature]."""
    total = None
    for number, block, drawing in zip(numbers, blocks, drawings, strict=True):
        counts = _count_block(number, block, drawing, rules, wanted)
        total = counts if total is None else _merged_counts([total, counts])
    return total


def _count_block(
    number: int, block: CodedBlock, drawing: Drawing, rules: Rules, wanted: Sequence[Any]
) -> Any:
    """Return the counts that trunks want of the block with this number."""
    columns, wide = block.codes.columns, block.codes.is_wide
    out = []
    for tree, routes, requests in wanted:
        times = drawing.times(block, tree)
        nodes = _engine.route_rows(columns, wide, times, routes)
        out.append(
            [
                _count_node(
                    number,
                    columns,
                    block.labels,
                    rules,
                    times,
                    np.flatnonzero(nodes == node),
                    features,
                    merge,
                )
                for node, features, merge in requests
            ]
        )
    return out


Counts = tuple[NDArray[Any], ...]
"""A histogram of a feature: weights and rows of each code; or codes, labels and weights of rows."""


def _count_node(
    number: int,
    columns: Sequence[NDArray[Any]],
    labels: NDArray[np.uint16],
    rules: Rules,
    times: NDArray[np.uint32],
    rows: NDArray[np.intp],
    features: Sequence[int],
    as_histogram: Sequence[bool],
) -> list[Counts | dict[int, Counts]]:
    narrow = rows.astype(np.uint32)
    counts: list[Counts | dict[int, Counts]] = []
    for feature, merge in zip(features, as_histogram, strict=True):
        table, codes = rules.tables[feature], columns[feature]
        if merge:
            wide, n = is_wide(table), n_codes(table)
            counts.append(
                _engine.count_codes(codes, wide, n, labels, rules.n_classes, times, narrow)
            )
        else:
            weights = times[rows].astype(np.uint16)
            counts.append({number: (codes[rows].astype(np.uint16), labels[rows], weights)})
    return counts


def _merged_counts(parts: Sequence[Any]) -> Any:
    """Add histograms up, and collect rows by the numbers of their blocks."""
    if isinstance(parts[0], dict):
        return {number: rows for part in parts for number, rows in part.items()}
    if isinstance(parts[0], tuple):
        return tuple(_sum(arrays) for arrays in zip(*parts, strict=True))
    return [_merged_counts(each) for each in zip(*parts, strict=True)]


def _in_order(counts: Counts | dict[int, Counts]) -> Counts:
    """Return a histogram, or rows in the order of the table: some sums are rounded."""
    if isinstance(counts, tuple):
        return counts
    blocks = [counts[number] for number in sorted(counts)]
    return tuple(np.concatenate(arrays) for arrays in zip(*blocks, strict=True))


def _sum(arrays: Sequence[NDArray[Any]]) -> NDArray[np.uint32]:
    total = arrays[0].astype(np.uint32)
    for array in arrays[1:]:
        total += array
    return total

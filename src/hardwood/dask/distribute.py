"""Growing trees whose rows no single worker holds.

The trunk of each tree is grown on the client by the engine (`hardwood/trunk.hpp`), from class
counts that workers make of their blocks. These are summed up a tree of tasks, first on each worker.
All nodes of a level, of several trees, are counted in one task for each block. Nodes with few enough
rows are sent to one worker, which grows the subtree.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import UNLIMITED, Growth
from hardwood.criteria import EngineCriterion
from hardwood.dask.drawing import Drawing, plan_draws
from hardwood.dask.replicate import joined_columns
from hardwood.dask.tables import Table, is_wide, n_codes
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


@dataclass(frozen=True)
class Rules:
    """What all nodes of a forest share."""

    tables: list[Table]
    criterion: EngineCriterion
    n_classes: int
    growth: Growth
    min_weight_leaf: float
    largest_total: float

    @property
    def wide(self) -> list[bool]:
        """Which columns have codes of two bytes."""
        return [is_wide(table) for table in self.tables]

    def options(self) -> "_engine.GrowOptions":
        """Return the engine's options."""
        growth = self.growth
        return _engine.GrowOptions(
            max_features=growth.max_features,
            random_cuts=growth.random_cuts,
            monotonic_cst=growth.monotonic_cst,
            max_depth=growth.max_depth,
            min_rows_split=growth.min_rows_split,
            min_rows_leaf=growth.min_rows_leaf,
            min_weight_leaf=self.min_weight_leaf,
            min_gain=growth.min_gain,
            category_smoothing=growth.category_smoothing,
        )


@dataclass(frozen=True)
class Root:
    """What a tree draws: distinct rows, their weight by class, and whether all weigh 1."""

    n_rows: int
    counts: NDArray[np.float64]
    unit_weights: bool


@dataclass(frozen=True)
class Places:
    """The blocks with their draws, as futures, and the workers that hold them."""

    blocks: list[tuple[Any, Any]]
    homes: list[Any]


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
        growth.min_weight_fraction_leaf * total_weight,
        float(_largest_total(data, n_draws)),
    )
    drawings = plan_draws(data, seed, n_draws, tasks)
    sent = tasks.send(rules)
    places = Places(list(zip(data.blocks, drawings, strict=True)), tasks.homes(data.blocks))
    forests = []
    for first in range(0, n_trees, TREES_AT_ONCE):
        last = min(n_trees, first + TREES_AT_ONCE)
        trees = list(range(first_tree + first, first_tree + last))
        forests += _grow_trees(rules, sent, places, trees, seed, subtree_rows, count_bytes, tasks)
        if progress is not None:
            progress(last)
    return CompactForest.joined(
        [
            CompactForest(f, 1.0, data.criterion, growth.monotonic_cst, growth.leaf_prediction)
            for f in forests
        ]
    )


def _grow_trees(
    rules: Rules,
    sent: Any,
    places: Places,
    trees: Sequence[int],
    seed: int,
    subtree_rows: int,
    count_bytes: int,
    tasks: Tasks,
) -> list["_engine.Forest"]:
    parts = [tasks.later("draw", _roots, *place, trees, rules.n_classes) for place in places.blocks]
    roots = tasks.gather(tasks.merged("sum", _merged_roots, parts, places.homes))
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
                tasks.later("count", _count, number, *place, sent, level)
                for number, place in enumerate(places.blocks)
            ]
            merged = tasks.merged("sum", _merged_counts, parts, places.homes)
            for (tree, _, requests), of_tree in zip(batch, tasks.gather(merged), strict=True):
                for (node, _, _), of_node in zip(requests, of_tree, strict=True):
                    trunks[tree].answer(node, [_in_order(counts) for counts in of_node])
            tasks.release([level, merged])
    return _grow_subtrees(
        trunks, dict(zip(trees, roots, strict=True)), sent, places, subtree_rows, tasks
    )


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


def _roots(block: CodedBlock, drawing: Drawing, trees: Sequence[int], n_classes: int) -> list[Root]:
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
    number: int, block: CodedBlock, drawing: Drawing, rules: Rules, wanted: Sequence[Any]
) -> Any:
    """Return the counts that trunks want of the block with this number: [tree][node][feature]."""
    out = []
    for tree, routes, requests in wanted:
        times = drawing.times(block, tree)
        nodes = _engine.route_rows(block.columns, rules.wide, times, routes)
        out.append(
            [
                _count_node(
                    number, block, rules, times, np.flatnonzero(nodes == node), features, merge
                )
                for node, features, merge in requests
            ]
        )
    return out


Counts = tuple[NDArray[Any], ...]
"""A histogram of a feature: weights and rows of each code; or codes, labels and weights of rows."""


def _count_node(
    number: int,
    block: CodedBlock,
    rules: Rules,
    times: NDArray[np.uint32],
    rows: NDArray[np.intp],
    features: Sequence[int],
    as_histogram: Sequence[bool],
) -> list[Counts | dict[int, Counts]]:
    narrow = rows.astype(np.uint32)
    counts: list[Counts | dict[int, Counts]] = []
    for feature, merge in zip(features, as_histogram, strict=True):
        table, codes = rules.tables[feature], block.columns[feature]
        if merge:
            counts.append(
                _engine.count_codes(
                    codes,
                    is_wide(table),
                    n_codes(table),
                    block.labels,
                    rules.n_classes,
                    times,
                    narrow,
                )
            )
        else:
            weights = times[rows].astype(np.uint16)
            counts.append({number: (codes[rows].astype(np.uint16), block.labels[rows], weights)})
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


# --- subtrees ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubtreeJob:
    """A node that one worker is to grow from."""

    tree: int
    node: int
    state: Any
    features: NDArray[np.uint32]
    root: Root


def _grow_subtrees(
    trunks: dict[int, "_engine.Trunk"],
    roots: dict[int, Root],
    sent: Any,
    places: Places,
    subtree_rows: int,
    tasks: Tasks,
) -> list["_engine.Forest"]:
    """Send the rows of the trunks' small nodes to workers, and return the whole trees."""
    grown: dict[tuple[int, int], Any] = {}
    waiting: deque[tuple[list[SubtreeJob], Any]] = deque()
    most_waiting = 2 * tasks.n_threads  # or rows that were sent too early would fill the workers

    def collect() -> None:
        bundle, future = waiting.popleft()
        for job, forest in zip(bundle, tasks.gather(future), strict=True):
            grown[job.tree, job.node] = forest
        tasks.release([future])

    for tree, trunk in trunks.items():
        routes = trunk.routes()
        for bundle in _bundles(tree, trunk.subtrees(), roots[tree], subtree_rows):
            nodes = [job.node for job in bundle]
            wanted = tasks.send((tree, routes, nodes))
            rows = [tasks.later("take", _take, *place, sent, wanted) for place in places.blocks]
            grow = tasks.later("grow", _grow_bundle, sent, bundle, rows)
            waiting.append((bundle, tasks.start(grow)))
            tasks.release([wanted])
            if len(waiting) >= most_waiting:
                collect()
    while waiting:
        collect()
    return [
        trunk.assemble([grown[tree, node] for node, *_ in trunk.subtrees()])
        for tree, trunk in trunks.items()
    ]


def _bundles(
    tree: int, subtrees: Sequence[Any], root: Root, subtree_rows: int
) -> list[list[SubtreeJob]]:
    """Return the subtrees of a tree in bundles that one worker takes."""
    bundles: list[list[SubtreeJob]] = []
    room = 0
    for node, n_rows, state, features in subtrees:
        job = SubtreeJob(tree, node, state, np.array(features, dtype=np.uint32), root)
        if n_rows > room:
            bundles.append([])
            room = subtree_rows
        bundles[-1].append(job)
        room -= n_rows
    return bundles


def _take(
    block: CodedBlock, drawing: Drawing, rules: Rules, wanted: tuple[int, Any, Sequence[int]]
) -> list[tuple[CodedBlock, NDArray[np.uint32]]]:
    """Return the rows of each node, and how often they are drawn."""
    tree, routes, nodes = wanted
    times = drawing.times(block, tree)
    node_of = _engine.route_rows(block.columns, rules.wide, times, routes)
    taken = []
    for node in nodes:
        rows = np.flatnonzero(node_of == node)
        columns = [codes[rows] for codes in block.columns]
        taken.append((CodedBlock(columns, block.labels[rows], None, None), times[rows]))
    return taken


def _grow_bundle(
    rules: Rules, bundle: Sequence[SubtreeJob], rows: Sequence[Any]
) -> list["_engine.Forest"]:
    forests = []
    handle, options = rules.criterion.handle(), rules.options()
    for job, parts in zip(bundle, zip(*rows, strict=True), strict=True):
        blocks = [block for block, _ in parts]
        labels = np.concatenate([block.labels for block in blocks])
        forests.append(
            _engine.grow_subtree(
                codes=_engine.join_codes(rules.tables, joined_columns(blocks), len(labels)),
                labels=labels,
                times=np.concatenate([times for _, times in parts]),
                criterion=handle,
                options=options,
                n_classes=rules.n_classes,
                largest_total=rules.largest_total,
                unit_weights=job.root.unit_weights,
                total_weight=float(job.root.counts.sum()),
                state=job.state,
                features=job.features,
            )
        )
    return forests

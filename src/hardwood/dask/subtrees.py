"""Growing the subtrees below a trunk, each on one worker that gets its rows."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood.dask.drawing import Drawing
from hardwood.dask.rules import Root, Rules
from hardwood.dask.shelves import Shelf
from hardwood.dask.tables import Codes
from hardwood.dask.tasks import Tasks, n_bytes
from hardwood.dask.training import CodedBlock


@dataclass(frozen=True)
class SubtreeJob:
    """A node that one worker is to grow from."""

    tree: int
    node: int
    state: Any
    features: NDArray[np.uint32]
    root: Root


def grow_subtrees(
    trunks: dict[int, "_engine.Trunk"],
    roots: dict[int, Root],
    sent: Any,
    shelves: Sequence[Shelf],
    subtree_rows: int,
    tasks: Tasks,
) -> list["_engine.Forest"]:
    """Send the rows of the trunks' small nodes to workers, and return the whole trees."""
    grown: dict[tuple[int, int], Any] = {}
    waiting: deque[tuple[list[SubtreeJob], Any]] = deque()
    # More would fill the workers with rows that were sent too early.
    most_waiting = 2 * sum(tasks.threads().values())

    def collect() -> None:
        bundle, future = waiting.popleft()
        for job, forest in zip(bundle, tasks.gather(future), strict=True):
            grown[job.tree, job.node] = forest
        tasks.release([future])

    for tree, trunk in trunks.items():
        found = trunk.subtrees()
        wanted = tasks.send((tree, trunk.routes(), sorted(node for node, *_ in found)))
        routed = [
            tasks.start(tasks.later("route", _route, *shelf.held[1:], wanted, home=shelf.home))
            for shelf in shelves
        ]
        for bundle in _bundles(tree, found, roots[tree], subtree_rows):
            nodes = [job.node for job in bundle]
            rows = [
                tasks.later(
                    "take", _take, shelf.numbers, shelf.blocks, of_shelf, nodes, home=shelf.home
                )
                for shelf, of_shelf in zip(shelves, routed, strict=True)
            ]
            grow = tasks.later("grow", _grow_bundle, sent, bundle, rows)
            waiting.append((bundle, tasks.start(grow)))
            if len(waiting) >= most_waiting:
                collect()
        tasks.release([wanted, *routed])  # those still needed stay
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


@dataclass(frozen=True)
class Taken:
    """Rows of a node: their codes, labels, and draws, and how many there are of each block."""

    of_blocks: list[tuple[int, int]]
    codes: Codes
    labels: NDArray[np.uint16]
    times: NDArray[np.uint32]

    def __sizeof__(self) -> int:
        return self.codes.__sizeof__() + n_bytes(self.labels, self.times)

    @classmethod
    def joined(cls, parts: Sequence["Taken"]) -> "Taken":
        """Return the rows of all parts, in the order of the blocks."""
        by_block = sorted((block for part in parts for block in part.split()), key=_number)
        return cls(
            [each for block in by_block for each in block.of_blocks],
            Codes.joined([block.codes for block in by_block]),
            np.concatenate([block.labels for block in by_block]),
            np.concatenate([block.times for block in by_block]),
        )

    def split(self) -> "Iterator[Taken]":
        """Yield the rows of each block, without copying them."""
        first = 0
        for number, n_rows in self.of_blocks:
            last = first + n_rows
            codes = self.codes.between(first, last)
            yield Taken([(number, n_rows)], codes, self.labels[first:last], self.times[first:last])
            first = last


def _number(taken: Taken) -> int:
    return taken.of_blocks[0][0]


@dataclass(frozen=True)
class Routed:
    """The rows of a block that a tree draws, by the subtrees that they fall into."""

    starts: dict[int, tuple[int, int]]
    rows: NDArray[np.uint32]
    times: NDArray[np.uint32]

    def __sizeof__(self) -> int:
        return n_bytes(self.rows, self.times)


def _route(
    blocks: Sequence[CodedBlock],
    drawings: Sequence[Drawing],
    wanted: tuple[int, Any, Sequence[int]],
) -> list[Routed]:
    """Return where the rows of some blocks go: once for a tree, and not for each of its bundles."""
    held = zip(blocks, drawings, strict=True)
    return [_route_block(block, drawing, *wanted) for block, drawing in held]


def _route_block(
    block: CodedBlock, drawing: Drawing, tree: int, routes: Any, nodes: Sequence[int]
) -> Routed:
    times = drawing.times(block, tree)
    node_of = _engine.route_rows(block.codes.columns, block.codes.is_wide, times, routes)
    rows = np.flatnonzero(np.isin(node_of, nodes)).astype(np.uint32)
    rows = rows[np.argsort(node_of[rows], kind="stable")]
    found = node_of[rows]
    firsts, lasts = (np.searchsorted(found, nodes, side).tolist() for side in ("left", "right"))
    starts = dict(zip(nodes, zip(firsts, lasts, strict=True), strict=True))
    return Routed(starts, rows, times[rows])


def _take(
    numbers: Sequence[int],
    blocks: Sequence[CodedBlock],
    routed: Sequence[Routed],
    nodes: Sequence[int],
) -> list[Taken]:
    """Return the rows of each node."""
    held = list(zip(numbers, blocks, routed, strict=True))
    return [Taken.joined([_take_rows(*each, node) for each in held]) for node in nodes]


def _take_rows(number: int, block: CodedBlock, routed: Routed, node: int) -> Taken:
    first, last = routed.starts[node]
    rows = routed.rows[first:last].astype(np.intp)
    times = routed.times[first:last]
    return Taken([(number, len(rows))], block.codes.take(rows), block.labels[rows], times)


def _grow_bundle(
    rules: Rules, bundle: Sequence[SubtreeJob], rows: Sequence[Any]
) -> list["_engine.Forest"]:
    forests = []
    handle, options = rules.criterion.handle(), rules.options()
    for job, parts in zip(bundle, zip(*rows, strict=True), strict=True):
        taken = Taken.joined(parts)
        forests.append(
            _engine.grow_subtree(
                codes=_engine.join_codes(rules.tables, taken.codes.columns, len(taken.labels)),
                labels=taken.labels,
                times=taken.times,
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

"""Some of the rows of a cluster, where the client needs them as they are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from hardwood._core.compact import CompactForest
from hardwood._core.copies import block_hashes
from hardwood._core.grow import Growth, TrainingSet
from hardwood._core.sparse import is_sparse
from hardwood.dask.drawing import Drawing, plan_draws
from hardwood.dask.growing import grow_placed
from hardwood.dask.placement import Placement
from hardwood.dask.tasks import Tasks
from hardwood.dask.training import CodedBlock, DistributedSet, Encoding
from hardwood.dask.voting import out_of_bag_votes
from hardwood.noise.checks import Array


@dataclass(frozen=True)
class ClusterSet:
    """Training data on a cluster that an adaptive forest can treat as if it were here."""

    data: DistributedSet
    tasks: Tasks
    placement: Placement

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def grow(self, growth: Growth, seed: int, **options: Any) -> CompactForest:
        """Grow trees on the workers."""
        return grow_placed(self.placement, self.data, growth, seed, self.tasks, **options)

    def part(self, rows: NDArray[np.intp]) -> TrainingSet:
        """Return some of the rows, in ascending order, without groups."""
        data = self.data
        parts = _of_blocks(rows, data.starts)
        calls = [(data.encoding, *data.given.block(i), part) for i, part in parts]
        found = self.tasks.gather(self.tasks.blocks("rows", _rows, calls))
        X, labels, weights = zip(*found, strict=True)
        return TrainingSet(
            vstack(X, format="csr") if is_sparse(X[0]) else np.concatenate(X),
            np.concatenate(labels),
            np.concatenate(weights) if data.is_weighted else None,
            data.classes,
            data.criterion,
            None,
            category_columns=data.category_columns,
        )

    def out_of_bag(
        self, trees: CompactForest, seed: int, n_draws: int
    ) -> tuple[Array, NDArray[np.int64]]:
        """Return the votes on all rows given, by trees that did not draw them."""
        return out_of_bag_votes(self.data, trees, seed, n_draws, self.tasks)

    @cached_property
    def _labels_given(self) -> tuple[NDArray[np.uint16], NDArray[np.bool_] | None]:
        """The labels of all rows given, and which of these rows have a weight."""
        data = self.data
        calls = [(data.encoding, *data.given.block(i)) for i in range(len(data.given))]
        found = self.tasks.gather(self.tasks.blocks("labels", _labels_given, calls))
        labels, kept = zip(*found, strict=True)
        return np.concatenate(labels), np.concatenate(kept) if data.has_zero_weights else None

    @property
    def given_labels(self) -> NDArray[Any]:
        """The labels of all rows given, as the user names them."""
        return np.asarray(self.data.classes[self._labels_given[0]])

    @property
    def kept(self) -> NDArray[np.bool_] | None:
        """Which of the rows given have a weight; None if all of them."""
        return self._labels_given[1]

    @property
    def labels(self) -> NDArray[np.uint16]:
        """The labels of the rows that have a weight."""
        return self.labels_and_weights[0]

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Their weights, if rows have some."""
        return self.labels_and_weights[1]

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hashes of all rows by blocks of columns."""
        data = self.data
        calls = [(data.encoding, *data.given.block(i)) for i in range(len(data.given))]
        found = self.tasks.gather(self.tasks.blocks("hash", _hashes, calls))
        return np.concatenate([part for part in found if part is not None], axis=1)

    @cached_property
    def labels_and_weights(self) -> tuple[NDArray[np.uint16], NDArray[np.float64] | None]:
        """Return the labels and weights of all rows."""
        parts = [self.tasks.run("labels", _labels_and_weights, b) for b in self.data.blocks]
        labels, weights = zip(*self.tasks.gather(parts), strict=True)
        return np.concatenate(labels), np.concatenate(weights) if self.is_weighted else None

    @cached_property
    def groups(self) -> NDArray[np.uint32] | None:
        """The numbers of the rows' groups; None if rows are drawn one by one."""
        if self.data.group_sizes is None:
            return None
        return np.concatenate(
            self.tasks.gather([self.tasks.run("groups", _groups, b) for b in self.data.blocks])
        )


@dataclass
class JudgedThere:
    """Rows of a cluster that judge the trees that did not draw them.

    The rows sampled come here, and which of the trees drew them.
    """

    cluster: ClusterSet
    n_draws: int
    seed: int
    n_trees: int
    _rows: NDArray[np.uint32] = field(init=False)
    _part: TrainingSet = field(init=False)
    _drawn: NDArray[np.bool_] = field(init=False)  # [tree, place]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.cluster.data.n_rows

    def sample(self, rows: NDArray[np.uint32]) -> None:
        """Fetch the rows that will be asked for."""
        cluster, data = self.cluster, self.cluster.data
        self._rows, self._part = rows, cluster.part(rows.astype(np.intp))
        drawings = plan_draws(data, self.seed, self.n_draws, cluster.tasks)
        parts = [
            cluster.tasks.run("drawn", _drawn, data.blocks[i], drawings[i], part, self.n_trees)
            for i, part in _of_blocks(rows, data.starts)
        ]
        packed = cluster.tasks.gather(parts)
        self._drawn = np.concatenate(
            [np.unpackbits(bits, axis=1, count=n).view(np.bool_) for bits, n in packed], axis=1
        )

    def votes(
        self,
        trees: CompactForest,
        first_tree: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32],
        shrinkages: Array,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the sums of votes on rows that trees did not draw, and how many voted."""
        places = np.searchsorted(self._rows, rows)
        width = len(stops) + len(shrinkages), trees.n_classes
        votes = np.zeros((len(rows), *width), dtype=np.float32)
        n_votes = np.zeros(len(rows), dtype=np.int64)
        for t in range(len(trees)):
            is_out = ~self._drawn[first_tree + t, places]
            of_tree, _ = trees.tree(t).oob_smoothed(
                self._part.X,
                None,
                0,  # a tree that draws nothing votes on all rows that it is given
                self.seed,
                first_tree=0,
                rows=places[is_out].astype(np.uint32),
                stops=stops,
                shrinkages=shrinkages,
            )
            votes[is_out] += of_tree
            n_votes += is_out
        return votes, n_votes

    def labels(self, rows: NDArray[np.uint32]) -> NDArray[np.uint16]:
        """Return the labels of some rows."""
        return self._part.labels[np.searchsorted(self._rows, rows)]

    def relative_weights(self, rows: NDArray[np.uint32]) -> Array:
        """Return the weights of some rows, of which the largest of all is about 1."""
        largest, weights = self.cluster.data.largest_weight, self._part.weights
        if weights is None or largest is None:
            return np.ones(len(rows))
        _, exponent = np.frexp(largest)
        return np.asarray(np.ldexp(weights[np.searchsorted(self._rows, rows)], -exponent))


def _of_blocks(rows: NDArray[Any], starts: Sequence[int]) -> list[tuple[int, NDArray[np.intp]]]:
    """Return the numbers of rows within their blocks, for each block that has some of them."""
    parts = np.split(rows.astype(np.intp), np.searchsorted(rows, starts[1:-1]))
    return [
        (i, part - start)
        for i, (part, start) in enumerate(zip(parts, starts, strict=False))
        if len(part)
    ]


def _rows(
    sent: tuple[Encoding, Any], X: Any, y: Any, weights: Any, groups: Any, rows: NDArray[np.intp]
) -> tuple[Any, NDArray[np.uint16], Any]:
    X, labels, weights, _ = sent[0].kept(X, y, weights, groups)
    X = X.tocsr() if is_sparse(X) else X
    return X[rows], labels[rows], None if weights is None else weights[rows]


def _labels_given(
    sent: tuple[Encoding, Any], X: Any, y: Any, weights: Any, groups: Any
) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows == 0:
        return np.empty(0, dtype=np.uint16), np.empty(0, dtype=bool)
    _, labels, weights = sent[0].labelled(X, y, weights)
    return labels, np.ones(n_rows, dtype=bool) if weights is None else weights > 0


def _hashes(sent: tuple[Encoding, Any], X: Any, y: Any, weights: Any, groups: Any) -> Any:
    if X.shape[0] == 0:
        return None
    X, _, _, _ = sent[0].kept(X, y, weights, groups)
    return block_hashes(X.tocsr() if is_sparse(X) else X, 1) if X.shape[0] else None


def _labels_and_weights(block: CodedBlock) -> tuple[NDArray[np.uint16], Any]:
    return block.labels, block.weights


def _groups(block: CodedBlock) -> Any:
    return block.groups


def _drawn(
    block: CodedBlock, drawing: Drawing, rows: NDArray[np.intp], n_trees: int
) -> tuple[NDArray[np.uint8], int]:
    """Return whether each tree drew each row, eight rows a byte, and the number of rows."""
    drawn = np.array([drawing.times(block, tree)[rows] > 0 for tree in range(n_trees)])
    return np.packbits(drawn, axis=1), len(rows)

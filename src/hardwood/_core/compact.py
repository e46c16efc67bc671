"""Trees as the engine keeps them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from hardwood import _engine
from hardwood._core.leaf_prediction import check_optimal, optimal_votes
from hardwood._core.validation import MAX_CLASSES, MAX_COLUMNS, FloatMatrix
from hardwood._io.storing import Stored, storable
from hardwood.criteria import EngineCriterion, resolve

if TYPE_CHECKING:
    from hardwood._engine import ExpandedTree, FittedArrays, ForestArrays


# struct Node of cpp/include/hardwood/tree.hpp
_NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("child", np.uint32)])
_LEAF = -1


@storable("CompactForest")
@dataclass(frozen=True)
class CompactForest:
    """One tree or many, in five flat arrays.

    Nodes stand in depth-first order, 16 bytes each. Leaves have entries (label, count) for the
    classes that occur in them, counts in multiples of `weight_unit`. Tree t has the nodes from
    ``node_start[t]`` to ``node_start[t + 1]``, and its entries likewise. Everything else follows:
    see `expand`.
    """

    n_classes: int
    nodes: NDArray[np.uint8]
    entry_label: NDArray[np.uint16]
    entry_count: NDArray[Any]
    node_start: NDArray[np.int64]
    entry_start: NDArray[np.int64]
    weight_unit: float
    criterion: EngineCriterion
    monotonic_cst: tuple[int, ...] = ()
    leaf_prediction: str = "distribution"
    vote_count: NDArray[Any] | None = None  # see `with_votes`

    def __len__(self) -> int:
        return len(self.node_start) - 1

    @property
    def arrays(self) -> "ForestArrays":
        """What the engine's functions of a forest take first."""
        return (
            self.n_classes,
            self.nodes,
            self.entry_label,
            self.entry_count,
            self.node_start,
            self.entry_start,
        )

    @property
    def voting_arrays(self) -> "ForestArrays":
        """The same, with the counts that leaves vote with."""
        if self.vote_count is None:
            return self.arrays
        return (*self.arrays[:3], self.vote_count, *self.arrays[4:])

    def with_votes(self) -> "CompactForest":
        """Return the forest with the counts that leaves vote with, where these are not their own.

        Monotonic bounds: below a split on an unconstrained feature a leaf can lie outside the
        bounds that splits above have set; it then votes with the nearest proportions inside. Such
        leaves have an entry for each of the two classes.

        Optimal predictions: they are zero for classes that a leaf does not hold, so that each is
        again a number for every entry.
        """
        if not self.monotonic_cst and self.leaf_prediction == "distribution":
            return self
        votes = self.entry_count
        if self.monotonic_cst:
            expanded = [self._expand_distributions(t) for t in range(len(self))]
            votes = np.concatenate([e["value"][e["left_child"] < 0].ravel() for e in expanded])
        if self.leaf_prediction == "optimal":
            votes = self._optimal(votes)
        return replace(self, vote_count=None if np.array_equal(votes, self.entry_count) else votes)

    def _optimal(self, counts: NDArray[Any]) -> NDArray[Any]:
        """Return what leaves predict optimally, from the counts of all entries."""
        n_entries = self._leaf_sizes()
        first = np.cumsum(n_entries) - n_entries
        votes = counts
        for size in np.unique(n_entries):
            entries = first[n_entries == size, np.newaxis] + np.arange(size)
            of_size = optimal_votes(self.criterion, counts[entries], self.n_classes)
            if of_size.dtype != votes.dtype or votes is counts:
                votes = votes.astype(of_size.dtype)
            votes[entries] = of_size
        return votes

    def _leaf_sizes(self) -> NDArray[np.int64]:
        """Return how many entries each leaf has, in the order of the entries."""
        nodes = self.node_fields()
        sizes: NDArray[np.int64] = nodes["child"][nodes["feature"] == _LEAF].astype(np.int64)
        return sizes

    def node_fields(self) -> NDArray[np.void]:
        """Return the nodes as a structured array: threshold, feature (−1: leaf), child.

        The child is the right one, the left one follows its parent; its top bit tells that missing
        values go left. Of a leaf it is the number of entries.
        """
        return self.nodes.view(_NODE)[:, 0]

    def tree(self, t: int) -> "CompactForest":
        """Return tree t alone."""
        return self.trees(t, t + 1)

    def trees(self, first: int, last: int) -> "CompactForest":
        """Return the trees from first to before last."""
        node_start = self.node_start[first : last + 1]
        entry_start = self.entry_start[first : last + 1]
        entries = slice(entry_start[0], entry_start[-1])
        return replace(
            self,
            nodes=self.nodes[node_start[0] : node_start[-1]],
            entry_label=self.entry_label[entries],
            entry_count=self.entry_count[entries],
            node_start=node_start - node_start[0],
            entry_start=entry_start - entry_start[0],
            vote_count=None,
        )

    @classmethod
    def joined(cls, parts: "Sequence[CompactForest]") -> "CompactForest":
        """Return one forest of the trees of several, all of the same criterion.

        All leaves predict as those of the last.
        """

        def starts(name: str) -> NDArray[np.int64]:
            sizes = [np.diff(getattr(part, name)) for part in parts]
            return np.concatenate([[0], np.cumsum(np.concatenate(sizes))])

        return replace(
            parts[-1],
            nodes=np.concatenate([part.nodes for part in parts]),
            entry_label=np.concatenate([part.entry_label for part in parts]),
            entry_count=np.concatenate([part.entry_count for part in parts]),
            node_start=starts("node_start"),
            entry_start=starts("entry_start"),
            weight_unit=parts[0].weight_unit,
            vote_count=None,
        )

    def apply(self, X: FloatMatrix, n_threads: int = 1) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree."""
        return _engine.apply(*self.arrays, X, n_threads)

    def predict_proba(self, X: FloatMatrix, n_threads: int = 1) -> NDArray[np.float64]:
        """Return the mean of what the leaves of each row predict."""
        return _engine.predict_proba(*self.voting_arrays, X, n_threads)

    def oob_votes(
        self,
        X: FloatMatrix,
        weights: NDArray[np.float64] | None,
        n_draws: int,
        seed: int,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sums of the votes on rows that trees did not draw, and how many voted."""
        return _engine.oob_votes(*self.voting_arrays, X, weights, n_draws, seed, n_threads)

    def oob_smoothed(
        self,
        X: FloatMatrix,
        weights: NDArray[np.float64] | None,
        n_draws: int,
        seed: int,
        *,
        first_tree: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32],
        shrinkages: NDArray[np.float64],
        n_threads: int = 1,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the same for some rows, under each way to smooth the trees."""
        return _engine.oob_smoothed(
            *self.arrays,
            X,
            weights,
            n_draws,
            seed,
            first_tree,
            rows,
            stops,
            shrinkages,
            n_threads,
        )

    def expand(self, t: int = 0) -> "ExpandedTree":
        """Return what scikit-learn shows of tree t, and the gain of each split."""
        expanded = self._expand_distributions(t)
        if self.leaf_prediction == "optimal":
            votes = optimal_votes(self.criterion, expanded["value"], self.n_classes)
            if votes is not expanded["value"]:
                expanded["value"] = votes / votes.sum(axis=1, keepdims=True)
        return expanded

    def _expand_distributions(self, t: int) -> "ExpandedTree":
        return _engine.expand(
            *self.arrays, t, self.weight_unit, *self.criterion.arguments, self.monotonic_cst
        )

    def pruned(self, alpha: float) -> "CompactForest":
        """Return the first tree without the splits that are worth no more than alpha a leaf."""
        return self._with(
            _engine.prune(*self.arrays, 0, self.expand()["gain"], alpha, bool(self.monotonic_cst))
        )

    def stopped(self, min_rows: int, n_threads: int = 1) -> "CompactForest":
        """Return the forest whose trees stop at nodes of fewer than so many rows."""
        return self._with(_engine.stop_trees(*self.arrays, min_rows, n_threads))

    def shrunk(self, shrinkage: float, n_threads: int = 1) -> "CompactForest":
        """Return the forest whose leaves are shrunk towards the nodes above them."""
        in_units = shrinkage / self.weight_unit
        return self._with(_engine.shrink_trees(*self.arrays, in_units, n_threads))

    def _with(self, arrays: "FittedArrays") -> "CompactForest":
        nodes, entry_label, entry_count, node_start, entry_start = arrays
        return replace(
            self,
            nodes=nodes,
            entry_label=entry_label,
            entry_count=entry_count,
            node_start=node_start,
            entry_start=entry_start,
            vote_count=None,
        )

    def _to_stored(self) -> dict[str, Any]:
        return {
            "n_classes": self.n_classes,
            "nodes": self.nodes,
            "entry_label": self.entry_label,
            "entry_count": self.entry_count,
            "node_start": self.node_start,
            "entry_start": self.entry_start,
            "weight_unit": self.weight_unit,
            "criterion": self.criterion,
            "monotonic_cst": np.array(self.monotonic_cst, dtype=np.int8),
            "leaf_prediction": self.leaf_prediction,
            "vote_count": self.vote_count,
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        """Make the forest again; `validate` is still to be called with the number of features."""
        n_classes = stored.integer("n_classes", 1, MAX_CLASSES)
        counts = "u2 u4 f8"
        forest = cls(
            n_classes,
            nodes=stored.array("nodes", "u1", (None, 16)),
            entry_label=stored.array("entry_label", "u2", (None,)),
            entry_count=stored.array("entry_count", counts, (None,)),
            node_start=stored.array("node_start", "i8", (None,)),
            entry_start=stored.array("entry_start", "i8", (None,)),
            weight_unit=stored.number("weight_unit"),
            criterion=stored.instance("criterion", EngineCriterion),
            monotonic_cst=tuple(stored.array("monotonic_cst", "i1", (None,)).tolist()),
            leaf_prediction=stored.instance("leaf_prediction", str),
            vote_count=(
                None
                if stored["vote_count"] is None
                else stored.array("vote_count", counts, (None,))
            ),
        )
        if forest.weight_unit <= 0:
            raise stored.wrong("weight_unit", "above 0")
        if forest.leaf_prediction not in ("distribution", "optimal"):
            raise stored.wrong("leaf_prediction", "'distribution' or 'optimal'")
        if forest.leaf_prediction == "optimal":
            check_optimal(forest.criterion, resolve(forest.criterion.name))
        return forest

    def validate(self, n_features: int) -> None:
        """Raise a ValueError unless the engine can use the forest with so many features.

        Forests from a file can be anything; those that were grown need no check.
        """
        if not 1 <= n_features <= MAX_COLUMNS:
            raise ValueError(f"the number of features must be from 1 to {MAX_COLUMNS}")
        _engine.validate(*self.arrays, n_features)
        if self.vote_count is not None:
            _engine.validate(*self.voting_arrays, n_features)
        if self.monotonic_cst:
            n_leaves = (len(self.nodes) + len(self)) // 2
            if (
                len(self.monotonic_cst) != n_features
                or not set(self.monotonic_cst) <= {-1, 0, 1}
                or self.n_classes != 2
                or len(self.entry_label) != 2 * n_leaves
            ):
                raise ValueError(
                    "monotonic constraints must be one for each feature, −1, 0 or 1, and the "
                    "leaves must have counts of both classes"
                )

    def pruning_path(self) -> Bunch:
        """Return the effective alphas of the first tree and what impurity it keeps after each."""
        expanded = self.expand()
        gain = expanded["gain"]
        alphas, gains = _engine.pruning_path(*self.arrays, 0, gain)
        return Bunch(
            ccp_alphas=np.concatenate([[0.0], alphas]),
            impurities=expanded["impurity"][0] - np.concatenate([[gain.sum()], gains]),
        )


def gain_by_feature(expanded: "ExpandedTree", n_features: int) -> NDArray[np.float64]:
    """Return each feature's share of what the splits of a tree gain; zero for a lone leaf."""
    gain = np.zeros(n_features)
    splits = expanded["feature"] >= 0
    np.add.at(gain, expanded["feature"][splits], expanded["gain"][splits])
    total = gain.sum()
    if total > 0:
        gain /= total
    return gain


def path_indicator(leaves: NDArray[np.int64], tree: Any) -> csr_matrix:
    """Return which nodes of a scikit-learn tree lie above the leaves, and these themselves."""
    parent = np.full(tree.node_count, -1)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    row, node = np.arange(len(leaves)), leaves
    rows, nodes = [row], [node]
    while len(row):
        node = parent[node]
        inside = node >= 0
        row, node = row[inside], node[inside]
        rows.append(row)
        nodes.append(node)
    places = np.concatenate(rows), np.concatenate(nodes)
    ones = np.ones(len(places[0]), dtype=np.int64)
    return csr_matrix((ones, places), shape=(len(leaves), tree.node_count))

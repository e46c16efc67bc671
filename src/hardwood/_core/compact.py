"""Trees as the engine keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from hardwood._core._engine import Forest
from hardwood._core.groups import Groups
from hardwood._core.validation import MAX_CLASSES, MAX_COLUMNS, Matrix
from hardwood._io.storing import Stored, storable
from hardwood.criteria import EngineCriterion

# struct Node of cpp/include/hardwood/tree.hpp
_NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("child", np.uint32)])
_SET_BIT = np.int32(2**30)  # of the feature, if the node splits by a set of categories
# struct SetPlace, in place of the threshold
_PLACE = np.dtype([("offset", np.uint32), ("first_word", np.uint16), ("n_words", np.uint16)])
_SET_BITS = 32


class ExpandedTree(TypedDict):
    """What scikit-learn shows of a tree, an array each, and the gain of each split.

    The threshold of a split by a set of categories is NaN.
    """

    left_child: NDArray[np.int64]
    right_child: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    impurity: NDArray[np.float64]
    n_node_samples: NDArray[np.int64]
    weighted_n_node_samples: NDArray[np.float64]
    missing_go_to_left: NDArray[np.uint8]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    max_depth: int


@storable("CompactForest")
@dataclass(frozen=True)
class CompactForest:
    """One tree or many, and what they were grown by.

    The engine's `forest` holds a few arrays. Nodes stand in depth-first order, 16 bytes each. Leaves
    have entries (label, count) for the classes that occur in them, counts in multiples of
    `weight_unit`. Nodes that split by a set of categories have its bits in `set_words`. Tree t has
    the nodes from ``node_start[t]`` to ``node_start[t + 1]``, and its entries and sets likewise.
    Everything else follows: see `expand`.
    """

    forest: Forest
    weight_unit: float
    criterion: EngineCriterion
    monotonic_cst: tuple[int, ...] = ()
    leaf_prediction: str = "distribution"
    vote_count: NDArray[Any] | None = None  # see `with_votes`

    def __len__(self) -> int:
        return len(self.forest)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.forest.n_classes

    @property
    def nodes(self) -> NDArray[np.uint8]:
        """The nodes of all trees, 16 bytes each."""
        return self.forest.nodes

    @property
    def node_start(self) -> NDArray[np.int64]:
        """Where the nodes of each tree start."""
        return self.forest.node_start

    @property
    def voting(self) -> Forest:
        """The forest with the counts that leaves vote with."""
        return self.forest if self.vote_count is None else self._with_counts(self.vote_count)

    def as_voting(self) -> "CompactForest":
        """Return a forest whose counts are those that leaves vote with."""
        return self if self.vote_count is None else self._with(self.voting)

    def _with_counts(self, counts: NDArray[Any]) -> Forest:
        forest = self.forest
        return Forest(
            forest.n_classes,
            forest.nodes,
            forest.entry_label,
            counts,
            forest.node_start,
            forest.entry_start,
            forest.set_words,
            forest.set_start,
        )

    def with_votes(self) -> "CompactForest":
        """Return the forest with the counts that leaves vote with, where these are not their own.

        Monotonic bounds: below a split on an unconstrained feature a leaf can lie outside the
        bounds that splits above have set; it then votes with the nearest proportions inside. Such
        leaves have an entry for each of the two classes.

        Optimal predictions: they are zero for classes that a leaf does not hold, so that each is
        again a number for every entry.
        """
        counts = votes = self.forest.entry_count
        if self.monotonic_cst:
            expanded = [self._expanded(t, optimal=False) for t in range(len(self))]
            votes = np.concatenate([e["value"][e["left_child"] < 0].ravel() for e in expanded])
        if self.leaf_prediction == "optimal":
            votes = self._with_counts(votes).optimal_counts(self.criterion.handle())
            narrow = votes.astype(counts.dtype)
            votes = narrow if np.array_equal(narrow, votes) else votes
        return replace(self, vote_count=None if np.array_equal(votes, counts) else votes)

    @property
    def has_sets(self) -> bool:
        """Whether some node splits by a set of categories."""
        return len(self.forest.set_words) > 0

    def node_fields(self) -> NDArray[np.void]:
        """Return the nodes as a structured array: threshold, feature (−1: leaf), child.

        The child is the right one, the left one follows its parent; its top bit tells that missing
        values go left. Of a leaf it is the number of entries. See `are_sets` for splits by sets.
        """
        return self.forest.nodes.view(_NODE)[:, 0]

    def are_sets(self) -> NDArray[np.bool_]:
        """Return which nodes split by a set. Their `feature` has one more bit: see `columns`."""
        return self.node_fields()["feature"] >= _SET_BIT

    def columns(self) -> NDArray[np.int32]:
        """Return the feature of each node, −1 for leaves."""
        feature = self.node_fields()["feature"]
        return np.where(feature >= _SET_BIT, feature - _SET_BIT, feature)

    def category_set(self, node: int) -> NDArray[np.int64]:
        """Return the numbers of the categories in the set of a node.

        These categories go to one side. All others, and missing values, go to the other side, which
        the top bit of the node's child tells.
        """
        tree = int(np.searchsorted(self.node_start, node, side="right")) - 1
        place = self.forest.nodes[node, :8].view(_PLACE)[0]
        first = int(self.forest.set_start[tree]) + int(place["offset"])
        words = self.forest.set_words[first : first + int(place["n_words"])]
        bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits) + _SET_BITS * int(place["first_word"])

    def tree(self, t: int) -> "CompactForest":
        """Return tree t alone."""
        return self.trees(t, t + 1)

    def trees(self, first: int, last: int) -> "CompactForest":
        """Return the trees from first to before last."""
        of = self.forest
        node_start, entry_start = of.node_start[first : last + 1], of.entry_start[first : last + 1]
        set_start = of.set_start[first : last + 1]
        entries = slice(entry_start[0], entry_start[-1])
        forest = Forest(
            of.n_classes,
            of.nodes[node_start[0] : node_start[-1]],
            of.entry_label[entries],
            of.entry_count[entries],
            node_start - node_start[0],
            entry_start - entry_start[0],
            of.set_words[set_start[0] : set_start[-1]],
            set_start - set_start[0],
        )
        return replace(self, forest=forest, vote_count=None)

    @classmethod
    def joined(cls, parts: "Sequence[CompactForest]") -> "CompactForest":
        """Return one forest of the trees of several, all of the same criterion.

        All leaves predict as those of the last.
        """
        if len(parts) == 1:
            return parts[0]
        forests = [part.forest for part in parts]

        def starts(name: str) -> NDArray[np.int64]:
            sizes = np.concatenate([np.diff(getattr(forest, name)) for forest in forests])
            return np.concatenate([[0], np.cumsum(sizes)])

        forest = Forest(
            forests[0].n_classes,
            np.concatenate([forest.nodes for forest in forests]),
            np.concatenate([forest.entry_label for forest in forests]),
            np.concatenate([forest.entry_count for forest in forests]),
            starts("node_start"),
            starts("entry_start"),
            np.concatenate([forest.set_words for forest in forests]),
            starts("set_start"),
        )
        unit = parts[0].weight_unit
        return replace(parts[-1], forest=forest, weight_unit=unit, vote_count=None)

    def apply(self, X: Matrix, n_threads: int = 1) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree."""
        return self.forest.apply(X, n_threads)

    def predict_proba(self, X: Matrix, n_threads: int = 1) -> NDArray[np.float64]:
        """Return the mean of what the leaves of each row predict."""
        return self.voting.predict_proba(X, n_threads)

    def oob_votes(
        self,
        X: Matrix,
        weights: NDArray[np.float64] | None,
        n_draws: int,
        seed: int,
        n_threads: int = 1,
        groups: Groups | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sums of the votes on rows that trees did not draw, and how many voted."""
        return self.voting.oob_votes(X, weights, n_draws, seed, n_threads, groups)

    def oob_smoothed(
        self,
        X: Matrix,
        weights: NDArray[np.float64] | None,
        n_draws: int,
        seed: int,
        *,
        first_tree: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32],
        shrinkages: NDArray[np.float64],
        n_threads: int = 1,
        groups: Groups | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the same for some rows, under each way to smooth the trees."""
        return self.forest.oob_smoothed(
            X, weights, n_draws, seed, first_tree, rows, stops, shrinkages, n_threads, groups
        )

    def expand(self, t: int = 0) -> ExpandedTree:
        """Return what scikit-learn shows of tree t, and the gain of each split."""
        return self._expanded(t, self.leaf_prediction == "optimal")

    def _expanded(self, t: int, optimal: bool) -> ExpandedTree:
        expanded = self.forest.expand(
            t, self.weight_unit, self.criterion.handle(), self.monotonic_cst, optimal
        )
        return cast(ExpandedTree, expanded)

    def pruned(self, alpha: float) -> "CompactForest":
        """Return the first tree without the splits that are worth no more than alpha a leaf."""
        gain = self.expand()["gain"]
        return self._with(self.forest.pruned(0, gain, alpha, bool(self.monotonic_cst)))

    def stopped(self, min_rows: int, n_threads: int = 1) -> "CompactForest":
        """Return the forest whose trees stop at nodes of fewer than so many rows."""
        return self._with(self.forest.stopped(min_rows, n_threads))

    def shrunk(self, shrinkage: float, n_threads: int = 1) -> "CompactForest":
        """Return the forest whose leaves are shrunk towards the nodes above them."""
        return self.shrunk_by(np.full(len(self), shrinkage / self.weight_unit), n_threads)

    def shrunk_by(self, shrinkages: NDArray[np.float64], n_threads: int = 1) -> "CompactForest":
        """Return the same, with an amount for each tree, in multiples of `weight_unit`.

        With 0, a tree stays as it is.
        """
        return self._with(self.forest.shrunk(shrinkages, n_threads))

    def _with(self, forest: Forest) -> "CompactForest":
        return replace(self, forest=forest, vote_count=None)

    def _to_stored(self) -> dict[str, Any]:
        return {
            "n_classes": self.forest.n_classes,
            "nodes": self.forest.nodes,
            "entry_label": self.forest.entry_label,
            "entry_count": self.forest.entry_count,
            "node_start": self.forest.node_start,
            "entry_start": self.forest.entry_start,
            "set_words": self.forest.set_words,
            "set_start": self.forest.set_start,
            "weight_unit": self.weight_unit,
            "criterion": self.criterion,
            "monotonic_cst": np.array(_constraints(self.monotonic_cst), dtype=np.int8),
            "leaf_prediction": self.leaf_prediction,
            "vote_count": self.vote_count,
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        """Make the forest again; `validate` is still to be called with the number of features."""
        counts = "u2 u4 f8"
        node_start = stored.array("node_start", "i8", (None,))
        forest = Forest(
            stored.integer("n_classes", 1, MAX_CLASSES),
            stored.array("nodes", "u1", (None, 16)),
            stored.array("entry_label", "u2", (None,)),
            stored.array("entry_count", counts, (None,)),
            node_start,
            stored.array("entry_start", "i8", (None,)),
            # Files of earlier versions have no sets.
            stored.array("set_words", "u4", (None,)) if "set_words" in stored else None,
            stored.array("set_start", "i8", node_start.shape) if "set_words" in stored else None,
        )
        has_votes = stored["vote_count"] is not None
        compact = cls(
            forest,
            weight_unit=stored.number("weight_unit"),
            criterion=stored.instance("criterion", EngineCriterion),
            monotonic_cst=_constraints(stored.array("monotonic_cst", "i1", (None,))),
            leaf_prediction=stored.instance("leaf_prediction", str),
            vote_count=stored.array("vote_count", counts, (None,)) if has_votes else None,
        )
        if compact.weight_unit <= 0:
            raise stored.wrong("weight_unit", "above 0")
        if compact.leaf_prediction not in ("distribution", "optimal"):
            raise stored.wrong("leaf_prediction", "'distribution' or 'optimal'")
        if compact.leaf_prediction == "optimal":
            compact.criterion.check_optimal_leaf()
        return compact

    def validate(self, n_features: int, n_categories: Mapping[int, int] | None = None) -> None:
        """Raise a ValueError unless the engine can use the forest with so many features.

        `n_categories` has the number of categories of each feature that has some.

        Forests from a file can be anything; those that were grown need no check.
        """
        if not 1 <= n_features <= MAX_COLUMNS:
            raise ValueError(f"the number of features must be from 1 to {MAX_COLUMNS}")
        of_sets = dict(n_categories or {})
        self.forest.validate(n_features, n_categories=of_sets)
        if self.vote_count is not None:
            self.voting.validate(n_features, n_categories=of_sets)
        if self.monotonic_cst:
            n_leaves = (len(self.nodes) + len(self)) // 2
            if (
                len(self.monotonic_cst) != n_features
                or not set(self.monotonic_cst) <= {-1, 0, 1}
                or self.n_classes != 2
                or len(self.forest.entry_label) != 2 * n_leaves
            ):
                raise ValueError(
                    "monotonic constraints must be one for each feature, −1, 0 or 1, and the "
                    "leaves must have counts of both classes"
                )

    def pruning_path(self) -> Bunch:
        """Return the effective alphas of the first tree and what impurity it keeps after each."""
        expanded = self.expand()
        gain = expanded["gain"]
        alphas, gains = self.forest.pruning_path(0, gain)
        return Bunch(
            ccp_alphas=np.concatenate([[0.0], alphas]),
            impurities=expanded["impurity"][0] - np.concatenate([[gain.sum()], gains]),
        )


def gain_by_feature(expanded: ExpandedTree, n_features: int) -> NDArray[np.float64]:
    """Return each feature's share of what the splits of a tree gain; zero for a lone leaf."""
    gain = np.zeros(n_features)
    splits = expanded["feature"] >= 0
    np.add.at(gain, expanded["feature"][splits], expanded["gain"][splits])
    total = gain.sum()
    if total > 0:
        gain /= total
    return gain


def path_indicator(
    leaves: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> csr_matrix:
    """Return which nodes of a tree lie above the leaves, and these themselves."""
    n_nodes = len(left)
    parent = np.full(n_nodes, -1)
    for children in (left, right):
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
    return csr_matrix((ones, places), shape=(len(leaves), n_nodes))


# As Python's integers, those of a file take eight times the memory.
_MOST_CONSTRAINTS = 2**22


def _constraints(values: Sequence[int] | NDArray[np.int8]) -> tuple[int, ...]:
    """Return monotonic constraints; a ValueError if there are too many for a file."""
    if len(values) > _MOST_CONSTRAINTS:
        raise ValueError(f"there are more than {_MOST_CONSTRAINTS} monotonic constraints")
    return tuple(values.tolist() if isinstance(values, np.ndarray) else values)

"""Trees and forests as ONNX models, in float64.

The graph is ``X → TreeEnsembleRegressor → probabilities → ArgMax → Gather → label``. A model may
turn the votes of the trees into probabilities of the true classes, and divide these by the shares of
the classes before it decides: see `Decision`. There is one target for each class; a leaf's weights are its
probabilities, divided by the number of trees. This works for any number of classes and any type of
labels. A split by a set of categories becomes a chain of thresholds between the numbers of the
categories. Columns that trees see joined in pairs are joined first. ``TreeEnsembleClassifier`` treats two classes
specially and supports only integers and strings. Runtimes compute in float64 and return float32,
the operator's only output type.
"""

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._core.pairs import Pair
from hardwood._io.files import replacing

# Old enough for every runtime of recent years.
_IR_VERSION = 8
_OPSET = 13
_ML_OPSET = 3

_MAX_BYTES = 2**31 - 1  # the limit of protobuf
_MIN_BYTES_OF_NODE = 32  # a name, a double and six numbers of at least two bytes
_MIN_BYTES_OF_ENTRY = 14


@dataclass(frozen=True)
class Decision:
    """What a model makes of the mean votes of its trees.

    Attributes
    ----------
    even, exponents, offsets, weights : float and ndarrays
        Probabilities are Σ weights · softmax(exponents · (log(votes + even / K) + offsets)).
    unmix : ndarray of shape (n_classes, n_classes) or None
        The votes are multiplied by this first, clipped at 0 and scaled to sum to 1.
    as_is : float
        The share of the votes that is not unmixed.
    prior : ndarray of shape (n_classes,) or None
        The probabilities are divided by this to choose a label.
    """

    even: float
    exponents: NDArray[np.float64]
    offsets: NDArray[np.float64]
    weights: NDArray[np.float64]
    unmix: NDArray[np.float64] | None = None
    as_is: float = 0.0
    prior: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class _Layout:
    """Where the nodes of a forest stand in an ONNX model.

    Attributes
    ----------
    tree : ndarray of int
        The tree of each node.
    steps : ndarray of int
        The number of ONNX nodes in its place: one, or one for each bound of a set.
    number : ndarray of int
        The index of the first of them in its tree.
    bounds : ndarray of float
        The bounds of all sets. Those of a set lie, in turn, below and above the categories in it
        that follow one another: those of {0, 1, 5} are −0.5, 1.5, 4.5 and 5.5.
    """

    tree: NDArray[np.int64]
    steps: NDArray[np.int64]
    number: NDArray[np.int64]
    bounds: NDArray[np.float64]

    @classmethod
    def of(cls, compact: CompactForest) -> "_Layout":
        start = compact.node_start
        tree = np.repeat(np.arange(len(compact)), np.diff(start))
        steps = np.ones(len(tree), dtype=np.int64)
        bounds = [
            _bounds(compact.category_set(int(node))) for node in np.flatnonzero(compact.are_sets())
        ]
        steps[compact.are_sets()] = [len(each) for each in bounds]
        first = np.cumsum(steps) - steps
        return cls(tree, steps, first - first[start[tree]], np.concatenate([[], *bounds]))


def _bounds(members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the numbers between categories of which one is in a set and the other is not."""
    is_first = np.diff(members, prepend=-2) > 1
    is_last = np.diff(members, append=members[-1] + 2) > 1
    return np.column_stack([members[is_first] - 0.5, members[is_last] + 0.5]).ravel()


def write_onnx(model: Any, path: str | os.PathLike[str], decision: Decision | None = None) -> None:
    """Write a fitted tree or forest as an ONNX model."""
    compact = model._compact.with_votes()
    least = _MIN_BYTES_OF_NODE * len(compact.nodes)
    least += _MIN_BYTES_OF_ENTRY * len(compact.forest.entry_label)
    if least > _MAX_BYTES:
        raise _too_large(len(compact), len(compact.nodes))
    onnx = _onnx()
    proto = _model(onnx, model, compact, decision)
    if proto.ByteSize() > _MAX_BYTES:
        raise _too_large(len(compact), len(compact.nodes))
    with replacing(path) as file:
        file.write(proto.SerializeToString())


def _onnx() -> Any:
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx requires onnx: pip install 'hardwood[onnx]'.") from error


def _too_large(n_trees: int, n_nodes: int) -> ValueError:
    return ValueError(
        f"{n_trees:,} trees with {n_nodes:,} nodes in total exceed the 2 GB limit of ONNX models. "
        "Use fewer or smaller trees (max_depth, min_samples_leaf)."
    )


def _model(onnx: Any, model: Any, compact: CompactForest, decision: Decision | None) -> Any:
    helper, types = onnx.helper, onnx.TensorProto
    labels, label_type = _labels(types, model.classes_)
    n_classes = len(labels)
    layout = _Layout.of(compact)
    joining, constants = _joining(helper, types, model._pairs)
    trees = helper.make_node(
        "TreeEnsembleRegressor",
        ["joined" if joining else "X"],
        ["probabilities" if decision is None else "votes"],
        domain="ai.onnx.ml",
        n_targets=n_classes,
        aggregate_function="SUM",
        post_transform="NONE",
        **_nodes(helper, types, compact, layout),
        **_leaves(helper, types, compact, layout),
    )
    graph_of = _DecisionGraph(helper, types)
    worth = "probabilities" if decision is None else graph_of.decide(decision, n_classes)
    best = helper.make_node("ArgMax", [worth], ["best"], axis=1, keepdims=0)
    label = helper.make_node("Gather", ["classes", "best"], ["label"])
    shape = ["n_samples", model.n_features_in_]
    graph = helper.make_graph(
        [*joining, trees, *graph_of.nodes, best, label],
        type(model).__name__,
        [helper.make_tensor_value_info("X", types.DOUBLE, shape)],
        [
            helper.make_tensor_value_info("label", label_type, ["n_samples"]),
            helper.make_tensor_value_info("probabilities", types.FLOAT, ["n_samples", n_classes]),
        ],
        [
            helper.make_tensor("classes", label_type, [n_classes], labels),
            *constants,
            *graph_of.constants,
        ],
    )
    return helper.make_model(
        graph,
        ir_version=_IR_VERSION,
        producer_name="hardwood",
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
    )


def _joining(helper: Any, types: Any, pairs: Sequence[Pair]) -> tuple[list[Any], list[Any]]:
    """Return the nodes that add the columns of pairs to ``X``, and their constants."""
    if not pairs:
        return [], []
    n_pairs = len(pairs)
    first, second, _, n_second = zip(*pairs, strict=True)
    nodes = [
        helper.make_node("Gather", ["X", "first"], ["first_of_pairs"], axis=1),
        helper.make_node("Gather", ["X", "second"], ["second_of_pairs"], axis=1),
        helper.make_node("Mul", ["first_of_pairs", "n_second"], ["stride"]),
        helper.make_node("Add", ["stride", "second_of_pairs"], ["pairs"]),
        helper.make_node("Concat", ["X", "pairs"], ["joined"], axis=1),
    ]
    constants = [
        helper.make_tensor("first", types.INT64, [n_pairs], first),
        helper.make_tensor("second", types.INT64, [n_pairs], second),
        helper.make_tensor("n_second", types.DOUBLE, [n_pairs], n_second),
    ]
    return nodes, constants


class _DecisionGraph:
    """The nodes and constants between ``votes`` and ``probabilities``, in single precision."""

    def __init__(self, helper: Any, types: Any) -> None:
        self._helper, self._types = helper, types
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def decide(self, decision: Decision, n_classes: int) -> str:
        """Add everything that a decision needs and return the name of what to maximize."""
        scores = "votes"
        if decision.unmix is not None:
            scores = self._unmixed(decision.unmix, decision.as_is)
        scores = self._do("Max", scores, self._constant([0.0]))
        even = self._constant([decision.even / n_classes])
        log = self._do("Log", self._do("Add", scores, even))
        parts = [
            self._do("Mul", self._constant([weight]), self._softmax(log, a, b))
            for weight, a, b in zip(
                decision.weights, decision.exponents, decision.offsets, strict=True
            )
        ]
        self._do("Sum", *parts, output="probabilities")
        if decision.prior is None:
            return "probabilities"
        return self._do("Div", "probabilities", self._constant(decision.prior))

    def _softmax(self, log: str, exponent: float, offset: NDArray[np.float64]) -> str:
        moved = self._do("Add", log, self._constant(offset))
        return self._do("Softmax", self._do("Mul", moved, self._constant([exponent])), axis=1)

    def _unmixed(self, unmix: NDArray[np.float64], as_is: float) -> str:
        shares = self._do("MatMul", "votes", self._constant(unmix))
        shares = self._do("Max", shares, self._constant([0.0]))
        total = self._do("ReduceSum", shares, self._axis(1), keepdims=1)
        shares = self._do("Div", shares, self._do("Max", total, self._constant([1e-30])))
        shares = self._do("Mul", shares, self._constant([1 - as_is]))
        return self._do("Add", shares, self._do("Mul", "votes", self._constant([as_is])))

    def _do(self, operator: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        output = output or f"step_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, list(inputs), [output], **options))
        return output

    def _constant(self, values: Any) -> str:
        array = np.asarray(values, dtype=np.float32)
        return self._add(self._types.FLOAT, array)

    def _axis(self, axis: int) -> str:
        return self._add(self._types.INT64, np.array([axis]))

    def _add(self, kind: int, array: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(
            self._helper.make_tensor(name, kind, array.shape, array.ravel().tolist())
        )
        return name


def _labels(types: Any, classes: NDArray[Any]) -> tuple[list[Any], int]:
    """Return the classes and their ONNX type."""
    match classes.dtype.kind:
        case "b":
            return classes.tolist(), types.BOOL
        case "i" | "u":
            if classes.max() > np.iinfo(np.int64).max:
                raise ValueError("Class labels must fit into int64 to be written to ONNX.")
            return classes.tolist(), types.INT64
        case "f":
            return classes.astype(np.float64).tolist(), types.DOUBLE
        case _:
            return [str(name).encode() for name in classes], types.STRING


def _nodes(helper: Any, types: Any, compact: CompactForest, layout: _Layout) -> dict[str, Any]:
    """Return the nodes of all trees.

    A split by a set becomes a chain of thresholds, between categories that go to different sides.
    Missing values leave it at the first threshold, below all categories, like what is in no set.
    """
    nodes, steps = compact.node_fields(), layout.steps
    is_leaf, is_set = nodes["feature"] < 0, compact.are_sets()
    missing_left = (nodes["child"] >> 31).astype(bool)
    left = np.where(is_leaf, 0, np.arange(len(nodes)) + 1)
    right = np.where(is_leaf, 0, (nodes["child"] & np.uint32(2**31 - 1)).astype(np.int64))
    right += compact.node_start[layout.tree] * ~is_leaf
    left, right = (np.where(is_leaf, 0, layout.number[child]) for child in (left, right))
    # Categories of a set go where missing values do not. Below a threshold are, in turn, those that
    # are in no set and those that are, and above the last one are those in no set.
    other, member = np.where(missing_left, (left, right), (right, left))
    of_node = np.repeat(np.arange(len(nodes)), steps)
    step = np.arange(len(of_node)) - (np.cumsum(steps) - steps)[of_node]
    number = layout.number[of_node] + step
    below = np.where(step % 2 == 0, other[of_node], member[of_node])
    above = np.where(step + 1 < steps[of_node], number + 1, other[of_node])
    values = np.where(is_leaf, 0.0, nodes["threshold"])[of_node]
    values[is_set[of_node]] = layout.bounds
    return {
        "nodes_treeids": layout.tree[of_node].tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": np.maximum(compact.columns(), 0)[of_node].tolist(),
        "nodes_modes": np.where(is_leaf, b"LEAF", b"BRANCH_LEQ")[of_node].tolist(),
        "nodes_values_as_tensor": _doubles(helper, types, "nodes_values", values),
        "nodes_truenodeids": np.where(is_set[of_node], below, left[of_node]).tolist(),
        "nodes_falsenodeids": np.where(is_set[of_node], above, right[of_node]).tolist(),
        "nodes_missing_value_tracks_true": np.where(
            is_set[of_node], step == 0, (missing_left & ~is_leaf)[of_node]
        )
        .astype(int)
        .tolist(),
    }


def _leaves(helper: Any, types: Any, compact: CompactForest, layout: _Layout) -> dict[str, Any]:
    nodes = compact.node_fields()
    leaves = np.flatnonzero(nodes["feature"] < 0)
    n_entries = nodes["child"][leaves].astype(np.int64)
    votes = compact.voting.entry_count.astype(np.float64)
    # What a leaf adds to the probability of class k: n_k / Σ n / trees.
    totals = np.add.reduceat(votes, np.cumsum(n_entries) - n_entries)
    weights = votes / np.repeat(totals, n_entries) / len(compact)
    return {
        "target_treeids": np.repeat(layout.tree[leaves], n_entries).tolist(),
        "target_nodeids": np.repeat(layout.number[leaves], n_entries).tolist(),
        "target_ids": compact.forest.entry_label.tolist(),
        "target_weights_as_tensor": _doubles(helper, types, "target_weights", weights),
    }


def _doubles(helper: Any, types: Any, name: str, values: NDArray[np.float64]) -> Any:
    raw = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return helper.make_tensor(name, types.DOUBLE, [len(values)], raw, raw=True)

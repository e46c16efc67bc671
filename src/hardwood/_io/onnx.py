"""Trees and forests as ONNX models, in float64.

The graph is ``X → TreeEnsembleRegressor → probabilities → ArgMax → Gather → label``. There is one
target for each class; a leaf's weights are its probabilities, divided by the number of trees. This
works for any number of classes and any type of labels. ``TreeEnsembleClassifier`` treats two classes
specially and supports only integers and strings. Runtimes compute in float64 and return float32,
the operator's only output type.
"""

import importlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._io.files import replacing

# Old enough for every runtime of recent years.
_IR_VERSION = 8
_OPSET = 13
_ML_OPSET = 3

_MAX_BYTES = 2**31 - 1  # the limit of protobuf
_MIN_BYTES_OF_NODE = 32  # a name, a double and six numbers of at least two bytes
_MIN_BYTES_OF_ENTRY = 14


def write_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted tree or forest as an ONNX model."""
    compact = model._compact.with_votes()
    least = _MIN_BYTES_OF_NODE * len(compact.nodes)
    least += _MIN_BYTES_OF_ENTRY * len(compact.forest.entry_label)
    if least > _MAX_BYTES:
        raise _too_large(len(compact), len(compact.nodes))
    onnx = _onnx()
    proto = _model(onnx, model, compact)
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


def _model(onnx: Any, model: Any, compact: CompactForest) -> Any:
    helper, types = onnx.helper, onnx.TensorProto
    labels, label_type = _labels(types, model.classes_)
    n_classes = len(labels)
    trees = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["probabilities"],
        domain="ai.onnx.ml",
        n_targets=n_classes,
        aggregate_function="SUM",
        post_transform="NONE",
        **_nodes(helper, types, compact),
        **_leaves(helper, types, compact),
    )
    best = helper.make_node("ArgMax", ["probabilities"], ["best"], axis=1, keepdims=0)
    label = helper.make_node("Gather", ["classes", "best"], ["label"])
    shape = ["n_samples", model.n_features_in_]
    graph = helper.make_graph(
        [trees, best, label],
        type(model).__name__,
        [helper.make_tensor_value_info("X", types.DOUBLE, shape)],
        [
            helper.make_tensor_value_info("label", label_type, ["n_samples"]),
            helper.make_tensor_value_info("probabilities", types.FLOAT, ["n_samples", n_classes]),
        ],
        [helper.make_tensor("classes", label_type, [n_classes], labels)],
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


def _nodes(helper: Any, types: Any, compact: CompactForest) -> dict[str, Any]:
    nodes = compact.node_fields()
    is_leaf = nodes["feature"] < 0
    tree, number = _places(compact.node_start)
    missing_left = nodes["child"] >> 31
    right = nodes["child"] & np.uint32(2**31 - 1)
    modes = np.where(is_leaf, b"LEAF", b"BRANCH_LEQ")
    values = np.where(is_leaf, 0.0, nodes["threshold"])
    return {
        "nodes_treeids": tree.tolist(),
        "nodes_nodeids": number.tolist(),
        "nodes_featureids": np.maximum(nodes["feature"], 0).tolist(),
        "nodes_modes": modes.tolist(),
        "nodes_values_as_tensor": _doubles(helper, types, "nodes_values", values),
        "nodes_truenodeids": np.where(is_leaf, 0, number + 1).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, right).tolist(),
        "nodes_missing_value_tracks_true": np.where(is_leaf, 0, missing_left).tolist(),
    }


def _leaves(helper: Any, types: Any, compact: CompactForest) -> dict[str, Any]:
    nodes = compact.node_fields()
    leaves = np.flatnonzero(nodes["feature"] < 0)
    n_entries = nodes["child"][leaves].astype(np.int64)
    tree, number = _places(compact.node_start)
    votes = compact.voting.entry_count.astype(np.float64)
    # What a leaf adds to the probability of class k: n_k / Σ n / trees.
    totals = np.add.reduceat(votes, np.cumsum(n_entries) - n_entries)
    weights = votes / np.repeat(totals, n_entries) / len(compact)
    return {
        "target_treeids": np.repeat(tree[leaves], n_entries).tolist(),
        "target_nodeids": np.repeat(number[leaves], n_entries).tolist(),
        "target_ids": compact.forest.entry_label.tolist(),
        "target_weights_as_tensor": _doubles(helper, types, "target_weights", weights),
    }


def _places(start: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tree of each node, and its index in that tree."""
    sizes = np.diff(start)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    return tree, np.arange(start[-1]) - start[tree]


def _doubles(helper: Any, types: Any, name: str, values: NDArray[np.float64]) -> Any:
    raw = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return helper.make_tensor(name, types.DOUBLE, [len(values)], raw, raw=True)

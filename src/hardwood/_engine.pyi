from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray

Float32Or64 = NDArray[np.float32] | NDArray[np.float64]

# Nodes, entry labels, entry counts (uint16, uint32 or float64), node starts, entry starts.
FittedArrays = tuple[
    NDArray[np.uint8], NDArray[np.uint16], NDArray[Any], NDArray[np.int64], NDArray[np.int64]
]
# The number of classes, and the same.
ForestArrays = tuple[
    int,
    NDArray[np.uint8],
    NDArray[np.uint16],
    NDArray[Any],
    NDArray[np.int64],
    NDArray[np.int64],
]

# Bits, octaves, pieces and kinks: see hardwood._core.impurity_table.
Table = tuple[int, int, NDArray[np.float64], NDArray[np.float64]]
ImpurityFunction = Callable[[NDArray[np.float64]], NDArray[np.float64]]

class ExpandedTree(TypedDict):
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

@final
class Codes:
    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_codes(self) -> NDArray[np.uint32]: ...

def isa() -> str: ...
def isa_available() -> list[str]: ...
def code(X: Float32Or64, n_threads: int = 1) -> Codes: ...
def fit_trees(
    *,
    codes: Codes,
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64] | None,
    n_classes: int,
    criterion: str,
    parameter: float,
    table: Table | None,
    function: ImpurityFunction | None,
    max_features: int,
    random_cuts: bool,
    monotonic_cst: Sequence[int],
    max_depth: int,
    min_rows_split: int,
    min_rows_leaf: int,
    min_weight_leaf: float,
    min_gain: float,
    max_leaves: int,
    first_tree: int = 0,
    n_trees: int = 1,
    n_draws: int = 0,
    balance_draws: bool = False,
    seed: int,
    n_threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> tuple[FittedArrays, float]: ...
def apply(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    X: Float32Or64,
    n_threads: int = 1,
) -> NDArray[np.int64]: ...
def predict_proba(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    X: Float32Or64,
    n_threads: int = 1,
) -> NDArray[np.float64]: ...
def oob_votes(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    X: Float32Or64,
    weights: NDArray[np.float64] | None,
    n_draws: int,
    seed: int,
    n_threads: int = 1,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def oob_smoothed(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    X: Float32Or64,
    weights: NDArray[np.float64] | None,
    n_draws: int,
    seed: int,
    first_tree: int,
    rows: NDArray[np.uint32],
    stops: NDArray[np.uint32],
    shrinkages: NDArray[np.float64],
    n_threads: int = 1,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]: ...
def leading_classes(
    votes: NDArray[np.float32],
    others: NDArray[np.float32] | None,
    n_threads: int = 1,
) -> NDArray[np.uint16]: ...
def stop_trees(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    min_rows: int,
    n_threads: int = 1,
) -> FittedArrays: ...
def shrink_trees(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    shrinkage: float,
    n_threads: int = 1,
) -> FittedArrays: ...
def expand(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    tree: int,
    weight_unit: float,
    criterion: str,
    parameter: float,
    table: Table | None,
    function: ImpurityFunction | None,
    monotonic_cst: Sequence[int],
) -> ExpandedTree: ...
def pruning_path(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    tree: int,
    gain: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def prune(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    tree: int,
    gain: NDArray[np.float64],
    alpha: float,
    all_classes: bool,
) -> FittedArrays: ...
def validate(
    n_classes: int,
    nodes: NDArray[np.uint8],
    entry_label: NDArray[np.uint16],
    entry_count: NDArray[Any],
    node_start: NDArray[np.int64],
    entry_start: NDArray[np.int64],
    n_features: int,
    n_threads: int = 1,
) -> None: ...

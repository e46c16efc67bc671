from collections.abc import Sequence
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

Float32Or64 = NDArray[np.float32] | NDArray[np.float64]
CompactArrays = tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.uint32]]

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
def fit_tree(
    *,
    codes: Codes,
    labels: NDArray[np.uint16],
    weights: NDArray[np.float64] | None,
    n_classes: int,
    criterion: str,
    parameter: float,
    max_features: int,
    random_cuts: bool,
    monotonic_cst: Sequence[int],
    max_depth: int,
    min_rows_split: int,
    min_rows_leaf: int,
    min_weight_leaf: float,
    min_gain: float,
    max_leaves: int,
    seed: int,
) -> tuple[CompactArrays, float]: ...
def apply(nodes: NDArray[np.uint8], X: Float32Or64) -> NDArray[np.int64]: ...
def expand(
    nodes: NDArray[np.uint8],
    leaf_counts: NDArray[np.float64],
    leaf_rows: NDArray[np.uint32],
    weight_unit: float,
    criterion: str,
    parameter: float,
    monotonic_cst: Sequence[int],
) -> ExpandedTree: ...
def pruning_path(
    nodes: NDArray[np.uint8],
    leaf_counts: NDArray[np.float64],
    leaf_rows: NDArray[np.uint32],
    gain: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def prune(
    nodes: NDArray[np.uint8],
    leaf_counts: NDArray[np.float64],
    leaf_rows: NDArray[np.uint32],
    gain: NDArray[np.float64],
    alpha: float,
) -> CompactArrays: ...

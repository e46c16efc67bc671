from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

ISA: str = "baseline"

class CriterionParameter:
    @property
    def name(self) -> str: ...
    @property
    def default(self) -> float: ...
    @property
    def doc(self) -> str: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def includes_low(self) -> bool: ...
    @property
    def includes_high(self) -> bool: ...

class CriterionRecord:
    @property
    def name(self) -> str: ...
    @property
    def class_name(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def aliases(self) -> list[str]: ...
    @property
    def parameters(self) -> list[CriterionParameter]: ...
    @property
    def two_classes_only(self) -> bool: ...
    @property
    def scores_splits(self) -> bool: ...
    @property
    def why_no_optimal_leaf(self) -> str: ...
    @property
    def has_optimal_leaf(self) -> bool: ...

def criteria() -> list[CriterionRecord]:
    """The records of all criteria."""

class Criterion:
    def __init__(
        self,
        name: str,
        parameters: Sequence[float] = [],
        table: tuple[
            int,
            int,
            Annotated[
                NDArray[numpy.float64],
                dict(shape=(None, None), order="C", device="cpu", writable=False),
            ],
            Annotated[
                NDArray[numpy.float64],
                dict(shape=(None, None), order="C", device="cpu", writable=False),
            ],
        ]
        | None = None,
        function: object | None = None,
    ) -> None: ...

class Codes:
    @property
    def n_rows(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_codes(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

def code(X: object, n_threads: int = 1, category_columns: Sequence[int] = []) -> Codes: ...
def row_hashes(
    X: object, starts: Sequence[int], n_threads: int = 1
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None))]: ...

class Forest:
    def __init__(
        self,
        n_classes: int,
        nodes: object,
        entry_label: object,
        entry_count: object,
        node_start: object,
        entry_start: object,
        set_words: object | None = None,
        set_start: object | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def nodes(self, /) -> NDArray[numpy.uint8]: ...
    @property
    def entry_label(self, /) -> NDArray[numpy.uint16]: ...
    @property
    def entry_count(self, /) -> NDArray[numpy.generic]: ...
    @property
    def node_start(self, /) -> NDArray[numpy.int64]: ...
    @property
    def entry_start(self, /) -> NDArray[numpy.int64]: ...
    @property
    def set_words(self, /) -> NDArray[numpy.uint32]: ...
    @property
    def set_start(self, /) -> NDArray[numpy.int64]: ...
    def apply(
        self, X: object, n_threads: int = 1
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]: ...
    def predict_proba(
        self, X: object, n_threads: int = 1
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...
    def oob_votes(
        self,
        X: object,
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        n_draws: int,
        seed: int,
        n_threads: int = 1,
        groups: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None, None))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    ]: ...
    def oob_smoothed(
        self,
        X: object,
        weights: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        n_draws: int,
        seed: int,
        first_tree: int,
        rows: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        stops: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        shrinkages: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int = 1,
        groups: Annotated[
            NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None = None,
    ) -> tuple[
        Annotated[NDArray[numpy.float32], dict(shape=(None, None, None))],
        Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    ]: ...
    def stopped(self, min_rows: int, n_threads: int = 1) -> Forest: ...
    def shrunk(
        self,
        shrinkages: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        n_threads: int = 1,
    ) -> Forest: ...
    def expand(
        self,
        tree: int,
        weight_unit: float,
        criterion: Criterion,
        monotonic_cst: Sequence[int],
        optimal: bool = False,
    ) -> dict[str, object]: ...
    def optimal_counts(
        self, criterion: Criterion
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def pruning_path(
        self,
        tree: int,
        gain: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
        Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    ]: ...
    def pruned(
        self,
        tree: int,
        gain: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        alpha: float,
        all_classes: bool,
    ) -> Forest: ...
    def validate(
        self, n_features: int, n_threads: int = 1, n_categories: Mapping[int, int] = {}
    ) -> None: ...

def fit_trees(
    *,
    codes: Codes,
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    n_classes: int,
    criterion: Criterion,
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
    groups: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None = None,
    category_smoothing: float = 0.0,
) -> tuple[Forest, float]: ...
def draw(
    n_rows: int,
    n_draws: int,
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    groups: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    seed: int,
    tree: int,
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """How often each row is drawn for a tree."""

def seed_of_tree(seed: int, tree: int) -> int:
    """The seed whose tree 0 grows from the same random numbers."""

def leading_classes(
    votes: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    others: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ]
    | None,
    n_threads: int = 1,
) -> Annotated[NDArray[numpy.uint16], dict(shape=(None, None))]: ...
def label_likelihoods(
    votes: Annotated[
        NDArray[numpy.float32],
        dict(shape=(None, None, None), order="C", device="cpu", writable=False),
    ],
    n_votes: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    exponents: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    mixed_in: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    even: float,
    n_threads: int = 1,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]: ...

DRAW_BLOCK: int = 4096

def join_codes(
    tables: Sequence[
        tuple[
            Annotated[
                NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
            ],
            Annotated[
                NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
            ],
            bool,
            bool,
        ]
    ],
    columns: Sequence[object],
    n_rows: int,
    n_threads: int = 1,
) -> Codes:
    """Codes from tables and coded columns."""

@overload
def code_table(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    number: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]:
    """
    The smallest and largest value of each code, from a column's distinct values.
    """

@overload
def code_table(
    values: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    number: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]: ...
@overload
def code_table(
    values: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_rows: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    number: int,
) -> tuple[
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
    Annotated[NDArray[numpy.float64], dict(shape=(None,))],
]: ...
def draw_weights(
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    largest: float,
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """The whole numbers that rows are drawn in proportion to."""

def draw_range(
    n_units: int,
    n_draws: int,
    seed: int,
    tree: int,
    first: int,
    last: int,
    block_weights: Annotated[
        NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None = None,
    unit_weights: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None = None,
) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """How often the units from first to last are drawn for a tree."""

class GrowOptions:
    def __init__(
        self,
        *,
        max_features: int,
        random_cuts: bool,
        monotonic_cst: Sequence[int],
        max_depth: int,
        min_rows_split: int,
        min_rows_leaf: int,
        min_weight_leaf: float,
        min_gain: float,
        category_smoothing: float,
    ) -> None: ...

class Trunk:
    def __init__(
        self,
        *,
        tables: Sequence[
            tuple[
                Annotated[
                    NDArray[numpy.float64],
                    dict(shape=(None,), order="C", device="cpu", writable=False),
                ],
                Annotated[
                    NDArray[numpy.float64],
                    dict(shape=(None,), order="C", device="cpu", writable=False),
                ],
                bool,
                bool,
            ]
        ],
        criterion: Criterion,
        options: GrowOptions,
        n_classes: int,
        largest_total: float,
        unit_weights: bool,
        subtree_rows: int,
        n_rows: int,
        counts: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        seed: int,
        tree: int,
    ) -> None: ...
    def requests(self) -> list[tuple[int, list[int], list[bool]]]: ...
    def answer(self, node: int, counts: Sequence[tuple]) -> None: ...
    def routes(self) -> tuple: ...
    def subtrees(
        self,
    ) -> list[tuple[int, int, tuple[int, int, float, float, int, list[float]], list[int]]]: ...
    def assemble(self, grown: Sequence[Forest]) -> Forest: ...

def route_rows(
    columns: Sequence[object],
    wide: Sequence[bool],
    times: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    routes: tuple,
) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """
    The node of the trunk in which each row ends up that is drawn; -1 for others.
    """

def count_codes(
    codes: object,
    wide: bool,
    n_codes: int,
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    n_classes: int,
    times: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    rows: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> tuple[
    Annotated[NDArray[numpy.uint32], dict(shape=(None,))],
    Annotated[NDArray[numpy.uint32], dict(shape=(None,))],
]:
    """
    A class histogram over the codes of some rows, and the number of rows of each code.
    """

def grow_subtree(
    *,
    codes: Codes,
    labels: Annotated[
        NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    times: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    criterion: Criterion,
    options: GrowOptions,
    n_classes: int,
    largest_total: float,
    unit_weights: bool,
    total_weight: float,
    state: tuple[int, int, float, float, int, Sequence[float]],
    features: Annotated[
        NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
) -> Forest:
    """Grow the tree below a node of a trunk."""

def supported_isas() -> list[str]: ...

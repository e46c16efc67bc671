"""From blocks of rows to coded blocks, and what a fit must know of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight

from hardwood._compat import check_sample_weight
from hardwood._core.categories import MAX_CATEGORIES, Categories, sort_categories
from hardwood._core.exact import exact_sum, exact_sums
from hardwood._core.groups import check_groups
from hardwood._core.grow import balancing_weights, criterion_for
from hardwood._core.sparse import is_sparse
from hardwood._core.validation import MAX_CLASSES, MAX_ROWS, check_training_data
from hardwood.criteria import EngineCriterion
from hardwood.dask.blocks import Blocks
from hardwood.dask.tables import Codes, Distinct, Table, distinct_values, encode, merge_distinct
from hardwood.dask.tasks import Tasks, n_bytes


@dataclass(frozen=True)
class CodedBlock:
    """Some rows, without those of weight zero: codes, labels, weights, groups."""

    codes: Codes
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64] | None
    groups: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def __sizeof__(self) -> int:
        return self.codes.__sizeof__() + n_bytes(self.labels, self.weights, self.groups)


@dataclass(frozen=True)
class Shape:
    """Stands in for X where only its shape matters."""

    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True)
class DistributedSet:
    """Validated training data on the workers: what `TrainingSet` is on one machine."""

    X: Shape
    classes: NDArray[Any]
    criterion: EngineCriterion
    category_columns: tuple[int, ...]
    tables: list[Table]
    blocks: list[Any]  # futures of CodedBlock
    n_rows_of: list[int]  # of the blocks
    n_units: int
    total_weight: float
    total_unit_weight: float
    largest_weight: float | None  # None: no weights
    group_sizes: NDArray[np.int64] | None  # None: rows are drawn one by one
    given: Blocks
    encoding: Any  # future of (Encoding, tables), which coded the blocks
    has_zero_weights: bool  # whether given rows were left out

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.largest_weight is not None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each block, and the number of all rows."""
        return [0, *np.cumsum(self.n_rows_of).tolist()]


@dataclass(frozen=True)
class Summary:
    """What one block tells about X, y and the weights."""

    n_rows: int
    n_features: int
    names: NDArray[Any] | None
    categories: dict[int, list[Any]] | None
    classes: NDArray[Any]
    n_of_class: NDArray[np.int64]
    weight_of_class: list[Fraction] | None
    most_distinct: int  # values that a column can have, as far as its type tells


def _n_rows(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def summarise(model: Any, X: Any, y: Any, weights: Any, groups: Any) -> Summary | None:
    """Check a block and return what it tells; None if it has no rows."""
    n_rows = _n_rows(X)
    for name, values in (("y", y), ("sample_weight", weights), ("groups", groups)):
        if values is not None and _n_rows(values) != n_rows:
            raise ValueError(
                f"X and {name} must be partitioned alike, but a block of X has {n_rows} rows and "
                f"its block of {name} has {_n_rows(values)}."
            )
    if n_rows == 0:
        return None
    X, y, _ = check_training_data(model, X, y)
    classes, labels = np.unique(y, return_inverse=True)
    of_class = None
    if weights is not None:
        of_class = exact_sums(_checked_weights(weights, X), labels)
    categories = None if model._categories is None else model._categories.of_column
    return Summary(
        n_rows,
        X.shape[1],
        getattr(model, "feature_names_in_", None),
        categories,
        classes,
        np.bincount(labels),
        of_class,
        2 ** (8 * X.dtype.itemsize) if X.dtype.kind in "biu" else 2**64,
    )


def _checked_weights(weights: Any, X: Any) -> NDArray[np.float64]:
    """Check the weights of a block, which may all be zero as long as others are not."""
    values = np.asarray(weights)
    if values.dtype.kind in "biuf" and values.shape == X.shape[:1] and not values.any():
        return np.zeros(len(values))
    checked: NDArray[np.float64] = check_sample_weight(values, X)
    return checked


@dataclass(frozen=True)
class Encoding:
    """What turns a block into codes."""

    model: Any  # with the categories of all blocks
    classes: NDArray[Any]
    class_weight: Any

    def numbers(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Return X as numbers, and y."""
        X, y, _ = check_training_data(self.model, X, y, reset=False)
        return X.tocsc() if is_sparse(X) else X, y

    def labelled(
        self, X: Any, y: Any, weights: Any
    ) -> tuple[Any, NDArray[np.uint16], NDArray[np.float64] | None]:
        """Return X as numbers, the labels and the weights, of all rows."""
        X, y = self.numbers(X, y)
        labels = np.searchsorted(self.classes, y).astype(np.uint16)
        if weights is not None:
            weights = _checked_weights(weights, X)
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, y)
            weights = _checked_weights(of_class if weights is None else of_class * weights, X)
        return X, labels, weights

    def distinct(self, X: Any, y: Any, weights: Any, columns: Sequence[int]) -> list[Distinct]:
        """Return the distinct values of some columns of a block."""
        if _n_rows(X) == 0:
            return [Distinct.of(np.empty(0)) for _ in columns]
        return distinct_values(self.kept(X, y, weights, None)[0], columns)

    def kept(self, X: Any, y: Any, weights: Any, groups: Any) -> tuple[Any, ...]:
        """Return X, labels, weights and groups without the rows of weight zero."""
        X, labels, weights = self.labelled(X, y, weights)
        if groups is not None:
            groups = check_groups(groups, X.shape[0])
        if weights is not None and not np.all(weights > 0):
            rows = np.flatnonzero(weights > 0)
            X, labels, weights = X[rows], labels[rows], weights[rows]
            groups = None if groups is None else groups[rows]
        return X, labels, weights, groups

    def coded(
        self, X: Any, y: Any, weights: Any, groups: Any, tables: Sequence[Table]
    ) -> CodedBlock:
        """Return the codes of a block."""
        if _n_rows(X) == 0:
            codes = encode(np.empty((0, len(tables))), tables)
            no_weights = None if weights is None and self.class_weight is None else np.empty(0)
            no_groups = None if groups is None else np.empty(0, dtype=object)
            return CodedBlock(codes, np.empty(0, np.uint16), no_weights, no_groups)
        X, labels, weights, groups = self.kept(X, y, weights, groups)
        return CodedBlock(encode(X, tables), labels, weights, groups)


def prepare_blocks(
    model: Any, blocks: Blocks, tasks: Tasks, *, class_weight: Any, leaf_prediction: str
) -> DistributedSet:
    """Validate and code what a fit is given. The model gets what a local fit would set.

    Only tables and sums come to the client.
    """
    each = [blocks.block(i) for i in range(len(blocks))]
    summaries = tasks.gather(tasks.blocks("check", summarise, [(model, *block) for block in each]))
    found = [summary for summary in summaries if summary is not None]
    if not found:
        raise ValueError("Found array with 0 sample(s): X has no rows in any of its blocks.")
    _describe(model, found)
    classes = np.unique(np.concatenate([summary.classes for summary in found]))
    if len(classes) > MAX_CLASSES:
        raise ValueError(f"y has {len(classes)} classes; at most {MAX_CLASSES} are supported.")
    criterion = criterion_for(model.criterion, len(classes), leaf_prediction)
    encoding = Encoding(model, classes, _class_weight(class_weight, found, classes))
    tables = _tables(encoding, each, tasks, model, _columns_at_once(found))
    sent = tasks.send((encoding, tables))
    coded = tasks.blocks("code", _coded, [(sent, *block) for block in each])
    coded = tasks.spread(coded, [0 if summary is None else summary.n_rows for summary in summaries])
    facts = tasks.gather([tasks.run("sum", _facts, block) for block in coded])
    n_rows = sum(fact[0] for fact in facts)
    if n_rows == 0:
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if n_rows > MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows; at most {MAX_ROWS} are supported.")
    largest = None if facts[0][1] is None else max(fact[1] for fact in facts)
    total = Fraction(n_rows) if largest is None else sum((fact[2] for fact in facts), Fraction(0))
    sizes = None
    unit_total = float(total)
    if blocks.groups is not None:
        coded, sizes = _number_groups(coded, [fact[3] for fact in facts], n_rows, tasks)
    if sizes is not None:
        unit_total = _total_of_units(coded, sizes, largest is not None, tasks)
    categories = model._categories
    return DistributedSet(
        Shape((n_rows, found[0].n_features)),
        classes,
        criterion,
        () if categories is None else categories.columns,
        tables,
        coded,
        [fact[0] for fact in facts],
        n_rows if sizes is None else len(sizes),
        float(total),
        unit_total,
        largest,
        sizes,
        blocks,
        sent,
        n_rows < sum(summary.n_rows for summary in found),
    )


def with_groups(data: DistributedSet, groups: NDArray[np.uint32], tasks: Tasks) -> DistributedSet:
    """Return the rows with groups, numbered from 0 in the order of the rows."""
    sizes = np.bincount(groups)
    parts = np.split(groups, data.starts[1:-1])
    coded = [
        tasks.run("groups", _with_groups, block, part)
        for block, part in zip(data.blocks, parts, strict=True)
    ]
    total = _total_of_units(coded, sizes, data.is_weighted, tasks)
    return replace(
        data, blocks=coded, n_units=len(sizes), total_unit_weight=total, group_sizes=sizes
    )


def _total_of_units(
    coded: Sequence[Any], sizes: NDArray[np.int64], is_weighted: bool, tasks: Tasks
) -> float:
    """Return the sum of the weights of the groups, each the mean over its rows."""
    if not is_weighted:
        return float(len(sizes))
    parts = [tasks.run("sum", _unit_weight, block, sizes) for block in coded]
    return float(sum(tasks.gather(parts), Fraction(0)))


def _with_groups(block: CodedBlock, groups: NDArray[np.uint32]) -> CodedBlock:
    return replace(block, groups=groups)


def _describe(model: Any, found: Sequence[Summary]) -> None:
    """Set what validation sets in a local fit, or raise if the blocks do not agree."""
    first = found[0]
    for other in found[1:]:
        if other.n_features != first.n_features:
            raise ValueError(
                f"All blocks of X must have the same columns, but one has {first.n_features} and "
                f"another {other.n_features}."
            )
        if not np.array_equal(
            [] if first.names is None else first.names, [] if other.names is None else other.names
        ):
            raise ValueError("All blocks of X must have the same columns, in the same order.")
    model.n_features_in_ = first.n_features
    model.__dict__.pop("feature_names_in_", None)
    if first.names is not None:
        model.feature_names_in_ = first.names
    columns = sorted({column for summary in found for column in summary.categories or {}})
    model._categories = None
    if columns:
        merged = {}
        for column in columns:
            values = {v: None for s in found for v in (s.categories or {}).get(column, ())}
            merged[column] = sort_categories(list(values))
            if len(values) > MAX_CATEGORIES:
                raise ValueError(
                    f"Column {column} has {len(values):,} categories; at most "
                    f"{MAX_CATEGORIES:,} are supported."
                )
        model._categories = Categories(first.n_features, merged)


def _class_weight(class_weight: Any, found: Sequence[Summary], classes: NDArray[Any]) -> Any:
    """Return the weights of the classes by name, from all blocks."""
    if not isinstance(class_weight, str):  # a dict, or none
        return class_weight
    in_class = [Fraction(0)] * len(classes)
    for summary in found:
        weights = summary.weight_of_class or [Fraction(int(n)) for n in summary.n_of_class]
        for place, weight in zip(np.searchsorted(classes, summary.classes), weights, strict=True):
            in_class[place] += weight
    balanced = balancing_weights(np.array([float(weight) for weight in in_class]))
    return dict(zip(classes, balanced, strict=True))


def _tables(
    encoding: Encoding, blocks: Sequence[Any], tasks: Tasks, model: Any, columns_at_once: int
) -> list[Table]:
    """Return the code tables of all columns."""
    n_features = model.n_features_in_
    categories = () if model._categories is None else model._categories.columns
    sent = tasks.send(encoding)
    tables: list[Table] = []
    for first in range(0, n_features, columns_at_once):
        columns = list(range(first, min(n_features, first + columns_at_once)))
        calls = [(sent, X, y, weights, columns) for X, y, weights, _ in blocks]
        parts = tasks.blocks("values", _distinct, calls)
        sizes = np.sum(tasks.gather([tasks.run("sum", _sizes, part) for part in parts]), axis=0)
        homes = tasks.homes(parts)
        of_groups = []
        for group in _groups_of(sizes):
            some = parts
            if len(group) < len(columns):
                some = [tasks.run("values", _some, part, group) for part in parts]
            merged = tasks.merged("merge-values", merge_distinct, some, homes)
            numbers = [columns[place] for place in group]
            of_groups.append(tasks.run("table", _make_tables, merged, numbers, categories))
            tasks.release([*some, merged])
        tasks.release(parts)
        for found in tasks.gather(of_groups):
            tables += found
        tasks.release(of_groups)
    return tables


COLUMNS_AT_ONCE = 16  # whose distinct values workers hold at the same time
MERGED_AT_ONCE = 2**27  # bytes of them that one worker merges, if it is not a single column


def _columns_at_once(found: Sequence[Summary]) -> int:
    """Return the number of columns to look for distinct values in: more if they cannot have many."""
    most = max(summary.most_distinct for summary in found)
    return max(COLUMNS_AT_ONCE, MERGED_AT_ONCE // (16 * most))


def _groups_of(sizes: Sequence[int]) -> list[list[int]]:
    """Return the places of columns in groups that are merged together."""
    groups: list[list[int]] = []
    room = 0
    for place, size in enumerate(sizes):
        if not groups or size > room:
            groups.append([])
            room = MERGED_AT_ONCE
        groups[-1].append(place)
        room -= size
    return groups


def _sizes(part: Sequence[Distinct]) -> list[int]:
    return [distinct.__sizeof__() for distinct in part]


def _some(part: Sequence[Distinct], places: Sequence[int]) -> list[Distinct]:
    return [part[place] for place in places]


def _distinct(
    encoding: Encoding, X: Any, y: Any, weights: Any, columns: Sequence[int]
) -> list[Distinct]:
    return encoding.distinct(X, y, weights, columns)


def _coded(
    sent: tuple[Encoding, list[Table]], X: Any, y: Any, weights: Any, groups: Any
) -> CodedBlock:
    encoding, tables = sent
    return encoding.coded(X, y, weights, groups, tables)


def _make_tables(
    merged: Sequence[Distinct], columns: Sequence[int], categories: Sequence[int]
) -> list[Table]:
    return [
        distinct.table(column, column in categories)
        for column, distinct in zip(columns, merged, strict=True)
    ]


def _facts(block: CodedBlock) -> tuple[int, float | None, Fraction, Any]:
    """Return the number of rows, the largest weight, their sum, and the groups as they occur."""
    groups = None
    if block.groups is not None:
        sizes: dict[Any, int] = {}
        for group in block.groups.tolist():
            sizes[group] = sizes.get(group, 0) + 1
        groups = sizes
    if block.weights is None:
        return block.n_rows, None, Fraction(block.n_rows), groups
    largest = float(block.weights.max()) if block.n_rows else 0.0
    return block.n_rows, largest, exact_sum(block.weights), groups


def _number_groups(
    coded: Sequence[Any], groups: Sequence[dict[Any, int]], n_rows: int, tasks: Tasks
) -> tuple[list[Any], NDArray[np.int64] | None]:
    """Return the blocks with groups numbered from 0 as they occur, and the sizes of the groups."""
    numbers: dict[Any, int] = {}
    sizes: list[int] = []
    for of_block in groups:
        for group, size in of_block.items():
            number = numbers.setdefault(group, len(numbers))
            if number == len(sizes):
                sizes.append(0)
            sizes[number] += size
    if len(sizes) == n_rows:  # every row is alone
        return [tasks.run("groups", _without_groups, block) for block in coded], None
    numbered = [
        tasks.run("groups", _with_numbers, block, {group: numbers[group] for group in of_block})
        for block, of_block in zip(coded, groups, strict=True)
    ]
    return numbered, np.array(sizes, dtype=np.int64)


def _without_groups(block: CodedBlock) -> CodedBlock:
    return replace(block, groups=None)


def _with_numbers(block: CodedBlock, numbers: dict[Any, int]) -> CodedBlock:
    assert block.groups is not None
    numbered = np.array([numbers[group] for group in block.groups.tolist()], dtype=np.uint32)
    return replace(block, groups=numbered)


def _unit_weight(block: CodedBlock, sizes: NDArray[np.int64]) -> Fraction:
    assert block.groups is not None
    assert block.weights is not None
    return exact_sum(block.weights / sizes[block.groups])

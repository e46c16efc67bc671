"""From the user's parameters and data to the engine's, and growing trees with them."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, isqrt
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight

from hardwood._compat import check_sample_weight
from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.exact import exact_sum, exact_sums
from hardwood._core.groups import Groups, check_groups, number_groups
from hardwood._core.validation import Matrix, check_training_data, encode_labels
from hardwood.criteria import Criterion, EngineCriterion, resolve

UNLIMITED = 2**64 - 1


@dataclass(frozen=True)
class Growth:
    """How trees grow and what their leaves predict, in the engine's terms; see `growth`."""

    max_features: int
    random_cuts: bool = False
    monotonic_cst: tuple[int, ...] = ()
    max_depth: int = UNLIMITED
    min_rows_split: int = 2
    min_rows_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    min_gain: float = 0.0
    max_leaves: int = UNLIMITED
    leaf_prediction: str = "distribution"
    category_smoothing: float = 0.0

    def options(self, total_weight: float) -> dict[str, Any]:
        """Return the options of the engine for trees whose rows weigh so much."""
        return {
            "max_features": self.max_features,
            "random_cuts": self.random_cuts,
            "monotonic_cst": self.monotonic_cst,
            "max_depth": self.max_depth,
            "min_rows_split": self.min_rows_split,
            "min_rows_leaf": self.min_rows_leaf,
            "min_weight_leaf": self.min_weight_fraction_leaf * total_weight,
            "min_gain": self.min_gain,
            "category_smoothing": self.category_smoothing,
        }


@dataclass(frozen=True)
class TrainingSet:
    """Validated training data, without the rows of weight zero."""

    X: Matrix
    labels: NDArray[np.uint16]
    weights: NDArray[np.float64] | None
    classes: NDArray[Any]
    criterion: EngineCriterion
    kept: NDArray[np.bool_] | None  # mask of these rows in the user's X; None means all
    groups: Groups | None = None  # numbered from 0; None means that rows are drawn one by one
    category_columns: tuple[int, ...] = ()  # columns of X with the numbers of categories

    def code(self, n_threads: int = 1) -> "_engine.Codes":
        """Return the coded columns, which trees grow from."""
        return _engine.code(self.X, n_threads, self.category_columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    @property
    def relative_weights(self) -> NDArray[np.float64]:
        """The weights of the rows, scaled by a power of two so that the largest is about 1.

        Their squares and sums neither overflow nor vanish, whatever the unit of the weights.
        """
        if self.weights is None:
            return np.ones(self.n_rows)
        _, exponent = np.frexp(self.weights.max())
        return np.asarray(np.ldexp(self.weights, -exponent))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.n_rows) if self.weights is None else float(exact_sum(self.weights))

    def part(self, rows: NDArray[np.intp]) -> "TrainingSet":
        """Return some of the rows, without groups."""
        weights = None if self.weights is None else self.weights[rows]
        return TrainingSet(
            self.X[rows],
            self.labels[rows],
            weights,
            self.classes,
            self.criterion,
            None,
            category_columns=self.category_columns,
        )

    @property
    def n_units(self) -> int:
        """Number of groups, or of rows without groups: what a bootstrap draws."""
        return self.n_rows if self.groups is None else int(self.groups.max()) + 1

    @property
    def total_unit_weight(self) -> float:
        """Sum of the weights of the groups, each the mean over its rows."""
        if self.groups is None or self.weights is None:
            return float(self.n_units) if self.weights is None else self.total_weight
        return float(exact_sum(self.weights / np.bincount(self.groups)[self.groups]))


def prepare(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    criterion: str | Criterion,
    class_weight: Any = None,
    leaf_prediction: str = "distribution",
    balance_weights: bool = False,
    reset: bool = True,
    groups: Any = None,
) -> TrainingSet:
    """Validate what a fit is given.

    `class_weight="balanced"` balances the numbers of rows or, with `balance_weights`, their weights,
    as scikit-learn's forests do. Without `reset`, X must match the previous fit.
    """
    X, y, category_columns = check_training_data(estimator, X, y, reset=reset)
    classes, labels = encode_labels(y)
    for_engine = criterion_for(criterion, len(classes), leaf_prediction)
    if groups is not None:
        groups = check_groups(groups, X.shape[0])
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, X)
    if class_weight is not None:
        if class_weight == "balanced" and balance_weights and weights is not None:
            in_class = np.array([float(weight) for weight in exact_sums(weights, labels)])
            class_weight = dict(zip(classes, balancing_weights(in_class), strict=True))
        of_class = compute_sample_weight(class_weight, y)
        weights = check_sample_weight(of_class if weights is None else of_class * weights, X)
    kept = None
    if weights is not None and not np.all(weights > 0):
        kept = weights > 0
        X, labels, weights = X[kept], labels[kept], weights[kept]
        groups = groups if groups is None else groups[kept]
    numbered = None if groups is None else number_groups(groups)
    return TrainingSet(X, labels, weights, classes, for_engine, kept, numbered, category_columns)


def criterion_for(
    criterion: str | Criterion, n_classes: int, leaf_prediction: str
) -> EngineCriterion:
    """Return the criterion as the engine takes it, or raise if it does not suit the classes."""
    criterion = resolve(criterion)
    if criterion.two_classes_only and n_classes > 2:
        raise ValueError(
            "Only binary classification is supported. "
            f"criterion={criterion.name!r} requires two classes, but y has {n_classes}."
        )
    for_engine = criterion._for_engine(n_classes)
    if leaf_prediction == "optimal":
        for_engine.check_optimal_leaf()
    return for_engine


def balancing_weights(in_class: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights that balance the classes. A class without weight stays without."""
    present = in_class > 0
    inverse = np.zeros(len(in_class))
    inverse[present] = in_class.sum() / (np.count_nonzero(present) * in_class[present])
    return inverse


def grow(
    growth: Growth,
    data: TrainingSet,
    seed: int,
    *,
    first_tree: int = 0,
    n_trees: int = 1,
    n_draws: int = 0,
    balance_draws: bool = False,
    n_threads: int = 1,
    progress: Callable[[int], None] | None = None,
    codes: "_engine.Codes | None" = None,
) -> CompactForest:
    """Grow trees. Tree i is the same whichever call grows it.

    Pass `codes` to share the coding of X between several calls.
    """
    total_weight = n_draws * data.n_rows / data.n_units if n_draws else data.total_weight
    forest, weight_unit = _engine.fit_trees(
        codes=data.code(n_threads) if codes is None else codes,
        labels=data.labels,
        weights=data.weights,
        n_classes=len(data.classes),
        criterion=data.criterion.handle(),
        max_leaves=growth.max_leaves,
        first_tree=first_tree,
        n_trees=n_trees,
        n_draws=n_draws,
        balance_draws=balance_draws,
        seed=seed,
        n_threads=n_threads,
        progress=progress,
        groups=data.groups,
        **growth.options(total_weight),
    )
    return CompactForest(
        forest, weight_unit, data.criterion, growth.monotonic_cst, growth.leaf_prediction
    )


def growth(
    data: TrainingSet,
    *,
    max_features: int | float | str | None,
    max_depth: int | None = None,
    min_samples_split: int | float = 2,
    min_samples_leaf: int | float = 1,
    min_weight_fraction_leaf: float = 0.0,
    max_leaf_nodes: int | None = None,
    min_impurity_decrease: float = 0.0,
    monotonic_cst: Any = None,
    leaf_prediction: str = "distribution",
    random_cuts: bool = False,
    category_smoothing: float = 0.0,
) -> Growth:
    """Convert an estimator's parameters to the engine's for this data."""
    n_rows, n_features = data.X.shape
    return Growth(
        max_features=count_features(max_features, n_features),
        random_cuts=random_cuts,
        monotonic_cst=_checked_monotonic_cst(monotonic_cst, data),
        max_depth=_limit(max_depth),
        min_rows_split=count_rows(min_samples_split, n_rows, 2),
        min_rows_leaf=count_rows(min_samples_leaf, n_rows, 1),
        min_weight_fraction_leaf=min_weight_fraction_leaf,
        min_gain=min_impurity_decrease,
        # As there is no leaf without a row, a limit beyond the rows is none: trees grow depth-first.
        max_leaves=UNLIMITED if (leaves := _limit(max_leaf_nodes)) >= n_rows else leaves,
        leaf_prediction=leaf_prediction,
        category_smoothing=category_smoothing,
    )


def count_features(max_features: int | float | str | None, n_features: int) -> int:
    """Return the number of features that `max_features` means; "sqrt" rounds up."""
    match max_features:
        case None:
            return n_features
        case "sqrt":
            return isqrt(n_features - 1) + 1
        case "log2":
            return max(1, n_features.bit_length() - 1)
        case Integral():
            return min(n_features, int(max_features))
        case share:
            return max(1, int(float(share) * n_features))


def _limit(value: int | None) -> int:
    """Return the engine's limit; None means no limit."""
    return UNLIMITED if value is None else min(int(value), UNLIMITED)


def count_rows(value: int | float, n_rows: int, smallest: int) -> int:
    """Return a number of rows, given as an int or as a fraction of all rows."""
    if isinstance(value, Integral):
        return _limit(value)
    return max(smallest, ceil(value * n_rows))


def _checked_monotonic_cst(monotonic_cst: Any, data: TrainingSet) -> tuple[int, ...]:
    n_features, n_classes = data.X.shape[1], len(data.classes)
    if monotonic_cst is None:
        return ()
    constraints = np.asarray(monotonic_cst)
    if constraints.shape != (n_features,):
        raise ValueError(
            f"monotonic_cst has shape {constraints.shape} but the input data X has "
            f"{n_features} features."
        )
    if not np.all(np.isin(constraints, (-1, 0, 1))):
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, but got "
            f"{np.unique(constraints)}."
        )
    constrained = [column for column in data.category_columns if constraints[column] != 0]
    if constrained:
        raise ValueError(
            "monotonic_cst must be 0 for features with categories, which have no order, but it is "
            f"not for the features {constrained}."
        )
    if n_classes > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification."
        )
    return tuple(int(c) for c in constraints) if n_classes == 2 else ()

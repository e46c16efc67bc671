"""One tree that people can read, pruned as far as the noise in its labels requires."""

from dataclasses import dataclass, field, replace
from itertools import product
from math import nan
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import fit_context
from hardwood._core import _engine
from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet, grow
from hardwood._core.model import estimator
from hardwood._core.spread import n_threads_of_one_tree
from hardwood._core.validation import MAX_ROWS
from hardwood._io.frames import frame, table_from_stored
from hardwood._io.storing import Stored, storable
from hardwood.adaptive.ane import _accuracy
from hardwood.criteria import Criterion, Entropy, Gini, Misclassification, NegativeExponential
from hardwood.tree import RobustTreeClassifier


@dataclass(frozen=True)
class _Recipe:
    """How a tree is grown, before it is pruned."""

    criterion: Criterion
    min_rows: int = 1  # in a leaf


_RECIPES = (
    *(_Recipe(Gini(), min_rows) for min_rows in (1, 5, 20)),
    _Recipe(Entropy()),
    *(_Recipe(NegativeExponential(lam=lam)) for lam in (0.5, 1.0)),
)
_ERRORS = Misclassification()._for_engine(n_classes=2)  # the same for any number
# Each fold holds out a fifth of the rows. A few rows would decide by chance, so folds are added
# until this many rows were held out, or each row five times.
_N_FOLDS = 5
_MIN_HELD_OUT = 3_000
_MAX_REPEATS = 5
# Trees whose accuracies differ by no more than this many standard errors count as equally good.
_DOUBT = 0.25


@storable("AdaptiveTreeClassifier")
@estimator
class AdaptiveTreeClassifier(RobustTreeClassifier):
    """A decision tree that is robust at any level of label noise, with nothing to tune.

    It holds out some of the rows and grows six trees from the others, which differ in their
    criterion and in the minimum number of rows in a leaf. Pruning turns each of them into a series of
    smaller trees. The recipe whose tree is most accurate on the held-out rows is used to grow a tree
    from all rows. The labels of held-out rows are as noisy as all others, but under uniform noise
    they rank trees as clean labels would.

    Parameters
    ----------
    {splitter, growth_parameters}

    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out rows, of random thresholds and of the order in which
        features are considered, which breaks ties.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They also weight the accuracy on held-out rows. Use "balanced" if
        you must not miss a rare class: the most accurate tree may well ignore it.

    {ccp_alpha, monotonic_cst, leaf_prediction}

    Attributes
    ----------
    adaptation_ : pandas.DataFrame
        Every tree that was considered: its `criterion` with λ in `lam`, `min_samples_leaf`, the
        amount of `pruning`, the mean number of leaves in `n_leaves`, the `accuracy` on held-out,
        noisy labels with its standard `error`, and whether it was `chosen`.

    criterion_ : Criterion
        The chosen criterion.

    min_samples_leaf_ : int
        The chosen minimum number of rows in a leaf.

    pruning_ : float
        The chosen amount of pruning, c. A split is kept if it and the splits below it make at least
        c more training rows correct, on average per split.

    {data_attributes, max_features_, tree_, feature_importances_}

    See Also
    --------
    AdaptiveForestClassifier : More accurate, but too large to read.
    ANETreeClassifier : The paper's adaptive tree, which chooses λ alone.

    Notes
    -----
    Limits such as `max_depth` and `min_samples_leaf` apply to all trees that are considered.

    Pruning is minimal cost-complexity pruning by training errors, as Breiman et al. (1984) define
    it, whichever criterion the tree was grown by. The amount c means ``alpha = c / n_samples``.

    A fifth of the rows is held out at a time. Other rows are then held out in their place, until
    3,000 rows were held out in total or each row five times. The fit takes about as long as six
    trees for 15,000 rows or more, and as 30 trees for 3,000 rows.

    Examples
    --------
    >>> from hardwood import AdaptiveTreeClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> tree = AdaptiveTreeClassifier(random_state=0).fit(data.X_train, noisy_y)
    >>> tree.score(data.X_test, data.y_test) > 0.99
    True
    >>> int(tree.get_n_leaves()) < 20
    True
    """

    criterion_: Criterion = field(init=False)
    min_samples_leaf_: int = field(init=False)
    pruning_: float = field(init=False)

    criterion: str = field(default="gini", init=False)  # `criterion_` is the one chosen

    # --- fit ------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose how to grow and prune the tree, and grow it from all rows.

        {takes_training_data, returns_self}
        """
        data = self._prepared(X, y, sample_weight)
        seed = self._drawn_seed()
        recipe, amount = self._choose(data, seed)
        codes = data.code(n_threads_of_one_tree(data))
        tree = _pruned(self._grown(recipe, data, codes, seed), amount / data.n_rows)
        self.criterion_ = clone(recipe.criterion)
        self.min_samples_leaf_ = recipe.min_rows
        self.pruning_ = amount
        self._describe(data)
        self._adopt(tree)
        return self

    def _grown(
        self, recipe: _Recipe, data: TrainingSet, codes: _engine.Codes, seed: int
    ) -> CompactForest:
        data = replace(data, criterion=recipe.criterion._for_engine(len(data.classes)))
        growth = self._growth(data)
        growth = replace(growth, min_rows_leaf=max(growth.min_rows_leaf, recipe.min_rows))
        threads = n_threads_of_one_tree(data)
        tree = grow(growth, data, seed, n_threads=threads, codes=codes)
        return tree if self.ccp_alpha == 0 else tree.pruned(self.ccp_alpha)

    def _choose(self, data: TrainingSet, seed: int) -> tuple[_Recipe, float]:
        """Return how to grow the tree and how far to prune it, judged by held-out rows."""
        min_rows = self._growth(data).min_rows_leaf
        recipes = [each for each in _RECIPES if each.min_rows == 1 or each.min_rows > min_rows]
        amounts = _amounts(data.n_rows)
        weights = data.relative_weights
        accuracy, n_leaves = np.full((2, len(recipes) * len(amounts)), nan)
        folds = _folds(data.labels, seed)
        if folds:
            scores = [self._scores(data, held_out, recipes, amounts, seed) for held_out in folds]
            shares = [weights[held_out].sum() for held_out in folds]
            accuracy, n_leaves = np.average(scores, axis=0, weights=shares)
            weights = weights[np.any(folds, axis=0)]
        variance = np.maximum(accuracy * (1 - accuracy), 0)  # not below 0, as rounding can have it
        error = np.sqrt(variance * np.sum(weights**2)) / weights.sum()
        best = _best(accuracy, error, n_leaves) if folds else 0
        candidates = list(product(recipes, amounts))
        self._adaptation = {
            "criterion": [recipe.criterion.name for recipe, _ in candidates],
            "lam": [getattr(recipe.criterion, "lam", nan) for recipe, _ in candidates],
            "min_samples_leaf": [recipe.min_rows for recipe, _ in candidates],
            "pruning": [amount for _, amount in candidates],
            "n_leaves": n_leaves,
            "accuracy": accuracy,
            "error": error,
            "chosen": np.arange(len(candidates)) == best,
        }
        return candidates[best]

    def _scores(
        self,
        data: TrainingSet,
        held_out: NDArray[np.bool_],
        recipes: list[_Recipe],
        amounts: list[float],
        seed: int,
    ) -> list[list[float]]:
        """Return the accuracy on held-out rows of each tree, and its number of leaves."""
        part, test = (data.part(np.flatnonzero(rows)) for rows in (~held_out, held_out))
        threads = n_threads_of_one_tree(part)
        codes = part.code(threads)
        accuracies, n_leaves = [], []
        for recipe in recipes:
            tree = replace(self._grown(recipe, part, codes, seed), criterion=_ERRORS)
            n_nodes = -1
            for amount in amounts:
                if n_nodes != 1:
                    tree = tree.pruned(amount / part.n_rows)  # what was pruned stays pruned
                if len(tree.nodes) != n_nodes:
                    n_nodes = len(tree.nodes)
                    accuracy = _accuracy(tree.with_votes(), test, threads)
                accuracies.append(accuracy)
                n_leaves.append((n_nodes + 1) / 2)
        return [accuracies, n_leaves]

    @property
    def adaptation_(self) -> Any:
        """Every tree considered, with its accuracy on held-out rows, as a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._adaptation)

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        return super()._to_stored() | {
            "criterion": self.criterion_,
            "min_samples_leaf": self.min_samples_leaf_,
            "pruning": self.pruning_,
            "adaptation": self._adaptation,
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        tree = super()._from_stored(stored)
        tree.criterion_ = stored.instance("criterion", Criterion)
        tree.min_samples_leaf_ = stored.integer("min_samples_leaf", 1, MAX_ROWS)
        tree.pruning_ = stored.number("pruning")
        if tree.pruning_ < 0:
            raise stored.wrong("pruning", "0 or more")
        tree._adaptation = table_from_stored(stored, "adaptation")
        return tree


def _amounts(n_rows: int) -> list[float]:
    """Return the amounts of pruning: a tenth of a row, doubled until a single leaf must be left.

    They are multiples of √2. The gain of a subtree, in rows, is a fraction of its leaves and never
    equal to one, so that rounding does not decide what is pruned.
    """
    return [2.0 ** (power - 0.5) for power in range(-3, n_rows.bit_length() + 1)]


def _folds(labels: NDArray[np.uint16], seed: int) -> list[NDArray[np.bool_]]:
    """Return which rows to hold out, once or several times: the same share of every class."""
    n_rows = len(labels)
    if n_rows == 1:
        return []
    random = np.random.default_rng(seed)
    n_folds = min(_N_FOLDS, n_rows)
    folds: list[NDArray[np.bool_]] = []
    for _ in range(_MAX_REPEATS):
        shuffled = random.permutation(n_rows)
        by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
        fold = np.empty(n_rows, dtype=np.intp)
        fold[by_class] = np.arange(n_rows) % n_folds
        for i in range(n_folds):
            folds.append(fold == i)
            if len(folds) * n_rows >= _MIN_HELD_OUT * n_folds:
                return folds
    return folds


def _pruned(tree: CompactForest, alpha: float) -> CompactForest:
    """Prune a tree by its training errors, whichever criterion it was grown by."""
    return replace(replace(tree, criterion=_ERRORS).pruned(alpha), criterion=tree.criterion)


def _best(
    accuracy: NDArray[np.float64], error: NDArray[np.float64], n_leaves: NDArray[np.float64]
) -> int:
    """Return the smallest of the trees that are about as accurate as the most accurate one."""
    leader = int(np.argmax(accuracy))
    is_close = accuracy >= accuracy[leader] - _DOUBT * error[leader] - 1e-12  # 1e-12: rounding
    return int(np.argmin(np.where(is_close, n_leaves, np.inf)))

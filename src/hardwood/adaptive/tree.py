"""A tree whose λ is chosen on rows held out: the paper's ANE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood import _engine
from hardwood._compat import fit_context
from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet, grow, prepare
from hardwood._core.spread import n_threads_of_one_tree
from hardwood._io.storing import Stored, storable
from hardwood.adaptive._holdout import (
    HOLDOUT_CONSTRAINTS,
    LAM_GRID,
    check_lam_grid,
    lam_from_stored,
    tune,
)
from hardwood._io.frames import frame, table_from_stored
from hardwood.tree import RobustTreeClassifier


@storable("AdaptiveTreeClassifier")
class AdaptiveTreeClassifier(RobustTreeClassifier):
    """A decision tree whose robustness λ is chosen on noisy rows held out: the paper's ANE.

    A tree is grown with the negative exponential impurity for each λ of a grid, on a part of the
    rows, and the λ whose tree is most accurate on the other rows is taken. Their labels are as
    noisy as all others; under uniform noise they rank trees as clean labels would.

    Parameters
    ----------
    lam_grid : array-like of float, default=(0, 0.25, 0.5, 0.75, 1)
        The λ to try, each in [0, 1].

    validation_fraction : float, default=0.2
        Share of the rows held out.

    refit : bool, default=True
        Whether to grow the tree once more from all rows with the λ chosen. The paper's tables do
        not.

    splitter : {"best", "random"}, default="best"
        "best" looks at every cut of a feature, "random" at one random threshold.

    max_depth : int, default=None
        Largest depth; None for no limit.

    min_samples_split : int or float, default=2
        Fewest rows of a node that is split, or their share of all rows.

    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf, or their share of all rows.

    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight in a leaf.

    max_features : int, float or {"sqrt", "log2"}, default=None
        How many features that vary in the node are looked at; a share of all, their square root
        (rounded up) or logarithm, or all (None).

    random_state : int, RandomState instance or None, default=None
        Seed of the rows held out and of the order in which features are looked at.

    max_leaf_nodes : int, default=None
        Grow best-first up to this many leaves; None for no limit.

    min_impurity_decrease : float, default=0.0
        Smallest gain of a split as a share of all data. A gain of zero never suffices.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.

    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning.

    monotonic_cst : array-like of int of shape (n_features,), default=None
        1, −1 or 0: the probability of the second class rises, falls or is free along a feature.
        Two classes only.

    leaf_prediction : {"distribution", "optimal"}, default="distribution"
        What a leaf predicts: its class proportions, or what the loss is smallest for.

    Attributes
    ----------
    lam_ : float
        The λ chosen, the first of equals.

    tuning_scores_ : pandas.DataFrame
        Each λ with its accuracy on the rows held out.

    classes_, n_classes_, n_features_in_, feature_names_in_, max_features_, tree_, feature_importances_
        As of `RobustTreeClassifier`.

    See Also
    --------
    AdaptiveForestClassifier : A forest, which needs no rows held out.

    References
    ----------
    J. Wilton and N. Ye, "Robust Loss Functions for Training Decision Trees with Noisy Labels",
    AAAI 2024.

    Examples
    --------
    >>> from hardwood import AdaptiveTreeClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> tree = AdaptiveTreeClassifier(random_state=0).fit(data.X_train, noisy_y)
    >>> tree.lam_
    1.0
    >>> tree.score(data.X_test, data.y_test) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RobustTreeClassifier._parameter_constraints,
        **HOLDOUT_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        lam_grid: Sequence[float] = LAM_GRID,
        validation_fraction: float = 0.2,
        refit: bool = True,
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        leaf_prediction: str = "distribution",
    ) -> None:
        super().__init__(
            criterion="ne",
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            leaf_prediction=leaf_prediction,
        )
        self.lam_grid = lam_grid
        self.validation_fraction = validation_fraction
        self.refit = refit

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose λ and grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training input, dense; NaN is a missing value.

        y : array-like of shape (n_samples,)
            The labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none negative, in growth and in the accuracies.

        Returns
        -------
        self : AdaptiveTreeClassifier
            The fitted tree.
        """
        self.__dict__.pop("_compact", None)  # a fit that fails leaves no old tree behind
        lam_grid = check_lam_grid(self.lam_grid)
        data = prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self.class_weight,
            leaf_prediction=self.leaf_prediction,
        )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        threads = n_threads_of_one_tree(data)

        def grow_one(part: TrainingSet, codes: _engine.Codes) -> CompactForest:
            tree = grow(self._growth(part), part, seed, n_threads=threads, codes=codes)
            return (tree if self.ccp_alpha == 0 else tree.pruned(self.ccp_alpha)).with_votes()

        tuned = tune(data, lam_grid, self.validation_fraction, self.refit, seed, threads, grow_one)
        self.lam_ = tuned.lam
        self._tuning_scores = tuned.table
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)
        self.n_outputs_ = 1
        self.max_features_ = self._growth(data).max_features
        self._adopt(tuned.forest)
        return self

    @property
    def tuning_scores_(self) -> Any:
        """Each λ with its accuracy on the rows held out, a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._tuning_scores)

    def _to_stored(self) -> dict[str, Any]:
        return {**super()._to_stored(), "lam": self.lam_, "tuning_scores": self._tuning_scores}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        tree = super()._from_stored(stored)
        tree.lam_ = lam_from_stored(stored, "lam")
        tree._tuning_scores = table_from_stored(stored, "tuning_scores")
        return tree

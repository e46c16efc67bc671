"""Forests that stay accurate when training labels are wrong."""

import warnings
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import StrOptions, fit_context
from hardwood._core import _engine
from hardwood._core.base_forest import BaggedForest
from hardwood._core.compact import CompactForest
from hardwood._core.draws import Draws
from hardwood._core.grow import Growth, TrainingSet, prepare
from hardwood._core.model import estimator
from hardwood._core.validation import MAX_ROWS
from hardwood._io.storing import storable
from hardwood.tree import FIRST_TREE_SEED


@storable("RobustForestClassifier")
@estimator
class RobustForestClassifier(BaggedForest):
    """A random forest that is robust to label noise.

    It works like scikit-learn's `RandomForestClassifier`, with the criteria of Wilton & Ye (2024).
    Nodes are split only if that gains something, which is what makes robust criteria robust.

    {robust_forest}

    See Also
    --------
    RobustExtraTreesClassifier : Splits at random thresholds.
    sklearn.ensemble.RandomForestClassifier : The same without robust criteria.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RobustForestClassifier(random_state=0, oob_score=True).fit(X, y)
    >>> forest.predict(X[:2])
    array([0, 0])
    >>> forest.oob_score_ > 0.9
    True
    """

    _draws: tuple[Draws, ...] = field(init=False)  # of each fit that added trees

    bootstrap: bool = True
    warm_start: bool = False
    ccp_alpha: float = 0.0
    max_samples: int | float | None = None
    monotonic_cst: Any = None
    leaf_prediction: str = "distribution"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaggedForest._parameter_constraints,
        "leaf_prediction": [StrOptions({"distribution", "optimal"})],
    }

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        {training_X, y}

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. With `bootstrap`, rows are drawn with probabilities
            proportional to them. Without it, they multiply the row's count.

        {groups}

        Returns
        -------
        self : object
            The fitted forest.
        """
        self._check_combinations()
        old = self._compact if self.warm_start and hasattr(self, "_compact") else None
        if old is None:
            self.__dict__.pop("_compact", None)  # a fit that fails leaves no old trees behind
        for attribute in ("oob_score_", "oob_decision_function_"):
            self.__dict__.pop(attribute, None)
        data = prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self._fixed_class_weight(),
            leaf_prediction=self.leaf_prediction,
            balance_weights=True,
            reset=old is None,
            groups=groups,
        )
        if old is None:
            self._seed = self._drawn_seed()
        else:
            self._check_warm_start(data, len(old))
        n_draws = self._n_draws(data) if self.bootstrap else 0
        grown = self._grown(data, n_draws, old)
        self._describe(data)
        if self.oob_score:
            self._set_oob(self._out_of_bag(grown, data, X, n_draws), y)
        n_old = 0 if old is None else len(old)
        if len(grown) > n_old:
            earlier = getattr(self, "_draws", ()) if n_old else ()
            self._draws = (*earlier, Draws.of(data, n_draws, n_old))
        self._compact = grown
        return self

    def _grown(self, data: TrainingSet, n_draws: int, old: CompactForest | None) -> CompactForest:
        """Return the trees of the last fit, if any, and as many new ones as are missing."""
        n_old = 0 if old is None else len(old)
        if old is not None and self.n_estimators == n_old:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=4,
            )
            return old
        grown = self._grow(
            self._growth(data),
            data,
            self.n_estimators - n_old,
            first_tree=n_old,
            n_draws=n_draws,
            balance_draws=self.class_weight == "balanced_subsample" and self.bootstrap,
        )
        parts = [] if old is None else [old]
        if self.ccp_alpha == 0:
            parts.append(grown)
        else:
            parts += [grown.tree(t).pruned(self.ccp_alpha) for t in range(len(grown))]
        return (parts[0] if len(parts) == 1 else CompactForest.joined(parts)).with_votes()

    def _growth(self, data: TrainingSet, **others: Any) -> Growth:
        return super()._growth(
            data,
            monotonic_cst=self.monotonic_cst,
            leaf_prediction=self.leaf_prediction,
            random_cuts=self._random_cuts,
            **others,
        )

    def _random_state_of(self, tree: int) -> int:
        return FIRST_TREE_SEED + _engine.seed_of_tree(self._seed, tree)

    @property
    def estimators_samples_(self) -> list[NDArray[np.int32]]:
        """The rows of the training data that each tree was grown from, as often as it drew them.

        They are drawn again whenever you ask. Files of `hardwood.save` do not have them.
        """
        check_is_fitted(self)
        draws = getattr(self, "_draws", ())
        if not draws or draws[0].first_tree > 0:
            raise AttributeError(
                "This forest has no estimators_samples_: it was loaded from a file, which does not "
                "say which rows its trees drew."
            )
        last_trees = [*(each.first_tree for each in draws[1:]), len(self._compact)]
        return [
            each.rows(self._seed, tree)
            for each, last in zip(draws, last_trees, strict=True)
            for tree in range(each.first_tree, last)
        ]

    def _drawn_trees(self, data: TrainingSet) -> tuple[CompactForest, int]:
        if not self.bootstrap:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        return self._compact, self._n_draws(data)

    def _check_combinations(self) -> None:
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(
                f"max_samples={self.max_samples!r} says how many rows a tree draws, but "
                # scikit-learn's message, with its mistake in the name: its tests expect this.
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        if isinstance(self.class_weight, str):
            if self.class_weight not in ("balanced", "balanced_subsample"):
                raise ValueError(
                    "class_weight must be 'balanced', 'balanced_subsample', a dict or None, but "
                    f"got {self.class_weight!r}."
                )
            if self.warm_start:
                warnings.warn(
                    f'class_weight preset "{self.class_weight}" is not recommended for '
                    "warm_start if the fitted data differs from the full dataset: it is computed "
                    "from each fit's own y.",
                    stacklevel=4,
                )

    def _check_warm_start(self, data: TrainingSet, n_old: int) -> None:
        if not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                f"warm_start requires the classes of the last fit, {self.classes_}, but y has "
                f"{data.classes}."
            )
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_old} when warm_start==True"
            )

    def _fixed_class_weight(self) -> Any:
        if self.class_weight == "balanced_subsample":
            return None if self.bootstrap else "balanced"
        return self.class_weight

    def _n_draws(self, data: TrainingSet) -> int:
        """Return how many rows, or groups, each tree draws. A fraction is one of their weight."""
        if self.max_samples is None:
            return data.n_units
        n_draws = self.max_samples
        if not isinstance(n_draws, Integral):
            n_draws = max(1.0, n_draws * data.total_unit_weight)
        if n_draws > MAX_ROWS:
            raise ValueError(
                f"max_samples={self.max_samples} means {n_draws:.6g} draws for each tree; at most "
                f"{MAX_ROWS} are supported."
            )
        return int(n_draws)


@storable("RobustExtraTreesClassifier")
@estimator
class RobustExtraTreesClassifier(RobustForestClassifier):
    """Extremely randomized trees that are robust to label noise.

    Each candidate feature is tried with a single random threshold, and the best of these splits is
    made.

    {robust_forest}

    See Also
    --------
    RobustForestClassifier : Splits at the best thresholds.
    sklearn.ensemble.ExtraTreesClassifier : The same without robust criteria.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RobustExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _random_cuts = True
    _sklearn_class = ExtraTreesClassifier

    bootstrap: bool = False

"""A forest that finds out by itself how far to trust noisy labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood import _engine
from hardwood._compat import StrOptions, fit_context
from hardwood._core.base_forest import BaseForest
from hardwood._core.compact import CompactForest
from hardwood._core.grow import Growth, TrainingSet, prepare
from hardwood._core.progress import progress_bar
from hardwood._core.spread import grow_anywhere, n_threads
from hardwood._io.storing import Stored, storable
from hardwood.adaptive._choice import choose
from hardwood.adaptive._holdout import (
    HOLDOUT_CONSTRAINTS,
    LAM_GRID,
    check_lam_grid,
    lam_from_stored,
    tune,
)
from hardwood.adaptive._settings import DRAWN, Setting, out_of_bag
from hardwood._io.frames import frame, table_from_stored
from hardwood.criteria import Criterion
from hardwood.noise.matrices import check_matrix
from hardwood.noise.correction import Correction, n_classes_of

_FITTED = (
    *("_compact", "_adaptation", "_tuning_scores", "_correction", "lam_"),
    *("decision_", "decision_reason_", "noise_matrix_", "noise_rate_"),
    *("oob_votes_", "oob_decision_function_", "oob_score_"),
)
_STORED = (
    *("_adaptation", "_tuning_scores", "_correction", "lam_", "oob_votes_"),
    *("decision_reason_", "noise_matrix_", "noise_rate_"),
)
# What full-data trees need not split if leaves are shrunk in any case.
_SMALL_NODE = 5
# Below this share of wrong labels, full-data trees that need no smoothing do better alone.
_HARDLY_ANY_NOISE = 0.05


@storable("AdaptiveForestClassifier")
class AdaptiveForestClassifier(BaseForest):
    """A forest that is robust at any level of label noise, with nothing to tune.

    A random forest is grown to the end, and then decides how far to trust its own leaves. Every
    fully grown tree holds smaller and smoother trees inside it; the rows that a tree did not draw
    tell, in one pass over them, how accurate each of these is on the noisy labels. The best one is
    made real. Where some classes are mislabelled more than others beyond doubt, the decision
    between the classes is moved as well.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; with `full_data` of each of the two forests.

    tuning : {"oob", "holdout"}, default="oob"
        "oob" is what is described above. "holdout" is the paper's ANE: forests without bootstrap,
        grown with the negative exponential impurity for each λ of a grid on a part of the rows,
        of which the most accurate on the other rows is taken.

    criterion : str or Criterion, default="gini"
        What splits improve, as in `RobustForestClassifier`. Not for "holdout".

    full_data : bool, default=True
        Whether to grow a second forest without bootstrap, smoothed as was chosen, and to average
        the two. Where labels are clean and no smoothing was chosen, the second alone is kept. Not
        for "holdout".

    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        The noise matrix T, where known: ``T[i, j]`` is the probability that a label of class i is
        observed as j. It is then used as it is. None to estimate it. Not for "holdout".

    lam_grid : array-like of float, default=(0, 0.25, 0.5, 0.75, 1)
        The λ that "holdout" tries, each in [0, 1].

    validation_fraction : float, default=0.2
        Share of the rows that "holdout" holds out.

    refit : bool, default=True
        Whether "holdout" grows the forest once more from all rows. The paper's tables do not.

    max_depth : int, default=None
        Largest depth; None for no limit.

    min_samples_split : int or float, default=2
        Fewest distinct rows of a node that is split, or their share of all rows.

    min_samples_leaf : int or float, default=1
        Fewest distinct rows of a leaf, or their share of all rows.

    min_weight_fraction_leaf : float, default=0.0
        Smallest share of the total weight in a leaf.

    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many features that vary in the node are looked at; a share of all, their square root
        (rounded up) or logarithm, or all (None).

    max_leaf_nodes : int, default=None
        Grow best-first up to this many leaves; None for no limit.

    min_impurity_decrease : float, default=0.0
        Smallest gain of a split as a share of all data. A gain of zero never suffices.

    oob_score : bool or callable, default=False
        Whether to keep what the first forest, smoothed as was chosen, says of each row out of
        bag; a callable (y_true, y_pred) scores it in place of the accuracy. Not for "holdout".

    n_jobs : int, default=None
        Number of threads; −1 for all. The forest is the same for any number.

    random_state : int, RandomState instance or None, default=None
        Seed of the draws and of the order in which features are looked at.

    verbose : int, default=0
        Whether to show progress.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They move the decision themselves, so that no noise matrix that was
        estimated does.

    Attributes
    ----------
    adaptation_ : pandas.DataFrame
        Every setting that was considered ("oob"): its `family` ("plain", "stop", "shrink") and
        `amount`, its out-of-bag `accuracy` on the noisy labels with the standard `error`, the
        `score` it was chosen by, the `corrected_score` by the noise matrix, which one was `chosen`,
        and a `note` on why.

    decision_ : {"plain", "corrected"}
        Whether predictions allow for the noise matrix.

    decision_reason_ : str
        Why.

    noise_matrix_ : ndarray of shape (n_classes, n_classes) or None
        The noise matrix, as given or as estimated ("oob"). Where classes overlap the estimate
        takes that for noise too. None where too few rows tell.

    noise_rate_ : float
        The share of wrong labels that `noise_matrix_` comes to; NaN where there is none.

    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        As `predict_proba`, by the trees that did not draw the row (`oob_score`).

    oob_votes_ : ndarray of shape (n_samples, n_classes)
        The same before the decision is corrected: probabilities of the labels as they are
        observed.

    oob_score_ : float
        Their accuracy on the labels as they are, or what the callable says.

    lam_ : float
        The λ chosen, the first of equals ("holdout").

    tuning_scores_ : pandas.DataFrame
        Each λ with its accuracy on the rows held out ("holdout").

    classes_, n_classes_, n_features_in_, feature_names_in_, estimators_, feature_importances_
        As of `RobustForestClassifier`.

    See Also
    --------
    RobustForestClassifier : A forest by one criterion, nothing adapted.

    References
    ----------
    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, "Hierarchical Shrinkage: Improving the
    Accuracy and Interpretability of Tree-Based Models", ICML 2022.

    J. Wilton and N. Ye, "Robust Loss Functions for Training Decision Trees with Noisy Labels",
    AAAI 2024.

    Examples
    --------
    >>> from hardwood import AdaptiveForestClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.4), random_state=0)
    >>> forest = AdaptiveForestClassifier(50, random_state=0).fit(data.X_train, noisy_y)
    >>> forest.score(data.X_test, data.y_test) > 0.95
    True
    >>> forest.decision_
    'plain'
    """

    _random_cuts = False
    _sklearn_class = RandomForestClassifier

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseForest._parameter_constraints,
        **HOLDOUT_CONSTRAINTS,
        "tuning": [StrOptions({"oob", "holdout"})],
        "full_data": ["boolean"],
        "noise_matrix": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        tuning: str = "oob",
        criterion: str | Criterion = "gini",
        full_data: bool = True,
        noise_matrix: Any = None,
        lam_grid: Sequence[float] = LAM_GRID,
        validation_fraction: float = 0.2,
        refit: bool = True,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        class_weight: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.tuning = tuning
        self.criterion = criterion
        self.full_data = full_data
        self.noise_matrix = noise_matrix
        self.lam_grid = lam_grid
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.class_weight = class_weight

    # --- fit ------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest and adapt it to the noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training input, dense; NaN is a missing value.

        y : array-like of shape (n_samples,)
            The labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none negative. With "oob" they are the probabilities of the draws
            and weigh the rows where these are counted.

        Returns
        -------
        self : AdaptiveForestClassifier
            The fitted forest.
        """
        for attribute in _FITTED:
            self.__dict__.pop(attribute, None)  # nothing old is left behind
        data = prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self.class_weight,
            balance_weights=True,
        )
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)
        self.n_outputs_ = 1
        self.max_features_ = self._growth(data).max_features
        grown = self._fit_holdout(data) if self.tuning == "holdout" else self._fit_oob(data, X, y)
        self._compact = grown
        return self

    def _fit_holdout(self, data: TrainingSet) -> CompactForest:
        if self.noise_matrix is not None:
            raise ValueError("noise_matrix is for tuning='oob'; leave it out with 'holdout'.")
        if self.oob_score:
            raise ValueError("oob_score is for tuning='oob': 'holdout' grows without bootstrap.")
        tuned = tune(
            data,
            check_lam_grid(self.lam_grid),
            self.validation_fraction,
            self.refit,
            self._seed,
            n_threads(self.n_jobs),
            self._grow_forest,
        )
        self.lam_ = tuned.lam
        self._tuning_scores = tuned.table
        self._set_decision(None, "tuning='holdout' corrects nothing", None, float("nan"))
        return tuned.forest

    def _fit_oob(self, data: TrainingSet, X: Any, y: Any) -> CompactForest:
        noise_matrix = self._checked_noise_matrix(len(data.classes))
        threads = n_threads(self.n_jobs)
        codes = _engine.code(data.X, threads)
        n_draws = len(data.X)
        grown = self._grow_forest(data, codes, n_draws=n_draws)
        evidence = out_of_bag(grown, data, n_draws, self._seed, self.max_features_, threads)
        choice = choose(
            evidence,
            noise_matrix,
            may_correct=self.class_weight is None,
            n_trees=(2 if self.full_data else 1) * self.n_estimators,
            n_threads=threads,
        )
        del evidence
        self._adaptation = choice.adaptation
        self._set_decision(choice.correction, choice.reason, choice.noise_matrix, choice.noise_rate)
        setting = choice.setting
        # Shrunk leaves are large: where rows weigh the same in both forests, join before shrinking.
        joins_first = self.full_data and setting.family == "shrink" and data.weights is None
        smoothed = grown
        if self.oob_score or not joins_first:
            smoothed = setting.applied(grown, threads)
        if self.oob_score:
            self.oob_votes_ = self._out_of_bag(smoothed, data, X, n_draws)
            self.oob_decision_function_ = self._decided(self.oob_votes_)
            self._score_out_of_bag(y)
        if not self.full_data:
            return smoothed
        from_all = self._grow_from_all(data, codes, setting)
        if joins_first:
            return setting.applied(CompactForest.joined([grown, from_all]), threads)
        if setting.family == "plain" and choice.noise_rate <= _HARDLY_ANY_NOISE:
            return from_all
        if setting.family == "shrink":
            from_all = setting.applied(from_all, threads, unit=data.total_weight / len(data.X))
        return CompactForest.joined([smoothed, from_all])

    def _grow_from_all(
        self, data: TrainingSet, codes: _engine.Codes, setting: Setting
    ) -> CompactForest:
        """Grow the second forest, without bootstrap, as far as the setting asks for."""
        first_tree = self.n_estimators
        growth = self._growth(data)
        own = growth.min_rows_split
        match setting.family:
            case "stop":  # A node has more rows here, as these trees see all of them.
                asked = round(setting.amount / DRAWN)
            case "shrink":  # Of what splits below tell, shrinking would leave less than a third.
                asked = min(round(setting.amount / 2), _SMALL_NODE)
            case _:
                asked = own
        growth = replace(growth, min_rows_split=max(own, asked))
        return self._grow_forest(data, codes, growth=growth, first_tree=first_tree)

    def _grow_forest(
        self,
        data: TrainingSet,
        codes: _engine.Codes,
        *,
        growth: Growth | None = None,
        n_draws: int = 0,
        first_tree: int = 0,
    ) -> CompactForest:
        with progress_bar(self.n_estimators, self.verbose) as progress:
            return grow_anywhere(
                growth or self._growth(data),
                data,
                self._seed,
                first_tree=first_tree,
                n_trees=self.n_estimators,
                n_draws=n_draws,
                n_threads=n_threads(self.n_jobs),
                progress=progress,
                codes=codes,
            )

    def _checked_noise_matrix(self, n_classes: int) -> NDArray[np.float64] | None:
        if self.noise_matrix is None:
            return None
        if self.class_weight is not None:
            raise ValueError(
                "noise_matrix and class_weight both move the decision: give one of them."
            )
        T = check_matrix(self.noise_matrix, "noise_matrix")
        if len(T) != n_classes:
            raise ValueError(
                f"noise_matrix must have a row and a column for each of the {n_classes} classes of "
                f"y, but has {len(T)}."
            )
        if np.linalg.cond(T) > 1e6 or (n_classes == 2 and T[1, 1] <= T[0, 1]):
            raise ValueError(
                "noise_matrix must be invertible, and with two classes each label must be likelier "
                "for its own class than for the other: these labels tell nothing of their classes."
            )
        return T

    def _set_decision(
        self,
        correction: Correction | None,
        reason: str,
        noise_matrix: NDArray[np.float64] | None,
        noise_rate: float,
    ) -> None:
        self._correction = correction
        self.decision_ = "plain" if correction is None else "corrected"
        self.decision_reason_ = reason
        self.noise_matrix_ = noise_matrix
        self.noise_rate_ = noise_rate

    # --- predict --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the average of the leaves' class proportions, or more where the decision is corrected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input, compared in its own precision.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`: of the labels as they are observed, or of
            the true ones if `decision_` is "corrected".
        """
        return self._decided(super().predict_proba(X))

    def _decided(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self._correction is None else self._correction.probabilities(scores)

    def to_sklearn(self, X: Any = None) -> Any:
        """Return a genuine scikit-learn forest that makes the same predictions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None, default=None
            As for `RobustForestClassifier.to_sklearn`.

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier
            A fitted forest.

        Raises
        ------
        ValueError
            If the decision is corrected, which scikit-learn's forests cannot hold.
        """
        self._check_plain_decision("a scikit-learn forest")
        return super().to_sklearn(X)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the forest as an ONNX model, as `RobustForestClassifier.to_onnx` does.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.onnx``.

        Raises
        ------
        ValueError
            If the decision is corrected, which these models do not hold.
        """
        self._check_plain_decision("an ONNX model of trees")
        super().to_onnx(path)

    def _check_plain_decision(self, what: str) -> None:
        check_is_fitted(self)
        if self._correction is not None:
            raise ValueError(f"The decision is corrected for label noise, which {what} cannot do.")

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        stored = super()._to_stored()
        for name in _STORED:
            if hasattr(self, name):
                stored[name] = getattr(self, name)
        return stored

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = super()._from_stored(stored)
        n_classes = forest.n_classes_
        forest._correction = stored.instance("_correction", Correction | None)
        if forest._correction is not None and n_classes_of(forest._correction) != n_classes:
            raise stored.wrong("_correction", f"for {n_classes} classes")
        forest.decision_ = "plain" if forest._correction is None else "corrected"
        forest.decision_reason_ = stored.instance("decision_reason_", str)
        forest.noise_matrix_ = None
        if stored["noise_matrix_"] is not None:
            T = stored.array("noise_matrix_", "f8", (n_classes, n_classes))
            forest.noise_matrix_ = check_matrix(T, "noise_matrix_")
        forest.noise_rate_ = stored.instance("noise_rate_", float)
        if forest.tuning == "holdout":
            forest.lam_ = lam_from_stored(stored, "lam_")
            forest._tuning_scores = table_from_stored(stored, "_tuning_scores")
        else:
            forest._adaptation = table_from_stored(stored, "_adaptation")
        if "oob_votes_" in stored:
            forest.oob_votes_ = stored.array("oob_votes_", "f8", (None, n_classes))
        return forest

    # --- what was learnt ------------------------------------------------------------------------

    @property
    def adaptation_(self) -> Any:
        """Every setting considered, with its out-of-bag score and error, a pandas DataFrame."""
        check_is_fitted(self)
        if self.tuning != "oob":
            raise AttributeError("adaptation_ is for tuning='oob'; see tuning_scores_.")
        return frame(self._adaptation)

    @property
    def tuning_scores_(self) -> Any:
        """Each λ with its accuracy on the rows held out, a pandas DataFrame."""
        check_is_fitted(self)
        if self.tuning != "holdout":
            raise AttributeError("tuning_scores_ is for tuning='holdout'; see adaptation_.")
        return frame(self._tuning_scores)

"""What the two forests share."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import StrOptions, fit_context
from hardwood._core.compact import CompactForest, gain_by_feature, path_indicator
from hardwood._core.float32 import count_blurred, warn_of_blurred
from hardwood._core.grow import Growth, TrainingSet, growth, prepare
from hardwood._core.progress import progress_bar
from hardwood._core.spread import grow_anywhere, n_threads
from hardwood._core.validation import MAX_ROWS, FloatMatrix, check_input
from hardwood._io.onnx import write_onnx
from hardwood._io.stored_model import model_from_stored, model_to_stored
from hardwood._io.storing import Stored
from hardwood.criteria import NAMES, Criterion, resolve
from hardwood.tree import RobustTreeClassifier


class BaseForest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A forest of the engine's compact trees, with scikit-learn's parameters and attributes."""

    _random_cuts: ClassVar[bool]
    _sklearn_class: ClassVar[Any]
    _compact: CompactForest
    _n_blurred: NDArray[np.int64]

    # Parameters, which the classes below take in __init__.
    n_estimators: int
    criterion: str | Criterion
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: int | float | str | None
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    bootstrap: bool
    oob_score: bool | Callable[..., float]
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    class_weight: Any
    ccp_alpha: float
    max_samples: int | float | None
    monotonic_cst: Any
    leaf_prediction: str

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RandomForestClassifier._parameter_constraints,
        "criterion": [StrOptions(set(NAMES)), Criterion],
        "leaf_prediction": [StrOptions({"distribution", "optimal"})],
    }

    # --- fit ------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training input, dense; NaN is a missing value.

        y : array-like of shape (n_samples,)
            The labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, none negative. With `bootstrap` they are the probabilities of the
            draws, without it they weigh the rows.

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
        )
        n_old = 0 if old is None else len(old)
        if old is None:
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        else:
            self._check_warm_start(data, n_old)
        n_draws = self._n_draws(data) if self.bootstrap else 0
        if old is not None and self.n_estimators == n_old:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=2,
            )
            grown = old
        else:
            with progress_bar(self.n_estimators - n_old, self.verbose) as progress:
                grown = grow_anywhere(
                    self._growth(data),
                    data,
                    self._seed,
                    first_tree=n_old,
                    n_trees=self.n_estimators - n_old,
                    n_draws=n_draws,
                    balance_draws=self.class_weight == "balanced_subsample" and self.bootstrap,
                    n_threads=n_threads(self.n_jobs),
                    progress=progress,
                )
            grown = self._pruned(grown)
            n_blurred = count_blurred(grown, data.X)
            if old is not None:
                grown = CompactForest.joined([old, grown])
                n_blurred = np.concatenate([self._n_blurred, n_blurred])
            grown = grown.with_votes()
            self._n_blurred = n_blurred
        self.classes_ = data.classes
        self.n_classes_ = len(data.classes)
        self.n_outputs_ = 1
        self.max_features_ = self._growth(data).max_features
        self._compact = grown
        if self.oob_score:
            self._set_oob_score(data, X, y, n_draws)
        return self

    def _growth(self, data: TrainingSet) -> Growth:
        return growth(
            data,
            max_features=self.max_features,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            monotonic_cst=self.monotonic_cst,
            leaf_prediction=self.leaf_prediction,
            random_cuts=self._random_cuts,
        )

    def _check_combinations(self) -> None:
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError(
                "`max_samples` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_samples=None`."
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
                    stacklevel=3,
                )

    def _check_warm_start(self, data: TrainingSet, n_old: int) -> None:
        if not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the classes of the last fit, {self.classes_}, but y has "
                f"{data.classes}."
            )
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={n_old} when warm_start==True"
            )

    def _fixed_class_weight(self) -> Any:
        """Return the class weights that are the same for all trees."""
        if self.class_weight == "balanced_subsample":
            return None if self.bootstrap else "balanced"
        return self.class_weight

    def _n_draws(self, data: TrainingSet) -> int:
        """Return how many rows each tree draws: a share is of the rows, or of their weight."""
        if self.max_samples is None:
            return len(data.X)
        n_draws = self.max_samples
        if not isinstance(n_draws, Integral):
            n_draws = max(1.0, n_draws * data.total_weight)
        if n_draws > MAX_ROWS:
            raise ValueError(
                f"max_samples={self.max_samples} makes {n_draws:.6g} draws for each tree; at most "
                f"{MAX_ROWS} are supported."
            )
        return int(n_draws)

    def _pruned(self, grown: CompactForest) -> CompactForest:
        if self.ccp_alpha == 0:
            return grown
        return CompactForest.joined(
            [grown.tree(t).pruned(self.ccp_alpha) for t in range(len(grown))]
        )

    def _set_oob_score(self, data: TrainingSet, X: Any, y: Any, n_draws: int) -> None:
        self.oob_decision_function_ = self._out_of_bag(self._compact, data, X, n_draws)
        self._score_out_of_bag(y)

    def _out_of_bag(
        self, trees: CompactForest, data: TrainingSet, X: Any, n_draws: int
    ) -> NDArray[np.float64]:
        """Return the mean votes of the trees on the rows that they did not draw."""
        threads = n_threads(self.n_jobs)
        votes, n_votes = trees.oob_votes(data.X, data.weights, n_draws, self._seed, threads)
        if data.kept is not None:  # rows of weight zero are out of every bag
            means = trees.predict_proba(check_input(self, X), threads)
            all_votes = means * len(trees)
            all_votes[data.kept] = votes
            all_n_votes = np.full(len(all_votes), len(trees))
            all_n_votes[data.kept] = n_votes
            votes, n_votes = all_votes, all_n_votes
        if np.any(n_votes == 0):
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                stacklevel=4,
            )
        mean: NDArray[np.float64] = votes / np.maximum(n_votes, 1)[:, np.newaxis]
        return mean

    def _score_out_of_bag(self, y: Any) -> None:
        predicted = self.classes_.take(np.argmax(self.oob_decision_function_, axis=1))
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(score(np.asarray(y).ravel(), predicted))

    # --- predict --------------------------------------------------------------------------------

    def _checked(self, X: Any) -> FloatMatrix:
        check_is_fitted(self)
        return check_input(self, X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the average of what each row's leaves predict, by default their class proportions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input, compared in its own precision.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        X = self._checked(X)
        return self._compact.predict_proba(X, n_threads(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, the first of equals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The predicted classes.
        """
        proba = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_.take(np.argmax(proba, axis=1))
        return labels

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Log-probabilities, −inf for classes that no leaf holds.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Node numbers within the trees.
        """
        X = self._checked(X)
        return self._compact.apply(X, n_threads(self.n_jobs))

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The input.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes the node.

        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns of tree i are those from ``n_nodes_ptr[i]`` to ``n_nodes_ptr[i + 1]``.
        """
        leaves = self.apply(X)
        paths = [
            path_indicator(leaves[:, t], tree.tree_) for t, tree in enumerate(self.estimators_)
        ]
        return hstack(paths, format="csr"), self._compact.node_start.copy()

    # --- what was learnt ------------------------------------------------------------------------

    @property
    def estimators_(self) -> Sequence[RobustTreeClassifier]:
        """The trees, each made when it is asked for."""
        check_is_fitted(self)
        return _Trees(self)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the risk reduction that each feature brought, averaged over the trees."""
        check_is_fitted(self)
        of_trees = [
            gain_by_feature(self._compact.expand(t), self.n_features_in_)
            for t in range(len(self._compact))
        ]
        mean: NDArray[np.float64] = np.mean(of_trees, axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def to_sklearn(self) -> Any:
        """Return a genuine scikit-learn forest with the same predictions.

        scikit-learn narrows its input to float32: the two agree on every input that float32 holds
        exactly. A warning tells how many splits send values of the training data to the other side
        once these are narrowed.

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier or ExtraTreesClassifier
            A fitted forest.
        """
        check_is_fitted(self)
        warn_of_blurred(self._n_blurred, self._compact)
        trees = [tree._twin() for tree in self.estimators_]
        names = self._sklearn_class().get_params(deep=False)
        parameters = {name: getattr(self, name) for name in names}
        parameters["criterion"] = trees[0].criterion
        twin = self._sklearn_class(**parameters)
        twin.estimators_ = trees
        for attribute in ("classes_", "n_classes_", "n_outputs_", "n_features_in_"):
            setattr(twin, attribute, getattr(self, attribute))
        for attribute in ("feature_names_in_", "oob_score_", "oob_decision_function_"):
            if hasattr(self, attribute):
                setattr(twin, attribute, getattr(self, attribute))
        return twin

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the forest as an ONNX model, which predicts the same without Python.

        Thresholds and input are float64, and missing values go where they go here.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.onnx``.

        Notes
        -----
        The model takes ``X``, float64 of shape (n_samples, n_features), and gives ``label`` and
        ``probabilities``, float32 of shape (n_samples, n_classes). It needs the extra
        ``hardwood[onnx]``.
        """
        check_is_fitted(self)
        write_onnx(self, path)

    def _to_stored(self) -> dict[str, Any]:
        stored = {**model_to_stored(self), "seed": self._seed}
        for name in ("oob_score", "oob_decision_function"):
            if hasattr(self, f"{name}_"):
                stored[name] = getattr(self, f"{name}_")
        return stored

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = model_from_stored(cls, stored)
        forest._seed = stored.integer("seed", 0, np.iinfo(np.int32).max)
        if "oob_score" in stored:
            forest.oob_score_ = stored.number("oob_score")
            forest.oob_decision_function_ = stored.array(
                "oob_decision_function", "f8", (None, forest.n_classes_)
            )
        return forest

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_compact")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = not resolve(self.criterion).two_classes_only
        return tags


class _Trees(Sequence[RobustTreeClassifier]):
    """The trees of a forest as estimators of their own, made on demand."""

    def __init__(self, forest: BaseForest) -> None:
        self._forest = forest

    def __len__(self) -> int:
        return len(self._forest._compact)

    def __iter__(self) -> Iterator[RobustTreeClassifier]:
        return map(self._make, range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        chosen = range(len(self))[index]
        return self._make(chosen) if isinstance(chosen, int) else [self._make(t) for t in chosen]

    def _make(self, t: int) -> RobustTreeClassifier:
        forest = self._forest
        shared = RobustTreeClassifier().get_params(deep=False).keys() & forest.get_params(
            deep=False
        )
        tree = RobustTreeClassifier(**{name: getattr(forest, name) for name in shared})
        tree.set_params(
            splitter="random" if forest._random_cuts else "best",
            class_weight=None,  # they are in the counts already
            random_state=None,
        )
        for attribute in (
            "classes_",
            "n_classes_",
            "n_outputs_",
            "n_features_in_",
            "max_features_",
        ):
            setattr(tree, attribute, getattr(forest, attribute))
        if hasattr(forest, "feature_names_in_"):
            tree.feature_names_in_ = forest.feature_names_in_
        tree._n_blurred = forest._n_blurred[t : t + 1]
        tree._adopt(forest._compact.tree(t))
        return tree

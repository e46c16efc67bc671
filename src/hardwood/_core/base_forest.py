"""What fitted forests can do, and what forests of bootstrap samples can do."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import Interval, StrOptions
from hardwood._core.compact import CompactForest, path_indicator
from hardwood._core.grow import Growth, TrainingSet, prepare
from hardwood._core.labels import labels_as_given
from hardwood._core.model import Model, copy_description, estimator
from hardwood._core.pairs import share_out
from hardwood._core.progress import progress_bar
from hardwood._core.shuffling import Shuffled
from hardwood._core.spread import grow_anywhere, n_threads
from hardwood._core.validation import MAX_TREES, Matrix, check_input
from hardwood._io.stored_model import model_from_stored, model_to_stored
from hardwood._io.storing import Stored
from hardwood.criteria import NAMES, Criterion
from hardwood.tree import RobustTreeClassifier


@estimator
class BaseForest(Model, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A forest of the engine's compact trees; subclasses fit it.

    A fit sets `_compact`, `_seed` and what `_describe` sets.
    """

    _random_cuts: ClassVar[bool] = False
    _sklearn_class: ClassVar[Any] = RandomForestClassifier
    _seed: int = field(init=False)

    n_estimators: int = field(default=100, kw_only=False)
    max_features: int | float | str | None = "sqrt"
    n_jobs: int | None = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RandomForestClassifier._parameter_constraints,
        **Model._category_constraints,
        "n_estimators": [Interval(Integral, 1, MAX_TREES, closed="both")],
        "criterion": [StrOptions(set(NAMES)), Criterion],
    }

    # --- fit ------------------------------------------------------------------------------------

    def _prepared(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> TrainingSet:
        """Check the training data."""
        return prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self.class_weight,
            balance_weights=True,
            groups=groups,
        )

    def _grow(
        self, growth: Growth, data: TrainingSet, n_trees: int, **options: Any
    ) -> CompactForest:
        """Grow trees, here or elsewhere, and show the progress."""
        with progress_bar(n_trees, self.verbose) as progress:
            return grow_anywhere(
                growth,
                data,
                self._seed,
                n_trees=n_trees,
                n_threads=n_threads(self.n_jobs),
                progress=progress,
                **options,
            )

    # --- predict --------------------------------------------------------------------------------

    def _checked(self, X: Any) -> Matrix:
        check_is_fitted(self)
        return check_input(self, X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the mean of what the trees predict: class proportions, or see `leaf_prediction`.

        {takes_X, returns_probabilities}
        """
        X = self._checked(X)
        return self._compact.predict_proba(X, n_threads(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, the first of equals.

        {takes_X, returns_classes}
        """
        proba = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_.take(np.argmax(proba, axis=1))
        return labels

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the leaf of each row in each tree.

        {takes_X}

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators)
            Node indices within the trees.
        """
        X = self._checked(X)
        return self._compact.apply(X, n_threads(self.n_jobs))

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Return which nodes each row passes through.

        {takes_X}

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where the row passes through the node.

        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns of tree i are ``n_nodes_ptr[i]:n_nodes_ptr[i + 1]``.
        """
        leaves = self.apply(X)
        paths = [
            path_indicator(leaves[:, t], *tree._children) for t, tree in enumerate(self.estimators_)
        ]
        return hstack(paths, format="csr"), self._compact.node_start.copy()

    # --- what was learnt ------------------------------------------------------------------------

    @property
    def estimators_(self) -> Sequence[RobustTreeClassifier]:
        """The trees. Each is created when you access it."""
        check_is_fitted(self)
        return _Trees(self)

    @property
    def estimator(self) -> RobustTreeClassifier:
        """A tree with the parameters of the forest's trees, not fitted."""
        parameters = self.get_params(deep=False)
        known = RobustTreeClassifier().get_params(deep=False).keys() & parameters.keys()
        tree = RobustTreeClassifier(**{name: parameters[name] for name in known})
        splitter = "random" if self._random_cuts else "best"
        # The trees' counts include the class weights already.
        return tree.set_params(splitter=splitter, class_weight=None, random_state=None)

    def _random_state_of(self, tree: int) -> int | None:
        """Return the `random_state` that makes this tree grow again from its rows, if there is one."""
        return None

    @property
    def estimator_(self) -> RobustTreeClassifier:
        """The same, once the forest is fitted."""
        check_is_fitted(self)
        return self.estimator

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.estimators_)

    def __getitem__(self, index: Any) -> Any:
        """Return a tree, or several for a slice."""
        return self.estimators_[index]

    def __iter__(self) -> Iterator[RobustTreeClassifier]:
        """Iterate over the trees."""
        return iter(self.estimators_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of the total gain that is due to each feature, averaged over the trees."""
        check_is_fitted(self)
        of_trees = [
            self._gain_by_feature(self._compact.expand(t)) for t in range(len(self._compact))
        ]
        mean: NDArray[np.float64] = np.mean(of_trees, axis=0)
        return mean / mean.sum() if mean.sum() > 0 else mean

    def to_sklearn(self, X: Any = None) -> Any:
        """Return a genuine scikit-learn forest that makes the same predictions.

        {rounds_X}

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier or ExtraTreesClassifier
            A fitted forest.
        """
        check_is_fitted(self)
        self._check_has_no_categories()
        self._warn_of_float32(X)
        trees = [tree.to_sklearn() for tree in self.estimators_]
        parameters = {**self.get_params(deep=False), "criterion": trees[0].criterion}
        known = self._sklearn_class().get_params(deep=False).keys() & parameters.keys()
        twin = self._sklearn_class(**{name: parameters[name] for name in known})
        twin.estimators_ = trees
        copy_description(self, twin)
        for attribute in ("oob_score_", "oob_decision_function_"):
            if hasattr(self, attribute):
                setattr(twin, attribute, getattr(self, attribute))
        return twin

    def _to_stored(self) -> dict[str, Any]:
        return {**model_to_stored(self), "seed": self._seed}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = model_from_stored(cls, stored)
        forest._seed = stored.integer("seed", 0, np.iinfo(np.int32).max)
        return forest


@estimator
class BaggedForest(BaseForest):
    """A forest whose trees draw rows, so that the other rows can judge them."""

    oob_score: bool | Callable[..., float] = False

    def _out_of_bag(
        self, trees: CompactForest, data: TrainingSet, X: Any, n_draws: int
    ) -> NDArray[np.float64]:
        """Return the mean votes of the trees on the rows that they did not draw."""
        votes, n_votes = self._votes_out_of_bag(trees, data, X, n_draws)
        if np.any(n_votes == 0):
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                stacklevel=4,
            )
        mean: NDArray[np.float64] = votes / np.maximum(n_votes, 1)[:, np.newaxis]
        return mean

    def _votes_out_of_bag(
        self, trees: CompactForest, data: TrainingSet, X: Any, n_draws: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the sums of the votes on all rows of X, and how many trees voted."""
        threads = n_threads(self.n_jobs)
        votes, n_votes = trees.oob_votes(
            data.X, data.weights, n_draws, self._seed, threads, data.groups
        )
        if data.kept is None:
            return votes, n_votes
        means = trees.predict_proba(check_input(self, X), threads)
        all_votes = means * len(trees)  # rows of weight zero are out of every bag
        all_votes[data.kept] = votes
        all_n_votes = np.full(len(all_votes), len(trees))
        all_n_votes[data.kept] = n_votes
        return all_votes, all_n_votes

    def oob_permutation_importances(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        n_repeats: int = 5,
        random_state: Any = None,
    ) -> Bunch:
        """Return how much accuracy out-of-bag predictions lose if a feature is shuffled.

        Unlike `feature_importances_`, they do not favour features with many values or categories:
        trees do not know the labels of the rows that judge them. Features that can stand in for one
        another share their importance. Wrong labels lower all importances alike.

        Parameters
        ----------
        {training_X, y, sample_weight, groups}

        n_repeats : int, default=5
            How often to shuffle each feature.

        random_state : int, RandomState instance or None, default=None
            Seed of the shuffling.

        Returns
        -------
        result : Bunch
            `importances` of shape (n_features, n_repeats), with `importances_mean` and
            `importances_std`, as `sklearn.inspection.permutation_importance` returns them.

        Notes
        -----
        Pass the data of the fit, in the same order: the forest does not keep it.

        Examples
        --------
        >>> import numpy as np
        >>> from hardwood import RobustForestClassifier
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 300)
        >>> X = np.column_stack([rng.normal(size=300), y + rng.normal(size=300) / 4])
        >>> forest = RobustForestClassifier(random_state=0).fit(X, y)
        >>> found = forest.oob_permutation_importances(X, y, random_state=0)
        >>> bool(found.importances_mean[1] > 10 * abs(found.importances_mean[0]))
        True
        """
        check_is_fitted(self)
        data = self._data_again(X, y, sample_weight, groups)
        if not np.array_equal(data.classes, self.classes_):
            raise ValueError("X and y must be the data of the fit, but y has other classes.")
        trees, n_draws = self._drawn_trees(data)
        threads = n_threads(self.n_jobs)

        def accuracy(X: Matrix) -> float:
            votes, n_votes = trees.oob_votes(
                X, data.weights, n_draws, self._seed, threads, data.groups
            )
            voted = n_votes > 0
            decided = self._mapped(votes[voted] / n_votes[voted, np.newaxis]).argmax(axis=1)
            weights = None if data.weights is None else data.weights[voted]
            return float(np.average(decided == data.labels[voted], weights=weights))

        random = check_random_state(random_state)
        whole = accuracy(data.X)
        importances = np.zeros((self.n_features_in_, n_repeats))
        is_used = np.isin(np.arange(self.n_features_in_ + len(self._pairs)), trees.columns())
        is_used = share_out(is_used.astype(np.float64), self._pairs) > 0
        shuffled = Shuffled(data.X, self._pairs)
        for feature in range(self.n_features_in_):
            for repeat in range(n_repeats):
                order = random.permutation(data.n_rows)
                if is_used[feature]:
                    importances[feature, repeat] = whole - accuracy(shuffled.by(feature, order))
        return Bunch(
            importances=importances,
            importances_mean=importances.mean(axis=1),
            importances_std=importances.std(axis=1),
        )

    def _data_again(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingSet:
        """Return the data of the fit as the trees drew from it."""
        return prepare(
            self,
            X,
            y,
            sample_weight,
            criterion=self.criterion,
            class_weight=self._fixed_class_weight(),
            balance_weights=True,
            reset=False,
            groups=groups,
        )

    def _fixed_class_weight(self) -> Any:
        """Return the class weights that are the same for all trees."""
        return self.class_weight

    def _drawn_trees(self, data: TrainingSet) -> tuple[CompactForest, int]:
        """Return the trees that drew rows of the data, and how many each of them drew."""
        raise NotImplementedError

    def _mapped(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return probabilities of the classes from the mean votes of the trees."""
        return votes

    def _set_oob(self, decision_function: NDArray[np.float64], y: Any) -> None:
        """Set what is known out of bag: all of it, or nothing if a metric of the user raises."""
        predicted = self.classes_.take(np.argmax(decision_function, axis=1))
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(score(np.asarray(labels_as_given(y)).ravel(), predicted))
        self.oob_decision_function_ = decision_function

    def _to_stored(self) -> dict[str, Any]:
        stored = super()._to_stored()
        for name in ("oob_score", "oob_decision_function"):
            if hasattr(self, f"{name}_"):
                stored[name] = getattr(self, f"{name}_")
        return stored

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = super()._from_stored(stored)
        if "oob_score" in stored:
            forest.oob_score_ = stored.number("oob_score")
            forest.oob_decision_function_ = stored.array(
                "oob_decision_function", "f8", (None, forest.n_classes_)
            )
        return forest


class _Trees(Sequence[RobustTreeClassifier]):
    """The trees of a forest as estimators of their own, created on demand."""

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
        tree = forest.estimator
        tree.random_state = forest._random_state_of(t)
        copy_description(forest, tree)
        tree._adopt(forest._compact.tree(t))
        return tree

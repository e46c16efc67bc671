"""The paper's ANE: choose λ by the accuracy on held-out rows, whose labels are just as noisy."""

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import Interval, StrOptions, fit_context
from hardwood._core import _engine
from hardwood._core.base_forest import BaseForest
from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet, grow
from hardwood._core.model import estimator
from hardwood._core.spread import n_threads, n_threads_of_one_tree
from hardwood._io.frames import frame, table_from_stored
from hardwood._io.storing import Stored, storable
from hardwood.criteria import NegativeExponential
from hardwood.tree import RobustTreeClassifier

Grow = Callable[[TrainingSet, _engine.Codes], CompactForest]


@estimator
class _ANE:
    """The choice of λ, for a tree or a forest."""

    criterion: str = field(default="ne", init=False)  # with the λ that is being tried

    lam_grid: Sequence[float] = (0, 0.25, 0.5, 0.75, 1)
    validation_fraction: float = 0.2
    refit: bool = True

    _constraints: ClassVar[dict[str, Any]] = {
        "lam_grid": ["array-like"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "refit": ["boolean"],
    }

    def _tuned(self, data: TrainingSet, seed: int, n_threads: int, grow: Grow) -> CompactForest:
        """Grow with each λ on the rows that are not held out, and keep the most accurate.

        All candidates share the seed and the coded columns.
        """
        lam_grid = _checked_lam_grid(self.lam_grid)
        kept, held_out = _split(data, self.validation_fraction, seed)
        part = data.part(kept) if len(held_out) else data
        codes = part.code(n_threads)
        test = data.part(held_out)
        best: CompactForest | None = None
        accuracies: list[float] = []
        for lam in lam_grid:
            grown = grow(_with_lam(part, lam), codes)
            accuracies.append(_accuracy(grown, test, n_threads))
            if best is None or accuracies[-1] > max(accuracies[:-1]):
                best, self.lam_ = grown, lam
            del grown  # free a large forest before the next one grows
        assert best is not None  # there is at least one λ
        if self.refit and len(held_out):
            best = grow(_with_lam(data, self.lam_), data.code(n_threads))
        self._tuning_scores = {"lam": lam_grid, "accuracy": accuracies}
        return best

    @property
    def tuning_scores_(self) -> Any:
        """Each λ with its accuracy on the held-out rows, as a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._tuning_scores)

    def _to_stored(self) -> dict[str, Any]:
        stored: dict[str, Any] = super()._to_stored()  # type: ignore[misc]
        return {**stored, "lam": self.lam_, "tuning_scores": self._tuning_scores}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        model: Self = super()._from_stored(stored)  # type: ignore[misc]
        model.lam_ = stored.number("lam")
        if not 0 <= model.lam_ <= 1:
            raise stored.wrong("lam", "between 0 and 1")
        model._tuning_scores = table_from_stored(stored, "tuning_scores")
        return model


@storable("ANETreeClassifier")
@estimator
class ANETreeClassifier(_ANE, RobustTreeClassifier):
    """A decision tree that chooses its robustness λ by held-out rows: the paper's ANE.

    For each λ of a grid, a tree is grown with the negative exponential impurity on part of the
    rows. The λ whose tree is most accurate on the other rows is chosen. Their labels are as noisy
    as all others, but under uniform noise they rank trees as clean labels would.

    {ane_parameters}

    {ane_tree_parameters}

    {ane_tree_attributes}

    See Also
    --------
    ANEForestClassifier : The same for a forest.
    AdaptiveForestClassifier : A forest that needs no held-out rows.

    {ane_reference}

    Examples
    --------
    >>> from hardwood import ANETreeClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> tree = ANETreeClassifier(random_state=0).fit(data.X_train, noisy_y)
    >>> tree.lam_
    1.0
    >>> tree.score(data.X_test, data.y_test) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RobustTreeClassifier._parameter_constraints,
        **_ANE._constraints,
    }

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose λ and grow the tree.

        {takes_training_data, returns_self}
        """
        data = self._prepared(X, y, sample_weight)
        seed, threads = self._drawn_seed(), n_threads_of_one_tree(data)

        def grow_one(part: TrainingSet, codes: _engine.Codes) -> CompactForest:
            tree = grow(self._growth(part), part, seed, n_threads=threads, codes=codes)
            return (tree if self.ccp_alpha == 0 else tree.pruned(self.ccp_alpha)).with_votes()

        tree = self._tuned(data, seed, threads, grow_one)
        self._describe(data)
        self._adopt(tree)
        return self


@storable("ANEForestClassifier")
@estimator
class ANEForestClassifier(_ANE, BaseForest):
    """A forest that chooses its robustness λ by held-out rows: the paper's ANE.

    For each λ of a grid, a forest is grown with the negative exponential impurity on part of the
    rows, without bootstrap. The λ whose forest is most accurate on the other rows is chosen.

    {ane_parameters}

    {n_estimators, growth_parameters, n_jobs, random_state, verbose, class_weight}

    Attributes
    ----------
    {lam_, tuning_scores_, data_attributes, estimators_, feature_importances_}

    See Also
    --------
    ANETreeClassifier : The same for a single tree.
    AdaptiveForestClassifier : A forest that needs no held-out rows, and is usually more accurate.

    {ane_reference}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import ANEForestClassifier
    >>> forest = ANEForestClassifier(20, random_state=0).fit(*load_iris(return_X_y=True))
    >>> forest.tuning_scores_["lam"].tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseForest._parameter_constraints,
        **_ANE._constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Choose λ and grow the forest.

        {takes_training_data}

        groups : array-like of shape (n_samples,), default=None
            Rows that are not separate observations, such as copies: rows with the same value, a
            number or a string, form a group. Whole groups are held out, and `validation_fraction`
            counts groups.

        {returns_self}
        """
        self.__dict__.pop("_compact", None)  # a fit that fails leaves no old trees behind
        data = self._prepared(X, y, sample_weight, groups)
        self._seed = self._drawn_seed()

        def grow_one(part: TrainingSet, codes: _engine.Codes) -> CompactForest:
            return self._grow(
                self._growth(part), part, self.n_estimators, first_tree=0, codes=codes
            )

        forest = self._tuned(data, self._seed, n_threads(self.n_jobs), grow_one)
        self._describe(data)
        self._compact = forest
        return self


def _checked_lam_grid(lam_grid: Any) -> list[float]:
    values = np.asarray(lam_grid, dtype=np.float64).ravel()
    if not len(values) or not np.all((values >= 0) & (values <= 1)):
        raise ValueError(
            f"lam_grid must hold one or more numbers between 0 and 1, got {lam_grid!r}."
        )
    return [float(value) for value in values]


def _split(
    data: TrainingSet, fraction: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to grow from and those held out: at least one group each, if there are two."""
    n_held_out = min(max(1, round(fraction * data.n_units)), data.n_units - 1)
    is_held_out = np.zeros(data.n_units, dtype=np.bool_)
    is_held_out[np.random.default_rng(seed).permutation(data.n_units)[:n_held_out]] = True
    if data.groups is not None:
        is_held_out = is_held_out[data.groups]
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)


def _with_lam(data: TrainingSet, lam: float) -> TrainingSet:
    return replace(data, criterion=NegativeExponential(lam=lam)._for_engine(len(data.classes)))


def _accuracy(forest: CompactForest, test: TrainingSet, n_threads: int) -> float:
    if not test.n_rows:
        return float("nan")
    predicted = forest.predict_proba(test.X, n_threads).argmax(axis=1)
    return float(np.average(predicted == test.labels, weights=test.weights))

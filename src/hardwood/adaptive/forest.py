"""A forest that finds out by itself how far to trust noisy labels."""

import warnings
from dataclasses import field, replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._compat import StrOptions, fit_context
from hardwood._core import _engine
from hardwood._core.base_forest import BaggedForest
from hardwood._core.compact import CompactForest
from hardwood._core.copies import count_near_copies, find_copies, without_repeats
from hardwood._core.grow import Growth, TrainingSet
from hardwood._core.model import estimator
from hardwood._core.spread import n_threads
from hardwood._core.validation import MAX_ROWS
from hardwood._io.frames import frame, table_from_stored
from hardwood._io.storing import Stored, storable
from hardwood.adaptive._choice import Choice, choose
from hardwood.adaptive._settings import DRAWN, Setting, out_of_bag
from hardwood.criteria import Criterion
from hardwood.noise.checks import Array, proba_from_votes
from hardwood.noise.correction import Correction, n_classes_of
from hardwood.noise.estimation import estimated_noise
from hardwood.noise.matrices import can_be_undone, check_matrix

_STORED = (
    *("_adaptation", "_correction", "oob_votes_"),
    *("decision_reason_", "noise_matrix_", "noise_rate_", "n_copies_"),
)
_FITTED = (*_STORED, "_compact", "_groups", "decision_", "oob_decision_function_", "oob_score_")
# If leaves are shrunk anyway, trees grown from all rows do not split smaller nodes than this.
_SMALL_NODE = 5
# Below this share of wrong labels, plain trees grown from all rows do better on their own.
_HARDLY_ANY_NOISE = 0.05


@storable("AdaptiveForestClassifier")
@estimator
class AdaptiveForestClassifier(BaggedForest):
    """A forest that is robust at any level of label noise, with nothing to tune.

    It grows a full random forest, and then decides how far to trust its leaves. Every fully grown
    tree contains smaller and smoother trees. The rows that a tree did not draw show, in a single
    pass, how accurate each of these is on the noisy labels. The best one is used. If some classes
    are clearly mislabelled more often than others, the decision between the classes is corrected
    as well.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees. With `full_data`, half of them (rounded up) are grown from rows drawn with
        replacement, and the others from all rows.

    criterion : str or Criterion, default="gini"
        The measure that splits improve, as for `RobustForestClassifier`.

    full_data : bool, default=True
        Whether to grow half of the trees from all rows, smoothed in the same way. If hardly any
        label is wrong and no smoothing was chosen, all trees of the model are grown from all rows.

    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        The noise matrix T, if you know it: ``T[i, j]`` is the probability that a label of class i
        is observed as j. The decision is then corrected by it. None means to estimate the noise.

    {growth_parameters, oob_score, n_jobs, random_state, verbose}

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They change the decision themselves, so that it is not corrected
        for noise that is only estimated.

    Attributes
    ----------
    adaptation_ : pandas.DataFrame
        Every setting that was considered: its `family` ("plain", "stop" or "shrink") and `amount`,
        its out-of-bag `accuracy` on the noisy labels with the standard `error`, the `score` it was
        judged by, the `corrected_score` that allows for the noise, whether it was `chosen`, and a
        `note` on why.

    decision_ : {"plain", "corrected"}
        Whether predictions are corrected for noise.

    decision_reason_ : str
        Why.

    noise_matrix_ : ndarray of shape (n_classes, n_classes) or None
        The noise matrix, as given or as estimated by `hardwood.noise.estimate_noise_matrix`. With
        `oob_score` the estimate uses the out-of-bag votes on all rows, like `LabelAudit` for this
        forest; otherwise those on at most 30,000 rows. Overlap of the classes looks like noise.
        None if too few rows are available, or nothing can be learnt from them.

    noise_rate_ : float
        The estimated share of wrong labels. NaN if `noise_matrix_` could not be estimated.

    n_copies_ : int
        Number of rows that are copies of other rows, by their values and labels. They were drawn
        together with their originals, as if they had been passed as `groups`. Always 0 if `groups`
        was passed.

    oob_votes_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the observed labels, before a correction. Only with `oob_score`.

    {oob_decision_function_, oob_score_, data_attributes, estimators_, feature_importances_}

    See Also
    --------
    RobustForestClassifier : A forest with a single criterion, and no adaptation.
    ANEForestClassifier : The paper's adaptive forest.

    References
    ----------
    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu, "Hierarchical Shrinkage: Improving the
    Accuracy and Interpretability of Tree-Based Models", ICML 2022.

    Examples
    --------
    >>> from hardwood import AdaptiveForestClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.4), random_state=0)
    >>> forest = AdaptiveForestClassifier(100, random_state=0).fit(data.X_train, noisy_y)
    >>> forest.score(data.X_test, data.y_test) > 0.95
    True
    >>> forest.decision_
    'plain'
    """

    noise_matrix_: Array | None = field(init=False)
    noise_rate_: float = field(init=False)

    n_estimators: int = field(default=200, kw_only=False)
    criterion: str | Criterion = "gini"
    full_data: bool = True
    noise_matrix: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaggedForest._parameter_constraints,
        "full_data": ["boolean"],
        "noise_matrix": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    # --- fit ------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Grow the forest and adapt it to the noise.

        Sample weights are proportional to the probability that a row is drawn. They also weight
        the rows wherever rows are counted. Without `groups`, rows that are copies of others are
        looked for and drawn together (`n_copies_`).

        {takes_grouped_data, returns_self}
        """
        for attribute in _FITTED:
            self.__dict__.pop(attribute, None)  # nothing of an old fit remains
        data = self._prepared(X, y, sample_weight, groups)
        noise_matrix = self._checked_noise_matrix(len(data.classes))
        self._seed = self._drawn_seed()
        self._describe(data)
        threads = n_threads(self.n_jobs)
        if groups is None:
            data = replace(data, groups=find_copies(data, self._seed, threads))
        self.n_copies_ = len(data.X) - data.n_units if groups is None else 0
        self._groups = data.groups
        data = without_repeats(data) if self.n_copies_ else data
        if groups is None and (n_near := count_near_copies(data, self._seed, threads)):
            _warn_of_near_copies(n_near)
        codes = _engine.code(data.X, threads)
        n_draws = data.n_units
        n_drawn = (self.n_estimators + 1) // 2 if self.full_data else self.n_estimators
        drawn = self._grow(
            self._growth(data), data, n_drawn, first_tree=0, n_draws=n_draws, codes=codes
        )
        choice = choose(
            out_of_bag(drawn, data, n_draws, self._seed, self.max_features_, threads),
            noise_matrix,
            may_correct=self.class_weight is None,
            n_trees=self.n_estimators,
            n_threads=threads,
        )
        self._set_choice(choice)
        if self.oob_score:
            smoothed = choice.setting.applied(drawn, threads)
            self.oob_votes_ = self._out_of_bag(smoothed, data, X, n_draws)
            self._estimate_noise(data, choice, noise_matrix)
            if self._groups is not None and data.groups is None:  # copies get the same votes
                self.oob_votes_ = self.oob_votes_[self._groups]
            self.oob_decision_function_ = self._decided(self.oob_votes_)
            self._score_out_of_bag(y)
        self._compact = self._completed(drawn, data, codes, choice)
        return self

    def _completed(
        self, drawn: CompactForest, data: TrainingSet, codes: _engine.Codes, choice: Choice
    ) -> CompactForest:
        """Add the trees that are grown from all rows, if any, and smooth as was chosen."""
        setting, threads = choice.setting, n_threads(self.n_jobs)
        is_clean = choice.noise is not None and choice.noise.rate <= _HARDLY_ANY_NOISE
        is_plain = setting.family == "plain" and choice.correction is None
        replaces = self.full_data and is_clean and is_plain
        n_from_all = self.n_estimators - (0 if replaces else len(drawn))
        if n_from_all == 0:
            return setting.applied(drawn, threads)
        from_all = self._grow(
            self._growth_from_all(data, setting),
            data,
            n_from_all,
            first_tree=len(drawn),
            codes=codes,
        )
        if replaces:
            return from_all
        if setting.family == "shrink" and data.weights is None:
            # Shrunk leaves are large. If rows weigh the same in all trees, join before shrinking.
            return setting.applied(CompactForest.joined([drawn, from_all]), threads)
        if setting.family == "shrink":
            from_all = setting.applied(from_all, threads, unit=data.total_weight / len(data.X))
        return CompactForest.joined([setting.applied(drawn, threads), from_all])

    def _growth_from_all(self, data: TrainingSet, setting: Setting) -> Growth:
        """Return how far to grow trees from all rows, given how they will be smoothed."""
        growth = self._growth(data)
        match setting.family:
            case "stop":  # nodes are larger here, as these trees see all rows
                asked = round(setting.amount / DRAWN)
            case "shrink":  # shrinking would leave less than a third of what deeper splits say
                asked = min(round(setting.amount / 2), _SMALL_NODE)
            case _:
                asked = 0
        return replace(growth, min_rows_split=max(growth.min_rows_split, asked))

    def _checked_noise_matrix(self, n_classes: int) -> Array | None:
        if self.noise_matrix is None:
            return None
        if self.class_weight is not None:
            raise ValueError(
                "noise_matrix and class_weight both change the decision: give only one of them."
            )
        T = check_matrix(self.noise_matrix, "noise_matrix", n_classes)
        if not can_be_undone(T):
            raise ValueError(
                "noise_matrix must be invertible and, with two classes, make each label more "
                "likely for its own class than for the other: otherwise labels say nothing about "
                "their classes."
            )
        return T

    def _set_choice(self, choice: Choice) -> None:
        self._adaptation = choice.adaptation
        self._correction = choice.correction
        self.decision_ = "plain" if choice.correction is None else "corrected"
        self.decision_reason_ = choice.reason
        self.noise_matrix_, self.noise_rate_ = choice.noise or (None, float("nan"))

    def _estimate_noise(self, data: TrainingSet, choice: Choice, T: Array | None) -> None:
        """Estimate the noise from the votes on all rows, as an audit of this forest does."""
        if choice.noise is None or np.isnan(choice.noise.rate):
            return
        votes = self.oob_votes_ if data.kept is None else self.oob_votes_[data.kept]
        labels = data.labels.astype(np.intp)
        proba = proba_from_votes(votes, labels, data.classes)
        self.noise_matrix_, self.noise_rate_ = estimated_noise(proba, labels, data.weights, T)

    # --- predict --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities.

        They are those of the true labels if `decision_` is "corrected", and else those of the
        observed labels, the mean of the class proportions in each row's leaves.

        {takes_X, returns_probabilities}
        """
        return self._decided(super().predict_proba(X))

    def _decided(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self._correction is None else self._correction.probabilities(scores)

    def to_sklearn(self, X: Any = None) -> Any:
        """Return a genuine scikit-learn forest that makes the same predictions.

        {rounds_X}

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier
            A fitted forest.

        Raises
        ------
        ValueError
            If the decision is corrected, which scikit-learn's forests cannot do.
        """
        self._check_plain_decision("a scikit-learn forest")
        return super().to_sklearn(X)

    def to_onnx(self, path: str | PathLike[str]) -> None:
        """Write the forest to an ONNX file, as `RobustForestClassifier.to_onnx` does.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually ending in ``.onnx``.

        Raises
        ------
        ValueError
            If the decision is corrected, which such models cannot do.
        """
        self._check_plain_decision("an ONNX model of trees")
        super().to_onnx(path)

    def _check_plain_decision(self, what: str) -> None:
        check_is_fitted(self)
        if self._correction is not None:
            raise ValueError(f"The decision is corrected for label noise, which {what} cannot do.")

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _STORED if hasattr(self, name)}
        return super()._to_stored() | own

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
        # Files of earlier versions do not have it.
        forest.n_copies_ = stored.integer("n_copies_", 0, MAX_ROWS) if "n_copies_" in stored else 0
        forest._adaptation = table_from_stored(stored, "_adaptation")
        if "oob_votes_" in stored:
            forest.oob_votes_ = stored.array("oob_votes_", "f8", (None, n_classes))
        return forest

    @property
    def adaptation_(self) -> Any:
        """Every setting considered, with its out-of-bag score and error, a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._adaptation)


def _warn_of_near_copies(n_near: int) -> None:
    warnings.warn(
        f"About {n_near:,} rows seem to be copies of other rows with small changes: they share "
        "their leaves in all trees, and their labels agree more often than those of similar rows. "
        "Wrong labels that were copied along cannot be found, and count as right. If these rows "
        "are not separate observations, pass groups to fit.",
        stacklevel=4,  # the caller of fit
    )

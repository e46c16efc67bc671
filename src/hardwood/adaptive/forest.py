"""A forest that finds out by itself how far to trust noisy labels."""

import warnings
from dataclasses import field, replace
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
from hardwood._io.onnx import Decision
from hardwood._io.storing import Stored, storable
from hardwood.adaptive import _again
from hardwood.adaptive._choice import SCORINGS, Choice, LabelFindings, choose
from hardwood.adaptive._judged import Judged, JudgedHere
from hardwood.adaptive._parts import Part, mixed, numbered, smoothed
from hardwood.adaptive._reviewed import blended, labels_before, may_tell_more, share_left
from hardwood.adaptive._settings import DRAWN, Cuts, Setting, out_of_bag
from hardwood.criteria import Criterion
from hardwood.noise.checks import Array, proba_from_votes
from hardwood.noise.correction import AS_IS, Unmixed
from hardwood.noise.label_model import relative
from hardwood.noise.matrices import can_be_undone, check_matrix
from hardwood.noise.sharpening import Sharpening

_STORED = (
    *("_adaptation", "_unmixed", "_sharpening", "oob_votes_", "oob_n_votes_", "class_prior_"),
    *("decision_", "decision_reason_", "splitter_", "noise_matrix_", "noise_rate_", "n_copies_"),
    *("_n_drawn", "_votes_again"),
)
_FITTED = (*_STORED, "_compact", "_groups", "oob_decision_function_", "oob_score_")
# If leaves are shrunk anyway, trees grown from all rows do not split smaller nodes than this.
_SMALL_NODE = 5
# Below this share of wrong labels, plain trees grown from all rows do better on their own.
_HARDLY_ANY_NOISE = 0.05
# Trees grown from all rows help large tables. At this many rows, they are a quarter of the trees.
_MANY_ROWS = 3000
# Up to this many rows, random cuts of twice as many features are tried as well. A large table tells which
# cuts are better, and another forest would cost time.
_FEW_ROWS = 10_000


@storable("AdaptiveForestClassifier")
@estimator
class AdaptiveForestClassifier(BaggedForest):
    """A forest that is robust at any level of label noise, with nothing to tune.

    It grows full forests, one with the best cuts and one or two with random cuts, and then decides
    how far to trust their leaves and how to mix them. Every fully grown tree contains smaller and
    smoother trees. The rows that a tree was not trained on show how well each of these explains the
    noisy labels. The forest uses the best ones, and turns their votes into probabilities of the true
    classes. If some classes are clearly mislabelled more often than others, it corrects the decision
    between the classes as well.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of trees. With `full_data`, some of them are grown from all rows, up to half of them
        in large tables, and the others from rows drawn with replacement. In tables of at most 10,000
        rows, up to a quarter of the trees prefer rows whose labels are likely to be right. These
        trees have no out-of-bag votes.

    criterion : str or Criterion, default="gini"
        What splits improve, as in `RobustForestClassifier`.

    full_data : bool, default=True
        Whether to grow some of the trees from all rows, smoothed in the same way: a share of
        ½ n/(n + 3,000) for n rows. If hardly any label is wrong and no smoothing was chosen, all
        trees of the model are grown from all rows.

    splitter : {"auto", "best", "random"}, default="auto"
        How trees cut a feature: at the best threshold, or at a random one, which chases noise less.
        "auto" grows both kinds and mixes them. In tables of at most 10,000 rows it also tries random
        cuts of twice as many features.

    scoring : str or callable, default="auto"
        How to compare the settings, on out-of-bag rows and noisy labels: "auto", "accuracy",
        "balanced_accuracy", "log_loss" or "roc_auc". "log_loss" allows for noise. "auto" takes the
        lowest such log loss among the settings whose accuracy is within one standard error of the
        best, and mixes the forests in the shares that make the labels likely. A callable takes the
        labels and the probabilities of the classes, an array of shape (n_rows, n_classes), and
        returns a number: higher is better.

    decision : {"accuracy", "balanced"}, default="accuracy"
        What `predict` aims at. "accuracy" predicts the most probable class. "balanced" predicts the
        class whose probability is highest relative to its share of the rows, for a high balanced
        accuracy if classes are rare. Probabilities do not depend on it.

    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        The noise matrix T, if you know it: ``T[i, j]`` is the probability that a label of class i
        is observed as j. The decision is then corrected by it. None to estimate the noise.

    {growth_parameters, oob_score, n_jobs, random_state, verbose}

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They change the decision themselves, so it is not corrected for
        noise that is only estimated. The noise is estimated as if there were no weights.
        `LabelAudit` estimates it better, because it grows a forest without them.

    Attributes
    ----------
    adaptation_ : pandas.DataFrame
        Every setting that was considered: its `splitter` and `max_features`, its `family` ("plain",
        "stop" or "shrink") and `amount`, its out-of-bag `accuracy` on the noisy labels with the
        standard `error`, the `score` (the accuracy expected of all trees, averaged with the
        neighbouring settings), the `log_loss` that allows for noise, the `share` of the trees that
        have it, whether it was `chosen` (one setting for each forest in the mixture), and what it
        means in words (`note`).

    splitter_ : {"best", "random", "mixed"}
        How the trees cut.

    decision_ : {"plain", "corrected"}
        Whether predictions are corrected for noise that differs between the classes.

    decision_reason_ : str
        Why predictions are corrected or not.

    noise_matrix_ : ndarray of shape (n_classes, n_classes) or None
        The noise matrix, as given or as estimated. With `oob_score` the estimate uses the
        out-of-bag votes on all rows, like `LabelAudit` for this forest; otherwise those on at most
        30,000 rows. Overlap of the classes can look like noise. None if no row is out of bag.

    noise_rate_ : float
        The estimated share of wrong labels. NaN if `noise_matrix_` could not be estimated.

    class_prior_ : ndarray of shape (n_classes,)
        The estimated shares of the true classes.

    n_copies_ : int
        Number of rows found to be copies of other rows, by their values and labels. They were drawn
        together with their originals, as if they had been passed as `groups`. Always 0 if `groups`
        was passed.

    oob_votes_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the observed labels. Only with `oob_score`.

    oob_n_votes_ : float
        The mean number of trees that vote on a row in `oob_votes_`. Only with `oob_score`.

    {oob_decision_function_, oob_score_, data_attributes, estimators_, feature_importances_}

    See Also
    --------
    RobustForestClassifier : A forest that does not adapt.
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
    splitter: str = "auto"
    scoring: Any = "auto"
    decision: str = "accuracy"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaggedForest._parameter_constraints,
        "full_data": ["boolean"],
        "noise_matrix": ["array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "splitter": [StrOptions({"auto", "best", "random"})],
        "scoring": [StrOptions(set(SCORINGS)), callable],
        "decision": [StrOptions({"accuracy", "balanced"})],
    }

    # --- fit ------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, observed: Any = None
    ) -> Self:
        """Grow the forest and adapt it to the noise.

        Rows are drawn with probabilities proportional to the sample weights, which also weight the
        rows wherever rows are counted. Without `groups`, the forest looks for rows that are copies
        of others and draws them together (`n_copies_`).

        {takes_grouped_data}

        observed : array-like of shape (n_samples,), default=None
            The labels before a review, if people have reviewed a part of them; `y` has the labels
            after it. The wrong labels that a review leaves look right, so a forest that only sees
            `y` resists noise too little. With `observed`, at least half of the trees are smoothed as
            suits the labels before the review. All trees are grown from `y`. This takes twice as
            long.

        {returns_self}
        """
        for attribute in _FITTED:
            self.__dict__.pop(attribute, None)  # nothing of an old fit remains
        data = self._prepared(X, y, sample_weight, groups)
        noise_matrix = self._checked_noise_matrix(len(data.classes))
        self._seed = self._drawn_seed()
        self._describe(data)
        threads = n_threads(self.n_jobs)
        observed = None if observed is None else labels_before(observed, data)
        if groups is None:
            data = replace(data, groups=find_copies(data, self._seed, threads))
        self.n_copies_ = data.n_rows - data.n_units if groups is None else 0
        self._groups = data.groups
        data = without_repeats(data) if self.n_copies_ else data
        if groups is None and (n_near := count_near_copies(data, self._seed, threads)):
            _warn_of_near_copies(n_near)
        codes = data.code(threads)
        n_draws = data.n_units
        n_drawn = self.n_estimators - self._n_from_all(n_draws)
        forests, choice = self._adapted(data, codes, n_drawn, noise_matrix)
        if observed is not None and self._groups is not None and data.groups is None:
            observed = observed[np.unique(self._groups, return_index=True)[1]]  # without repeats
        if observed is not None and may_tell_more(observed, data):
            unreviewed = replace(data, labels=observed)
            _, before = self._adapted(unreviewed, codes, n_drawn, noise_matrix)
            choice = blended(before, choice, share_left(before, observed, data))
        n_again = self._n_again(data, choice)
        drawn = mixed(forests, choice, n_drawn - n_again)
        del forests
        self._set_choice(choice)
        again, votes_again = self._grown_again(drawn, n_again, data, codes, choice)
        if self.oob_score:
            voting = CompactForest.joined(smoothed(drawn, threads))
            votes = self._out_of_bag(voting, data, X, n_draws)
            self._set_votes(votes, votes_again, n_drawn - n_again, data, noise_matrix)
            self._set_oob(self._mapped(self.oob_votes_), y)
        self._compact = self._completed(drawn, again, data, codes, choice)
        return self

    def _adapted(
        self, data: TrainingSet, codes: _engine.Codes, n_trees: int, noise_matrix: Array | None
    ) -> tuple[dict[Cuts, CompactForest], Choice]:
        """Grow the forests to mix, and choose how to smooth and to mix them."""
        threads, n_draws = n_threads(self.n_jobs), data.n_units
        forests = {
            cuts: self._grow(
                self._growth_with(data, cuts),
                data,
                n_trees,
                first_tree=0,
                n_draws=n_draws,
                codes=codes,
            )
            for cuts in self._cuts(data)
        }
        choice = choose(
            out_of_bag(forests, self._judged(data, n_draws), self._seed),
            noise_matrix,
            may_correct=self.class_weight is None,
            n_trees=self.n_estimators,
            n_threads=threads,
            scoring=self.scoring,
            classes=data.classes,
        )
        return forests, choice

    def _judged(self, data: TrainingSet, n_draws: int) -> Judged:
        """Return the rows that judge the trees."""
        return JudgedHere(data, n_draws, self._seed, n_threads(self.n_jobs))

    def _cuts(self, data: TrainingSet) -> list[Cuts]:
        """Return how the forests to mix cut."""
        n_features = self.max_features_
        if self.splitter != "auto":
            return [Cuts(self.splitter, n_features)]
        tried = [Cuts("best", n_features), Cuts("random", n_features)]
        twice = min(2 * n_features, self.n_features_in_)
        if twice > n_features and data.n_rows <= _FEW_ROWS:
            tried.append(Cuts("random", twice))
        return tried

    def _n_from_all(self, n_rows: int) -> int:
        """Return how many trees grow from all rows."""
        share = n_rows / (n_rows + _MANY_ROWS) / 2 if self.full_data else 0
        return min(round(share * self.n_estimators), self.n_estimators // 2)

    def _growth_with(self, data: TrainingSet, cuts: Cuts) -> Growth:
        growth = self._growth(data, random_cuts=cuts.splitter == "random")
        return replace(growth, max_features=cuts.max_features)

    def _n_again(self, data: TrainingSet, choice: Choice) -> int:
        """Return how many trees grow from rows drawn by how likely their labels are right."""
        is_possible = choice.labels.noise_matrix is not None and self.class_weight is None
        if not is_possible or data.n_rows > _again.MOST_ROWS or self._replaces(choice):
            return 0
        return _again.n_trees(self.n_estimators, choice.labels.noise_rate)

    def _grown_again(
        self,
        drawn: list[Part],
        n_trees: int,
        data: TrainingSet,
        codes: _engine.Codes,
        choice: Choice,
    ) -> tuple[list[Part], Array | None]:
        """Grow trees from rows that are drawn by how likely their labels are right.

        Return them, and their mean out-of-bag votes if these are asked for.
        """
        if n_trees == 0:
            return [], None
        threads, n_draws, first_tree = n_threads(self.n_jobs), data.n_units, self.n_estimators

        def votes_of(parts: list[Part], data: TrainingSet, first: int) -> Array:
            return _again.mean_votes(parts, data, n_draws, self._seed, first, threads)

        labels = data.labels.astype(np.intp)
        right = _again.rightness(votes_of(drawn, data, 0), labels, choice.labels, choice.unmixed)
        data = replace(data, weights=relative(right * data.relative_weights))
        options = {"n_draws": n_draws, "codes": codes}
        parts = [
            (
                setting,
                self._grow(
                    self._growth_with(data, setting.cuts), data, n, first_tree=first, **options
                ),
            )
            for setting, n, first in numbered(choice, n_trees, first_tree)
        ]
        return parts, votes_of(parts, data, first_tree) if self.oob_score else None

    def _set_votes(
        self,
        votes: Array,
        votes_again: Array | None,
        n_trees: int,
        data: TrainingSet,
        T: Array | None,
    ) -> None:
        """Set the out-of-bag votes of so many trees, and what they tell about the noise."""
        self.oob_votes_ = votes
        self.oob_n_votes_ = (1 - DRAWN) * n_trees
        self._estimate_noise(data, T)
        if votes_again is not None:
            self._votes_again = self.oob_votes_.copy()
            self._votes_again[slice(None) if data.kept is None else data.kept] = votes_again
        if self._groups is not None and data.groups is None:  # copies get the same votes
            for name in ("oob_votes_", "_votes_again"):
                if hasattr(self, name):
                    setattr(self, name, getattr(self, name)[self._groups])

    def _replaces(self, choice: Choice) -> bool:
        """Return whether all trees of the model are grown from all rows."""
        is_clean = choice.labels.noise_rate <= _HARDLY_ANY_NOISE
        is_plain = all(setting.family == "plain" for setting, _ in choice.parts)
        return self.full_data and is_clean and is_plain and not choice.is_corrected

    def _completed(
        self,
        drawn: list[Part],
        again: list[Part],
        data: TrainingSet,
        codes: _engine.Codes,
        choice: Choice,
    ) -> CompactForest:
        """Add the trees that are grown from all rows, if any, and smooth as was chosen."""
        threads = n_threads(self.n_jobs)
        replaces = self._replaces(choice)
        n_drawn = sum(len(trees) for _, trees in drawn)
        self._n_drawn = 0 if replaces else n_drawn
        n_from_all = self.n_estimators - self._n_drawn - sum(len(trees) for _, trees in again)
        if n_from_all == 0:
            return CompactForest.joined(smoothed([*drawn, *again], threads))
        from_all = [
            (
                setting,
                self._grow(
                    self._growth_from_all(data, setting),
                    data,
                    number,
                    first_tree=first,
                    codes=codes,
                ),
            )
            for setting, number, first in numbered(choice, n_from_all, n_drawn)
        ]
        if replaces:
            return CompactForest.joined([trees for _, trees in from_all])
        if len(drawn) == len(from_all) == 1 and not data.is_weighted:
            # Shrunk leaves are large. If rows weigh the same in all trees, join before shrinking.
            setting = drawn[0][0]
            if setting.family == "shrink":
                trees = [trees for _, trees in (*drawn, *again, *from_all)]
                return setting.applied(CompactForest.joined(trees), threads)
        unit = data.total_weight / data.n_rows if data.is_weighted else 1.0
        shrunk = [
            setting.applied(trees, threads, unit) if setting.family == "shrink" else trees
            for setting, trees in from_all  # those that stop were grown no further
        ]
        return CompactForest.joined([*smoothed([*drawn, *again], threads), *shrunk])

    def _growth_from_all(self, data: TrainingSet, setting: Setting) -> Growth:
        """Return how far to grow trees from all rows, given how they will be smoothed."""
        growth = self._growth_with(data, setting.cuts)
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
        self._unmixed = choice.unmixed
        self._sharpening = choice.labels.sharpening
        splitters = {setting.cuts.splitter for setting, _ in choice.parts}
        self.splitter_ = splitters.pop() if len(splitters) == 1 else "mixed"
        self.decision_ = "corrected" if choice.is_corrected else "plain"
        self.decision_reason_ = choice.reason
        self._set_noise(choice.labels)

    def _set_noise(self, found: LabelFindings) -> None:
        self.noise_matrix_, self.noise_rate_ = found.noise_matrix, found.noise_rate
        self.class_prior_ = found.class_prior

    def _estimate_noise(self, data: TrainingSet, T: Array | None) -> None:
        """Estimate the noise from the votes on all rows, as an audit of this forest does."""
        if self.noise_matrix_ is None or len(data.classes) == 1:
            return
        votes = self.oob_votes_ if data.kept is None else self.oob_votes_[data.kept]
        labels = data.labels.astype(np.intp)
        scores = proba_from_votes(votes, labels, data.classes)
        if self._unmixed is not None:
            scores = self._unmixed.scores(scores)
        n_votes, is_weighted = self.oob_n_votes_, self.class_weight is not None
        found = LabelFindings.of(scores, labels, data.weights, n_votes, T, not is_weighted)
        if is_weighted and data.weights is not None:
            found = found.without_class_weights(scores, labels, data.weights, n_votes)
        self._set_noise(found)

    def _data_again(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingSet:
        data = super()._data_again(X, y, sample_weight, groups)
        if groups is not None or self.n_copies_ == 0:
            return data
        return without_repeats(
            replace(data, groups=find_copies(data, self._seed, n_threads(self.n_jobs)))
        )

    def _drawn_trees(self, data: TrainingSet) -> tuple[CompactForest, int]:
        if self._n_drawn == 0:
            raise ValueError(
                "All trees of this forest were grown from all rows, as hardly any label is wrong. "
                "Set full_data=False to have rows that are out of bag."
            )
        return self._compact.trees(0, self._n_drawn), data.n_units

    # --- predict --------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, noisy: bool = False) -> NDArray[np.float64]:
        """Return the probabilities of the true classes.

        They follow from the votes of the trees, which are probabilities of the noisy labels. Noise
        and smoothing make votes less sure than they could be: the probabilities are sharper, as far
        as the labels of out-of-bag rows justify it. Unless the decision is corrected, the most
        probable class is the one with most votes.

        Parameters
        ----------
        {X}

        noisy : bool, default=False
            Whether to return the probabilities of the observed labels instead: the mean of the class
            proportions in each row's leaves.

        {returns_probabilities}
        """
        votes = super().predict_proba(X)
        return votes if noisy else self._mapped(votes)

    def _mapped(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the true classes from the mean votes for the labels."""
        scores = votes if self._unmixed is None else self._unmixed.scores(votes)
        return self._sharpening.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or as `decision` says.

        {takes_X, returns_classes}
        """
        proba = self.predict_proba(X)
        if self.decision == "balanced":
            proba = proba / np.maximum(self.class_prior_, np.finfo(np.float64).tiny)
        labels: NDArray[Any] = self.classes_.take(np.argmax(proba, axis=1))
        return labels

    def _decision(self) -> Decision:
        sharpening, unmixed = self._sharpening, self._unmixed
        return Decision(
            sharpening.even,
            sharpening.exponents,
            sharpening.offsets,
            sharpening.weights,
            unmix=None
            if unmixed is None
            else np.asarray(np.linalg.inv(unmixed.M), dtype=np.float64),
            as_is=AS_IS,
            prior=self.class_prior_ if self.decision == "balanced" else None,
        )

    def to_sklearn(self, X: Any = None) -> Any:
        """Return a genuine scikit-learn forest with the same trees.

        Its probabilities are those of ``predict_proba(X, noisy=True)``: the votes, without the map
        to probabilities of the true classes, which scikit-learn's forests cannot carry. Unless the
        decision is corrected or balanced, it predicts the same classes.

        {rounds_X}

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier
            A fitted forest.
        """
        return super().to_sklearn(X)

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _STORED if hasattr(self, name)}
        return super()._to_stored() | own

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = super()._from_stored(stored)
        n_classes = forest.n_classes_
        forest._unmixed = stored.instance("_unmixed", Unmixed | None)
        forest._sharpening = stored.instance("_sharpening", Sharpening)
        if forest._unmixed is not None and len(forest._unmixed.M) != n_classes:
            raise stored.wrong("_unmixed", f"for {n_classes} classes")
        if forest._sharpening.n_classes != n_classes:
            raise stored.wrong("_sharpening", f"for {n_classes} classes")
        forest.class_prior_ = stored.array("class_prior_", "f8", (n_classes,))
        forest.splitter_ = stored.instance("splitter_", str)
        forest.decision_ = stored.instance("decision_", str)
        if forest.decision_ not in ("plain", "corrected"):
            raise stored.wrong("decision_", "'plain' or 'corrected'")
        forest.decision_reason_ = stored.instance("decision_reason_", str)
        forest.noise_matrix_ = None
        if stored["noise_matrix_"] is not None:
            T = stored.array("noise_matrix_", "f8", (n_classes, n_classes))
            forest.noise_matrix_ = check_matrix(T, "noise_matrix_")
        forest.noise_rate_ = stored.instance("noise_rate_", float)
        forest.n_copies_ = stored.integer("n_copies_", 0, MAX_ROWS)
        forest._n_drawn = stored.integer("_n_drawn", 0, len(forest._compact))
        forest._adaptation = table_from_stored(stored, "_adaptation")
        if "oob_votes_" in stored:
            forest.oob_votes_ = stored.array("oob_votes_", "f8", (None, n_classes))
            forest.oob_n_votes_ = stored.number("oob_n_votes_")
        if "_votes_again" in stored:
            forest._votes_again = stored.array("_votes_again", "f8", forest.oob_votes_.shape)
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

"""A forest that finds out by itself how far to trust noisy labels."""

import warnings
from dataclasses import field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hardwood._compat import StrOptions, fit_context
from hardwood._core import _engine
from hardwood._core.base_forest import BaggedForest
from hardwood._core.compact import CompactForest
from hardwood._core.copies import count_near_copies, find_copies, without_repeats
from hardwood._core.grow import Growth, TrainingSet
from hardwood._core.model import estimator
from hardwood._core.pairs import Pair
from hardwood._core.spread import n_threads
from hardwood._io.storing import storable
from hardwood.adaptive import _again, _joining
from hardwood.adaptive._candidates import Begun, Candidates, cuts_to_try
from hardwood.adaptive._choice import SCORINGS, Choice, Terms
from hardwood.adaptive._fitted import FITTED, AdaptedForest
from hardwood.adaptive._judged import Judged, JudgedHere
from hardwood.adaptive._parts import Part, numbered, smoothed, smoothed_and_joined
from hardwood.adaptive._reviewed import blended, labels_before, may_tell_more, share_left
from hardwood.adaptive._settings import DRAWN, Cuts, Setting
from hardwood.criteria import Criterion
from hardwood.noise.checks import Array
from hardwood.noise.label_model import relative
from hardwood.noise.matrices import can_be_undone, check_matrix

# If leaves are shrunk anyway, trees grown from all rows do not split smaller nodes than this.
_SMALL_NODE = 5
# Below this share of wrong labels, plain trees grown from all rows do better on their own.
_HARDLY_ANY_NOISE = 0.05
# Trees grown from all rows help large tables. At this many rows, they are a quarter of the trees.
_MANY_ROWS = 3000


@storable("AdaptiveForestClassifier")
@estimator
class AdaptiveForestClassifier(AdaptedForest):
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
        cuts of twice as many features. In tables of more than 5,000 rows, a kind that has no share in
        the best mixtures halfway grows no further.

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
        means in words (`note`). In tables of more than 5,000 rows, forests that grew no further were
        judged by half of their trees, and forests that are mixed by two thirds.

    splitter_ : {"best", "random", "mixed"}
        How the trees cut.

    joined_features_ : list of (int, int)
        Pairs of features with categories that the trees also see joined, because the labels depend
        on what they say together. Only in tables of at most 10,000 rows.

    decision_ : {"plain", "corrected"}
        Whether predictions are corrected for noise that differs between the classes.

    decision_reason_ : str
        Why predictions are corrected or not.

    noise_matrix_ : ndarray of shape (n_classes, n_classes) or None
        The noise matrix, as given or as estimated. With `oob_score` the estimate uses the
        out-of-bag votes on all rows, like `LabelAudit` for this forest; otherwise those on at most
        20,000 rows. Overlap of the classes can look like noise. None if no row is out of bag.

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
        for attribute in FITTED:
            self.__dict__.pop(attribute, None)  # nothing of an old fit remains
        data = self._prepared(X, y, sample_weight, groups)
        may_join = data.n_rows <= _joining.MOST_ROWS
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
        begun: Begun = {}
        if may_join:
            data, codes, begun = self._joined(data, codes, n_drawn)
        candidates, choice = self._adapted(data, codes, n_drawn, noise_matrix, begun)
        if observed is not None and self._groups is not None and data.groups is None:
            observed = observed[np.unique(self._groups, return_index=True)[1]]  # without repeats
        if observed is not None and may_tell_more(observed, data):
            unreviewed = replace(data, labels=observed)
            _, before = self._adapted(unreviewed, codes, n_drawn, noise_matrix)
            choice = blended(before, choice, share_left(before, observed, data))
        n_again = self._n_again(data, choice)
        drawn: list[Part] = []
        if self.oob_score or not self._replaces(choice):
            drawn = candidates.mixed(choice, n_drawn - n_again)
        del candidates
        self._set_choice(choice)
        again, votes_again = self._grown_again(drawn, n_again, data, codes, choice)
        if self.oob_score:
            voting = CompactForest.joined(smoothed(drawn, threads))
            votes = self._out_of_bag(voting, data, X, n_draws)
            self._set_votes(votes, votes_again, n_drawn - n_again, data, noise_matrix)
            self._set_oob(self._mapped(self.oob_votes_), y)
        self._compact = self._completed(drawn, n_drawn - n_again, again, data, codes, choice)
        return self

    def _adapted(
        self,
        data: TrainingSet,
        codes: _engine.Codes,
        n_trees: int,
        noise_matrix: Array | None,
        begun: Begun | None = None,
    ) -> tuple[Candidates, Choice]:
        """Grow the forests to mix, and choose by their votes on some rows how to smooth and mix them."""
        terms = Terms(
            self.n_estimators,
            noise_matrix,
            may_correct=self.class_weight is None,
            scoring=self.scoring,
            classes=data.classes,
            n_threads=n_threads(self.n_jobs),
        )
        grow = partial(self._grown_with, data, codes)
        judged = self._judged(data, data.n_units)
        candidates = Candidates(grow, n_trees, judged, self._seed, dict(begun or {}))
        return candidates, candidates.choose(self._cuts(data), terms, self._replaces)

    def _cuts(self, data: TrainingSet) -> list[Cuts]:
        n_features = self._growth(data).max_features
        n_given, are_joined = data.X.shape[1], bool(self._pairs)
        return cuts_to_try(self.splitter, n_features, n_given, data.n_rows, are_joined)

    def _grown_with(
        self, data: TrainingSet, codes: _engine.Codes, cuts: Cuts, first_tree: int, n_trees: int
    ) -> CompactForest:
        growth = self._growth_with(data, cuts)
        options = {"first_tree": first_tree, "n_draws": data.n_units, "codes": codes}
        return self._grow(growth, data, n_trees, **options)

    def _joined(
        self, data: TrainingSet, codes: _engine.Codes, n_trees: int
    ) -> tuple[TrainingSet, _engine.Codes, Begun]:
        """Join columns of categories in pairs if that makes the labels much likelier.

        A few trees of the first forest, with pairs and without, tell. Return those that are kept, too.
        """
        n_few = _joining.n_to_tell(n_trees)
        pairs: tuple[Pair, ...] = ()
        if self._categories is not None and n_few > 0:
            pairs = _joining.pairs_to_try(data, self._categories.n_categories())
        if not pairs:
            return data, codes, {}
        joined = _joining.joined(data, pairs)
        tried = [(data, codes), (joined, joined.code(n_threads(self.n_jobs)))]
        begun: list[Begun] = []
        for of_columns in tried:
            first = self._cuts(of_columns[0])[0]
            begun.append({first: self._grown_with(*of_columns, first, 0, n_few)})
        judged = [self._judged(of_columns, data.n_units) for of_columns, _ in tried]
        gain = _joining.gain(begun, judged, self._seed, n_threads(self.n_jobs))
        if gain <= _joining.LEAST_GAIN:
            return data, codes, begun[0]
        assert self._categories is not None
        self._categories = replace(self._categories, pairs=pairs)
        self._describe(joined)
        return *tried[1], begun[1]

    def _judged(self, data: TrainingSet, n_draws: int) -> Judged:
        """Return the rows that judge the trees."""
        return JudgedHere(data, n_draws, self._seed, n_threads(self.n_jobs))

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
        n_drawn: int,
        again: list[Part],
        data: TrainingSet,
        codes: _engine.Codes,
        choice: Choice,
    ) -> CompactForest:
        """Add the trees that are grown from all rows, if any, and smooth as was chosen."""
        threads = n_threads(self.n_jobs)
        replaces = self._replaces(choice)
        self._n_drawn = 0 if replaces else n_drawn
        n_from_all = self.n_estimators - self._n_drawn - sum(len(trees) for _, trees in again)
        if n_from_all == 0:
            return smoothed_and_joined([*drawn, *again], [], 1.0, threads)
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
        unit = data.total_weight / data.n_rows if data.is_weighted else 1.0
        return smoothed_and_joined([*drawn, *again], from_all, unit, threads)

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

    def _data_again(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingSet:
        data = super()._data_again(X, y, sample_weight, groups)
        if groups is not None or self.n_copies_ == 0:
            return data
        alone = replace(data, X=data.X[:, : self.n_features_in_]) if self._pairs else data
        groups = find_copies(alone, self._seed, n_threads(self.n_jobs))
        return without_repeats(replace(data, groups=groups))

    def _drawn_trees(self, data: TrainingSet) -> tuple[CompactForest, int]:
        if self._n_drawn == 0:
            raise ValueError(
                "All trees of this forest were grown from all rows, as hardly any label is wrong. "
                "Set full_data=False to have rows that are out of bag."
            )
        return self._compact.trees(0, self._n_drawn), data.n_units


def _warn_of_near_copies(n_near: int) -> None:
    warnings.warn(
        f"About {n_near:,} rows seem to be copies of other rows with small changes: they share "
        "their leaves in all trees, and their labels agree more often than those of similar rows. "
        "Wrong labels that were copied along cannot be found, and count as right. If these rows "
        "are not separate observations, pass groups to fit.",
        stacklevel=4,  # the caller of fit
    )

"""Audit the labels of a table with one fit of a forest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from hardwood._core.copies import find_copies
from hardwood._core.groups import check_groups
from hardwood._core.sparse import is_sparse
from hardwood._core.spread import n_threads
from hardwood._io.frames import frame
from hardwood.audit import second_opinion
from hardwood.audit.annotator_methods import AnnotatorMethods
from hardwood.audit.annotators import check_annotations, has_annotators
from hardwood.audit.cleaning import check_how
from hardwood.audit.consensus import find_consensus
from hardwood.audit.decisions import Decisions, check_decisions
from hardwood.audit.detectors import DEFAULT, Evidence
from hardwood.audit.gain import Gain
from hardwood.audit.issues import (
    check_detector,
    consensus_table,
    issues_table,
    reviewed_table,
    trade_off,
)
from hardwood.audit.report_methods import ReportMethods
from hardwood.audit.review import Review, mean_score, others_of, relative_width
from hardwood.audit.review_methods import ReviewMethods, check_reviewer_accuracy
from hardwood.audit.voting import (
    default_forest,
    is_given,
    is_weighted,
    known_about_votes,
    n_trees_of,
    votes_again_of,
    votes_of,
)
from hardwood.forest import RobustForestClassifier
from hardwood.noise import truth
from hardwood.noise.checks import Array, Labels, check_labels, check_proba
from hardwood.noise.label_model import SURE, fit_label_model


class LabelAudit(ReportMethods, ReviewMethods, AnnotatorMethods, BaseEstimator):  # type: ignore[misc]
    """Find wrong labels in a table.

    The audit grows one forest. Each tree votes on the rows that it was not trained on. The audit
    corrects these votes for the noise that the trees learned from, and estimates how likely each
    label is to be wrong and which classes are mistaken for which.

    A label that looks wrong may be right: where classes overlap, a correct label can be an unlikely
    one. No single table can tell overlap from noise. `noise_rate_interval_` allows for this.

    Parameters
    ----------
    estimator : forest, default=None
        The forest whose trees vote. None for an `AdaptiveForestClassifier` with
        ``scoring="log_loss"``. It has 200 trees, or more in small tables: 267 for 10,000 rows, and
        up to 800, and regressions give a second opinion in tables of at most 10,000. A forest that is
        already fitted on the same rows with ``oob_score=True`` is used as it is. Any other forest is cloned and fitted. A forest with `class_weight` is always
        cloned, and fitted without the weights: weighted votes would look like noise.

    n_jobs : int, default=None
        Number of threads; −1 uses all processors. None keeps the setting of the estimator.

    random_state : int, RandomState instance or None, default=None
        Seed of the forest and of all other random draws.

    detector : str, default="posterior"
        Name of the detector that ranks the labels, a key of `hardwood.audit.DETECTORS`.

    reviewer_accuracy : float, default=0.98
        Probability that a person who checks a label names the true class.

    Attributes
    ----------
    issues_ : pandas.DataFrame
        One line per label, as `find_label_issues` returns it. If there are decisions, the column
        `decided` marks the rows decided on. They rank last, their suggested label is the one decided
        on, and they are issues if it differs from the given label.

    n_issues_ : int
        Number of issues: as many as labels are expected to be wrong, or 0 if `can_tell_` is False.

    can_tell_ : bool
        Whether the votes say anything about the labels. They do not if there are very few rows, or
        if the labels are almost pure noise. Then nobody can say which labels are wrong: there are no
        issues, no score is above 0.5, and the noise rate only reflects how frequent the classes are.

    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        Estimate of T: ``T[i, j] = P(observed j | true i)``.

    noise_rate_ : float
        Estimated share of wrong labels: the mean of the scores. Classes that no forest can tell
        apart look like noise.

    noise_rate_interval_ : tuple of float
        A low and a high estimate of that share. They allow for chance, for overlapping classes that
        look like noise, and for noise that looks like overlap. Once there are decisions, this is a
        90 % interval given the decisions.

    noise_matrix_interval_ : tuple of ndarray or None
        The low and the high ends of 90 % intervals of the entries of `noise_matrix_`. None for more
        than 100 classes.

    class_prior_ : ndarray of shape (n_classes,)
        Estimated shares of the true classes.

    consensus_ : ndarray of shape (n_samples,)
        If y has labels from several people: the most probable label of each row, given all of its
        labels and the forest's votes. `issues_` is about these labels, and `next_rows` says which
        rows to show to one more person.

    annotators_ : pandas.DataFrame
        For each person, if there are several: the number of `labels`, the estimated share that is
        right (`accuracy`), and the share that agrees with the consensus (`agreement`).

    annotator_noise_matrices_ : ndarray of shape (n_annotators, n_classes, n_classes)
        The noise matrix of each person, if there are several.

    annotator_agreement_ : pandas.DataFrame
        For each pair of people (`first`, `second`): the number of `rows` that both labelled, the
        share with the same label (`agreement`), and Cohen's `kappa`. The pair that agrees least comes
        first.

    proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the true class of each row, estimated without the row's own label.

    classes_ : ndarray of shape (n_classes,)
        The classes.

    estimator_ : forest or None
        The fitted forest; None if probabilities were given.

    n_copies_ : int
        Number of rows found to be copies of other rows, as in `AdaptiveForestClassifier`.

    feature_names_in_ : ndarray of str or None
        The column names of X, if it has any.

    See Also
    --------
    find_label_issues : The same, from the probabilities of any classifier.
    AdaptiveForestClassifier : The forest that the audit grows, for predictions.

    Examples
    --------
    >>> from hardwood.audit import LabelAudit
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import class_conditional, corrupt
    >>> data = load("mushrooms")
    >>> noisy_y, flipped = corrupt(data.y_train, class_conditional([0.1, 0.3]), random_state=0)
    >>> audit = LabelAudit(random_state=0).fit(data.X_train, noisy_y)
    >>> bool((audit.issues_["is_issue"] == flipped).mean() > 0.99)
    True
    >>> audit.noise_matrix_.round(1)
    array([[0.9, 0.1],
           [0.3, 0.7]])
    >>> low, high = audit.noise_rate_interval_
    >>> bool(low < flipped.mean() < high)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        *,
        detector: str = DEFAULT,
        reviewer_accuracy: float = 0.98,
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.detector = detector
        self.reviewer_accuracy = reviewer_accuracy

    def fit(
        self, X: Any, y: Any, proba: Any = None, *, groups: Any = None, decisions: Any = None
    ) -> Self:
        """Audit labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; NaN is a missing value. May be None if `proba` is given.

        y : array-like of shape (n_samples,) or (n_samples, n_annotators)
            The labels. In a two-dimensional y, each column has the labels of one person, with NaN or
            None where that person gave none. The audit is then about the consensus labels.

        proba : array-like of shape (n_samples, n_classes), default=None
            Out-of-sample probabilities from a classifier trained on these labels, with columns in
            the order of the sorted classes. If they are given, no forest is grown.

        groups : array-like of shape (n_samples,), default=None
            Which rows belong together, such as copies of one record or measurements of one patient:
            rows with the same value form a group. Trees do not vote on rows whose group they were
            trained on. None to look for copies in X. An already fitted forest votes as it is.

        decisions : pandas.DataFrame, dict or path-like, default=None
            What a review has found so far, in the form that `update` takes.

        Returns
        -------
        self : LabelAudit
            The fitted audit.
        """
        for name in [name for name in self.__dict__ if name.endswith("_") or name[0] == "_"]:
            del self.__dict__[name]  # a failed fit must not leave old results behind
        check_detector(self.detector)
        if is_sparse(X):
            X = X.tocsr()  # some other formats cannot be indexed
        self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        annotations = check_annotations(y) if has_annotators(y) else None
        if annotations is None:
            classes, labels = check_labels(y)
            check_decisions(decisions, classes, labels)  # before the forest, which takes long
        else:
            classes, labels = annotations.classes, find_consensus(annotations).of_all_classes()
            y = classes[labels]
        if groups is not None:
            groups = check_groups(groups, len(labels))
        if proba is not None:
            n_rows = len(labels) if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
            if n_rows != len(labels):
                raise ValueError(f"X has {n_rows} rows, but y has {len(labels)} labels.")
            proba = check_proba(proba, len(labels), classes)
        self._X, self._labels, self._given_groups = X, labels, groups
        self._unaided = None  # what a forest voted before its votes contributed to the consensus
        if proba is None:
            estimator, groups, n_copies = self._fitted_estimator(X, y, groups)
            proba = votes_of(estimator, classes, labels)
            if annotations is not None and not is_given(self.estimator):
                # Once more, from labels to which the forest has contributed.
                self._unaided = proba
                y = classes[find_consensus(annotations, proba).of_all_classes()]
                estimator, groups, n_copies = self._fitted_estimator(X, y, self._given_groups)
                proba = votes_of(estimator, classes, labels)
            known = known_about_votes(estimator)
        else:
            estimator, n_copies = None, 0
            known = {"sure": SURE}
        self._votes = proba
        if annotations is None and estimator is not None:
            proba = self._with_second_opinion(estimator, y, groups, n_copies)
        # Copies are not further evidence: the noise is estimated from one row of each group.
        once = np.arange(len(labels))
        if n_copies and groups is not None:
            once = np.unique(groups, return_index=True)[1]
        self._consensus = None
        if annotations is not None:
            self._consensus = find_consensus(annotations, proba, self._unaided)
            labels = self._labels = self._consensus.labels
        decided = check_decisions(decisions, classes, labels)
        model = fit_label_model(proba[once], labels[once], **known)
        self._evidence = Evidence(labels, proba, model, votes_again_of(estimator, classes, labels))
        if self._consensus is None:
            self._table = issues_table(self._evidence, classes, self.detector)
        else:
            self._table = consensus_table(self._consensus.posterior, classes)
        self._annotations, self._y = annotations, y if annotations is None else classes[labels]
        self._first = self._table["score"]
        self._groups = self._drawn = groups
        self.estimator_ = estimator
        self.n_copies_ = n_copies
        self.classes_ = classes
        self.feature_names_in_ = _feature_names(X)
        self.can_tell_ = model.can_tell or annotations is not None
        self._take_in(decided)
        return self

    def _take_in(self, decisions: Decisions) -> None:
        """Draw the conclusions from the audit and from decisions on some of the labels."""
        accuracy = check_reviewer_accuracy(self.reviewer_accuracy)
        labels, classes, model = self._labels, self.classes_, self._evidence.model
        score, of_x = self._first, self._evidence.truth
        if len(decisions) and self._grows_forest:
            # Labels that look wrong were decided first. Those that are left look too clean to
            # estimate the noise, so its model stays the one of the first forest.
            before = labels if self._consensus is None else self._consensus.of_all_classes()
            y = classes[_learnt_from(decisions, before)]
            grown = self._fitted_estimator(self._X, y, self._given_groups)
            self.estimator_, self._drawn, n_copies = grown
            proba = self._votes = votes_of(self.estimator_, classes, labels)
            if self._annotations is None:
                proba = self._with_second_opinion(self.estimator_, y, self._drawn, n_copies)
            again = votes_again_of(self.estimator_, classes, labels)
            evidence = Evidence(labels, proba, model, again)
            if self._annotations is None:
                new = issues_table(evidence, classes, self.detector)["score"]
            else:
                consensus = find_consensus(self._annotations, self._votes, self._unaided)
                new = consensus.wrong(labels)
            score = mean_score(score, new)
            of_x = (of_x + evidence.truth) / 2
        if self._consensus is None:
            others = others_of(truth.posterior(of_x, model.T, labels), labels)
        else:
            others = others_of(self._consensus.posterior, labels)
        rate, doubt = float(self._first.mean()), None
        if self._consensus is None:
            rate = self._evidence.noise_rate
            doubt = relative_width(self._evidence.noise_rate_interval, rate)
        review = Review(
            score, labels, others, model.T, decisions, accuracy, self._seed, rate, doubt
        )
        if len(decisions):
            self._table = reviewed_table(review, classes, self.can_tell_)
        if len(decisions) or self._consensus is not None:
            self.noise_matrix_ = review.estimated_matrix()
            self.noise_rate_ = float(review.wrong.mean())
            self.noise_rate_interval_ = review.noise_rate_interval
            self.class_prior_ = review.posterior.mean(axis=0)
        else:
            self.noise_matrix_ = model.T
            self.noise_rate_ = self._evidence.noise_rate
            self.noise_rate_interval_ = self._evidence.noise_rate_interval
            self.class_prior_ = truth.posterior(of_x, model.T, labels).mean(axis=0)
        self.proba_ = of_x
        self._review, self._decisions = review, decisions
        self._gains: dict[str, Gain | str] = {}
        self.n_issues_ = int(self._table["is_issue"].sum())

    @property
    def _grows_forest(self) -> bool:
        """Whether the forest is ours to train, not given as fitted or as probabilities."""
        return self.estimator_ is not None and self._X is not None and not is_given(self.estimator)

    def _fitted_estimator(self, X: Any, y: Any, groups: Any) -> tuple[Any, Any, int]:
        """Return the fitted forest, the groups that its trees drew, if any, and the number of copies."""
        estimator, n_rows, seed = self.estimator, len(self._labels), self._seed
        if estimator is None:
            estimator = default_forest(n_trees_of(n_rows)).set_params(random_state=seed)
        elif is_given(estimator):
            n_votes = len(estimator.oob_decision_function_)
            if n_votes != n_rows:
                raise ValueError(
                    f"estimator has out-of-bag votes on {n_votes} rows, but y has {n_rows} labels. "
                    "Pass the rows that it was fitted on, or an estimator that is not fitted."
                )
            if groups is None:
                drawn = getattr(estimator, "_groups", None)
                groups = drawn if drawn is not None and len(drawn) == n_rows else None
            takes_groups = has_fit_parameter(estimator, "groups")
            return estimator, groups if takes_groups else None, getattr(estimator, "n_copies_", 0)
        parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
        if "oob_score" not in parameters:
            raise TypeError(
                "estimator must be a forest with out-of-bag votes (the parameter oob_score), got "
                f"{type(estimator).__name__}. For any other classifier, pass its out-of-sample "
                "probabilities to fit as proba."
            )
        if self.estimator is not None:
            estimator = clone(estimator)
            if self.random_state is not None:
                estimator.set_params(random_state=seed)
        if self.n_jobs is not None:
            estimator.set_params(n_jobs=self.n_jobs)
        if is_weighted(estimator):
            estimator.set_params(class_weight=None)
        estimator.set_params(oob_score=True)
        if groups is not None and not has_fit_parameter(estimator, "groups"):
            raise TypeError(
                "groups requires a forest of hardwood as the estimator, but "
                f"{type(estimator).__name__}.fit does not take groups."
            )
        return self._grown(estimator, X, y, groups)

    def _grown(self, estimator: Any, X: Any, y: Any, groups: Any) -> tuple[Any, Any, int]:
        """Fit the forest. Return it, the groups that its trees drew, and the number of copies."""
        n_copies = 0
        if groups is None and isinstance(estimator, RobustForestClassifier):
            groups = self._found_copies(estimator, X, y)
            n_copies = 0 if groups is None else len(self._labels) - int(groups.max()) - 1
        estimator = self._trained(estimator, X, y, groups)
        groups = getattr(estimator, "_groups", groups)
        return estimator, groups, getattr(estimator, "n_copies_", n_copies)

    def _trained(self, estimator: Any, X: Any, y: Any, groups: Any) -> Any:
        return estimator.fit(X, y, **({} if groups is None else {"groups": groups}))

    def _found_copies(self, estimator: Any, X: Any, y: Any) -> Any:
        """Return groups of rows that are copies, for a forest that does not look for them."""
        data = clone(estimator)._prepared(X, y, None)
        return find_copies(data, self._seed, n_threads(estimator.n_jobs))

    def _with_second_opinion(self, estimator: Any, y: Any, groups: Any, n_copies: int) -> Array:
        """Return the votes of our own forest, mixed with a second opinion if the table is small."""
        if self.estimator is not None or (groups is not None and not n_copies):
            return self._votes  # regressions leave out single rows, not groups of different ones
        n_votes, threads = known_about_votes(estimator)["n_votes"], n_threads(self.n_jobs)
        return second_opinion.on_table(self._votes, n_votes, self._X, y, groups, threads)

    @property
    def issues_(self) -> Any:
        """One line per label, as a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._table)

    def trade_off(self) -> Any:
        """Return how many wrong labels a review of each length can be expected to find.

        Returns
        -------
        trade_off : pandas.DataFrame
            One line per length of the review. For the most suspect `rows`: how many wrong labels you
            can expect to find (`found`), how many remain (`left`), and which share of all wrong
            labels you find (`share`). One of the lines is for reviewing all issues. The table is
            empty if `can_tell_` is False. Rows already decided on do not count.

        Examples
        --------
        >>> from hardwood import datasets, noise
        >>> from hardwood.audit import LabelAudit
        >>> X, y, *_ = datasets.load("mushrooms")
        >>> noisy_y, _ = noise.corrupt(y, noise.uniform(2, 0.1), random_state=0)
        >>> trade_off = LabelAudit(random_state=0).fit(X, noisy_y).trade_off()
        >>> trade_off.columns.tolist()
        ['rows', 'found', 'left', 'share']
        """
        check_is_fitted(self)
        undecided = self._review.undecided
        n_issues = int((self._table["is_issue"] & undecided).sum())
        return frame(trade_off(self._table["score"][undecided], n_issues))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "noise_matrix_")


def clean(
    X: Any,
    y: Any,
    how: str = "drop",
    *,
    proba: Any = None,
    check: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> tuple[Any, Any, Array | None]:
    """Audit the labels and clean the data in one step, if that helps.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    how : {"drop", "relabel", "weight"}, default="drop"
        How to clean, as in `LabelAudit.clean`.
    proba : array-like of shape (n_samples, n_classes), default=None
        Out-of-sample probabilities from any classifier; None to grow a forest.
    check : bool, default=True
        Whether to clean only if a forest gains accuracy from it. Not possible with `proba`.
    n_jobs, random_state
        As in `LabelAudit`.

    Returns
    -------
    X, y, sample_weight
        As `LabelAudit.clean` returns them.

    Examples
    --------
    >>> from hardwood.audit import clean
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> X, y, *_ = load("mushrooms")
    >>> noisy_y, flipped = corrupt(y, uniform(2, 0.3), random_state=0)
    >>> _, clean_y, _ = clean(X, noisy_y, check=False, random_state=0)
    >>> bool(abs(1 - len(clean_y) / len(noisy_y) - flipped.mean()) < 0.01)
    True
    """
    check_how(how)
    audit = LabelAudit(n_jobs=n_jobs, random_state=random_state).fit(X, y, proba)
    return audit._clean(X, y, how, check)


def _learnt_from(decisions: Decisions, labels: Labels) -> Labels:
    """Return the labels to train on: those decided, unless a class would be left without rows."""
    learnt = decisions.applied(labels)
    # Taking back what was decided on one class may leave another one without rows.
    while len(lost := np.setdiff1d(labels, learnt)):
        learnt = np.where(np.isin(labels, lost), labels, learnt)
    return learnt


def _feature_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return None if columns is None else np.asarray([str(name) for name in columns], dtype=object)

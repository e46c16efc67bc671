"""Audit the labels of a table with one fit of a forest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from hardwood._core.copies import find_copies
from hardwood._core.groups import check_groups
from hardwood._core.spread import n_threads
from hardwood._io.frames import Table, frame
from hardwood.adaptive import AdaptiveForestClassifier
from hardwood.adaptive._settings import DRAWN
from hardwood.audit.cleaning import check_how, clean_by
from hardwood.audit.detectors import DEFAULT, Evidence
from hardwood.audit.gain import Gain, Trial
from hardwood.audit.issues import issues_table, trade_off
from hardwood.audit.report import Findings, check_report, write_report
from hardwood.forest import RobustForestClassifier
from hardwood.noise import truth
from hardwood.noise.checks import Array, Labels, check_labels, check_proba, proba_from_votes
from hardwood.noise.label_model import SURE, fit_label_model

# Only 37 % of the trees vote on a row, and the audit rests on these votes.
_TREES = 200


class LabelAudit(BaseEstimator):  # type: ignore[misc]
    """Find wrong labels in a table.

    The audit grows one forest. Its trees vote on the rows that they did not draw. Corrected for the
    noise that the trees themselves learnt from, these votes show how likely each label is wrong, and
    which classes are mistaken for which.

    A label that looks wrong may be right: where classes overlap, a right label can be an unlikely one.
    A single table does not tell overlap from noise. `noise_rate_interval_` allows for this.

    Parameters
    ----------
    estimator : forest, default=None
        The forest whose trees vote. None for an `AdaptiveForestClassifier` of 200 trees that chooses
        its setting by ``scoring="log_loss"``. A forest
        that was already fitted on the same rows with ``oob_score=True`` is used as it is. Any other
        forest is cloned and fitted. So is a forest with `class_weight`, without the weights: weighted
        votes would look like noise.

    n_jobs : int, default=None
        Number of threads; −1 uses all. None leaves it to the estimator.

    random_state : int, RandomState instance or None, default=None
        Seed of the forest and of the resamples.

    detector : str, default="posterior"
        The name of the detector in `hardwood.audit.DETECTORS` that ranks the labels.

    Attributes
    ----------
    issues_ : pandas.DataFrame
        One line per label, as `find_label_issues` returns them.

    n_issues_ : int
        Number of issues, which is the number of labels expected to be wrong; 0 if `can_tell_` is
        False.

    can_tell_ : bool
        Whether the votes know anything about the labels. If not, because there are few rows or the
        labels are nearly all noise, nobody can say which labels are wrong: there are no issues, no
        score is above 0.5, and the noise rate only reflects how frequent the classes are.

    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        Estimate of T: ``T[i, j] = P(observed j | true i)``.

    noise_rate_ : float
        Estimated share of wrong labels: the mean of the scores. Classes that no forest can tell
        apart look like noise.

    noise_rate_interval_ : tuple of float
        Low and high estimate of that share. It allows for chance, for classes that overlap, which
        look like noise, and for noise that looks like overlap.

    class_prior_ : ndarray of shape (n_classes,)
        Estimated shares of the true classes.

    proba_ : ndarray of shape (n_samples, n_classes)
        P(true | x) of each row, estimated without its own label.

    classes_ : ndarray of shape (n_classes,)
        The classes.

    estimator_ : forest or None
        The fitted forest; None if probabilities were given.

    n_copies_ : int
        Number of rows that were found to be copies of others, as for `AdaptiveForestClassifier`.

    feature_names_in_ : ndarray of str or None
        The column names of X, if it has any.

    See Also
    --------
    find_label_issues : The same from the probabilities of any classifier.
    AdaptiveForestClassifier : The forest, to predict with.

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
    ) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.detector = detector

    def fit(self, X: Any, y: Any, proba: Any = None, *, groups: Any = None) -> Self:
        """Audit labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value. May be None if `proba` is given.

        y : array-like of shape (n_samples,)
            The labels.

        proba : array-like of shape (n_samples, n_classes), default=None
            Out-of-sample probabilities of a classifier that learnt from these labels, with columns
            in the order of the sorted classes. If given, no forest is grown.

        groups : array-like of shape (n_samples,), default=None
            Rows that are not separate observations, such as copies, or measurements of one
            patient: rows with the same value form a group. Trees do not vote on rows whose group
            they drew. None to look for copies in X. A forest that was already fitted votes as it
            is.

        Returns
        -------
        self : LabelAudit
            The fitted audit.
        """
        for name in [name for name in self.__dict__ if name.endswith("_") or name[0] == "_"]:
            del self.__dict__[name]  # a failed fit must not leave old results behind
        classes, labels = check_labels(y)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if groups is not None:
            groups = check_groups(groups, len(labels))
        if proba is None:
            estimator, groups, n_copies = self._fitted_estimator(X, y, len(labels), seed, groups)
            proba = _votes(estimator, classes, labels)
            known = _known_about_votes(estimator)
        else:
            estimator, n_copies = None, 0
            if X is not None and len(X) != len(labels):
                raise ValueError(f"X has {len(X)} rows, but y has {len(labels)} labels.")
            proba = check_proba(proba, len(labels), classes)
            known = {"sure": SURE}
        # Copies are not further evidence: the noise is estimated from one row of each group.
        once = np.arange(len(labels))
        if n_copies and groups is not None:
            once = np.unique(groups, return_index=True)[1]
        model = fit_label_model(proba[once], labels[once], **known)
        evidence = Evidence(labels, proba, model)
        table = issues_table(evidence, classes, self.detector)
        self._X, self._y, self._labels, self._seed = X, y, labels, seed
        self._table = table
        self._gains: dict[str, Gain | str] = {}
        self._groups = groups
        self.estimator_ = estimator
        self.n_copies_ = n_copies
        self.classes_ = classes
        self.feature_names_in_ = _feature_names(X)
        self.noise_matrix_ = model.T
        self.can_tell_ = model.can_tell
        self.noise_rate_ = evidence.noise_rate
        self.noise_rate_interval_ = evidence.noise_rate_interval
        self.proba_ = evidence.truth
        self.class_prior_ = truth.posterior(self.proba_, model.T, labels).mean(axis=0)
        self.n_issues_ = int(table["is_issue"].sum())
        return self

    def _fitted_estimator(
        self, X: Any, y: Any, n_rows: int, seed: int, groups: Any
    ) -> tuple[Any, Any, int]:
        """Return the fitted forest, the groups that its trees drew, if any, and the number of copies."""
        estimator = self.estimator
        if estimator is None:
            estimator = default_forest(_TREES).set_params(random_state=seed)
        elif hasattr(estimator, "oob_decision_function_") and not _is_weighted(estimator):
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
        if _is_weighted(estimator):
            estimator.set_params(class_weight=None)
        estimator.set_params(oob_score=True)
        if groups is not None and not has_fit_parameter(estimator, "groups"):
            raise TypeError(
                "groups requires a forest of hardwood as the estimator, but "
                f"{type(estimator).__name__}.fit does not take groups."
            )
        n_copies = 0
        if groups is None and isinstance(estimator, RobustForestClassifier):
            data = clone(estimator)._prepared(X, y, None)
            groups = find_copies(data, seed, n_threads(estimator.n_jobs))
            n_copies = 0 if groups is None else n_rows - int(groups.max()) - 1
        estimator.fit(X, y, **({} if groups is None else {"groups": groups}))
        groups = getattr(estimator, "_groups", groups)
        return estimator, groups, getattr(estimator, "n_copies_", n_copies)

    @property
    def issues_(self) -> Any:
        """One line per label, as a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._table)

    def trade_off(self) -> Any:
        """Return how many wrong labels you can expect to find, depending on how many you review.

        Returns
        -------
        trade_off : pandas.DataFrame
            Each line is for a review of as many `rows`, the most suspect ones: how many of them are
            expected to be wrong (`found`), how many wrong labels remain (`left`), and which share of
            the wrong labels is found (`share`). One line has as many rows as there are issues.
            Without issues, because `can_tell_` is False, there are no lines.

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
        return frame(trade_off(self._table["score"], self.n_issues_))

    # --- cleaning -------------------------------------------------------------------------------

    def cleaning_gain(self, how: str = "drop") -> tuple[float, float]:
        """Estimate how much accuracy a forest gains from training on cleaned data.

        Each half of the rows is audited and cleaned. Forests trained on it, with and without
        cleaning, predict the other half, and the noise matrix corrects for the wrong labels there.
        The forest is a clone of `estimator`, or an `AdaptiveForestClassifier` with default
        parameters. The result is computed on first call, from at most 100,000 rows.

        Parameters
        ----------
        how : {"drop", "relabel", "weight"}, default="drop"
            How to clean, as in `clean`.

        Returns
        -------
        gain, error : float
            The difference in accuracy (negative if cleaning does harm) and its standard error. Both
            are NaN if there are too few rows, or too much noise, to estimate them.

        Raises
        ------
        ValueError
            If the audit was fitted with probabilities, so that there is no forest to train.

        Examples
        --------
        >>> from hardwood import RobustForestClassifier, datasets, noise
        >>> from hardwood.audit import LabelAudit
        >>> X, y, *_ = datasets.load("mushrooms")
        >>> noisy_y, _ = noise.corrupt(y, noise.uniform(2, 0.4), random_state=0)
        >>> forest = RobustForestClassifier(50, criterion="gini")
        >>> gain, error = LabelAudit(forest, random_state=0).fit(X, noisy_y).cleaning_gain()
        >>> bool(gain > 2 * error)
        True
        """
        check_is_fitted(self)
        check_how(how)
        if not self._can_retrain:
            raise ValueError(
                "The audit has no forest to train again, because it was fitted with probabilities "
                "or without rows. Call fit with X and without proba."
            )
        found = self._gain(how)
        return (np.nan, np.nan) if isinstance(found, str) else found.gain

    @property
    def _can_retrain(self) -> bool:
        return self.estimator_ is not None and self._X is not None

    @cached_property
    def _trial(self) -> Trial:
        if self.estimator is None:
            model = AdaptiveForestClassifier(n_jobs=self.n_jobs, random_state=self._seed)
        else:
            model = clone(self.estimator_).set_params(oob_score=False)
        return Trial(
            self._X,
            self._table["given"],
            classes=self.classes_,
            noise_matrix=self.noise_matrix_,
            find_issues=self._issues_of,
            model=model,
            seed=self._seed,
            groups=self._groups,
        )

    def _issues_of(self, X: Any, y: Any, groups: Any = None) -> Table:
        """Audit other rows in the same way."""
        audit: LabelAudit = clone(self).set_params(estimator=clone(self.estimator_))
        return audit.fit(X, y, groups=groups)._table

    def _gain(self, how: str) -> Gain | str:
        """Measure each way of cleaning once."""
        if how not in self._gains:
            self._gains[how] = self._trial.gain(how)
        return self._gains[how]

    def clean(
        self, X: Any = None, y: Any = None, how: str = "drop", *, check: bool = True
    ) -> tuple[Any, Any, Any]:
        """Return the data without the labels that are probably wrong, if that helps.

        Parameters
        ----------
        X, y : array-like, default=None
            The rows and labels to clean, in the order in which they were audited; X may have other
            columns. None for the data passed to `fit`.

        how : {"drop", "relabel", "weight"}, default="drop"
            "drop" removes issues and "relabel" gives them the suggested label. "weight" keeps all
            rows and weights them by the probability that the label is right, issues by 0. The least
            suspect label of each class is never treated as an issue.

        check : bool, default=True
            Whether to measure `cleaning_gain` first. Unless the gain is above two standard errors,
            the data are returned unchanged, with weights of 1 for "weight", and a warning says so.
            Nothing is checked if the audit was fitted with probabilities.

        Returns
        -------
        X, y : array-like
            The data, in the types given.
        sample_weight : ndarray of shape (n_samples,) or None
            The weights for "weight", else None.
        """
        return self._clean(X, y, how, check)

    def _clean(self, X: Any, y: Any, how: str, check: bool) -> tuple[Any, Any, Any]:
        check_is_fitted(self)
        X = self._X if X is None else X
        y = self._y if y is None else y
        if X is None:
            raise ValueError("X is required, because the audit was fitted without rows.")
        cleaned = clean_by(self._table, X, y, how)
        if not check or not self._can_retrain:
            return cleaned
        found = self._gain(how)
        if isinstance(found, str):
            why = f"the gain from {how!r} cannot be measured, because {found}"
        else:
            if found.is_significant and found.gain[0] > 0:
                return cleaned
            gain, error = (100 * value for value in found.gain)
            why = f"{how!r} changes the accuracy by {gain:+.1f} ± {error:.1f} points"
        warnings.warn(
            f"The data were not cleaned: {why}. Pass check=False to clean them anyway.",
            stacklevel=3,  # the caller of `clean`, the method or the function
        )
        return X, y, np.ones(len(self._labels)) if how == "weight" else None

    # --- report ---------------------------------------------------------------------------------

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        compare: bool = True,
        max_rows: int = 10_000,
        values: Any = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Write the audit as one HTML file that any browser shows offline.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced once the new one is complete.

        title : str, default=None
            The title of the page, such as the name of the data; None for "Label audit".

        compare : bool, default=True
            Whether to measure `cleaning_gain`, which takes longest.

        max_rows : int, default=10,000
            Maximum number of issues on the page, the most suspect first. The page has fewer if the
            file would be larger than 5 MB.

        values : array-like of shape (n_samples, n_features), default=None
            The feature values to show, if X contains codes for something else, such as text.

        notes : sequence of str, default=()
            Remarks on the data to show on the page.

        Raises
        ------
        ImportError
            If Jinja2 is not installed; the extra ``hardwood[report]`` includes it.
        OSError
            If `path` cannot be written.
        """
        check_is_fitted(self)
        check_report(path, max_rows, values, self._X)  # before the gain, which takes long
        forest, table = self.estimator_, self._table
        found = Findings(
            classes=self.classes_,
            given=self._labels,
            suggested=np.asarray(np.searchsorted(self.classes_, table["suggested"])),
            score=table["score"],
            is_issue=table["is_issue"],
            rank=table["rank"],
            noise_matrix=self.noise_matrix_,
            noise_rate=self.noise_rate_,
            noise_rate_interval=self.noise_rate_interval_,
            can_tell=self.can_tell_,
            class_prior=self.class_prior_,
            trees=_trees_with_reasons(forest),
            X=self._X,
            feature_names=self.feature_names_in_,
            adaptation=getattr(forest, "adaptation_", None),
            decision_reason=getattr(forest, "decision_reason_", ""),
            n_copies=self.n_copies_,
            gain=self._gain_to_show() if compare else None,
        )
        write_report(found, path, title=title, max_rows=max_rows, values=values, notes=notes)

    def _gain_to_show(self) -> Gain | str:
        if self.estimator_ is None:
            return "the audit was given probabilities and has no model to train"
        if self._X is None:
            return "the audit was given no rows to train a model on"
        return self._gain("drop")

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
    """Audit labels and clean the data, if that helps, in one step.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    how : {"drop", "relabel", "weight"}, default="drop"
        How to clean, as in `LabelAudit.clean`.
    proba : array-like of shape (n_samples, n_classes), default=None
        Out-of-sample probabilities of any classifier; None to grow a forest.
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


def default_forest(n_trees: int) -> AdaptiveForestClassifier:
    """Return the forest of an audit.

    Trees grown from all rows have no out-of-bag votes. Settings are compared by how likely they make
    the labels: the audit needs probabilities, not predictions.
    """
    return AdaptiveForestClassifier(n_trees, full_data=False, scoring="log_loss")


def _votes(estimator: Any, classes: Any, labels: Labels) -> Array:
    """Return out-of-bag probabilities of the observed labels."""
    votes = getattr(estimator, "oob_votes_", None)
    votes = estimator.oob_decision_function_ if votes is None else votes
    if np.ndim(votes) != 2 or not np.array_equal(estimator.classes_, classes):
        raise ValueError(
            "estimator was fitted on other classes than those of y. Pass the labels that it was "
            "fitted on, or an estimator that is not fitted."
        )
    proba = proba_from_votes(votes, labels, classes)
    unmixed = getattr(estimator, "_unmixed", None)
    return proba if unmixed is None else unmixed.scores(proba)


def _is_weighted(estimator: Any) -> bool:
    return getattr(estimator, "class_weight", None) is not None


def _known_about_votes(estimator: Any) -> dict[str, Any]:
    """Return what is known about a forest's votes, as keywords of `fit_label_model`."""
    if isinstance(estimator, AdaptiveForestClassifier):
        return {"n_votes": estimator.oob_n_votes_, "T": estimator.noise_matrix}
    return {"n_votes": (1 - DRAWN) * estimator.n_estimators}


def _trees_with_reasons(forest: Any) -> Any:
    """Return the trees of a forest, or None if they split by sets: reasons are read off thresholds."""
    is_categorical = getattr(forest, "is_categorical_", None)
    if is_categorical is not None and np.any(is_categorical):
        return None
    return getattr(forest, "estimators_", None)


def _feature_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return None if columns is None else np.asarray([str(name) for name in columns], dtype=object)

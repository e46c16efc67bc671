"""Which labels of a table are wrong, how many, and mistaken for what: after one fit."""

from __future__ import annotations

import warnings
from functools import cached_property
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hardwood.adaptive import AdaptiveForestClassifier
from hardwood._io.frames import frame
from hardwood.noise.checks import Array, Labels, check_labels, check_proba, proba_from_votes
from hardwood.audit.cleaning import check_how, clean_by
from hardwood.audit.detectors import DEFAULT, Evidence
from hardwood.audit.gain import Gain, Trial
from hardwood.audit.interval import noise_rate_interval
from hardwood.audit.issues import issues_table
from hardwood.noise import truth
from hardwood.noise.estimation import fit_noise_model

# A row is out of the bags of 37 % of the trees alone, and an audit rests on their votes.
_TREES = 200


class LabelAudit(BaseEstimator):  # type: ignore[misc]
    """Find wrong labels in a table.

    One forest is grown. Its trees vote on the rows that they did not draw; these votes, corrected
    for the noise that the trees themselves learnt from, tell for each label how probably it is
    wrong, and for all of them which classes are mistaken for which.

    Parameters
    ----------
    estimator : forest, default=None
        Where the votes come from. None for an `AdaptiveForestClassifier` of 200 trees. A forest
        that is fitted already, with ``oob_score=True`` and on the very rows that are audited, is
        taken as it is; another one is copied and fitted.

    n_jobs : int, default=None
        Number of threads; −1 for all. None leaves it to the estimator.

    random_state : int, RandomState instance or None, default=None
        Seed of the forest and of the resamples.

    detector : str, default="posterior"
        What ranks the labels, one of `hardwood.audit.DETECTORS`.

    Attributes
    ----------
    issues_ : pandas.DataFrame
        A line for each label, in the order given: the label `given`, the one `suggested` (the same
        where there is nothing to say against it), the `score`, which is the probability that the
        label is wrong, whether it `is_issue` (a score above one half), and its `rank`, 1 for the
        most suspect.

    n_issues_ : int
        How many labels are issues.

    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        T, estimated: ``T[i, j] = P(observed j | true i)``.

    noise_rate_ : float
        The share of wrong labels, estimated. Classes that no forest can tell apart look like
        noise.

    noise_rate_interval_ : tuple of float
        What that share may be: chance, by resampling, and an allowance for bias. Computed when
        first asked for.

    class_prior_ : ndarray of shape (n_classes,)
        The shares of the true classes, estimated.

    proba_ : ndarray of shape (n_samples, n_classes)
        P(true | x) of each row, to which its own label has not contributed.

    classes_ : ndarray of shape (n_classes,)
        The classes.

    estimator_ : forest or None
        The fitted forest; None if probabilities were given.

    feature_names_in_ : ndarray of str or None
        The columns' names, if X has any.

    See Also
    --------
    find_label_issues : For probabilities of any classifier.
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

    def fit(self, X: Any, y: Any, proba: Any = None) -> Self:
        """Audit labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value. None if `proba` is given.

        y : array-like of shape (n_samples,)
            Their labels.

        proba : array-like of shape (n_samples, n_classes), default=None
            Out-of-sample probabilities of the labels, in the order of the sorted classes, by a
            classifier that learnt from these labels. No forest is then grown.

        Returns
        -------
        self : LabelAudit
            The fitted audit.
        """
        for name in [name for name in self.__dict__ if name.endswith("_") or name[0] == "_"]:
            del self.__dict__[name]  # nothing old is left behind
        classes, labels = check_labels(y)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if proba is None:
            estimator = self._fitted_estimator(X, y, len(labels), seed)
            proba = _votes(estimator, classes, labels)
        else:
            estimator = None
            if X is not None and len(X) != len(labels):
                raise ValueError(f"X has {len(X)} rows, but y has {len(labels)} labels.")
            proba = check_proba(proba, len(labels), classes)
        model = fit_noise_model(proba, labels)
        table = issues_table(Evidence(labels, proba, model), classes, self.detector)
        self._X, self._y, self._labels, self._seed = X, y, labels, seed
        self._proba, self._model, self._table = proba, model, table
        self._gains: dict[str, Gain | str] = {}
        self.estimator_ = estimator
        self.classes_ = classes
        self.feature_names_in_ = _feature_names(X)
        self.noise_matrix_ = model.T
        self.noise_rate_ = model.noise_rate(proba, labels)
        self.proba_ = model.truth(proba)
        self.class_prior_ = truth.posterior(self.proba_, model.T, labels).mean(axis=0)
        self.n_issues_ = int(table["is_issue"].sum())
        return self

    def _fitted_estimator(self, X: Any, y: Any, n_rows: int, seed: int) -> Any:
        estimator = self.estimator
        if estimator is None:
            estimator = AdaptiveForestClassifier(_TREES, full_data=False, random_state=seed)
        elif hasattr(estimator, "oob_decision_function_"):
            n_votes = len(estimator.oob_decision_function_)
            if n_votes != n_rows:
                raise ValueError(
                    f"estimator has out-of-bag votes on {n_votes} rows, but y has {n_rows} labels: "
                    "give the rows that it was fitted to, or an estimator that is not fitted."
                )
            return estimator
        parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
        if "oob_score" not in parameters:
            raise TypeError(
                "estimator must be a forest with out-of-bag votes (the parameter oob_score), got "
                f"{type(estimator).__name__}; for any other classifier give fit its out-of-sample "
                "probabilities as proba."
            )
        if self.estimator is not None:
            estimator = clone(estimator)
            if self.random_state is not None:
                estimator.set_params(random_state=seed)
        if self.n_jobs is not None:
            estimator.set_params(n_jobs=self.n_jobs)
        return estimator.set_params(oob_score=True).fit(X, y)

    @property
    def issues_(self) -> Any:
        """A line for each label, a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._table)

    @cached_property
    def noise_rate_interval_(self) -> tuple[float, float]:
        """What the share of wrong labels may be, low and high."""
        check_is_fitted(self)
        return noise_rate_interval(self._model, self._proba, self._labels, self._seed)

    def cleaning_gain(self, how: str = "drop") -> tuple[float, float]:
        """Return what a forest gains in accuracy by being trained on cleaned data.

        Each half of the rows is audited, cleaned and learnt from, and the other half predicted,
        whose labels are as noisy; accuracy on the true labels is worked out from the noise matrix.
        The forest is `estimator`, or an `AdaptiveForestClassifier` as it comes if that is None.
        Computed when first asked for, from 100,000 rows at most.

        Parameters
        ----------
        how : {"drop", "relabel", "weight"}, default="drop"
            As of `clean`.

        Returns
        -------
        gain, error : float
            The difference in accuracy, negative where cleaning harms, and its standard error. Both
            are NaN where that cannot be told: with few rows, or with noise that cannot be undone.

        Raises
        ------
        ValueError
            If the audit was of probabilities, and there is no forest to train again.

        Examples
        --------
        >>> from hardwood import RobustForestClassifier
        >>> from hardwood.audit import LabelAudit
        >>> from hardwood.datasets import load
        >>> from hardwood.noise import corrupt, uniform
        >>> data = load("mushrooms")
        >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.4), random_state=0)
        >>> forest = RobustForestClassifier(50, criterion="gini")
        >>> audit = LabelAudit(forest, random_state=0).fit(data.X_train, noisy_y)
        >>> gain, error = audit.cleaning_gain()
        >>> bool(gain > 2 * error)
        True
        """
        check_is_fitted(self)
        check_how(how)
        if not self._can_retrain:
            raise ValueError(
                "The audit was of probabilities: there is no forest to train again. Give fit the "
                "rows X and no proba."
            )
        found = self._gain(how)
        return (np.nan, np.nan) if isinstance(found, str) else found.gain

    @property
    def _can_retrain(self) -> bool:
        return self.estimator_ is not None and self._X is not None

    @cached_property
    def _trial(self) -> Trial:
        return Trial(self, self._X, self._table["given"])

    def _gain(self, how: str) -> Gain | str:
        """Return what is measured once for each way to clean."""
        if how not in self._gains:
            self._gains[how] = self._trial.gain(how)
        return self._gains[how]

    def clean(
        self, X: Any = None, y: Any = None, how: str = "drop", *, check: bool = True
    ) -> tuple[Any, Any, Any]:
        """Return the data without the labels that are probably wrong, where that helps.

        Parameters
        ----------
        X, y : array-like, default=None
            The data audited, perhaps with other columns; None for those that were.

        how : {"drop", "relabel", "weight"}, default="drop"
            Leave issues out, give them the label suggested, or weigh every row by the probability
            that its label is right, and issues by 0. The least suspect label of each class stays
            in any case.

        check : bool, default=True
            Whether to measure first what that gains, by `cleaning_gain`. Unless it is more than
            two standard errors, the data come back as they are (with weights of 1 for "weight"),
            and a warning says so. Nothing is checked if the audit was of probabilities.

        Returns
        -------
        X, y : array-like
            The data, of the types given.
        sample_weight : ndarray of shape (n_samples,) or None
            Weights for "weight", else None.
        """
        return self._clean(X, y, how, check)

    def _clean(self, X: Any, y: Any, how: str, check: bool) -> tuple[Any, Any, Any]:
        check_is_fitted(self)
        X = self._X if X is None else X
        y = self._y if y is None else y
        if X is None:
            raise ValueError("X must be given: the audit was of probabilities alone.")
        cleaned = clean_by(self._table, X, y, how)
        if not check or not self._can_retrain:
            return cleaned
        found = self._gain(how)
        if isinstance(found, str):
            why = f"cannot be told, as {found}"
        else:
            if found.told and found.gain[0] > 0:
                return cleaned
            gain, error = (100 * value for value in found.gain)
            why = f"in accuracy is {gain:+.1f} ± {error:.1f} points"
        warnings.warn(
            f"The data are left as they are: what cleaning them by {how!r} gains {why}. With "
            "check=False they are cleaned in any case.",
            stacklevel=3,  # of `clean`, the method or the function
        )
        return X, y, np.ones(len(self._labels)) if how == "weight" else None

    def report(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the audit as one HTML file that is readable offline.

        Parameters
        ----------
        path : str or path-like
            The file.

        **options : dict
            As of `hardwood.audit.report.write_report`.
        """
        check_is_fitted(self)
        from hardwood.audit.report import write_report

        write_report(self, path, **options)

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
    """Return data without the labels that are probably wrong, where that helps.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels.
    how : {"drop", "relabel", "weight"}, default="drop"
        Leave suspect labels out, give them the label suggested, or weigh every row by the
        probability that its label is right, and suspect ones by 0.
    proba : array-like of shape (n_samples, n_classes), default=None
        Out-of-sample probabilities of the labels by any classifier; None to grow a forest.
    check : bool, default=True
        Whether to clean only where a forest that is trained on cleaned data is more accurate, as
        `LabelAudit.clean` does. Not with `proba`.
    n_jobs, random_state
        As of `LabelAudit`.

    Returns
    -------
    X, y : array-like
        The data, of the types given.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights for "weight", else None.

    See Also
    --------
    LabelAudit : Tells more, and cleans too.

    Examples
    --------
    >>> from hardwood.audit import clean
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, flipped = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> X, y, _ = clean(data.X_train, noisy_y, check=False, random_state=0)
    >>> bool(abs(1 - len(y) / len(noisy_y) - flipped.mean()) < 0.01)
    True
    """
    check_how(how)
    audit = LabelAudit(n_jobs=n_jobs, random_state=random_state).fit(X, y, proba)
    return audit._clean(X, y, how, check)


def _votes(estimator: Any, classes: Any, labels: Labels) -> Array:
    """Return out-of-bag probabilities of the observed labels."""
    votes = getattr(estimator, "oob_votes_", None)
    votes = estimator.oob_decision_function_ if votes is None else votes
    if np.ndim(votes) != 2 or not np.array_equal(estimator.classes_, classes):
        raise ValueError(
            "estimator was fitted to other classes than those of y: give the labels that it was "
            "fitted to, or an estimator that is not fitted."
        )
    return proba_from_votes(votes, labels, classes)


def _feature_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    return None if columns is None else np.asarray([str(name) for name in columns], dtype=object)

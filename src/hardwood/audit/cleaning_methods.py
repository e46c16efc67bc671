"""The methods of an audit that clean the data, and measure whether that helps."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hardwood._io.frames import Table
from hardwood.adaptive import AdaptiveForestClassifier
from hardwood.audit.cleaning import check_how, clean_by, with_decisions
from hardwood.audit.gain import Gain, Trial
from hardwood.noise.checks import Array, Labels


class CleaningMethods:
    """What `LabelAudit` offers once it is fitted: cleaned data, if a forest gains from them."""

    estimator: Any
    n_jobs: int | None
    estimator_: Any
    classes_: NDArray[Any]
    noise_matrix_: Array
    _X: Any
    _y: Any
    _labels: Labels
    _groups: Any
    _seed: int
    _table: Table
    _gains: dict[str, Gain | str]

    def cleaning_gain(self, how: str = "drop") -> tuple[float, float]:
        """Estimate how much accuracy a forest gains from training on cleaned data.

        Each half of the rows is audited and cleaned. Two forests, one trained on the half as it was
        and one on the cleaned half, predict the other half. The noise matrix corrects for the wrong
        labels there. The forest is a clone of `estimator`, or an `AdaptiveForestClassifier` with
        default parameters. The first call computes the result, from at most 100,000 rows.

        Parameters
        ----------
        how : {"drop", "relabel", "weight"}, default="drop"
            How to clean, as in `clean`.

        Returns
        -------
        gain, error : float
            The difference in accuracy, which is negative if cleaning does harm, and its standard
            error. Both are NaN if there are too few rows, or too many wrong labels, to estimate them.

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
        >>> bool(gain > error)
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
            model = self._unfitted().set_params(oob_score=False)
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

    def _unfitted(self) -> Any:
        """Return the forest before its fit, for rows that are here."""
        return clone(self.estimator_)

    def _another(self) -> Any:
        """Return an audit with the same parameters, for rows that are here."""
        return clone(self)

    def _issues_of(self, X: Any, y: Any, groups: Any = None) -> Table:
        """Audit other rows in the same way."""
        audit = self._another().set_params(estimator=self._unfitted())
        table: Table = audit.fit(X, y, groups=groups)._table
        return table

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
            The rows and labels to clean, in the order in which they were audited. X may have other
            columns. None for the data passed to `fit`.

        how : {"drop", "relabel", "weight"}, default="drop"
            "drop" removes issues, and "relabel" gives them the suggested label. "weight" keeps all
            rows, and weights each by the probability that its label is right; issues get weight 0.
            The least suspect label of each class is never treated as an issue. Rows that people
            decided on get the label decided on.

        check : bool, default=True
            Whether to measure `cleaning_gain` first. Unless the gain is above two standard errors,
            the data are returned unchanged, with weights of 1 for "weight", and a warning says so.
            Labels that people decided on are replaced in any case. Nothing is checked if the audit
            was fitted with probabilities.

        Returns
        -------
        X, y : array-like
            The data, in the types given.
        sample_weight : ndarray of shape (n_samples,) or None
            The weights if `how` is "weight", else None.
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
        weights = np.ones(len(self._labels)) if how == "weight" else None
        return X, with_decisions(self._table, y), weights

    def _gain_to_show(self) -> Gain | str:
        if self.estimator_ is None:
            return "the audit was given probabilities and has no model to train"
        if self._X is None:
            return "the audit was given no rows to train a model on"
        return self._gain("drop")

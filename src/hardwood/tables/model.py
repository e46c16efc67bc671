"""A forest that takes a table as it is."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hardwood._io.storing import Stored, can_be_written, storable
from hardwood.adaptive import AdaptiveForestClassifier
from hardwood.forest import RobustForestClassifier
from hardwood.tables.columns import Column
from hardwood.tables.encoder import LISTS, TableEncoder, set_stored_parameters
from hardwood.tables.errors import TableError, listed
from hardwood.tables.frames import as_frame
from hardwood.tables.labels import labels_of

# As long as the training table, and not used for predictions.
_OF_ROWS = ("oob_votes_", "_votes_again", "oob_decision_function_", "oob_score_", "_groups")


@storable("TableModel")
class TableModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A forest that takes a table with text and missing values as it is.

    It combines a `TableEncoder` with a forest: an `AdaptiveForestClassifier`, or with
    ``adaptive=False`` an ordinary random forest (`RobustForestClassifier` with the Gini criterion).
    `hardwood.save` stores both in one file.

    Parameters
    ----------
    n_estimators : int, default=None
        Number of trees; None for the default of the forest.

    adaptive : bool, default=True
        Whether the forest adapts to label noise.

    category, date, drop, use, missing : sequence of str, default=()
        How to read the table, as in `TableEncoder`.

    n_jobs : int, default=None
        Number of threads; −1 uses all. The forest does not depend on it.

    random_state : int, RandomState instance or None, default=None
        Seed of the forest.

    Attributes
    ----------
    encoder_ : TableEncoder
        The fitted encoder.

    forest_ : AdaptiveForestClassifier or RobustForestClassifier
        The forest, fitted with out-of-bag votes. Files do not contain these votes.

    label_ : str or None
        The name of the column with the labels.

    oob_score_ : float
        Out-of-bag accuracy on the given labels.

    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> import pandas
    >>> from hardwood.tables import TableModel
    >>> table = pandas.DataFrame({"hue": ["red", "blue", None, "red"] * 50, "size": [1.5, 2.5] * 100})
    >>> ripe = table["hue"].eq("red").rename("ripe")
    >>> model = TableModel(40, random_state=0).fit(table, ripe)
    >>> model.predict(table.head(3)).tolist()
    [True, False, False]
    """

    def __init__(
        self,
        n_estimators: int | None = None,
        *,
        adaptive: bool = True,
        category: Sequence[str] = (),
        date: Sequence[str] = (),
        drop: Sequence[str] = (),
        use: Sequence[str] = (),
        missing: Sequence[str] = (),
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.adaptive = adaptive
        self.category = category
        self.date = date
        self.drop = drop
        self.use = use
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None, observed: Any = None) -> Self:
        """Fit the encoder and the forest.

        Parameters
        ----------
        X : DataFrame
            The training table without labels, a pandas or polars frame.

        y : Series or array-like of shape (n_samples,)
            The labels: text, whole numbers or booleans.

        groups : array-like of shape (n_samples,), default=None
            Rows that are not separate observations, such as copies: rows with the same value form
            a group, and a tree draws whole groups.

        observed : Series or array-like of shape (n_samples,), default=None
            If people have reviewed a part of the labels, the labels before the review, as for
            `AdaptiveForestClassifier`. Other forests do not use them.

        Returns
        -------
        self : TableModel
            The fitted model.
        """
        labels = labels_of(y.to_pandas() if hasattr(y, "to_pandas") else y, self.missing)
        encoder = TableEncoder(**{name: getattr(self, name) for name in LISTS})
        features = encoder.fit_transform(X)
        kind = AdaptiveForestClassifier if self.adaptive else RobustForestClassifier
        forest = kind(
            criterion="gini", oob_score=True, n_jobs=self.n_jobs, random_state=self.random_state
        )
        if self.n_estimators is not None:
            forest.set_params(n_estimators=self.n_estimators)
        before = {}
        if observed is not None and self.adaptive:
            given = observed.to_pandas() if hasattr(observed, "to_pandas") else observed
            before["observed"] = labels_of(given, self.missing)
        self.forest_ = forest.fit(features, labels, groups=groups, **before)
        self.encoder_ = encoder
        self.label_ = None if getattr(y, "name", None) is None else str(y.name)
        self.oob_score_ = float(forest.oob_score_)
        self.classes_ = forest.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : DataFrame
            A table as for `predict_proba`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : DataFrame
            A table with the columns that are used, in any order.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        p: NDArray[np.float64] = self.forest_.predict_proba(self.encoder_.transform(X))
        return p

    @property
    def columns_(self) -> list[Column]:
        """How each column of the training table is used."""
        check_is_fitted(self)
        return self.encoder_.columns_

    def check_columns(self, X: Any, drop: Sequence[str] = ()) -> None:
        """Raise a TableError if a table has columns that the training table did not have.

        `predict` ignores such columns, which can hide that you passed the wrong table.

        Parameters
        ----------
        X : DataFrame
            A table to predict.

        drop : sequence of str, default=()
            Columns to allow. The column with the labels is always allowed.
        """
        check_is_fitted(self)
        known = {*self.encoder_.feature_names_in_, self.label_, *drop}
        new = [name for name in as_frame(X).columns if name.strip() and name not in known]
        if new:
            raise TableError(
                f"The table has columns that the training table did not have: "
                f"{listed(new, most=10)}. To ignore them, leave them out (drop)."
            )

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        check_is_fitted(self)
        forest = copy(self.forest_)
        for name in _OF_ROWS:
            forest.__dict__.pop(name, None)
        return {
            "parameters": self.get_params(),
            "label": self.label_,
            "oob_score": self.oob_score_,
            "encoder": self.encoder_,
            "forest": forest,
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> TableModel:
        model = cls()
        set_stored_parameters(model, stored)
        model.encoder_ = stored.instance("encoder", TableEncoder)
        forest = stored.instance("forest", AdaptiveForestClassifier | RobustForestClassifier)
        names = getattr(forest, "feature_names_in_", None)
        used = model.encoder_.get_feature_names_out()
        if names is None or not np.array_equal(names, used):
            raise stored.wrong("forest", "fitted with the columns of the encoder")
        texts = [column.kind == "text" for column in model.encoder_.columns_ if column.is_used]
        if not np.array_equal(forest.is_categorical_, texts):
            raise stored.wrong("forest", "fitted with the categories of the encoder")
        if not can_be_written(map(str, forest.classes_)):
            raise stored.wrong("forest", "one with classes that can be stored")
        model.forest_ = forest
        model.classes_ = forest.classes_
        model.label_ = stored.instance("label", str | None)
        model.oob_score_ = float(stored.instance("oob_score", int | float))
        return model

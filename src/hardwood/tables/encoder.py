"""A table made into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hardwood._io.storing import Stored, storable
from hardwood.tables._pandas import as_frame, pandas
from hardwood.tables.columns import KINDS, Column, code, learn, learn_text, unseen
from hardwood.tables.errors import TableError, closest, listed

__all__ = ["TableEncoder"]


LISTS = ("category", "drop", "missing")


def are_texts(values: Any) -> bool:
    """Return whether a value from a file is a list, a tuple or an array of strings."""
    return isinstance(values, list | tuple | np.ndarray) and all(
        isinstance(each, str) for each in values
    )


@storable("TableEncoder")
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Makes numbers of a table with text and missing values.

    Numbers stay what they are, truth values are 0 and 1, and dates days. A value of a column of text
    gets a code by how frequent it is, the most frequent one 0; labels have no part in that. Texts
    that were not in the training table count as missing, which is NaN.

    Some columns are not used: those with one value, with no name or with lists and the like, and
    texts that name the rows, as more than half of them differ. `columns_` says so of each.

    Parameters
    ----------
    category : sequence of str, default=()
        Columns that are text whatever they hold, and are used however many values differ.

    drop : sequence of str, default=()
        Columns to leave out.

    missing : sequence of str, default=()
        Texts that stand for a missing value, as "?". An empty one always does.

    max_categories : int, default=255
        How many values of a column of text are told apart; less frequent ones share a code.

    Attributes
    ----------
    columns_ : list of Column
        What each column of the training table was taken for, in its order.

    n_features_in_ : int
        How many columns that table had.

    feature_names_in_ : ndarray of str
        Their names.

    See Also
    --------
    TableModel : A forest with such an encoder in front.

    Examples
    --------
    >>> import pandas
    >>> from hardwood.tables import TableEncoder
    >>> table = pandas.DataFrame({"size": [3, 1, None, 2], "hue": ["red", "blue", "red", "?"]})
    >>> encoder = TableEncoder(missing=["?"]).fit(table)
    >>> encoder.transform(table).values.tolist()
    [[3.0, 0.0], [1.0, 1.0], [nan, 0.0], [2.0, nan]]
    >>> for column in encoder.columns_:
    ...     print(f"{column.name}: {column.note}")
    size: numbers, 1 missing
    hue: text, 2 values, 1 missing
    """

    def __init__(
        self,
        *,
        category: Sequence[str] = (),
        drop: Sequence[str] = (),
        missing: Sequence[str] = (),
        max_categories: int = 255,
    ) -> None:
        self.category = category
        self.drop = drop
        self.missing = missing
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what the columns are.

        Parameters
        ----------
        X : DataFrame
            The training table, of pandas or polars, without the labels.

        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        frame = as_frame(X)
        names = list(frame.columns)
        for parameter in ("category", "drop"):
            for name in getattr(self, parameter):
                if name not in names:
                    raise TableError(
                        f"There is no column {name!r} ({parameter}){closest(name, names)}"
                    )
        columns = [self._learn(name, frame[name]) for name in names]
        if all(column.kind == "unused" for column in columns):
            notes = ", ".join(f"{column.name!r} {column.note}" for column in columns[:10])
            raise TableError(f"No column is left to learn from: {notes or 'there is none'}.")
        self.columns_ = columns
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _learn(self, name: str, values: Any) -> Column:
        if name in self.drop:
            return Column(name, "unused", "left out as asked")
        if not name.strip():
            return Column(name, "unused", "left out: it has no name")
        how = learn_text if name in self.category else learn
        return how(name, values, self.missing, self.max_categories)

    def transform(self, X: Any) -> Any:
        """Make numbers of a table.

        Parameters
        ----------
        X : DataFrame
            A table with the columns that are used, in any order. Others are ignored.

        Returns
        -------
        numbers : pandas.DataFrame
            The columns that are used, in the order of the training table, as float64.
        """
        frame = self._checked(X)
        coded = {
            column.name: code(column, frame[column.name], self.missing) for column in self._used
        }
        return pandas().DataFrame(coded, index=frame.index)

    def unseen(self, X: Any) -> dict[str, list[str]]:
        """Return the texts of a table that have no code, as the training table had not got them.

        Parameters
        ----------
        X : DataFrame
            A table as for `transform`.

        Returns
        -------
        texts : dict
            Such texts by the name of their column.
        """
        frame = self._checked(X)
        found = {
            column.name: unseen(column, frame[column.name], self.missing) for column in self._used
        }
        return {name: texts for name, texts in found.items() if texts}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that are used.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str
            The names, in the order of `transform`.
        """
        check_is_fitted(self)
        return np.array([column.name for column in self._used], dtype=object)

    @property
    def _used(self) -> list[Column]:
        return [column for column in self.columns_ if column.kind != "unused"]

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        frame = as_frame(X)
        names = list(frame.columns)
        lacking = [column.name for column in self._used if column.name not in names]
        if lacking:
            new = [name for name in names if name not in self.feature_names_in_]
            hint = closest(lacking[0], new) if new else "."
            raise TableError(f"The table lacks {listed(lacking)}, which training had{hint}")
        return frame

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        check_is_fitted(self)
        columns = self.columns_
        # Arrays and not an object for each column: a table may have thousands.
        return {
            "parameters": self.get_params(),
            "name": self.feature_names_in_,
            "kind": np.array([KINDS.index(column.kind) for column in columns], dtype=np.uint8),
            "note": np.array([column.note for column in columns], dtype=object),
            "has_rest": np.array([column.has_rest for column in columns], dtype=bool),
            "n_categories": np.array([len(column.categories) for column in columns], dtype="<i8"),
            "category": np.concatenate([column.categories for column in columns]),
        }

    @classmethod
    def _from_stored(cls, stored: Stored) -> TableEncoder:
        parameters = stored.instance("parameters", dict)
        encoder = cls()
        if parameters.keys() != encoder.get_params().keys():
            raise stored.wrong("parameters", "those of a TableEncoder")
        encoder.set_params(**parameters)
        for name in LISTS:
            if not are_texts(parameters[name]):
                raise stored.wrong(name, "a list of strings")
        if type(parameters["max_categories"]) is not int:
            raise stored.wrong("max_categories", "a whole number")
        names = stored.texts("name", (None,))
        kinds = stored.array("kind", "u1", names.shape)
        notes = stored.texts("note", names.shape)
        has_rest = stored.array("has_rest", "?", names.shape)
        n_categories = stored.array("n_categories", "i8", names.shape)
        categories = stored.texts("category", (None,))
        if len(set(names)) < len(names):
            raise stored.wrong("name", "a different one for each column")
        if np.any(kinds >= len(KINDS)) or np.all(kinds == KINDS.index("unused")):
            raise stored.wrong("kind", f"among {KINDS}, and not all unused")
        if np.any(n_categories < 0) or np.any(n_categories > len(categories)):
            raise stored.wrong("n_categories", "how many categories each column has")
        if n_categories.sum() != len(categories):
            raise stored.wrong("category", "as many as the columns have")
        parts = np.split(categories, np.cumsum(n_categories)[:-1])
        if any(len(set(part)) < len(part) for part in parts):
            raise stored.wrong("category", "different ones in each column")
        encoder.columns_ = [
            Column(name, KINDS[kind], note, part, bool(rest))
            for name, kind, note, part, rest in zip(
                names, kinds, notes, parts, has_rest, strict=True
            )
        ]
        encoder.feature_names_in_ = names
        encoder.n_features_in_ = len(names)
        return encoder

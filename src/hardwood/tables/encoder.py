"""Turn a table into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hardwood._io.storing import Stored, storable
from hardwood.tables.columns import KINDS, Column, code, learn, unseen, unused
from hardwood.tables.errors import TableError, closest, listed
from hardwood.tables.frames import as_frame, pandas

LISTS = ("category", "drop", "use", "missing")


def set_stored_parameters(estimator: BaseEstimator, stored: Stored) -> None:
    """Set the parameters that a file has for an encoder or a model, and check the lists."""
    parameters = stored.instance("parameters", dict)
    if parameters.keys() != estimator.get_params().keys():
        raise stored.wrong("parameters", f"those of a {type(estimator).__name__}")
    for name in LISTS:
        values = parameters[name]
        if not isinstance(values, list | tuple | np.ndarray) or not all(
            isinstance(each, str) for each in values
        ):
            raise stored.wrong(name, "a list of strings")
    estimator.set_params(**parameters)


@storable("TableEncoder")
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table with text and missing values into numbers.

    Numbers stay as they are, booleans become 0 and 1, dates days since 1970-01-01. Text is coded by
    frequency, without looking at labels: the most frequent value of a column is 0, the next one 1,
    and so on. Texts that were not in the training table count as missing, which is NaN.

    Columns are left out if they have only one value, no name, or values such as lists. So are ids:
    text of which more than half of the values differ, and whole numbers that are nearly all different
    and are ordered like the rows, are named like an id, or repeat far less often than random numbers
    of their range. `columns_` says how each column is used.

    Parameters
    ----------
    category : sequence of str, default=()
        Columns to treat as text whatever they contain, and to use however many values differ.

    drop : sequence of str, default=()
        Columns to leave out.

    use : sequence of str, default=()
        Columns to use even if they look like ids.

    missing : sequence of str, default=()
        Texts that stand for missing values, such as "?". Empty text always does.

    max_categories : int, default=255
        Maximum number of values of a text column with their own code. All others share one code.

    Attributes
    ----------
    columns_ : list of Column
        How each column of the training table is used.

    n_features_in_ : int
        Number of columns of the training table.

    feature_names_in_ : ndarray of str
        Names of the columns of the training table.

    See Also
    --------
    TableModel : An encoder followed by a forest.

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
        use: Sequence[str] = (),
        missing: Sequence[str] = (),
        max_categories: int = 255,
    ) -> None:
        self.category = category
        self.drop = drop
        self.use = use
        self.missing = missing
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Determine the kinds of the columns.

        Parameters
        ----------
        X : DataFrame
            The training table without labels, a pandas or polars frame.

        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        frame = as_frame(X)
        names = list(frame.columns)
        for parameter in ("category", "drop", "use"):
            for name in getattr(self, parameter):
                if name not in names:
                    raise TableError(
                        f"{parameter}: there is no column {name!r}.{closest(name, names)}"
                    )
        columns = [self._learn(name, frame[name]) for name in names]
        if not any(column.is_used for column in columns):
            notes = ", ".join(f"{column.name!r} {column.note}" for column in columns[:10])
            raise TableError(f"The table has no usable columns: {notes or 'it is empty'}.")
        self.columns_ = columns
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def _learn(self, name: str, values: Any) -> Column:
        if name in self.drop:
            return unused(name, " as requested")
        if not name.strip():
            return unused(name, ": no name")
        return learn(
            name,
            values,
            self.missing,
            self.max_categories,
            is_text=name in self.category,
            keep_id=name in self.use,
        )

    def transform(self, X: Any) -> Any:
        """Turn a table into numbers.

        Parameters
        ----------
        X : DataFrame
            A table with the columns that are used, in any order. Other columns are ignored.

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
        """Return the texts without a code, because the training table did not have them.

        Parameters
        ----------
        X : DataFrame
            A table as for `transform`.

        Returns
        -------
        texts : dict
            Lists of such texts by column name.
        """
        frame = self._checked(X)
        found = {
            column.name: unseen(column, frame[column.name], self.missing) for column in self._used
        }
        return {name: texts for name, texts in found.items() if texts}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that are used, in the order of `transform`.

        Parameters
        ----------
        input_features : None
            Ignored.
        """
        check_is_fitted(self)
        return np.array([column.name for column in self._used], dtype=object)

    @property
    def _used(self) -> list[Column]:
        return [column for column in self.columns_ if column.is_used]

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        frame = as_frame(X)
        names = list(frame.columns)
        lacking = [column.name for column in self._used if column.name not in names]
        if lacking:
            new = [name for name in names if name not in self.feature_names_in_]
            hint = closest(lacking[0], new) if new else ""
            raise TableError(
                f"The table lacks columns of the training table: {listed(lacking)}.{hint}"
            )
        return frame

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        check_is_fitted(self)
        columns = self.columns_
        # Arrays instead of one object per column, as tables may have thousands of columns.
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
        encoder = cls()
        set_stored_parameters(encoder, stored)
        if type(encoder.max_categories) is not int:
            raise stored.wrong("max_categories", "an integer")
        names = stored.texts("name", (None,))
        kinds = stored.array("kind", "u1", names.shape)
        notes = stored.texts("note", names.shape)
        has_rest = stored.array("has_rest", "?", names.shape)
        n_categories = stored.array("n_categories", "i8", names.shape)
        categories = stored.texts("category", (None,))
        if len(set(names)) < len(names):
            raise stored.wrong("name", "different for each column")
        if np.any(kinds >= len(KINDS)) or np.all(kinds >= KINDS.index("unused")):
            raise stored.wrong("kind", f"one of {KINDS}, and not all unused")
        if np.any(n_categories < 0) or np.any(n_categories > len(categories)):
            raise stored.wrong("n_categories", "the number of categories of each column")
        if n_categories.sum() != len(categories):
            raise stored.wrong("category", "as many as n_categories says")
        parts = np.split(categories, np.cumsum(n_categories)[:-1])
        if any(len(set(part)) < len(part) for part in parts):
            raise stored.wrong("category", "different within each column")
        encoder.columns_ = [
            Column(name, KINDS[kind], note, part, bool(rest))
            for name, kind, note, part, rest in zip(
                names, kinds, notes, parts, has_rest, strict=True
            )
        ]
        encoder.feature_names_in_ = names
        encoder.n_features_in_ = len(names)
        return encoder

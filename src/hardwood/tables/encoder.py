"""Turn a table into numbers and categories."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hardwood._core.categories import MAX_CATEGORIES
from hardwood._io.storing import Stored, storable
from hardwood.tables.columns import (
    KINDS,
    Column,
    Rules,
    declared_dates,
    feature,
    learn,
    unseen,
    unused,
)
from hardwood.tables.errors import TableError, TableWarning, closest, listed
from hardwood.tables.frames import as_frame, pandas
from hardwood.tables.reading import parse_format

LISTS = ("category", "date", "drop", "use", "missing")
_MAX_SAID = 10


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
    """Turn a table with text, dates and missing values into numbers and categories.

    Texts become categories of pandas, without looking at labels. All estimators of hardwood split by
    sets of them. Truth values become 0 and 1, dates days since 1970-01-01, durations days, and times of
    day hours.

    Numbers and dates may be written as people write them: with thousands separators, decimal commas,
    a percent sign or a currency; day first or month first. The whole column decides. Columns that
    look like numbers or dates, but cannot be read as such, are text, and `columns_` says so. So are
    codes: digits of which some start with a zero, such as 00042.

    Text with more than `max_categories` values keeps the most frequent ones; the others share one
    category. Texts that were not in the training table belong to it as well, or else count as missing.

    Columns are left out if they have only one value, no name, or values such as lists. So are ids:
    text of which more than half of the values differ, and whole numbers that are nearly all different
    and are ordered like the rows, are named like an id, or repeat far less often than random numbers
    of their range. `columns_` says how each column is used, and a warning which are left out.

    Parameters
    ----------
    category : sequence of str, default=()
        Columns to treat as text whatever they contain, and to use however many values differ.

    date : sequence of str, default=()
        Columns to read as dates, such as "born", or with a format of `datetime.strptime` such as
        "born=%d%m%Y".

    drop : sequence of str, default=()
        Columns to leave out.

    use : sequence of str, default=()
        Columns to use even if they look like ids.

    missing : sequence of str, default=()
        Texts that stand for missing values, such as "?". Empty text, NA, N/A, n/a, NaN, NULL, None
        and the other texts that `pandas.read_csv` takes for missing always do.

    max_categories : int, default=255
        Maximum number of values of a text column that are categories of their own. All others share
        one category.

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
    [[3.0, 'red'], [1.0, 'blue'], [nan, 'red'], [2.0, nan]]
    >>> for column in encoder.columns_:
    ...     print(f"{column.name}: {column.note}")
    size: numbers, 1 missing
    hue: text, 2 values, 1 missing
    """

    def __init__(
        self,
        *,
        category: Sequence[str] = (),
        date: Sequence[str] = (),
        drop: Sequence[str] = (),
        use: Sequence[str] = (),
        missing: Sequence[str] = (),
        max_categories: int = 255,
    ) -> None:
        self.category = category
        self.date = date
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
        frame, dates = self._checked_training(X)
        columns = [self._learn(name, values, dates) for name, values in frame.items()]
        if not any(column.is_used for column in columns):
            notes = ", ".join(f"{column.name!r} {column.note}" for column in columns[:10])
            raise TableError(f"The table has no usable columns: {notes or 'it is empty'}.")
        self.columns_ = columns
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        self._warn_of_columns()
        return self

    def preview(self, X: Any) -> list[Column]:
        """Return how `fit` would use each column, without fitting.

        Parameters
        ----------
        X : DataFrame
            The training table without labels, a pandas or polars frame.

        Returns
        -------
        columns : list of Column
            As `columns_`, except that columns that `fit` refuses are in the list, too. Their kind is
            "refused", and their note is what the error says.

        Examples
        --------
        >>> import pandas
        >>> from hardwood.tables import TableEncoder
        >>> table = pandas.DataFrame({"size": ["1,5", "2"] * 10, "hue": [*["1"] * 19, "?"]})
        >>> for column in TableEncoder().preview(table):
        ...     print(f"{column.kind}: {column.note[:52]}")
        number: numbers with decimal commas
        refused: Column 'hue' contains numbers, but also '?' (in 1 of
        """
        frame, dates = self._checked_training(X)

        def learnt(name: str, values: Any) -> Column:
            try:
                return self._learn(name, values, dates)
            except TableError as error:
                return Column(name, "refused", str(error))

        return [learnt(name, values) for name, values in frame.items()]

    def _checked_training(self, X: Any) -> tuple[Any, dict[str, str]]:
        """Return the training table as a frame, and the formats of declared dates."""
        most = self.max_categories
        if not isinstance(most, Integral) or not 1 <= most < MAX_CATEGORIES:
            raise ValueError(
                f"max_categories must be an integer from 1 to {MAX_CATEGORIES - 1}, got {most!r}."
            )
        for parameter in LISTS:
            if isinstance(value := getattr(self, parameter), str):
                raise TypeError(f"{parameter} must be a list, such as [{value!r}], got {value!r}.")
        frame = as_frame(X)
        names = list(frame.columns)
        known = set(names)
        _check_unique(names)
        dates = declared_dates(self.date, known)
        named = {"category": self.category, "date": list(dates), "drop": self.drop, "use": self.use}
        for parameter, columns_named in named.items():
            for name in columns_named:
                if name not in known:
                    raise TableError(
                        f"{parameter}: there is no column {name!r}.{closest(name, names)}"
                    )
        if both := [name for name in dates if name in self.category]:
            raise TableError(f"{listed(both)} cannot be both text (category) and dates (date).")
        return frame, dates

    def _learn(self, name: str, values: Any, dates: dict[str, str]) -> Column:
        if name in self.drop:
            return unused(name, " as requested")
        if not name.strip():
            return unused(name, ": no name")
        rules = Rules(
            self.missing,
            self.max_categories,
            is_text=name in self.category,
            date_pattern=dates.get(name),
            keep_id=name in self.use,
        )
        return learn(name, values, rules)

    def _warn_of_columns(self) -> None:
        """Warn of columns that were left out without a request, and of doubtful ones."""
        said = [
            f"{column.name!r} {column.note}"
            for column in self.columns_
            if column.doubt or not (column.is_used or column.name in self.drop)
        ]
        if said:
            more = f"; and {len(said) - _MAX_SAID:,} more" if len(said) > _MAX_SAID else ""
            warnings.warn(
                f"Columns to check: {'; '.join(said[:_MAX_SAID])}{more}. See columns_.",
                TableWarning,
                stacklevel=3,
            )

    def transform(self, X: Any) -> Any:
        """Turn a table into numbers and categories.

        Parameters
        ----------
        X : DataFrame
            A table with the columns that are used, in any order. Other columns are ignored.

        Returns
        -------
        features : pandas.DataFrame
            The columns that are used, in the order of the training table: text as categories, and
            everything else as float64.
        """
        frame = self._checked(X)
        features = {
            column.name: feature(column, frame[column.name], self.missing) for column in self._used
        }
        return pandas().DataFrame(features, index=frame.index)

    def unseen(self, X: Any) -> dict[str, list[str]]:
        """Return the texts that count as missing, because the training table did not have them.

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
        names = set(frame.columns)
        used = {column.name for column in self._used}
        lacking = [column.name for column in self._used if column.name not in names]
        if lacking:
            new = [name for name in frame.columns if name not in self.feature_names_in_]
            hint = closest(lacking[0], new, "It has in addition") if new else ""
            raise TableError(
                f"The table lacks columns of the training table: {listed(lacking)}.{hint}"
            )
        _check_unique([name for name in frame.columns if name in used])
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
            "format": np.array([column.format for column in columns], dtype=object),
            "doubt": np.array([column.doubt for column in columns], dtype=object),
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
        formats = stored.texts("format", names.shape)
        doubts = stored.texts("doubt", names.shape)
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
        for kind, format in zip(kinds, formats, strict=True):
            is_date = KINDS[kind] == "date"
            if (format and not _is_valid(format)) or is_date != format.startswith("date"):
                raise stored.wrong("format", "a known format for each column")
        encoder.columns_ = [
            Column(name, KINDS[kind], note, part, bool(rest), format, doubt)
            for name, kind, note, part, rest, format, doubt in zip(
                names, kinds, notes, parts, has_rest, formats, doubts, strict=True
            )
        ]
        encoder.feature_names_in_ = names
        encoder.n_features_in_ = len(names)
        return encoder


def _check_unique(names: Sequence[str]) -> None:
    """Raise a TableError if columns share a name. Those without a name are not used."""
    repeated = [name for name, times in Counter(names).items() if times > 1 and name.strip()]
    if repeated:
        raise TableError(
            f"The table has more than one column named {listed(repeated)}. Give each column a name "
            "of its own."
        )


def _is_valid(format: str) -> bool:
    try:
        parse_format(format)
    except ValueError:
        return False
    return True

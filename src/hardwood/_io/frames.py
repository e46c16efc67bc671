"""Tables of fitted attributes, stored by column and shown as data frames."""

from typing import Any

import numpy as np

from hardwood._io.storing import Stored

Table = dict[str, Any]
"""Columns by name: lists or arrays of equal length."""


def frame(columns: Table) -> Any:
    """Return a table as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "This attribute is a pandas DataFrame. Install pandas, or the extra hardwood[report]."
        ) from error
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=object) if _stay_objects(values) else values
            for name, values in columns.items()
        }
    )


def as_index(values: Any) -> Any:
    """Return names as the index of a data frame."""
    import pandas as pd

    return pd.Index(values, dtype=object) if _stay_objects(values) else values


def _stay_objects(values: Any) -> bool:
    """Return whether pandas must keep values as objects, not as its own text.

    Of objects it would copy the text of each, however long it is. Half a character, such as U+D800,
    it cannot hold at all.
    """
    if not isinstance(values, np.ndarray):
        return False
    if values.dtype.kind != "U":
        return bool(values.dtype == object)
    codes = np.ascontiguousarray(values).view(np.uint32)
    return bool(((codes >= 0xD800) & (codes <= 0xDFFF)).any())


def table_from_stored(stored: Stored, name: str) -> Table:
    """Return a table that was read from a file."""
    table: Table = stored.instance(name, dict)
    lengths = set()
    for column, values in table.items():
        # A frame cannot show strings that are not text, such as half a character.
        if not isinstance(column, str) or not column.isprintable():
            raise stored.wrong(name, "columns by name")
        if not _can_be_shown(values):
            raise stored.wrong(name, "columns of numbers and text")
        lengths.add(np.shape(values) if isinstance(values, np.ndarray) else (len(values),))
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise stored.wrong(name, "columns of one length")
    return table


def _can_be_shown(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "biuf"
    return isinstance(column, list) and all(
        value.isprintable() if isinstance(value, str) else isinstance(value, int | float)
        for value in column
    )

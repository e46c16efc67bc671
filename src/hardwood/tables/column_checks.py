"""Columns to be careful with: ids, columns that give the label away, and columns that repeat another.

``docs/command-line.md`` says on which tables the rule for leaks was chosen and checked, and what is
reported there. The rule for ids rests on probabilities alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.tables.frames import pandas
from hardwood.tables.number_texts import Floats

if TYPE_CHECKING:
    from hardwood.tables.columns import Column

_ADVICE = (
    "Write all values in one way, or say what they are: dates with a format (date), missing values "
    "(missing), or text (category)."
)
# With fewer rows, whole numbers can all differ by chance.
_FEW = 20
# At least this share of the values of an id differ.
_ID_DISTINCT = 0.95
# Random whole numbers with this many expected repeats have none with probability exp(-7) = 0.001.
_ENOUGH_REPEATS = 7
_ID_WORDS = {"id", "uuid", "guid", "idx", "index", "key", "no", "nr", "number", "serial"}

# A leak removes this share of the errors of always predicting the largest class. Honest columns of the
# tables on which this was chosen remove up to 0.935, apart from two tables (kddcup, shuttle) in which
# single columns do determine the class.
_LEAK = 0.95
# With fewer rows outside the largest class, or the most frequent value, columns may agree by chance.
_ENOUGH_ROWS = 10
# Rows on which agreement is measured, which is accurate to a fraction of a percent.
_MAX_ROWS = 100_000


class ColumnWarning(NamedTuple):
    """Something about a column that you should know.

    Attributes
    ----------
    column : str
        The name of the column.
    kind : {"id", "reading", "leak", "repeat"}
        What the column looks like.
    text : str
        The warning in words.
    """

    column: str
    kind: str
    text: str


def column_warnings(
    columns: Sequence[Column], features: Any, labels: NDArray[Any]
) -> list[ColumnWarning]:
    """Return warnings about the columns of a training table.

    Ids come first, then columns that may be read wrongly, then leaks, then repeats.

    Parameters
    ----------
    columns : sequence of Column
        How the columns are used.

    features : pandas.DataFrame
        The columns that are used, as `TableEncoder.transform` returns them.

    labels : ndarray of shape (n_samples,)
        The labels.

    Examples
    --------
    >>> import pandas
    >>> from hardwood.tables import TableEncoder
    >>> table = pandas.DataFrame({"a": [1, 2, 3, 4] * 10, "b": [4, 3, 2, 1] * 10})
    >>> encoder = TableEncoder().fit(table)
    >>> found = column_warnings(
    ...     encoder.columns_, encoder.transform(table), table["a"].to_numpy() > 2
    ... )
    >>> [(warning.column, warning.kind) for warning in found]
    [('a', 'leak'), ('b', 'leak'), ('b', 'repeat')]
    """
    warnings = [
        ColumnWarning(column.name, "id", _id_in_words(column))
        for column in columns
        if column.kind == "id"
    ]
    warnings += [
        ColumnWarning(
            column.name,
            "reading",
            f"Column {column.name!r} is {column.doubt}. {_ADVICE}",
        )
        for column in columns
        if column.doubt and column.kind != "id"
    ]
    numbers = {name: _as_numbers(values) for name, values in features.items()}
    return warnings + _leaks(numbers, labels) + _repeats(numbers)


def _id_in_words(column: Column) -> str:
    if column.doubt:
        return f"Column {column.name!r} is {column.note}. {_ADVICE}"
    what = "an id or free text" if ": text with" in column.note else "an id"
    return f"Column {column.name!r} looks like {what} and is {column.note}. If it is not, keep it (use)."


def _as_numbers(values: Any) -> Floats:
    """Return a column of numbers as it is, and of categories as the numbers of these."""
    if not hasattr(values, "cat"):
        return np.asarray(values.to_numpy(np.float64))
    codes = values.cat.codes.to_numpy(np.float64)
    return np.where(codes < 0, np.nan, codes)


# --- ids -----------------------------------------------------------------------------------------


def identifies_rows(name: str, numbers: Floats) -> bool:
    """Return whether a column of numbers is an id.

    Measurements can also be all different. What sets ids apart: they are whole numbers, nearly all
    different, and in addition ordered like the rows, or named like an id, or without the repeats
    that random numbers of their range would have.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> identifies_rows("a", rng.permutation(100)), identifies_rows("a", rng.normal(size=100))
    (True, False)
    >>> salaries = rng.integers(20_000, 90_000, 100)
    >>> identifies_rows("salary", salaries), identifies_rows("personId", salaries)
    (False, True)
    """
    present = numbers[~np.isnan(numbers)]
    if len(present) <= _FEW or np.any(present % 1 != 0):
        return False
    values = np.unique(present)
    if len(values) < _ID_DISTINCT * len(numbers):
        return False
    steps = np.diff(numbers)
    is_ordered = bool(np.all(steps > 0) or np.all(steps < 0))
    return is_ordered or _is_named_like_an_id(name) or _has_too_few_repeats(values, len(present))


def _is_named_like_an_id(name: str) -> bool:
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    return bool(words) and (words[0] == "id" or words[-1] in _ID_WORDS)


def _has_too_few_repeats(values: Floats, n_rows: int) -> bool:
    """Return whether whole numbers repeat far less often than random ones.

    Of n random draws from r numbers, n − r·(1 − (1 − 1/r)ⁿ) repeat an earlier one if all numbers are
    equally frequent, and more if not.
    """
    steps = np.diff(values)
    step = np.gcd.reduce(steps.astype(np.int64)) if steps.max() < 2**53 else 1
    n_possible = (values[-1] - values[0]) / step + 1
    expected = n_rows + n_possible * np.expm1(n_rows * np.log1p(-1 / n_possible))
    return bool(expected >= _ENOUGH_REPEATS and n_rows - len(values) <= expected / 10)


# --- leaks ---------------------------------------------------------------------------------------


def _leaks(numbers: dict[str, Floats], labels: NDArray[Any]) -> list[ColumnWarning]:
    y, _ = pandas().factorize(labels)
    n_rows = len(y)
    largest = np.bincount(y).max()
    if n_rows - largest < _ENOUGH_ROWS:
        return []
    rows: Any = slice(None)
    if n_rows > _MAX_ROWS:
        rows = np.random.default_rng(0).choice(n_rows, _MAX_ROWS, replace=False)
    warnings = []
    for name, values in numbers.items():
        share = agreement(values[rows], y[rows])
        if 1 - share > (1 - _LEAK) * (1 - largest / n_rows):
            continue
        if np.array_equal(_by_appearance(values), y):
            finding = "repeats the label"
        elif share == 1:
            finding = "determines the label: alone it predicts all rows"
        else:
            rounded_down = np.floor(1000 * share) / 1000
            finding = f"nearly determines the label: alone it predicts {rounded_down:.1%} of rows"
        text = (
            f"Column {name!r} {finding}. It may be a leak. Check that it is known before the label "
            "is, or else leave it out (drop)."
        )
        warnings.append(ColumnWarning(name, "leak", text))
    return warnings


def agreement(values: Floats, y: NDArray[np.intp]) -> float:
    """Return the share of rows whose label the other rows predict by the value of one column.

    The prediction is the majority of the other rows with the same value. A row whose value is unique
    takes the labels of the next smaller and the next larger value, and counts half for each.

    Examples
    --------
    >>> import numpy as np
    >>> agreement(np.array([7, 7, 8, 8, 8.0]), np.array([0, 0, 1, 1, 1]))
    1.0
    >>> agreement(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 1]))
    0.75
    """
    n_classes = int(y.max()) + 1
    factorize = pandas().factorize  # faster than sorting where values are few
    codes, _ = factorize(values, sort=True, use_na_sentinel=False)
    pair_of_row, pairs = factorize(codes * n_classes + y)
    counts = np.bincount(pair_of_row)
    order = np.lexsort((pairs, counts, pairs // n_classes))
    code, label, count = pairs[order] // n_classes, pairs[order] % n_classes, counts[order]
    top = np.flatnonzero(np.diff(code, append=-1))  # the majority is the last of each value
    is_mixed = np.diff(top, prepend=-1) > 1
    lead = count[top] - np.where(is_mixed, count[top - 1], 0)
    # Without the row itself, a lead of 1 becomes a tie.
    right = count[top] * np.clip(lead / 2, 0, 1)
    if len(top) > 1:
        is_same = label[top][1:] == label[top][:-1]
        neighbours = [np.append(is_same[0], is_same), np.append(is_same, is_same[-1])]
        is_unique = (count[top] == 1) & ~is_mixed
        right = np.where(is_unique, np.mean(neighbours, axis=0), right)
    return float(right.sum() / len(y))


# --- repeats -------------------------------------------------------------------------------------


def _repeats(numbers: dict[str, Floats]) -> list[ColumnWarning]:
    first: dict[bytes, list[str]] = {}
    warnings = []
    for name, values in numbers.items():
        codes = _by_appearance(values)
        counts = np.bincount(codes)
        if len(codes) - counts.max() < _ENOUGH_ROWS:
            continue
        has_few = len(counts) <= len(codes) / 2
        # Columns in which all values differ are one-to-one anyhow, so these must have the same order.
        key = codes if has_few else _by_rank(values[:1000])
        alike = first.setdefault(blake2b(key.tobytes()).digest(), [])
        for other in alike:
            if has_few or np.array_equal(_by_rank(values), _by_rank(numbers[other])):
                text = (
                    f"Column {name!r} repeats column {other!r}: each value of one belongs to one "
                    "value of the other."
                )
                warnings.append(ColumnWarning(name, "repeat", text))
                break
        else:
            alike.append(name)
    return warnings


def _by_appearance(values: Floats) -> NDArray[np.intp]:
    """Return codes in the order of appearance, which any one-to-one recoding leaves unchanged."""
    codes, _ = pandas().factorize(values, use_na_sentinel=False)
    return np.asarray(codes, dtype=np.intp)


def _by_rank(values: Floats) -> NDArray[np.intp]:
    """Return ranks, which any increasing or decreasing recoding leaves unchanged."""
    distinct, ranks = np.unique(values, return_inverse=True)
    n_present = len(distinct) - int(np.isnan(distinct[-1]))
    reversed_ranks = np.where(ranks < n_present, n_present - 1 - ranks, ranks)
    different = np.flatnonzero(ranks != reversed_ranks)
    is_falling = len(different) and ranks[different[0]] > reversed_ranks[different[0]]
    return reversed_ranks if is_falling else ranks

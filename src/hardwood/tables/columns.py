"""One column of a table: what it contains, and its values as a feature."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.tables._values import Distinct, Typed, by_type, distinct
from hardwood.tables.column_checks import identifies_rows
from hardwood.tables.date_texts import DateFormat, TimeFormat
from hardwood.tables.errors import TableError, listed, nth
from hardwood.tables.frames import pandas
from hardwood.tables.number_texts import Floats, NumberFormat
from hardwood.tables.reading import Format, TruthFormat, parse_format, read, read_declared_dates

KINDS = ("number", "date", "text", "unused", "id")
_PLURAL = {
    "number": "numbers",
    "truth": "truth values",
    "date": "dates",
    "time": "times",
    "text": "text",
}

# If this share of the texts are numbers, the others are mistakes or stand for missing values.
_MOSTLY = 0.9
# Text with more distinct values than half of the rows identifies the rows, unless there are few.
_FEW = 20
_REST = "other values"


@dataclass(frozen=True, eq=False)
class Column:
    """How a column of a table is used.

    Attributes
    ----------
    name : str
        The name.
    kind : {"number", "date", "text", "unused", "id"}
        The kind. Truth values are the numbers 0 and 1, dates are days since 1970-01-01, times of day
        are hours. Ids identify the rows and are left out, as unused columns are. (`preview` also has
        the kind "refused".)
    note : str
        A description for people.
    categories : ndarray of str
        For text, the values that are categories of their own. The most frequent value comes first,
        ties in alphabetical order.
    has_rest : bool
        For text, whether all other values share one more category. If not, they count as missing.
    format : str
        How numbers or dates are written in texts; empty if they are written as programs write them.
    doubt : str
        What may be wrong with this reading of the column; empty if nothing is.
    """

    name: str
    kind: str
    note: str
    categories: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, dtype=object))
    has_rest: bool = False
    format: str = ""
    doubt: str = ""

    @property
    def is_used(self) -> bool:
        """Whether the column is a feature."""
        return self.kind not in ("unused", "id", "refused")

    @property
    def is_read_from_text(self) -> bool:
        """Whether files must be read such that the column keeps its texts."""
        match parse_format(self.format) if self.format else None:
            case NumberFormat():
                return True
            case DateFormat(pattern=pattern):
                return bool(pattern)
        return self.kind == "text"

    @property
    def all_categories(self) -> list[str]:
        """The categories of the feature, including the one that all other values share."""
        known: list[str] = self.categories.tolist()
        if not self.has_rest:
            return known
        rest = _REST
        while rest in known:
            rest = f"({rest})"
        return [*known, rest]


# --- kinds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """What was declared about the table, and about one column of it.

    Attributes
    ----------
    missing : collection of str
        Texts that stand for missing values.
    max_categories : int
        Maximum number of categories of their own.
    is_text : bool
        Whether the column is declared as text.
    date_pattern : str or None
        If the column is declared as dates, their format or "".
    keep_id : bool
        Whether to use the column even if it looks like an id.
    """

    missing: Collection[str]
    max_categories: int
    is_text: bool = False
    date_pattern: str | None = None
    keep_id: bool = False


def unused(name: str, why: str, kind: str = "unused") -> Column:
    """Return a column that is left out."""
    return Column(name, kind, f"left out{why}")


def learn(name: str, values: Any, rules: Rules) -> Column:
    """Determine how to use a column of the training table."""
    typed = by_type(values)
    if typed.kind == "other":
        return unused(name, f": contains {_type_of(values)}")
    if rules.is_text:
        return _text(name, distinct(values, rules.missing), rules.max_categories)
    if rules.date_pattern is not None and typed.kind != "date":
        return _declared_dates(name, distinct(values, rules.missing), rules.date_pattern)
    if typed.numbers is not None:
        return _numbers(name, _kind(typed), typed.numbers, _format_of_type(typed), rules)
    texts = distinct(values, rules.missing)
    if not len(texts.texts):
        return unused(name, _only(0))
    if isinstance(values.dtype, pandas().CategoricalDtype):
        return _text(name, texts, rules.max_categories)
    counts = texts.counts()
    found = read(texts.texts, counts.tolist(), _MOSTLY)
    if found.kind == "text":
        column = _undeclared_text(name, texts, rules, found.doubt)
        return replace(column, note="; ".join(filter(None, (column.note, found.remark))))
    if np.isnan(found.numbers).any():
        raise TableError(
            f"{_not_read(name, found.format, texts, found.numbers)} Declare them as missing values "
            "(missing), treat the column as text (category), or leave it out (drop)."
        )
    column = _numbers(name, found.kind, texts.each(found.numbers), found.format, rules)
    return _with_doubt(column, found.doubt) if column.is_used else column


def _with_doubt(column: Column, doubt: str) -> Column:
    return replace(column, doubt=doubt, note=f"{column.note}; {doubt}") if doubt else column


def _kind(typed: Typed) -> str:
    return "date" if typed.kind == "date" else "number"


def _format_of_type(typed: Typed) -> Format:
    """Return the format in which other tables may have the values as texts."""
    formats: dict[str, Format] = {
        "truth": TruthFormat(),
        "date": DateFormat(),
        "time": TimeFormat(),
    }
    return formats.get(typed.kind, NumberFormat())


def _declared_dates(name: str, texts: Distinct, pattern: str) -> Column:
    if not len(texts.texts):
        return unused(name, _only(0))
    found = read_declared_dates(texts.texts, texts.counts().tolist(), pattern)
    if np.isnan(found.numbers).any():
        said = f" in the format {pattern!r}" if pattern else ""
        hint = (
            "Correct the format"
            if pattern
            else f"Name the format, such as '{name}=%d.%m.%Y' (date)"
        )
        raise TableError(
            f"{_not_read(name, found.format, texts, found.numbers, f'declared as dates{said} (date)')} "
            f"{hint}, or declare missing values (missing)."
        )
    no_rules = Rules((), 0, keep_id=True)
    return _numbers(name, "date", texts.each(found.numbers), found.format, no_rules)


def _numbers(name: str, kind: str, numbers: Floats, format: Format, rules: Rules) -> Column:
    _check_finite(name, numbers)
    is_missing = np.isnan(numbers)
    n_missing = int(is_missing.sum())
    present = numbers[~is_missing] if n_missing else numbers
    is_constant = not len(present) or bool(np.all(present == present[0]))
    if is_constant and n_missing in (0, len(numbers)):
        return unused(name, _only(len(present)))
    if kind == "number" and not rules.keep_id and identifies_rows(name, numbers):
        return unused(name, ": whole numbers that identify the rows", kind="id")
    note = f"{format.words}{_and_missing(n_missing)}"
    may_be_id = kind == "number" and not (rules.keep_id or n_missing) and len(numbers) > _FEW
    if may_be_id and np.all(numbers % 1 == 0) and len(np.unique(numbers)) == len(numbers):
        note += "; all different: if they identify the rows, leave them out (drop)"
    is_plain = isinstance(format, NumberFormat) and format.is_plain
    return Column(name, kind, note, format="" if is_plain else str(format))


def _undeclared_text(name: str, texts: Distinct, rules: Rules, doubt: str) -> Column:
    counts = texts.counts()
    n_present = int(counts.sum())
    if len(counts) > max(_FEW, n_present / 2) and not rules.keep_id:
        why = f": text with {len(counts):,} different values in {n_present:,} rows"
        return _with_doubt(unused(name, why, kind="id"), doubt)
    column = _text(name, texts, rules.max_categories)
    if not column.is_used:
        return column
    return _with_doubt(column, f"kept as text: {doubt}" if doubt else "")


def _text(name: str, texts: Distinct, max_categories: int) -> Column:
    counts = texts.counts()
    n_values, n_missing = len(counts), int((texts.codes < 0).sum())
    if n_values <= 1 and n_missing in (0, len(texts.codes)):
        return unused(name, _only(n_values))
    # A value of a single row says nothing about other rows: it shares a category with the values that
    # the table does not have.
    n_repeated = int((counts > 1).sum()) if n_values > _FEW else n_values
    n_own = min(n_repeated, max_categories)
    if not n_own:
        why = f": text with {n_values:,} different values, each in a single row"
        return unused(name, why, kind="id")
    order = np.lexsort((texts.texts.astype(str), -counts))[:n_own]
    has_rest = n_own < n_values
    some = f" (the {n_own} most frequent, all others together)" if has_rest else ""
    plural = "" if n_values == 1 else "s"
    note = f"text, {n_values:,} value{plural}{some}{_and_missing(n_missing)}"
    return Column(name, "text", note, texts.texts[order], has_rest)


def _only(n_values: int) -> str:
    return ": all values are the same" if n_values else ": all values are missing"


def _and_missing(n_missing: int) -> str:
    return f", {n_missing:,} missing" if n_missing else ""


def _type_of(values: Any) -> str:
    dtype = str(values.dtype)
    return "objects" if dtype == "object" else f"values of type {dtype}"


# --- values --------------------------------------------------------------------------------------


def feature(column: Column, values: Any, missing: Collection[str]) -> Any:
    """Return the values of a column in any table: categories of pandas, or numbers.

    Missing values and texts that are no categories are missing there, or NaN.
    """
    typed = by_type(values)
    if column.kind == "text" and typed.kind != "other":
        texts = distinct(values, missing)
        names = column.all_categories
        place_of = {text: place for place, text in enumerate(column.categories)}
        rest = len(place_of) if column.has_rest else -1
        places = np.array([*(place_of.get(text, rest) for text in texts.texts), -1])
        dtype = pandas().CategoricalDtype(np.array(names, dtype=object))
        return pandas().Categorical.from_codes(places[texts.codes], dtype=dtype)
    numbers = typed.numbers
    if typed.kind == "text":
        numbers = _numbers_of_texts(column, distinct(values, missing))
    elif column.kind == "date" and typed.kind == "number":  # such as 20201231
        texts = distinct(values, missing)
        numbers = texts.each(parse_format(column.format).read(texts.texts))
        if np.isnan(numbers[texts.codes >= 0]).any():
            raise _other_kind(column, typed.kind, values)
    if numbers is None or (typed.numbers is not None and _kind(typed) != column.kind != "date"):
        raise _other_kind(column, typed.kind, values)
    _check_finite(column.name, numbers)
    return numbers


def _numbers_of_texts(column: Column, texts: Distinct) -> Floats:
    format = parse_format(column.format) if column.format else NumberFormat()
    numbers = format.read(texts.texts)
    if np.isnan(numbers).any():
        raise TableError(
            f"{_not_read(column.name, format, texts, numbers)} The training table had only "
            f"{format.words} there. If they are missing values, declare them in training (missing)."
        )
    return texts.each(numbers)


def _other_kind(column: Column, kind: str, values: Any) -> TableError:
    return TableError(
        f"Column {column.name!r} contains {_PLURAL.get(kind, _type_of(values))}, but contained "
        f"{_PLURAL[column.kind]} in the training table."
    )


def unseen(column: Column, values: Any, missing: Collection[str]) -> list[str]:
    """Return the texts that are no category, in order of appearance."""
    if column.kind != "text" or column.has_rest:
        return []
    known = set(column.categories)
    return [text for text in distinct(values, missing).texts if text not in known]


def _not_read(name: str, format: Format, texts: Distinct, numbers: Floats, what: str = "") -> str:
    """Say which values do not have the format of the others, and where."""
    wrong = np.flatnonzero(np.isnan(numbers))
    rows = np.flatnonzero(np.isin(texts.codes, wrong))
    contents = f"is {what}, but contains" if what else f"contains {format.words}, but also"
    return (
        f"Column {name!r} {contents} {listed(texts.texts[wrong])} (in {len(rows):,} of "
        f"{len(texts.codes):,} rows, first in the {nth(rows[0])} row)."
    )


def _check_finite(name: str, numbers: Floats) -> None:
    if np.isfinite(numbers.sum()):
        return
    rows = np.flatnonzero(np.isinf(numbers))
    if len(rows):
        raise TableError(
            f"Column {name!r} contains an infinite number, first in the {nth(rows[0])} row. Replace it, "
            "declare it as a missing value (missing), or leave the column out (drop)."
        )


def declared_dates(date: Sequence[str], names: Collection[str]) -> dict[str, str]:
    """Return the format, or "", of each column that `date` names as COLUMN or COLUMN=FORMAT.

    Examples
    --------
    >>> declared_dates(["born", "died=%d.%m.%y", "a=b"], ["born", "died", "a=b"])
    {'born': '', 'died': '%d.%m.%y', 'a=b': ''}
    """
    formats = {}
    for each in date:
        splits = date_splits(each)
        name, pattern = next((pair for pair in splits if pair[0] in names), splits[-1])
        formats[name] = pattern
    return formats


def date_splits(declared: str) -> list[tuple[str, str]]:
    """Return each way to split COLUMN=FORMAT, as names may contain equals signs, too."""
    parts = declared.split("=")
    return [("=".join(parts[:n]), "=".join(parts[n:])) for n in range(len(parts), 0, -1)]

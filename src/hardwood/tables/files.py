"""Tables in CSV, TSV and Parquet files."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from hardwood._io.files import STANDARD_OUTPUT, replacing
from hardwood.tables._values import MISSING
from hardwood.tables.errors import TableError, listed
from hardwood.tables.formulas import escape, unescape
from hardwood.tables.frames import pandas, pyarrow
from hardwood.tables.source import Source

_DELIMITERS = ",;\t|"
_GZIP, _PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
_MAX_LINE = 2**24
_WIDE = 1000  # columns
_BLOCK = 2**23  # longer than any line should be
_SCANNED = 2**22  # bytes at a time


def read_table(path: str | os.PathLike[str] | Source, *, text: Collection[str] = ()) -> Any:
    """Read a table from a Parquet, CSV or TSV file; the latter two may be compressed with gzip.

    The content of the file decides its format, not its name. The first line of a CSV file names the
    columns; the delimiter is the most frequent of comma, semicolon, tab and bar there. A column
    contains numbers, dates or booleans if all its fields do, else text. Digits of which some start
    with a zero, such as 01234, are text. Empty fields, NA, N/A, n/a, NaN, NULL, None and the other texts
    that `pandas.read_csv` takes for missing are missing values. The quote that `write_table` puts before
    text such as "=1+2" is removed.

    Parameters
    ----------
    path : str, path-like or Source
        The file; "-" for the standard input.

    text : collection of str, default=()
        Columns to read as text whatever they contain.

    Returns
    -------
    table : pandas.DataFrame
        The table, with dates as datetime64.

    Raises
    ------
    TableError
        If the file cannot be read as a table.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cities.csv"
    >>> lines = ["zip;city;people", "01067;Dresden;557", "99084;Erfurt;NA"]
    >>> _ = path.write_text(chr(10).join(lines))
    >>> read_table(path).values.tolist()
    [['01067', 'Dresden', 557.0], ['99084', 'Erfurt', nan]]
    >>> read_table(path, text=["people"])["people"].tolist()
    ['557', nan]
    """
    pandas()  # fail at once if it is not installed
    source = path if isinstance(path, Source) else Source(path)
    with source.open() as file:
        first = _beginning(file)
    try:
        if first[:4] == _PARQUET:
            table = _read_parquet(source)
        else:
            table = _unescaped(_read_csv(source, first, text))
    except TableError:
        raise
    except (pyarrow().ArrowException, EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # from the system, not from the content
        raise TableError(f"{source} cannot be read: {error}") from error
    names = Counter(table.column_names)
    if len(names) < table.num_columns:
        twice = sorted(name for name, count in names.items() if count > 1)
        raise TableError(f"{source} has more than one column named {listed(twice)}.")
    if table.num_rows == 0:
        raise TableError(f"{source} has no rows, only a header with {len(names)} columns.")
    return _dates_as_timestamps(table).to_pandas(ignore_metadata=True)


def _read_parquet(source: Source) -> Any:
    with pyarrow(".parquet").ParquetFile(source.for_arrow()) as file:
        table = file.read()
    table = table.replace_schema_metadata(None)  # which pandas would read, damaged or not
    # An index without a name, as pandas stores it.
    return table.drop_columns(
        [name for name in table.column_names if name.startswith("__index_level_")]
    )


def _read_csv(source: Source, first: bytes, text: Collection[str]) -> Any:
    is_compressed = first[:2] == _GZIP
    if is_compressed:
        with source.open() as file, gzip.open(file) as expanded:
            first = _beginning(expanded)
    line = _first_line(source, first)
    if re.fullmatch(r'"?sep=."?', line.strip(), re.IGNORECASE):
        raise TableError(
            f"{source}: the first line, {line.strip()!r}, tells spreadsheets the delimiter. Remove it: "
            "the first line must name the columns."
        )
    header = re.sub(r'"[^"]*"', "", line)  # without quoted names
    delimiter = max(_DELIMITERS, key=header.count)
    arrow, reader = pyarrow(), pyarrow(".csv")
    parse = reader.ParseOptions(
        delimiter=delimiter,
        newlines_in_values=True,
        # In a table with one column, an empty line is a missing value.
        ignore_empty_lines=delimiter in header,
    )

    def read(texts: Collection[str], use_threads: bool) -> Any:
        convert = reader.ConvertOptions(
            null_values=MISSING,
            # Without 1 and 0, which are numbers.
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            column_types=dict.fromkeys(texts, arrow.string()),
        )
        with arrow.input_stream(
            source.for_arrow(), compression="gzip" if is_compressed else None
        ) as stream:
            return reader.read_csv(
                stream,
                read_options=reader.ReadOptions(use_threads=use_threads, block_size=_BLOCK),
                parse_options=parse,
                convert_options=convert,
            )

    texts = {name for each in text for name in (each, escape(each))}
    # Each column is a task of its own; with many columns, threads cost more than they gain.
    use_threads = header.count(delimiter) < _WIDE
    try:
        table = read(texts, use_threads)
    except arrow.ArrowInvalid:
        table = read(texts, use_threads=False)  # fails again, but names the row
    if _may_have_leading_zeros(source, is_compressed):
        numbers = {
            name: place
            for place, name in enumerate(table.column_names)
            if _are_numbers(table, place)
        }
        written = read(texts | numbers.keys(), use_threads)
        codes = {
            place: written.column(place)
            for place in numbers.values()
            if _are_codes(written.column(place))
        }
        table = _with_columns(table, codes)
    for field in table.schema:
        if arrow.types.is_binary(field.type):
            raise TableError(
                f"{source} is not encoded in UTF-8 (column {field.name!r}). Save it in that "
                "encoding."
            )
    return table


def _may_have_leading_zeros(source: Source, is_compressed: bool) -> bool:
    """Return whether a digit follows a zero at the start of what may be a field.

    Numbers do not tell how they were written. To read every table a second time, as text, would take
    about as long as the first time; this takes an eighth of it.
    """
    zero, nine = b"09"
    with source.open() as file, gzip.open(file) if is_compressed else nullcontext(file) as content:
        last = b"\n"
        while block := content.read(_SCANNED):
            marks = np.frombuffer(last + block, np.uint8)
            after = np.flatnonzero(marks[1:-1] == zero) + 2
            after = after[(marks[after] >= zero) & (marks[after] <= nine)]
            starts = _DELIMITERS.encode() + b"\r\n\"' "
            if np.isin(marks[after - 2], np.frombuffer(starts, np.uint8)).any():
                return True
            last = marks[-2:].tobytes()
    return False


def _are_numbers(table: Any, place: int) -> bool:
    types, kind = pyarrow().types, table.schema.field(place).type
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _are_codes(texts: Any) -> bool:
    compute = pyarrow(".compute")

    def match(pattern: str) -> Any:
        return compute.match_substring_regex(texts, rf"^\s*{pattern}\s*$")

    return bool(compute.any(match("0[0-9]+")).as_py() and compute.all(match("[0-9]+")).as_py())


def _unescaped(table: Any) -> Any:
    """Remove the quotes that `write_table` puts before text that spreadsheets would run."""
    arrow, compute = pyarrow(), pyarrow(".compute")
    columns = {}
    for place, field in enumerate(table.schema):
        if not arrow.types.is_string(field.type):
            continue
        column = table.column(place)
        if compute.any(compute.starts_with(column, "'")).as_py():
            texts = column.combine_chunks().dictionary_encode()
            plain = [unescape(each) for each in texts.dictionary.to_pylist()]
            columns[place] = arrow.array(plain, arrow.string()).take(texts.indices)
    names = [unescape(name) for name in table.column_names]
    return _with_columns(table, columns).rename_columns(names)


def _with_columns(table: Any, columns: dict[int, Any]) -> Any:
    """Replace columns all at once: one at a time, each would copy the list of them."""
    if not columns:
        return table
    arrays = [columns.get(place, column) for place, column in enumerate(table.columns)]
    return pyarrow().table(arrays, names=table.column_names)


def _beginning(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Return the first lines."""
    return file.read(2**16) + file.readline(_MAX_LINE)


def _first_line(path: Source, first: bytes) -> str:
    if first[:4] == _ZIP:
        raise TableError(f"{path} is a spreadsheet or an archive. Save the table as CSV.")
    lines = first.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()
    if not any(line.strip() for line in lines):
        raise TableError(f"{path} is empty.")
    try:
        line = _header(lines).decode("utf-8")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line or b"\0" in first:
        raise TableError(f"{path} is neither UTF-8 text nor Parquet.")
    return line


def _header(lines: list[bytes]) -> bytes:
    """Return the first record: a name in quotes may have several lines."""
    header = b""
    for line in lines:
        header += line
        if header.count(b'"') % 2 == 0:
            return header
    return lines[0]


def _dates_as_timestamps(table: Any) -> Any:
    arrow = pyarrow()
    stamps = {
        place: table.column(place).cast(arrow.timestamp("ms"))
        for place, field in enumerate(table.schema)
        if arrow.types.is_date(field.type)
    }
    return _with_columns(table, stamps)


def write_table(frame: Any, path: str | os.PathLike[str], *, raw: bool = False) -> None:
    """Write a table to a file.

    An existing file is replaced once the new one is complete.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its index is not written.

    path : str or path-like
        The file; "-" for CSV on the standard output. Names that end with .parquet or .pq give
        Parquet, .tsv or .tab TSV, and all others CSV. CSV and TSV are compressed if .gz follows.

    raw : bool, default=False
        Whether to write text to CSV and TSV as it is. Otherwise, a quote is put before text that
        spreadsheets would run as a formula, such as "=1+2"; `read_table` removes it.

    Examples
    --------
    >>> import pandas, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.tsv.gz"
    >>> write_table(pandas.DataFrame({"a": [1, 2], "b": ["x", None]}), path)
    >>> read_table(path).values.tolist()
    [[1, 'x'], [2, nan]]
    """
    place = output_place(path)
    is_compressed = place.suffix.lower() == ".gz"
    ending = Path(place.stem if is_compressed else place.name).suffix.lower()
    with replacing(place) as file:
        if ending in (".parquet", ".pq"):
            frame.to_parquet(file, index=False, engine="pyarrow")
            return
        texts = _Texts() if raw else _Texts(escape)
        escaped = texts.of(frame)
        # Without the time of writing, the same table gives the same file.
        with (
            gzip.GzipFile("", "wb", fileobj=file, mtime=0)
            if is_compressed
            else nullcontext(file) as out
        ):
            escaped.to_csv(
                out,
                sep="\t" if ending in (".tsv", ".tab") else ",",
                index=False,
                encoding="utf-8",
                lineterminator="\n",
                quoting=csv.QUOTE_NONNUMERIC if texts.need_quotes else csv.QUOTE_MINIMAL,
            )


def output_place(path: str | os.PathLike[str]) -> Path:
    """Return where a table is written to: "-" is the standard output."""
    return Path(STANDARD_OUTPUT if os.fspath(path) == "-" else path)


class _Texts:
    """The texts of a table on the way to a CSV file."""

    def __init__(self, change: Callable[[str], str] = str) -> None:
        self._change = change
        # Python's writer does not quote a carriage return, which ends a line for other readers.
        self._quoted = "\r"
        self.need_quotes = False

    def of(self, frame: Any) -> Any:
        """Return the table with all texts changed."""
        # The reader takes the delimiter from what is not quoted in the header. If there is only one
        # column, the header has none. What looks like a mark of byte order is no part of a name.
        self._quoted = "\r\ufeff" + _DELIMITERS
        names = [self._changed(name) for name in frame.columns]
        self._quoted = "\r" + (_DELIMITERS if len(names) == 1 else "")
        changed = {
            place: self._column(column)
            for place, (_, column) in enumerate(frame.items())
            if column.dtype.kind not in "biufcmM"
        }
        if changed:
            frame = frame.copy(deep=False)
            for place, column in changed.items():
                frame.isetitem(place, column)
        return frame.set_axis(names, axis=1)

    def _column(self, column: Any) -> Any:
        column = column.astype(object)
        changes = {
            value: self._changed(value) for value in column.unique() if isinstance(value, str)
        }
        if all(before == after for before, after in changes.items()):
            return column
        return column.map(lambda value: changes[value] if isinstance(value, str) else value)

    def _changed(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        self.need_quotes |= any(mark in value for mark in self._quoted)
        return self._change(value)

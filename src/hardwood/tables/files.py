"""Tables in CSV, TSV and Parquet files."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from hardwood._io.files import replacing
from hardwood.tables.errors import TableError, listed
from hardwood.tables.frames import pandas, pyarrow

# Fields of a CSV file that stand for missing values.
_MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]
_DELIMITERS = ",;\t|"
_GZIP, _PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
_MAX_LINE = 2**24
_BLOCK = 2**23  # longer than any line should be


def read_table(path: str | os.PathLike[str], *, text: Sequence[str] = ()) -> Any:
    """Read a table from a Parquet, CSV or TSV file; the latter two may be compressed with gzip.

    The content of the file decides its format, not its name. The first line of a CSV file names the
    columns; the delimiter is the most frequent of comma, semicolon, tab and bar there. A column
    contains numbers, dates or booleans if all its fields do, else text. Empty fields, NA, N/A, NaN,
    NULL and None are missing values.

    Parameters
    ----------
    path : str or path-like
        The file.

    text : sequence of str, default=()
        Columns to read as text whatever they contain, so that 01234 keeps its zero.

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
    >>> read_table(path, text=["zip"]).values.tolist()
    [['01067', 'Dresden', 557.0], ['99084', 'Erfurt', nan]]
    """
    pandas()  # fail at once if it is not installed
    place = Path(path)
    if place.is_dir():
        raise TableError(f"{place} is a directory, not a file.")
    with open(place, "rb") as file:
        first = _beginning(file)
    try:
        table = _read_parquet(place) if first[:4] == _PARQUET else _read_csv(place, first, text)
    except TableError:
        raise
    except (pyarrow().ArrowException, EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # from the system, not from the content
        raise TableError(f"{place} cannot be read: {error}") from error
    names = table.column_names
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise TableError(f"{place} has more than one column named {listed(twice)}.")
    if table.num_rows == 0:
        raise TableError(f"{place} has no rows, only a header with {len(names)} columns.")
    return _dates_as_timestamps(table).to_pandas(ignore_metadata=True)


def _read_parquet(path: Path) -> Any:
    with pyarrow(".parquet").ParquetFile(path) as file:
        table = file.read()
    # An index without a name, as pandas stores it.
    return table.drop_columns(
        [name for name in table.column_names if name.startswith("__index_level_")]
    )


def _read_csv(path: Path, first: bytes, text: Sequence[str]) -> Any:
    is_compressed = first[:2] == _GZIP
    if is_compressed:
        with gzip.open(path) as file:
            first = _beginning(file)
    header = re.sub(r'"[^"]*"', "", _first_line(path, first))  # without quoted names
    delimiter = max(_DELIMITERS, key=header.count)
    arrow, reader = pyarrow(), pyarrow(".csv")
    parse = reader.ParseOptions(
        delimiter=delimiter,
        newlines_in_values=True,
        # In a table with one column, an empty line is a missing value.
        ignore_empty_lines=delimiter in header,
    )
    convert = reader.ConvertOptions(
        null_values=_MISSING,
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
        column_types={name: arrow.string() for name in text},
    )

    def read(use_threads: bool) -> Any:
        with arrow.input_stream(
            os.fspath(path), compression="gzip" if is_compressed else None
        ) as stream:
            return reader.read_csv(
                stream,
                read_options=reader.ReadOptions(use_threads=use_threads, block_size=_BLOCK),
                parse_options=parse,
                convert_options=convert,
            )

    try:
        table = read(use_threads=True)
    except arrow.ArrowInvalid:
        table = read(use_threads=False)  # fails again, but names the row
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_binary(column.type):
            raise TableError(
                f"{path} is not encoded in UTF-8 (column {name!r}). Save it in that encoding."
            )
    return table


def _beginning(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Return the first lines."""
    return file.read(2**16) + file.readline(_MAX_LINE)


def _first_line(path: Path, first: bytes) -> str:
    if not first.strip():
        raise TableError(f"{path} is empty.")
    if first[:4] == _ZIP:
        raise TableError(f"{path} is a spreadsheet or an archive. Save the table as CSV.")
    lines = first.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").splitlines()
    try:
        line = lines[0].decode("utf-8")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line or b"\0" in first:
        raise TableError(f"{path} is neither UTF-8 text nor Parquet.")
    return line


def _dates_as_timestamps(table: Any) -> Any:
    arrow = pyarrow()
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if arrow.types.is_date(column.type):
            table = table.set_column(place, name, column.cast(arrow.timestamp("ms")))
    return table


def write_table(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a table to a file.

    An existing file is replaced once the new one is complete.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table. Its index is not written.

    path : str or path-like
        The file. Names that end with .parquet or .pq give Parquet, .tsv or .tab TSV, and all others
        CSV. CSV and TSV are compressed if .gz follows.

    Examples
    --------
    >>> import pandas, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.tsv.gz"
    >>> write_table(pandas.DataFrame({"a": [1, 2], "b": ["x", None]}), path)
    >>> read_table(path).values.tolist()
    [[1, 'x'], [2, nan]]
    """
    place = Path(path)
    is_compressed = place.suffix.lower() == ".gz"
    ending = Path(place.stem if is_compressed else place.name).suffix.lower()
    with replacing(place) as file:
        if ending in (".parquet", ".pq"):
            frame.to_parquet(file, index=False, engine="pyarrow")
            return
        delimiter = "\t" if ending in (".tsv", ".tab") else ","
        # Without the time of writing, the same table gives the same file.
        with (
            gzip.GzipFile("", "wb", fileobj=file, mtime=0)
            if is_compressed
            else nullcontext(file) as out
        ):
            frame.to_csv(out, sep=delimiter, index=False, encoding="utf-8", lineterminator="\n")

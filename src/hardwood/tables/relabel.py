"""Replace labels in a file and leave every other cell as it is written."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.files import replacing
from hardwood.tables.errors import TableError
from hardwood.tables.files import output_place, read_table, write_table
from hardwood.tables.frames import pyarrow
from hardwood.tables.source import Source

_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"
_DELIMITERS = ",;\t|"


def relabel_file(
    source: Source,
    output: str | os.PathLike[str],
    label: str,
    sources: NDArray[np.intp],
    changes: str | None = None,
) -> None:
    """Write a table with other labels.

    A CSV file stays as it is written, but for the labels that change: its quotes, line ends,
    delimiter and number formats. So do the types of a Parquet file. If the output has another format
    than the input, values are written as `read_table` reads them.

    Parameters
    ----------
    source : Source
        The table.
    output : str or path-like
        The file to write; "-" for the standard output.
    label : str
        The column with the labels.
    sources : ndarray of int of shape (n_rows,)
        For each row the row whose label it gets; its own number if nothing changes.
    changes : str, default=None
        The name of a column to add, with the former labels of the rows that change.
    """
    target = output_place(output)
    with source.open() as file:
        first = file.read(4)
    ending = Path(target.stem if target.suffix.lower() == ".gz" else target.name).suffix.lower()
    is_parquet = first[:4] == _PARQUET
    if is_parquet and ending in (".parquet", ".pq"):
        _relabel_parquet(source, target, label, sources, changes)
        return
    if not is_parquet and ending not in (".parquet", ".pq"):
        delimiter = _delimiter(source)
        if (delimiter == "\t") == (ending in (".tsv", ".tab")):
            _relabel_text(source, target, label, sources, changes, delimiter)
            return
    table = read_table(source, text=[label])
    if changes is not None:
        former = table[label].where(sources != np.arange(len(table)))
        table[changes] = former
    table[label] = table[label].take(sources).to_numpy()
    write_table(table, target)


# --- Parquet -------------------------------------------------------------------------------------


def _relabel_parquet(
    source: Source, output: Path, label: str, sources: NDArray[np.intp], changes: str | None
) -> None:
    arrow, parquet = pyarrow(), pyarrow(".parquet")
    with parquet.ParquetFile(source.for_arrow()) as file:
        table = file.read()
    column = table.column(label)
    if changes is not None:
        is_same = arrow.array(sources == np.arange(len(sources)))
        nothing = arrow.scalar(None, column.type)
        table = table.append_column(
            changes, pyarrow(".compute").if_else(is_same, nothing, column.combine_chunks())
        )
    place = table.column_names.index(label)
    field = table.schema.field(place)
    table = table.set_column(place, field, column.take(arrow.array(sources)))
    with replacing(output) as out:
        parquet.write_table(table, out)


# --- text ----------------------------------------------------------------------------------------


def _relabel_text(
    source: Source,
    output: Path,
    label: str,
    sources: NDArray[np.intp],
    changes: str | None,
    delimiter: str,
) -> None:
    changed = sources != np.arange(len(sources))
    wanted = set(sources[changed].tolist())
    with _opened(source) as file:
        place = _place_of(next(_records(file, delimiter)), label, delimiter)
    fields = {}
    with _opened(source) as file:
        n_records = -1  # the header
        for number, record in enumerate(_records(file, delimiter), start=-1):
            n_records = number + 1
            if number in wanted:
                fields[number] = _field(record, place, delimiter)
    if n_records != len(sources):
        raise TableError(
            f"{source}: found {n_records} lines of data, but the table has {len(sources)} rows. Save "
            "the table as a plain CSV file first."
        )
    with _opened(source) as file, _writing(output) as out:
        for number, record in enumerate(_records(file, delimiter), start=-1):
            former = ""
            if number >= 0 and changed[number]:
                former = _field(record, place, delimiter)
                record = _with_field(record, place, delimiter, fields[int(sources[number])])
            if changes is not None:
                added = _quoted(changes, delimiter) if number < 0 else former
                body = record.rstrip("\r\n")
                record = f"{body}{delimiter}{added}{record[len(body) :]}"
            out.write(record)


@contextmanager
def _opened(source: Source) -> Iterator[IO[str]]:
    with source.open() as raw:
        is_compressed = raw.read(2) == _GZIP
        raw.seek(0)
        file: Any = gzip.GzipFile(fileobj=raw) if is_compressed else raw
        with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
            yield text


@contextmanager
def _writing(path: Path) -> Iterator[IO[str]]:
    with replacing(path) as raw, _compressed(raw, path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def _compressed(raw: IO[bytes], path: Path) -> Any:
    if path.suffix.lower() != ".gz":
        return nullcontext(raw)
    # Without the time of writing, the same table gives the same file.
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)


def _delimiter(source: Source) -> str:
    with _opened(source) as file:
        line = file.readline()
    outside = "".join(line.split('"')[::2])  # without quoted names
    return max(_DELIMITERS, key=outside.count)


def _records(file: IO[str], delimiter: str) -> Iterator[str]:
    """Yield the records of a file, with their line ends; empty lines belong to the one before."""
    record, inside = "", False
    for line in file:
        if not inside and record and line.strip("\r\n"):
            yield record
            record = ""
        if inside or '"' in line:
            inside = _ends_inside(line, delimiter, inside)
        record += line
    if record.strip("\r\n"):
        yield record


def _ends_inside(line: str, delimiter: str, inside: bool) -> bool:
    """Return whether a line ends inside a quoted field, given whether it starts inside one."""
    position = 1 if line.startswith("\ufeff") else 0
    while True:
        if not inside:
            if line[position : position + 1] != '"':
                position = line.find(delimiter, position) + 1
                if position == 0:
                    return False
                continue
            inside, position = True, position + 1
        quote = line.find('"', position)
        if quote < 0:
            return True
        position = quote + 1
        if line[position : position + 1] == '"':
            position += 1
            continue
        inside = False
        position = line.find(delimiter, position) + 1
        if position == 0:
            return False


def _spans(record: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield where each field of a record starts and ends."""
    end_of_record = len(record.rstrip("\r\n"))
    start = 1 if record.startswith("\ufeff") else 0
    while True:
        position = start
        if record[start : start + 1] == '"':
            position = start + 1
            while (quote := record.find('"', position)) >= 0:
                position = quote + 1
                if record[position : position + 1] != '"':
                    break
                position += 1
        end = record.find(delimiter, position, end_of_record)
        if end < 0:
            yield start, end_of_record
            return
        yield start, end
        start = end + 1


def _span(record: str, place: int, delimiter: str) -> tuple[int, int]:
    for number, span in enumerate(_spans(record, delimiter)):
        if number == place:
            return span
    raise TableError(f"The line {record.rstrip()[:60]!r} has too few fields.")


def _field(record: str, place: int, delimiter: str) -> str:
    start, end = _span(record, place, delimiter)
    return record[start:end]


def _with_field(record: str, place: int, delimiter: str, field: str) -> str:
    start, end = _span(record, place, delimiter)
    return record[:start] + field + record[end:]


def _place_of(header: str, label: str, delimiter: str) -> int:
    names = [_unquoted(header[start:end]) for start, end in _spans(header, delimiter)]
    if label not in names:
        raise TableError(f"label: there is no column {label!r} in the first line.")
    return names.index(label)


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field[:1] == '"' == field[-1:] else field


def _quoted(text: str, delimiter: str) -> str:
    needs_quotes = any(character in text for character in f'{delimiter}"\r\n')
    return '"' + text.replace('"', '""') + '"' if needs_quotes else text

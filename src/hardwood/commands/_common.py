"""What the commands share: options, output, and exit codes.

Exit codes: 0 for success, 1 for unexpected errors, 2 for wrong input or arguments, and 3 if ``audit``
finds more wrong labels than ``--fail-above`` allows.
"""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from hardwood._core.progress import Show, displayed_by
from hardwood._io.files import check_replaceable, is_standard_output
from hardwood.tables import Column, TableError, TableWarning, read_table
from hardwood.tables.column_checks import ColumnWarning
from hardwood.tables.columns import date_splits
from hardwood.tables.errors import listed
from hardwood.tables.labels import split_labels

WRONG_INPUT = 2

console = Console()
messages = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Data = Annotated[
    Path,
    typer.Argument(help="The table: CSV, TSV (also .gz) or Parquet; - for the standard input."),
]
# A list, as the last of several options would otherwise count, in silence.
Label = Annotated[
    list[str], typer.Option("--label", "-l", metavar="COLUMN", help="The column with the labels.")
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="Treat a column as text, whatever it contains. Repeatable.", metavar="COLUMN"
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        help="Read a column as dates, in a format if you name one: born=%d%m%Y. Repeatable.",
        metavar="COLUMN[=FORMAT]",
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(help="Leave out a column. Repeatable.", metavar="COLUMN")
]
Use = Annotated[
    list[str] | None,
    typer.Option(help="Use a column even if it looks like an id. Repeatable.", metavar="COLUMN"),
]
Group = Annotated[
    str | None,
    typer.Option(
        help="The column that says which rows belong together, such as copies or measurements of "
        "one patient. It is not used as a feature.",
        metavar="COLUMN",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Treat a text such as '?' as a missing value. Repeatable.", metavar="TEXT"),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the forest.")]
_MAX_JOBS = 1024


def _check_jobs(jobs: int) -> int:
    if jobs == 0 or abs(jobs) > _MAX_JOBS:
        raise typer.BadParameter(
            f"{jobs} is not a number of threads. Use 1 to {_MAX_JOBS}, or −1 for all processors."
        )
    return jobs


Jobs = Annotated[
    int, typer.Option(help="Number of threads; −1 uses all processors.", callback=_check_jobs)
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="Write text as it is, even if a spreadsheet would run it as a formula."
    ),
]


# --- errors --------------------------------------------------------------------------------------


@contextmanager
def reported_errors() -> Iterator[None]:
    """Print errors in the input and exit with code 2, or 1 if a library is missing."""
    try:
        yield
    except TableError as error:
        _exit(str(error), WRONG_INPUT)
    except OSError as error:
        file = f"{os.fspath(error.filename)}: " if error.filename else ""
        _exit(f"{file}{error.strerror or error}", WRONG_INPUT)
    except ImportError as error:
        _exit(str(error), 1)


# The names of parameters in messages, but not in the quoted names of columns.
_PARAMETER = re.compile(
    r"""(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"|\((?P<advised>category|date|drop|missing|use)\)|^(?P<wrong>category|date|drop|group|label|use)(?=: )"
)


def with_options(message: str) -> str:
    """Return a message of the library with options in place of parameters.

    Examples
    --------
    >>> with_options("Column 'age (use)' looks like an id. If it is not, keep it (use).")
    "Column 'age (use)' looks like an id. If it is not, keep it (--use)."
    >>> with_options("drop: there is no column 'x'.")
    "--drop: there is no column 'x'."
    """

    def option(found: re.Match[str]) -> str:
        if found["advised"]:
            return f"(--{found['advised']})"
        return f"--{found['wrong']}" if found["wrong"] else found[0]

    return _PARAMETER.sub(option, message)


def _exit(message: str, code: int) -> None:
    message = with_options(message)
    messages.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    raise typer.Exit(code)


def check_output(path: Path, *inputs: Path) -> None:
    """Raise an error, before any work is done, if a file cannot be written or is an input."""
    if is_standard(path):
        return
    if path.exists() and not path.is_dir() and not check_replaceable(path):
        if not os.access(path, os.W_OK):
            raise TableError(f"{path} cannot be written: no permission.")
        return
    folder = path.resolve().parent
    if path.is_dir():
        raise TableError(f"{path} is a directory. Give the name of a file.")
    if not folder.is_dir():
        raise TableError(f"{path} cannot be written: the directory {folder} does not exist.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"{path} cannot be written: no permission to write to {folder}.")
    for other in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise TableError(f"{path} is the input. Choose another name for the output.")


def check_inputs(*inputs: Path | None) -> None:
    """Raise a TableError if more than one input is the standard input."""
    if sum(path is not None and os.fspath(path) == "-" for path in inputs) > 1:
        raise TableError("Only one file can be -, the standard input. Give the other one by name.")


def is_standard(path: Path | None) -> bool:
    """Return whether a path stands for the standard output."""
    return path is not None and (os.fspath(path) == "-" or is_standard_output(path))


def check_different(*outputs: Path | None) -> None:
    """Raise a TableError if two outputs are the same file."""
    for first, second in combinations([path for path in outputs if path is not None], 2):
        if first.resolve() == second.resolve():
            raise TableError(f"{first} cannot be two outputs. Give each a file of its own.")


def check_not_standard(path: Path, what: str) -> None:
    """Raise a TableError if something other than CSV is to be written to the standard output."""
    if is_standard(path):
        raise TableError(f"{what} cannot be written to the standard output. Give a file.")


def check_json(as_json: bool, *outputs: Path | None) -> None:
    """Raise a TableError if JSON and a table are both to be written to the standard output."""
    if as_json and any(is_standard(path) for path in outputs):
        raise TableError("--json already writes to the standard output. Give a file for the table.")


def only_label(labels: Sequence[str]) -> str:
    """Return the one column with the labels; a TableError if there are several."""
    if len(labels) > 1:
        raise TableError(
            f"--label: name one column, not {listed(labels)}. To combine the labels of several people, "
            "use hardwood audit."
        )
    return labels[0]


def read_training_table(
    data: Path, labels: Sequence[str], category: Sequence[str], date: Sequence[str]
) -> tuple[Any, Any, Any]:
    """Return a table, the table without its labels, and these: a column, or a table of several."""
    names = [name for declared in date for name, _ in date_splits(declared)]
    table = read_table(data, text=[*labels, *category, *names])
    return table, *split_labels(table, labels)


def check_kept(table: Any, columns: Sequence[str]) -> None:
    """Raise a TableError if the columns of a table would clash with the output's."""
    if twice := [name for name in columns if name in table.columns]:
        raise TableError(
            f"--keep: the table already has columns with the names of the output: {listed(twice)}."
        )


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print each different warning once, as a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", TableWarning)  # `in_words` says more
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)


def note(text: str) -> None:
    """Print a note to the standard error."""
    messages.print(f"[bold]Note:[/] {escape(with_options(text))}", soft_wrap=True, highlight=False)


_MAX_NOTES = 10


def in_words(warnings: Sequence[ColumnWarning]) -> list[str]:
    """Return warnings about columns as texts; if many are of one kind, only the first ones."""
    shown = []
    for kind, group in groupby(warnings, key=lambda warning: warning.kind):
        texts = [with_options(warning.text) for warning in group]
        shown += texts[:_MAX_NOTES]
        if len(texts) > _MAX_NOTES:
            shown.append(f"… and {len(texts) - _MAX_NOTES:,} more {kind}s; --json prints all.")
    return shown


def warnings_as_facts(warnings: Sequence[ColumnWarning]) -> list[dict[str, str]]:
    """Return warnings about columns, for JSON."""
    return [warning._asdict() | {"text": with_options(warning.text)} for warning in warnings]


# --- output --------------------------------------------------------------------------------------


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal; yields a function that announces the next step."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        console=messages,
        transient=True,
        disable=not messages.is_terminal,
    ) as bars:
        steps = bars.add_task("", total=None, count="")

        @contextmanager
        def trees(n_trees: int) -> Iterator[Show]:
            task = bars.add_task("Growing trees", total=n_trees, count="")
            try:
                yield lambda done: bars.update(task, completed=done, count=f"{done}/{n_trees}")
            finally:
                bars.remove_task(task)

        with displayed_by(trees):
            yield lambda step: bars.update(steps, description=step)


def print_json(facts: dict[str, Any]) -> None:
    """Print one JSON object, with null for numbers that are not finite."""
    typer.echo(json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case np.ndarray() | np.generic():
            return _plain(value.tolist())
        case Path():
            return os.fspath(value)
        case float() if not math.isfinite(value):
            return None
    return value


def percent(share: float) -> str:
    """Return a share in percent."""
    return "unknown" if math.isnan(share) else f"{share:.1%}"


def print_facts(facts: dict[str, str], to: Console | None = None) -> None:
    """Print facts by topic, in two columns."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for topic, fact in facts.items():
        table.add_row(escape(topic), escape(fact))
    (to or console).print(table)


def print_path(what: str, path: Path, to: Console | None = None) -> None:
    """Print where something was written, on one line however long it is."""
    (to or console).print(f"{what}: {path}", soft_wrap=True, markup=False, highlight=False)


def grouping(n_copies: int, n_groups: int | None) -> dict[str, str]:
    """Return the line on rows that are not separate observations, if there are any."""
    if n_groups is not None:
        return {"groups": f"{n_groups:,}"}
    return {"copies of other rows": f"{n_copies:,}, kept together"} if n_copies else {}


_MAX_COLUMNS = 40


def print_columns(
    columns: Sequence[Column], most: int = _MAX_COLUMNS, to: Console | None = None
) -> None:
    """Print how each column is used; of a wide table, only some, above all those left out."""
    out = to or console
    out.print("\n[bold]Columns[/]")
    first = sorted(columns, key=lambda column: column.is_used and not column.doubt)[:most]
    shown = {column.name for column in first}
    notes = {column.name: with_options(column.note) for column in columns if column.name in shown}
    print_facts(notes, out)
    if len(columns) > most:
        out.print(f"… and {len(columns) - most:,} more; --json prints all")


def columns_as_facts(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return how each column was used, for JSON."""
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "is_used": column.is_used,
            "note": with_options(column.note),
        }
        for column in columns
    ]

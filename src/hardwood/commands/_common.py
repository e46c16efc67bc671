"""What the commands share: options, output, and exit codes.

Exit codes: 0 for success, 1 for unexpected errors, 2 for wrong input or arguments, and 3 if ``audit``
finds more wrong labels than ``--fail-above`` allows.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from hardwood._core.progress import Show, displayed_by
from hardwood.tables import Column, TableError
from hardwood.tables.column_checks import ColumnWarning
from hardwood.tables.errors import listed

WRONG_INPUT = 2

console = Console()
messages = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Data = Annotated[Path, typer.Argument(help="The table: CSV, TSV (also .gz) or Parquet.")]
Label = Annotated[str, typer.Option("--label", "-l", help="The column with the labels.")]
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="Treat a column as text, whatever it contains. Repeatable.", metavar="COLUMN"
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
        help="The column that tells which rows belong together, such as copies, or the "
        "measurements of a patient. It is not a feature.",
        metavar="COLUMN",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="Treat a text such as '?' as a missing value. Repeatable.", metavar="TEXT"),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the forest.")]
Jobs = Annotated[int, typer.Option(help="Number of threads; −1 uses all.")]


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


def _exit(message: str, code: int) -> None:
    messages.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    raise typer.Exit(code)


def check_output(path: Path, *inputs: Path) -> None:
    """Raise a TableError, before any work is done, if a file cannot be written or is an input."""
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
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)


def note(text: str) -> None:
    """Print a note to the standard error."""
    messages.print(f"[bold]Note:[/] {escape(text)}", soft_wrap=True, highlight=False)


_MAX_NOTES = 10


def in_words(warnings: Sequence[ColumnWarning]) -> list[str]:
    """Return warnings about columns as texts; if many are of one kind, only the first ones."""
    shown = []
    for kind, group in groupby(warnings, key=lambda warning: warning.kind):
        texts = [warning.text for warning in group]
        shown += texts[:_MAX_NOTES]
        if len(texts) > _MAX_NOTES:
            shown.append(f"… and {len(texts) - _MAX_NOTES:,} more {kind}s; --json prints all.")
    return shown


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


def print_facts(facts: dict[str, str]) -> None:
    """Print facts by topic, in two columns."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for topic, fact in facts.items():
        table.add_row(escape(topic), escape(fact))
    console.print(table)


def print_path(what: str, path: Path) -> None:
    """Print where something was written, on one line however long it is."""
    console.print(f"{what}: {path}", soft_wrap=True, markup=False, highlight=False)


def grouping(n_copies: int, n_groups: int | None) -> dict[str, str]:
    """Return the line on rows that are not separate observations, if there are any."""
    if n_groups is not None:
        return {"groups": f"{n_groups:,}"}
    return {"copies of other rows": f"{n_copies:,}, kept together"} if n_copies else {}


_MAX_COLUMNS = 40


def print_columns(columns: Sequence[Column]) -> None:
    """Print how each column was used; of a wide table, only the first ones."""
    console.print("\n[bold]Columns[/]")
    print_facts({column.name: column.note for column in columns[:_MAX_COLUMNS]})
    if len(columns) > _MAX_COLUMNS:
        console.print(f"… and {len(columns) - _MAX_COLUMNS:,} more; --json prints all")


def columns_as_facts(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return how each column was used, for JSON."""
    return [{"name": column.name, "kind": column.kind, "note": column.note} for column in columns]

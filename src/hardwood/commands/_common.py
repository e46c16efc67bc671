"""What the commands share: options, what they print, and how they end.

Exit codes: 0, all went well; 1, something unexpected; 2, the input or the arguments are wrong;
3, ``audit`` found more noise than ``--fail-above`` allows.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

WRONG_INPUT = 2

console = Console()
messages = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Data = Annotated[Path, typer.Argument(help="The table: CSV, TSV (.gz too) or Parquet.")]
Label = Annotated[str, typer.Option("--label", "-l", help="The column of labels.")]
Category = Annotated[
    list[str] | None,
    typer.Option(
        help="A column that is text, whatever it holds. Give it again for more.", metavar="COLUMN"
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="A column to leave out. Give it again for more.", metavar="COLUMN"),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="A text that stands for a missing value, as '?'. Give it again for more.",
        metavar="TEXT",
    ),
]
Trees = Annotated[int, typer.Option(min=1, help="How many trees to grow.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the forest.")]
Jobs = Annotated[int, typer.Option(help="How many threads; −1 for all.")]


# --- how commands end ----------------------------------------------------------------------------


@contextmanager
def ending_on_wrong_input() -> Iterator[None]:
    """Say what is wrong with the input, and end with code 2; a missing library ends with 1."""
    try:
        yield
    except TableError as error:
        _end(str(error), WRONG_INPUT)
    except OSError as error:
        file = f"{os.fspath(error.filename)}: " if error.filename else ""
        _end(f"{file}{error.strerror or error}", WRONG_INPUT)
    except ImportError as error:
        _end(str(error), 1)


def _end(message: str, code: int) -> None:
    messages.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True, highlight=False)
    raise typer.Exit(code)


def check_output(path: Path, *inputs: Path) -> None:
    """Raise before any work is done if a file could not be written, or is one of the inputs."""
    folder = path.resolve().parent
    if path.is_dir():
        raise TableError(f"{path} is a directory: give the name of a file.")
    if not folder.is_dir():
        raise TableError(f"{path} cannot be written: there is no directory {folder}.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"{path} cannot be written: {folder} allows no new files.")
    for other in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise TableError(f"{path} is the input: give another name to write to.")


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        note(text)


def note(text: str) -> None:
    """Print something worth knowing, beside the output."""
    messages.print(f"[bold]Note:[/] {escape(text)}", soft_wrap=True, highlight=False)


# --- what they print -----------------------------------------------------------------------------


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done; gives a function that is told the next step."""
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
    """Print one JSON object, with null for what is not a number."""
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
    """Return a share as text."""
    return "unknown" if math.isnan(share) else f"{share:.1%}"


def fact_table(facts: dict[str, str]) -> Table:
    """Return a table of two columns without lines."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for topic, fact in facts.items():
        table.add_row(escape(topic), escape(fact))
    return table


def print_path(what: str, path: Path) -> None:
    """Print where something was written, in one line however long it is."""
    console.print(f"{what}: {path}", soft_wrap=True, markup=False, highlight=False)


_MOST_COLUMNS = 40


def print_columns(columns: Sequence[Column]) -> None:
    """Print what was done with each column; of a wide table with the first ones."""
    console.print("\n[bold]Columns[/]")
    console.print(fact_table({column.name: column.note for column in columns[:_MOST_COLUMNS]}))
    if len(columns) > _MOST_COLUMNS:
        console.print(f"… and {len(columns) - _MOST_COLUMNS:,} more: --json has all")


def columns_as_facts(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return what was done with each column, for programs."""
    return [{"name": column.name, "kind": column.kind, "note": column.note} for column in columns]

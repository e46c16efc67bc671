"""What the commands share: options that take several names, clear errors, and pages."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from hardwood import datasets
from lab.data import TABLE_DATASETS, at_hand
from lab.display import Display
from lab.paper.spec import SpecError
from lab.runner import Plan, perform_all
from lab.store import Result, Store, StoreError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

console = Console()


def several(help_text: str, metavar: str = "NAMES", *flags: str) -> Any:
    """Make an option that takes several values, separated by commas or by repeating it."""
    words = f"{help_text} Separate several by commas, or repeat the option."
    return typer.Option(*flags, help=words, metavar=metavar)


Several = list[str] | None
Datasets = Annotated[Several, several("Data sets; by default all here.", "NAMES", "--datasets")]
Tasks = Annotated[Several, several("Only binary or only multiclass tasks.")]
Methods = Annotated[Several, several("Methods; by default all installed ones.")]
Rates = Annotated[Several, several("Shares of labels to flip.", "RATES")]
Trees = Annotated[int, typer.Option(min=1, help="Number of trees in a forest.")]
Rounds = Annotated[int, typer.Option(min=1, help="Number of rounds the medians are taken of.")]
Threads = Annotated[int, typer.Option(min=1, help="Number of threads.")]
AllThreads = Annotated[int | None, typer.Option(min=1, help="Number of threads; all by default.")]
Kept = Annotated[
    Path | None, typer.Option(help="Keep every result here; those it holds are not repeated.")
]
Output = Annotated[
    Path | None, typer.Option(metavar="PAGE.md", help="Write a page, and a figure next to it.")
]


def split(values: Several) -> list[str]:
    """Return the values of an option that takes several."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def choose(
    option: str,
    values: Several,
    choices: Iterable[str],
    default: Sequence[str] | None = None,
) -> list[str]:
    """Return the names given to an option, or the default if there are none."""
    choices = list(choices)
    chosen = split(values)
    for name in chosen:
        if name not in choices:
            raise typer.BadParameter(
                f"{name!r} is not one of {', '.join(choices)}.", param_hint=option
            )
    return chosen or list(choices if default is None else default)


def choose_datasets(values: Several, default: Sequence[str] | None = None) -> list[str]:
    """Return the data sets to use; one that was asked for must be on this machine."""
    here = at_hand(TABLE_DATASETS if default is None else default)
    chosen = choose("--datasets", values, datasets.NAMES, here)
    for name in chosen:
        if datasets.find(name) is None:
            datasets.load(name)  # raises, and says where to put the files
    return chosen


def choose_rates(values: Several, default: Sequence[float]) -> list[float]:
    """Return the noise rates given to ``--noise``, or the default if there are none."""
    rates = []
    for text in split(values):
        try:
            rates.append(float(text))
        except ValueError:
            rates.append(-1.0)
        if not 0 <= rates[-1] < 1:
            raise typer.BadParameter(
                f"{text!r} is not a rate, which is at least 0 and below 1.", param_hint="--noise"
            )
    return rates or list(default)


def stored_results(plan: Plan, store: Path | None, threads: int | None) -> list[Result]:
    """Perform the runs of a benchmark, and return the results of all of them.

    Without a store, nothing is kept for the next time.
    """
    with Store(store or ":memory:") as opened:
        with Display(console) as display:
            summary = perform_all(plan, opened, threads, display)
        console.print(f"{summary}.", soft_wrap=True)
        return opened.results(plan.runs)


def command_line(context: typer.Context, leave_out: Iterable[str] = ("store",)) -> str:
    """Return the command that was typed, without options that do not change the page."""
    words = ["python", "-m", "lab", "bench", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in leave_out or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[name]
        if isinstance(value, bool):  # a flag
            words += [(parameter.opts if value else parameter.secondary_opts)[0]]
            continue
        text = ",".join(split(value)) if isinstance(value, list) else str(value)
        words += [parameter.opts[0], text]
    return shlex.join(words)


def write_page(text: str, output: Path | None) -> None:
    """Write a page to its file, or print it if there is none."""
    if output is None:
        print(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    console.print(str(output), soft_wrap=True, highlight=False)


# What stands between these lines of a page is kept when the page is made again.
BY_HAND, END_BY_HAND = "<!-- Written by hand: -->", "<!-- Generated again: -->"


def written_by_hand(output: Path | None) -> str:
    """Return what was written by hand into a page that is made again, between its two comments.

    If there is nothing yet, only the comments are returned.
    """
    kept = ""
    if output is not None and output.exists():
        _, found, after = output.read_text(encoding="utf-8").partition(BY_HAND)
        kept, ended, _ = after.partition(END_BY_HAND)
        if found and not ended:
            raise typer.BadParameter(
                f"{output} has the line {BY_HAND!r}, but {END_BY_HAND!r} is missing after it.",
                param_hint="--output",
            )
    return "\n\n".join(part for part in (BY_HAND, kept.strip(), END_BY_HAND) if part)


def save_figure(draw: Callable[[], Figure], path: Path, words: str) -> str:
    """Draw and save a figure, and return the Markdown that shows it; "" without Matplotlib."""
    try:
        figure = draw()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("No figure: it requires Matplotlib, pip install 'hardwood\\[plot]'")
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    return f"![{words}]({path.name})\n\n"


@contextmanager
def clear_errors() -> Iterator[None]:
    """End with a message and exit code 2 if the user can fix the problem."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        yield
    except KeyboardInterrupt:
        errors.print("Stopped. Completed runs are stored; the same command resumes from there.")
        raise typer.Exit(130) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        errors.print("Figures require Matplotlib: pip install 'hardwood\\[plot]'")
        raise typer.Exit(2) from error
    except (SpecError, StoreError, OSError) as error:
        errors.print("[red]Error:[/]", escape(str(error)))
        raise typer.Exit(2) from error

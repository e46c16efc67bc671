"""The commands ``hardwood reproduce …``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated

import joblib
import typer
from rich.console import Console
from rich.markup import escape

from lab.paper import report as report_page
from lab.paper import runner
from lab.paper import tables as table_files
from lab.paper.compare import agreement, compare
from lab.paper.display import Display
from lab.paper.spec import Spec, SpecError, load_spec, packaged_specs
from lab.paper.store import Store, StoreError

__all__ = ["app"]

app = typer.Typer(
    help="Run the paper's experiments again, or your own in the same way.",
    invoke_without_command=True,
    add_completion=False,
)
console = Console()

StoreOption = Annotated[Path, typer.Option("--store", help="The SQLite file with the results.")]
SpecOption = Annotated[
    str, typer.Option("--spec", help=f"A TOML file, or one of {', '.join(packaged_specs())}.")
]
SpecsOption = Annotated[
    list[str] | None,
    typer.Option("--spec", help="As for the run; all that come with hardwood by default."),
]
TreesOption = Annotated[
    int | None, typer.Option(min=1, help="Trees of a forest, in place of the spec's.")
]
MaxRowsOption = Annotated[
    int | None, typer.Option(min=0, help="Most training rows; 0 for all.", metavar="ROWS")
]
FolderOption = Annotated[Path, typer.Option("--output", help="The folder to write into.")]

_STORE = Path("reproduction.sqlite")
_FOLDER = Path("reproduction")


def _names(help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        help=f"{help_text} Give it again, or commas, for several.", metavar="NAME"
    )
    return option


@app.callback()
def reproduce(
    context: typer.Context,
    spec: SpecOption = "paper",
    store: StoreOption = _STORE,
    datasets: Annotated[list[str] | None, _names("Only these data sets.")] = None,
    tasks: Annotated[list[str] | None, _names("Only binary, or only multiclass.")] = None,
    models: Annotated[list[str] | None, _names("Only these of dt, rf and et.")] = None,
    criteria: Annotated[list[str] | None, _names("Only these criteria.")] = None,
    noise: Annotated[list[str] | None, _names("Only these rates or named noises.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many, from 0.")] = None,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
    slow_forest: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="A forest whose first seed took longer gets no other seed.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processors to use; all by default.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Spread the runs over this dask scheduler's workers."),
    ] = None,
) -> None:
    """Perform the runs of a spec. Stop it when you like: the next time it goes on.

    Results are in the store as each run ends. Several processes may work on one store.
    """
    if context.invoked_subcommand:
        return
    with _clear_errors():
        chosen = load_spec(spec).narrowed(
            datasets=_split(datasets),
            tasks=_split(tasks),
            models=_split(models),
            criteria=_split(criteria),
            noise=_split(noise),
            seeds=seeds,
            trees=trees,
            max_rows=max_rows,
            slow_forest=slow_forest,
        )
        chosen = _with_data_at_hand(chosen, asked_for=_split(datasets))
        with ExitStack() as stack:
            opened = stack.enter_context(Store(store))
            if dask is not None:
                stack.enter_context(_dask(dask))
            summary = runner.run(chosen, opened, jobs, stack.enter_context(Display(console)))
    _print_summary(summary, store)
    if summary.n_failed:
        raise typer.Exit(1)


@app.command()
def tables(
    spec: SpecOption = "paper",
    store: StoreOption = _STORE,
    output: FolderOption = _FOLDER,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
) -> None:
    """Write the results beside the paper's: Markdown, LaTeX and CSV."""
    with _clear_errors():
        chosen = load_spec(spec).narrowed(trees=trees, max_rows=max_rows)
        with _existing(store) as opened:
            cells = compare(chosen, opened.results())
        if all(cell.ours is None for cell in cells):
            raise StoreError(f"{store} holds no results of the spec {chosen.name!r}.")
        paths = table_files.write(output, chosen, cells)
    agreeing, compared = agreement(cells)
    if compared:
        console.print(
            f"{agreeing} of {compared} cells are inside the paper's mean ± (2 sd + 0.5), "
            f"{sum(cell.differs for cell in cells)} differ by more than both bands."
        )
    _print_paths(paths)


@app.command()
def figures(
    spec: SpecsOption = None,
    store: StoreOption = _STORE,
    output: FolderOption = _FOLDER,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
) -> None:
    """Draw accuracy against noise, and against the parameter that a spec varies: PNG and SVG."""
    with _clear_errors():
        from lab.paper import figures as drawn

        with _existing(store) as opened:
            results = opened.results()
        paths = []
        for name in spec or packaged_specs():
            chosen = load_spec(name).narrowed(trees=trees, max_rows=max_rows)
            paths += drawn.draw(output, chosen, results)
        if not paths:
            raise StoreError(f"{store} holds no results to draw.")
    _print_paths(paths)


@app.command()
def report(
    page: Annotated[Path, typer.Argument(help="The page to write or to refresh.")] = Path(
        "reproduction.md"
    ),
    store: StoreOption = _STORE,
) -> None:
    """Write a page on the results beside the paper's, or refresh its generated parts."""
    with _clear_errors(), _existing(store) as opened:
        paths = report_page.write(page, opened)
    _print_paths(paths)


@app.command(name="export")
def export_csv(
    path: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    store: StoreOption = _STORE,
) -> None:
    """Write the results as CSV, for another store or another program."""
    with _clear_errors(), _existing(store) as opened:
        n = opened.export_csv(path)
    console.print(f"{n:,} results: {path}", soft_wrap=True)


@app.command(name="import")
def import_csv(
    path: Annotated[Path, typer.Argument(help="A CSV file of exported results.")],
    store: StoreOption = _STORE,
) -> None:
    """Take results from CSV, so that a run goes on from them."""
    with _clear_errors(), Store(store) as opened:
        n = opened.import_csv(path)
    console.print(f"{n:,} new results in {store}", soft_wrap=True)


@app.command()
def status(
    spec: SpecOption = "paper",
    store: StoreOption = _STORE,
) -> None:
    """Tell what is done, what is being done and what failed."""
    with _clear_errors():
        runs = set(load_spec(spec).runs())
        with _existing(store) as opened:
            done = sum(result.run in runs for result in opened.results())
            claimed, failures = opened.claimed(), opened.failures()
    console.print(f"{done:,} of {len(runs):,} runs of the spec {spec} are done.")
    for title, lines in (
        ("Claimed", [str(run) for run in claimed]),
        ("Failed, to be tried again", [f"{run}: {why}" for run, why in failures.items()]),
    ):
        if lines:
            console.print(f"{title}:")
        for line in lines:
            console.print(f"  {line}", soft_wrap=True, markup=False)


def _split(names: list[str] | None) -> list[str]:
    return [part.strip() for name in names or () for part in name.split(",") if part.strip()]


def _with_data_at_hand(spec: Spec, asked_for: list[str]) -> Spec:
    """Leave out, and name, the known data sets that are not here, unless they were asked for."""
    from hardwood import datasets

    wanted = {name for task in spec.tasks.values() for name in task.datasets}
    missing = []
    for name in sorted(wanted):
        source = spec.sources[name]
        if source.own_file and not Path(source.own_file).is_file():
            raise SpecError(
                f"the data set {name!r} needs {Path(source.own_file).name}, which is neither beside "
                f"the spec nor in one of {', '.join(map(str, datasets.search_path()))}."
            )
        if source.dataset is None or datasets.find(source.dataset) is not None:
            continue
        try:
            datasets.load(source.dataset)  # downloads it where that is allowed
        except FileNotFoundError:
            if name in asked_for or len(wanted) == 1:
                raise
            missing.append(name)
    if not missing:
        return spec
    console.print(
        f"Left out, as the files are not here: {', '.join(missing)}. "
        f"`--datasets {missing[0]}` says where they are looked for.",
        soft_wrap=True,
    )
    return spec.narrowed(datasets=sorted(wanted - set(missing)))


@contextmanager
def _existing(path: Path) -> Iterator[Store]:
    """Open a store to read from, and do not make one where there is none."""
    if not path.exists():
        raise StoreError(
            f"There is no store {path}. `hardwood reproduce` makes it, or give --store."
        )
    with Store(path) as store:
        yield store


@contextmanager
def _dask(address: str) -> Iterator[None]:
    try:
        client = import_module("distributed").Client(address)
    except ModuleNotFoundError as error:
        raise SpecError("--dask needs dask: pip install 'hardwood[dask]'") from error
    with client, joblib.parallel_config("dask"):
        yield


@contextmanager
def _clear_errors() -> Iterator[None]:
    """End with a message and exit code 2 where the user can set it right."""
    errors = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        yield
    except KeyboardInterrupt:
        errors.print("Stopped. What has ended is stored; the same command goes on from there.")
        raise typer.Exit(130) from None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        errors.print("Figures need Matplotlib: pip install 'hardwood\\[plot]'")
        raise typer.Exit(2) from error
    except (SpecError, StoreError, OSError) as error:
        errors.print("[red]Error:[/]", escape(str(error)))
        raise typer.Exit(2) from error


def _print_summary(summary: runner.Summary, store: Path) -> None:
    parts = [f"{summary.n_done:,} runs done", f"{summary.n_before:,} were done before"]
    if summary.n_elsewhere:
        parts.append(f"{summary.n_elsewhere:,} are another process's")
    if summary.n_left_out:
        parts.append(f"{summary.n_left_out:,} further seeds of slow forests left out")
    if summary.n_failed:
        parts.append(f"{summary.n_failed:,} failed and will be tried again")
    console.print(f"{', '.join(parts)}. Store: {store}", soft_wrap=True)


def _print_paths(paths: list[Path]) -> None:
    for path in paths:
        console.print(str(path), soft_wrap=True, highlight=False)

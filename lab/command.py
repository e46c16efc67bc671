"""``python -m lab``: all commands of the laboratory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated

import joblib
import typer

from hardwood import datasets as known_datasets
from lab.display import Display
from lab.options import Several, clear_errors, console, several, split
from lab.paper import report as report_page
from lab.paper import runner
from lab.paper import tables as table_files
from lab.paper.compare import agreement
from lab.paper.protocols import compare_protocols
from lab.paper.spec import Spec, SpecError, load_spec, packaged_specs
from lab.store import Store, StoreError, open_results

__all__ = ["app"]

app = typer.Typer(
    help="Reproduce the paper's experiments, and compare hardwood with other libraries.",
    add_completion=False,
    no_args_is_help=True,
)
bench = typer.Typer(help="Compare hardwood with other libraries.", no_args_is_help=True)
app.add_typer(bench, name="bench")

for _name in (
    *("forest", "tree", "scaling", "accuracy", "audit", "tables", "sparse"),
    *("review", "calibration", "annotators", "dask"),
    *("adaptive-cost", "adaptive-tree", "seeds", "categories", "custom-impurity", "persistence"),
):
    _module = import_module(f"lab.benchmarks.{_name.replace('-', '_')}")
    bench.command(_name)(clear_errors()(_module.bench))

StoreOption = Annotated[
    Path, typer.Option("--store", help="The results: an SQLite file or, to read from, a CSV file.")
]
SpecOption = Annotated[
    str, typer.Option("--spec", help=f"A TOML file, or one of {', '.join(packaged_specs())}.")
]
TreesOption = Annotated[
    int | None, typer.Option(min=1, help="Number of trees in a forest, instead of the spec's.")
]
MaxRowsOption = Annotated[
    int | None, typer.Option(min=0, help="Maximum number of training rows; 0 for all.")
]
FolderOption = Annotated[Path, typer.Option("--output", help="The folder to write to.")]

_STORE = Path("reproduction.sqlite")
_FOLDER = Path("reproduction")


@app.command()
@clear_errors()
def reproduce(
    spec: SpecOption = "paper",
    store: StoreOption = _STORE,
    datasets: Annotated[Several, several("Only these data sets.")] = None,
    tasks: Annotated[Several, several("Only binary or only multiclass tasks.")] = None,
    models: Annotated[Several, several("Only these of dt, rf and et.")] = None,
    criteria: Annotated[Several, several("Only these criteria.")] = None,
    noise: Annotated[Several, several("Only these rates or names of noise.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds, from 0.")] = None,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
    slow_forest: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Run only the first seed of a forest that takes longer than this.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of processors; all by default.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Spread the runs over this dask scheduler's workers."),
    ] = None,
) -> None:
    """Perform the runs of a spec. You can stop at any time and resume with the same command.

    Each result is stored as soon as its run ends. Several processes can work on one store.
    """
    chosen = load_spec(spec).narrowed(
        datasets=split(datasets),
        tasks=split(tasks),
        models=split(models),
        criteria=split(criteria),
        noise=split(noise),
        seeds=seeds,
        trees=trees,
        max_rows=max_rows,
        slow_forest=slow_forest,
    )
    chosen = _with_data_at_hand(chosen, asked_for=split(datasets))
    with ExitStack() as stack:
        opened = stack.enter_context(Store(store))
        if dask is not None:
            stack.enter_context(_dask(dask))
        summary = runner.run(chosen, opened, jobs, stack.enter_context(Display(console)))
    console.print(f"{summary}. Store: {store}", soft_wrap=True)
    if summary.n_failed:
        raise typer.Exit(1)


@app.command()
@clear_errors()
def tables(
    spec: SpecOption = "paper",
    store: StoreOption = _STORE,
    output: FolderOption = _FOLDER,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
) -> None:
    """Write tables of the results next to the paper's: Markdown, LaTeX and CSV."""
    chosen = load_spec(spec).narrowed(trees=trees, max_rows=max_rows)
    with open_results(store) as opened:
        cells = compare_protocols(chosen, opened.results())
    if all(cell.ours is None for cell in cells):
        raise StoreError(f"{store} has no results of the spec {chosen.name!r}.")
    paths = table_files.write(output, chosen, cells)
    agreeing, compared = agreement(cells)
    if compared:
        console.print(
            f"{agreeing} of {compared} cells are within the paper's mean ± (2 sd + 0.5), "
            f"{sum(cell.differs for cell in cells)} differ by more than both bands."
        )
    _print_paths(paths)


@app.command()
@clear_errors()
def figures(
    spec: Annotated[Several, several("TOML files or names; by default all packaged specs.")] = None,
    store: StoreOption = _STORE,
    output: FolderOption = _FOLDER,
    trees: TreesOption = None,
    max_rows: MaxRowsOption = None,
) -> None:
    """Draw accuracy against noise, or against the parameter that a spec varies: PNG and SVG.

    Without `--spec`, it draws every figure of the paper, and all cells of its tables as squares.
    """
    from lab.paper import figures as drawn
    from lab.paper.squares import draw_squares

    with open_results(store) as opened:
        results = opened.results()
    paths = []
    for name in split(spec) or packaged_specs():
        chosen = load_spec(name).narrowed(trees=trees, max_rows=max_rows)
        paths += drawn.draw(output, chosen, results)
    if not paths:
        raise StoreError(f"{store} has no results to draw.")
    if not split(spec):
        paper = load_spec("paper").narrowed(trees=trees, max_rows=max_rows)
        paths.append(draw_squares(output / "squares.png", compare_protocols(paper, results)))
        paths += drawn.draw_theory(output)
    _print_paths(paths)


@app.command()
@clear_errors()
def report(
    page: Annotated[Path, typer.Argument(help="The page to write or to refresh.")] = Path(
        "reproduction.md"
    ),
    store: StoreOption = _STORE,
) -> None:
    """Write a page that compares the results with the paper's, or refresh its generated parts."""
    with open_results(store) as opened:
        _print_paths(report_page.write(page, opened))


@app.command()
@clear_errors()
def status(spec: SpecOption = "paper", store: StoreOption = _STORE) -> None:
    """Show which runs are completed, claimed or failed."""
    runs = set(load_spec(spec).runs())
    with open_results(store) as opened:
        n_done = len(opened.results(runs))
        claimed, failures = opened.claimed(), opened.failures()
    console.print(f"{n_done:,} of {len(runs):,} runs of the spec {spec} are completed.")
    for title, lines in (
        ("Claimed", [str(run) for run in claimed]),
        ("Failed, to be retried", [f"{run}: {why}" for run, why in failures.items()]),
    ):
        if lines:
            console.print(f"{title}:")
        for line in lines:
            console.print(f"  {line}", soft_wrap=True, markup=False)


@app.command(name="export")
@clear_errors()
def export_csv(
    path: Annotated[Path, typer.Argument(help="The CSV file to write.")],
    store: StoreOption = _STORE,
) -> None:
    """Write the results as CSV, for another store or another program."""
    with open_results(store) as opened:
        n = opened.export_csv(path)
    console.print(f"{n:,} results: {path}", soft_wrap=True)


@app.command(name="import")
@clear_errors()
def import_csv(
    path: Annotated[Path, typer.Argument(help="A CSV file of exported results.")],
    store: StoreOption = _STORE,
) -> None:
    """Add results from a CSV file to a store, so that runs resume from there."""
    with Store(store) as opened:
        n = opened.import_csv(path)
    console.print(f"{n:,} new results in {store}", soft_wrap=True)


def _with_data_at_hand(spec: Spec, asked_for: list[str]) -> Spec:
    """Leave out, and name, data sets that are not here, unless they were asked for."""
    wanted = {name for task in spec.tasks.values() for name in task.datasets}
    missing = []
    for name in sorted(wanted):
        source = spec.sources[name]
        if source.own_file and not Path(source.own_file).is_file():
            raise SpecError(
                f"the data set {name!r} needs {Path(source.own_file).name}, which is neither next "
                f"to the spec nor in one of {', '.join(map(str, known_datasets.search_path()))}."
            )
        if source.dataset is None or known_datasets.find(source.dataset) is not None:
            continue
        try:
            known_datasets.load(source.dataset)  # downloads it if that is allowed
        except FileNotFoundError:
            if name in asked_for or len(wanted) == 1:
                raise
            missing.append(name)
    if not missing:
        return spec
    console.print(
        f"Left out because their files are missing: {', '.join(missing)}. "
        f"`--datasets {missing[0]}` tells you where to put them.",
        soft_wrap=True,
    )
    return spec.narrowed(datasets=sorted(wanted - set(missing)))


@contextmanager
def _dask(address: str) -> Iterator[None]:
    try:
        client = import_module("distributed").Client(address)
    except ModuleNotFoundError as error:
        raise SpecError("--dask requires dask: pip install 'hardwood[dask]'") from error
    with client, joblib.parallel_config("dask"):
        yield


def _print_paths(paths: list[Path]) -> None:
    for path in paths:
        console.print(str(path), soft_wrap=True, highlight=False)

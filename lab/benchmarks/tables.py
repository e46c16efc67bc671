"""Classifiers and label audits compared on a folder of real tables, with labels flipped by known noise.

No model sees a clean label or the noise. Models are judged by clean labels of rows held out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from lab import options
from lab.benchmarks import table_models, table_page, table_ranks, table_sets
from lab.benchmarks.table_models import OUR_AUDIT
from lab.library import versions
from lab.runner import Plan
from lab.store import Run, StoreError, open_results, settings_json


def bench(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    families: Annotated[
        options.Several, options.several("Only balanced, imbalanced or mixed tables.")
    ] = None,
    half: Annotated[
        options.Several, options.several("Only the development or the held-out half.")
    ] = None,
    tables: Annotated[options.Several, options.several("Only these tables.")] = None,
    noise: Annotated[options.Several, options.several("Only these kinds of noise.")] = None,
    models: Annotated[
        options.Several, options.several("Models; by default all installed ones.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds, from 0.")] = 3,
    trees: options.Trees = 200,
    jobs: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    run: Annotated[
        bool, typer.Option(help="Perform the runs that the store does not hold.")
    ] = True,
    store: options.Kept = Path("tables.sqlite"),
    output: options.Output = None,
) -> None:
    """Compare classifiers and label audits on real tables with noisy labels."""
    folder = folder or table_sets.default_folder()
    chosen_families = options.choose("--families", families, table_sets.FAMILIES)
    halves = options.choose("--half", half, table_sets.HALVES)
    paths = [
        path
        for path in table_sets.find_tables(folder, chosen_families)
        if table_sets.half_of(table_sets.name_of(path)) in halves
    ]
    names = options.choose("--tables", tables, sorted({*map(table_sets.name_of, paths)}))
    runs = list(
        plan_runs(
            [path for path in paths if table_sets.name_of(path) in names],
            options.choose("--noise", noise, table_sets.NOISES),
            options.choose("--models", models, table_models.installed()),
            range(seeds),
            trees,
        )
    )
    plan = Plan(
        runs,
        partial(table_models.perform, folder),
        versions(["hardwood", "numpy", "scikit-learn"], machine=False),
        by_threads=lambda run: False,
    )
    if run or store is None:
        results = options.stored_results(plan, store, jobs)
    else:
        with open_results(store) as opened:
            results = opened.results(runs)
    if not results:
        raise StoreError(f"{store} has no results of these runs.")
    words = "Mean ranks of the models over tables, for four measures"
    image = (
        options.save_figure(partial(table_ranks.draw, results), output.with_suffix(".png"), words)
        if output
        else ""
    )
    command = options.command_line(context, leave_out=("store", "run", "jobs"))
    options.write_page(table_page.page(results, image, command), output)


def plan_runs(
    paths: Sequence[Path],
    noises: Sequence[str],
    models: Sequence[str],
    seeds: Sequence[int],
    trees: int,
) -> Iterator[Run]:
    """Yield the runs: mixed tables, which are large, at the end; then cheap models and small tables first."""
    by_size = sorted(paths, key=lambda path: path.stat().st_size)
    for are_mixed in (False, True):
        for model in models:
            for seed in seeds:
                for path in by_size:
                    if (path.parent.name == "mixed") != are_mixed:
                        continue
                    for kind in noises:
                        if model != OUR_AUDIT or kind != "0":  # where there is nothing to find
                            yield run_of(path, kind, model, seed, trees)


def run_of(path: Path, kind: str, model: str, seed: int, trees: int) -> Run:
    """Return the run of a model on a table, whose family is the run's task."""
    family = path.parent.name
    settings = {"benchmark": "tables", "rate": table_sets.rate_of(kind, family)}
    name = table_sets.name_of(path)
    return Run(name, family, model, "", kind, seed, trees, 0, settings_json(settings))

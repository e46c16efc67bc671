"""Labels of several people, simulated: how often the consensus is right.

Three annotators label the rows of real tables. Each errs at a rate of their own, and some labels are
missing. No method sees a true label. A setting is a table with three such annotators; its figures are means
over seeds, each with a split of the table, labels and a forest of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from hardwood import noise
from hardwood.audit import LabelAudit
from hardwood.audit.annotators import check_annotations
from hardwood.audit.consensus import find_consensus
from lab import options
from lab.benchmarks import table_sets
from lab.library import version_of, versions
from lab.runner import Plan
from lab.store import Measured, Result, Run, open_results, settings_json
from lab.tables import as_markdown

Array = npt.NDArray[Any]
Results = Sequence[Result]

ACCURACIES = {
    "60, 75, 95 %": (0.6, 0.75, 0.95),
    "70, 70, 70 %": (0.7, 0.7, 0.7),
    "60, 60, 90 %": (0.6, 0.6, 0.9),
    "80, 85, 90 %": (0.8, 0.85, 0.9),
}
MISSING = 0.1
TREES = 200
WAYS = {
    "ours": "consensus",
    "dawid_skene": "Dawid and Skene",
    "majority": "majority",
}


# --- running -------------------------------------------------------------------------------------


def bench(
    context: typer.Context,
    families: Annotated[options.Several, options.several("Balanced or imbalanced tables.")] = None,
    half: Annotated[
        options.Several, options.several("Only the development or the held-out half.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    max_rows: Annotated[int, typer.Option(min=100, help="Maximum number of rows.")] = 1000,
    tables: Annotated[options.Several, options.several("Only these tables.", "NAMES")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 5,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of them.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    run: Annotated[
        bool, typer.Option(help="Perform the runs that the store does not hold.")
    ] = True,
    store: options.Kept = Path("annotators.sqlite"),
    output: options.Output = None,
) -> None:
    """Compare the consensus of simulated annotators with the majority and with Dawid and Skene."""
    chosen = options.choose("--families", families, ("balanced", "imbalanced"))
    halves = options.choose("--half", half, table_sets.HALVES)
    folder = folder or table_sets.default_folder()
    asked = options.split(tables)
    paths = [
        path
        for path in table_sets.find_tables(folder, chosen)
        if table_sets.half_of(table_sets.name_of(path)) in halves
        and (not asked or table_sets.name_of(path) in asked)
    ]
    runs = list(plan_runs(paths, max_rows, range(first_seed, first_seed + seeds)))
    plan = Plan(
        runs,
        partial(perform, folder),
        versions(["hardwood"], machine=False),
        by_threads=lambda run: False,
    )
    if run or store is None:
        results = options.stored_results(plan, store, jobs)
    else:
        with open_results(store) as opened:
            results = opened.results(runs)
    if results:
        command = options.command_line(context, leave_out=("store", "run", "jobs"))
        options.write_page(page(results, command), output)


def plan_runs(paths: Sequence[Path], max_rows: int, seeds: Sequence[int]) -> Iterator[Run]:
    """Yield the runs, small tables first."""
    for seed in seeds:
        for path in sorted(paths, key=lambda path: path.stat().st_size):
            name, family = table_sets.name_of(path), path.parent.name
            for words, accuracies in ACCURACIES.items():
                settings = settings_json(
                    {"benchmark": "annotators", "accuracies": accuracies, "missing": MISSING}
                )
                yield Run(name, family, "consensus", "", words, seed, TREES, max_rows, settings)


def perform(folder: Path, run: Run, threads: int) -> Measured:
    table = table_sets.split_table(folder / run.task / f"{run.dataset}.csv.gz", "0", run.seed)
    X, y = table.X_train[: run.max_rows], table.y_train[: run.max_rows]
    Y = labels_of_people(y, ACCURACIES[run.noise], run.seed)
    start = time.perf_counter()
    annotations = check_annotations(Y)
    truth = np.searchsorted(annotations.classes, y)
    counts = annotations.counts()
    # Ties are broken at random: the expected share.
    leads = counts == counts.max(axis=1, keepdims=True)
    majority = np.mean(leads[np.arange(len(y)), truth] / leads.sum(axis=1))
    audit = LabelAudit(n_jobs=1, random_state=run.seed).fit(X, Y)
    return {
        "rows": len(y),
        "classes": len(annotations.classes),
        "majority": float(majority),
        "dawid_skene": float(np.mean(find_consensus(annotations).labels == truth)),
        "ours": float(np.mean(audit.consensus_ == y)),
        "accuracy_error": [
            float(abs(found - np.mean(said[given] == y[given])))
            for found, said, given in zip(
                audit.annotators_["accuracy"], Y.T, ~np.isnan(Y.T), strict=True
            )
        ],
        "seconds": time.perf_counter() - start,
    }


def labels_of_people(y: Array, accuracies: Sequence[float], seed: int) -> Array:
    """Return a column of labels for each person, NaN where there is none. Every row has a label."""
    K = int(y.max()) + 1
    Y = np.column_stack(
        [
            noise.corrupt(y, noise.uniform(K, 1 - accuracy), random_state=10 * seed + k)[0]
            for k, accuracy in enumerate(accuracies)
        ]
    ).astype(np.float64)
    random = np.random.default_rng(seed)
    gone = np.asarray(random.random(Y.shape) < MISSING)
    gone[gone.all(axis=1), 0] = False
    Y[gone] = np.nan
    return Y


# --- the page ------------------------------------------------------------------------------------


Settings = dict[tuple[str, str, str], list[Result]]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def by_setting(results: Results) -> Settings:
    """Return the results of each table, family and kind of annotators."""
    found: Settings = {}
    for result in results:
        run = result.run
        found.setdefault((run.dataset, run.task, run.noise), []).append(result)
    return found


def mean_of(results: Results, name: str) -> float:
    return fmean(result.measured[name] for result in results)


def gain(results: Results, over: str) -> float:
    """Return how much more often the consensus is right."""
    return mean_of(results, "ours") - mean_of(results, over)


def error(results: Results, over: str) -> float:
    """Return the standard error of the gain."""
    gains = [result.measured["ours"] - result.measured[over] for result in results]
    return float(stdev(gains) / np.sqrt(len(gains))) if len(gains) > 1 else float("nan")


def counted(settings: Sequence[Results], over: str) -> list[str]:
    """Return in how many settings the consensus is right more often, as often, and less often."""
    gains = np.round([gain(results, over) for results in settings], 9)
    return [str(int(n)) for n in ((gains > 0).sum(), (gains == 0).sum(), (gains < 0).sum())]


def summary_table(settings: Settings) -> str:
    lines = []
    for half in table_sets.HALVES:
        here = {key: of for key, of in settings.items() if table_sets.half_of(key[0]) == half}
        for words in (*ACCURACIES, "all"):
            found = [of for key, of in here.items() if words in (key[2], "all")]
            if found:
                lines.append(
                    [
                        half,
                        words,
                        str(len(found)),
                        *(percent(fmean(mean_of(of, way) for of in found)) for way in WAYS),
                        " / ".join(counted(found, "majority")),
                        " / ".join(counted(found, "dawid_skene")),
                    ]
                )
    columns = (
        *("tables", "annotators", "settings", *WAYS.values()),
        *("more, as, less often right than the majority", "… than Dawid and Skene"),
    )
    return as_markdown(columns, lines, 2)


def worst_table(settings: Settings, most: int = 12) -> str:
    over = ("majority", "dawid_skene")
    keys = sorted(settings, key=lambda key: min(gain(settings[key], each) for each in over))[:most]
    lines = []
    for key in keys:
        of = settings[key]
        lines.append(
            [
                *(key[0], key[2], f"{of[0].measured['rows']:,}", str(of[0].measured["classes"])),
                *(percent(mean_of(of, way)) for way in WAYS),
                *(f"{100 * gain(of, each):+.1f} ± {percent(error(of, each))}" for each in over),
            ]
        )
    columns = (
        *("table", "annotators", "rows", "classes", *WAYS.values()),
        *("more than the majority", "… than Dawid and Skene"),
    )
    return as_markdown(columns, lines, 2)


def page(results: Results, command: str) -> str:
    most = max(r.measured["rows"] for r in results)
    off = fmean(each for r in results for each in r.measured["accuracy_error"])
    settings, seeds = by_setting(results), sorted({r.run.seed for r in results})
    return f"""# Several annotators

Three simulated annotators label real tables, at most {most:,} rows of each. Each of them errs on a share of the rows of their
own, every other class alike, and {MISSING:.0%} of the labels are missing. Each setting is measured with {len(seeds)} seeds: other splits,
other labels and other forests. How often the label is right that they agree on, in percent:

- *consensus*: `LabelAudit(random_state=seed).fit(X, Y).consensus_`. The forest's out-of-bag votes are the prior.
- *Dawid and Skene*: the same model of the annotators without a forest.
- *majority*: the most frequent label of the row; ties are broken at random.

{summary_table(settings)}

The estimated accuracy of an annotator differs from the real one by {percent(off)} points on average.

The settings in which the consensus gains least (± is the standard error over seeds):

{worst_table(settings)}

Measured with hardwood {version_of("hardwood")}. To make this page again:

```bash
{command}
```
"""

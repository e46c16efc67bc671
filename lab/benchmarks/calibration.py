"""Fit the constants of `hardwood.audit.calibration`, and see how often the plan's intervals are right.

Audits of tables with known noise are fitted once and stored. The constants are fitted to the development
half of the tables and judged on the other half and on the large data sets. To take them over, copy them
into `hardwood/audit/calibration.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from scipy.optimize import minimize

from hardwood.audit import LabelAudit, calibration
from hardwood.audit.decisions import no_decisions
from hardwood.audit.review import Review, relative_width
from hardwood.noise import uniform
from lab import options
from lab.benchmarks import review, table_sets
from lab.benchmarks.review_page import part_of, percent
from lab.library import versions
from lab.runner import Plan
from lab.store import Measured, Result, Run, settings_json
from lab.tables import as_markdown

Array = npt.NDArray[np.float64]

NAMES = ("_CENTRE", "_DOUBT", "_GROWTH", "_MORE_CLASSES")
"""The constants that say how far off the number of wrong labels can be."""


# --- running -------------------------------------------------------------------------------------


def bench(
    families: Annotated[
        options.Several, options.several("Balanced or imbalanced tables, or large ones.")
    ] = None,
    kinds: Annotated[
        options.Several, options.several("Only these kinds of noise.", "NAMES", "--noise")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    max_rows: Annotated[int, typer.Option(min=100, help="Maximum number of rows.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the noise and of the models.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of worker processes.")] = 1,
    store: options.Kept = Path("calibration.sqlite"),
) -> None:
    """Fit the constants of the plan's intervals, and judge them."""
    chosen = options.choose("--families", families, ("balanced", "imbalanced", "large"))
    small = [family for family in chosen if family != "large"]
    folder = folder or (table_sets.default_folder() if small else Path())
    paths = table_sets.find_tables(folder, small) if small else []
    large = options.choose_datasets(None, review.LARGE) if "large" in chosen else []
    plan = Plan(
        list(
            plan_runs(paths, large, options.choose("--noise", kinds, review.KINDS), max_rows, seed)
        ),
        partial(perform, folder),
        versions(["hardwood"], machine=False),
        by_threads=lambda run: False,
    )
    results = options.stored_results(plan, store, jobs)
    print(page(results))


def plan_runs(
    paths: Sequence[Path], large: Sequence[str], kinds: Sequence[str], max_rows: int, seed: int
) -> Iterator[Run]:
    """Yield the runs, those of a simulated review."""
    settings = settings_json({"benchmark": "calibration"})
    for run in review.plan_runs(paths, large, kinds, max_rows, [seed]):
        yield Run(run.dataset, run.task, "audit", "", run.noise, seed, 0, max_rows, settings)


def perform(folder: Path, run: Run, threads: int) -> Measured:
    if run.task == "large":
        table = review.large_table(run.dataset, run.noise, run.seed, run.max_rows)
    else:
        path = folder / run.task / f"{run.dataset}.csv.gz"
        table = review.small_table(path, run.noise, run.seed, run.max_rows)
    start = time.perf_counter()
    audit = LabelAudit(n_jobs=1, random_state=run.seed).fit(table.X, table.noisy)
    return {
        "scores": audit.issues_["score"].to_numpy().round(6).tolist(),
        "given": table.noisy.tolist(),
        "wrong": table.wrong.astype(int).tolist(),
        "classes": int(table.y.max()) + 1,
        "rate": audit.noise_rate_,
        "interval": list(audit.noise_rate_interval_),
        "seconds": time.perf_counter() - start,
    }


# --- fitting -------------------------------------------------------------------------------------


def fit(results: Sequence[Result]) -> Array:
    """Return the constants that make the numbers of wrong labels most likely.

    The logarithm of the number relative to its estimate is taken to be normal, with the variance of the
    constants and that of chance.
    """
    found = [r.measured for r in results]
    doubt = np.array([min(relative_width(m["interval"], m["rate"]), 1.0) for m in found])
    many = np.array([m["classes"] > 2 for m in found])
    number = np.array([m["rate"] * len(m["scores"]) for m in found])
    ratio = np.log([max(sum(m["wrong"]), 0.5) / n for m, n in zip(found, number, strict=True)])
    scores = [np.array(m["scores"]) for m in found]
    chance = np.sqrt([s @ (1 - s) for s in scores]) / number

    def unlikely(constants: Array) -> float:
        centre, low, growth, more = constants
        variance = np.exp(2 * (low + growth * doubt)) + (more * many) ** 2 + chance**2
        off = ratio - centre * doubt**2
        return float(np.sum(off**2 / variance + np.log(variance)))

    start = np.array([getattr(calibration, name) for name in NAMES])
    tried = minimize(unlikely, start, method="Nelder-Mead", options={"maxfev": 5000})
    return np.asarray(tried.x, dtype=np.float64)


# --- judging -------------------------------------------------------------------------------------


def review_of(result: Result) -> Review:
    """Return the review that a stored audit begins."""
    found = result.measured
    given, K = np.array(found["given"]), found["classes"]
    others = np.full((len(given), K), 1 / (K - 1))
    others[np.arange(len(given)), given] = 0
    return Review(
        np.array(found["scores"]),
        given,
        others,
        uniform(K, 0.2),
        no_decisions(),
        1.0,
        result.run.seed,
        found["rate"],
        relative_width(found["interval"], found["rate"]),
    )


def judged(result: Result) -> list[float]:
    """Return whether three lines of the plan hold, the first one's width, and the error of the rows."""
    of_table = review_of(result)
    plan = of_table.plan(review.TARGET)
    wrong = np.array(result.measured["wrong"])[of_table.order]
    left = np.concatenate([[wrong.sum()], wrong.sum() - np.cumsum(wrong)])
    last = len(plan["rows"]) - 1
    lines = [
        float(plan["left_low"][k] <= left[plan["rows"][k]] <= plan["left_high"][k])
        for k in (0, (last + 1) // 2, last)
    ]
    low, high = plan["left_low"][0], plan["left_high"][0]
    needed = int(np.argmax(left <= review.TARGET * len(wrong)))
    error = abs(plan["rows"][-1] - needed) / max(needed, 1)
    return [*lines, (high - low) / max((high + low) / 2, 1), error]


def table_of(results: Sequence[Result]) -> str:
    """Return how often intervals hold, by the part of the tables."""
    lines = []
    for part in (*table_sets.HALVES, "large", "all"):
        found = [judged(r) for r in results if part in (part_of(r), "all")]
        if found:
            columns = list(zip(*found, strict=True))
            lines.append(
                [
                    part,
                    str(len(found)),
                    *(percent(fmean(column)) for column in columns[:3]),
                    f"{fmean(columns[3]):.2f}",
                    percent(median(columns[4])),
                ]
            )
    return as_markdown(
        (
            *("tables", "settings", "covers, no row", "half of the rows", "last line"),
            *("width / middle", "median error of rows (%)"),
        ),
        lines,
        1,
    )


def page(results: Sequence[Result]) -> str:
    development = [r for r in results if part_of(r) == "development"] or list(results)
    fitted = fit(development)
    present = {name: getattr(calibration, name) for name in NAMES}
    words: list[Any] = ["The constants as they are:", "", table_of(results), ""]
    try:
        for name, value in zip(NAMES, fitted, strict=True):
            setattr(calibration, name, float(value))
        text = ", ".join(f"{name} {value:.3f}" for name, value in zip(NAMES, fitted, strict=True))
        words += [f"Fitted to the development half: {text}", "", table_of(results)]
    finally:
        for name, value in present.items():
            setattr(calibration, name, value)
    return "\n".join(words)

"""Performs the runs of a spec, the cheap ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import groupby

from lab.library import versions
from lab.paper.estimates import Estimates
from lab.paper.protocol import perform
from lab.paper.spec import FORESTS, Source, Spec
from lab.runner import Observer, Plan, Summary, perform_all
from lab.store import Measured, Run, Store

__all__ = ["run"]


def run(
    spec: Spec, store: Store, jobs: int | None = None, observer: Observer | None = None
) -> Summary:
    """Perform the runs of a spec that the store does not hold, the cheap ones first.

    Trees are trained side by side in `jobs` processes, forests one after another with `jobs`
    threads. Inside ``joblib.parallel_config`` of a backend that reaches other machines, such as
    dask or ray, all runs are spread over its workers, which must find the data sets themselves.
    The parameters are those of `lab.runner.perform_all`, with a spec in place of a plan.
    """
    estimates = Estimates(spec.sources, store.results())

    def leave_out(run: Run, measured: Mapping[Run, Measured]) -> str:
        if run.model not in FORESTS or run.seed == 0 or run.cell not in measured:
            return ""
        is_slow = measured[run.cell]["seconds"] > spec.slow_forest
        return "its first seed was slow" if is_slow else ""

    plan = Plan(
        list(spec.runs()),
        partial(_perform, perform, spec.sources),
        versions(["hardwood", "numpy", "scikit-learn"], machine=False),
        blocks=partial(_blocks, estimates=estimates),
        by_threads=lambda run: run.model in FORESTS,
        leave_out=leave_out,
        estimates=estimates,
    )
    return perform_all(plan, store, jobs, observer)


def _perform(
    perform: Callable[[Run, Source, int], Measured],
    sources: Mapping[str, Source],
    run: Run,
    threads: int,
) -> Measured:
    return perform(run, sources[run.dataset], threads)


def _blocks(runs: Iterable[Run], estimates: Estimates) -> list[list[Run]]:
    """Group runs by data set, task and model, the cheapest group first.

    Within a group, seeds follow one another, and runs that share noisy labels are together.
    """

    def block(run: Run) -> tuple[str, str, str]:
        return run.dataset, run.task, run.model

    ordered = sorted(runs, key=lambda run: (block(run), run.seed, run.noise, run.criterion))
    blocks = [list(group) for _, group in groupby(ordered, key=block)]
    return sorted(blocks, key=lambda group: max(map(estimates.seconds, group)))

"""Forests compared with those of every other library that is installed.

Each measurement is a run in a process of its own (`lab.benchmarks.worker`), and the libraries take
turns. `lab.benchmarks.peers` has the libraries.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from lab import options
from lab.benchmarks.peers import BASELINE, PEERS
from lab.benchmarks.worker import N_MANY_ROWS
from lab.data import title
from lab.figures import MUTED, legend, plain
from lab.library import versions
from lab.runner import Plan
from lab.store import Measured, Result, Run, settings_json
from lab.tables import MISSING, as_markdown, number, times

_LARGE = ("covertype", "mnist", "unsw_nb15")
_COLUMNS = (
    "",
    "fit (s)",
    "CPU (s)",
    "× as fast",
    "accuracy (%)",
    "nodes",
    "visits (M)",
    "peak memory (MB)",
    "of the fit (MB)",
    "model (MB)",
    f"{N_MANY_ROWS:,} rows (ms)",
    "one row (ms)",
    "by one thread (ms)",
)

_WITH_FLOAT32 = "All libraries get the same row-major float32 array."
_WITH_OWN_DTYPE = (
    "hardwood gets the data as they are (MNIST uint8, Covertype int16, UNSW-NB15 float64), the other\n"
    "  libraries as a row-major float32 array."
)


def bench(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--datasets",
            metavar="NAMES",
            help=f"Data sets; by default those of {', '.join(_LARGE)} that are here, or mushrooms.",
        ),
    ] = None,
    noise: options.Rates = None,
    trees: options.Trees = 20,
    rounds: options.Rounds = 3,
    threads: options.Threads = 2,
    peers: Annotated[
        options.Several, options.several("Libraries; by default all installed ones.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Stop a measurement that takes longer.")
    ] = 900.0,
    own_dtype: Annotated[
        bool, typer.Option(help="Give hardwood the data as they are, not as float32.")
    ] = False,
    output: options.Output = None,
    title: Annotated[
        str, typer.Option(help="Title of the page.")
    ] = "Forests compared with other libraries",
    store: options.Kept = None,
) -> None:
    """Compare hardwood's forests with those of other libraries: speed, memory, accuracy.

    The libraries are scikit-learn, scikit-learn-intelex, snapml, bankai-random-forest, ydf, lightgbm,
    xgboost, and ranger in R, as far as they are installed.
    """
    # On its way out, the runner stops the worker.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    installed = [name for name, peer in PEERS.items() if peer.version()]
    grid = Grid(
        [
            Task(name, rate)
            for name in options.choose_datasets(names, _LARGE) or ["mushrooms"]
            for rate in options.choose_rates(noise, (0.0, 0.3))
        ],
        options.choose("--peers", peers, PEERS, installed),
        trees,
        threads,
        rounds,
        own_dtype,
    )
    outcomes = measure(grid, timeout, store)
    for what, measured in (("Fit", "fit_wall"), ("Prediction", "predict_many")):
        print(f"\n{what} speed, scikit-learn = 1:\n")
        print(as_markdown(["", *map(str, grid.tasks)], summary_rows(grid, outcomes, measured)))
    if output:
        words = "Fit speed relative to scikit-learn"
        image = options.save_figure(
            partial(draw, grid, outcomes), output.with_suffix(".png"), words
        )
        options.write_page(
            page(grid, outcomes, options.command_line(context), image, title), output
        )


# --- measuring ------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A data set with a share of its training labels flipped."""

    dataset: str
    noise_rate: float

    def __str__(self) -> str:
        return f"{title(self.dataset)}, {_percent(self.noise_rate, ' noise') or 'clean'}"


def _percent(rate: float, words: str) -> str:
    return f"{100 * rate:.0f} %{words}" if rate else ""


@dataclass(frozen=True)
class Grid:
    """What to compare: a table for each task, a row for each peer."""

    tasks: Sequence[Task]
    peers: Sequence[str]
    n_trees: int
    n_threads: int
    n_rounds: int
    own_dtype: bool = False

    def runs(self) -> Iterator[Run]:
        """Yield all runs of a task before those of the next; the peers take turns."""
        for task in self.tasks:
            for round in range(self.n_rounds):
                for peer in self.peers:
                    yield self.run(task, peer, round)

    def run(self, task: Task, peer: str, round: int) -> Run:
        """Return the run of one peer in one round."""
        settings = {"threads": self.n_threads, "version": PEERS[peer].version()}
        if self.own_dtype:
            settings["own_dtype"] = True
        return Run(
            task.dataset,
            "multiclass",
            peer,
            "",
            str(task.noise_rate),
            round,
            self.n_trees,
            0,
            settings_json({"benchmark": "forest", **settings}),
        )


@dataclass
class Outcome:
    """What is known about one peer on one task: a dict of measures for each round.

    `failure` says why rounds are missing.
    """

    rounds: list[Measured] = field(default_factory=list)
    failure: str = ""

    def median(self, measure: str) -> float | None:
        """Return the median over the rounds, or None if nothing was measured."""
        values = [value for taken in self.rounds if (value := taken.get(measure)) is not None]
        return statistics.median(values) if values else None


Outcomes = Mapping[tuple[Task, str], Outcome]


def measure(
    grid: Grid, timeout: float, store: Path | None = None
) -> dict[tuple[Task, str], Outcome]:
    """Measure everything that the store does not hold yet."""
    plan = Plan(
        list(grid.runs()),
        partial(_measure_in_worker, timeout=timeout),
        versions(["hardwood"]),
        leave_out=_failed_before,
    )
    return gather(grid, options.stored_results(plan, store, grid.n_threads))


def gather(grid: Grid, results: Iterable[Result]) -> dict[tuple[Task, str], Outcome]:
    """Collect the rounds of each task and peer."""
    outcomes = {(task, peer): Outcome() for task in grid.tasks for peer in grid.peers}
    for result in results:
        outcome = outcomes[Task(result.run.dataset, float(result.run.noise)), result.run.model]
        if failure := result.measured.get("failure"):
            outcome.failure = failure
        else:
            outcome.rounds.append(result.measured)
    return outcomes


def _failed_before(run: Run, measured: Mapping[Run, Measured]) -> str:
    earlier = (measured.get(replace(run, seed=round), {}) for round in range(run.seed))
    return "it failed in an earlier round" if any("failure" in taken for taken in earlier) else ""


def _measure_in_worker(run: Run, threads: int, timeout: float) -> Measured:
    """Run a worker to its end and return what it measured, or why it failed."""
    command = [sys.executable, "-m", "lab.benchmarks.worker", json.dumps(asdict(run))]
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    # A session of its own, so that everything the worker started ends with it.
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": path},
        start_new_session=True,
    ) as worker:
        try:
            output, errors = worker.communicate(timeout=timeout)
        except BaseException as error:
            if hasattr(os, "killpg"):
                os.killpg(worker.pid, signal.SIGKILL)
            else:
                worker.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                return {"failure": f"stopped after {timeout:g} s"}
            raise
    if worker.returncode != 0:
        lines = errors.strip().splitlines() or [f"ended with exit code {worker.returncode}"]
        return {"failure": lines[-1]}
    measured: Measured = json.loads(output.splitlines()[-1])
    return measured


# --- the page -------------------------------------------------------------------------------------


def speed_up(outcomes: Outcomes, task: Task, peer: str, measure: str = "fit_wall") -> float | None:
    """Return the baseline's median over the peer's; None if one of them is missing."""
    baseline = outcomes.get((task, BASELINE), Outcome()).median(measure)
    own = outcomes[task, peer].median(measure)
    return baseline / own if baseline and own else None


def summary_rows(grid: Grid, outcomes: Outcomes, measure: str = "fit_wall") -> list[list[str]]:
    """Return a row for each peer: how fast it is on each task."""
    return [
        [
            PEERS[peer].title,
            *(times(speed_up(outcomes, task, peer, measure)) for task in grid.tasks),
        ]
        for peer in grid.peers
    ]


def page(grid: Grid, outcomes: Outcomes, command: str, figure: str, title: str) -> str:
    tables = "\n\n".join(
        f"## {task}\n\n{as_markdown(_COLUMNS, _rows(grid, outcomes, task))}"
        + _failures(grid, outcomes, task)
        for task in grid.tasks
    )
    notes = "\n".join(
        f"- **{PEERS[peer].title}** {PEERS[peer].note}" for peer in grid.peers if PEERS[peer].note
    )
    libraries = {PEERS[peer].library: PEERS[peer].version() for peer in grid.peers}
    used = [f"{library} {version}" for library, version in libraries.items()]
    rounds = "one round" if grid.n_rounds == 1 else f"medians of {grid.n_rounds} rounds"
    return f"""# {title}

How many times as fast as scikit-learn each library fits its forest, by the clock:

{as_markdown(["", *map(str, grid.tasks)], summary_rows(grid, outcomes))}

{figure}{grid.n_trees} trees, ⌈√d⌉ features per node, unlimited depth, leaves of one row, bootstrap, {grid.n_threads} threads. Every
measurement runs in a fresh process, and the libraries take turns. The tables show {rounds}. Noise is
the share of training labels flipped uniformly; test labels are clean.

{tables}

## How to read the tables

- Brackets compare with scikit-learn: how many times as fast, or what share of its bytes.
- {_WITH_OWN_DTYPE if grid.own_dtype else _WITH_FLOAT32} Converting it is part of the fit; the notes below
  name the exceptions, which favour the other library.
- *CPU* is the processor time of the fit, summed over threads.
- *Accuracy* is measured on all test rows.
- *Visits* are the values that one tree looks at while it grows: rows × candidate features that vary,
  summed over the nodes. They are counted on one bootstrap sample; for scikit-learn, it is the expected
  number. The other libraries do not reveal theirs.
- *Peak memory* is that of the process, including data and Python; *of the fit* is what the fit added.
- *Model* is the size of the pickle, or of the library's own format if it has no scikit-learn API.
- *{N_MANY_ROWS:,} rows* and *one row* are calls of `predict_proba` with as many threads as the fit. *By one
  thread* is one row with one thread, since a single row cannot be shared.

What differs in spite of equal parameters:

{notes}

Measured with `{command}`
({", ".join([*used, versions([])])}).
"""


def _rows(grid: Grid, outcomes: Outcomes, task: Task) -> Iterator[list[str]]:
    baseline = outcomes.get((task, BASELINE), Outcome())
    for peer in grid.peers:
        outcome = outcomes[task, peer]
        if not outcome.rounds:
            yield [PEERS[peer].title, *[MISSING] * (len(_COLUMNS) - 1)]
            continue
        peak, size = outcome.median("memory_peak"), outcome.median("size")
        grown = _fit_memory(outcome)
        yield [
            PEERS[peer].title,
            number(outcome.median("fit_wall")),
            number(outcome.median("fit_cpu")),
            times(speed_up(outcomes, task, peer)),
            number(outcome.median("accuracy"), 1, ".2f"),
            number(outcome.median("nodes"), 1, ",.0f"),
            number(outcome.median("visits"), 1e-6),
            number(peak, 1e-6, ",.0f") + _share(peak, baseline.median("memory_peak")),
            number(grown, 1e-6, ",.0f") + _share(grown, _fit_memory(baseline)),
            number(size, 1e-6) + _share(size, baseline.median("size")),
            *(
                number(outcome.median(measure), 1000)
                + _bracketed(speed_up(outcomes, task, peer, measure))
                for measure in ("predict_many", "predict_one", "predict_one_alone")
            ),
        ]


def _fit_memory(outcome: Outcome) -> float | None:
    peak, before = outcome.median("memory_peak"), outcome.median("memory_before")
    return None if peak is None or before is None else peak - before


def _failures(grid: Grid, outcomes: Outcomes, task: Task) -> str:
    reasons = [
        f"\n- {PEERS[peer].title}: {failure}"
        for peer in grid.peers
        if (failure := outcomes[task, peer].failure)
    ]
    return "\n\nNot measured, or not in all rounds:\n" + "".join(reasons) if reasons else ""


def _share(value: float | None, baseline: float | None) -> str:
    return f" ({number(value / baseline)})" if value is not None and baseline else ""


def _bracketed(ratio: float | None) -> str:
    return "" if ratio is None else f" ({times(ratio)})"


# --- the figure -----------------------------------------------------------------------------------

_OWN = ("#14532d", "#4f9d5d", "#a3cfa4")
_OTHERS = ("#5f5f5f", "#9a9a9a", "#cfcfcf")


def draw(grid: Grid, outcomes: Outcomes) -> Any:
    """Draw a panel for each data set, a group of bars for each peer and a bar for each rate."""
    # A bare Figure needs neither pyplot nor a display.
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(task.dataset for task in grid.tasks))
    rates = list(dict.fromkeys(task.noise_rate for task in grid.tasks))
    peers = [peer for peer in grid.peers if peer != BASELINE]
    figure = Figure(figsize=(2.2 + 2.9 * len(names), 1.3 + 0.5 * len(peers)), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    height = 0.8 / len(rates)
    for ax, name in zip(panels, names, strict=True):
        longest = 1.0
        for row, peer in enumerate(peers):
            colors = _OWN if PEERS[peer].library == "hardwood" else _OTHERS
            for step, rate in enumerate(rates):
                ratio = speed_up(outcomes, Task(name, rate), peer)
                y = row + (step - (len(rates) - 1) / 2) * height
                if ratio is not None:
                    ax.barh(y, ratio, height * 0.92, color=colors[step % len(colors)])
                    longest = max(longest, ratio)
                ax.annotate(
                    _bar_label(ratio),
                    (ratio or 0, y),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=8,
                    color=MUTED,
                    bbox={"color": "white", "pad": 0.5},
                )
        ax.axvline(1, color="black", linewidth=1, zorder=0.5)
        ax.set_xlim(0, 1.22 * longest)
        ax.set_title(title(name), fontsize=11, loc="left")
        plain(ax)
    # The panels share their rows, so only the first one names them.
    names_axis = panels[0].yaxis
    names_axis.set_ticks(range(len(peers)), [PEERS[peer].title for peer in peers])
    for label, peer in zip(names_axis.get_ticklabels(), peers, strict=True):
        label.set_color("black" if PEERS[peer].library == "hardwood" else MUTED)
    names_axis.set_inverted(True)
    figure.supxlabel("fit speed, scikit-learn = 1", fontsize=10)
    handles = [
        Patch(color=color, label=_percent(rate, " of the labels flipped") or "clean labels")
        for color, rate in zip(_OTHERS, rates, strict=False)
    ]
    legend(figure, handles, "upper right", len(rates))
    return figure


def _bar_label(ratio: float | None) -> str:
    if ratio is None:
        return "not measured"
    return "< 0.01 ×" if ratio < 0.01 else f"{ratio:.1f} ×" if ratio >= 0.1 else f"{ratio:.2f} ×"

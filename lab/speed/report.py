"""The Markdown page: a summary, a table per task, and what must be known to read them."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence

from hardwood._core import _engine
from lab.speed.peers import BASELINE, PEERS
from lab.speed.runner import Outcome, Plan, Task
from lab.speed.worker import N_MANY_ROWS

__all__ = ["page", "speed_up", "summary_rows", "task_name"]

Outcomes = Mapping[tuple[Task, str], Outcome]

_TITLES = {
    "covertype": "Covertype",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "unsw_nb15": "UNSW-NB15",
    "20news": "20 Newsgroups",
    "mushrooms": "Mushrooms",
}
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
_MISSING = "–"


def task_name(task: Task) -> str:
    """Return what the report calls a task.

    Parameters
    ----------
    task : Task
        Data set and noise rate.

    Returns
    -------
    str
        For example "Covertype, 30 % noise".
    """
    labels = f"{task.noise_rate:.0%} noise".replace("%", " %") if task.noise_rate else "clean"
    return f"{_TITLES[task.dataset]}, {labels}"


def speed_up(outcomes: Outcomes, task: Task, peer: str, measure: str = "fit_wall") -> float | None:
    """Return how many times as fast as the baseline a peer is.

    Parameters
    ----------
    outcomes : mapping of (Task, str) to Outcome
        What `lab.speed.runner.run` returned.
    task : Task
        On what.
    peer : str
        Who.
    measure : str, default="fit_wall"
        A key of what the worker measures.

    Returns
    -------
    float or None
        The baseline's median over the peer's; None where one of them is missing.
    """
    if (task, BASELINE) not in outcomes:
        return None
    baseline = outcomes[task, BASELINE].median(measure)
    own = outcomes[task, peer].median(measure)
    return baseline / own if baseline and own else None


def summary_rows(plan: Plan, outcomes: Outcomes) -> list[list[str]]:
    """Return a row per peer: its name, and how fast it fits each task.

    Parameters
    ----------
    plan : Plan
        What was compared.
    outcomes : mapping of (Task, str) to Outcome
        What came of it.

    Returns
    -------
    list of list of str
        The cells.
    """
    return [
        [
            PEERS[peer].title,
            *(_times(speed_up(outcomes, task, peer)) or _MISSING for task in plan.tasks),
        ]
        for peer in plan.peers
    ]


def page(plan: Plan, outcomes: Outcomes, command: str, figure: str | None, title: str) -> str:
    """Return the whole page.

    Parameters
    ----------
    plan : Plan
        What was compared.
    outcomes : mapping of (Task, str) to Outcome
        What came of it.
    command : str
        What was typed to get it.
    figure : str or None
        The figure's file, relative to the page.
    title : str
        The page's.

    Returns
    -------
    str
        Markdown.
    """
    heading = ["", *map(task_name, plan.tasks)]
    image = f"![Fit speed relative to scikit-learn's]({figure})\n\n" if figure else ""
    tables = "\n\n".join(
        f"## {task_name(task)}\n\n{_table(_COLUMNS, _rows(plan, outcomes, task))}"
        + _failures(plan, outcomes, task)
        for task in plan.tasks
    )
    notes = "\n".join(
        f"- **{PEERS[peer].title}** {PEERS[peer].note}" for peer in plan.peers if PEERS[peer].note
    )
    return f"""# {title}

How many times as fast as scikit-learn's forest each one is fitted, by the clock:

{_table(heading, summary_rows(plan, outcomes))}

{image}{plan.n_trees} trees, ⌈√d⌉ features a node, unlimited depth, leaves of one sample, bootstrap,
{plan.n_threads} threads. Each measurement is taken in a fresh process, the libraries taking turns; the tables show
{_rounds(plan)}. Noise is the share of training labels flipped uniformly; test labels are clean.

{tables}

## How to read the tables

- Brackets compare with scikit-learn: how many times as fast, or what share of its bytes.
- All get the same float32 array, row by row, and what they turn it into is part of the fit. Where the
  notes below say otherwise, it is in the other library's favour.
- *CPU* is the processor time of the fit, summed over threads.
- *Accuracy* is measured on all test rows.
- *Visits* are the values that one tree looks at as it grows: rows × candidate features that vary,
  summed over the nodes. Counted on one bootstrap sample; for scikit-learn, the expected number. The
  other libraries do not show theirs.
- *Peak memory* is the process's, data and Python included; *of the fit* is what the fit added to it.
- *Model* is the pickle of the scikit-learn-like ones, and the library's own format for the others.
- *{N_MANY_ROWS:,} rows* and *one row* are calls of `predict_proba` with the threads of the fit; *by one
  thread* is one row with one thread, as one row leaves nothing to share.

What differs in spite of equal parameters:

{notes}

Measured with `{command}`
({_versions(plan)}).
"""


def _rounds(plan: Plan) -> str:
    return "one round" if plan.n_rounds == 1 else f"medians of {plan.n_rounds} rounds"


def _rows(plan: Plan, outcomes: Outcomes, task: Task) -> Iterable[list[str]]:
    baseline = outcomes.get((task, BASELINE), Outcome())
    for peer in plan.peers:
        outcome = outcomes[task, peer]
        if not outcome.measured:
            yield [PEERS[peer].title, *[_MISSING] * (len(_COLUMNS) - 1)]
            continue
        grown, grown_by_baseline = _fit_memory(outcome), _fit_memory(baseline)
        yield [
            PEERS[peer].title,
            _number(outcome.median("fit_wall")),
            _number(outcome.median("fit_cpu")),
            _times(speed_up(outcomes, task, peer)) or _MISSING,
            _number(outcome.median("accuracy"), 100, ".2f"),
            _number(outcome.median("nodes"), 1, ",.0f"),
            _number(outcome.median("visits"), 1e-6),
            _number(outcome.median("memory_peak"), 1e-6, ",.0f")
            + _share(outcome.median("memory_peak"), baseline.median("memory_peak")),
            _number(grown, 1e-6, ",.0f") + _share(grown, grown_by_baseline),
            _number(outcome.median("size"), 1e-6)
            + _share(outcome.median("size"), baseline.median("size")),
            *(
                _number(outcome.median(measure), 1000)
                + _bracketed(_times(speed_up(outcomes, task, peer, measure)))
                for measure in ("predict_many", "predict_one", "predict_one_alone")
            ),
        ]


def _fit_memory(outcome: Outcome) -> float | None:
    peak, before = outcome.median("memory_peak"), outcome.median("memory_before")
    return None if peak is None or before is None else peak - before


def _failures(plan: Plan, outcomes: Outcomes, task: Task) -> str:
    reasons = [
        f"\n- {PEERS[peer].title}: {failure}"
        for peer in plan.peers
        if (failure := outcomes[task, peer].failure)
    ]
    return "\n\nNot measured, or not in all rounds:\n" + "".join(reasons) if reasons else ""


def _number(value: float | None, scale: float = 1, style: str = "") -> str:
    """Write a number, by default with three significant digits."""
    if value is None:
        return _MISSING
    value *= scale
    if style:
        return format(value, style)
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{_number(ratio)} ×"


def _share(value: float | None, baseline: float | None) -> str:
    return f" ({_number(value / baseline)})" if value is not None and baseline else ""


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rules, *rows))


def _versions(plan: Plan) -> str:
    libraries = {PEERS[peer].library: PEERS[peer].version() for peer in plan.peers}
    named = [f"{library} {version}" for library, version in libraries.items()]
    return ", ".join([*named, f"Python {platform.python_version()}", _engine.isa()])

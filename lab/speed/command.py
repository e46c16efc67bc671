"""The arguments of ``hardwood bench`` and ``benchmarks/forest.py``."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hardwood import datasets
from lab.speed import report
from lab.speed.peers import PEERS
from lab.speed.runner import Outcome, Plan, Task, run
from lab.speed.worker import work

__all__ = ["main"]

_LARGE = ("covertype", "mnist", "unsw_nb15")
_DESCRIPTION = """Compare hardwood's forests with those of the libraries that are installed:
scikit-learn, scikit-learn-intelex, ydf, lightgbm, xgboost, and ranger through R."""


def main(arguments: Sequence[str] | None = None, program: str = "hardwood bench") -> None:
    """Measure, print a summary, and write a page and a figure if asked to.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; by default this process's.
    program : str, default="hardwood bench"
        What the user typed before the arguments.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    given = _parser(program).parse_args(arguments)
    if given.worker:
        work(given.worker)
        return
    # So that a worker ends with the benchmark: the runner stops it on its way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    names = given.datasets or [name for name in _LARGE if datasets.find(name)] or ["mushrooms"]
    plan = Plan(
        tasks=[Task(name, rate) for name in names for rate in given.noise],
        peers=given.peers or [name for name, peer in PEERS.items() if peer.version()],
        n_trees=given.trees,
        n_threads=given.threads,
        n_rounds=given.rounds,
        timeout=given.timeout,
    )
    for name in names:
        if datasets.find(name) is None:
            datasets.load(name)  # raises, and says where to put it
    outcomes = run(plan, given.results, tell=lambda line: print(line, flush=True))
    print("\nFit speed, scikit-learn = 1:")
    heading = ["", *map(report.task_name, plan.tasks)]
    _print_table([heading, *report.summary_rows(plan, outcomes)])
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        image = _save_figure(given.output.with_suffix(".png"), plan, outcomes)
        command = shlex.join([*shlex.split(program), *_without_results(arguments)])
        page = report.page(plan, outcomes, command, image, given.title)
        given.output.write_text(page, encoding="utf-8")


def _without_results(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that decide what the page shows: where measurements are kept does not."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--results")
    return parser.parse_known_args(arguments)[1]


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=_DESCRIPTION)
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=datasets.NAMES,
        help=f"by default those of {', '.join(_LARGE)} that are found, else mushrooms",
    )
    parser.add_argument(
        "--noise",
        nargs="+",
        type=_rate,
        default=[0.0, 0.3],
        metavar="RATE",
        help="shares of training labels to flip (default: 0 0.3)",
    )
    parser.add_argument("--trees", type=_positive, default=20, help="default: 20")
    parser.add_argument("--rounds", type=_positive, default=3, help="default: 3")
    parser.add_argument("--threads", type=_positive, default=2, help="default: 2")
    parser.add_argument(
        "--peers", nargs="+", choices=PEERS, help="by default all that are installed"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=900.0,
        metavar="SECONDS",
        help="stop a measurement after this long (default: 900)",
    )
    parser.add_argument(
        "--output", type=Path, metavar="PAGE.md", help="write the tables here, a figure beside it"
    )
    parser.add_argument(
        "--title", default="Forests against those of other libraries", help="of that page"
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FILE.jsonl",
        help="keep every measurement here; those that it holds are not taken again",
    )
    parser.add_argument("--worker", metavar="JSON", help=argparse.SUPPRESS)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 <= rate < 1:
        raise ValueError
    return rate


# How argparse names them in its errors.
_positive.__name__ = "number above 0"
_rate.__name__ = "share from 0 to below 1"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        print("  ".join(cells))


def _save_figure(
    path: Path, plan: Plan, outcomes: Mapping[tuple[Task, str], Outcome]
) -> str | None:
    """Save the figure and return its name, or say what it needs and return None."""
    from lab.speed import figure

    try:
        figure.save(path, plan, outcomes)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        print("No figure without Matplotlib: pip install 'hardwood[plot]'")
        return None
    return path.name

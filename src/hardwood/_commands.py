"""The commands of ``hardwood``, each a thin layer over the library."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NamedTuple

import joblib
import typer
from rich.console import Console
from rich.table import Table

from hardwood import RobustTreeClassifier, _engine, datasets, noise
from hardwood.criteria import Gini, NegativeExponential
from hardwood.experiments.command import app as reproduce_app

app = typer.Typer(
    help="Decision trees that stay accurate when training labels are wrong.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(reproduce_app, name="reproduce")
console = Console()


class _Outcome(NamedTuple):
    accuracy: float
    leaves: int
    seconds: float


_DEMO_CRITERIA = {
    "Gini": Gini(),
    "NE, λ = 0.5": NegativeExponential(lam=0.5),
    "NE, λ = 0.75": NegativeExponential(lam=0.75),
    "NE, λ = 1": NegativeExponential(lam=1.0),
}
# Grey for what everybody uses; the deeper the green, the more robust.
_DEMO_COLORS = dict(zip(_DEMO_CRITERIA, ("#8a8a8a", "#a3cfa4", "#4f9d5d", "#14532d"), strict=True))
_DEMO_NOISE_RATES = (0.0, 0.1, 0.2, 0.3, 0.4)


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Where to save the figure.")] = Path(
        "hardwood-demo.png"
    ),
    noise_rate: Annotated[
        float,
        typer.Option("--noise", min=0, max=0.5, help="Share of training labels to flip."),
    ] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise and of the trees.")] = 0,
) -> None:
    """Train trees on mushrooms, some of whose labels are wrong, and compare them."""
    outcomes = {rate: _train_each(rate, seed) for rate in sorted({*_DEMO_NOISE_RATES, noise_rate})}
    console.print(_outcome_table(noise_rate, outcomes[noise_rate]))
    console.print(
        "λ sets how robust the negative exponential (NE) criterion is: at λ = 1 it is the "
        "misclassification rate, as λ falls it nears the square root of Gini."
    )
    try:
        _save_demo_figure(output, outcomes)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("No figure without Matplotlib: pip install 'hardwood\\[plot]'")
    else:
        console.print(f"Figure: {output}", soft_wrap=True)


def _train_each(noise_rate: float, seed: int) -> dict[str, _Outcome]:
    X_train, y_train, X_test, y_test, *_ = datasets.load("mushrooms")
    noisy_y, _ = noise.corrupt(y_train, noise.uniform(2, noise_rate), random_state=seed)
    outcomes = {}
    for name, criterion in _DEMO_CRITERIA.items():
        tree = RobustTreeClassifier(criterion=criterion, random_state=seed)
        start = time.perf_counter()
        tree.fit(X_train, noisy_y)
        seconds = time.perf_counter() - start
        outcomes[name] = _Outcome(tree.score(X_test, y_test), tree.get_n_leaves(), seconds)
    return outcomes


def _outcome_table(noise_rate: float, outcomes: Mapping[str, _Outcome]) -> Table:
    table = Table(title=f"Mushrooms, {noise_rate:.0%} of the training labels flipped")
    table.add_column("criterion")
    for column in ("test accuracy", "leaves", "fit time"):
        table.add_column(column, justify="right")
    for name, outcome in outcomes.items():
        table.add_row(
            name,
            f"{outcome.accuracy:.1%}",
            f"{outcome.leaves:,}",
            f"{1000 * outcome.seconds:.0f} ms",
        )
    return table


def _save_demo_figure(path: Path, outcomes: Mapping[float, Mapping[str, _Outcome]]) -> None:
    # A bare Figure needs neither pyplot nor a display.
    from matplotlib.figure import Figure

    from hardwood.plotting import noise_curves

    def curves(field: str) -> dict[str, Sequence[float]]:
        return {
            name: [getattr(at_rate[name], field) for at_rate in outcomes.values()]
            for name in _DEMO_CRITERIA
        }

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    accuracy_ax, leaves_ax = figure.subplots(1, 2)
    rates = list(outcomes)
    noise_curves(
        rates,
        curves("accuracy"),
        ylabel="accuracy on clean test labels",
        colors=_DEMO_COLORS,
        ax=accuracy_ax,
    )
    accuracy_ax.set_ylim(0.5, 1)
    accuracy_ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    noise_curves(
        rates, curves("leaves"), ylabel="leaves of the tree", colors=_DEMO_COLORS, ax=leaves_ax
    )
    leaves_ax.set_yscale("log")
    leaves_ax.minorticks_off()
    leaves_ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    accuracy_ax.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)


# The benchmark reads its own arguments, --help included: benchmarks/forest.py takes the same.
@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def bench(context: typer.Context) -> None:
    """Compare forests with those of other libraries: time, accuracy, memory and size."""
    from hardwood.benchmark.command import main

    main(context.args)


@app.command()
def info(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Show versions, threads, the instruction set in use and where data is looked for."""
    facts = _facts()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    table = Table(show_header=False, box=None)
    for topic, fact in facts.items():
        table.add_row(topic.replace("_", " "), _as_text(fact))
    console.print(table)


def _facts() -> dict[str, object]:
    libraries = ("hardwood", "numpy", "scipy", "scikit-learn")
    return {
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in libraries},
        },
        "threads": joblib.cpu_count(),
        "instruction_set": _engine.isa(),
        "instruction_sets_available": _engine.isa_available(),
        "data_search_path": [str(folder) for folder in datasets.search_path()],
        "data_sets": {
            name: str(path) if (path := datasets.find(name)) else None for name in datasets.NAMES
        },
    }


def _as_text(fact: object) -> str:
    if isinstance(fact, dict):
        return "\n".join(f"{key}: {value or 'not found'}" for key, value in fact.items())
    if isinstance(fact, list):
        return "\n".join(map(str, fact))
    return str(fact)

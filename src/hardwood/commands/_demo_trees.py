"""The first part of ``hardwood demo``: one tree for each of a few criteria."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from hardwood import RobustTreeClassifier, datasets, noise
from hardwood._io.files import replacing
from hardwood.commands._common import console, print_path
from hardwood.criteria import Gini, NegativeExponential
from hardwood.tables import TableError


class _Outcome(NamedTuple):
    accuracy: float
    leaves: int
    seconds: float


_CRITERIA = {
    "Gini": Gini(),
    "NE, λ = 0.5": NegativeExponential(lam=0.5),
    "NE, λ = 0.75": NegativeExponential(lam=0.75),
    "NE, λ = 1": NegativeExponential(lam=1.0),
}
# Grey for the common criterion; the darker the green, the more robust.
_COLORS = dict(zip(_CRITERIA, ("#8a8a8a", "#a3cfa4", "#4f9d5d", "#14532d"), strict=True))
_NOISE_RATES = (0.0, 0.1, 0.2, 0.3, 0.4)


def show_trees(noise_rate: float, seed: int, figure: Path) -> None:
    """Print the accuracy of trees by criterion, and plot it against the share of wrong labels."""
    outcomes = {rate: _train_each(rate, seed) for rate in sorted({*_NOISE_RATES, noise_rate})}
    console.print(_outcome_table(noise_rate, outcomes[noise_rate]))
    console.print(
        "λ sets how robust the negative exponential (NE) criterion is. With λ = 1 it is the "
        "misclassification rate. As λ goes to 0, it approaches the square root of Gini."
    )
    try:
        _save_figure(figure, outcomes)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        console.print("The figure requires Matplotlib: pip install 'hardwood\\[plot]'")
    else:
        print_path("Figure", figure)


def _train_each(noise_rate: float, seed: int) -> dict[str, _Outcome]:
    X_train, y_train, X_test, y_test, *_ = datasets.load("mushrooms")
    noisy_y, _ = noise.corrupt(y_train, noise.uniform(2, noise_rate), random_state=seed)
    outcomes = {}
    for name, criterion in _CRITERIA.items():
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


def _save_figure(path: Path, outcomes: Mapping[float, Mapping[str, _Outcome]]) -> None:
    # A bare Figure needs neither pyplot nor a display.
    from matplotlib.figure import Figure

    from hardwood.plotting import noise_curves

    def curves(field: str) -> dict[str, Sequence[float]]:
        return {
            name: [getattr(at_rate[name], field) for at_rate in outcomes.values()]
            for name in _CRITERIA
        }

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    accuracy_ax, leaves_ax = figure.subplots(1, 2)
    rates = list(outcomes)
    noise_curves(
        rates,
        curves("accuracy"),
        ylabel="accuracy on clean test labels",
        colors=_COLORS,
        ax=accuracy_ax,
    )
    accuracy_ax.set_ylim(0.5, 1)
    accuracy_ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    noise_curves(rates, curves("leaves"), ylabel="number of leaves", colors=_COLORS, ax=leaves_ax)
    leaves_ax.set_yscale("log")
    leaves_ax.minorticks_off()
    leaves_ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    accuracy_ax.legend(frameon=False, loc="lower left")
    ending = path.suffix.lstrip(".").lower() or "png"
    if ending not in (known := figure.canvas.get_supported_filetypes()):
        raise TableError(f"{path} cannot be drawn. Its name can end with {', '.join(known)}.")
    with replacing(path) as file:
        figure.savefig(file, dpi=150, format=ending)

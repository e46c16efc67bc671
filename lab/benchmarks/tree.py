"""One tree compared with scikit-learn's: fit time, accuracy and leaves.

All features, no limit on depth, leaves of one row; the paper's multiclass tasks, with clean labels
and with 30 % of them flipped uniformly. All models get the array as it is stored. Converting it is
part of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import typer
from sklearn.tree import DecisionTreeClassifier

from hardwood import RobustTreeClassifier, datasets
from lab import options
from lab.benchmarks.timing import interleaved
from lab.data import noisy_labels
from lab.library import versions
from lab.tables import as_markdown

BASELINE = "scikit-learn, gini"
MODELS: dict[str, Callable[[], Any]] = {
    BASELINE: partial(DecisionTreeClassifier, criterion="gini", random_state=0),
    "hardwood, gini": partial(RobustTreeClassifier, criterion="gini", random_state=0),
    "hardwood, ne": partial(RobustTreeClassifier, criterion="ne", random_state=0),
}
NOISE_RATES = (0.0, 0.3)
COLUMNS = (
    "data set, noise",
    "model",
    "fit (s)",
    "CPU (s)",
    "× as fast",
    "test accuracy (%)",
    "leaves",
)


def bench(
    context: typer.Context,
    names: options.Datasets = None,
    rounds: options.Rounds = 3,
    output: options.Output = None,
) -> None:
    """Compare one tree with scikit-learn's: fit time, accuracy, leaves."""
    default = ("covertype", "mnist", "unsw_nb15", "20news", "mushrooms")
    rows = []
    for name in options.choose_datasets(names, default):
        dataset = datasets.load(name)
        for noise_rate in NOISE_RATES:
            for row in compare(dataset, noise_rate, rounds):
                print(name, f"{noise_rate:.0%}", *row, sep="\t", flush=True)
                rows.append([f"{name}, {noise_rate:.0%}", *row])
    if output:
        options.write_page(page(rows, rounds, options.command_line(context)), output)


def compare(dataset: datasets.Dataset, noise_rate: float, rounds: int) -> Iterator[list[str]]:
    """Yield one table row per model."""
    y_train = noisy_labels(dataset, noise_rate)
    trees = {name: make() for name, make in MODELS.items()}
    fits = {name: partial(tree.fit, dataset.X_train, y_train) for name, tree in trees.items()}
    timings = interleaved(fits, rounds)
    for name, tree in trees.items():
        yield [
            name,
            f"{timings[name].wall:.3g}",
            f"{timings[name].cpu:.3g}",
            f"{timings[BASELINE].wall / timings[name].wall:.2f}",
            f"{100 * tree.score(dataset.X_test, dataset.y_test):.2f}",
            f"{tree.get_n_leaves():,}",
        ]


def page(rows: list[list[str]], rounds: int, command: str) -> str:
    return f"""# One tree compared with scikit-learn's

Fit time is the median of {rounds} interleaved rounds. "× as fast" is scikit-learn's time divided by the
model's. All features, no limit on depth. Noise is the share of training labels flipped uniformly; test
labels are clean.

{as_markdown(COLUMNS, rows, n_text_columns=2)}

Measured with `{command}`
({versions(["hardwood", "scikit-learn", "numpy"])}).
"""

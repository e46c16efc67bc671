"""The adaptive tree compared with trees of which one parameter was tuned.

All see the same noisy labels, and are scored on clean ones. "λ", "minimum leaf" and "ccp_alpha" are
the parameter that was tuned; the latter two are of a Gini tree. Their values are chosen by
cross-validation in five folds or, above 15,000 rows, on a fifth of the rows. ANE always chooses on
a fifth. The last columns are the leaves of the adaptive tree, and its fit time divided by that of a
single Gini tree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from hardwood import AdaptiveTreeClassifier, ANETreeClassifier, RobustTreeClassifier
from hardwood.criteria import NegativeExponential
from lab import options
from lab.benchmarks import table_sets
from lab.benchmarks.timing import timed
from lab.data import load, noisy_labels
from lab.library import versions
from lab.tables import as_markdown

MANY_ROWS = 15_000
LAMS = (0, 0.25, 0.5, 0.75, 1)
LEAVES = (1, 2, 5, 10, 20, 50, 100)
ALPHAS = (0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)


def search(n_rows: int, name: str, values: tuple[float, ...]) -> GridSearchCV:
    """Return a tree that chooses the value of one parameter."""
    by_lam = name == "criterion__lam"
    tree = RobustTreeClassifier(
        criterion=NegativeExponential() if by_lam else "gini", random_state=0
    )
    folds = (
        StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
        if n_rows > MANY_ROWS
        else StratifiedKFold(5, shuffle=True, random_state=0)
    )
    return GridSearchCV(tree, {name: values}, cv=folds)


MODELS: dict[str, Callable[[int], Any]] = {
    "scikit-learn": lambda n_rows: DecisionTreeClassifier(random_state=0),
    "ANE": lambda n_rows: ANETreeClassifier(random_state=0),
    "λ": partial(search, name="criterion__lam", values=LAMS),
    "minimum leaf": partial(search, name="min_samples_leaf", values=LEAVES),
    "ccp_alpha": partial(search, name="ccp_alpha", values=ALPHAS),
    "adaptive": lambda n_rows: AdaptiveTreeClassifier(random_state=0),
}
COLUMNS = ("data", "noise", *MODELS, "leaves", "× the time")

Folder = Annotated[
    Path | None, typer.Option(help="A folder of tables; by default `tables` next to the data sets.")
]
Half = Annotated[str, typer.Option(help="The half of the tables, development or held-out.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of splits of each table.")]
Rows = Annotated[int, typer.Option(min=100, help="Maximum number of training rows of a data set.")]


def bench(
    names: Annotated[
        options.Several,
        options.several("Large data sets, instead of tables.", "NAMES", "--datasets"),
    ] = None,
    noise: Annotated[options.Several, options.several("Kinds of noise.", "KINDS")] = None,
    folder: Folder = None,
    half: Half = "held-out",
    seeds: Seeds = 3,
    rows: Rows = 20_000,
) -> None:
    """Compare the adaptive tree with trees of which one parameter was tuned."""
    if names:
        rates = options.choose_rates(noise, (0.0, 0.2, 0.3, 0.4))
        cells = of_datasets(options.choose_datasets(names), rates, rows)
    else:
        folder = folder or table_sets.default_folder()
        kinds = options.choose("--noise", noise, table_sets.NOISES)
        halves = options.choose("--half", [half], table_sets.HALVES)
        cells = of_tables(folder, halves, kinds, seeds)
    print(as_markdown(COLUMNS, list(summary(cells)), n_text_columns=2))
    print(f"\n{versions(['hardwood', 'scikit-learn', 'numpy'])}")


Cell = tuple[str, str, dict[str, Any]]
"""The data, the noise, and what was measured."""


def of_tables(folder: Path, halves: list[str], kinds: list[str], seeds: int) -> Iterator[Cell]:
    for path in table_sets.find_tables(folder):
        if table_sets.half_of(table_sets.name_of(path)) not in halves:
            continue
        for kind in kinds:
            for seed in range(seeds):
                split = table_sets.split_table(path, kind, seed)
                measured = measure(split.X_train, split.y_noisy, split.X_test, split.y_test)
                yield path.parent.name, kind, measured


def of_datasets(names: list[str], rates: list[float], n_rows: int) -> Iterator[Cell]:
    for name in names:
        data = load(name)
        rows = np.random.default_rng(0).permutation(len(data.X_train))[:n_rows]
        for rate in rates:
            y = noisy_labels(data, rate)
            yield name, f"{rate:g}", measure(data.X_train[rows], y[rows], data.X_test, data.y_test)


def measure(X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, Any]:
    """Return the accuracy of every model, and the leaves and the fit time of the adaptive tree."""
    measured: dict[str, Any] = {}
    seconds = {}
    for name, make in MODELS.items():
        model = make(len(X))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")
            seconds[name] = timed(partial(model.fit, X, y)).wall
        measured[name] = 100 * model.score(X_test, y_test)
    measured["leaves"] = model.get_n_leaves()  # of the last, the adaptive tree
    one = timed(partial(RobustTreeClassifier(criterion="gini", random_state=0).fit, X, y)).wall
    measured["× the time"] = seconds["adaptive"] / one
    return measured


def summary(cells: Iterator[Cell]) -> Iterator[list[str]]:
    """Average over cells of the same data and noise, then over all noises, then over everything."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    everything = []
    for data, kind, measured in cells:
        groups.setdefault(data, {}).setdefault(kind, []).append(measured)
        everything.append(measured)
    for data, by_kind in groups.items():
        for kind, some in by_kind.items():
            yield [data, kind, *means(some)]
        yield [data, "mean", *means([each for some in by_kind.values() for each in some])]
    yield ["all", "mean", *means(everything)]


def means(cells: list[dict[str, Any]]) -> list[str]:
    """Return mean accuracies, the mean number of leaves, and the median of the times."""
    columns = {name: [measured[name] for measured in cells] for name in COLUMNS[2:]}
    return [
        *(f"{np.mean(columns[name]):.2f}" for name in MODELS),
        f"{np.mean(columns['leaves']):.0f}",
        f"{np.median(columns['× the time']):.0f}",
    ]

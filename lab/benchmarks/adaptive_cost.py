"""The cost of adapting: fit times and sizes of adaptive forests relative to a plain forest.

The plain forest is `RobustForestClassifier` with Gini, bootstrap and as many trees. To mix forests, the
adaptive one grows two or three, and it chooses how to smooth them. The forests take turns, each fitted
anew. The table shows medians of the processor time, which other programs on the machine disturb least.
Of a real table, both see the training part of the first split, with columns of text as categories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.noise import corrupt, uniform
from lab import options
from lab.benchmarks import table_sets
from lab.benchmarks.timing import interleaved
from lab.data import load, noisy_labels
from lab.library import n_nodes, versions
from lab.tables import as_markdown

Rows = Callable[[float], tuple[Any, Any]]
"""Returns X, and labels of which this share is flipped."""

COLUMNS = (
    *("data", "chosen, most trees", "plain forest (s)", "adaptive forest, × its time"),
    "nodes, × the plain forest's",
)


def bench(
    names: options.Datasets = None,
    tables: Annotated[options.Several, options.several("Real tables instead of data sets.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of tables; by default HARDWOOD_DATA/tables.")
    ] = None,
    noise: options.Rates = None,
    trees: options.Trees = 200,
    rounds: options.Rounds = 3,
    threads: options.AllThreads = None,
) -> None:
    """Measure what adapting costs: fit time and size relative to a plain forest."""
    if tables:
        paths = {
            table_sets.name_of(path): path
            for path in table_sets.find_tables(folder or table_sets.default_folder())
        }
        chosen = {
            name: partial(_table, paths[name])
            for name in options.choose("--tables", tables, sorted(paths))
        }
    else:
        chosen = {name: partial(_data_set, name) for name in options.choose_datasets(names)}
    rates = options.choose_rates(noise, (0.0, 0.1, 0.4))
    rows = measure(chosen, rates, trees, rounds, threads or -1)
    print(as_markdown(COLUMNS, rows, n_text_columns=2))
    print(f"\n{versions(['hardwood', 'numpy'])}, {trees} trees")


def measure(
    chosen: Mapping[str, Rows], rates: Iterable[float], trees: int, rounds: int, threads: int
) -> Iterator[list[str]]:
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": threads}
    for name, rows in chosen.items():
        for rate in rates:
            X, y = rows(rate)
            forests: dict[str, Any] = {
                "plain": RobustForestClassifier(trees, criterion="gini", **shared),
                "adaptive": AdaptiveForestClassifier(trees, **shared),
            }
            fitted: dict[str, list[Any]] = {key: [] for key in forests}  # frees none while timing
            fits = {
                key: partial(_fit, forest, X, y, fitted[key]) for key, forest in forests.items()
            }
            timings = interleaved(fits, rounds)
            plain, adaptive = (fitted[key][0] for key in forests)
            table = adaptive.adaptation_
            yield [
                f"{name}, {100 * rate:.0f} % noise",
                str(table.loc[table["share"].idxmax(), "note"]),
                f"{timings['plain'].cpu:.2f}",
                f"{timings['adaptive'].cpu / timings['plain'].cpu:.2f}",
                f"{n_nodes(adaptive) / n_nodes(plain):.2f}",
            ]


def _data_set(name: str, rate: float) -> tuple[Any, Any]:
    data = load(name)
    return data.X_train, noisy_labels(data, rate)


def _table(path: Path, rate: float) -> tuple[Any, Any]:
    frame, y = table_sets.load_frame(path)
    train, _ = train_test_split(
        np.arange(len(y)), test_size=table_sets.TEST_SHARE, stratify=y, random_state=0
    )
    noisy, _ = corrupt(y[train], uniform(int(y.max()) + 1, rate), random_state=0)
    return frame.iloc[train], noisy


def _fit(forest: Any, X: Any, y: Any, fitted: list[Any]) -> None:
    fitted.append(clone(forest).fit(X, y))

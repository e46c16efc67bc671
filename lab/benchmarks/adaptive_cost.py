"""The cost of adapting: fit times and sizes of adaptive forests relative to a plain forest.

The plain forest is `RobustForestClassifier` with Gini, bootstrap and as many trees. To mix forests, the
adaptive one grows two or three, and it chooses how to smooth them. The forests take turns, each fitted
anew. The table shows medians of the processor time, which other programs on the machine disturb least.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.base import clone

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from lab import options
from lab.benchmarks.timing import interleaved
from lab.data import load, noisy_labels
from lab.library import n_nodes, versions
from lab.tables import as_markdown

COLUMNS = (
    *("data", "chosen, most trees", "plain forest (s)", "adaptive forest, × its time"),
    "nodes, × the plain forest's",
)


def bench(
    names: options.Datasets = None,
    noise: options.Rates = None,
    trees: options.Trees = 200,
    rounds: options.Rounds = 3,
) -> None:
    """Measure what adapting costs: fit time and size relative to a plain forest."""
    chosen, rates = options.choose_datasets(names), options.choose_rates(noise, (0.0, 0.1, 0.4))
    print(as_markdown(COLUMNS, measure(chosen, rates, trees, rounds), n_text_columns=2))
    print(f"\n{versions(['hardwood', 'numpy'])}, {trees} trees")


def measure(names: list[str], rates: list[float], trees: int, rounds: int) -> Iterator[list[str]]:
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": -1}
    for name in names:
        data = load(name)
        for rate in rates:
            y = noisy_labels(data, rate)
            forests: dict[str, Any] = {
                "plain": RobustForestClassifier(trees, criterion="gini", **shared),
                "adaptive": AdaptiveForestClassifier(trees, **shared),
            }
            fitted: dict[str, list[Any]] = {key: [] for key in forests}  # frees none while timing
            fits = {
                key: partial(_fit, forest, data.X_train, y, fitted[key])
                for key, forest in forests.items()
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


def _fit(forest: Any, X: Any, y: Any, fitted: list[Any]) -> None:
    fitted.append(clone(forest).fit(X, y))

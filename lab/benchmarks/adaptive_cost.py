"""The cost of adapting: fit times and sizes of adaptive forests relative to a plain forest.

The plain forest is `RobustForestClassifier` with Gini, bootstrap and as many trees. The adaptive
forest grows the same trees and chooses how to smooth them; with ``full_data=True`` it also grows as
many trees from all rows. The forests take turns, each fitted anew; the table shows medians.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.base import clone

from hardwood import RobustForestClassifier
from lab import options
from lab.benchmarks.timing import interleaved
from lab.data import load, noisy_labels
from lab.library import adaptive_forest, n_nodes, versions
from lab.tables import as_markdown

COLUMNS = (
    *("data", "chosen", "plain forest (s)", "drawn trees only, × its time"),
    *("with full_data, × its time", "nodes of the drawn trees, × the plain forest's", "of all"),
)


def bench(
    names: options.Datasets = None,
    noise: options.Rates = None,
    trees: options.Trees = 100,
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
                "drawn": adaptive_forest(trees, full_data=False, **shared),
                "both": adaptive_forest(trees, **shared),
            }
            fitted: dict[str, list[Any]] = {key: [] for key in forests}  # frees none while timing
            fits = {
                key: partial(_fit, forest, data.X_train, y, fitted[key])
                for key, forest in forests.items()
            }
            timings = interleaved(fits, rounds)
            nodes = {key: n_nodes(fitted[key][0]) for key in forests}
            table = fitted["drawn"][0].adaptation_
            yield [
                f"{name}, {100 * rate:.0f} % noise",
                str(table.loc[table["share"].idxmax(), "note"]),
                f"{timings['plain'].wall:.2f}",
                *(f"{timings[key].wall / timings['plain'].wall:.2f}" for key in ("drawn", "both")),
                *(f"{nodes[key] / nodes['plain']:.2f}" for key in ("drawn", "both")),
            ]


def _fit(forest: Any, X: Any, y: Any, fitted: list[Any]) -> None:
    fitted.append(clone(forest).fit(X, y))

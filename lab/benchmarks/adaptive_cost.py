"""What it costs to adapt: fit times and sizes of adaptive forests against a plain forest's.

The plain forest is `RobustForestClassifier` by Gini, with bootstrap and as many trees; the adaptive
one grows the same, chooses how to smooth it, and with ``full_data=True`` grows a second one. Forests
take turns, each fitted anew; the tables show medians.

    python benchmarks/adaptive_cost.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from sklearn.base import clone

from hardwood import AdaptiveForestClassifier, RobustForestClassifier, datasets
from lab.benchmarks.common import interleaved, markdown_table, noisy_labels, versions


def measure(names: list[str], rates: list[float], trees: int, rounds: int) -> Iterator[list[str]]:
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": -1}
    for name in names:
        data = datasets.load(name)
        for rate in rates:
            y = noisy_labels(data, rate, seed=0)
            forests: dict[str, Any] = {
                "plain": RobustForestClassifier(trees, criterion="gini", **shared),
                "first": AdaptiveForestClassifier(trees, full_data=False, **shared),
                "both": AdaptiveForestClassifier(trees, **shared),
            }
            fitted: dict[str, list[Any]] = {key: [] for key in forests}  # none is freed meanwhile
            fits = {
                key: partial(_fit, forest, data.X_train, y, fitted[key])
                for key, forest in forests.items()
            }
            timings = interleaved(fits, rounds)
            nodes = {key: len(fitted[key][0]._compact.nodes) for key in forests}
            table = fitted["first"][0].adaptation_
            yield [
                f"{name}, {100 * rate:.0f} % noise",
                str(table.loc[table["chosen"], "note"].iloc[0]),
                f"{timings['plain'].wall:.2f}",
                *(f"{timings[key].wall / timings['plain'].wall:.2f}" for key in ("first", "both")),
                *(f"{nodes[key] / nodes['plain']:.2f}" for key in ("first", "both")),
            ]


def _fit(forest: Any, X: Any, y: Any, fitted: list[Any]) -> None:
    fitted.append(clone(forest).fit(X, y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = [name for name in datasets.NAMES if datasets.find(name) is not None]
    parser.add_argument("--datasets", nargs="+", choices=here, default=here)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.1, 0.4])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    columns = (
        *("data", "chosen", "plain forest (s)", "first forest alone, × its time"),
        *("with full_data, × its time", "nodes of the first, share of the plain", "of both"),
    )
    rows = measure(arguments.datasets, arguments.noise, arguments.trees, arguments.rounds)
    print(markdown_table(columns, rows, n_text_columns=2))
    print(f"\n{versions(['hardwood', 'numpy'])}, {arguments.trees} trees")


if __name__ == "__main__":
    main()

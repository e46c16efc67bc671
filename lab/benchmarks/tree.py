"""One tree against scikit-learn's: fit time, accuracy and leaves.

All features, no limit on depth, one sample a leaf; the paper's multiclass tasks, with clean labels
and with 30 % of them flipped uniformly. All models get the same array as it is stored, and turning
it into what they work on is part of the fit.

    python benchmarks/tree.py --output docs/benchmarks/tree.md
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from hardwood import RobustTreeClassifier, datasets
from lab.benchmarks.common import interleaved, markdown_table, noisy_labels, versions

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


def compare(dataset: datasets.Dataset, noise_rate: float, rounds: int) -> Iterator[list[str]]:
    """Yield one table row per model."""
    y_train = noisy_labels(dataset, noise_rate, seed=0)
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


def measure(names: list[str], rounds: int) -> Iterator[list[str]]:
    for name in names:
        if datasets.find(name) is None:
            print(f"{name} is not at hand, left out", file=sys.stderr)
            continue
        dataset = datasets.load(name)
        for noise_rate in NOISE_RATES:
            for row in compare(dataset, noise_rate, rounds):
                print(name, f"{noise_rate:.0%}", *row, sep="\t", flush=True)
                yield [f"{name}, {noise_rate:.0%}", *row]


def report(rows: list[list[str]], rounds: int) -> str:
    command = shlex.join(["python", "benchmarks/tree.py", *sys.argv[1:]])
    return f"""# One tree against scikit-learn's

Fit time is the median of {rounds} interleaved rounds; "× as fast" is scikit-learn's time over the
model's. All features, no limit on depth. Noise is the share of training labels flipped uniformly;
test labels are clean.

{markdown_table(COLUMNS, rows, n_text_columns=2)}

Measured with `{command}`
({versions(["hardwood", "scikit-learn", "numpy"])}).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets",
        nargs="+",
        choices=datasets.NAMES,
        default=["covertype", "mnist", "unsw_nb15", "20news", "mushrooms"],
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="write a Markdown table here")
    arguments = parser.parse_args()
    rows = list(measure(arguments.datasets, arguments.rounds))
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(report(rows, arguments.rounds), encoding="utf-8")


if __name__ == "__main__":
    main()

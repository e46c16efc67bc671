"""The cost of an impurity of your own: fit times relative to Gini on the same data.

With two classes, the impurity is tabulated and the tree grows from the table. With more, the engine
calls the Python function once for all cuts of a feature in a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.datasets import make_classification

from hardwood import RobustForestClassifier, RobustTreeClassifier
from hardwood.criteria import Criterion, CustomImpurity, FromLoss, Gini
from hardwood.losses import DistributionLoss
from lab import options
from lab.benchmarks.timing import interleaved
from lab.data import load, noisy_labels
from lab.library import versions
from lab.tables import as_markdown

Array = npt.NDArray[np.float64]
Data = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def bench(rounds: options.Rounds = 3) -> None:
    """Measure the fit time of an impurity of your own, relative to Gini."""
    columns = ("data", "model", "criterion", "fit, CPU (ms)", "× Gini's time")
    print(as_markdown(columns, measure(rounds), n_text_columns=3))
    print(f"\n{versions(['hardwood', 'numpy', 'scipy'])}")


def gini(p: Array) -> Array:
    impurity: Array = (p * (1 - p)).sum(axis=1)
    return impurity


def mushrooms(noise_rate: float) -> Data:
    dataset = load("mushrooms")
    return dataset.X_train, noisy_labels(dataset, noise_rate)


def continuous(n_rows: int, n_classes: int) -> Data:
    X, y = make_classification(
        n_rows, 20, n_informative=10, n_classes=n_classes, flip_y=0.3, random_state=0
    )
    return X, y


TASKS: Mapping[str, Callable[[], Data]] = {
    "mushrooms, 2 classes": partial(mushrooms, 0.0),
    "mushrooms, 30 % noise": partial(mushrooms, 0.3),
    "continuous, 20,000 rows, 2 classes": partial(continuous, 20_000, 2),
    "continuous, 2,000 rows, 3 classes": partial(continuous, 2_000, 3),
    "continuous, 20,000 rows, 3 classes": partial(continuous, 20_000, 3),
    "continuous, 20,000 rows, 10 classes": partial(continuous, 20_000, 10),
}
MODELS: Mapping[str, Callable[[Criterion], Any]] = {
    "tree": lambda criterion: RobustTreeClassifier(criterion=criterion, random_state=0),
    "forest of 10": lambda criterion: RobustForestClassifier(
        10, criterion=criterion, random_state=0
    ),
}


def criteria(n_classes: int) -> dict[str, Criterion]:
    compared: dict[str, Criterion] = {"Gini": Gini(), "CustomImpurity(gini)": CustomImpurity(gini)}
    if n_classes == 2:
        student = DistributionLoss(stats.t(df=3, loc=1))
        student.impurity(0.5)  # computed once per loss, not once per fit
        compared["FromLoss, Student's t"] = FromLoss(student)
    return compared


def measure(rounds: int) -> Iterator[list[str]]:
    for task, make_data in TASKS.items():
        X, y = make_data()
        n_classes = len(np.unique(y))
        for model, make in MODELS.items():
            estimators = {name: make(c) for name, c in criteria(n_classes).items()}
            fits = {name: partial(e.fit, X, y) for name, e in estimators.items()}
            # A tree takes only milliseconds on the small sets.
            timings = interleaved(fits, rounds if n_classes > 2 else 5 * rounds)
            for name, timing in timings.items():
                ratio = timing.cpu / timings["Gini"].cpu
                yield [task, model, name, f"{1000 * timing.cpu:,.1f}", f"{ratio:.2f}"]

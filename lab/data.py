"""Data sets, and the noise that spoils their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import datasets, noise
from hardwood.datasets import SHAPES, Dataset

__all__ = [
    "NOISE_PARAMETERS",
    "TABLE_DATASETS",
    "TITLES",
    "at_hand",
    "has_the_papers_rows",
    "load",
    "noise_probabilities",
    "noisy_labels",
    "title",
]

TITLES = {
    "mnist": "MNIST",
    "20news": "20News",
    "unsw_nb15": "UNSW-NB15",
    "mushrooms": "Mushrooms",
    "covertype": "Covertype",
    "cifar10": "CIFAR-10",
    "cifar10_vgg11": "CIFAR-10, VGG11 features",
}
NOISE_PARAMETERS = {
    "uniform": {"rate"},
    "class_conditional": {"rates"},
    "pair_flip": {"rate"},
    "mahalanobis": {"low", "high"},
    "instance_dependent": {"rate"},
}
"""The kinds of noise in `hardwood.noise`, and the parameters of each that you can set."""


def title(dataset: str) -> str:
    """Return the paper's name of a data set, or `dataset` itself if the paper has none.

    Examples
    --------
    >>> from lab.data import title
    >>> title("20news")
    '20News'
    """
    return TITLES.get(dataset, dataset)


TABLE_DATASETS = tuple(name for name in datasets.NAMES if name != "cifar10_vgg11")
"""The data sets of the paper's tables."""


def at_hand(names: Sequence[str] = TABLE_DATASETS) -> list[str]:
    """Return the data sets whose files are on this machine."""
    return [name for name in names if datasets.find(name) is not None]


@lru_cache(maxsize=2)
def load(name: str, task: str = "multiclass") -> Dataset:
    """Load a data set, and keep it for the runs that follow."""
    return datasets.load(name, task=task)  # type: ignore[arg-type]


def has_the_papers_rows(dataset: str, n_train: int) -> bool:
    """Tell whether a training set has the paper's number of rows, to within one percent."""
    shape = SHAPES.get(dataset)
    return shape is None or abs(n_train - shape.n_train) < 0.01 * shape.n_train


def noise_probabilities(data: Dataset, definition: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return a noise matrix or, if the noise depends on the row, one row of probabilities each.

    Parameters
    ----------
    data : Dataset
        The data set.
    definition : mapping
        The ``kind`` of noise and its parameters; see `NOISE_PARAMETERS`.
    """
    parameters = dict(definition)
    kind = parameters.pop("kind")
    make = getattr(noise, kind)
    if kind in ("mahalanobis", "instance_dependent"):
        probabilities = make(data.X_train, data.y_train, **parameters)
    elif kind == "class_conditional":
        probabilities = make(**parameters)
    else:
        probabilities = make(len(data.classes), **parameters)
    return probabilities  # type: ignore[no-any-return]


def noisy_labels(data: Dataset, rate: float) -> NDArray[Any]:
    """Return the training labels with a share `rate` of them flipped uniformly."""
    T = noise.uniform(len(data.classes), rate)
    noisy_y, _ = noise.corrupt(data.y_train, T, random_state=0)
    return noisy_y

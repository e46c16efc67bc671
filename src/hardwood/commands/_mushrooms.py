"""The embedded Mushroom data as a typical table, with text and missing values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood import datasets, noise
from hardwood.tables.frames import pandas

LABEL = "class"
_MISSING = 0.05


class Mushrooms(NamedTuple):
    """Tables with a letter for each attribute, and their classes.

    Attributes
    ----------
    train, test : pandas.DataFrame
        The tables without the classes. In `train`, 5 % of the values are missing.
    labels : ndarray of str
        The labels of the training rows, some of them wrong.
    is_wrong : ndarray of bool
        Whether each of these labels is wrong.
    test_labels : ndarray of str
        The classes of the test rows.
    """

    train: Any
    labels: NDArray[Any]
    is_wrong: NDArray[np.bool_]
    test: Any
    test_labels: NDArray[Any]


def mushrooms(noise_rate: float, seed: int) -> Mushrooms:
    """Return the tables, with a share of the training labels flipped."""
    data = datasets.load("mushrooms")
    assert data.feature_names is not None  # the file has them
    noisy_y, is_wrong = noise.corrupt(data.y_train, noise.uniform(2, noise_rate), random_state=seed)
    train = _letters(data.X_train, data.feature_names)
    is_missing = np.random.default_rng(seed).random(train.shape) < _MISSING
    return Mushrooms(
        train.mask(is_missing),
        data.classes[noisy_y],
        is_wrong,
        _letters(data.X_test, data.feature_names),
        data.classes[data.y_test],
    )


def _letters(X: NDArray[Any], names: NDArray[Any]) -> Any:
    """Turn columns of 0 and 1, named ``attribute=letter``, into columns of letters."""
    pairs = [str(name).split("=") for name in names]
    columns = {}
    for attribute in dict.fromkeys(attribute for attribute, _ in pairs):
        places = [i for i, pair in enumerate(pairs) if pair[0] == attribute]
        letters = np.array([pairs[i][1] for i in places], dtype=object)
        columns[attribute] = letters[X[:, places].argmax(axis=1)]
    return pandas().DataFrame(columns)

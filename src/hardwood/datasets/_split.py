"""The paper's split of data sets that come in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset


def split(
    X: npt.NDArray[Any],
    y: npt.NDArray[np.uint8],
    classes: Sequence[str],
    feature_names: Sequence[str] | npt.NDArray[np.str_],
) -> Dataset:
    """Return 80 % of the rows for training and 20 % for testing, drawn as in the paper."""
    from sklearn.model_selection import train_test_split

    training, test = train_test_split(np.arange(len(y)), train_size=0.8, random_state=0)
    return Dataset(
        X[training], y[training], X[test], y[test], np.array(classes), np.array(feature_names)
    )

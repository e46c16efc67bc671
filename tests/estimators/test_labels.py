"""Labels that cannot be learnt from: missing, of several outputs, of several types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimators_list import ESTIMATORS, small

X = np.arange(12.0).reshape(6, 2)
LABELS = ["a", None, "b", "a", "b", "a"]
EVERY_ESTIMATOR = pytest.mark.parametrize("cls", ESTIMATORS)


@EVERY_ESTIMATOR
@pytest.mark.parametrize(
    "y",
    [
        LABELS,
        [1, None, 0, 1, 0, 1],
        [True, None, False, True, False, True],
        np.array(LABELS, dtype=object),
        np.array(["a", np.nan, "b", "a", "b", "a"], dtype=object),
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="string"),
        pd.Series(LABELS, dtype="category"),
        pd.Series(["a", pd.NA, "b", "a", "b", "a"]),
        pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-02"] * 2)).iloc[[0, 1, 2, 3, 5, 5]],
    ],
    ids=lambda y: type(y).__name__,
)
def test_missing_labels(cls: Any, y: Any) -> None:
    with pytest.raises(ValueError, match="1 of 6 are missing, the first in row 1"):
        small(cls, 2)().fit(X, y)


@EVERY_ESTIMATOR
@pytest.mark.parametrize("y", [[0, 1, np.nan, 0, 1, 1], pd.Series([0, 1, None, 0, 1, 1])], ids=str)
def test_missing_numbers(cls: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=r"contains NaN|missing"):
        small(cls, 2)().fit(X, y)


@EVERY_ESTIMATOR
def test_several_outputs(cls: Any) -> None:
    for y in (np.zeros((6, 2), dtype=int), [[1, 2]] * 6, pd.DataFrame({"a": LABELS, "b": LABELS})):
        with pytest.raises(ValueError, match=r"shape \(6, 2\).*MultiOutputClassifier"):
            small(cls, 2)().fit(X, y)


@EVERY_ESTIMATOR
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_labels(cls: Any, container: Any) -> None:
    with pytest.raises(TypeError, match="Sparse data was passed for y, but dense data is required"):
        small(cls, 2)().fit(X, container(np.eye(6, dtype=int)))


@EVERY_ESTIMATOR
def test_several_types(cls: Any) -> None:
    with pytest.raises(ValueError, match="labels of one type"):
        small(cls, 2)().fit(X, np.array(["a", 1, "b", "a", 1, "a"], dtype=object))


@EVERY_ESTIMATOR
@pytest.mark.parametrize("y", [[{"a": 1}] * 6, [[1], [1, 2], [3], [4], [5], [6]]], ids=str)
def test_no_labels_at_all(cls: Any, y: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        small(cls, 2)().fit(X, y)

"""Theorem 5: when a node stops splitting, on every small table of class counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_tables import SHAPES, Table, as_data, keeps_majority, same_distribution, tables

from hardwood import RobustTreeClassifier
from hardwood.criteria import (
    Entropy,
    GeneralizedCrossEntropy,
    Gini,
    Misclassification,
    NegativeExponential,
)

CONSERVATIVE = [
    Misclassification(),
    NegativeExponential(lam=1.0),
    GeneralizedCrossEntropy(q=1.0),
    GeneralizedCrossEntropy(q=2.0),
]
STRICTLY_CONCAVE = [
    Gini(),
    Entropy(),
    GeneralizedCrossEntropy(q=0.3),
    GeneralizedCrossEntropy(q=0.7),
]


def root_is_split(criterion: Any, table: Table) -> bool:
    X, y = as_data(table)
    return RobustTreeClassifier(criterion=criterion, max_depth=1).fit(X, y).get_depth() > 0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("criterion", CONSERVATIVE, ids=str)
def test_a_conservative_losses(criterion: Any, shape: tuple[int, int, int]) -> None:
    for table in tables(*shape):
        assert root_is_split(criterion, table) != keeps_majority(table), table


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("criterion", STRICTLY_CONCAVE, ids=str)
def test_b_strictly_concave_losses(criterion: Any, shape: tuple[int, int, int]) -> None:
    for table in tables(*shape):
        assert root_is_split(criterion, table) != same_distribution(table), table


@pytest.mark.parametrize("criterion", [*CONSERVATIVE, *STRICTLY_CONCAVE], ids=str)
@pytest.mark.parametrize("copies", [1, 3, 1000])
def test_xor_is_not_split(criterion: Any, copies: int) -> None:
    """Every first split of an exact XOR gains nothing, however often its rows are repeated."""
    X = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], copies, axis=0)
    y = X[:, 0] ^ X[:, 1]
    assert RobustTreeClassifier(criterion=criterion).fit(X, y).get_n_leaves() == 1


def weighted_root_is_split(criterion: Any, weights: Table) -> bool:
    X = [[0], [0], [1], [1], [2], [2]]
    y = [0, 1] * 3
    return RobustTreeClassifier(criterion=criterion, max_depth=1).fit(X, y, weights).get_depth() > 0


# One part in three, at every value of the feature.
EQUAL_SHARES = np.array([1, 2, 3, 6, 7, 14])


@pytest.mark.parametrize("criterion", [*CONSERVATIVE, *STRICTLY_CONCAVE], ids=str)
@pytest.mark.parametrize("scale", [1, 7, 1_000, 12_345, 1_000_003, 1 / 3])
def test_rounding_splits_nothing(criterion: Any, scale: float) -> None:
    assert not weighted_root_is_split(criterion, scale * EQUAL_SHARES)


@pytest.mark.parametrize("criterion", STRICTLY_CONCAVE, ids=str)
@pytest.mark.parametrize("scale", [1, 7, 1_000])
def test_rounding_stops_nothing(criterion: Any, scale: int) -> None:
    """One row too many among 33,000 gains 1e-8 of the risk."""
    assert weighted_root_is_split(criterion, scale * EQUAL_SHARES + [1, 0, 0, 0, 0, 0])

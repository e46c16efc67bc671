"""The forests to mix grow in two stages if there are many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import Array
from numpy.testing import assert_array_equal

from hardwood import AdaptiveForestClassifier
from hardwood.adaptive import _candidates
from hardwood.adaptive._candidates import cuts_to_try
from hardwood.adaptive._settings import Cuts
from hardwood.datasets import load
from hardwood.noise import corrupt, uniform

N_TREES = 40


@pytest.fixture
def in_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small tables count as large ones."""
    monkeypatch.setattr(_candidates, "_MOST_ROWS_AT_ONCE", 0)


@pytest.fixture
def grown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, int, int]]:
    """What grew: whether cuts are random, of how many features, and how many trees drew rows."""
    calls: list[tuple[bool, int, int]] = []
    grow = AdaptiveForestClassifier._grow

    def recorded(self: Any, growth: Any, data: Any, n_trees: int, **options: Any) -> Any:
        if options.get("n_draws"):
            calls.append((growth.random_cuts, growth.max_features, n_trees))
        return grow(self, growth, data, n_trees, **options)

    monkeypatch.setattr(AdaptiveForestClassifier, "_grow", recorded)
    return calls


def overlapping(rng: np.random.Generator, n_rows: int = 800) -> tuple[Array, Array]:
    """A table that no forest gets right. No cut of its many noisy columns helps."""
    X = rng.normal(size=(n_rows, 12))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.2), random_state=0)
    return X, y


def fitted(X: Array, y: Array, **parameters: Any) -> AdaptiveForestClassifier:
    options = {"n_estimators": N_TREES, "full_data": False, "random_state": 0} | parameters
    return AdaptiveForestClassifier(**options).fit(X, y)


def trees_of(grown: list[tuple[bool, int, int]]) -> dict[tuple[bool, int], int]:
    total: dict[tuple[bool, int], int] = {}
    for is_random, n_features, n_trees in grown:
        total[is_random, n_features] = total.get((is_random, n_features), 0) + n_trees
    return total


@pytest.mark.usefixtures("in_stages")
def test_forests_without_a_share_stop_halfway(
    grown: list[tuple[bool, int, int]], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardwood.adaptive._again.MOST_ROWS", 0)
    X, y = overlapping(rng, 3000)
    forest = fitted(X, y)
    table = forest.adaptation_
    share = {
        (splitter == "random", n): of["share"].sum()
        for (splitter, n), of in table.groupby(["splitter", "max_features"])
    }
    numbers = trees_of(grown)
    assert set(numbers) == set(share) == {(False, 4), (True, 4), (True, 8)}
    assert min(numbers.values()) == N_TREES // 2
    assert all(number in (N_TREES // 2, N_TREES) for number in numbers.values())
    assert all(share[own] == 0 for own, number in numbers.items() if number < N_TREES)
    assert np.isfinite(table["accuracy"]).all()  # also of those that stopped
    assert len(forest.estimators_) == N_TREES


def test_a_forest_without_errors_is_alone(grown: list[tuple[bool, int, int]]) -> None:
    data = load("mushrooms")  # has enough rows for two stages
    forest = fitted(data.X_train, data.y_train, n_estimators=200, full_data=True)
    assert forest.splitter_ == "best"
    # All trees of the model grow from all rows, so that those that judged it stop halfway.
    n_rows = len(data.y_train)
    n_drawn = 200 - round(200 * n_rows / (n_rows + 3000) / 2)
    assert trees_of(grown) == {(False, 11): n_drawn // 2}


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("full_data", [False, True])
def test_the_same_forest_with_out_of_bag_votes_and_any_threads(
    full_data: bool, rng: np.random.Generator
) -> None:
    for X, y in (overlapping(rng), (rng.normal(size=(600, 4)), np.arange(600) % 3)):
        forests = [
            fitted(X, y, full_data=full_data, **options)
            for options in ({}, {"oob_score": True}, {"n_jobs": 2})
        ]
        votes = [forest.predict_proba(X, noisy=True) for forest in forests]
        assert_array_equal(votes[0], votes[1])
        assert_array_equal(votes[0], votes[2])
        assert forests[1].oob_votes_.shape == (len(X), len(np.unique(y)))


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize("scoring", ["accuracy", "log_loss", "roc_auc"])
def test_every_scoring_works_in_stages(scoring: str, rng: np.random.Generator) -> None:
    X, y = overlapping(rng)
    forest = fitted(X, y, scoring=scoring)
    assert forest.adaptation_["share"].sum() == pytest.approx(1)
    assert len(forest.estimators_) == N_TREES


def test_large_tables_do_not_try_more_features() -> None:
    both = [Cuts("best", 3), Cuts("random", 3)]
    assert cuts_to_try("auto", 3, 9, 10_000) == [*both, Cuts("random", 6)]
    assert cuts_to_try("auto", 3, 9, 10_001) == both
    assert cuts_to_try("auto", 3, 3, 10_000) == both  # there are no more
    assert cuts_to_try("random", 3, 9, 10) == [Cuts("random", 3)]

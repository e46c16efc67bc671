"""The forests to mix grow in two stages if there are many rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from cases import Array
from numpy.testing import assert_allclose, assert_array_equal

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood._core.compact import CompactForest
from hardwood.adaptive import _candidates, _choice
from hardwood.adaptive._candidates import Candidates, cuts_to_try
from hardwood.adaptive._choice import Choice, Picked
from hardwood.adaptive._findings import LabelFindings
from hardwood.adaptive._judged import JudgedHere
from hardwood.adaptive._out_of_bag import OutOfBag, Voting
from hardwood.adaptive._scoring import Scores, evaluate
from hardwood.adaptive._settings import Cuts, Setting, settings
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
    goes_on = [own for own, number in numbers.items() if number > N_TREES // 2]
    # A forest that is alone gets all its trees.
    least = N_TREES if len(goes_on) == 1 else round(_candidates._ENOUGH * N_TREES)
    assert all(least <= numbers[own] <= N_TREES for own in goes_on)
    assert all(share[own] == 0 for own, number in numbers.items() if number < N_TREES)
    assert np.isfinite(table["accuracy"]).all()  # also of those that stopped
    assert len(forest.estimators_) == N_TREES


def told(parts: list[tuple[Setting, float]]) -> Choice:
    return Choice(parts, LabelFindings.nothing(2), None, False, "told", {})


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.0, 1.0]])
@pytest.mark.parametrize("starts", [(0, 0), (0, 3)])
def test_the_model_takes_each_number_once(
    shares: list[float], starts: tuple[int, int], rng: np.random.Generator
) -> None:
    cuts = [Cuts("best", 1), Cuts("random", 1)]
    forest = RobustForestClassifier(6, random_state=0).fit(*overlapping(rng, 100))._compact
    calls = []

    def numbers_of(trees: CompactForest) -> list[int]:
        of_all = [forest.tree(t).nodes.tobytes() for t in range(6)]
        return [of_all.index(trees.tree(t).nodes.tobytes()) for t in range(len(trees))]

    def grow(own: Cuts, first: int, n_trees: int) -> CompactForest:
        calls.append((own, *range(first, first + n_trees)))
        return forest.trees(first, first + n_trees)

    candidates = Candidates(grow, 6, None, 0)  # type: ignore[arg-type]
    for own, start in zip(cuts, starts, strict=True):
        candidates._grow_to(own, start, start + 3)
    choice = told([(Setting("plain", 1, own), w) for own, w in zip(cuts, shares, strict=True) if w])
    parts = candidates.mixed(choice, 6)
    assert [number for _, trees in parts for number in numbers_of(trees)] == list(range(6))
    assert [len(trees) for _, trees in parts] == [round(6 * w) for w in shares if w]
    for own in cuts:  # no tree grows twice
        grown = [number for to, *numbers in calls for number in numbers if to == own]
        assert sorted(grown) == sorted(set(grown))


def test_votes_of_forests_of_other_numbers_count_alike(rng: np.random.Generator) -> None:
    X, y = overlapping(rng, 200)
    data = RobustForestClassifier()._prepared(X, y, None)
    voting = Voting(JudgedHere(data, 200, 0, 1), np.arange(200, dtype=np.uint32))
    votes = {}
    for own, start in zip([Cuts("best", 1), Cuts("random", 1)], (0, 7), strict=True):
        forest = RobustForestClassifier(40, criterion="gini", random_state=0).fit(X, y)._compact
        votes[own] = (
            voting.votes(forest.trees(0, 20), start),
            voting.votes(forest.trees(20, 40), start + 20),
        )
    evidence = voting.evidence(votes)
    (first, n_first), (_, n_second) = votes[Cuts("best", 1)]
    seen = np.array([n > 0 for both in votes.values() for _, n in both]).all(axis=0)
    assert 100 < seen.sum() == len(evidence)
    assert_array_equal(evidence.n_votes, (n_first + n_second)[seen])
    for half, n in zip(evidence.halves, (n_first, n_second), strict=True):
        assert_allclose(half.sum(axis=2), np.tile(n[seen], (half.shape[1], 1)).T, rtol=1e-5)
    width = first.shape[1]
    assert_array_equal(evidence.halves[0][:, :width], first[seen])
    for k, half in enumerate(evidence.halves):
        scattered, n = votes[Cuts("random", 1)][k]
        mean = scattered[seen] / n[seen][:, np.newaxis, np.newaxis]
        own = half[:, width:] / half[:, width:].sum(axis=2, keepdims=True)
        assert_allclose(own, mean, atol=1e-5)


def test_a_forest_without_errors_is_alone(grown: list[tuple[bool, int, int]]) -> None:
    data = load("mushrooms")  # has enough rows for two stages
    forest = fitted(data.X_train, data.y_train, n_estimators=200, full_data=True)
    assert forest.splitter_ == "best"
    # All trees of the model grow from all rows, so that those that judged it stop halfway.
    n_rows = len(data.y_train)
    n_drawn = 200 - round(200 * n_rows / (n_rows + 3000) / 2)
    assert trees_of(grown) == {(False, 11): n_drawn // 2}


@pytest.mark.usefixtures("in_stages")
@pytest.mark.parametrize(("hardly_any", "stops"), [(0.025, True), (-1.0, False)])
def test_forests_of_clean_labels_stay_as_they_are_if_that_is_about_as_good(
    hardly_any: float,
    stops: bool,
    grown: list[tuple[bool, int, int]],
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    y = np.arange(1500) % 2
    X = rng.normal(size=(1500, 8)) + 0.8 * (2 * y[:, np.newaxis] - 1)
    monkeypatch.setattr(_choice, "evaluate", partial(evaluate, doubt=1e9))  # all are as good
    monkeypatch.setattr(_candidates, "_HARDLY_ANY_NOISE", hardly_any)
    monkeypatch.setattr(_candidates, "_FEWEST_ROWS_LEFT_PLAIN", 0)
    forest = fitted(X, y, full_data=True)
    chosen = forest.adaptation_.query("chosen")["family"]
    assert (set(chosen) == {"plain"}) == stops
    if stops:
        n_drawn = N_TREES - round(N_TREES * 1500 / (1500 + 3000) / 2)
        assert set(trees_of(grown).values()) == {n_drawn // 2}
    else:
        assert max(trees_of(grown).values()) > N_TREES // 2


def test_only_forests_that_are_as_good_without_smoothing_lose_it() -> None:
    cuts = [Cuts("best", 1), Cuts("random", 1)]
    tried = [s for own in cuts for s in settings(100, 2, own)]
    halves = (np.zeros((4, len(tried), 2), dtype=np.float32),) * 2
    zeros, n = np.zeros(len(tried)), len(tried) // 2
    evidence = OutOfBag(tried, halves, np.ones(4, dtype=np.int64), np.zeros(4, np.uint16), zeros)
    as_good = np.zeros(len(tried), dtype=bool)
    as_good[[2, n, n + 3]] = (
        True  # the plain forest with random cuts is, that with best cuts is not
    )
    scores = Scores(zeros, zeros, zeros, {}, as_good)
    picked = Picked(evidence, [2, n + 3], np.array([0.5, 0.5]), scores, zeros)
    assert picked.as_they_are().places == [2, n]
    assert not picked.as_they_are().is_plain


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

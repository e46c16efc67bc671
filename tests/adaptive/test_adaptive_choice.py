"""How far an adaptive forest trusts its leaves: every number against a slow one in NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import Array, continuous, missing, ties
from forests import bags
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
)
from hardwood._core.grow import TrainingSet, prepare
from hardwood.adaptive import _candidates
from hardwood.adaptive import forest as adaptive_forest
from hardwood.adaptive._choice import Choice
from hardwood.adaptive._findings import LabelFindings
from hardwood.adaptive._judged import JudgedHere
from hardwood.adaptive._mixing import apportioned, likely_shares, mixtures, shares_to_expect
from hardwood.adaptive._out_of_bag import OutOfBag, out_of_bag
from hardwood.adaptive._scoring import Scores, evaluate, gain_to_come
from hardwood.adaptive._settings import Cuts, Setting, settings
from hardwood.noise import corrupt, uniform
from hardwood.noise.vote_likelihoods import vote_likelihoods

N_TREES = 12


def grown(X: Array, y: Array, sample_weight: Any = None) -> tuple[Any, Any]:
    """A plain forest, and its data as the engine takes them."""
    forest = RobustForestClassifier(N_TREES, criterion="gini", random_state=4)
    forest.fit(X, y, sample_weight)
    return forest, prepared(forest, X, y, sample_weight)


def prepared(forest: Any, X: Array, y: Array, sample_weight: Any = None) -> TrainingSet:
    return prepare(forest, X, y, sample_weight, criterion="gini")


def path(tree: Any, row: Array) -> list[int]:
    """Nodes from the root to the row's leaf."""
    nodes = [0]
    while tree.children_left[nodes[-1]] >= 0:
        node = nodes[-1]
        value = row[tree.feature[node]]
        left = tree.missing_go_to_left[node] if np.isnan(value) else value <= tree.threshold[node]
        nodes.append((tree.children_left if left else tree.children_right)[node])
    return nodes


def voted(forest: RobustForestClassifier, data: TrainingSet) -> OutOfBag:
    return out_of_bag(
        {Cuts("best", forest.max_features_): forest._compact},
        JudgedHere(data, len(data.X), forest._seed, n_threads=2),
        forest._seed,
    )


def smoothed(tree: Any, row: Array, setting: Setting) -> Array:
    """What the tree predicts for a row under a setting, straight from the definitions."""
    nodes = path(tree, row)
    p, rows = tree.value[:, 0], tree.n_node_samples
    if setting.family != "shrink":
        stops = [node for node in nodes if rows[node] < setting.amount]
        return p[stops[0] if stops else nodes[-1]]
    n = tree.weighted_n_node_samples
    prediction = p[0].copy()
    for parent, node in pairwise(nodes):
        prediction += (p[node] - p[parent]) / (1 + setting.amount / n[parent])
    return prediction


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [ties, missing, continuous])
def test_votes_follow_the_formulas(make: Any, n_classes: int, rng: np.random.Generator) -> None:
    X, y, _ = make(n_classes, rng)
    forest, data = grown(X, y)
    evidence = voted(forest, data)
    is_drawn = bags(forest, np.nan_to_num(X)) > 0
    trees = [tree.tree_ for tree in forest.estimators_]
    half = N_TREES // 2
    seen = (~is_drawn[:half]).any(axis=0) & (~is_drawn[half:]).any(axis=0)
    assert_array_equal(evidence.labels, y[seen])
    assert_array_equal(evidence.n_votes, (~is_drawn[:, seen]).sum(axis=0))
    rows = np.flatnonzero(seen)[:15]
    i = rows[0]
    for place, setting in enumerate(evidence.settings):
        expected = [
            np.mean(
                [smoothed(trees[t], X[i], setting) for t in np.flatnonzero(~is_drawn[:, i])],
                axis=0,
            )
            for i in rows
        ]
        assert_allclose(evidence.scores(place)[: len(rows)], expected, atol=1e-5)
        of_half = [smoothed(trees[t], X[i], setting) for t in np.flatnonzero(~is_drawn[:half, i])]
        assert_allclose(evidence.halves[0][0, place], np.sum(of_half, axis=0), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_votes_do_not_depend_on_the_unit_of_weights(scale: float, rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    weights = rng.random(len(X)) + 0.1
    votes = []
    for unit in (1.0, scale):
        forest, data = grown(X, y, unit * weights)
        votes.append(voted(forest, data).halves[0])
    assert np.isfinite(votes[1]).all()
    stops = [place for place, s in enumerate(settings(len(X), 3)) if s.family != "shrink"]
    assert_allclose(votes[1][:, stops], votes[0][:, stops], rtol=1e-6)


@pytest.mark.parametrize(
    ("n_features", "n_classes", "n_rows"),
    # (e − 1) · 6000 · log₂ 6001 · features / (settings · classes), at least 2,000 and at most all
    [(1, 2, 2695), (3, 2, 6000), (2, 30, 2000), (20, 30, 3594)],
)
def test_votes_are_no_more_than_values_looked_at(
    n_features: int, n_classes: int, n_rows: int, rng: np.random.Generator
) -> None:
    X, y = rng.random((6000, n_features)), rng.integers(0, n_classes, 6000)
    forest = RobustForestClassifier(
        100, criterion="gini", max_depth=2, max_features=None, random_state=0
    )
    data = prepared(forest.fit(X, y), X, y)
    assert len(voted(forest, data)) == n_rows


@pytest.mark.parametrize(("rate", "n_rows"), [(0.0, 2000), (0.1, 3000)])
def test_few_rows_are_enough_where_all_are_right(
    rate: float, n_rows: int, rng: np.random.Generator
) -> None:
    X = np.where(rng.random((3000, 4)) < 0.5, -1.0, 1.0)
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, rate), random_state=0)
    # Of so many trees, every row is out of some bags of either half.
    forest = RobustForestClassifier(100, criterion="gini", max_features=None, random_state=0)
    data = prepared(forest.fit(X, y), X, y)
    assert len(voted(forest, data)) == n_rows


@pytest.mark.parametrize(
    "setting", [Setting("stop", 8), Setting("stop", 40), Setting("shrink", 10)]
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_smoothed_forests_predict_by_the_formulas(
    n_classes: int, setting: Setting, rng: np.random.Generator
) -> None:
    X, y, _ = continuous(n_classes, rng)
    forest, _ = grown(X, y)
    trees = [tree.tree_ for tree in forest.estimators_]
    n_nodes = len(forest._compact.nodes)
    forest._compact = setting.applied(forest._compact, n_threads=2)
    expected = [np.mean([smoothed(tree, row, setting) for tree in trees], axis=0) for row in X]
    assert_allclose(forest.predict_proba(X), expected, atol=1e-12)
    if setting.family == "stop":
        assert len(forest._compact.nodes) < n_nodes


@pytest.mark.parametrize("weight", [None, 3.0])
@pytest.mark.parametrize(("h", "smallest"), [(1, 2), (3, 2), (10, 5), (300, 5)])
def test_both_kinds_of_trees_are_shrunk(
    h: float,
    smallest: int,
    weight: float | None,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _ = continuous(3, rng)
    weights = None if weight is None else np.full(len(y), weight)
    setting = Setting("shrink", h, Cuts("best", 2))
    told = Choice([(setting, 1.0)], LabelFindings.nothing(3), None, False, "told", {})
    monkeypatch.setattr(_candidates, "choose", lambda *_, **__: told)
    monkeypatch.setattr(adaptive_forest, "_MANY_ROWS", 0)  # half of the trees grow from all rows
    forests = [
        AdaptiveForestClassifier(2 * N_TREES, oob_score=oob_score, random_state=4).fit(
            X, y, weights
        )
        for oob_score in (False, True)
    ]
    plain = {"criterion": "gini", "random_state": 4}
    first = RobustForestClassifier(N_TREES, **plain).fit(X, y, weights)
    # Trees grown from all rows follow those that draw rows.
    second = RobustForestClassifier(
        2 * N_TREES, bootstrap=False, min_samples_split=smallest, **plain
    ).fit(X, y, weights)
    expected = [
        np.mean(
            [smoothed(tree.tree_, row, setting) for tree in first.estimators_]
            + [
                smoothed(tree.tree_, row, Setting("shrink", h * (weight or 1)))
                for tree in second.estimators_[N_TREES:]
            ],
            axis=0,
        )
        for row in X[::4]
    ]
    for forest in forests:
        assert_allclose(forest.predict_proba(X[::4], noisy=True), expected, atol=1e-12)
        assert_allclose(forest.predict_proba(X[::4]), expected, atol=1e-9)  # nothing was found


def test_stopping_a_grown_tree_is_growing_a_stopped_one(rng: np.random.Generator) -> None:
    # All features are looked at, so that no draw differs.
    X, y, _ = continuous(3, rng)
    parameters = {"n_estimators": 4, "criterion": "gini", "max_features": None, "random_state": 1}
    full = RobustForestClassifier(**parameters).fit(X, y)
    stopped = RobustForestClassifier(min_samples_split=20, **parameters).fit(X, y)
    full._compact = full._compact.stopped(20)
    assert_allclose(full.predict_proba(X), stopped.predict_proba(X))
    assert_array_equal(full._compact.node_start, stopped._compact.node_start)


def test_settings_grow_with_the_data() -> None:
    assert [s.amount for s in settings(20, 2) if s.family == "stop"] == [3, 5, 8]
    stops = [s.amount for s in settings(100_000, 2) if s.family == "stop"]
    assert stops[:12] == [3, 5, 8, 12, 20, 32, 50, 80, 128, 200, 320, 500]
    assert stops[-1] == 50_000
    assert settings(5, 2)[0] == Setting("plain", 1)
    assert [s.amount for s in settings(5, 2)[1:]] == [1, 3, 10, 30, 100, 300, 1000, 3000]
    assert {s.family for s in settings(1000, 32)} == {"plain", "stop", "shrink"}
    assert {s.family for s in settings(1000, 33)} == {"plain", "stop"}  # their leaves are large


def evidence_of(votes: Array, labels: Array, weights: Array | None = None) -> OutOfBag:
    """Return evidence of votes[half, row, setting, class], of stops alone."""
    tried = [Setting("plain", 1), *(Setting("stop", m) for m in range(3, 2 + votes.shape[2]))]
    halves = tuple(votes.astype(np.float32))
    weights = np.ones(len(labels)) if weights is None else weights
    return OutOfBag(tried, halves, np.full(len(labels), 10), labels, weights)


def evidence_of_right(right: Array) -> OutOfBag:
    """Return evidence of what both halves get right[row, setting]; all labels are 0."""
    votes = np.stack([right, ~right], axis=2)
    return evidence_of(np.stack([votes, votes]), np.zeros(len(right), dtype=int))


def scored(evidence: OutOfBag, n_trees: int = 20) -> Scores:
    predictions = evidence.predictions()
    to_come = gain_to_come(evidence, predictions, n_trees)
    return evaluate(evidence, predictions[0], to_come, evidence.likelihoods())


def best(scores: Scores) -> int:
    (only,) = scores.best.values()
    return only


def evidence_of_one_class(n_zeros: int, n_rows: int, rng: np.random.Generator) -> OutOfBag:
    """Return evidence of a setting that predicts at random, and one that always predicts class 0."""
    labels = (np.arange(n_rows) >= n_zeros).astype(int)
    at_random = rng.integers(0, 2, n_rows)
    votes = np.stack([np.eye(2)[at_random] * 10, np.tile([6.0, 4.0], (n_rows, 1))], axis=1) / 2
    return evidence_of(np.stack([votes, votes]), labels)


@pytest.mark.parametrize(("n_zeros", "chosen"), [(54, 0), (80, 1)])
def test_one_class_for_all_rows_must_be_clearly_the_most_frequent(
    n_zeros: int, chosen: int, rng: np.random.Generator
) -> None:
    assert best(scored(evidence_of_one_class(n_zeros, 100, rng))) == chosen


def test_scores_are_weighted_accuracies_with_what_is_to_come(rng: np.random.Generator) -> None:
    votes = rng.dirichlet(np.ones(3), size=(2, 40, 4))
    labels, weights = rng.integers(0, 3, 40), rng.exponential(size=40)
    evidence = evidence_of(votes, labels, weights)
    predictions = evidence.predictions()
    to_come = gain_to_come(evidence, predictions, n_trees=50)
    scores = evaluate(evidence, predictions[0], to_come, np.zeros(4))
    share = weights / weights.sum()
    expected = []
    for setting in range(4):
        whole, first, second = (
            v[:, setting].argmax(axis=1) for v in (votes.sum(axis=0), votes[0], votes[1])
        )
        reward = whole == labels
        assert scores.accuracy[setting] == pytest.approx(share @ reward, rel=1e-5)
        error = np.sqrt(np.sum(share**2 * (reward - share @ reward) ** 2))
        assert scores.error[setting] == pytest.approx(error, rel=1e-5)
        # Of 50 trees, 10 votes are here.
        of_halves = ((first == labels) * 1 + (second == labels)) / 2
        expected.append(share @ (reward + ((whole == labels) - of_halves) * 0.8))
    a, b, c, d = expected
    shared = [
        np.array([1, 4, 6, 4, 1]) @ around / 16
        for around in ([b, a, a, b, c], [a, a, b, c, d], [a, b, c, d, d], [b, c, d, d, c])
    ]
    assert_allclose(scores.score, shared, rtol=1e-5)


def test_families_have_no_share_in_one_another() -> None:
    evidence = evidence_of_right(np.arange(16)[:, np.newaxis] < np.array([8, 8, 12, 12]))
    evidence.settings[2:] = [Setting("shrink", 1), Setting("shrink", 3)]
    assert_allclose(scored(evidence).score, [0.5, 0.5, 0.75, 0.75])


def test_ties_go_to_the_least_smoothing() -> None:
    assert best(scored(evidence_of_right(np.ones((10, 5), dtype=bool)))) == 0


def evidence_of_shares(shares: Array) -> OutOfBag:
    """Return evidence of ten votes, these shares[row, setting] of them for the label, which is 0."""
    votes = 5 * np.stack([shares, 1 - shares], axis=2)
    return evidence_of(np.stack([votes, votes]), np.zeros(len(shares), dtype=int))


def mixture_of(first: Array, second: Array) -> OutOfBag:
    """Return evidence of two forests with these shares of the votes for the label, which is 0."""
    evidence = evidence_of_shares(np.stack([first, second], axis=1))
    evidence.settings[:] = [Setting("plain", 1, Cuts("best")), Setting("plain", 1, Cuts("random"))]
    return evidence


def test_votes_of_a_mixture_are_mixed(rng: np.random.Generator) -> None:
    evidence = mixture_of(*rng.random((2, 50)))
    mixed = evidence.mixed([0, 1], np.array([0.25, 0.75]))
    assert_allclose(
        mixed.scores(), 0.25 * evidence.scores(0) + 0.75 * evidence.scores(1), rtol=1e-6
    )
    for half, of_both in zip(mixed.halves, evidence.halves, strict=True):
        assert_allclose(half[:, 0], 0.25 * of_both[:, 0] + 0.75 * of_both[:, 1], rtol=1e-6)
    (setting,) = mixed.settings
    assert setting.cuts.splitter == "random"  # which has most trees


def test_shares_are_the_mean_over_mixtures(rng: np.random.Generator) -> None:
    evidence = mixture_of(*rng.random((2, 30)))
    votes = evidence.halves[0] + evidence.halves[1]
    likelihoods = [
        vote_likelihoods(
            (w * votes[:, [0]] + (1 - w) * votes[:, [1]]).astype(np.float32),
            evidence.n_votes,
            evidence.labels,
            evidence.weights,
        )[0]
        for w in (0, 0.25, 0.5, 0.75, 1)
    ]
    weights = np.exp(likelihoods - np.max(likelihoods))
    expected = weights @ [0, 0.25, 0.5, 0.75, 1] / weights.sum()
    assert_allclose(likely_shares(evidence, [0, 1]), [expected, 1 - expected], rtol=1e-4)


@pytest.mark.parametrize("n_trees", [10, 15, 200])
def test_shares_to_expect_allow_for_the_votes_of_all_forests(
    n_trees: int, rng: np.random.Generator
) -> None:
    first, second = rng.integers(0, 6, (2, 2, 40)) / 5  # [half, row], shares of five votes
    votes = np.stack([[5 * half, 5 - 5 * half] for half in (first, second)])  # [forest, class, ...]
    halves = np.moveaxis(votes, [0, 1, 2, 3], [2, 3, 0, 1])
    evidence = evidence_of(halves, np.zeros(40, dtype=int))
    evidence.settings[:] = [Setting("plain", 1, Cuts("best")), Setting("plain", 1, Cuts("random"))]
    expected = []
    for w in (0, 0.25, 0.5, 0.75, 1):
        mixed = [w * half[:, [0]] + (1 - w) * half[:, [1]] for half in halves]
        whole, one, other = (
            vote_likelihoods(
                votes.astype(np.float32),
                np.full(40, number),
                evidence.labels,
                evidence.weights,
            )[0]
            for votes, number in ((mixed[0] + mixed[1], 10), (mixed[0], 5), (mixed[1], 5))
        )
        # Ten votes of each forest vary as so many of a forest with these shares.
        n_votes = 10 / (w**2 + (1 - w) ** 2)
        expected.append(whole + (whole - (one + other) / 2) * max(0, 1 - n_votes / n_trees))
    weights = np.exp(np.array(expected) - max(expected))
    share = weights @ [0, 0.25, 0.5, 0.75, 1] / weights.sum()
    shares = shares_to_expect(evidence, [0, 1], n_trees)
    assert_allclose(shares, [share, 1 - share], rtol=1e-3)


def test_forests_that_do_not_differ_are_mixed_evenly(rng: np.random.Generator) -> None:
    shares = rng.random(500)
    assert_allclose(likely_shares(mixture_of(shares, shares), [0, 1]), 0.5, atol=1e-6)


def test_a_forest_that_knows_less_has_few_trees(rng: np.random.Generator) -> None:
    sure = rng.random((2, 3000))
    good, poor = (
        np.where(rng.random(3000) < p, 1 - s / 2, s / 2)
        for p, s in zip((0.9, 0.6), sure, strict=True)
    )
    shares = likely_shares(mixture_of(poor, good), [0, 1])
    assert shares[1] > 0.7
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(("n_forests", "n_mixtures"), [(1, 1), (2, 5), (3, 15)])
def test_mixtures_are_all_shares_in_quarters(n_forests: int, n_mixtures: int) -> None:
    tried = mixtures(n_forests)
    assert tried.shape == (n_mixtures, n_forests)
    assert_allclose(tried.sum(axis=1), 1)
    assert len(np.unique(tried, axis=0)) == n_mixtures


@given(
    shares=st.lists(st.floats(0, 1), min_size=1, max_size=5).filter(lambda s: sum(s) > 0.01),
    n_trees=st.integers(1, 300),
)
def test_numbers_of_trees_add_up(shares: list[float], n_trees: int) -> None:
    exact = np.array(shares) / np.sum(shares)
    numbers = apportioned(exact, n_trees)
    assert numbers.sum() == n_trees
    assert np.abs(numbers - exact * n_trees).max() < 1 + 1e-6
    assert (numbers[exact == 0] == 0).all()


@pytest.mark.parametrize(("n_better", "taken"), [(10, 0), (60, 1)])
def test_of_settings_as_good_within_doubt_the_most_likely_is_taken(
    n_better: int, taken: int
) -> None:
    # The second setting is right on n + 200 rows where the first is wrong, and wrong on 200
    # others: the difference is n rows, and its error about 20. The first has surer votes.
    shares = np.tile([0.9, 0.6], (4000, 1))
    shares[: 200 + n_better, 0] = 0.4
    shares[-200:, 1] = 0.4
    evidence = evidence_of_shares(shares)
    scores = scored(evidence)
    assert scores.score.argmax() == 1
    assert evidence.likelihoods()[0] > evidence.likelihoods()[1]
    assert best(scores) == taken


def test_of_settings_as_good_within_doubt_the_surer_one_may_smooth_more() -> None:
    shares = np.tile([0.6, 0.9], (4000, 1))
    shares[:200, 0] = 0.4
    shares[-210:, 1] = 0.4
    scores = scored(evidence_of_shares(shares))
    assert scores.score.argmax() == 0
    assert best(scores) == 1


def test_no_setting_far_behind_is_carried_by_extrapolation() -> None:
    # The second setting is right on 60 % of the rows where each half is right on 30 % of these,
    # and so promises more than the first, which is right on 90 %.
    n_rows = 1000
    votes = np.zeros((2, n_rows, 2, 2))
    votes[:, :, 0, 0] = np.arange(n_rows) < 900
    votes[:, :, 0, 1] = 0.5
    votes[:, :, 1] = [0, 1]
    votes[0, :300, 1] = votes[1, 300:600, 1] = [3, 0]
    scores = scored(evidence_of(votes, np.zeros(n_rows, dtype=int)), n_trees=1000)
    assert_allclose(scores.accuracy, [0.9, 0.6], rtol=1e-5)
    assert best(scores) == 0


def test_the_table_tells_what_was_chosen(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1000, 5))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.3), random_state=0)
    forest = AdaptiveForestClassifier(40, random_state=0).fit(X, y)
    table = forest.adaptation_
    forests = table.groupby(["splitter", "max_features"])
    assert set(forests.groups) == {("best", 3), ("random", 3), ("random", 5)}
    assert (forests["chosen"].sum() <= 1).all()
    assert table["share"].sum() == pytest.approx(1)
    assert_array_equal(table["share"] > 0, table["chosen"])
    assert_array_equal(table["note"] != "", table["chosen"])
    chosen = table[table["chosen"]]
    assert (chosen["family"] != "plain").all()
    best_score = forests["score"].transform("max")[chosen.index]
    assert (best_score - chosen["score"] < 2 * table["error"].max()).all()


def test_a_mixture_has_trees_of_every_part(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = continuous(3, rng)
    parts = [
        (Setting("stop", 20, Cuts("best", 2)), 0.5),
        (Setting("shrink", 10, Cuts("random", 2)), 0.25),
        (Setting("plain", 1, Cuts("random", 4)), 0.25),
    ]
    told = Choice(parts, LabelFindings.nothing(3), None, False, "told", {})
    monkeypatch.setattr(_candidates, "choose", lambda *_, **__: told)
    forest = AdaptiveForestClassifier(
        N_TREES, max_features=2, full_data=False, oob_score=True, random_state=4
    ).fit(X, y)
    plain = {"n_estimators": N_TREES, "criterion": "gini", "random_state": 4, "bootstrap": True}
    grown_alone = [
        RobustForestClassifier(max_features=2, **plain).fit(X, y).estimators_[:6],
        RobustExtraTreesClassifier(max_features=2, **plain).fit(X, y).estimators_[6:9],
        RobustExtraTreesClassifier(max_features=4, **plain).fit(X, y).estimators_[9:],
    ]
    votes = np.array(
        [
            [smoothed(tree.tree_, row, setting) for row in X]
            for (setting, _), trees in zip(parts, grown_alone, strict=True)
            for tree in trees
        ]
    )
    assert forest.splitter_ == "mixed"
    assert_allclose(forest.predict_proba(X, noisy=True), votes.mean(axis=0), atol=1e-12)
    # Each tree votes out of its own bag: no two trees of the mixture draw the same rows.
    is_out = bags(RobustForestClassifier(N_TREES, random_state=4), X) == 0
    expected = [votes[is_out[:, i], i].mean(axis=0) for i in np.flatnonzero(is_out.any(axis=0))]
    assert_allclose(forest.oob_votes_[is_out.any(axis=0)], expected, atol=1e-12)


@pytest.mark.parametrize("full_data", [False, True])
def test_a_forest_that_stops_is_smaller_than_the_plain_one(full_data: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    y, _ = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.4), random_state=0)
    n_trees = 20 if full_data else 10
    forest = AdaptiveForestClassifier(n_trees, full_data=full_data, random_state=1).fit(X, y)
    plain = RobustForestClassifier(10, criterion="gini", random_state=0).fit(X, y)
    assert len(forest.estimators_) == n_trees
    assert (forest.adaptation_.query("chosen")["family"] == "stop").all()
    first = forest._compact.trees(0, 10)
    assert len(first.nodes) < len(plain._compact.nodes) / 2

"""The table of labels, and what cleaning does with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from simulated_labels import simulate

from hardwood.audit import DETECTORS, clean, find_label_issues
from hardwood.audit.issues import trade_off
from hardwood.noise import pair_flip, uniform


@pytest.mark.parametrize("detector", DETECTORS)
def test_the_table(detector: str, rng: np.random.Generator) -> None:
    data = simulate(pair_flip(3, 0.2), 2000, rng)
    names = np.array(["ash", "beech", "cedar"])
    issues = find_label_issues(names[data.observed], data.proba, detector=detector)
    assert issues.columns.tolist() == ["given", "suggested", "score", "is_issue", "rank"]
    assert issues.index.tolist() == list(range(2000))
    assert_array_equal(issues["given"], names[data.observed])
    assert issues["score"].between(0, 1).all()
    assert_array_equal(issues["is_issue"], issues["rank"] <= round(issues["score"].sum()))
    assert_array_equal(issues["is_issue"], issues["suggested"] != issues["given"])
    assert sorted(issues["rank"]) == list(range(1, 2001))
    assert np.all(np.diff(issues.sort_values("rank")["score"]) < 0)
    is_right = issues["suggested"] == names[data.true]
    assert is_right.mean() > (data.observed == data.true).mean() + 0.1


@pytest.mark.parametrize("name", ["by_order", "posterior"])
def test_ones_own_detector(
    name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = simulate(uniform(2, 0.2), 200, rng)
    monkeypatch.setitem(DETECTORS, name, lambda evidence: np.arange(len(evidence.labels)))
    issues = find_label_issues(data.observed, data.proba, detector=name)
    assert issues["rank"].tolist() == list(range(200, 0, -1))
    assert issues["score"].is_monotonic_increasing


def test_scores_are_probabilities(rng: np.random.Generator) -> None:
    data = simulate(uniform(3, 0.3), 20_000, rng, overlap=0.3)
    score = find_label_issues(data.observed, data.proba)["score"]
    wrong = data.observed != data.true
    assert score.mean() == pytest.approx(wrong.mean(), abs=0.03)
    assert wrong[score > 0.9].mean() > 0.9
    assert wrong[score < 0.1].mean() < 0.1


def test_a_known_matrix_is_used(rng: np.random.Generator) -> None:
    data = simulate(uniform(2, 0.3), 1000, rng)
    issues = find_label_issues(data.observed, data.proba, noise_matrix=np.eye(2))
    assert issues["score"].max() < 1e-5
    assert not issues["is_issue"].any()


def test_equal_labels_have_different_ranks_and_scores() -> None:
    labels = np.arange(40) % 2
    proba = np.where(labels[:, np.newaxis] == [0, 1], 0.9, 0.1)
    issues = find_label_issues(labels, proba)
    assert issues["score"].nunique() == 40
    assert np.ptp(issues["score"]) < 1e-5
    assert_array_equal(issues["rank"], issues["score"].rank(ascending=False))


def test_nothing_is_an_issue_if_the_probabilities_know_nothing(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 2, 300)
    issues = find_label_issues(labels, rng.dirichlet([5, 5], size=300))
    assert not issues["is_issue"].any()
    assert_array_equal(issues["suggested"], labels)


# --- the trade-off -------------------------------------------------------------------------------


def test_the_trade_off_by_hand() -> None:
    score = np.array([0.1, 0.9, 0.4, 0.8, 0.3, 0.5])
    table = trade_off(score, 3)
    assert table["rows"].tolist() == [1, 2, 3, 4, 6]
    assert_allclose(table["found"], [0.9, 1.7, 2.2, 2.6, 3.0])
    assert_allclose(table["left"], [2.1, 1.3, 0.8, 0.4, 0.0], atol=1e-12)
    assert_allclose(table["share"], table["found"] / 3)


def test_without_issues_there_is_no_trade_off() -> None:
    assert all(len(column) == 0 for column in trade_off(np.array([0.1, 0.2]), 0).values())


@pytest.mark.parametrize("dtype", [np.int8, np.float64, bool, "U3", object])
def test_labels_keep_their_type(dtype: type, rng: np.random.Generator) -> None:
    data = simulate(uniform(2, 0.3), 500, rng)
    values = ["no", "yes"] if dtype in ("U3", object) else [0, 1]
    issues = find_label_issues(np.array(values, dtype=dtype)[data.observed], data.proba)
    assert set(issues["suggested"].unique().tolist()) <= set(values)


def test_a_class_of_one_row_works(rng: np.random.Generator) -> None:
    data = simulate(uniform(3, 0.1), 400, rng, prior=[0.5, 0.5, 0.0])
    keep = data.observed < 2
    labels = np.append(data.observed[keep], 2)
    proba = np.vstack([data.proba[keep], [0.4, 0.4, 0.2]])
    issues = find_label_issues(labels, proba)
    assert len(issues) == keep.sum() + 1
    _, y, _ = clean(np.zeros((len(labels), 1)), labels, proba=proba)
    assert 2 in y


# --- cleaning ------------------------------------------------------------------------------------


def cleaned(how: str, X, y, data):
    return clean(X, y, how=how, proba=data.proba)


def test_drop_relabel_and_weight(rng: np.random.Generator) -> None:
    data = simulate(uniform(3, 0.3), 1500, rng)
    X = rng.normal(size=(1500, 2))
    issues = find_label_issues(data.observed, data.proba)
    is_issue = issues["is_issue"].to_numpy()
    X_kept, y_kept, weight = cleaned("drop", X, data.observed, data)
    assert_array_equal(X_kept, X[~is_issue])
    assert_array_equal(y_kept, data.observed[~is_issue])
    assert weight is None
    X_same, y_new, weight = cleaned("relabel", X, data.observed, data)
    assert X_same is X
    assert_array_equal(y_new, issues["suggested"])
    assert weight is None
    X_same, y_same, weight = cleaned("weight", X, data.observed, data)
    assert X_same is X
    assert y_same is data.observed
    assert_allclose(weight, np.where(is_issue, 0, 1 - issues["score"]))


def test_frames_stay_frames(rng: np.random.Generator) -> None:
    data = simulate(uniform(2, 0.2), 600, rng)
    index = rng.permutation(600)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": "x"}, index=index)
    y = pd.Series(np.array(["no", "yes"])[data.observed], index=index, name="answer")
    X_kept, y_kept, _ = cleaned("drop", X, y, data)
    assert X_kept.columns.tolist() == ["a", "b"]
    assert X_kept.index.equals(y_kept.index)
    assert len(X_kept) < 600
    _, relabelled, _ = cleaned("relabel", X, y, data)
    assert relabelled.index.equals(y.index)
    assert relabelled.name == "answer"
    X_kept, _, _ = cleaned("drop", pl.DataFrame({"a": np.arange(600)}), y, data)
    assert isinstance(X_kept, pl.DataFrame)
    X_kept, y_kept, _ = cleaned("drop", X, y.tolist(), data)
    assert len(X_kept) == len(y_kept)


def test_no_class_is_lost(rng: np.random.Generator) -> None:
    proba = np.tile([0.98, 0.01, 0.01], (300, 1))
    labels = np.r_[np.zeros(290, dtype=int), [1] * 5, [2] * 5]
    for how in ("drop", "relabel"):
        _, y, _ = clean(np.zeros((300, 1)), labels, how=how, proba=proba)
        assert set(y.tolist()) == {0, 1, 2}
    _, _, weight = clean(np.zeros((300, 1)), labels, how="weight", proba=proba)
    assert all(weight[labels == k].max() > 0 for k in range(3))

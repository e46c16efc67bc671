"""Copies of rows are found and kept together; separate observations stay separate."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Array
from forests import assert_same_forest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier

import hardwood
from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood._core import copies
from hardwood._core.copies import count_near_copies, find_copies
from hardwood.audit import LabelAudit
from hardwood.audit.gain import _halves
from hardwood.noise import corrupt, uniform

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


def prepared(X: Array, y: Array) -> Any:
    return RobustForestClassifier(criterion="gini")._prepared(X, y, None)


def found(X: Array, y: Array) -> Array | None:
    return find_copies(prepared(X, y), seed=0)


def noisy_table(rng: np.random.Generator, n_rows: int = 600) -> tuple[Array, Array, Array]:
    """Rows of real numbers; every fifth label is wrong."""
    X = rng.normal(size=(n_rows, 5))
    y, flipped = corrupt((X[:, 0] > 0).astype(int), uniform(2, 0.2), random_state=0)
    return X, y, flipped


def few_distinct_rows(rng: np.random.Generator, n_rows: int = 900) -> tuple[Array, Array]:
    """Three columns of six values, 216 distinct rows, drawn again and again."""
    X = rng.integers(0, 6, (n_rows, 3)).astype(float)
    return X, (X.sum(axis=1) % 3 == 0).astype(int)


def some_twice(rng: np.random.Generator, n_rows: int) -> Array:
    """The numbers of all rows, and of three in ten again."""
    return np.concatenate([np.arange(n_rows), np.flatnonzero(rng.random(n_rows) < 0.3)])


# --- equal rows ----------------------------------------------------------------------------------

VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.5, 1e-300, float("nan"), 2.0**53])


@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=VALUES))
def test_rows_are_equal_if_all_their_values_are(X: Array) -> None:
    stack, sizes = copies._stacks(copies._mixed(copies.block_hashes(X, 1)))
    same = ((X[:, np.newaxis] == X) | (np.isnan(X)[:, np.newaxis] & np.isnan(X))).all(axis=2)
    assert_array_equal(stack[:, np.newaxis] == stack, same)
    assert_array_equal(sizes[stack], same.sum(axis=1))


def test_many_rows_that_differ_a_little_are_not_equal(rng: np.random.Generator) -> None:
    """Of whole numbers, floats differ in few bits."""
    X = np.stack(np.meshgrid(*[np.arange(16)] * 4), axis=-1).reshape(-1, 4)
    for same in (X.astype(np.float32), X.astype(float), X.astype(float)[:, ::-1]):
        assert len(copies._stacks(copies._mixed(copies.block_hashes(same, 1)))[1]) == 16**4


# --- the rules -----------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [2, 3, 5])
@pytest.mark.parametrize("few", [False, True], ids=["real numbers", "few distinct rows"])
@pytest.mark.parametrize("how", ["as a whole", "row by row", "shuffled"])
def test_a_repeated_table_is_recognised(
    times: int, few: bool, how: str, rng: np.random.Generator
) -> None:
    X, y = few_distinct_rows(rng) if few else noisy_table(rng)[:2]
    y = np.where(rng.random(len(y)) < 0.2, 1 - y, y)
    row = np.tile(np.arange(len(y)), times)
    row = {"as a whole": row, "row by row": np.sort(row), "shuffled": rng.permutation(row)}[how]
    groups = found(X[row], y[row])
    assert groups is not None
    assert_array_equal(np.bincount(groups), times)
    assert len(np.bincount(groups)) == len(y)
    for part in (X[row], y[row]):  # all rows of a group are the same
        _, first = np.unique(groups, return_index=True)
        assert_array_equal(part, part[first][groups])
    if how != "shuffled":
        assert_array_equal(groups, row)


def test_rows_that_were_partly_copied_with_their_labels(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng)
    row = some_twice(rng, len(y))
    assert_array_equal(found(X[row], y[row]), row)


def test_rows_that_were_drawn_with_replacement(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng)
    row = rng.integers(0, len(y), len(y))
    groups = found(X[row], y[row])
    assert groups is not None
    assert len(np.unique(groups)) == len(np.unique(row))


def test_few_distinct_rows_that_were_partly_copied(rng: np.random.Generator) -> None:
    """No row occurs three times: by chance, some would."""
    X, y = few_distinct_rows(rng)
    X, first = np.unique(X, axis=0, return_index=True)
    y = np.where(rng.random(len(X)) < 0.3, 1 - y[first], y[first])
    row = some_twice(rng, len(X))
    assert found(X[row], y[row]) is not None


def test_labels_that_were_observed_one_by_one_stay_separate(rng: np.random.Generator) -> None:
    X, _, _ = noisy_table(rng)
    row = some_twice(rng, len(X))
    for every_row in (row, np.tile(np.arange(len(X)), 3)):
        y, _ = corrupt((X[every_row, 0] > 0).astype(int), uniform(2, 0.2), random_state=1)
        assert found(X[every_row], y) is None


@pytest.mark.parametrize("noise", [0, 0.2])
def test_few_distinct_rows_stay_separate(noise: float, rng: np.random.Generator) -> None:
    """Even if trees cannot guess the label of a row from other rows."""
    X, y = few_distinct_rows(rng)
    y = np.where(rng.random(len(y)) < noise, 1 - y, y)
    one_hot = (X[:, :, np.newaxis] == np.arange(6)).reshape(len(X), -1).astype(float)
    for same in (X, one_hot):
        assert found(same, y) is None


@pytest.mark.parametrize("rows", [1, 2, 19])
def test_tiny_tables_have_no_copies(rows: int, rng: np.random.Generator) -> None:
    assert found(np.ones((rows, 2)), np.zeros(rows, dtype=int)) is None
    assert found(np.tile(rng.normal(size=(rows, 2)), (2, 1)), np.arange(2 * rows) % 2) is None


def test_a_part_of_a_large_table_is_enough(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = noisy_table(rng, 2000)
    row = some_twice(rng, len(y))
    monkeypatch.setattr(copies, "_MAX_ROWS", 700)
    monkeypatch.setattr(copies, "_MAX_ROWS_GROWN", 700)
    monkeypatch.setattr(copies, "_MAX_ROWS_NEAR", 700)
    assert_array_equal(found(X[row], y[row]), row)
    assert count_near_copies(prepared(X, y), seed=0) == 0


# --- forests -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "repeat", [lambda part: np.concatenate([part] * 3), lambda part: np.repeat(part, 3, axis=0)]
)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_a_repeated_table_gives_the_same_forest(
    repeat: Any, class_weight: Any, rng: np.random.Generator
) -> None:
    X, y, _ = noisy_table(rng, 300)
    X[:30] = X[30:60]
    forests = []
    for part in ((X, y), (repeat(X), repeat(y))):
        forest = AdaptiveForestClassifier(
            20, oob_score=True, class_weight=class_weight, random_state=0
        )
        forests.append(forest.fit(*part))
    single, repeated = forests
    assert (single.n_copies_, repeated.n_copies_) == (0, 600)
    assert_same_forest(single, repeated)
    assert_array_equal(single.predict_proba(X), repeated.predict_proba(X))
    assert_array_equal(repeat(single.oob_votes_), repeated.oob_votes_)
    assert_array_equal(repeat(single.oob_decision_function_), repeated.oob_decision_function_)
    assert single.oob_score_ == repeated.oob_score_
    assert single.noise_rate_ == repeated.noise_rate_


def test_copied_labels_do_not_vouch_for_each_other(rng: np.random.Generator) -> None:
    """Labels say nothing about these rows, but copies know each other's."""
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    row = some_twice(rng, 500)
    forest = AdaptiveForestClassifier(30, oob_score=True, random_state=0)
    forest.fit(X[row], y[row], groups=rng.permutation(len(row)))
    assert forest.n_copies_ == 0
    assert forest.oob_score_ > 0.6
    for groups in (None, row):
        forest.fit(X[row], y[row], groups=groups)
        assert forest.oob_score_ < 0.57
        assert forest.n_copies_ == (len(row) - 500 if groups is None else 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_matter(weighted: bool, rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng)
    row = some_twice(rng, len(y))
    weight = rng.integers(0, 3, len(row)) if weighted else None
    forests = [
        AdaptiveForestClassifier(12, oob_score=True, random_state=0, n_jobs=n_jobs).fit(
            X[row], y[row], weight, groups=groups
        )
        for groups in (None, row % 50)
        for n_jobs in (1, 3)
    ]
    for one, other in (forests[:2], forests[2:]):
        assert_same_forest(one, other)
        assert_array_equal(one.oob_votes_, other.oob_votes_)
    assert forests[0].n_copies_ > 0


def test_groups_of_one_row_are_no_groups(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng)
    forest = AdaptiveForestClassifier(12, oob_score=True, random_state=0)
    plain = forest.fit(X, y).oob_votes_
    assert_array_equal(forest.fit(X, y, groups=np.arange(len(y))[::-1]).oob_votes_, plain)


def test_the_number_of_copies_is_stored(tmp_path: Path, rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng, 100)
    forest = AdaptiveForestClassifier(4, random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    hardwood.save(forest, tmp_path / "forest.hw")
    assert hardwood.load(tmp_path / "forest.hw").n_copies_ == 100


# --- near copies ---------------------------------------------------------------------------------


def test_near_copies_are_warned_of(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng)
    row = np.tile(np.arange(len(y)), 2)
    near = X[row] + 1e-6 * rng.normal(size=(len(row), 5))
    forest = AdaptiveForestClassifier(4, random_state=0)
    for model in (forest, LabelAudit(forest, random_state=0)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(near, y[row])
        messages = [str(each.message) for each in caught if "copies" in str(each.message)]
        assert len(messages) == 1
        assert "1,200 rows seem to be copies" in messages[0]
        assert "pass groups to fit" in messages[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest.fit(near, y[row], groups=row)


def test_rows_of_tight_clusters_are_no_near_copies(rng: np.random.Generator) -> None:
    X, _, _ = noisy_table(rng)
    row = np.tile(np.arange(len(X)), 2)
    clean = (X[row, 0] > 0).astype(int)
    near = X[row] + 1e-6 * rng.normal(size=(len(row), 5))
    assert count_near_copies(prepared(near, clean), seed=0) == 0
    one_by_one, _ = corrupt(clean, uniform(2, 0.2), random_state=0)
    assert count_near_copies(prepared(near, one_by_one), seed=0) == 0


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_of_few_rows_none_is_a_near_copy(rows: int) -> None:
    assert count_near_copies(prepared(np.arange(rows)[:, np.newaxis], np.arange(rows)), seed=0) == 0


# --- audits --------------------------------------------------------------------------------------


def recall(audit: LabelAudit, flipped: Array) -> float:
    return float(audit.issues_["is_issue"].to_numpy()[flipped].mean())


def test_an_audit_finds_wrong_labels_that_were_copied(rng: np.random.Generator) -> None:
    X, y, flipped = noisy_table(rng)
    single = LabelAudit(random_state=0).fit(X, y)
    row = np.tile(np.arange(len(y)), 3)
    audit = LabelAudit(random_state=0).fit(X[row], y[row])
    assert (single.n_copies_, audit.n_copies_) == (0, 1200)
    assert recall(audit, flipped[row]) == pytest.approx(recall(single, flipped), abs=0.01)
    assert recall(single, flipped) > 0.8
    assert audit.noise_rate_ == pytest.approx(single.noise_rate_)
    assert audit.noise_rate_interval_ == single.noise_rate_interval_
    for forest in (AdaptiveForestClassifier(100), RobustForestClassifier(100, criterion="gini")):
        some = some_twice(rng, len(y))
        found = LabelAudit(forest, random_state=0).fit(X[some], y[some])
        given = LabelAudit(forest, random_state=0).fit(X[some], y[some], groups=some)
        assert (found.n_copies_, given.n_copies_) == (len(some) - len(y), 0)
        votes = (audit.estimator_.oob_decision_function_ for audit in (found, given))
        assert_array_equal(*votes)
        assert recall(found, flipped[some]) > 0.7


def test_an_audit_of_a_fitted_forest_knows_its_copies(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng, 200)
    row = np.tile(np.arange(len(y)), 2)
    forest = AdaptiveForestClassifier(10, oob_score=True, random_state=0).fit(X[row], y[row])
    assert LabelAudit(forest).fit(X[row], y[row]).n_copies_ == 200


def test_halves_keep_groups_whole(rng: np.random.Generator) -> None:
    groups, y = rng.integers(0, 40, 300), rng.integers(0, 2, 300)
    first, second = _halves(y, np.random.RandomState(0), groups)
    assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(300))
    assert not set(groups[first]) & set(groups[second])


def test_the_gain_is_measured_with_groups(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng, 300)
    row = np.tile(np.arange(len(y)), 2)
    forest = RobustForestClassifier(20, criterion="gini")
    audit = LabelAudit(forest, random_state=0).fit(X[row], y[row], groups=row)
    assert np.isfinite(audit.cleaning_gain()).all()
    assert np.isfinite(audit.cleaning_gain("weight")).all()


def test_only_forests_of_hardwood_take_groups(rng: np.random.Generator) -> None:
    X, y, _ = noisy_table(rng, 100)
    with pytest.raises(TypeError, match=r"RandomForestClassifier\.fit does not take groups"):
        LabelAudit(RandomForestClassifier(5)).fit(X, y, groups=y)
    for proba in (None, np.full((100, 2), 0.5)):
        with pytest.raises(ValueError, match="groups has 99 entries, but X has 100 rows"):
            LabelAudit().fit(X, y, proba, groups=y[1:])
    assert LabelAudit().fit(X, y, np.c_[1 - y, y] * 0.8 + 0.1, groups=y).n_copies_ == 0

"""Columns of categories that adaptive forests see joined in pairs."""

from __future__ import annotations

import pickle
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hardwood
from hardwood import AdaptiveForestClassifier
from hardwood._core.grow import TrainingSet
from hardwood._core.pairs import Pair
from hardwood.adaptive import _candidates, _joining
from hardwood.audit import LabelAudit
from hardwood.audit.report.reasons import contributions
from hardwood.noise import corrupt, uniform
from hardwood.plotting import export_text

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

N_ROWS = 900


def table_of(rng: np.random.Generator, n_rows: int = N_ROWS) -> Any:
    """Four columns of four categories and a number; some categories are missing."""
    columns = {
        name: np.array([f"{name}{i}" for i in range(4)], object)[rng.integers(0, 4, n_rows)]
        for name in "abcd"
    }
    frame = pd.DataFrame(columns)
    frame.insert(1, "size", rng.normal(size=n_rows))
    frame.loc[rng.random(n_rows) < 0.05, "c"] = None
    return frame


def number(column: Any) -> Any:
    return column.str[1].fillna("0").astype(int).to_numpy()


def together(frame: Any) -> Any:
    """Labels that neither a nor c tells anything of, but both do."""
    return ((number(frame["a"]) + number(frame["c"])) % 4 < 2).astype(int)


def forest(**options: Any) -> Any:
    return AdaptiveForestClassifier(**({"n_estimators": 24, "random_state": 0} | options))


@pytest.fixture(scope="module")
def X() -> Any:  # noqa: N802
    return table_of(np.random.default_rng(5))


@pytest.fixture(scope="module")
def y(X: Any) -> Any:
    return corrupt(together(X), uniform(2, 0.2), random_state=0)[0]


@pytest.fixture(scope="module")
def joined(X: Any, y: Any) -> Any:
    return forest(oob_score=True).fit(X, y)


# --- when columns are joined ---------------------------------------------------------------------


def test_columns_are_joined_if_labels_depend_on_both(joined: Any, rng: np.random.Generator) -> None:
    assert (0, 3) in joined.joined_features_
    test = table_of(rng)
    assert joined.score(test, together(test)) > 0.95


def test_columns_that_add_up_are_not_joined(X: Any) -> None:
    clean = (number(X["a"]) > 1) | (number(X["b"]) == 1)
    for y in (clean, corrupt(clean.astype(int), uniform(2, 0.3), random_state=0)[0]):
        assert forest().fit(X, y).joined_features_ == []


def test_numbers_are_not_joined(X: Any, y: Any) -> None:
    numbers = X.assign(**{name: number(X[name]) for name in "abcd"})
    assert forest().fit(numbers, y).joined_features_ == []
    some = forest(categorical_features=["b", "c", "d"]).fit(numbers, y)
    assert all(0 not in pair for pair in some.joined_features_)


def test_large_tables_are_left_alone(X: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_joining, "MOST_ROWS", N_ROWS - 1)
    assert forest().fit(X, y).joined_features_ == []


def test_few_rows_for_many_categories(X: Any, y: Any) -> None:
    assert forest().fit(X[:400], y[:400]).joined_features_ == []


def test_chance_is_refused_out_of_bag(X: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A forest without joined columns stays the same if one with them was tried."""
    monkeypatch.setattr(_joining, "_LEAST_EXCESS", -np.inf)
    other = np.random.default_rng(0).permutation(y)
    tried = forest().fit(X, other)
    assert tried.joined_features_ == []
    monkeypatch.setattr(_joining, "pairs_to_try", lambda *_: ())
    assert_array_equal(tried.predict_proba(X), forest().fit(X, other).predict_proba(X))


@pytest.mark.parametrize(("most_at_once", "splitters"), [(0, {"best"}), (5000, {"best", "random"})])
def test_large_tables_with_joined_columns_have_best_cuts(
    X: Any, y: Any, most_at_once: int, splitters: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_candidates, "_MOST_ROWS_AT_ONCE", most_at_once)
    adapted = forest().fit(X, y)
    assert (0, 3) in adapted.joined_features_
    assert set(adapted.adaptation_["splitter"]) == splitters
    others = forest(n_jobs=2).fit(X, y)
    assert_array_equal(others.predict_proba(X), adapted.predict_proba(X))


def data_of(columns: Any, y: Any) -> TrainingSet:
    forest = AdaptiveForestClassifier(categorical_features=list(range(columns.shape[1])))
    return forest._prepared(columns, y, None)


def test_excess_is_the_likelihood_ratio_beyond_chance(rng: np.random.Generator) -> None:
    """The fitted cells have the margins of the table, and no interaction."""
    table = rng.integers(20, 60, (1, 2, 2, 2)).astype(float)
    fitted = _joining._without_interaction(table)
    for axis in (1, 2, 3):
        assert_allclose(fitted.sum(axis=axis), table.sum(axis=axis), rtol=1e-6)
    odds = fitted[..., 0] / fitted[..., 1]
    assert_allclose(odds[0, 0, 0] * odds[0, 1, 1], odds[0, 0, 1] * odds[0, 1, 0], rtol=1e-6)
    cells = np.array(list(np.ndindex(2, 2, 2))).repeat(table.ravel().astype(int), axis=0)
    pair = Pair(0, 1, 2, 2)
    ((_, excess),) = _joining._excesses([pair], data_of(cells[:, :2], cells[:, 2]))
    assert_allclose(excess, (table * np.log(table / fitted)).sum() - 0.5, rtol=1e-6)


def test_excess_of_independent_labels_is_about_zero(rng: np.random.Generator) -> None:
    columns, y = rng.integers(0, 3, (4000, 8)), rng.integers(0, 3, 4000)
    pairs = [Pair(i, i + 1, 3, 3) for i in range(0, 8, 2)]
    excess = [value for _, value in _joining._excesses(pairs, data_of(columns, y))]
    assert np.all(np.abs(excess) < 8)


def test_missing_values_do_not_count() -> None:
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [np.nan, 0], [1, np.nan]])
    y = np.array([0, 1, 1, 0, 1, 1])
    counts = _joining._counts(Pair(0, 1, 2, 2), X, y, 2)
    assert_array_equal(counts.reshape(4, 2), [[1, 0], [0, 1], [0, 1], [1, 0]])


def test_a_strong_pair_does_not_cost_two_good_ones() -> None:
    worth = {(0, 1): 6.0, (2, 3): 5.0, (1, 3): 8.0, (0, 2): 1.0, (0, 3): 0.0, (1, 2): 0.0}
    matched = _joining._matched({Pair(*key, 2, 2): value for key, value in worth.items()})
    assert sorted(pair[:2] for pair in matched) == [(0, 1), (2, 3)]


def test_exchanges_come_close_to_the_best_pairs(rng: np.random.Generator) -> None:
    for _ in range(20):
        worth = {Pair(i, j, 2, 2): float(rng.random()) for i in range(6) for j in range(i + 1, 6)}
        of_columns = {pair[:2]: value for pair, value in worth.items()}
        matched = _joining._matched(worth)
        assert len({column for pair in matched for column in pair[:2]}) == 6
        best = max(
            sum(of_columns[tuple(sorted(order[i : i + 2]))] for i in (0, 2, 4))
            for order in permutations(range(6))
        )
        assert sum(worth[pair] for pair in matched) > 0.95 * best


# --- what a model with joined columns can do -----------------------------------------------------


def test_surface(joined: Any, X: Any, y: Any) -> None:
    assert joined.n_features_in_ == 5
    assert joined.feature_names_in_.tolist() == ["a", "size", "b", "c", "d"]
    assert joined.feature_importances_.shape == (5,)
    assert_allclose(joined.feature_importances_.sum(), 1)
    assert joined.encode_categories(X).shape == X.shape
    assert len(joined.categories_) == 5
    assert_allclose(
        np.mean([tree.predict_proba(X) for tree in joined.estimators_], axis=0),
        joined.predict_proba(X, noisy=True),
    )
    tree = joined.estimators_[0]
    assert_allclose(tree.feature_importances_.sum(), 1)
    assert_array_equal(tree.apply(X), joined.apply(X)[:, 0])
    with pytest.raises(ValueError, match="cannot split by categories"):
        joined.to_sklearn()


def test_a_pair_shares_its_importance(joined: Any) -> None:
    importances = joined.feature_importances_
    assert min(importances[[0, 3]]) > max(importances[[1, 2, 4]])


def test_unknown_and_missing_categories(joined: Any, X: Any) -> None:
    rows = X[:20].copy()
    rows["a"] = None
    missing = joined.predict_proba(rows)
    rows["a"] = "never met"
    assert_array_equal(joined.predict_proba(rows), missing)


def test_the_same_for_any_number_of_threads(joined: Any, X: Any, y: Any) -> None:
    again = forest(n_jobs=2, oob_score=True).fit(X, y)
    assert_array_equal(again.predict_proba(X), joined.predict_proba(X))
    assert_array_equal(again.oob_votes_, joined.oob_votes_)


@pytest.mark.parametrize("kind", ["weights", "copies", "reviewed"])
def test_other_fits(kind: str, X: Any, y: Any) -> None:
    if kind == "weights":
        weights = np.where(np.arange(len(y)) % 9 == 0, 0, 1 + np.arange(len(y)) % 2)
        fitted = forest(oob_score=True).fit(X, y, weights)
    elif kind == "copies":
        twice = pd.concat([X, X], ignore_index=True)
        fitted = forest(oob_score=True, full_data=False).fit(twice, np.tile(y, 2))
        assert fitted.n_copies_ == len(y)
        found = fitted.oob_permutation_importances(twice, np.tile(y, 2), random_state=0)
        assert found.importances_mean[[0, 3]].min() > 0.1
    else:
        fitted = forest(oob_score=True).fit(
            X, np.where(np.arange(len(y)) < 99, together(X), y), observed=y
        )
    assert (0, 3) in fitted.joined_features_
    assert fitted.score(X, together(X)) > 0.9


def test_a_later_fit_forgets_the_pairs(X: Any, y: Any) -> None:
    fitted = forest().fit(X, y)
    assert fitted.fit(X[["size", "b"]], y).joined_features_ == []
    assert_array_equal(
        fitted.predict_proba(X[["size", "b"]]),
        forest().fit(X[["size", "b"]], y).predict_proba(X[["size", "b"]]),
    )


def test_copies_and_files(joined: Any, X: Any, tmp_path: Path) -> None:
    hardwood.save(joined, tmp_path / "forest.hw")
    loaded = hardwood.load(tmp_path / "forest.hw")
    for copy in (pickle.loads(pickle.dumps(joined)), loaded):
        assert copy.joined_features_ == joined.joined_features_
        assert_array_equal(copy.predict_proba(X), joined.predict_proba(X))
        assert_array_equal(copy.feature_importances_, joined.feature_importances_)


def test_a_model_of_numbers(joined: Any, X: Any) -> None:
    of_numbers = joined.without_categories()
    assert not of_numbers.is_categorical_.any()
    numbers = joined.encode_categories(X)
    assert_array_equal(of_numbers.predict_proba(numbers), joined.predict_proba(X))
    assert_array_equal(of_numbers.encode_categories(numbers), numbers)
    assert_array_equal(of_numbers.feature_importances_, joined.feature_importances_)


def test_text_of_pairs(joined: Any) -> None:
    text = "".join(export_text(tree, max_categories=20) for tree in joined.estimators_)
    assert "(a, c) in {" in text
    assert "(a0, c1)" in text
    named = export_text(joined.estimators_[0], feature_names=["A", "S", "B", "C", "D"])
    assert "(A, C)" in named
    assert "(0, 1)" in "".join(export_text(t) for t in joined.without_categories().estimators_)


def test_text_names_the_rows_that_go_left(joined: Any, X: Any) -> None:
    """The first line of each tree, if it asks for a pair, says where rows go."""
    n_read = 0
    for tree in joined.estimators_:
        first = export_text(tree, max_categories=20).split("\n")[0]
        if "(a, c)" not in first:
            continue
        names = first[first.index("{") + 1 : first.index("}")]
        pairs = [f"({a}, {c})" for a, c in zip(X["a"], X["c"], strict=True)]
        is_in = np.array([pair in names for pair in pairs])
        went_left = tree.decision_path(X).toarray()[:, 1] > 0
        assert_array_equal(went_left, is_in if " not in " not in first else ~is_in)
        n_read += 1
    assert n_read > 0


def test_onnx(joined: Any, X: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    joined.to_onnx(tmp_path / "forest.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "forest.onnx")
    rows = X.copy()
    rows.loc[:20, "a"] = "never met"
    labels, proba = session.run(None, {"X": joined.encode_categories(rows)})
    assert_array_equal(labels, joined.predict(rows))
    assert_allclose(proba, joined.predict_proba(rows), atol=1e-5)


def test_permutation_importances_shuffle_pairs_along(X: Any, y: Any) -> None:
    fitted = forest(full_data=False).fit(X, y)
    found = fitted.oob_permutation_importances(X, y, random_state=0)
    assert found.importances.shape == (5, 5)
    assert found.importances_mean[[0, 3]].min() > 0.15
    assert np.abs(found.importances_mean[[1, 2, 4]]).max() < 0.05


def test_reasons(joined: Any, X: Any) -> None:
    ones = np.ones(len(X), int)
    parts = contributions(joined.estimators_, joined.encode_categories(X), ones, 0 * ones)
    assert parts.by_feature.shape == X.shape
    assert_allclose(parts.root + parts.by_feature.sum(axis=1), parts.last, atol=1e-4)
    assert np.abs(parts.by_feature).mean(axis=0).argsort()[-2:].tolist() in ([0, 3], [3, 0])


def test_audit(X: Any, y: Any, tmp_path: Path) -> None:
    audit = LabelAudit(forest(full_data=False), random_state=0).fit(X, y)
    wrong = y != together(X)
    assert wrong[audit.issues_["is_issue"].to_numpy()].mean() > 0.8
    audit.report(tmp_path / "report.html", compare=False, values=X)
    assert (tmp_path / "report.html").stat().st_size > 0

"""Sparse X: the same models as from the dense array, to the last bit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from estimators_list import ESTIMATORS, small
from forests import EVERY_FOREST
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.audit import LabelAudit
from hardwood.criteria import NAMES

EVERY_ESTIMATOR = pytest.mark.parametrize("cls", ESTIMATORS)
CONTAINERS = [
    *(sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.csc_array),
    *(sparse.coo_matrix, sparse.lil_array, sparse.dok_matrix, sparse.bsr_array),
]
_ARRAYS = ("nodes", "entry_label", "entry_count", "node_start", "entry_start")


def assert_same(one: Any, other: Any) -> None:
    for name in _ARRAYS:
        np.testing.assert_array_equal(
            getattr(one._compact.forest, name), getattr(other._compact.forest, name)
        )


def table(
    rng: np.random.Generator, n: int, d: int, *, decimals: int = 1, missing: float = 0.0
) -> np.ndarray:
    """A table whose columns are zero to different degrees, some of them nowhere."""
    X = rng.normal(size=(n, d)).round(decimals)
    X[X == 0] = 1.5
    X *= rng.random((n, d)) < rng.choice([0.02, 0.2, 0.6, 1.0], d)
    X[rng.random((n, d)) < missing] = np.nan
    return X


def with_explicit_zeros(X: np.ndarray, rng: np.random.Generator) -> Any:
    """All zeros of some rows and columns are stored; some of them are negative."""
    stored = (X != 0) | (rng.random(X.shape) < 0.2)
    rows, columns = np.nonzero(stored)
    values = X[rows, columns]
    values[(values == 0) & (rng.random(len(values)) < 0.5)] = -0.0
    return sparse.csr_array((values, (rows, columns)), shape=X.shape)


def with_duplicates(X: np.ndarray) -> Any:
    """Each value is stored as the sum of two, which are exact."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    whole = np.where(np.isnan(values), 1.0, np.trunc(values * 4) / 4)
    order = np.argsort(columns[::-1], kind="stable")
    halves = np.concatenate([whole, (values - whole)[order]])
    at = np.concatenate([rows, rows[order]]), np.concatenate([columns, columns[order]])
    coo = sparse.coo_array((halves, at), shape=X.shape)
    starts = np.concatenate([[0], np.cumsum(np.bincount(coo.row, minlength=len(X)))])
    order = np.argsort(coo.row, kind="stable")
    return sparse.csr_array((coo.data[order], coo.col[order], starts), shape=X.shape)


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray, Any, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 300)), draw(st.integers(1, 25))
    missing = draw(st.sampled_from([0.0, 0.1]))
    X = table(rng, n, d, decimals=draw(st.integers(0, 3)), missing=missing)
    y = rng.integers(draw(st.integers(2, 6)), size=n)
    weights = draw(st.sampled_from([None, "whole", "real"]))
    w = {None: None, "whole": rng.integers(0, 4, n), "real": rng.random(n)}[weights]
    if w is not None:
        w[0] = 1
    return X, y, w, rng


# --- trees and forests ----------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(
    problems(),
    st.sampled_from([RobustForestClassifier, RobustExtraTreesClassifier]),
    st.sampled_from(sorted(NAMES)),
    st.booleans(),
    st.sampled_from(
        [{}, {"min_samples_leaf": 3}, {"max_leaf_nodes": 8}, {"min_weight_fraction_leaf": 0.05}]
    ),
)
def test_forests_are_the_same(
    problem: Any, cls: Any, criterion: str, bootstrap: bool, limits: dict[str, Any]
) -> None:
    X, y, w, rng = problem
    if criterion == "ranking":
        y = np.minimum(y, 1)
    parameters = {"criterion": criterion, "bootstrap": bootstrap, "random_state": 0, **limits}
    dense = cls(3, **parameters).fit(X, y, w)
    stored = with_explicit_zeros(X, rng)
    forest = cls(3, n_jobs=2, **parameters).fit(stored, y, w)
    assert_same(dense, forest)
    np.testing.assert_array_equal(dense.apply(X), forest.apply(stored))
    np.testing.assert_array_equal(dense.predict_proba(X), forest.predict_proba(stored))


@EVERY_ESTIMATOR
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_every_estimator_is_the_same(cls: Any, missing: float, rng: np.random.Generator) -> None:
    X = table(rng, 300, 20, missing=missing)
    y = (np.nan_to_num(X[:, 3]) + rng.normal(size=300) > 0.5).astype(int)
    make = small(cls, 6)
    dense, from_sparse = make(random_state=0).fit(X, y), make(random_state=0)
    from_sparse.fit(sparse.csr_matrix(X), y)
    assert_same(dense, from_sparse)
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        np.testing.assert_array_equal(
            getattr(dense, method)(X), getattr(from_sparse, method)(sparse.csc_matrix(X))
        )
    assert dense.score(X, y) == from_sparse.score(sparse.csr_array(X), y)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_every_format_and_type(container: Any, dtype: str, rng: np.random.Generator) -> None:
    X = np.abs(table(rng, 80, 9, decimals=0)).astype(dtype)
    y = rng.integers(3, size=80)
    dense = RobustForestClassifier(3, random_state=0).fit(X, y)
    forest = RobustForestClassifier(3, random_state=0).fit(container(X), y)
    assert_same(dense, forest)
    np.testing.assert_array_equal(dense.predict_proba(X), forest.predict_proba(container(X)))


def test_duplicates_are_summed_and_the_input_is_left_alone(rng: np.random.Generator) -> None:
    X = table(rng, 100, 8, missing=0.05)
    y = rng.integers(3, size=100)
    doubled = with_duplicates(X)
    assert not doubled.has_canonical_format
    kept = [array.copy() for array in (doubled.data, doubled.indices, doubled.indptr)]
    forest = RobustForestClassifier(3, random_state=0).fit(doubled, y)
    summed = doubled.toarray()
    assert_same(RobustForestClassifier(3, random_state=0).fit(summed, y), forest)
    np.testing.assert_array_equal(forest.predict(doubled), forest.predict(summed))
    for array, before in zip((doubled.data, doubled.indices, doubled.indptr), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@EVERY_FOREST
def test_out_of_bag_votes_and_importances(cls: Any, rng: np.random.Generator) -> None:
    X = table(rng, 150, 7, missing=0.05)
    y = rng.integers(3, size=150)
    parameters = {"bootstrap": True, "oob_score": True, "random_state": 0}
    dense = cls(30, **parameters).fit(X, y)
    forest = cls(30, **parameters).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.oob_decision_function_, forest.oob_decision_function_)
    np.testing.assert_array_equal(dense.feature_importances_, forest.feature_importances_)
    shuffled = dense.oob_permutation_importances(X, y, random_state=0, n_repeats=2)
    sparsely = forest.oob_permutation_importances(
        sparse.csc_array(X), y, random_state=0, n_repeats=2
    )
    np.testing.assert_array_equal(shuffled.importances, sparsely.importances)


def test_large_nodes_and_threads(rng: np.random.Generator) -> None:
    X = table(rng, 12_000, 15, decimals=2)
    y = (X[:, 3] + 0.3 * rng.normal(size=len(X)) > 0.2).astype(int) + (X[:, 5] > 1)
    for criterion in ("ne", "entropy"):
        parameters = {"criterion": criterion, "random_state": 0, "min_samples_leaf": 5}
        dense = RobustForestClassifier(2, **parameters).fit(X, y)
        for n_jobs in (1, 3):
            forest = RobustForestClassifier(2, n_jobs=n_jobs, **parameters)
            assert_same(dense, forest.fit(sparse.csr_matrix(X), y))
        tree = RobustTreeClassifier(**parameters).fit(X, y)  # on all threads
        assert_same(tree, RobustTreeClassifier(**parameters).fit(sparse.csr_matrix(X), y))


@EVERY_FOREST
def test_wide_and_nearly_empty(cls: Any, rng: np.random.Generator) -> None:
    """As text is: most nodes know few of the columns, and some rows have no entry at all."""
    X = rng.normal(size=(300, 2000)).round(1) * (rng.random((300, 2000)) < 0.01)
    X[:20] = 0
    y = rng.integers(4, size=300)
    forest = cls(5, max_features=40, random_state=0)
    dense = clone(forest).fit(X, y)
    forest.fit(sparse.csr_matrix(X), y)
    assert_same(dense, forest)
    others = np.where(rng.random(X.shape) < 0.5, X, -X)[::-1]
    np.testing.assert_array_equal(
        dense.predict_proba(others), forest.predict_proba(sparse.csr_matrix(others))
    )


def test_columns_cut_at_quantiles(rng: np.random.Generator) -> None:
    """More values than codes: some share the code of zero."""
    X = rng.normal(size=(100_000, 2))
    X[rng.random(X.shape) < [0.0001, 0.2]] = 0
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    parameters = {"max_depth": 6, "random_state": 0}
    dense = RobustTreeClassifier(**parameters).fit(X, y)
    assert_same(dense, RobustTreeClassifier(**parameters).fit(sparse.csr_matrix(X), y))


def test_what_does_not_vary() -> None:
    for X in (np.zeros((6, 3)), np.ones((6, 3)), np.full((6, 3), np.nan)):
        tree = RobustTreeClassifier().fit(sparse.csr_matrix(X), [0, 1] * 3)
        assert tree.get_n_leaves() == 1
        np.testing.assert_array_equal(tree.predict(sparse.csr_matrix(X)), np.zeros(6))


def test_memory_follows_the_stored_values(rng: np.random.Generator) -> None:
    """A byte for each cell would take 40 GB."""
    X = sparse.random_array((20_000, 2_000_000), density=2e-6, format="csr", rng=rng)
    y = rng.integers(2, size=20_000)
    forest = RobustForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    assert forest.predict_proba(X).shape == (20_000, 2)


# --- adaptive forests and audits ------------------------------------------------------------------


def test_copies_are_found_alike(rng: np.random.Generator) -> None:
    X = np.repeat(table(rng, 100, 8), 2, axis=0)
    y = np.repeat(rng.integers(2, size=100), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = AdaptiveForestClassifier(10, random_state=0).fit(X, y)
        forest = AdaptiveForestClassifier(10, random_state=0).fit(sparse.csr_matrix(X), y)
    assert dense.n_copies_ == forest.n_copies_ == 100
    assert_same(dense, forest)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.coo_array])
def test_audit(container: Any, rng: np.random.Generator, tmp_path: Any) -> None:
    pytest.importorskip("jinja2")
    X = table(rng, 300, 6, missing=0.02)
    y = (np.nan_to_num(X[:, 3:]).sum(axis=1) > 0).astype(int)
    y[rng.random(300) < 0.1] ^= 1
    audits = [
        LabelAudit(RobustForestClassifier(30), random_state=0).fit(each, y)
        for each in (X, container(X))
    ]
    dense, from_sparse = audits
    np.testing.assert_array_equal(dense.issues_["score"], from_sparse.issues_["score"])
    assert dense.n_issues_ > 0
    assert dense.cleaning_gain() == from_sparse.cleaning_gain()
    for audit, name in zip(audits, ("dense", "sparse"), strict=True):
        audit.report(tmp_path / f"{name}.html")
    pages = [(tmp_path / f"{name}.html").read_text("utf-8") for name in ("dense", "sparse")]
    assert pages[0] == pages[1]
    cleaned, _, _ = from_sparse.clean(check=False)
    assert sparse.issparse(cleaned)
    by_proba = LabelAudit(random_state=0).fit(container(X), y, np.full((300, 2), 0.5))
    assert len(by_proba.issues_) == 300


# --- bad input ------------------------------------------------------------------------------------

GOOD = sparse.csr_matrix(np.eye(8))
Y = np.arange(8) % 2


def changed(**parts: Any) -> Any:
    X = GOOD.copy()
    for name, values in parts.items():
        setattr(X, name, np.array(values, dtype=getattr(X, name).dtype))
    X.has_sorted_indices = X.has_canonical_format = True  # so that nobody looks
    return X


@EVERY_ESTIMATOR
@pytest.mark.parametrize(
    ("bad_X", "message"),
    [
        (sparse.csr_matrix(np.diag([np.inf] + [1.0] * 7)), "infinity"),
        (GOOD.astype(complex), "(?i)complex"),
        (GOOD[:5], "inconsistent"),
        (GOOD[:, :0], "0 feature"),
        (sparse.csr_array((8, 3), dtype=np.int64) + 2**60 * sparse.eye_array(8, 3, dtype=np.int64),
         r"2\*\*53"),
        (changed(indices=[0, 1, 2, 3, 4, 5, 6, 99]), "(?i)canonical"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_fit_refuses(cls: Any, bad_X: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        small(cls, 3)().fit(bad_X, Y)


@EVERY_ESTIMATOR
def test_predict_refuses(cls: Any) -> None:
    model = small(cls, 3)(random_state=0).fit(GOOD, Y)
    for bad_X, message in (
        (GOOD[:, :5], "features"),
        (sparse.csr_matrix(np.diag([np.inf] + [1.0] * 7)), "infinity"),
        (changed(indices=[0, 1, 2, 3, 4, 5, 6, -1]), "(?i)canonical"),
        (changed(indptr=[0, 3, 2, 3, 4, 5, 6, 7, 8]), "(?i)canonical"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(bad_X)


def test_sparse_labels_are_refused() -> None:
    for y in (sparse.csr_matrix(Y[:, None]), sparse.coo_array(Y[:, None])):
        with pytest.raises((ValueError, TypeError), match=r"(?i)sparse|dense|1d|shape|scalar"):
            RobustForestClassifier(3).fit(GOOD, y)


def test_sparse_columns_have_no_categories() -> None:
    with pytest.raises(TypeError, match="categorical_features requires a dense X"):
        RobustForestClassifier(3, categorical_features=[0]).fit(GOOD, Y)
    with pytest.raises(ValueError, match="mask"):
        RobustForestClassifier(3, categorical_features=[True]).fit(GOOD, Y)
    for none in (None, "from_dtype", [], [False] * 8):
        RobustForestClassifier(3, categorical_features=none).fit(GOOD, Y)
    forest = RobustForestClassifier(3, categorical_features=[0]).fit(GOOD.toarray(), Y)
    with pytest.raises(TypeError, match=r"(?i)dense"):
        forest.predict(GOOD)


def test_sparse_frames_of_pandas(rng: np.random.Generator) -> None:
    pandas = pytest.importorskip("pandas")
    X = table(rng, 60, 5)
    y = rng.integers(2, size=60)
    frame = pandas.DataFrame(X).astype(pandas.SparseDtype("float64", 0.0))
    dense = RobustForestClassifier(3, random_state=0).fit(X, y)
    assert_same(dense, RobustForestClassifier(3, random_state=0).fit(frame, y))


def test_a_copy_for_scikit_learn_counts_rounded_splits(rng: np.random.Generator) -> None:
    X = table(rng, 60, 5)
    y = rng.integers(2, size=60)
    forest = RobustForestClassifier(3, random_state=0).fit(sparse.csr_matrix(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin = forest.to_sklearn(sparse.csr_matrix(X))
    np.testing.assert_allclose(
        twin.predict_proba(sparse.csr_matrix(X.astype("f4"))), forest.predict_proba(X.astype("f4"))
    )
    near = np.array([[1.0], [1.0 + 2**-40], [0.0], [0.0]])
    tree = RobustTreeClassifier().fit(sparse.csr_matrix(near), [0, 1, 0, 0])
    with pytest.warns(UserWarning, match="1 of 1 splits"):
        tree.to_sklearn(sparse.csr_matrix(near))

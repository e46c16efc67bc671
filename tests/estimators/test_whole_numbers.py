"""Whole numbers and bools are coded as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimators_list import ESTIMATORS, small
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier, RobustTreeClassifier

DTYPES = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">i4", ">u8"]


def numbers(rng: np.random.Generator, dtype: str, shape: tuple[int, int], values: str) -> Any:
    """Numbers of a type: its whole range, a few values, or something between."""
    if dtype == "?":
        return rng.random(shape) < 0.5
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**53)), min(info.max, 2**53)
    match values:
        case "few":
            pool = rng.integers(low, high, 5, endpoint=True)
            return rng.choice(pool, shape).astype(dtype)
        case "some":
            low, high = max(low, -3_000), min(high, 3_000)
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(["few", "some", "all"]),
    st.sampled_from("CF"),
    st.integers(1, 400),
    st.integers(0, 2**32),
    st.sampled_from([RobustForestClassifier, RobustExtraTreesClassifier]),
)
def test_the_same_forest_as_from_float64(
    dtype: str, values: str, order: Any, n: int, seed: int, cls: Any
) -> None:
    rng = np.random.default_rng(seed)
    X = np.asarray(numbers(rng, dtype, (n, 5), values), order=order)
    y = rng.integers(3, size=n)
    as_floats = cls(3, random_state=0).fit(X.astype("f8"), y)
    forest = cls(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest._compact.nodes, as_floats._compact.nodes)
    np.testing.assert_array_equal(forest.apply(X), as_floats.apply(X.astype("f8")))
    np.testing.assert_array_equal(forest.predict_proba(X[::-1]), as_floats.predict_proba(X[::-1]))


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("dtype", ["u1", "?", "i8"])
def test_every_estimator(cls: Any, dtype: str, rng: np.random.Generator) -> None:
    X = numbers(rng, dtype, (200, 6), "few")
    y = rng.integers(2, size=200)
    make = small(cls, 6)
    one, other = make(random_state=0).fit(X, y), make(random_state=0).fit(X.astype("f8"), y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X.astype("f8")))
    np.testing.assert_array_equal(one.predict_proba(X.astype("f8")), other.predict_proba(X))


def test_lists_and_frames_of_whole_numbers(rng: np.random.Generator) -> None:
    pandas = pytest.importorskip("pandas")
    X = rng.integers(0, 9, (50, 3))
    y = rng.integers(2, size=50)
    trees = [
        RobustTreeClassifier(random_state=0).fit(each, y)
        for each in (X, X.tolist(), pandas.DataFrame(X), pandas.DataFrame(X).astype("Int64"))
    ]
    for tree in trees:
        np.testing.assert_array_equal(tree._compact.nodes, trees[0]._compact.nodes)


def test_categories_of_whole_numbers(rng: np.random.Generator) -> None:
    X = rng.integers(0, 9, (200, 3)).astype("u1")
    y = X[:, 0] % 2
    forest = RobustForestClassifier(3, categorical_features=[0], random_state=0).fit(X, y)
    assert forest.score(X, y) == 1.0


# --- above 2**53 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize("start", [2**53, 2**60, 2**62 + 2**61])
def test_numbers_that_float64_tells_apart_are_exact(dtype: str, start: int) -> None:
    step = max(2, start >> 52)
    values = np.array([start + step * i for i in range(40)], dtype=dtype)
    X = np.random.default_rng(0).permutation(values)[:, np.newaxis]
    y = np.array([(value - start) // step // 3 % 2 for value in X[:, 0].tolist()])
    tree = RobustTreeClassifier(criterion="gini").fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)
    assert tree.get_n_leaves() == 14


@pytest.mark.parametrize(
    "values",
    [
        np.array([2**53, 2**53 + 1], "i8"),
        np.array([-(2**60) - 1, -(2**60)], "i8"),
        np.array([2**64 - 1, 2**64 - 2], "u8"),
        np.array([0, 2**63 - 1, 2**63 - 2], "i8"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_numbers_that_float64_merges_are_an_error(cls: Any, values: Any) -> None:
    X = np.column_stack([np.arange(len(values) * 10, dtype=values.dtype), np.tile(values, 10)])
    with pytest.raises(ValueError, match=r"float64.* cannot tell apart: column 1 has .*2\*\*53"):
        small(cls, 3)().fit(X, np.arange(len(X)) % 2)


def test_the_extremes_are_values_like_others() -> None:
    for dtype in ("i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1"):
        info = np.iinfo(dtype)
        X = np.array([[info.min], [info.max]], dtype)
        tree = RobustTreeClassifier().fit(X, [0, 1])
        assert tree.tree_.threshold[0] == (float(info.min) + float(info.max)) / 2
        np.testing.assert_array_equal(tree.predict(X), [0, 1])


def test_many_columns() -> None:
    X = np.random.default_rng(0).normal(size=(3, 100_000))
    assert RobustForestClassifier(3, random_state=0).fit(X, [0, 1, 1]).score(X, [0, 1, 1]) > 0.3

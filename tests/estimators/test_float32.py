"""Splits that float32 cannot make: counted for a copy in scikit-learn, which rounds its input."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forests import EVERY_FOREST
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

import hardwood
from hardwood import RobustForestClassifier, RobustTreeClassifier, datasets
from hardwood._core.float32 import count_blurred

# Neighbours in float64, the same in float32.
ALIKE = np.array([1.0, 1.0 + 2.0**-40, 1.0 + 2.0**-30])


def blurred_by_hand(tree: Any, X: Any) -> int:
    """From the definition: splits for which a value and its float32 go to different sides."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    splits = zip(tree.tree_.feature, tree.tree_.threshold, strict=True)
    return sum(
        bool(np.any((X[:, feature] <= threshold) != (narrow[:, feature] <= threshold)))
        for feature, threshold in splits
        if feature >= 0
    )


def test_one_split() -> None:
    X, y = ALIKE[[0, 1], np.newaxis], [0, 1]
    tree = RobustTreeClassifier().fit(X, y)
    assert_array_equal(tree.predict(X), y)
    with pytest.warns(UserWarning, match=r"1 of 1 splits .* rounding to float32") as caught:
        theirs = tree.to_sklearn(X)
    assert caught[0].filename == __file__
    assert len(set(theirs.predict(X))) == 1  # no scikit-learn tree can


def test_only_the_given_rows_matter() -> None:
    """The model knows nothing of its training data: you say for which rows you ask."""
    tree = RobustTreeClassifier().fit(ALIKE[[0, 1], np.newaxis], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree.to_sklearn()
        tree.to_sklearn([[1.0], [2.0]])
        tree.to_sklearn(np.array([[1.0], [2.0]], dtype=np.float32))
    with pytest.raises(ValueError, match="2 features"):
        tree.to_sklearn([[1.0, 2.0]])


def test_no_warning_where_float32_tells_all_apart(rng: np.random.Generator) -> None:
    for X in (rng.integers(0, 9, (80, 3)).astype(float), rng.normal(size=(80, 3)).astype("f4")):
        forest = RobustForestClassifier(3, random_state=0).fit(X, rng.integers(0, 2, 80))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            theirs = forest.to_sklearn(X)
        assert_array_equal(theirs.apply(X), forest.apply(X))


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_counts_follow_the_definition(splitter: str, rng: np.random.Generator) -> None:
    X = rng.choice([*ALIKE, 2.0, 3.0, 0.1, np.nan, 1e300, 2e300, -1e-60, 1e-60], (300, 4))
    y = rng.integers(0, 3, 300)
    tree = RobustTreeClassifier(splitter=splitter, criterion="gini", random_state=0).fit(X, y)
    assert count_blurred(tree._compact, X) == blurred_by_hand(tree, X) > 0


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 30), st.integers(1, 3)),
        elements=st.sampled_from([*ALIKE, -1.0, 0.0, 5e-324, 0.1, 0.1 + 1e-12, np.nan]),
    ),
    st.integers(0, 2**16),
)
def test_counts_of_any_data(X: Any, seed: int) -> None:
    y = np.random.default_rng(seed).integers(0, 2, len(X))
    tree = RobustTreeClassifier(criterion="gini", random_state=0).fit(X, y)
    assert count_blurred(tree._compact, X) == blurred_by_hand(tree, X)


@EVERY_FOREST
def test_forests_count_tree_by_tree(cls: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.choice([*ALIKE, 2.0, 0.1], (200, 4))
    y = rng.integers(0, 2, 200)
    forest = cls(3, criterion="gini", random_state=0).fit(X, y)
    by_hand = [blurred_by_hand(tree, X) for tree in forest.estimators_]
    assert min(by_hand) > 0
    hardwood.save(forest, tmp_path / "forest.hw")
    for each in (forest, hardwood.load(tmp_path / "forest.hw")):
        with pytest.warns(UserWarning, match=f"^{sum(by_hand)} of "):
            each.to_sklearn(X)
        with pytest.warns(UserWarning, match=f"^{by_hand[1]} of "):
            each.estimators_[1].to_sklearn(X)


def test_pruned_splits_do_not_count() -> None:
    X = np.repeat(ALIKE[:2], [50, 50])[:, np.newaxis]
    y = np.arange(100) % 2
    y[0] = 0
    y[99] = 1
    tree = RobustTreeClassifier(criterion="gini", ccp_alpha=0.4).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert count_blurred(tree._compact, X) == 0


@pytest.mark.slow
def test_unsw_nb15(data_home: Path) -> None:
    """Where the copy differs from the tree, a value lies at one of the splits it cannot make."""
    dataset = datasets.load("unsw_nb15", data_home=data_home)
    tree = RobustTreeClassifier(criterion="gini", random_state=0).fit(
        dataset.X_train, dataset.y_train
    )
    n_blurred = blurred_by_hand(tree, dataset.X_train)
    assert 0 < n_blurred < 0.01 * tree.tree_.node_count
    with pytest.warns(UserWarning, match=f"^{n_blurred} of "):
        theirs = tree.to_sklearn(dataset.X_train)
    narrow = dataset.X_test.astype(np.float32)
    assert_array_equal(theirs.apply(narrow), tree.apply(narrow))

"""What the tests of forests share: the bags of their trees, and what makes two forests the same."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
import pytest
from cases import Array
from estimators_list import FORESTS
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from trees import assert_same_tree, digest

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier

EVERY_FOREST = pytest.mark.parametrize("cls", FORESTS)
TWIN = {
    RobustForestClassifier: RandomForestClassifier,
    RobustExtraTreesClassifier: ExtraTreesClassifier,
}


def bags(forest: Any, X: Array, sample_weight: Any = None, groups: Any = None) -> Array:
    """How often each tree draws each row, of shape (trees, rows).

    The draws depend on the seed, not on the labels. So let the labels be the rows' numbers: then
    the class weights in a tree's root tell how often each row was drawn. ``sample_weight`` must
    have ``class_weight`` multiplied in already.
    """
    assert isinstance(forest.random_state, int)
    twin = clone(forest).set_params(
        criterion="gini",
        max_depth=1,
        max_features=None,
        oob_score=False,
        warm_start=False,
        class_weight=None,
        monotonic_cst=None,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        twin.fit(X[:, :1], np.arange(len(X)), sample_weight, groups=groups)
    times = np.array([root_counts(tree) for tree in twin.estimators_])
    np.testing.assert_allclose(times, times.round(), atol=1e-9)
    return times.round().astype(int)


def root_counts(tree: Any) -> Array:
    """Class weights of the whole of the tree's data."""
    return tree.tree_.value[0, 0] * tree.tree_.weighted_n_node_samples[0]


def assert_same_forest(one: Any, other: Any, *, but: tuple[str, ...] = ()) -> None:
    """The same trees in the same order, bit for bit, apart from the arrays named in ``but``."""
    assert len(one.estimators_) == len(other.estimators_)
    for tree, same in zip(one.estimators_, other.estimators_, strict=True):
        assert_same_tree(tree, same, but=but)


def forest_digest(forest: Any, X: Array) -> str:
    """A hash of all trees, of their votes, and of the out-of-bag votes where there are any."""
    parts = [digest(tree) for tree in forest.estimators_]
    parts.append(forest.predict_proba(X).tobytes().hex())
    parts.append(getattr(forest, "oob_decision_function_", np.empty(0)).tobytes().hex())
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()

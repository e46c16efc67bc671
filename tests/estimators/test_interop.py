"""The tree among its neighbours: scikit-learn's tools, data frames, label types, pickles."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from cases import NAMES, Data, continuous, missing, ties
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree
from sklearn_defects import MISPLACES_MISSING_VALUES
from trees import assert_same_tree

from hardwood import RobustTreeClassifier
from hardwood.criteria import NegativeExponential


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    X, y, weight = continuous(3, rng)
    return Data(X.astype(np.float32), y, weight)


@pytest.fixture
def tree(data: Data) -> RobustTreeClassifier:
    return RobustTreeClassifier(max_depth=4, random_state=0).fit(data.X, data.y)


# --- scikit-learn's tools ------------------------------------------------------------------------


def test_export_text_and_graphviz(tree: RobustTreeClassifier) -> None:
    text = export_text(tree, feature_names=["a", "b", "c", "d"])
    assert text.count("class:") == tree.get_n_leaves()
    assert "samples" in export_graphviz(tree)


def test_plot_tree(tree: RobustTreeClassifier) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    drawn = plot_tree(tree, ax=axes, filled=True, class_names=True, impurity=True)
    texts = [box.get_text() for box in drawn if "samples" in box.get_text()]
    pyplot.close(figure)
    assert len(texts) == tree.tree_.node_count


@pytest.mark.parametrize("criterion", NAMES)
def test_to_sklearn(criterion: str, rng: np.random.Generator) -> None:
    X, y, _ = missing(2, rng)
    labels = np.array(["no", "yes"])[y]
    tree = RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, labels)
    theirs = tree.to_sklearn()
    assert type(theirs) is DecisionTreeClassifier
    for method in ("predict", "predict_proba", "apply"):
        assert_array_equal(getattr(theirs, method)(X), getattr(tree, method)(X))
    assert theirs.get_depth() == tree.get_depth()
    if MISPLACES_MISSING_VALUES:
        X = X[~np.isnan(X).any(axis=1)]
    assert (theirs.decision_path(X) != tree.decision_path(X)).nnz == 0
    assert_array_equal(pickle.loads(pickle.dumps(theirs)).predict(X), tree.predict(X))
    repr(theirs)


def test_grid_search_over_a_criterion_parameter(data: Data) -> None:
    search = GridSearchCV(
        RobustTreeClassifier(criterion=NegativeExponential(), random_state=0),
        {"criterion__lam": [0.0, 0.5, 1.0], "max_depth": [2, 4]},
        cv=3,
        error_score="raise",
    ).fit(data.X, data.y)
    assert len(search.cv_results_["params"]) == 6
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.criterion.lam == search.best_params_["criterion__lam"]


def test_pipeline_ensembles_and_cross_validation(data: Data) -> None:
    pipeline = make_pipeline(SimpleImputer(), RobustTreeClassifier(random_state=0))
    assert cross_val_score(pipeline, data.X, data.y, cv=3, error_score="raise").min() > 0.4
    bag = BaggingClassifier(RobustTreeClassifier(), n_estimators=5, random_state=0)
    assert bag.fit(data.X, data.y).score(data.X, data.y) > 0.6


# --- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_predict_the_same(copied: Any, tree: RobustTreeClassifier, data: Data) -> None:
    other = copied(tree)
    assert_same_tree(other, tree)
    assert_array_equal(other.predict_proba(data.X), tree.predict_proba(data.X))
    assert_array_equal(other.feature_importances_, tree.feature_importances_)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(
    mmap_mode: str | None, tree: RobustTreeClassifier, data: Data, tmp_path: Path
) -> None:
    """A memory-mapped model is read-only and still predicts."""
    joblib.dump(tree, tmp_path / "tree.joblib")
    other = joblib.load(tmp_path / "tree.joblib", mmap_mode=mmap_mode)
    assert_array_equal(other.predict_proba(data.X), tree.predict_proba(data.X))


def test_clone_is_unfitted_and_keeps_the_parameters(data: Data) -> None:
    tree = RobustTreeClassifier(criterion=NegativeExponential(lam=0.3), max_depth=3)
    other = clone(tree.fit(data.X, data.y))
    assert not hasattr(other, "tree_")
    assert other.criterion.lam == 0.3
    assert other.max_depth == 3


def test_fitting_again_forgets_the_first_fit(data: Data) -> None:
    tree = RobustTreeClassifier(random_state=0).fit(data.X[:, :2], data.y > 0)
    again = tree.fit(data.X, data.y)
    assert_same_tree(again, RobustTreeClassifier(random_state=0).fit(data.X, data.y))
    assert again.n_features_in_ == 4


# --- frames --------------------------------------------------------------------------------------

NAMES_OF_COLUMNS = ["height", "width", "depth", "weight"]


def frame(kind: str, X: Any) -> Any:
    module = pytest.importorskip(kind)
    columns = {name: X[:, i] for i, name in enumerate(NAMES_OF_COLUMNS)}
    return module.DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(kind: str, data: Data) -> None:
    X = frame(kind, data.X)
    tree = RobustTreeClassifier(random_state=0).fit(X, data.y)
    assert_array_equal(tree.feature_names_in_, NAMES_OF_COLUMNS)
    plain = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    assert_same_tree(tree, plain)
    assert_array_equal(tree.predict(X), plain.predict(data.X))
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(frame(kind, data.X)[NAMES_OF_COLUMNS[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        tree.predict(data.X)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_of_mixed_columns(kind: str, rng: np.random.Generator) -> None:
    """Whole numbers, truth values and nulls side by side."""
    X, y, _ = ties(2, rng)
    module = pytest.importorskip(kind)
    whole, flag = X[:, 0].tolist(), (X[:, 3] > 0).tolist()
    holes = [None if i % 5 == 0 else float(v) for i, v in enumerate(X[:, 1])]
    mixed = module.DataFrame({"whole": whole, "holes": holes, "flag": flag})
    array = np.column_stack([whole, np.array(holes, float), flag])
    assert_same_tree(
        RobustTreeClassifier(random_state=0).fit(mixed, module.Series(y.tolist())),
        RobustTreeClassifier(random_state=0).fit(array, y),
    )


def test_lists(data: Data) -> None:
    assert_same_tree(
        RobustTreeClassifier(random_state=0).fit(data.X.tolist(), data.y.tolist()),
        RobustTreeClassifier(random_state=0).fit(data.X, data.y),
    )


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ant", "bee", "cat"]),
        np.array(["ant", "bee", "cat"], object),
        np.array([-5, 0, 9]),
        np.array([1.0, 2.0, 3.0]),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_labels_of_any_type(labels: Any, data: Data) -> None:
    tree = RobustTreeClassifier(random_state=0).fit(data.X, labels[data.y])
    plain = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    assert_same_tree(tree, plain)
    assert_array_equal(tree.classes_, labels)
    assert_array_equal(tree.predict(data.X), labels[plain.predict(data.X)])
    assert tree.predict(data.X).dtype == labels.dtype


def test_truth_values_and_series_as_labels(data: Data) -> None:
    pandas = pytest.importorskip("pandas")
    tree = RobustTreeClassifier().fit(data.X, data.y > 0)
    assert tree.predict(data.X).dtype == bool
    series = pandas.Series(np.array(["a", "b", "c"])[data.y], dtype="category")
    assert set(RobustTreeClassifier().fit(data.X, series).classes_) == {"a", "b", "c"}

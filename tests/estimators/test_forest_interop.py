"""The forests among their neighbours: scikit-learn's tools, data frames, label types, pickles."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from cases import NAMES, Data, continuous, many_rows_many_values, missing
from forests import EVERY_FOREST, TWIN, assert_same_forest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn_defects import MISPLACES_MISSING_VALUES

from hardwood import RobustForestClassifier
from hardwood.criteria import NegativeExponential


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    X, y, weight = continuous(3, rng)
    return Data(X.astype(np.float32), y, weight)


# --- scikit-learn's tools ------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize("criterion", NAMES)
def test_to_sklearn(cls: Any, criterion: str, rng: np.random.Generator) -> None:
    X, y, _ = missing(2, rng)
    labels = np.array(["no", "yes"])[y]
    forest = cls(6, criterion=criterion, random_state=0).fit(X, labels)
    theirs = forest.to_sklearn()
    assert type(theirs) is TWIN[cls]
    assert_allclose(theirs.predict_proba(X), forest.predict_proba(X), atol=1e-12)
    assert_array_equal(theirs.apply(X), forest.apply(X))
    if MISPLACES_MISSING_VALUES:
        X = X[~np.isnan(X).any(axis=1)]
    assert (theirs.decision_path(X)[0] != forest.decision_path(X)[0]).nnz == 0
    assert_array_equal(theirs.decision_path(X)[1], forest.decision_path(X)[1])
    assert_array_equal(theirs.classes_, forest.classes_)
    proba = pickle.loads(pickle.dumps(theirs)).predict_proba(X)
    assert_allclose(proba, forest.predict_proba(X), atol=1e-12)
    repr(theirs)


def test_to_sklearn_keeps_names_and_scores(data: Data) -> None:
    forest = RobustForestClassifier(60, oob_score=True, random_state=0)
    theirs = forest.fit(frame("pandas", data.X), data.y).to_sklearn()
    assert_array_equal(theirs.feature_names_in_, COLUMNS)
    assert theirs.oob_score_ == forest.oob_score_
    assert_array_equal(theirs.oob_decision_function_, forest.oob_decision_function_)
    theirs.predict(frame("pandas", data.X))


@EVERY_FOREST
def test_grid_search_over_a_criterion_parameter(cls: Any, data: Data) -> None:
    search = GridSearchCV(
        cls(5, criterion=NegativeExponential(), random_state=0),
        {"criterion__lam": [0.0, 0.5, 1.0], "max_features": ["sqrt", None]},
        cv=3,
        error_score="raise",
    ).fit(data.X, data.y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.criterion.lam == search.best_params_["criterion__lam"]


@EVERY_FOREST
def test_tools_that_take_any_classifier(cls: Any, data: Data) -> None:
    forest = cls(10, random_state=0)
    scores = cross_val_score(forest, data.X, data.y, cv=3, n_jobs=2, error_score="raise")
    assert scores.min() > 0.4
    CalibratedClassifierCV(forest, cv=3).fit(data.X, data.y).predict_proba(data.X)
    result = permutation_importance(forest.fit(data.X, data.y), data.X, data.y, random_state=0)
    assert set(np.argsort(result.importances_mean)[-2:]) == {0, 1}


# --- copies --------------------------------------------------------------------------------------


@EVERY_FOREST
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda forest: pickle.loads(pickle.dumps(forest))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_the_same(cls: Any, copied: Any, data: Data) -> None:
    forest = cls(60, bootstrap=True, oob_score=True, warm_start=True, random_state=0)
    other = copied(forest.fit(data.X, data.y))
    assert_same_forest(other, forest)
    assert_array_equal(other.predict_proba(data.X), forest.predict_proba(data.X))
    assert_array_equal(other.feature_importances_, forest.feature_importances_)
    assert other.oob_score_ == forest.oob_score_
    # A copy can go on growing where the original would.
    for each in (forest, other):
        each.set_params(n_estimators=65).fit(data.X, data.y)
    assert_same_forest(other, forest)


@EVERY_FOREST
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_joblib(cls: Any, mmap_mode: str | None, data: Data, tmp_path: Path) -> None:
    """A memory-mapped model is read-only and still predicts."""
    forest = cls(5, random_state=0).fit(data.X, data.y)
    joblib.dump(forest, tmp_path / "forest.joblib")
    other = joblib.load(tmp_path / "forest.joblib", mmap_mode=mmap_mode)
    assert_array_equal(other.predict_proba(data.X), forest.predict_proba(data.X))
    assert_array_equal(other.apply(data.X), forest.apply(data.X))
    assert_same_forest(other, forest)


@EVERY_FOREST
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_pickle_is_a_quarter_of_scikit_learns(
    cls: Any, n_classes: int, rng: np.random.Generator
) -> None:
    X, y, _ = many_rows_many_values(n_classes, rng)
    ours = cls(10, criterion="gini", random_state=0).fit(X, y)
    theirs = TWIN[cls](10, random_state=0).fit(X, y)
    before = len(pickle.dumps(ours))
    assert before < len(pickle.dumps(theirs)) / 4
    list(ours.estimators_)  # trees that were asked for are not kept
    assert len(pickle.dumps(ours)) == before


@EVERY_FOREST
def test_clone_is_unfitted_and_keeps_the_parameters(cls: Any, data: Data) -> None:
    forest = cls(3, criterion=NegativeExponential(lam=0.3), max_depth=3)
    other = clone(forest.fit(data.X, data.y))
    assert not hasattr(other, "estimators_")
    assert not hasattr(other, "classes_")
    assert other.criterion.lam == 0.3
    assert (other.n_estimators, other.max_depth) == (3, 3)


# --- frames and labels ---------------------------------------------------------------------------

COLUMNS = ["height", "width", "depth", "weight"]


def frame(kind: str, X: Any) -> Any:
    module = pytest.importorskip(kind)
    return module.DataFrame({name: X[:, i] for i, name in enumerate(COLUMNS)})


@EVERY_FOREST
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(cls: Any, kind: str, data: Data) -> None:
    X = frame(kind, data.X)
    forest = cls(60, bootstrap=True, oob_score=True, random_state=0).fit(X, data.y)
    assert_array_equal(forest.feature_names_in_, COLUMNS)
    assert_array_equal(forest.estimators_[0].feature_names_in_, COLUMNS)
    plain = cls(60, bootstrap=True, oob_score=True, random_state=0).fit(data.X, data.y)
    assert_same_forest(forest, plain)
    assert_array_equal(forest.predict(X), plain.predict(data.X))
    assert_array_equal(forest.apply(X), plain.apply(data.X))
    assert forest.oob_score_ == plain.oob_score_
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(frame(kind, data.X)[COLUMNS[::-1]])
    with pytest.warns(UserWarning, match="feature names"):
        forest.predict(data.X)


@EVERY_FOREST
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_decision_path_of_frames(cls: Any, kind: str, data: Data) -> None:
    """Without a warning that names are missing, which the user did give."""
    X = frame(kind, data.X)
    forest = cls(3, random_state=0).fit(X, data.y)
    plain = cls(3, random_state=0).fit(data.X, data.y)
    assert (forest.decision_path(X)[0] != plain.decision_path(data.X)[0]).nnz == 0


@EVERY_FOREST
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
def test_labels_of_any_type(cls: Any, labels: Any, data: Data) -> None:
    forest = cls(60, bootstrap=True, oob_score=True, random_state=0)
    plain = clone(forest).fit(data.X, data.y)
    forest.fit(data.X, labels[data.y])
    assert_same_forest(forest, plain)
    assert_array_equal(forest.classes_, labels)
    assert_array_equal(forest.predict(data.X), labels[plain.predict(data.X)])
    assert forest.predict(data.X).dtype == labels.dtype
    assert forest.oob_score_ == plain.oob_score_
    assert_array_equal(forest.estimators_[0].predict(data.X[:5]).dtype, labels.dtype)

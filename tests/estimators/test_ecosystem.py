"""Every estimator in the tools that take a classifier: one test for each tool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from cases import Data, continuous
from estimators_list import ESTIMATORS, small
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from hardwood.criteria import NegativeExponential

COLUMNS = ["height", "width", "depth", "colour"]

EVERY_ESTIMATOR = pytest.mark.parametrize(
    "model",
    [small(cls, 10)(max_depth=5, random_state=0) for cls in ESTIMATORS],
    ids=lambda model: type(model).__name__,
)


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return continuous(3, rng)


def mixed_frame(kind: str, data: Data) -> Any:
    """Three columns of numbers and one of text."""
    columns: dict[str, Any] = {name: data.X[:, i] for i, name in enumerate(COLUMNS[:3])}
    columns["colour"] = np.where(data.X[:, 3] > 0, "red", "blue").tolist()
    return pytest.importorskip(kind).DataFrame(columns)


@EVERY_ESTIMATOR
def test_pipeline(model: Any, data: Data) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("model", clone(model))])
    assert pipeline.fit(data.X, data.y).score(data.X, data.y) > 0.6
    scaled = StandardScaler().fit_transform(data.X)
    alone = clone(model).fit(scaled, data.y)
    assert_array_equal(pipeline.predict_proba(data.X), alone.predict_proba(scaled))
    assert pipeline.set_params(model__max_depth=2)["model"].max_depth == 2


@EVERY_ESTIMATOR
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_column_transformer(model: Any, kind: str, data: Data) -> None:
    """Text columns coded, numbers passed through, names kept."""
    X = mixed_frame(kind, data)
    columns = ColumnTransformer(
        [("colour", OrdinalEncoder(), ["colour"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform=kind)
    pipeline = Pipeline([("columns", columns), ("model", clone(model))]).fit(X, data.y)
    assert pipeline.score(X, data.y) > 0.6
    assert list(pipeline["model"].feature_names_in_) == ["colour", *COLUMNS[:3]]


@EVERY_ESTIMATOR
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(model: Any, kind: str, data: Data) -> None:
    """Transformers before the model, or made of it, hand frames on."""
    X = mixed_frame(kind, data)[COLUMNS[:3]]
    scaler = StandardScaler().set_output(transform=kind)
    fitted = clone(model).fit(scaler.fit_transform(X), data.y)
    assert list(fitted.feature_names_in_) == COLUMNS[:3]
    select = SelectFromModel(clone(model), max_features=2, threshold=-np.inf)
    selected = select.set_output(transform=kind).fit(X, data.y).transform(X)
    assert type(selected) is type(X)
    assert list(selected.columns) == ["height", "width"]


@EVERY_ESTIMATOR
def test_grid_search(model: Any, data: Data) -> None:
    model, grid = clone(model), {"min_samples_leaf": [1, 5]}
    has_criterion = "criterion" in model.get_params()
    if has_criterion:
        model.set_params(criterion=NegativeExponential())
        grid["criterion__lam"] = [0.1, 1.0]
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(data.X, data.y)
    if has_criterion:
        assert search.best_estimator_.criterion.lam == search.best_params_["criterion__lam"]
    assert search.best_estimator_.min_samples_leaf == search.best_params_["min_samples_leaf"]
    assert search.score(data.X, data.y) > 0.5


@EVERY_ESTIMATOR
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(model: Any, method: str, data: Data) -> None:
    calibrated = CalibratedClassifierCV(clone(model), method=method, cv=3).fit(data.X, data.y)
    np.testing.assert_allclose(calibrated.predict_proba(data.X).sum(axis=1), 1)
    assert calibrated.score(data.X, data.y) > 0.5


@EVERY_ESTIMATOR
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_cross_val_predict(model: Any, method: str, data: Data) -> None:
    out_of_fold = cross_val_predict(clone(model), data.X, data.y, cv=3, method=method)
    assert len(out_of_fold) == len(data.y)
    labels = out_of_fold if out_of_fold.ndim == 1 else out_of_fold.argmax(axis=1)
    assert accuracy_score(data.y, labels) > 0.4


@EVERY_ESTIMATOR
def test_metadata_routing(model: Any, data: Data, rng: np.random.Generator) -> None:
    """Weights reach the fit inside a pipeline inside a cross-validation, where asked for."""
    weight = (rng.random(len(data.y)) < 0.5).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = clone(model).set_fit_request(sample_weight=True)
        pipeline = Pipeline([("model", weighted)])
        fitted = pipeline.fit(data.X, data.y, sample_weight=weight)
        routed = cross_validate(
            pipeline,
            data.X,
            data.y,
            cv=3,
            scoring=make_scorer(accuracy_score).set_score_request(sample_weight=True),
            params={"sample_weight": weight},
            return_estimator=True,
            error_score="raise",
        )
    plain = cross_validate(clone(model), data.X, data.y, cv=3, return_estimator=True)
    direct = clone(model).fit(data.X, data.y, sample_weight=weight)
    assert_array_equal(fitted.predict_proba(data.X), direct.predict_proba(data.X))
    for with_weight, without in zip(routed["estimator"], plain["estimator"], strict=True):
        assert np.any(with_weight.predict_proba(data.X) != without.predict_proba(data.X))


@EVERY_ESTIMATOR
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(model: Any, kind: str, data: Data) -> None:
    X = mixed_frame(kind, data)[COLUMNS[:3]]
    fitted = clone(model).fit(X, data.y)
    plain = clone(model).fit(data.X[:, :3], data.y)
    assert_array_equal(fitted.predict_proba(X), plain.predict_proba(data.X[:, :3]))
    assert list(fitted.feature_names_in_) == COLUMNS[:3]


@EVERY_ESTIMATOR
def test_inspection(model: Any, data: Data) -> None:
    fitted = clone(model).fit(data.X, data.y)
    importance = permutation_importance(fitted, data.X, data.y, random_state=0)
    assert set(np.argsort(importance.importances_mean)[-2:]) == {0, 1}
    dependence = partial_dependence(fitted, data.X, [0], kind="average")
    assert dependence["average"].shape[0] == 3


@EVERY_ESTIMATOR
def test_cleanlab(model: Any, rng: np.random.Generator) -> None:
    """CleanLearning finds the labels that were flipped, and fits on the others."""
    classification = pytest.importorskip("cleanlab.classification")
    X = rng.normal(size=(400, 4))
    clean = (X[:, 0] > 0).astype(int)
    flipped = rng.random(len(X)) < 0.15
    noisy = np.where(flipped, 1 - clean, clean)
    # One job: its pool forks, which can hang in a process with threads, as pytest's workers are.
    learner = classification.CleanLearning(
        clone(model), seed=0, cv_n_folds=3, find_label_issues_kwargs={"n_jobs": 1}
    )
    issues = learner.fit(X, noisy).get_label_issues()
    found = issues["is_label_issue"].to_numpy()
    assert flipped[found].mean() > 0.5  # of the labels, 15 % are flipped
    assert found[flipped].mean() > 0.7
    assert accuracy_score(clean, learner.predict(X)) > 0.9

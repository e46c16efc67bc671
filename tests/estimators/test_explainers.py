"""Libraries that read scikit-learn's trees read ours: SHAP, skl2onnx, treelite, dtreeviz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Data, continuous
from estimators_list import every_robust_model
from forests import EVERY_FOREST
from numpy.testing import assert_allclose

from hardwood import RobustTreeClassifier

EVERY_MODEL = every_robust_model(10)


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    X, y, _ = continuous(3, rng)
    return Data(X.astype(np.float32), y)


@EVERY_MODEL
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("leaf_prediction", ["distribution", "optimal"])
def test_shap(make: Any, n_classes: int, leaf_prediction: str, rng: np.random.Generator) -> None:
    """A row's SHAP values and the base value add up to its probabilities."""
    shap = pytest.importorskip("shap")
    X, y, _ = continuous(n_classes, rng)
    X = X.astype(np.float32)
    model = make(leaf_prediction=leaf_prediction, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(model.to_sklearn())
    values = explainer.shap_values(X)  # row, feature, class
    assert values.shape == (len(X), 4, n_classes)
    total = values.sum(axis=1) + explainer.expected_value
    assert_allclose(total, model.predict_proba(X), atol=1e-5)


def test_shap_takes_a_tree_as_it_is(data: Data) -> None:
    shap = pytest.importorskip("shap")
    tree = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    explanation = shap.TreeExplainer(tree)(data.X)
    total = explanation.values.sum(axis=1) + explanation.base_values
    assert_allclose(total, tree.predict_proba(data.X), atol=1e-5)


@EVERY_MODEL
def test_skl2onnx(make: Any, data: Data) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = make(random_state=0).fit(data.X, data.y)
    proto = skl2onnx.to_onnx(model.to_sklearn(), data.X[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    _, probabilities = session.run(None, {session.get_inputs()[0].name: data.X})
    assert_allclose(probabilities, model.predict_proba(data.X), atol=1e-5)


@EVERY_FOREST
def test_treelite(cls: Any, data: Data) -> None:
    """Of forests, that is: it takes no tree of scikit-learn's either."""
    treelite = pytest.importorskip("treelite")
    model = cls(10, random_state=0).fit(data.X, data.y)
    imported = treelite.sklearn.import_model(model.to_sklearn())
    probabilities = treelite.gtil.predict(imported, data.X).reshape(len(data.X), -1)
    assert_allclose(probabilities, model.predict_proba(data.X), atol=1e-5)


def test_dtreeviz(data: Data, tmp_path: Path) -> None:
    dtreeviz = pytest.importorskip("dtreeviz")
    tree = RobustTreeClassifier(max_depth=3, random_state=0).fit(data.X, data.y)
    shown = dtreeviz.model(
        tree.to_sklearn(),
        X_train=data.X,
        y_train=data.y,
        feature_names=["a", "b", "c", "d"],
        target_name="label",
        class_names=["ant", "bee", "cat"],
    )
    assert shown.shadow_tree.nnodes() == tree.tree_.node_count
    assert "label" not in shown.explain_prediction_path(data.X[0])

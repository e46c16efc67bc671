"""ONNX models: the same probabilities and classes under onnxruntime."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import Data, continuous, missing
from estimators_list import every_robust_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from hardwood import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
    datasets,
)
from hardwood._io import onnx as hardwood_onnx
from hardwood.criteria import CustomImpurity, FromLoss
from hardwood.losses import DistributionLoss

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

EVERY_MODEL = every_robust_model(8)
CLOSE = 1e-5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return continuous(3, rng)


def run(model: Any, X: Any, path: Path) -> tuple[Any, Any]:
    model.to_onnx(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    label, probabilities = session.run(["label", "probabilities"], {"X": X.astype(np.float64)})
    return label, probabilities


def assert_same_predictions(model: Any, X: Any, path: Path) -> None:
    label, probabilities = run(model, X, path)
    expected = model.predict_proba(X)
    assert_allclose(probabilities, expected, atol=CLOSE)
    if expected.shape[1] > 1:
        second, best = np.sort(expected, axis=1)[:, -2:].T
        apart = best - second > CLOSE
    else:
        apart = np.ones(len(X), dtype=bool)
    assert apart.any()
    assert_array_equal(label[apart], model.predict(X)[apart])


@EVERY_MODEL
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_the_same_predictions(
    make: Any, n_classes: int, path: Path, rng: np.random.Generator
) -> None:
    X, y, _ = continuous(n_classes, rng)
    model = make(random_state=0).fit(X, y)
    assert_same_predictions(model, np.vstack([X, rng.normal(size=(500, 4))]), path)
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize("full_data", [True, False])
def test_adaptive_forests(full_data: bool, path: Path, data: Data) -> None:
    forest = AdaptiveForestClassifier(16, full_data=full_data, random_state=0)
    assert forest.fit(data.X, data.y).decision_ == "plain"
    assert_same_predictions(forest, data.X, path)


def test_ane_forests(path: Path, data: Data) -> None:
    forest = ANEForestClassifier(8, random_state=0).fit(data.X, data.y)
    assert_same_predictions(forest, data.X, path)


def test_adaptive_trees(path: Path, data: Data) -> None:
    assert_same_predictions(
        AdaptiveTreeClassifier(random_state=0).fit(data.X, data.y), data.X, path
    )


@EVERY_MODEL
@pytest.mark.parametrize("n_classes", [2, 3])
def test_missing_values(make: Any, n_classes: int, path: Path, rng: np.random.Generator) -> None:
    X, y, _ = missing(n_classes, rng)
    model = make(criterion="gini", random_state=0).fit(X, y)
    assert_same_predictions(model, X, path)
    # Where none were missing in training, they go to the larger child.
    model.fit(np.nan_to_num(X, nan=4.0), y)
    assert_same_predictions(model, X, path)


@EVERY_MODEL
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ant", "bee", "ünlü"]),
        np.array(["ant", "bee", "cat"], object),
        np.array([-5, 0, 9]),
        np.array([0, 1, 255], np.uint8),
        np.array([-5.0, 1.0, 1e9]),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_labels_of_any_type(make: Any, labels: Any, path: Path, data: Data) -> None:
    assert_same_predictions(make(random_state=0).fit(data.X, labels[data.y]), data.X, path)


def test_truth_values_as_labels(path: Path, data: Data) -> None:
    model = RobustForestClassifier(5, random_state=0).fit(data.X, data.y > 0)
    assert_same_predictions(model, data.X, path)
    assert run(model, data.X, path)[0].dtype == bool


def test_labels_beyond_int64_are_refused(path: Path, data: Data) -> None:
    labels = np.array([0, 1, 2**64 - 1], np.uint64)
    model = RobustTreeClassifier().fit(data.X, labels[data.y])
    with pytest.raises(ValueError, match="int64"):
        model.to_onnx(path)


def own_impurity(p: Any) -> Any:
    return 1 - (p**3).sum(axis=1)


@EVERY_MODEL
@pytest.mark.parametrize(
    "parameters",
    [
        {"leaf_prediction": "optimal", "criterion": "misclassification"},
        {"leaf_prediction": "optimal", "criterion": "gce"},
        {"leaf_prediction": "optimal", "criterion": "ne"},
        {"monotonic_cst": [1, -1, 0, 0]},
        {"class_weight": {False: 1.5, True: 0.3}},
        {"criterion": CustomImpurity(own_impurity)},
        {"criterion": FromLoss(DistributionLoss(lambda z: 1 / (1 + np.exp(-z + 1))))},
    ],
    ids=lambda parameters: " ".join(f"{k}={v}" for k, v in parameters.items())[:50],
)
def test_predictions_of_every_kind(make: Any, parameters: Any, path: Path, data: Data) -> None:
    model = make(max_depth=6, random_state=0, **parameters).fit(data.X, data.y > 0)
    assert_same_predictions(model, data.X, path)


def test_doubles_are_kept(path: Path) -> None:
    """Two values that are one in float32."""
    X, y = np.array([[1.0], [1.0 + 2.0**-40]]), [0, 1]
    model = RobustTreeClassifier().fit(X, y)
    assert_array_equal(run(model, X, path)[0], y)


def test_a_forest_of_lone_leaves(path: Path, data: Data) -> None:
    model = RobustForestClassifier(3, random_state=0).fit(np.zeros((150, 2)), data.y)
    assert_same_predictions(model, np.ones((4, 2)), path)


def test_unfitted(path: Path) -> None:
    for model in (RobustTreeClassifier(), RobustForestClassifier()):
        with pytest.raises(NotFittedError):
            model.to_onnx(path)


def test_too_large(path: Path, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    model = RobustForestClassifier(3, random_state=0).fit(data.X, data.y)
    for limit in (
        100,
        32 * len(model._compact.nodes) + 14 * len(model._compact.forest.entry_label),
    ):
        monkeypatch.setattr(hardwood_onnx, "_MAX_BYTES", limit)
        with pytest.raises(ValueError, match=r"3 trees with .* exceed the 2 GB"):
            model.to_onnx(path)
    assert not path.exists()


def test_without_onnx(path: Path, data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"hardwood\[onnx\]"):
        RobustTreeClassifier().fit(data.X, data.y).to_onnx(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["covertype", "unsw_nb15"])
@pytest.mark.parametrize(
    "make", [RobustTreeClassifier, lambda **p: RobustForestClassifier(20, **p)]
)
def test_whole_test_sets(name: str, make: Any, path: Path, data_home: Path) -> None:
    dataset = datasets.load(name, data_home=data_home)
    model = make(random_state=0).fit(dataset.X_train, dataset.y_train)
    assert_same_predictions(model, dataset.X_test, path)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "kind", [RobustTreeClassifier, RobustForestClassifier, AdaptiveForestClassifier]
)
def test_sets_of_categories(
    kind: Any, n_classes: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    pd = pytest.importorskip("pandas")
    kinds = np.array(list("abcdefghijkl"))[rng.integers(0, 12, 400)]
    X = pd.DataFrame({"kind": kinds, "size": rng.normal(size=400)})
    X.loc[::17, "kind"] = None
    y = (np.char.encode(kinds).view(np.uint8) * 7 % 5 + (X["size"] > 0)) % n_classes
    size = {} if kind is RobustTreeClassifier else {"n_estimators": 8}
    model = kind(random_state=0, **size).fit(X, y)
    model.to_onnx(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    X.loc[:20, "kind"] = "never met"
    labels, proba = session.run(None, {"X": model.encode_categories(X)})
    assert_array_equal(labels, model.predict(X))
    assert_allclose(proba, model.predict_proba(X), atol=1e-5)

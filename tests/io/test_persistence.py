"""Models in files: what comes back, what is refused, and what a file is."""

from __future__ import annotations

import json
import os
import pickle
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CRITERIA, NAMES, Data, continuous, missing, real_weights
from estimators_list import every_robust_model
from hw_files import adaptive_models, put_together, saved, take_apart
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

import hardwood
from hardwood import (
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.criteria import CustomImpurity, FromLoss, Gini, NegativeExponential
from hardwood.losses import CustomLoss, DistributionLoss, GeneralizedCrossEntropy, Sigmoid
from hardwood.losses import NegativeExponential as NegativeExponentialLoss
from hardwood.noise.correction import Unmixed

FIXTURES = Path(__file__).parents[1] / "fixtures"
EVERY_MODEL = every_robust_model(4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.hw"


@pytest.fixture
def data(rng: np.random.Generator) -> Data:
    return continuous(3, rng)


def stored(model: Any, path: Path, **options: Any) -> Any:
    hardwood.save(model, path)
    return hardwood.load(path, **options)


def shown_parameters(model: Any) -> dict[str, str]:
    """As Python's own numbers, which NumPy's become, and without a random state's address."""
    shown = {name: repr(value) for name, value in model.get_params().items()}
    return {
        name: re.sub(r"np\.(?:int|float)64\((.*?)\)| at 0x\w+", r"\1", value)
        for name, value in shown.items()
    }


def assert_same_model(one: Any, other: Any, X: Any) -> None:
    assert type(one) is type(other)
    assert shown_parameters(one) == shown_parameters(other)
    for method in ("predict", "predict_proba", "apply"):
        a, b = getattr(one, method)(X), getattr(other, method)(X)
        assert_array_equal(a, b)
        assert a.dtype == b.dtype
    assert_array_equal(one.classes_, other.classes_)
    assert one.classes_.dtype == other.classes_.dtype
    assert_array_equal(one.feature_importances_, other.feature_importances_)
    for name in ("n_features_in_", "n_classes_", "n_outputs_", "max_features_"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("feature_names_in_", "oob_score_", "oob_decision_function_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            assert_array_equal(getattr(one, name), getattr(other, name))


# --- what comes back -----------------------------------------------------------------------------


@EVERY_MODEL
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_every_criterion(make: Any, criterion: Any, path: Path, rng: np.random.Generator) -> None:
    X, y, weight = real_weights(2, rng)
    model = make(criterion=criterion, random_state=0).fit(X, y, weight)
    assert_same_model(stored(model, path), model, X)


@EVERY_MODEL
@pytest.mark.parametrize("name", NAMES)
def test_criteria_by_name_and_missing_values(
    make: Any, name: str, path: Path, rng: np.random.Generator
) -> None:
    X, y, _ = missing(2, rng)
    model = make(criterion=name, random_state=0).fit(X, y)
    assert_same_model(stored(model, path), model, X)


@EVERY_MODEL
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ant", "bee", "ünlü"]),
        np.array(["ant", "bee", "cat"], "U10"),
        np.array(["", "bee", "a long 名前"], object),
        np.array([-5, 0, 9]),
        np.array([0, 1, 255], np.uint8),
        np.array([-5.0, 1.0, 1e9]),
    ],
    ids=lambda labels: labels.dtype.name,
)
def test_labels_of_any_type(make: Any, labels: Any, path: Path, data: Data) -> None:
    model = make(random_state=0).fit(data.X, labels[data.y])
    assert_same_model(stored(model, path), model, data.X)


@EVERY_MODEL
def test_truth_values_and_one_class(make: Any, path: Path, data: Data) -> None:
    model = make(random_state=0).fit(data.X, data.y > 0)
    assert_same_model(stored(model, path), model, data.X)
    model.fit(data.X, np.ones(len(data.X)))
    assert_same_model(stored(model, path), model, data.X)


@EVERY_MODEL
@pytest.mark.parametrize(
    "parameters",
    [
        {"leaf_prediction": "optimal", "criterion": "gce"},
        {"leaf_prediction": "optimal", "criterion": NegativeExponential(lam=0.7)},
        {"class_weight": {0: 1, 1: np.float64(2.5), 2: 0.1}},
        {"class_weight": "balanced", "max_depth": np.int64(3), "min_samples_leaf": 0.02},
        {"max_leaf_nodes": 7, "max_features": "log2"},
        {"ccp_alpha": 0.01},
        {"criterion": FromLoss(Sigmoid())},
        {"criterion": FromLoss(NegativeExponentialLoss(lam=0.4))},
        {"criterion": FromLoss(GeneralizedCrossEntropy(q=0.3))},
    ],
    ids=str,
)
def test_parameters(make: Any, parameters: Any, path: Path, data: Data) -> None:
    y = data.y if "criterion" not in parameters else data.y > 0
    model = make(random_state=0, **parameters).fit(data.X, y)
    assert_same_model(stored(model, path), model, data.X)


@EVERY_MODEL
@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_monotonic_constraints(make: Any, kind: Any, path: Path, data: Data) -> None:
    model = make(monotonic_cst=kind([1, -1, 0, 0]), random_state=0).fit(data.X, data.y > 0)
    other = stored(model, path)
    assert_same_model(other, model, data.X)
    assert type(other.monotonic_cst) is type(model.monotonic_cst)


def test_a_random_state_goes_on_where_it_was(path: Path, data: Data) -> None:
    model = RobustForestClassifier(3, random_state=np.random.RandomState(7)).fit(data.X, data.y)
    model.random_state.normal()  # so that it holds a second one back
    other = stored(model, path)
    assert_array_equal(other.random_state.normal(size=5), model.random_state.normal(size=5))


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_out_of_bag_scores_and_growing_on(path: Path, data: Data) -> None:
    model = RobustForestClassifier(10, oob_score=True, warm_start=True, random_state=0)
    other = stored(model.fit(data.X, data.y), path)
    assert_same_model(other, model, data.X)
    for each in (model, other):
        each.set_params(n_estimators=15).fit(data.X, data.y)
    assert_same_model(other, model, data.X)


@EVERY_MODEL
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_names_of_features(make: Any, kind: str, path: Path, data: Data) -> None:
    frame = pytest.importorskip(kind).DataFrame(
        {name: data.X[:, i] for i, name in enumerate(["größe", "b", "c c", ""])}
    )
    model = make(random_state=0).fit(frame, data.y)
    assert_same_model(stored(model, path), model, frame)


@EVERY_MODEL
@pytest.mark.parametrize("memory_map", [True, False])
def test_a_loaded_model_does_all_that_a_fitted_one_does(
    make: Any, memory_map: bool, path: Path, data: Data
) -> None:
    model = make(random_state=0).fit(data.X, data.y)
    other = stored(model, path, memory_map=memory_map)
    assert not other._compact.nodes.flags.writeable
    for copy in (pickle.loads(pickle.dumps(other)), stored(other, path)):
        assert_same_model(copy, model, data.X)
    assert_same_model(clone(other).fit(data.X, data.y), model, data.X)
    theirs = other.to_sklearn()
    np.testing.assert_allclose(theirs.predict_proba(data.X), model.predict_proba(data.X))
    assert other.score(data.X, data.y) == model.score(data.X, data.y)


def test_trees_of_a_loaded_tree_are_made_on_demand(path: Path, data: Data) -> None:
    model = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    other = stored(model, path)
    assert "tree_" not in vars(other)
    assert other.get_depth() == model.get_depth()
    assert_array_equal(other.tree_.impurity, model.tree_.impurity)
    assert not hasattr(clone(other), "tree_")


def test_a_model_may_be_saved_over_the_file_it_is_mapped_from(path: Path, data: Data) -> None:
    model = RobustForestClassifier(3, random_state=0).fit(data.X, data.y)
    other = stored(model, path)
    hardwood.save(other, path)
    assert_same_model(other, model, data.X)
    assert_same_model(hardwood.load(path), model, data.X)


def test_paths_may_be_strings(path: Path, data: Data) -> None:
    model = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    hardwood.save(model, str(path))
    assert_same_model(hardwood.load(str(path)), model, data.X)


def test_losses_are_known_in_a_fresh_process(path: Path, data: Data) -> None:
    hardwood.save(RobustTreeClassifier(criterion=FromLoss(Sigmoid())).fit(data.X, data.y > 0), path)
    program = "import hardwood, sys; print(hardwood.load(sys.argv[1]).criterion)"
    run = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert run.stdout == "FromLoss(loss=Sigmoid())\n"


# --- adaptive models -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(5), ids=["tree", "ane", "plain", "two", "three"])
@pytest.mark.parametrize("memory_map", [True, False])
def test_adaptive_models(
    number: int, memory_map: bool, path: Path, rng: np.random.Generator
) -> None:
    model = adaptive_models(rng)[number]
    X = rng.normal(size=(50, 4))
    other = stored(model, path, memory_map=memory_map)
    assert_same_model(other, model, X)
    for name in ("lam_", "decision_", "decision_reason_", "noise_matrix_", "noise_rate_"):
        assert hasattr(other, name) == hasattr(model, name)
        assert_array_equal(getattr(other, name, None), getattr(model, name, None))
    assert hasattr(other, "oob_votes_") == hasattr(model, "oob_votes_")
    if hasattr(model, "oob_votes_"):
        assert_array_equal(other.oob_votes_, model.oob_votes_)
    pandas = pytest.importorskip("pandas")
    for table in ("adaptation_", "tuning_scores_"):
        assert hasattr(other, table) == hasattr(model, table)
        if hasattr(model, table):
            pandas.testing.assert_frame_equal(getattr(other, table), getattr(model, table))
    assert_same_model(stored(other, path), model, X)


def test_the_adaptive_models_are_of_every_kind(rng: np.random.Generator) -> None:
    tree, ane, plain, two, three = adaptive_models(rng)
    assert isinstance(tree, AdaptiveTreeClassifier)
    assert isinstance(ane, ANEForestClassifier)
    assert [model.decision_ for model in (plain, two, three)] == ["plain", "corrected", "corrected"]
    assert two._unmixed is None
    assert isinstance(three._unmixed, Unmixed)


# --- what is refused -----------------------------------------------------------------------------


def impurity(p: Any) -> Any:
    return 1 - (p**2).sum(axis=1)


class OwnLoss:
    def impurity(self, p: Any) -> Any:
        return p * (1 - p)


class OwnCriterion(Gini):
    pass


class OwnForest(RobustForestClassifier):
    pass


@EVERY_MODEL
@pytest.mark.parametrize(
    "criterion",
    [
        CustomImpurity(impurity),
        FromLoss(OwnLoss()),
        FromLoss(DistributionLoss(lambda z: 1 / (1 + np.exp(-z + 1)))),
        FromLoss(CustomLoss(lambda p: (1 - p) ** 2)),
        OwnCriterion(),
    ],
    ids=lambda criterion: type(getattr(criterion, "loss", criterion)).__name__,
)
def test_code_is_not_stored(make: Any, criterion: Any, path: Path, data: Data) -> None:
    model = make(criterion=criterion).fit(data.X, data.y > 0)
    with pytest.raises(TypeError, match=r"criterion.* cannot be stored"):
        hardwood.save(model, path)
    if not isinstance(criterion, OwnCriterion):
        # Nor is what the trees were grown with, even if the parameter is another one now.
        with pytest.raises(TypeError, match="with your own impurity"):
            hardwood.save(model.set_params(criterion="gini"), path)
    assert list(path.parent.iterdir()) == []


def test_other_objects_are_not_stored(path: Path, data: Data) -> None:
    fitted = RobustForestClassifier(60, oob_score=f1_score_of_three, random_state=0)
    with pytest.raises(TypeError, match=r"parameters\['oob_score'\] cannot be stored"):
        hardwood.save(fitted.fit(data.X, data.y), path)
    for other in (DecisionTreeClassifier().fit(data.X, data.y), OwnForest(2), {"a": 1}, None):
        with pytest.raises(TypeError, match="model must be a hardwood model"):
            hardwood.save(other, path)
    with pytest.raises(NotFittedError):
        hardwood.save(RobustTreeClassifier(), path)
    changed = RobustTreeClassifier().fit(data.X, data.y).set_params(max_depth=-3)
    with pytest.raises(ValueError, match="max_depth"):
        hardwood.save(changed, path)
    assert list(path.parent.iterdir()) == []


def f1_score_of_three(y: Any, predicted: Any) -> float:
    return float(f1_score(y, predicted, average="macro"))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hardwood.load(tmp_path / "none.hw")
    with pytest.raises(OSError):
        hardwood.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hard", b"hardwood", b"PK\x03\x04" * 20])
def test_other_files(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.hw is not a hardwood model: it does not start"):
        hardwood.load(path)


def test_a_pickle_is_never_run(path: Path) -> None:
    path.write_bytes(pickle.dumps(RobustTreeClassifier()))
    with pytest.raises(ValueError, match='does not start with "hardwood"'):
        hardwood.load(path)


def test_other_protocols_are_refused_with_a_reason(path: Path, data: Data) -> None:
    file = saved(RobustTreeClassifier().fit(data.X, data.y))
    path.write_bytes(put_together(take_apart(file), protocol=99))
    with pytest.raises(ValueError, match=r"has protocol 99, but .* reads protocol 1"):
        hardwood.load(path)


def test_unknown_parameters_and_classes_are_refused(path: Path, data: Data) -> None:
    parts = take_apart(saved(RobustTreeClassifier().fit(data.X, data.y)))
    parts.header["state"]["parameters"]["dict"].append(["colour", "red"])
    path.write_bytes(put_together(parts))
    with pytest.raises(ValueError, match=r"RobustTreeClassifier has no parameters.*colour"):
        hardwood.load(path)
    parts.header["class"] = "os.system"
    path.write_bytes(put_together(parts))
    with pytest.raises(ValueError, match=r"unknown class 'os\.system'"):
        hardwood.load(path)


# --- the file ------------------------------------------------------------------------------------


def test_the_header_can_be_read_by_people(path: Path, data: Data) -> None:
    hardwood.save(RobustForestClassifier(3, max_depth=5).fit(data.X, data.y), path)
    header = take_apart(path.read_bytes()).header
    assert header["protocol"] == 1
    assert header["class"] == "RobustForestClassifier"
    assert header["versions"]["hardwood"] == hardwood.__version__
    assert ["max_depth", 5] in header["state"]["parameters"]["dict"]
    assert json.dumps(header, allow_nan=False)


def test_the_same_model_gives_the_same_file(path: Path, data: Data) -> None:
    model = RobustForestClassifier(3, random_state=0).fit(data.X, data.y)
    first = saved(model)
    assert saved(model) == first
    path.write_bytes(first)
    assert saved(hardwood.load(path)) == first


def test_arrays_are_aligned(path: Path, data: Data) -> None:
    model = stored(RobustForestClassifier(3, random_state=0).fit(data.X, data.y), path)
    for array in model._compact.forest.__getstate__()[1:]:
        assert array.ctypes.data % 64 == 0


def test_a_write_that_fails_leaves_the_old_file(
    path: Path, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    hardwood.save(model, path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        hardwood.save(RobustForestClassifier(3).fit(data.X, data.y), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links(tmp_path: Path, data: Data) -> None:
    model = RobustTreeClassifier(random_state=0).fit(data.X, data.y)
    plain, link, target = (tmp_path / name for name in ("plain", "link.hw", "target.hw"))
    plain.write_bytes(b"")
    link.symlink_to(target)
    hardwood.save(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert_same_model(hardwood.load(link), model, data.X)


def test_the_golden_file_can_be_read() -> None:
    """What was saved when the protocol was last changed; `fixtures/make.py` wrote it."""
    expected = json.loads((FIXTURES / "golden.json").read_text())
    model = hardwood.load(FIXTURES / "golden.hw")
    assert type(model) is RobustForestClassifier
    assert repr(model.criterion) == "NegativeExponential(lam=0.2)"
    assert model.oob_score_ == expected["oob_score"]
    X = np.array(expected["X"], dtype=float)  # None is a missing value
    np.testing.assert_allclose(model.predict_proba(X), expected["proba"], rtol=1e-15)
    assert_array_equal(model.predict(X), np.argmax(expected["proba"], axis=1))

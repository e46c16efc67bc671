"""Trees grown again, from rows drawn by how likely their labels are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score

import hardwood
from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.adaptive import _again
from hardwood.adaptive._settings import Setting
from hardwood.audit import LabelAudit
from hardwood.audit.detectors import Evidence
from hardwood.audit.issues import issues_table
from hardwood.noise import corrupt, uniform
from hardwood.noise.checks import Array


def noisy_halves(
    n_rows: int, rate: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return X, its classes, their noisy labels, and which of these are wrong."""
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] > 0).astype(np.intp)
    noisy, flipped = corrupt(y, uniform(2, rate), random_state=0)
    return X, y, noisy, flipped


@pytest.mark.parametrize(
    ("parameters", "n_rows", "n_first"),
    [
        ({"full_data": False}, 300, 15),
        ({"full_data": False, "n_estimators": 3}, 300, 3),
        ({"full_data": False, "class_weight": "balanced"}, 300, 20),  # votes are weighted
        ({"full_data": True}, 300, 14),  # one from all rows
    ],
)
def test_up_to_a_quarter_of_the_trees_is_grown_again(
    parameters: dict[str, object],
    n_rows: int,
    n_first: int,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_again, "_MUCH_NOISE", 0.01)
    X, _, noisy, _ = noisy_halves(n_rows, 0.2, rng)
    model = AdaptiveForestClassifier(20, random_state=0).set_params(**parameters).fit(X, noisy)
    assert model._n_drawn == n_first
    assert len(model.estimators_) == model.n_estimators


def test_large_tables_are_not_grown_again(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _, noisy, _ = noisy_halves(300, 0.2, rng)
    forest = AdaptiveForestClassifier(80, full_data=False, oob_score=True, random_state=0)
    assert hasattr(forest.fit(X, noisy), "_votes_again")
    monkeypatch.setattr(_again, "MOST_ROWS", 299)
    assert forest.fit(X, noisy)._n_drawn == 80
    assert not hasattr(forest, "_votes_again")


@pytest.mark.parametrize(
    "setting", [Setting("plain", 1), Setting("stop", 8), Setting("shrink", 10)]
)
def test_votes_are_those_on_rows_that_trees_did_not_draw(
    setting: Setting, rng: np.random.Generator
) -> None:
    X, _, noisy, _ = noisy_halves(200, 0.2, rng)
    weights = rng.uniform(0.1, 1, size=200)
    forest = RobustForestClassifier(40, criterion="gini", random_state=0).fit(X, noisy, weights)
    data = forest._data_again(X, noisy, weights, None)
    trees, n_draws = forest._drawn_trees(data)
    sums, n_votes = setting.applied(trees, 1).oob_votes(X, data.weights, n_draws, forest._seed)
    assert n_votes.min() > 0
    parts = [(setting, trees.trees(0, 15)), (setting, trees.trees(15, 40))]
    votes = _again.mean_votes(parts, data, n_draws, forest._seed, 0, 1)
    assert_allclose(votes, sums / n_votes[:, np.newaxis], atol=1e-6)


def test_wrong_labels_are_drawn_less_often(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _, noisy, flipped = noisy_halves(600, 0.3, rng)
    found = []
    rightness = _again.rightness

    def kept(*arguments: object) -> Array:
        found.append(rightness(*arguments))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(_again, "rightness", kept)
    AdaptiveForestClassifier(60, random_state=0).fit(X, noisy)
    (right,) = found
    assert right[flipped].mean() < 0.4
    assert right[~flipped].mean() > 0.8
    assert right.min() > 0


def test_trees_grown_again_find_more_wrong_labels(rng: np.random.Generator) -> None:
    gained = []
    for _ in range(4):
        X, _, noisy, flipped = noisy_halves(300, 0.3, rng)
        audit = LabelAudit(random_state=0).fit(X, noisy)
        evidence = audit._evidence
        assert evidence.again is not None
        first = Evidence(evidence.labels, evidence.proba, evidence.model)
        without = issues_table(first, audit.classes_, "posterior")["rank"]
        gained.append(
            average_precision_score(flipped, -audit.issues_["rank"])
            - average_precision_score(flipped, -np.asarray(without))
        )
    assert np.mean(gained) > 0


def test_files_keep_the_votes(tmp_path: Path, rng: np.random.Generator) -> None:
    X, _, noisy, _ = noisy_halves(200, 0.2, rng)
    forest = AdaptiveForestClassifier(40, oob_score=True, random_state=0).fit(X, noisy)
    hardwood.save(forest, tmp_path / "forest.hw")
    loaded = hardwood.load(tmp_path / "forest.hw")
    expected = LabelAudit(forest).fit(X, noisy).issues_
    assert_array_equal(LabelAudit(loaded).fit(X, noisy).issues_["rank"], expected["rank"])


def test_copies_have_the_same_votes(rng: np.random.Generator) -> None:
    X, _, noisy, _ = noisy_halves(200, 0.2, rng)
    forest = AdaptiveForestClassifier(40, oob_score=True, random_state=0)
    forest.fit(np.tile(X, (2, 1)), np.tile(noisy, 2))
    assert forest.n_copies_ == 200
    assert_array_equal(forest._votes_again[:200], forest._votes_again[200:])

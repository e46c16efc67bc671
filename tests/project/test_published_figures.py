"""Covertype's binary task, clean labels, all rows: an independent implementation's figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardwood import RobustTreeClassifier

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("criterion", "accuracy", "points", "fewest_leaves", "most_leaves"),
    [
        ("misclassification", 77.20, 0.15, 190, 240),  # the paper: 77.22
        ("gini", 95.06, 0.3, 18_810, 20_790),
        ("entropy", 95.52, 0.3, 16_340, 18_060),
        ("gce", 93.90, 0.3, 25_840, 28_560),
        ("ranking", 95.02, 0.3, 18_715, 20_685),
        ("credal", 95.28, 0.3, 15_485, 17_115),
        # Gini's tree for two classes. The paper's 85.35 is its code's early exit.
        ("twoing", 95.05, 0.3, 18_810, 20_790),
    ],
)
def test_covertype_binary(
    criterion: str,
    accuracy: float,
    points: float,
    fewest_leaves: int,
    most_leaves: int,
    data_home: Path,
) -> None:
    with np.load(data_home / "covertype.npz", allow_pickle=False) as data:
        X_train, X_test = data["X_train"], data["X_test"]
        # The second class against the others, and label 0 is the first listed.
        y_train, y_test = data["y_train"] != 1, data["y_test"] != 1
    tree = RobustTreeClassifier(criterion=criterion, random_state=0).fit(X_train, y_train)
    assert 100 * tree.score(X_test, y_test) == pytest.approx(accuracy, abs=points)
    assert fewest_leaves <= tree.get_n_leaves() <= most_leaves

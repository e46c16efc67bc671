"""The paper's ANE: a tree and a forest that choose λ by held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import continuous
from forests import assert_same_forest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from trees import assert_same_tree

from hardwood import (
    ANEForestClassifier,
    ANETreeClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.criteria import NegativeExponential
from hardwood.datasets import load
from hardwood.noise import class_conditional, corrupt, uniform
from lab.paper.compare import paper_results


@parametrize_with_checks([ANEForestClassifier(5), ANETreeClassifier()])
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_lam_that_is_best_on_held_out_rows_is_chosen(rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    tree = ANETreeClassifier(validation_fraction=0.3, refit=False, random_state=5).fit(X, y)
    scores = tree.tuning_scores_
    assert scores["lam"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert tree.lam_ == scores["lam"][scores["accuracy"].idxmax()]
    assert tree.tree_.n_node_samples[0] == 105
    refitted = clone(tree).set_params(refit=True).fit(X, y)
    assert refitted.tree_.n_node_samples[0] == 150
    twin = RobustTreeClassifier(criterion=NegativeExponential(lam=tree.lam_), random_state=5)
    assert_same_tree(refitted, twin.fit(X, y))


def test_the_forest_is_one_without_bootstrap(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = ANEForestClassifier(7, random_state=5).fit(X, y)
    twin = RobustForestClassifier(
        7, criterion=NegativeExponential(lam=forest.lam_), bootstrap=False, random_state=5
    )
    assert_same_forest(forest, twin.fit(X, y))
    with pytest.raises(TypeError, match="oob_score"):
        ANEForestClassifier(oob_score=True)


@pytest.mark.parametrize(
    "noise",
    [
        "0.1",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("0.0", "0.2", "0.3", "0.4", "cc1", "cc2")
        ),
    ],
)
def test_the_papers_forests_on_mushrooms_are_reproduced(noise: str) -> None:
    data = load("mushrooms")
    rates = {"cc1": [0.1, 0.3], "cc2": [0.2, 0.4]}
    T = class_conditional(rates[noise]) if noise in rates else uniform(2, float(noise))
    accuracies = []
    for seed in range(3):
        noisy, _ = corrupt(data.y_train, T, random_state=seed)
        forest = ANEForestClassifier(100, refit=False, random_state=seed, n_jobs=2)
        accuracies.append(100 * forest.fit(data.X_train, noisy).score(data.X_test, data.y_test))
    paper, _ = paper_results()["rf", "binary", "mushrooms", "ANE", noise]
    assert abs(np.mean(accuracies) - paper.mean) <= paper.two_sd + 0.5


@pytest.mark.parametrize("model", [ANETreeClassifier(), ANEForestClassifier(2)])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam_grid": [-1]}, "between 0 and 1"),
        ({"lam_grid": (0.5, 2)}, "between 0 and 1"),
        ({"lam_grid": []}, "lam_grid must hold"),
        ({"refit": "no"}, "'refit' parameter"),
        ({"validation_fraction": 0}, "'validation_fraction' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
    ],
)
def test_bad_parameters(model: Any, parameters: dict[str, Any], message: str) -> None:
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**parameters).fit(X, y)


def test_a_forest_holds_out_whole_groups(rng: np.random.Generator) -> None:
    """Of labels that say nothing, copies held in would tell those held out."""
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    X, y, groups = np.tile(X, (3, 1)), np.tile(y, 3), np.tile(np.arange(200), 3)
    forest = ANEForestClassifier(10, random_state=0)
    assert forest.fit(X, y).tuning_scores_["accuracy"].max() > 0.9
    assert forest.fit(X, y, groups=groups).tuning_scores_["accuracy"].max() < 0.7
    assert forest.fit(X, y, groups=np.zeros(600)).score(X, y) > 0.9  # nothing can be held out

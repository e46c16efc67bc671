"""Parameters of a criterion that was given by its name: ``criterion__lam`` with ``"ne"``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import continuous
from estimators_list import ESTIMATORS, every_robust_model
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hardwood import AdaptiveForestClassifier, RobustTreeClassifier
from hardwood.criteria import Credal, GeneralizedCrossEntropy, Gini, NegativeExponential


@every_robust_model(3)
def test_a_name_becomes_an_object(make: Any, rng: np.random.Generator) -> None:
    model = make(random_state=0)
    assert model.set_params(criterion__lam=0.25) is model
    assert isinstance(model.criterion, NegativeExponential)
    assert model.get_params()["criterion__lam"] == 0.25
    again = clone(model)
    assert again.criterion.lam == 0.25
    assert again.criterion is not model.criterion
    assert clone(model.set_params(**model.get_params())).get_params()["criterion__lam"] == 0.25
    X, y, _ = continuous(3, rng)
    same = make(criterion=NegativeExponential(lam=0.25), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), same.predict_proba(X))


def test_both_at_once() -> None:
    tree = RobustTreeClassifier().set_params(criterion="gce", criterion__q=0.1, max_depth=3)
    assert isinstance(tree.criterion, GeneralizedCrossEntropy)
    assert (tree.criterion.q, tree.max_depth) == (0.1, 3)
    tree.set_params(criterion__s=2.0, criterion="credal")
    assert isinstance(tree.criterion, Credal)
    tree.set_params(criterion="gini")
    assert tree.criterion == "gini"  # a name without parameters stays a name


def test_other_models_do_not_change() -> None:
    one, other = RobustTreeClassifier(), RobustTreeClassifier()
    one.set_params(criterion__lam=0.1)
    assert other.criterion == "ne"
    assert RobustTreeClassifier().set_params(criterion__lam=0.9).criterion.lam == 0.9
    assert one.criterion.lam == 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion__mu": 1}, "Invalid parameter 'mu' for estimator NegativeExponential"),
        ({"criterion": "gini", "criterion__lam": 1}, "Invalid parameter 'lam' for estimator Gini"),
        ({"criterion": "rings", "criterion__lam": 1}, "Unknown criterion 'rings'"),
    ],
)
def test_wrong_names(parameters: dict[str, Any], message: str) -> None:
    tree = RobustTreeClassifier()
    with pytest.raises(ValueError, match=message):
        tree.set_params(**parameters)
    assert tree.criterion == "ne"


def test_a_wrong_value_is_found_by_fit() -> None:
    tree = RobustTreeClassifier().set_params(criterion__lam=-1)
    with pytest.raises(ValueError, match="'lam' parameter of NegativeExponential"):
        tree.fit([[0.0], [1.0]], [0, 1])


def test_grid_search(rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    search = GridSearchCV(RobustTreeClassifier(random_state=0), {"criterion__lam": [0.0, 0.5, 1.0]})
    search.fit(X, y)
    assert search.best_estimator_.criterion.lam == search.best_params_["criterion__lam"]
    assert search.estimator.criterion == "ne"
    pipeline = make_pipeline(StandardScaler(), RobustTreeClassifier(random_state=0))
    grid = {
        "robusttreeclassifier__criterion": ["ne", NegativeExponential()],
        "robusttreeclassifier__criterion__lam": [0.1, 1.0],
    }
    results = GridSearchCV(pipeline, grid).fit(X, y).cv_results_["mean_test_score"]
    assert results[0] == results[2]
    assert results[1] == results[3]


def test_adaptive_forests_have_a_criterion_as_well() -> None:
    forest = AdaptiveForestClassifier().set_params(criterion="ne", criterion__lam=0.3)
    assert forest.criterion.lam == 0.3
    assert isinstance(forest.set_params(criterion=Gini()).criterion, Gini)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_unknown_parameters_are_named(cls: Any) -> None:
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        cls().set_params(depth=3)

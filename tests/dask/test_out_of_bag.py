"""Out-of-bag votes on a cluster are those of one machine, bit for bit."""

import numpy as np
import pytest
from clusters import PARTITIONS, array_of, noisy_table
from sklearn.base import clone

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.dask import DaskAdaptiveForestClassifier, DaskRobustForestClassifier

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")


def check(there, local, n_rows, weighted, placement):
    X, y, weights = noisy_table(n_rows)
    weights[::5] = 0  # these rows are out of every bag
    weights = weights if weighted else None
    local.fit(X, y, weights)
    sizes = PARTITIONS["uneven"](n_rows)
    forest = there(placement=placement, **local.get_params())
    forest.fit(
        array_of(X, sizes),
        array_of(y, sizes),
        None if weights is None else array_of(weights, sizes),
    )
    for name in ("oob_decision_function_", "oob_score_", "oob_votes_", "noise_matrix_"):
        if hasattr(local, name):
            np.testing.assert_array_equal(getattr(forest, name), getattr(local, name), name)
    assert forest.to_local().oob_score_ == local.oob_score_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params", [{}, {"leaf_prediction": "optimal", "max_samples": 0.4}, {"class_weight": "balanced"}]
)
def test_robust_forests(client, params, weighted):
    local = RobustForestClassifier(4, random_state=0, oob_score=True, **params)
    check(DaskRobustForestClassifier, local, 600, weighted, "replicate")


@pytest.mark.usefixtures("small_subtrees")
def test_distributed_forests(client):
    local = RobustForestClassifier(2, random_state=0, oob_score=True)
    check(DaskRobustForestClassifier, local, 9000, True, "distribute")


@pytest.mark.parametrize(("n_rows", "weighted"), [(400, False), (12_000, True)])
def test_adaptive_forests(client, n_rows, weighted):
    local = AdaptiveForestClassifier(4, random_state=0, oob_score=True, full_data=False)
    check(DaskAdaptiveForestClassifier, local, n_rows, weighted, "auto")


def test_votes_come_in_parts_of_the_forest(client, monkeypatch):
    monkeypatch.setattr("hardwood.dask.voting.TREE_BYTES", 1)  # a tree at a time
    local = RobustForestClassifier(4, random_state=0, oob_score=True)
    check(DaskRobustForestClassifier, local, 600, True, "replicate")


def test_clones_stay_on_the_cluster(client):
    forest = DaskRobustForestClassifier(3, client=client, criterion="gini")
    assert clone(forest).client is client
    assert clone(forest).get_params() == forest.get_params()

"""An audit on a cluster finds what one machine finds, bit for bit."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from clusters import PARTITIONS, array_of, blocks_of, make_cluster, noisy_table
from distributed import Client
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier

from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
)
from hardwood.audit import LabelAudit
from hardwood.dask import DaskLabelAudit, DaskRobustForestClassifier
from hardwood.noise import corrupt, uniform

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

N_ROWS = 12_000  # more than one worker is left with
ADAPTIVE = AdaptiveForestClassifier(4, full_data=False, scoring="log_loss", max_features=3)
ROBUST = RobustForestClassifier(6, criterion="gini", max_samples=0.7, random_state=3)


def noisy(n_rows):
    X, y, _ = noisy_table(n_rows)
    return X, corrupt(y, uniform(3, 0.2), random_state=0)[0]


def some_decisions(audit, y):
    rows = audit.next_rows(40)
    labels = np.where(np.arange(40) % 3 == 0, (y[rows] + 1) % 3, y[rows])
    return pd.DataFrame({"row": rows, "label": labels})


def assert_same(audit, local):
    """Raise unless two audits found the same."""
    pd.testing.assert_frame_equal(
        audit.issues_.compute(),
        local.issues_,
        check_exact=True,
        check_dtype=False,
        check_index_type=False,
    )
    for name in (
        *("noise_matrix_", "noise_rate_", "noise_rate_interval_", "noise_matrix_interval_"),
        *("class_prior_", "proba_", "classes_", "n_copies_", "n_issues_", "can_tell_"),
    ):
        np.testing.assert_array_equal(getattr(audit, name), getattr(local, name), err_msg=name)
    pd.testing.assert_frame_equal(audit.review_plan(), local.review_plan(), check_exact=True)
    pd.testing.assert_frame_equal(audit.trade_off(), local.trade_off(), check_exact=True)
    assert np.array_equal(audit.next_rows(30), local.next_rows(30))


def assert_same_explanations(audit, local, row):
    for name in ("votes", "features", "neighbors"):
        mine, theirs = (getattr(each.explain(row), name) for each in (audit, local))
        assert mine.equals(theirs), name


def check(estimator, sizes, placement, table, groups=None):
    X, y = table
    local = LabelAudit(estimator, random_state=1).fit(X, y, groups=groups)
    audit = DaskLabelAudit(estimator, random_state=1, placement=placement)
    audit.fit(
        array_of(X, sizes),
        array_of(y, sizes),
        groups=None if groups is None else array_of(groups, sizes),
    )
    assert_same(audit, local)
    return audit, local


@pytest.mark.parametrize(
    ("estimator", "placement"),
    [
        (ADAPTIVE, "distribute"),
        pytest.param(ROBUST, "replicate", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("small_subtrees")
def test_it_finds_the_same_before_and_after_a_review(client, estimator, placement):
    X, y = noisy(N_ROWS)
    audit, local = check(estimator, PARTITIONS["uneven"](N_ROWS), placement, (X, y))
    assert_same_explanations(audit, local, int(local.next_rows(1)[0]))
    decisions = some_decisions(local, y)
    audit.update(decisions)
    local.update(decisions)
    assert_same(audit, local)
    assert_same_explanations(audit, local, 7000)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
@pytest.mark.usefixtures("small_subtrees")
def test_any_settings_workers_and_partitions(n_workers):
    table = noisy(N_ROWS)
    groups = np.random.default_rng(1).integers(0, 9000, N_ROWS)
    settings = [
        (ADAPTIVE, None),
        (ADAPTIVE, groups),
        (AdaptiveForestClassifier(4, full_data=False, splitter="random"), None),
        (ROBUST, None),
        (ROBUST, groups),
        (RobustExtraTreesClassifier(6, bootstrap=True, random_state=0), None),
    ]
    with make_cluster(n_workers) as cluster, Client(cluster):
        for estimator, of_rows in settings:
            for sizes in PARTITIONS.values():
                for placement in ("replicate", "distribute"):
                    check(estimator, sizes(N_ROWS), placement, table, of_rows)


@pytest.mark.slow
@pytest.mark.usefixtures("small_subtrees")
def test_the_default_forest_of_a_large_table(client):
    check(None, PARTITIONS["three"](N_ROWS), "auto", noisy(N_ROWS))


def test_a_small_table_with_the_default_forest(client, tmp_path):
    X, y = noisy(300)
    audit, local = check(None, [100, 0, 200], "auto", (X, y))
    assert_same_explanations(audit, local, 5)
    audit.report(
        tmp_path / "cluster.html", compare=False, ids=array_of(np.arange(300), [100, 0, 200])
    )
    local.report(tmp_path / "local.html", compare=False, ids=np.arange(300))
    pages = [(tmp_path / f"{name}.html").read_text() for name in ("cluster", "local")]
    assert pages[0] == pages[1]


def test_cleaning(client):
    X, y = noisy(800)
    sizes = [300, 0, 500]
    audit, local = check(ROBUST, sizes, "auto", (X, y))
    assert audit.cleaning_gain() == local.cleaning_gain()
    for how in ("drop", "relabel", "weight"):
        lazy = audit.clean(how=how, check=False)
        for mine, theirs in zip(lazy, local.clean(how=how, check=False), strict=True):
            if theirs is None:
                assert mine is None
                continue
            assert mine.numblocks[0] == 2  # an array keeps no empty block
            np.testing.assert_array_equal(mine.compute(), theirs)
    with pytest.warns(UserWarning, match="were not cleaned"):
        kept = audit.clean()[0]
    np.testing.assert_array_equal(kept.compute(), X)


def test_copies_in_other_partitions_are_not_further_evidence(client):
    X, y = noisy(500)
    table = np.tile(X, (2, 1)), np.tile(y, 2)
    for estimator in (ADAPTIVE, ROBUST):
        audit, local = check(estimator, [700, 300], "auto", table)
        assert audit.n_copies_ == 500
        assert_same_explanations(audit, local, 3)


def test_data_frames_with_categories(client):
    X, y = noisy(600)
    names = np.array(["red", "green", "blue", "grey"])
    colors = names[np.random.default_rng(2).integers(0, 4, 600)]
    frame = pd.DataFrame({"a": X[:, 0], "color": pd.Categorical(colors), "b": X[:, 1]})
    labels = pd.Series(np.array(["x", "y", "z"])[y])
    local = LabelAudit(ROBUST).fit(frame, labels)
    audit = DaskLabelAudit(ROBUST).fit(
        dd.from_pandas(frame, npartitions=3), dd.from_pandas(labels, npartitions=3)
    )
    assert audit.issues_.npartitions == 3
    found = audit.issues_.compute()
    assert np.array_equal(found["score"], local.issues_["score"])
    assert found["suggested"].tolist() == local.issues_["suggested"].tolist()
    assert audit.issues_.divisions == (0, 200, 400, 599)
    assert_same_explanations(audit, local, 4)
    X_clean, y_clean, _ = audit.clean(check=False)
    expected = local.clean(check=False)
    assert X_clean.compute()["color"].tolist() == expected[0]["color"].tolist()
    assert y_clean.compute().tolist() == expected[1].tolist()


def test_sparse_blocks(client, tmp_path):
    X, y = noisy(600)
    X = csr_matrix(np.nan_to_num(X))
    sizes = PARTITIONS["three"](600)
    local = LabelAudit(ROBUST).fit(X, y)
    audit = DaskLabelAudit(ROBUST).fit(blocks_of(X, sizes), blocks_of(y, sizes))
    assert np.array_equal(audit.issues_.compute()["score"], local.issues_["score"])
    assert_same_explanations(audit, local, 4)
    audit.report(tmp_path / "page.html", compare=False)


@pytest.mark.slow
def test_labels_of_several_people(client):
    X, y = noisy(400)
    other = corrupt(y, uniform(3, 0.2), random_state=1)[0]
    Y = np.column_stack([y, other, np.where(np.arange(400) % 2, y, other)])
    local = LabelAudit(ROBUST).fit(X, Y)
    audit = DaskLabelAudit(ROBUST).fit(array_of(X, [250, 150]), array_of(Y, [250, 150]))
    assert np.array_equal(audit.consensus_, local.consensus_)
    assert np.array_equal(audit.annotator_noise_matrices_, local.annotator_noise_matrices_)
    assert np.array_equal(audit.issues_.compute()["score"], local.issues_["score"])


def test_probabilities_of_any_classifier(client):
    X, y = noisy(400)
    forest = RandomForestClassifier(20, oob_score=True, random_state=0).fit(np.nan_to_num(X), y)
    proba, sizes = forest.oob_decision_function_, [250, 150]
    local = LabelAudit(random_state=0).fit(None, y, proba)
    audit = DaskLabelAudit(random_state=0).fit(None, array_of(y, sizes), array_of(proba, sizes))
    assert_same(audit, local)


@pytest.mark.slow
def test_a_forest_that_is_fitted_votes_as_it_is(client):
    X, y = noisy(900)
    sizes = [400, 500]
    params = ROBUST.get_params() | {"oob_score": True}
    fitted = RobustForestClassifier(**params).fit(X, y)
    there = DaskRobustForestClassifier(**params).fit(array_of(X, sizes), array_of(y, sizes))
    local = LabelAudit(fitted, random_state=0).fit(X, y)
    for forest in (fitted, there):
        audit = DaskLabelAudit(forest, random_state=0)
        audit.fit(array_of(X, sizes), array_of(y, sizes))
        assert audit.estimator_ is forest
        assert_same(audit, local)
        assert_same_explanations(audit, local, 4)


def test_decisions_that_are_known_from_the_start(client):
    X, y = noisy(900)
    sizes = [400, 500]
    local = LabelAudit(ROBUST, random_state=0).fit(X, y)
    decisions = some_decisions(local, y)
    local.fit(X, y, decisions=decisions)
    audit = DaskLabelAudit(ROBUST, random_state=0)
    audit.fit(array_of(X, sizes), array_of(y, sizes), decisions=decisions)
    assert_same(audit, local)


def test_what_is_wrong_is_said(client):
    X, y = noisy(100)
    with pytest.raises(TypeError, match=r"grown on a cluster, got RandomForestClassifier"):
        DaskLabelAudit(RandomForestClassifier()).fit(array_of(X, [60, 40]), array_of(y, [60, 40]))
    with pytest.raises(ValueError, match="partitioned alike"):
        DaskLabelAudit().fit(blocks_of(X, [60, 40]), blocks_of(y, [50, 50]))
    with pytest.raises(TypeError, match="dask array"):
        DaskLabelAudit().fit(X, y)


def test_small_table_has_a_second_opinion(client):
    X, y = noisy(150)
    local = LabelAudit(random_state=0).fit(X, y)
    assert not np.array_equal(local._evidence.proba, local._votes)
    sizes = [70, 0, 80]
    audit = DaskLabelAudit(random_state=0).fit(blocks_of(X, sizes), blocks_of(y, sizes))
    assert_same(audit, local)

"""`LabelAudit`: one fit, and what it says."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from audits import FORESTS
from numpy.testing import assert_allclose, assert_array_equal
from simulated_labels import Array, blobs, simulate
from sklearn.base import clone
from sklearn.metrics import average_precision_score

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit, find_label_issues
from hardwood.datasets import load
from hardwood.noise import (
    class_conditional,
    corrupt,
    estimate_noise_matrix,
    pair_flip,
    uniform,
)


def small() -> AdaptiveForestClassifier:
    return AdaptiveForestClassifier(60, full_data=False)


@pytest.mark.parametrize(
    "T", [uniform(4, 0.3), pair_flip(4, 0.3), class_conditional([0.1, 0.35])], ids=["u", "p", "cc"]
)
def test_an_audit_finds_the_noise(T: Array, rng: np.random.Generator) -> None:
    X, true = blobs(1500, len(T), rng)
    y, flipped = corrupt(true, T, random_state=0)
    audit = LabelAudit(small(), random_state=0).fit(X, y)
    assert average_precision_score(flipped, -audit.issues_["rank"]) > 0.8
    assert_allclose(audit.noise_matrix_, T, atol=0.1)
    assert audit.noise_rate_ == pytest.approx(flipped.mean(), abs=0.05)
    low, high = audit.noise_rate_interval_
    assert low <= flipped.mean() <= high
    assert_allclose(audit.class_prior_, np.bincount(true) / 1500, atol=0.05)
    assert_allclose(audit.proba_.sum(axis=1), 1)
    assert np.mean(audit.proba_.argmax(axis=1) == true) > 0.9
    assert audit.n_issues_ == audit.issues_["is_issue"].sum()
    assert np.mean(audit.issues_["suggested"] == true) > 0.9


def test_mushrooms() -> None:
    data = load("mushrooms")
    rows = np.random.default_rng(0).permutation(len(data.y_train))[:2000]
    X, true = data.X_train[rows], data.y_train[rows]
    names = data.classes[true]
    y, flipped = corrupt(true, uniform(2, 0.4), random_state=0)
    audit = LabelAudit(AdaptiveForestClassifier(100), random_state=0).fit(X, data.classes[y])
    assert average_precision_score(flipped, -audit.issues_["rank"]) > 0.95
    assert audit.classes_.tolist() == ["edible", "poisonous"]
    assert np.mean(audit.issues_["suggested"] == names) > 0.9


def test_clean_labels_are_left_alone(rng: np.random.Generator) -> None:
    X, y = blobs(1000, 3, rng)
    audit = LabelAudit(small(), random_state=0).fit(X, y)
    assert audit.noise_rate_ < 0.03
    assert audit.n_issues_ < 40


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("kind", FORESTS)
def test_forests_of_ones_own(kind, fitted: bool, rng: np.random.Generator) -> None:
    X, true = blobs(500, 3, rng)
    y, flipped = corrupt(true, uniform(3, 0.2), random_state=0)
    forest = kind(100, random_state=3)
    if fitted:
        forest.set_params(oob_score=True).fit(X, y)
    audit = LabelAudit(forest).fit(X, y)
    if fitted:
        assert audit.estimator_ is forest
    else:
        assert not hasattr(forest, "classes_")
        assert audit.estimator_.random_state == 3
    assert average_precision_score(flipped, audit.issues_["score"]) > 0.8


def test_probabilities_alone(rng: np.random.Generator) -> None:
    data = simulate(pair_flip(3, 0.2), 1000, rng)
    audit = LabelAudit().fit(None, data.observed, data.proba)
    assert audit.estimator_ is None
    assert audit.feature_names_in_ is None
    expected = find_label_issues(data.observed, data.proba)
    pd.testing.assert_frame_equal(audit.issues_, expected)
    assert_array_equal(audit.noise_matrix_, estimate_noise_matrix(data.observed, data.proba))


def test_the_same_seed_gives_the_same_audit(rng: np.random.Generator) -> None:
    X, y = blobs(300, 3, rng)
    audits = [
        LabelAudit(small(), random_state=1, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 1, 2)
    ]
    for other in audits[1:]:
        pd.testing.assert_frame_equal(audits[0].issues_, other.issues_)
        assert audits[0].noise_rate_interval_ == other.noise_rate_interval_


def test_rows_without_votes_get_no_opinion(rng: np.random.Generator) -> None:
    X, y = blobs(200, 2, rng)
    with pytest.warns(UserWarning, match="OOB"):
        audit = LabelAudit(RobustForestClassifier(2, random_state=0)).fit(X, y)
    votes = audit.estimator_.oob_decision_function_
    unknown = votes.sum(axis=1) == 0
    assert unknown.any()
    assert len(np.unique(audit.proba_[unknown], axis=0)) == 1
    assert np.isfinite(audit.issues_["score"]).all()


def test_names_frames_and_copies(rng: np.random.Generator) -> None:
    X, y = blobs(200, 3, rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.iloc[3, 2] = np.nan
    audit = LabelAudit(small(), random_state=0).fit(frame, pd.Series(y, name="kind"))
    assert audit.feature_names_in_.tolist() == list("abcdef")
    assert audit.clean(how="relabel", check=False)[0] is frame
    X_kept, y_kept, _ = audit.clean(check=False)
    assert len(X_kept) == len(y_kept) == 200 - audit.n_issues_
    again = pickle.loads(pickle.dumps(audit))
    pd.testing.assert_frame_equal(again.issues_, audit.issues_)
    assert clone(audit).get_params()["detector"] == "posterior"


# --- one number everywhere, and honest words -----------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_figures_agree(rate: float, rng: np.random.Generator) -> None:
    X, y = blobs(800, 3, rng)
    audit = LabelAudit(small(), random_state=0).fit(X, corrupt(y, uniform(3, rate), 0)[0])
    issues = audit.issues_
    assert audit.can_tell_
    assert audit.noise_rate_ == pytest.approx(issues["score"].mean(), abs=1e-5)
    assert audit.n_issues_ == issues["is_issue"].sum() == round(800 * audit.noise_rate_)
    low, high = audit.noise_rate_interval_
    assert low <= audit.noise_rate_ <= high
    at_issues = audit.trade_off().query(f"rows == {audit.n_issues_}")
    if audit.n_issues_:
        found = issues["score"][issues["is_issue"]].sum()
        assert at_issues["found"].item() == pytest.approx(found)
    assert_array_equal(issues["rank"], issues["score"].rank(ascending=False))


def two_rows(rng: np.random.Generator) -> tuple[Array, Array]:
    return np.array([[0.0], [1.0]]), np.array([0, 1])


def labels_of_pure_noise(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.normal(size=(300, 4)), rng.integers(0, 3, 300)


def a_rare_class_of_pure_noise(rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.normal(size=(400, 4)), (rng.random(400) < 0.1).astype(int)


@pytest.mark.parametrize("table", [two_rows, labels_of_pure_noise, a_rare_class_of_pure_noise])
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_a_hopeless_table_cannot_tell(table, rng: np.random.Generator, tmp_path) -> None:
    X, y = table(rng)
    audit = LabelAudit(small(), random_state=0).fit(X, y)
    assert not audit.can_tell_
    assert audit.n_issues_ == 0
    assert not audit.issues_["is_issue"].any()
    assert audit.issues_["score"].max() <= 0.5 + 1e-5
    assert_array_equal(audit.issues_["suggested"], y)
    assert len(audit.trade_off()) == 0
    low, high = audit.noise_rate_interval_
    assert 0 <= low <= audit.noise_rate_ <= high < 1
    pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")
    audit.report(tmp_path / "report.html", compare=False)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "This table cannot tell which labels are wrong." in page
    assert "look wrong" not in page


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("fitted", [False, True])
def test_class_weights_do_not_look_like_noise(kind, fitted, rng: np.random.Generator) -> None:
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] > 1.5).astype(int)
    assert 0.03 < y.mean() < 0.12
    forest = kind(60, class_weight="balanced", oob_score=True, random_state=0)
    if fitted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rare rows are in all bags
            forest.fit(X, y)
    audit = LabelAudit(forest).fit(X, y)
    assert audit.can_tell_
    assert audit.noise_rate_ < 0.03
    assert forest.class_weight == "balanced"
    plain = LabelAudit(clone(forest).set_params(class_weight=None)).fit(X, y)
    pd.testing.assert_frame_equal(audit.issues_, plain.issues_)


# --- the interval --------------------------------------------------------------------------------


def test_the_interval_holds_the_rate_and_shrinks_with_more_rows(rng: np.random.Generator) -> None:
    widths = []
    for n_rows in (150, 3000):
        X, true = blobs(n_rows, 3, rng)
        y, flipped = corrupt(true, uniform(3, 0.2), random_state=0)
        low, high = LabelAudit(small(), random_state=0).fit(X, y).noise_rate_interval_
        assert 0 <= low <= flipped.mean() <= high <= 1
        widths.append(high - low)
    assert widths[1] < widths[0]


def test_the_interval_allows_for_overlap(rng: np.random.Generator) -> None:
    widths = []
    for shift in (4.0, 1.0):
        true = rng.integers(0, 2, 600)
        X = rng.normal(size=(600, 3)) + shift * true[:, np.newaxis] * [1, 0, 0]
        y, flipped = corrupt(true, uniform(2, 0.2), random_state=0)
        low, high = LabelAudit(small(), random_state=0).fit(X, y).noise_rate_interval_
        assert low <= flipped.mean() <= high
        widths.append(high - low)
    assert widths[1] > 1.5 * widths[0]


def test_a_table_with_text_is_audited_as_it_is(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"kind": rng.choice(list("abcdef"), 600), "size": rng.normal(size=600)})
    y = np.where(table["kind"].isin(list("ace")), "no", "yes")
    flipped = rng.random(600) < 0.15
    y[flipped] = np.where(y[flipped] == "no", "yes", "no")
    audit = LabelAudit(random_state=0).fit(table, y)
    assert audit.estimator_.is_categorical_.tolist() == [True, False]
    assert np.mean(audit.issues_["is_issue"] == flipped) > 0.95
    audit.report(tmp_path / "audit.html", compare=False)
    assert "looks wrong" in (tmp_path / "audit.html").read_text(encoding="utf-8")

"""`LabelAudit`: one fit, and what it says."""

from __future__ import annotations

import pickle

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
from hardwood.audit.interval import noise_rate_interval
from hardwood.datasets import load
from hardwood.noise import (
    class_conditional,
    corrupt,
    estimate_noise_matrix,
    pair_flip,
    uniform,
)
from hardwood.noise.estimation import fit_noise_model


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
    names = data.classes[data.y_train]
    y, flipped = corrupt(data.y_train, uniform(2, 0.4), random_state=0)
    audit = LabelAudit(random_state=0).fit(data.X_train, data.classes[y])
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


# --- the interval --------------------------------------------------------------------------------


def test_the_interval_holds_the_rate_and_shrinks_with_more_rows(rng: np.random.Generator) -> None:
    widths = []
    for n_rows in (300, 6000):
        data = simulate(uniform(3, 0.2), n_rows, rng, overlap=0.0)
        model = fit_noise_model(data.proba, data.observed)
        low, high = noise_rate_interval(model, data.proba, data.observed, 0)
        assert 0 <= low <= np.mean(data.observed != data.true) <= high <= 1
        widths.append(high - low)
    assert widths[1] < widths[0]


def test_the_interval_allows_for_overlap(rng: np.random.Generator) -> None:
    widths = []
    for overlap in (0.0, 0.5):
        data = simulate(uniform(3, 0.2), 4000, rng, overlap=overlap)
        model = fit_noise_model(data.proba, data.observed)
        low, high = noise_rate_interval(model, data.proba, data.observed, 0)
        assert low <= np.mean(data.observed != data.true) <= high
        widths.append(high - low)
    assert widths[1] > 2 * widths[0]

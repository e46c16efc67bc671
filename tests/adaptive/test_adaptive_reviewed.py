"""Forests that learn from labels that people have reviewed in part."""

import numpy as np
import pytest

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
from hardwood.noise import corrupt, uniform


@pytest.fixture(scope="module")
def reviewed():
    """A rare class, a quarter of the labels wrong, and the most suspect tenth corrected."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1600, 6))
    y = (X[:, 0] + X[:, 1] > 2.3).astype(int)
    observed, _ = corrupt(y[:800], uniform(2, 0.25), random_state=0)
    audit = LabelAudit(random_state=0).fit(X[:800], observed)
    rows = audit.next_rows(80)
    fixed = observed.copy()
    fixed[rows] = y[rows]
    return X[:800], fixed, observed, X[800:], y[800:]


def forest(**parameters):
    return AdaptiveForestClassifier(40, random_state=0, n_jobs=1, **parameters)


def test_a_review_does_no_harm(reviewed):
    X, fixed, observed, X_test, y_test = reviewed
    before = forest().fit(X, observed).score(X_test, y_test)
    told = forest().fit(X, fixed, observed=observed)
    assert told.score(X_test, y_test) >= before - 0.01
    assert told.score(X_test, y_test) > 0.93


def test_settings_of_both_are_mixed(reviewed):
    X, fixed, observed, *_ = reviewed
    told = forest().fit(X, fixed, observed=observed)
    assert len(told.estimators_) == 40
    table = told.adaptation_
    assert table["share"].sum() == pytest.approx(1)
    chosen = [
        set(forest().fit(X, labels).adaptation_.query("chosen").index)
        for labels in (observed, fixed)
    ]
    assert set(table.query("chosen").index) == chosen[0] | chosen[1]
    assert (table.query("chosen")["note"] != "").all()
    again = forest().fit(X, fixed, observed=observed)
    np.testing.assert_array_equal(told.predict_proba(X), again.predict_proba(X))


def test_labels_that_were_not_changed_change_nothing(reviewed):
    X, fixed, *_ = reviewed
    alone = forest(oob_score=True).fit(X, fixed)
    told = forest(oob_score=True).fit(X, fixed, observed=fixed)
    np.testing.assert_array_equal(alone.predict_proba(X), told.predict_proba(X))
    np.testing.assert_array_equal(alone.oob_votes_, told.oob_votes_)


def test_weights_copies_and_texts_are_allowed(reviewed):
    X, fixed, observed, *_ = reviewed
    weights = np.ones(800)
    weights[::7] = 0
    names = np.array(["no", "yes"])
    some = forest().fit(X, names[fixed], weights, observed=names[observed])
    kept = weights > 0
    alone = forest().fit(X[kept], names[fixed[kept]], weights[kept], observed=names[observed[kept]])
    np.testing.assert_array_equal(some.predict(X), alone.predict(X))
    twice = forest().fit(np.tile(X, (2, 1)), np.tile(fixed, 2), observed=np.tile(observed, 2))
    assert twice.n_copies_ == 800
    once = forest().fit(X, fixed, observed=observed)
    np.testing.assert_array_equal(twice.predict(X), once.predict(X))


def test_a_label_that_is_no_class_any_more_counts_as_its_correction(reviewed):
    X, fixed, observed, *_ = reviewed
    typed_wrong = observed.astype(object).astype(str)
    changed = np.flatnonzero(fixed != observed)
    typed_wrong[changed[:5]] = "typo"
    told = forest().fit(X, fixed.astype(str), observed=typed_wrong)
    assert told.classes_.tolist() == ["0", "1"]


def test_a_class_without_labels_before_is_no_error(reviewed):
    X, fixed, observed, *_ = reviewed
    fixed = fixed.copy()
    fixed[:30] = 2
    told = forest().fit(X, fixed, observed=observed)
    np.testing.assert_array_equal(told.predict(X), forest().fit(X, fixed).predict(X))


def test_observed_needs_a_label_for_each_row(reviewed):
    X, fixed, observed, *_ = reviewed
    for wrong in (observed[:5], observed[:, np.newaxis], 3):
        with pytest.raises(ValueError, match="observed must have one label for each of the 800"):
            forest().fit(X, fixed, observed=wrong)

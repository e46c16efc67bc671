"""What cleaning gains, and that data are cleaned only where it does."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from simulated_labels import Array, blobs

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit, clean, cleaning_methods, voting
from hardwood.audit.cleaning import HOW
from hardwood.audit.gain import Trial, _halves, _mean_by_halves
from hardwood.noise import corrupt, uniform


def known_issues(X, y):
    """The issues if the sign of the first feature tells the true class, the second of two."""
    classes = np.unique(y)
    true = classes[(X[:, 0] > 0).astype(int)]
    wrong = y != true
    return {
        "given": y,
        "suggested": true,
        "score": wrong.astype(float),
        "is_issue": wrong,
        "rank": np.argsort(np.argsort(~wrong, kind="stable")) + 1,
    }


def trial(X, y, T) -> Trial:
    return Trial(
        X,
        y,
        classes=np.unique(y),
        noise_matrix=T,
        find_issues=known_issues,
        model=forest(),
        seed=0,
    )


def forest() -> RobustForestClassifier:
    return RobustForestClassifier(20, criterion="gini", random_state=0)


@pytest.mark.parametrize("how", HOW)
def test_accuracy_on_true_labels_is_told_from_noisy_ones(how, rng):
    X = rng.normal(size=(4000, 5))
    true = (X[:, 0] > 0).astype(int)
    T = np.array([[0.75, 0.25], [0.35, 0.65]])
    y, flipped = corrupt(true, T, random_state=0)
    labels = np.array(["no", "yes"])
    found = trial(X, labels[y], T).gain(how)
    assert found.n_rows == 4000
    assert found.n_dropped == (0 if how == "relabel" else flipped.sum())
    halves = _halves(labels[y], np.random.RandomState(0))
    before, after = [], []
    for half, other in (halves, halves[::-1]):
        before.append(forest().fit(X[half], y[half]).score(X[other], true[other]))
        kept = half if how == "relabel" else half[~flipped[half]]
        after.append(forest().fit(X[kept], true[kept]).score(X[other], true[other]))
    for (accuracy, error), truth in ((found.before, before), (found.after, after)):
        assert accuracy == pytest.approx(np.mean(truth), abs=3 * error)
    assert found.is_significant
    assert found.gain[0] > 0.1
    assert found.gain[0] == pytest.approx(found.after[0] - found.before[0])


def test_the_error_tells_how_halves_differ():
    ones = np.ones(1000)
    assert _mean_by_halves([0.5 * ones, 0.0 * ones]) == (0.25, 0.25)
    by_row = np.tile([1.0, -0.5], 500)
    gain, error = _mean_by_halves([by_row, by_row])
    assert gain == 0.25
    assert error == pytest.approx(0.75 / np.sqrt(2000), rel=1e-3)


@pytest.mark.parametrize(
    "T", [np.full((2, 2), 0.5), np.array([[np.nan, 1], [0, 1]])], ids=["even", "nan"]
)
def test_no_gain_is_told_without_a_noise_matrix(T, rng):
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    assert "too noisy" in trial(X, y, T).gain("drop")


@pytest.mark.parametrize(
    ("y", "why"), [([0, 1] * 6, "too few rows"), ([0] * 40 + [1], "only one class")]
)
def test_no_gain_is_told_of_a_half_that_teaches_nothing(y, why):
    y = np.array(y)
    X = y[:, np.newaxis] - 0.5
    assert why in trial(X, y, np.eye(2)).gain("drop")


def test_halves_have_their_share_of_each_class():
    y = np.array([0] * 50 + [1] * 49 + [2])
    for seed in range(20):
        first, second = _halves(y, np.random.RandomState(seed))
        assert sorted([*first, *second]) == list(range(100))
        counts = [np.bincount(y[half], minlength=3) for half in (first, second)]
        assert np.abs(counts[0] - counts[1]).max() <= 1


def test_a_class_that_one_half_does_not_know(rng):
    X, y = blobs(300, 2, rng)
    labels = np.array(["ash", "beech", "cedar"])[np.append(y, 2)]
    X = np.vstack([X, np.full(6, -9.0)])
    audit = LabelAudit(forest(), random_state=0).fit(X, labels)
    for how in HOW:
        gain, error = audit.cleaning_gain(how)
        assert -1 < gain < 1
        assert 0 <= error < 1


# --- cleaning only where it helps ----------------------------------------------------------------


@pytest.fixture(scope="module")
def helps() -> tuple[LabelAudit, Array, Array]:
    """Classes far apart, much noise, and a forest that learns every label by heart."""
    X, true = blobs(1500, 2, np.random.default_rng(0))
    y, _ = corrupt(true, uniform(2, 0.3), random_state=0)
    return LabelAudit(forest(), random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def harms() -> tuple[LabelAudit, Array, Array]:
    """Classes that overlap, and a forest that resists the noise by itself."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 10, 1500)
    X = rng.normal(size=(1500, 10))
    X[np.arange(1500), true] += 1.2
    y, _ = corrupt(true, uniform(10, 0.2), random_state=0)
    small = AdaptiveForestClassifier(40, full_data=False, splitter="random")
    return LabelAudit(small, random_state=1).fit(X, y), X, y


def test_data_are_cleaned_where_that_helps(helps):
    audit, _, y = helps
    for how in HOW:
        gain, error = audit.cleaning_gain(how)
        assert gain > error > 0
        for found, expected in zip(
            audit.clean(how=how), audit.clean(how=how, check=False), strict=True
        ):
            assert_array_equal(found, expected)
    assert len(audit.clean()[1]) == len(y) - audit.n_issues_


def test_data_are_left_as_they_are_where_cleaning_harms(harms):
    audit, X, y = harms
    for how in HOW:
        gain, error = audit.cleaning_gain(how)
        assert gain < 0 < error
        said = rf"{how!r} changes the accuracy by -\d+\.\d ± \d+\.\d points. Pass check=False"
        with pytest.warns(UserWarning, match=said) as warned:
            X_same, y_same, weight = audit.clean(how=how)
        assert warned[0].filename == __file__
        assert X_same is X
        assert y_same is y
        if how == "weight":
            assert_array_equal(weight, np.ones(len(y)))
        else:
            assert weight is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _, y_clean, weight = audit.clean(how=how, check=False)
        assert weight is not None or not np.array_equal(y_clean, y)


def test_clean_in_one_step_checks_too(harms, monkeypatch):
    audit, X, y = harms
    monkeypatch.setattr(voting, "_TREES", 40)
    loss = audit._gain("drop")
    monkeypatch.setattr(LabelAudit, "_gain", lambda self, how: loss)
    with pytest.warns(UserWarning, match="The data were not cleaned") as said:
        assert clean(X, y, random_state=0)[1] is y
    assert said[0].filename == __file__
    assert len(clean(X, y, random_state=0, check=False)[1]) < len(y)


def test_what_cannot_be_told_is_said_and_nothing_cleaned(rng):
    X = rng.normal(size=(15, 2))
    y = np.tile([0, 1, 1], 5)
    audit = LabelAudit(forest(), random_state=0).fit(X, y)
    assert np.isnan(audit.cleaning_gain()).all()
    with pytest.warns(UserWarning, match="cannot be measured, because there are too few rows"):
        assert audit.clean()[1] is y


def test_gains_are_measured_once_for_each_fit(helps, monkeypatch):
    audit, X, y = helps
    known = audit.cleaning_gain("drop"), audit.cleaning_gain("weight")
    again = pickle.loads(pickle.dumps(audit))
    made = []
    monkeypatch.setattr(
        cleaning_methods,
        "Trial",
        lambda *data, **known: made.append(data) or Trial(*data, **known),
    )
    assert (again.cleaning_gain("drop"), again.cleaning_gain("weight")) == known
    assert not made
    again.fit(X, y)
    assert (again.cleaning_gain("weight"), again.cleaning_gain("drop")) == known[::-1]
    assert len(made) == 1


def test_the_same_seed_measures_the_same(harms):
    audit, X, y = harms
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    again = LabelAudit(audit.estimator, random_state=1).fit(frame, pd.Series(y))
    assert again.cleaning_gain() == audit.cleaning_gain()


def test_probabilities_are_cleaned_unchecked(helps):
    forest_audit, X, y = helps
    audit = LabelAudit().fit(X, y, forest_audit.estimator_.oob_decision_function_)
    assert len(audit.clean()[1]) == len(y) - audit.n_issues_
    with pytest.raises(ValueError, match="has no forest to train again"):
        audit.cleaning_gain()
    rowless = LabelAudit(forest_audit.estimator_).fit(None, y)
    with pytest.raises(ValueError, match="has no forest to train again"):
        rowless.cleaning_gain()
    assert len(rowless.clean(X)[1]) == len(y) - rowless.n_issues_


def test_bad_input_is_refused_before_anything_is_computed(helps, monkeypatch):
    audit, X, y = helps
    monkeypatch.setattr(cleaning_methods, "Trial", lambda *_, **__: pytest.fail("was computed"))
    monkeypatch.setattr(LabelAudit, "fit", lambda *_: pytest.fail("was fitted"))
    monkeypatch.setattr(audit, "_gains", {})
    monkeypatch.delitem(vars(audit), "_trial", raising=False)
    for use in (
        audit.cleaning_gain,
        lambda how: audit.clean(how=how),
        lambda how: clean(X, y, how),
    ):
        with pytest.raises(ValueError, match="how must be one of 'drop'"):
            use("burn")
    with pytest.raises(ValueError, match="X must have the 1500 rows that were audited, got 1499"):
        audit.clean(X[1:])
    with pytest.raises(ValueError, match="y must have the 1500 rows that were audited, got 1499"):
        audit.clean(X, y[1:])

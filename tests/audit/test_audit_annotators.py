"""Labels of several people."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood import RobustForestClassifier
from hardwood.audit import LabelAudit, consensus
from hardwood.audit.annotators import (
    agreement_table,
    check_annotations,
    majority,
)
from hardwood.audit.consensus import find_consensus
from hardwood.noise import corrupt, uniform

ACCURACIES = [(0.6, 0.75, 0.95), (0.7, 0.7, 0.7), (0.6, 0.6, 0.9), (0.8, 0.85, 0.9)]


def labelled(accuracies, n=500, K=3, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    truth = np.digitize(X[:, 0] + 0.3 * X[:, 1], np.linspace(-1, 1, K + 1)[1:-1])
    Y = np.column_stack(
        [
            corrupt(truth, uniform(K, 1 - accuracy), random_state=seed + k)[0]
            for k, accuracy in enumerate(accuracies)
        ]
    ).astype(float)
    gone = rng.random(Y.shape) < missing
    gone[gone.all(axis=1), 0] = False
    Y[gone] = np.nan
    return X, truth, Y


def audit_of(X, Y, **parameters):
    forest = RobustForestClassifier(60, min_samples_leaf=5)
    return LabelAudit(forest, random_state=0, **parameters).fit(X, Y)


@pytest.mark.parametrize("accuracies", ACCURACIES)
def test_the_consensus_beats_the_majority_and_the_labels_alone(accuracies):
    X, truth, Y = labelled(accuracies)
    annotations = check_annotations(Y)
    right = [
        np.mean(annotations.classes[found] == truth)
        for found in (majority(annotations), find_consensus(annotations).labels)
    ]
    audit = audit_of(X, Y)
    ours = np.mean(audit.consensus_ == truth)
    assert ours > right[0]
    assert ours >= right[1]
    np.testing.assert_allclose(audit.annotators_["accuracy"], accuracies, atol=0.07)
    matrices = audit.annotator_noise_matrices_
    np.testing.assert_allclose(matrices.sum(axis=2), 1)
    for T, accuracy in zip(matrices, accuracies, strict=True):
        np.testing.assert_allclose(np.diag(T).mean(), accuracy, atol=0.09)


def test_issues_are_about_the_consensus():
    X, truth, Y = labelled((0.6, 0.75, 0.9))
    audit = audit_of(X, Y)
    issues = audit.issues_
    np.testing.assert_array_equal(issues["given"], audit.consensus_)
    wrong = audit.consensus_ != truth
    assert wrong[issues["is_issue"]].mean() > 3 * wrong.mean()
    low, high = audit.noise_rate_interval_
    assert low <= audit.noise_rate_ <= high
    rows = audit.next_rows(30, random_share=0)  # to show to one more person
    np.testing.assert_array_equal(rows, issues.sort_values("rank").index[:30])
    plan = audit.review_plan(0.02)
    assert plan["left"].iloc[-1] <= 0.02 * len(truth)


def test_decisions_on_the_consensus_count():
    X, truth, Y = labelled((0.6, 0.7, 0.8))
    audit = audit_of(X, Y)
    rows = audit.next_rows(60)
    audit.update({"row": rows, "label": truth[rows]})
    issues = audit.issues_
    assert issues["decided"].sum() == 60
    np.testing.assert_array_equal(issues["suggested"][rows], truth[rows])
    assert not np.isin(audit.next_rows(20), rows).any()


def test_a_perfect_annotator_is_believed():
    X, truth, Y = labelled((1.0, 0.6, 0.6), missing=0)
    audit = audit_of(X, Y)
    assert np.mean(audit.consensus_ == truth) > 0.99
    assert audit.annotators_["accuracy"].iloc[0] > 0.97


@pytest.mark.parametrize("seed", range(10))
def test_few_rows_make_nobody_an_authority(seed):
    """By chance, two of three equally good people agree more often: nobody is right nearly always."""
    _, _, Y = labelled((0.7, 0.7, 0.7), n=150, K=2, seed=seed)
    found = find_consensus(check_annotations(Y))
    assert np.diagonal(found.matrices, axis1=1, axis2=2).max() < 0.87


def test_one_who_always_errs_is_turned_round():
    """Two classes: someone who always names the other class tells as much as one who never errs."""
    _, truth, Y = labelled((0.9, 0.85, 0.8, 0.05), K=2, missing=0)
    found = find_consensus(check_annotations(Y))
    assert found.matrices[3][0, 1] > 0.85
    assert np.mean(found.labels == truth) > 0.95


def test_the_votes_count_only_if_they_know():
    rng = np.random.default_rng(0)
    _, truth, Y = labelled((0.7, 0.7, 0.7), K=2, missing=0)
    annotations = check_annotations(Y)
    useless = find_consensus(annotations, rng.dirichlet([5, 5], size=len(Y)))
    assert useless.exponent <= 0.5
    known = np.where(truth[:, None] == [0, 1], 0.7, 0.3)
    assert find_consensus(annotations, known).exponent >= 1
    assert np.mean(find_consensus(annotations, known).labels == truth) > 0.95


def test_votes_that_repeat_the_labels_do_not_count():
    """A forest that learns from a consensus repeats it. What the first forest knew decides."""
    rng = np.random.default_rng(0)
    _, _, Y = labelled((0.7, 0.7, 0.7), K=2, missing=0)
    annotations = check_annotations(Y)
    repeated = 0.2 + 0.6 * find_consensus(annotations).posterior
    useless = rng.dirichlet([5, 5], size=len(Y))
    assert find_consensus(annotations, repeated).exponent >= 1
    assert find_consensus(annotations, repeated, useless).exponent <= 0.5


def test_the_first_forest_votes_on_the_exponent():
    """An audit takes the votes of both forests, weighted as those of the first one call for."""
    X, _, Y = labelled((0.6, 0.75, 0.9), n=200)
    audit = audit_of(X, Y)
    annotations = check_annotations(Y)
    expected = find_consensus(annotations, audit._votes, audit._unaided)
    np.testing.assert_array_equal(audit._consensus.posterior, expected.posterior)
    assert not np.array_equal(audit._unaided, audit._votes)
    given_votes = LabelAudit(random_state=0).fit(X, Y, audit._votes)
    expected = find_consensus(annotations, audit._votes)
    np.testing.assert_allclose(given_votes._consensus.posterior, expected.posterior)


def test_the_consensus_is_a_mean_over_the_exponents(monkeypatch):
    _, truth, Y = labelled((0.6, 0.75, 0.9), n=60)
    annotations = check_annotations(Y)
    votes = np.random.default_rng(0).dirichlet([2, 2, 2], size=60)
    votes = 0.8 * votes + 0.2 * (truth[:, None] == np.arange(3))
    posterior = find_consensus(annotations, votes).posterior
    alone, likelihoods = [], []
    for c in consensus._EXPONENTS:
        monkeypatch.setattr(consensus, "_EXPONENTS", (c,))
        found = find_consensus(annotations, votes)
        assert found.exponent == c
        alone.append(found)
        likelihoods.append(found.likelihood)
    weights = np.array(likelihoods) - [found.exponent for found in alone]
    weights = np.exp(weights - weights.max())
    assert (weights > 0.1).sum() > 1
    expected = np.average([found.posterior for found in alone], axis=0, weights=weights)
    np.testing.assert_allclose(posterior, expected, atol=0.02)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


def test_the_same_labels_have_the_same_consensus():
    _, truth, Y = labelled((0.6, 0.75, 0.9), n=200)
    votes = np.where(truth[:, None] == np.arange(3), 0.5, 0.25)
    once, again = (find_consensus(check_annotations(Y), votes) for _ in range(2))
    np.testing.assert_array_equal(once.posterior, again.posterior)
    np.testing.assert_array_equal(once.matrices, again.matrices)


def test_some_of_many_rows_choose_the_exponent(monkeypatch):
    _, truth, Y = labelled((0.6, 0.75, 0.9), n=3000)
    votes = np.where(truth[:, None] == np.arange(3), 0.5, 0.25)
    annotations = check_annotations(Y)
    of_all = find_consensus(annotations, votes)
    monkeypatch.setattr(consensus, "_MAX_ROWS", 1000)
    of_some = find_consensus(annotations, votes)
    assert abs(of_all.exponent - of_some.exponent) <= 1
    assert np.mean(of_all.labels == of_some.labels) > 0.97


def test_unanimous_labels_are_the_consensus():
    truth = np.arange(60) % 3
    found = find_consensus(check_annotations(np.repeat(truth[:, None], 3, axis=1)))
    np.testing.assert_array_equal(found.labels, truth)
    assert found.posterior.max(axis=1).min() > 0.9


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    A=st.integers(2, 5),
    K=st.integers(2, 6),
    missing=st.floats(0, 0.9),
)
def test_any_labels_have_a_consensus(seed, n, A, K, missing):
    rng = np.random.default_rng(seed)
    Y = rng.integers(K, size=(n, A)).astype(float)
    Y[0], Y[1] = 0, 1
    gone = rng.random((n, A)) < missing
    gone[:2] = False
    gone[gone.all(axis=1), 0] = False
    Y[gone] = np.nan
    annotations = check_annotations(Y)
    found = find_consensus(annotations)
    assert np.isfinite(found.posterior).all()
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    assert len(np.unique(found.of_all_classes())) <= len(annotations.classes)
    table = agreement_table(annotations)
    assert len(table["first"]) == A * (A - 1) // 2


def test_annotators_who_disagree_most_come_first():
    X, _, Y = labelled((0.95, 0.95, 0.6), missing=0.2)
    audit = audit_of(X, pd.DataFrame(Y, columns=["ann", "bo", "cy"]))
    pairs = audit.annotator_agreement_
    assert pairs["agreement"].is_monotonic_increasing
    assert (pairs["first"].iloc[-1], pairs["second"].iloc[-1]) == ("ann", "bo")
    a, b = Y[:, 0], Y[:, 1]
    both = ~np.isnan(a) & ~np.isnan(b)
    assert pairs["rows"].iloc[-1] == both.sum()
    assert pairs["agreement"].iloc[-1] == pytest.approx(np.mean(a[both] == b[both]))
    from sklearn.metrics import cohen_kappa_score

    assert pairs["kappa"].iloc[-1] == pytest.approx(cohen_kappa_score(a[both], b[both]))
    assert audit.annotators_["annotator"].tolist() == ["ann", "bo", "cy"]


@pytest.mark.parametrize("kind", ["text", "integers", "objects"])
def test_labels_of_any_type(kind):
    X, truth, Y = labelled((0.8, 0.8, 0.8), K=2)
    names = {"text": ["no", "yes"], "integers": [0, 1], "objects": [False, True]}[kind]
    values = np.full(Y.shape, None, dtype=object)
    for k in range(2):
        values[k == Y] = names[k]
    audit = audit_of(X, pd.DataFrame(values))
    assert audit.classes_.tolist() == names
    assert np.mean(audit.consensus_ == np.array(names)[truth]) > 0.9


def test_probabilities_may_be_given_instead_of_a_forest():
    _, truth, Y = labelled((0.7, 0.7, 0.7), K=2)
    proba = np.where(truth[:, None] == [0, 1], 0.75, 0.25)
    audit = LabelAudit().fit(None, Y, proba)
    assert np.mean(audit.consensus_ == truth) > 0.9


def test_wrong_input_is_refused():
    X, _, Y = labelled((0.8, 0.8))
    Y[7] = np.nan
    with pytest.raises(ValueError, match=r"none in 1 of 500 rows\. The first is row 7"):
        LabelAudit().fit(X, Y)
    Y[7] = 0
    with pytest.raises(ValueError, match="gave no label at all"):
        LabelAudit().fit(X, np.column_stack([Y, np.full(len(Y), np.nan)]))
    with pytest.raises(AttributeError, match="requires labels from several people"):
        _ = audit_of(X, np.nan_to_num(Y[:, 0])).annotators_


def test_a_report_of_a_consensus(tmp_path):
    pytest.importorskip("jinja2")
    X, _, Y = labelled((0.6, 0.8, 0.9))
    audit_of(X, Y).report(tmp_path / "r.html", compare=False)
    assert "Rows to review" in (tmp_path / "r.html").read_text("utf-8")

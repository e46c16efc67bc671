"""What regressions say about the labels of small tables."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit, second_opinion
from hardwood.noise import corrupt, uniform


def slanted(n_rows=200, seed=0, n_columns=12):
    """Return rows, noisy labels and where these are wrong; classes divided by a slanted line."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    noisy, wrong = corrupt((X.sum(axis=1) > 0).astype(int), uniform(2, 0.2), random_state=seed)
    return X, noisy, wrong


def test_each_row_is_left_out():
    X, y, _ = slanted(40, n_columns=3)
    scores = second_opinion.left_out_scores(X, y, 2)
    for place in (0, 4, 8):
        penalty = second_opinion._PENALTIES[place]
        for row in (0, 17):
            others = np.delete(np.arange(40), row)
            ridge = Ridge(penalty).fit(X[others], np.eye(2)[y[others]])
            expected = np.maximum(ridge.predict(X[[row]])[0], 0) + second_opinion._LEAST_SCORE
            np.testing.assert_allclose(
                scores[place, row], expected / expected.sum(), rtol=1e-9, atol=1e-12
            )


def test_a_slanted_line_is_found():
    X, y, wrong = slanted()
    audit = LabelAudit(random_state=0).fit(X, y)
    votes = audit._votes
    alone = average_precision_score(wrong, 1 - votes[np.arange(len(y)), y])
    mixed = average_precision_score(wrong, audit.issues_["score"])
    assert mixed > alone + 0.05


def test_regressions_that_say_less_hardly_count():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(600, 6)).astype(float)
    y = (X[:, :3].sum(axis=1) % 2).astype(int)  # no line nor distance tells
    noisy, _ = corrupt(y, uniform(2, 0.1), random_state=0)
    votes = np.full((600, 2), 0.1)
    votes[np.arange(600), y] = 0.9
    noise = rng.normal(size=(600, 6))
    mixed = second_opinion.with_second_opinion(votes, 100, noise, noisy)
    np.testing.assert_array_equal(mixed.argmax(axis=1), y)


def test_copies_have_the_same_votes():
    X, y, _ = slanted(150)
    audit = LabelAudit(random_state=0).fit(np.vstack([X, X]), np.append(y, y))
    assert audit.n_copies_ == 150
    np.testing.assert_array_equal(audit.proba_[:150], audit.proba_[150:])


def test_sparse_rows_are_the_same():
    X, y, _ = slanted(120)
    X[X < 0.5] = 0
    dense, sparse = (LabelAudit(random_state=0).fit(table, y) for table in (X, csr_matrix(X)))
    np.testing.assert_array_equal(dense.proba_, sparse.proba_)


def test_missing_values_constant_columns_and_large_numbers():
    X, y, _ = slanted(100)
    X[::7, 0], X[:, 1], X[:, 2] = np.nan, 3.0, X[:, 2] * 1e300
    X[:, 3] = np.nan
    for table in (second_opinion.columns_of(X), second_opinion.ranks_of(X)):
        assert table.shape == (100, 10)
        assert np.isfinite(table).all()
    mixed = second_opinion.with_second_opinion(np.full((100, 2), 0.5), 50, X, y)
    np.testing.assert_allclose(mixed.sum(axis=1), 1)


def test_categories_become_columns():
    X = np.array([[0.0, 5.5], [1.0, 2.5], [7.0, 0.5], [7.0, 1.5]])
    table = second_opinion.columns_of(X)
    assert table.shape == (4, 4)
    assert table[:, :3].var(axis=0).sum() == pytest.approx(1)


@pytest.mark.parametrize("how", ["own forest", "groups", "no columns"])
def test_there_is_none(how):
    X, y, _ = slanted(100)
    forest = AdaptiveForestClassifier(20, random_state=0) if how == "own forest" else None
    X = np.zeros((100, 1)) if how == "no columns" else X
    groups = np.arange(100) // 2 if how == "groups" else None
    audit = LabelAudit(forest, random_state=0).fit(X, y, groups=groups)
    np.testing.assert_array_equal(audit._evidence.proba, audit._votes)


def test_large_tables_have_none(monkeypatch):
    monkeypatch.setattr(second_opinion, "MOST_ROWS", 99)
    X, y, _ = slanted(100)
    audit = LabelAudit(random_state=0).fit(X, y)
    np.testing.assert_array_equal(audit._evidence.proba, audit._votes)

"""A review: decisions, what follows from them, the plan, and the next rows."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit, calibration
from hardwood.audit.calibration import checked_wrong, fit_calibration, trust_in
from hardwood.audit.decisions import check_decisions, no_decisions
from hardwood.audit.review import Review
from hardwood.noise import class_conditional, corrupt, uniform


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + 0.3 * X[:, 1] + 0.2 * rng.normal(size=600) > 0).astype(int)
    noisy, wrong = corrupt(y, uniform(2, 0.2), random_state=0)
    return X, y, noisy, wrong


def audit_of(table, **parameters):
    X, _, noisy, _ = table
    return LabelAudit(
        RobustForestClassifier(60, min_samples_leaf=5), random_state=0, **parameters
    ).fit(X, noisy)


def verdicts(rows, y):
    return pd.DataFrame({"row": rows, "label": y[rows]})


def made_up_review(scores, given, decisions=None, accuracy=0.98):
    K = int(given.max()) + 1
    others = np.full((len(given), K), 1 / (K - 1))
    others[np.arange(len(given)), given] = 0
    rate = float(np.mean(scores))
    T = uniform(K, 0.2)
    return Review(scores, given, others, T, decisions or no_decisions(), accuracy, 0, rate, 0.8)


def calibrated(scores, given, wrong, K, accuracy=1.0, doubt=0.8):
    trust = trust_in(scores, float(scores.mean()), doubt, K)
    return fit_calibration(scores, given, wrong, K, accuracy, trust)


# --- verdicts ------------------------------------------------------------------------------------


def test_calls_add_up_to_one_call(table):
    _, y, noisy, _ = table
    rows = np.random.default_rng(0).permutation(len(y))[:80]
    audit = audit_of(table)
    twice = audit_of(table).update(verdicts(rows[:50], y)).update(verdicts(rows[50:], y))
    at_once = audit_of(table).update(verdicts(rows, y))
    in_fit = LabelAudit(RobustForestClassifier(60, min_samples_leaf=5), random_state=0).fit(
        table[0], noisy, decisions=verdicts(rows, y)
    )
    for other in (at_once, in_fit):
        pd.testing.assert_frame_equal(twice.issues_, other.issues_)
        np.testing.assert_array_equal(twice.noise_matrix_, other.noise_matrix_)
    assert audit.update(verdicts(rows[:1], y)) is audit


def test_decided_rows_come_last_with_the_label_decided_on(table):
    _, y, noisy, _ = table
    audit = audit_of(table)
    rows = audit.next_rows(100)
    issues = audit.update(verdicts(rows, y)).issues_
    assert sorted(issues.index[issues["decided"]]) == sorted(rows)
    assert issues["rank"][issues["decided"]].min() == len(y) - 99
    np.testing.assert_array_equal(issues["suggested"][rows], y[rows])
    np.testing.assert_array_equal(issues["is_issue"][rows], y[rows] != noisy[rows])
    assert issues["score"][rows][y[rows] != noisy[rows]].min() > 0.9
    assert issues["score"][rows][y[rows] == noisy[rows]].max() < 0.7
    undecided = issues[~issues["decided"]].sort_values("rank")
    assert undecided["score"].is_monotonic_decreasing
    assert audit.noise_rate_ == pytest.approx(issues["score"].mean())
    low, high = audit.noise_rate_interval_
    assert low < audit.noise_rate_ < high


def test_verdicts_make_the_estimates_better(table):
    """With every label checked, the noise is known as exactly as its matrix can be read off."""
    _, y, noisy, wrong = table
    audit = audit_of(table, reviewer_accuracy=1.0).update(verdicts(np.arange(len(y)), y))
    assert audit.noise_rate_ == pytest.approx(wrong.mean())
    assert audit.noise_rate_interval_ == pytest.approx((wrong.mean(), wrong.mean()))
    counts = np.array([[np.sum((y == i) & (noisy == j)) for j in range(2)] for i in range(2)])
    np.testing.assert_allclose(
        audit.noise_matrix_, counts / counts.sum(axis=1, keepdims=True), atol=0.01
    )
    low, high = audit.noise_matrix_interval_
    assert np.all(low <= audit.noise_matrix_)
    assert np.all(audit.noise_matrix_ <= high)
    assert audit.next_rows(5).size == 0
    assert audit.review_plan().to_dict("list")["rows"] == [0]


def test_the_interval_shrinks_as_one_reviews(table):
    _, y, _, wrong = table
    audit = audit_of(table, reviewer_accuracy=1.0)
    widths = []
    for _ in range(3):
        audit.update(verdicts(audit.next_rows(100, random_share=0.5), y))
        low, high = audit.noise_rate_interval_
        assert low - 0.01 <= wrong.mean() <= high + 0.01
        widths.append(high - low)
    assert widths[-1] < widths[0]


def test_the_way_rows_were_chosen_does_not_bias_the_rate():
    """Scores that are right on average stay so, whether the top or any rows are checked."""
    rng = np.random.default_rng(0)
    scores = rng.beta(0.4, 1.6, size=4000)
    given = rng.integers(2, size=4000)
    wrong = rng.random(4000) < scores
    order = np.argsort(-scores)
    for rows in (order[:1000], order[::4], rng.permutation(4000)[:1000]):
        labels = np.where(wrong, 1 - given, given)
        found = check_decisions({"row": rows, "label": labels[rows]}, np.arange(2), given)
        review = made_up_review(scores, given, found, 1.0)
        low, high = review.noise_rate_interval
        assert low <= wrong.mean() <= high
        assert abs(review.wrong.mean() - wrong.mean()) < 0.03


@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_verdicts_correct_scores_that_are_off(shift):
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 2, size=3000)
    given = rng.integers(3, size=3000)
    wrong = rng.random(3000) < 1 / (1 + np.exp(-(z + shift)))
    scores = 1 / (1 + np.exp(-z))
    fitted = calibrated(scores[:2000], given[:2000], wrong[:2000], 3)
    rest = fitted.wrong(scores[2000:], given[2000:])
    assert abs(rest.mean() - wrong[2000:].mean()) < 0.03
    assert abs(scores[2000:].mean() - wrong[2000:].mean()) > 0.1


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_without_verdicts_the_number_is_the_one_estimated(rate):
    """Also where no score is above 0.5, because the table cannot tell."""
    rng = np.random.default_rng(0)
    scores = np.minimum(rng.beta(0.4, 1.6, size=1000), 0.5)
    given = rng.integers(2, size=1000)
    trust = trust_in(scores, rate, 0.5, 2)
    wrong = fit_calibration(scores[:0], given[:0], np.zeros(0, bool), 2, 1.0, trust).wrong(
        scores, given
    )
    assert wrong.sum() == pytest.approx(1000 * rate, rel=0.01)
    assert np.all(np.diff(wrong[np.argsort(scores)]) >= 0)


def test_more_doubt_makes_wider_intervals():
    scores, given = np.random.default_rng(0).beta(0.4, 1.6, size=1000), np.arange(1000) % 2
    widths = []
    for doubt in (0.1, 0.4, 0.8):
        review = replace(made_up_review(scores, given), doubt=doubt)
        (low,), (high,) = review.intervals(np.array([0]))
        widths.append(high - low)
    assert widths[0] < widths[1] < widths[2]


def test_one_class_can_be_less_trusted_than_another():
    rng = np.random.default_rng(0)
    given = rng.integers(2, size=2000)
    scores = np.full(2000, 0.5)
    wrong = rng.random(2000) < np.where(given == 1, 0.8, 0.2)
    fitted = calibrated(scores, given, wrong, 2)
    low, high = fitted.wrong(scores[:2], np.array([0, 1]))
    assert low < 0.35
    assert high > 0.65


def test_the_maximum_is_the_maximum():
    """The gradient of the log posterior vanishes there, by finite differences."""
    rng = np.random.default_rng(0)
    scores, given = rng.uniform(0.01, 0.99, 200), rng.integers(2, size=200)
    wrong = rng.random(200) < scores**2
    fitted = calibrated(scores, given, wrong, 2, 0.9)
    z = calibration.log_odds(scores)
    trust = fitted.trust
    spread = np.array([trust.spread, trust.turn, *[calibration._OF_CLASS] * 2])
    centre = np.array([trust.centre, 0, 0, 0])

    def log_posterior(parameters):
        p = fitted.wrong_by(z, given, parameters)
        q = 0.9 * p + 0.1 * (1 - p)
        return np.log(np.where(wrong, q, 1 - q)).sum() - 0.5 * np.sum(
            ((parameters - centre) / spread) ** 2
        )

    for step in np.eye(4) * 1e-4:
        slope = (log_posterior(fitted.mean + step) - log_posterior(fitted.mean - step)) / 2e-4
        assert abs(slope) < 0.02  # the change is interpolated


@given(
    p=st.floats(0, 1), accuracy=st.floats(0.51, 1), n_classes=st.integers(2, 9), said=st.booleans()
)
def test_bayes_rule_for_one_verdict(p, accuracy, n_classes, said):
    after = checked_wrong(np.array([p]), np.array([said]), n_classes, accuracy)[0]
    assert 0 <= after <= 1
    if 0 < p < 1:
        assert after >= p if said else after <= p
    if accuracy == 1 and 0 < p < 1:
        assert after == said


def test_a_reviewer_who_errs_counts_less(table):
    _, y, _, _ = table
    rows = np.arange(100)
    sure = audit_of(table, reviewer_accuracy=1.0).update(verdicts(rows, y)).issues_["score"]
    unsure = audit_of(table, reviewer_accuracy=0.6).update(verdicts(rows, y)).issues_["score"]
    assert set(sure[rows]) == {0.0, 1.0}
    assert unsure[rows].between(0.001, 0.999).sum() > 50


def test_cleaning_applies_decisions(table):
    _, y, noisy, _ = table
    audit = audit_of(table)
    rows = audit.next_rows(60)
    audit.update(verdicts(rows, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether or not cleaning would help
        _, as_is, _ = audit.clean(how="weight")
    np.testing.assert_array_equal(as_is[rows], y[rows])
    _, relabelled, _ = audit.clean(how="relabel", check=False)
    np.testing.assert_array_equal(relabelled[rows], y[rows])
    kept, labels, _ = audit.clean(X=np.arange(len(y)), y=noisy, how="drop", check=False)
    assert set(rows) <= set(kept)
    np.testing.assert_array_equal(labels[np.isin(kept, rows)], y[np.sort(rows)])
    _, _, weights = audit.clean(how="weight", check=False)
    assert np.all(weights[rows] == 1)


def test_a_class_that_nobody_believes_in_is_no_error(table):
    X, y, noisy, _ = table
    three = noisy.copy()
    three[:4] = 2
    audit = LabelAudit(RobustForestClassifier(40), random_state=0).fit(X, three)
    audit.update(verdicts(np.arange(4), y))
    assert audit.issues_["suggested"][:4].tolist() == y[:4].tolist()
    assert audit.noise_matrix_.shape == (3, 3)


@pytest.mark.parametrize("kind", ["probabilities", "fitted"])
def test_audits_without_a_forest_of_their_own_are_updated(kind, table):
    X, y, noisy, _ = table
    forest = RobustForestClassifier(60, oob_score=True, random_state=0).fit(X, noisy)
    if kind == "fitted":
        audit = LabelAudit(forest).fit(X, noisy)
    else:
        audit = LabelAudit().fit(None, noisy, forest.oob_decision_function_)
    audit.update(verdicts(audit.next_rows(50), y))
    assert audit.issues_["decided"].sum() == 50
    if kind == "fitted":
        assert audit.estimator_ is forest


def test_a_review_in_batches_finds_wrong_labels_first(table):
    _, y, noisy, wrong = table
    audit = audit_of(table)
    found = 0
    for _ in range(4):
        rows = audit.next_rows(40)
        assert not np.isin(
            rows, audit.issues_.index[audit.issues_.get("decided", wrong & False)]
        ).any()
        found += (y[rows] != noisy[rows]).sum()
        audit.update(verdicts(rows, y))
    assert found > 0.75 * wrong.sum()


def test_the_same_seed_gives_the_same_review(table):
    _, y, _, _ = table
    first, second = (audit_of(table).update(verdicts(np.arange(30), y)) for _ in range(2))
    np.testing.assert_array_equal(first.next_rows(50), second.next_rows(50))
    pd.testing.assert_frame_equal(first.review_plan(), second.review_plan())


def test_rates_of_classes_show_in_the_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] > 0).astype(int)
    noisy, _ = corrupt(y, class_conditional([0.05, 0.3]), random_state=0)
    audit = LabelAudit(RobustForestClassifier(60, min_samples_leaf=5), random_state=0).fit(X, noisy)
    audit.update(verdicts(audit.next_rows(300, random_share=0.3), y))
    low, high = audit.noise_matrix_interval_
    assert low[1, 0] < 0.3 < high[1, 0]
    assert low[0, 1] < 0.05 < high[0, 1]


# --- the next rows -------------------------------------------------------------------------------


def test_a_share_of_the_next_rows_is_drawn_at_random(table):
    audit = audit_of(table)
    order = audit.issues_.sort_values("rank").index.to_numpy()
    rows = audit.next_rows(100, random_share=0.2)
    np.testing.assert_array_equal(rows[:80], order[:80])
    assert len(set(rows)) == 100
    assert np.sum(~np.isin(rows[80:], order[80:100])) > 10
    np.testing.assert_array_equal(audit.next_rows(100, random_share=0), order[:100])


def test_the_share_holds_over_small_batches():
    n_random = 0
    scores, given = np.linspace(1, 0, 1000), np.zeros(1000, dtype=int)
    given[0] = 1
    rows = np.empty(0, dtype=int)
    for _ in range(50):
        found = check_decisions({"row": rows, "label": given[rows]}, np.arange(2), given)
        review = made_up_review(scores, given, found)
        batch = review.next_rows(5, 0.1)
        n_random += int(np.sum(~np.isin(batch, review.undecided_order[:5])))
        rows = np.concatenate([rows, batch])
    assert 20 <= n_random <= 25


def test_rows_that_nobody_could_decide_are_left_out(table):
    audit = audit_of(table)
    rows = audit.next_rows(10)
    audit.update(pd.DataFrame({"row": rows, "label": [None] * 10}))
    assert not np.isin(audit.next_rows(50), rows).any()
    assert "decided" not in audit.issues_
    later = audit.update(verdicts(rows[:1], table[1]))
    assert later.issues_["decided"].sum() == 1


# --- the plan ------------------------------------------------------------------------------------


def test_the_plan_reaches_its_target(table):
    _, y, _, wrong = table
    audit = audit_of(table)
    n = len(y)
    for target in (0.0, 0.01, 0.1):
        plan = audit.review_plan(target)
        assert plan["rows"].iloc[0] == 0
        assert plan["rows"].is_monotonic_increasing
        assert plan["left"].iloc[-1] <= target * n + 1e-6
        np.testing.assert_allclose(plan["found"] + plan["left"], audit.noise_rate_ * n, rtol=1e-3)
        assert (plan["left_low"] <= plan["left"]).all()
        assert (plan["left"] <= plan["left_high"]).all()
        if plan["rows"].iloc[-1] > 1:  # one row fewer would not do
            score = audit.issues_.sort_values("rank")["score"].to_numpy()
            assert score[plan["rows"].iloc[-1] - 1 :].sum() > 0.999 * target * n
    assert audit.review_plan(1.0)["rows"].tolist() == [0]
    first = audit.review_plan().iloc[0]
    assert first["left_low"] <= wrong.sum() <= first["left_high"]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 300),
    K=st.integers(2, 40),
    target=st.floats(0, 1),
)
def test_plans_of_any_review_are_in_order(seed, n, K, target):
    rng = np.random.default_rng(seed)
    given = rng.integers(K, size=n)
    given[:2] = 0, K - 1
    scores = rng.choice([rng.random(n), np.round(rng.random(n)), np.full(n, 0.3)])
    rows = rng.permutation(n)[: rng.integers(0, n + 1)]
    found = check_decisions(
        {"row": rows, "label": rng.integers(K, size=len(rows))}, np.arange(K), given
    )
    review = made_up_review(scores, given, found)
    plan = review.plan(target)
    assert plan["left"][-1] <= target * n + 1e-6
    for name in ("left", "left_low", "left_high"):
        assert np.all(np.diff(plan[name]) <= 1e-9)
        assert np.all(plan[name] >= 0)
        assert np.all(plan[name] <= n - len(rows))
    low, high = review.noise_rate_interval
    assert 0 <= low <= review.wrong.mean() <= high <= 1
    T_low, T_high = review.matrix_interval()
    T = review.estimated_matrix()
    np.testing.assert_allclose(T.sum(axis=1), 1)
    assert np.all((T_low <= T) & (T_high >= T))


def test_intervals_hold_what_a_review_finds():
    """If the scores are off as the prior says, 90 % of the intervals hold the number."""
    rng = np.random.default_rng(0)
    held = []
    for seed in range(150):
        z = rng.normal(-2, 2, size=500)
        given = rng.integers(2, size=500)
        trust = trust_in(1 / (1 + np.exp(-z)), np.mean(1 / (1 + np.exp(-z))), 0.8, 2)
        slope = rng.normal(0, trust.turn)
        shift = trust.shift(rng.normal(trust.centre, trust.spread), slope)
        of_class = rng.normal(0, calibration._OF_CLASS, size=2)
        log_odds = z * (1 + slope) + shift + of_class[given]
        wrong = rng.random(500) < 1 / (1 + np.exp(-log_odds))
        review = made_up_review(1 / (1 + np.exp(-z)), given)
        low, high = review.intervals(np.array([0, 100]))
        left = [wrong.sum(), wrong[review.order[100:]].sum()]
        held.append((low <= left) & (left <= high))
        assert seed < 150
    assert np.all(np.mean(held, axis=0) > 0.83)


def test_the_picture_shows_the_plan(table):
    figure = pytest.importorskip("matplotlib.figure")
    from hardwood.plotting import review_curve

    audit = audit_of(table)
    ax = review_curve(audit, 0.05, ax=figure.Figure().subplots())
    plan = audit.review_plan(0.05)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), plan["rows"])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), plan["left"])
    assert ax.get_ylabel() == "wrong labels left"


# --- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (
            {"row": [600], "label": [0]},
            "there is no row 600. The table has 600 rows, from 0 to 599",
        ),
        ({"row": [-1], "label": [0]}, "there is no row -1"),
        ({"row": [1.5], "label": [0]}, "1.5 is not the number of a row"),
        ({"row": ["a"], "label": [0]}, "'a' is not the number of a row"),
        ({"row": [3, None], "label": [0, 0]}, "the 2nd one has no row"),
        ({"row": [1], "label": [7]}, "the label '7' of row 1 is not one of the classes: '0', '1'"),
        ({"label": [7]}, "no column 'row'"),
        ({"row": [1]}, "no column 'label'"),
        ({"row": [1, 2], "label": [1]}, "same length"),
    ],
)
def test_wrong_decisions_are_refused(decisions, message, table):
    audit = audit_of(table)
    before = audit.issues_
    with pytest.raises(ValueError, match=message):
        audit.update(decisions)
    pd.testing.assert_frame_equal(audit.issues_, before)
    with pytest.raises(ValueError, match=message):
        LabelAudit().fit(table[0], table[2], decisions=decisions)


def test_decisions_of_another_table_are_refused(table):
    _, _, noisy, _ = table
    with pytest.raises(ValueError, match="Are these the decisions of another table"):
        audit_of(table).update({"row": [3], "given": [1 - noisy[3]], "label": [0]})
    with pytest.raises(TypeError, match="must be a data frame"):
        audit_of(table).update([(1, 2)])


@pytest.mark.parametrize("as_path", [str, Path])
def test_decisions_can_be_a_file_or_one_row(as_path, table, tmp_path):
    _, y, _, _ = table
    path = tmp_path / "decisions.csv"
    verdicts([5, 9], y).to_csv(path, index=False)
    audit = audit_of(table).update(as_path(path))
    assert np.flatnonzero(audit.issues_["decided"]).tolist() == [5, 9]
    audit.update({"row": 7, "label": y[7]})
    assert np.flatnonzero(audit.issues_["decided"]).tolist() == [5, 7, 9]
    verdicts([5, 9], y)[["row"]].to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"decisions\.csv has no column 'label'"):
        audit.update(as_path(path))


def test_labels_of_a_file_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "decisions.csv"
    path.write_text("row,given,label\n0,01,1\n1,'=a,01\n")
    found = check_decisions(path, np.array(["01", "1", "=a"]), np.array([0, 2]))
    assert found.labels.tolist() == [1, 0]


def test_rows_are_positions_whatever_the_index_is(table):
    X, y, noisy, _ = table
    frame = pd.DataFrame(X, index=np.arange(5000, 5600)[::-1])
    forest = RobustForestClassifier(60, min_samples_leaf=5)
    audit = LabelAudit(forest, random_state=0).fit(frame, pd.Series(noisy, index=frame.index))
    rows = audit.next_rows(1000)
    assert sorted(rows) == list(range(600))
    pd.testing.assert_frame_equal(audit.issues_, audit_of(table).issues_)
    assert audit.explain(int(rows[0])).given == noisy[rows[0]]
    with pytest.raises(ValueError, match="counted from 0, whatever the index"):
        audit.explain(5000)
    audit.update({"row": rows, "label": y[rows]})
    assert audit.next_rows(5).tolist() == []
    assert audit.review_plan()["rows"].tolist() == [0]


def test_reviewers_who_err_leave_the_rate_uncertain(table):
    _, y, noisy, _ = table
    every = {"row": np.arange(600), "label": y}
    low, high = audit_of(table, reviewer_accuracy=0.9).update(every).noise_rate_interval_
    assert 0.01 < high - low < 0.1
    assert low < np.mean(y != noisy) < high
    low, high = audit_of(table, reviewer_accuracy=1.0).update(every).noise_rate_interval_
    assert low == pytest.approx(np.mean(y != noisy))
    assert high == pytest.approx(low)


def test_the_last_line_on_a_row_counts():
    given = np.array([0, 1, 0])
    classes = np.array(["a", "b"])
    found = check_decisions(
        {"row": [0, 1, 0, 2, 2], "label": ["a", "b", "b", "a", None]}, classes, given
    )
    assert dict(zip(found.rows.tolist(), found.labels.tolist(), strict=True)) == {1: 1, 0: 1}
    assert found.unsure.tolist() == [2]


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array([False, True]), ["True", "False"]),
        (np.array([0, 1]), ["1", 0.0]),
        (np.array([0.0, 1.0]), [1, "0"]),
        (np.array(["=x", " y"], dtype=object), ["y", "=x"]),
    ],
)
def test_labels_are_the_same_in_every_type(classes, labels):
    found = check_decisions({"row": [0, 1], "label": labels}, classes, np.array([0, 1]))
    assert found.labels.tolist() == [1, 0]


@pytest.mark.parametrize("value", [0, 0.5, 1.1, "a", True, None])
def test_accuracies_that_make_no_sense_are_refused(value, table):
    with pytest.raises(ValueError, match=r"reviewer_accuracy must be a number above 0\.5"):
        audit_of(table, reviewer_accuracy=value)


def test_arguments_are_checked(table):
    audit = audit_of(table)
    for k in (0, 1.5, True, "a"):
        with pytest.raises(ValueError, match="k must be an integer of at least 1"):
            audit.next_rows(k)
    for target in (-0.1, 1.5, "1%", None):
        with pytest.raises(ValueError, match="target must be a number from 0 to 1"):
            audit.review_plan(target)
    with pytest.raises(ValueError, match="random_share must be a number from 0 to 1"):
        audit.next_rows(5, random_share=2)


def test_a_forest_that_drew_no_rows_knows_no_neighbors(tmp_path: Path) -> None:
    """An adaptive forest grows all trees from all rows if hardly any label looks wrong."""
    rng = np.random.default_rng(0)
    for n_rows in range(5, 40):
        X = rng.normal(size=(n_rows, 2))
        audit = LabelAudit(AdaptiveForestClassifier(12), random_state=0).fit(X, X[:, 0] > 0)
        if not audit.estimator_._n_drawn:
            break
    else:
        pytest.fail("no such forest")
    assert audit.explain(0).neighbors.empty
    audit.report(tmp_path / "page.html", compare=False)


def test_rows_are_named_by_any_integer(table):
    pl = pytest.importorskip("polars")
    X, y = table[:2]
    audit = LabelAudit(RobustForestClassifier(60), random_state=0).fit(pl.DataFrame(X), y)
    of_numpy, of_python = audit.explain(np.int64(3)), audit.explain(3)
    assert of_numpy.row == of_python.row == 3
    assert of_numpy.features.equals(of_python.features)


def test_decisions_may_leave_several_classes_without_rows():
    """Class 1 has no row but one that was given as class 2, which has no row of its own then."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.repeat([0, 3], 20)
    y[:2] = 1, 2
    decided = {"row": [0, 1], "label": [0, 1]}
    audit = LabelAudit(RobustForestClassifier(60, random_state=0), random_state=0)
    assert audit.fit(X, y).update(decided).issues_["decided"].sum() == 2
    decided["label"] = [2, 0]
    assert audit.fit(X, y).update(decided).issues_["decided"].sum() == 2

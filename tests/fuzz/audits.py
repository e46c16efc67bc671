"""Audits of labels with drawn rows, labels of one or several people, and decisions.

What is wrong is refused with a ValueError or a TypeError, and leaves the audit as it was, or not
fitted. An audit that is fitted agrees with itself: shares are shares, ranks are an order, decisions
passed to `fit` are those passed to `update`, in one call or in two, and in any form.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.audit import DETECTORS, LabelAudit

Rng = np.random.Generator
Array = NDArray[Any]
REFUSED = (ValueError, TypeError)


class AuditCase(NamedTuple):
    """A fit of an audit, and the seed of what is done with it."""

    estimator: LabelAudit
    X: Any
    y: Any
    proba: Any
    decisions: Any
    groups: Any
    seed: int


def usually(rng: Rng, options: list[Any]) -> Any:
    return options[int(len(options) * rng.random() ** 3)]


def mostly(rng: Rng, options: list[Any]) -> Any:
    """The first of these, seldom one of the last."""
    return options[int(len(options) * rng.random() ** 8)]


def draw(rng: Rng, seed: int, table: Any) -> AuditCase:
    """Draw a case. `table` makes other forms of rows."""
    n_rows = int(mostly(rng, [40, 90, 12, 5, 2, 1, 0]))
    n_classes = int(mostly(rng, [2, 3, 5, 1, 12]))
    true = rng.integers(0, n_classes, n_rows)
    X = rng.normal(size=(n_rows, int(rng.integers(1, 5)))).round(int(rng.integers(0, 4)))
    X[:, 0] += true
    if rng.random() < 0.2:
        X[rng.random(X.shape) < 0.1] = usually(rng, [np.nan, 1e308, np.inf])
    kind = usually(rng, ["int", "text", "object", "float", "bool", "spaces", "odd"])
    names = np.array(
        {
            "int": np.arange(n_classes) * 3 - 2,
            "text": [f"class {k}" for k in range(n_classes)],
            "object": [f"=1+{k}" for k in range(n_classes)],
            "float": np.arange(n_classes) + float(rng.choice([0, 0.5])),
            "bool": np.arange(n_classes) % 2 > 0,
            "spaces": [f" {k}" for k in range(n_classes)],
            "odd": [f"{k}\0\ud800" for k in range(n_classes)],
        }[kind],
        dtype=object if kind in ("object", "odd") else None,
    )
    wrong = rng.random(n_rows) < rng.choice([0, 0.2, 0.9])
    given = np.where(wrong, rng.integers(0, n_classes, n_rows), true)
    y: Any = names[given]
    if rng.random() < 0.3:
        y = of_several(names, true, rng)
    decisions = draw_decisions(rng, n_rows, names, y) if rng.random() < 0.5 else None
    proba = draw_proba(rng, given, len(np.unique(given))) if rng.random() < 0.3 else None
    groups = None
    if rng.random() < 0.15:
        groups = mostly(rng, [np.arange(n_rows) // 2, np.arange(n_rows) // 2 * 1.0, [0], [None]])
    audit = LabelAudit(
        mostly(rng, [RobustForestClassifier(7), RobustForestClassifier(15), *OTHER_FORESTS]),
        random_state=mostly(rng, [0, 1, np.random.RandomState(2), None, -1]),
        detector=mostly(rng, [*DETECTORS, "guess"]),
        reviewer_accuracy=mostly(rng, [0.98, 1.0, 0.51, 0.5, 2, "high"]),
        n_jobs=mostly(rng, [None, None, 2, 0]),
    )
    rows = table(rng, X)
    rows = mostly(rng, [rows, rows, rows, rows, None, X[:-1], X[:, :0]])
    return AuditCase(audit, rows, y, proba, decisions, groups, seed)


OTHER_FORESTS = [
    RobustExtraTreesClassifier(9, bootstrap=True),
    RobustForestClassifier(8, criterion="gini", class_weight="balanced"),
    AdaptiveForestClassifier(12),
    RobustExtraTreesClassifier(5),
    RobustForestClassifier(1),
    RobustForestClassifier(5, max_samples=0.3),
    None,
    RobustTreeClassifier(),
    LogisticRegression(),
    "forest",
]


def of_several(names: Array, true: Array, rng: Rng) -> Any:
    """Labels of several people, some missing, in one of the forms people pass."""
    n_people = int(usually(rng, [3, 2, 6, 1]))
    Y = names[rng.integers(0, len(names), (len(true), n_people))].astype(object)
    is_right = rng.random(Y.shape) < 0.8
    Y[is_right] = np.repeat(names[true][:, None], n_people, axis=1)[is_right]
    missing = rng.random(Y.shape) < rng.choice([0, 0.3, 0.6])
    if len(true) and rng.random() < 0.9:  # not all in a row
        missing[np.arange(len(true)), rng.integers(0, n_people, len(true))] = False
    none = usually(rng, [None, np.nan, pd.NA, pd.NaT])
    Y[missing] = none
    columns = [f"person {k}" for k in range(n_people)]
    forms = [
        lambda: Y,
        lambda: pd.DataFrame(Y, columns=columns),
        lambda: Y.tolist(),
        lambda: pd.DataFrame(Y).convert_dtypes(),
        lambda: Y.astype(float),
        lambda: pl.DataFrame(dict(zip(columns, Y.T.tolist(), strict=True))),
        lambda: np.asfortranarray(Y),
    ]
    try:
        return mostly(rng, forms)()
    except Exception:  # texts are no floats, and polars wants one type
        return Y


def draw_proba(rng: Rng, given: Array, n_classes: int) -> Any:
    """Probabilities of a classifier, which may be wrong."""
    proba = rng.dirichlet(np.ones(n_classes), len(given)) if n_classes else np.ones((0, 1))
    if n_classes == len(np.unique(given)) and len(given):
        proba = (proba + np.eye(n_classes)[np.unique(given, return_inverse=True)[1]]) / 2
    forms = [
        proba,
        proba.tolist(),
        proba.astype("f4"),
        np.eye(max(n_classes, 1))[np.zeros(len(given), dtype=int)],
        pd.DataFrame(proba),
        proba * 2,
        proba[:-1],
        proba * np.nan,
        proba[:, :-1],
        "proba",
    ]
    return mostly(rng, forms)


def draw_decisions(rng: Rng, n_rows: int, names: Array, y: Any) -> Any:
    """What a review found, right or wrong, as a table, a dict or otherwise."""
    number = int(usually(rng, [4, 12, 1, 0, 40]))
    rows: list[Any] = rng.integers(0, max(n_rows, 1), number).tolist()
    labels: list[Any] = names[rng.integers(0, len(names), number)].tolist()
    labels = [usually(rng, [label, label, None, str(label), np.nan, ""]) for label in labels]
    given = None
    if np.ndim(y) == 1 and n_rows and rng.random() < 0.4:
        given = [y[row] for row in rows]
    if number and rng.random() < 0.15:
        place = int(rng.integers(number))
        which = [rows, labels, *([given] if given else [])]
        which[rng.integers(len(which))][place] = usually(rng, ODD_VALUES)
    columns: dict[str, Any] = {"row": rows, "label": labels}
    if given is not None:
        columns["given"] = given
    if rng.random() < 0.3:
        columns["time"] = ["2026-01-01"] * number
    if rng.random() < 0.05:
        columns.pop(list(columns)[rng.integers(len(columns))])
    if rng.random() < 0.05 and number:
        columns["label"] = labels[:-1]
    forms = [
        lambda: columns,
        lambda: pd.DataFrame(columns),
        lambda: pd.DataFrame(columns, index=np.arange(number) * 5 + 1),
        lambda: {name: np.array(values, dtype=object) for name, values in columns.items()},
        lambda: pl.DataFrame({name: [*values] for name, values in columns.items()}),
        lambda: list(columns.items()),
        lambda: "no/such/file.csv",
        lambda: 7,
    ]
    try:
        return mostly(rng, forms)()
    except Exception:  # columns of different lengths, or of several types
        return columns


ODD_VALUES: list[Any] = [
    *("another class", -1, 10**6, 0.5, "0", "1.0", 1.0, True, np.nan, None, pd.NA, 10**400, "x"),
    *(np.inf, 2**64, 1j, [1], b"0", object, "\ud800", "'=1+0", np.int64(0), np.float32(1)),
]


def run(case: AuditCase) -> str:
    """Fit and use an audit."""
    rng = np.random.default_rng([case.seed, 1])
    audit = clone(case.estimator, safe=False)
    options = {"groups": case.groups, "decisions": case.decisions}
    try:
        audit.fit(case.X, case.y, case.proba, **options)
    except OSError:
        assert isinstance(case.decisions, str)
        return "audit refused"
    except REFUSED as error:
        if "incompatible function arguments" in str(error):
            raise RuntimeError("this reached the engine") from error
        assert not hasattr(audit, "noise_matrix_")
        return "audit refused"
    check(audit)
    ask(audit, rng)
    if isinstance(case.estimator.random_state, int):
        again = clone(case.estimator, safe=False).fit(
            case.X, case.y, case.proba, groups=case.groups
        )
        if case.decisions is not None:
            again.update(case.decisions)
        check_same(again, audit)
    review(audit, rng)
    clean(audit, case, rng)
    if case.X is not None and rng.random() < 0.1:
        with tempfile.TemporaryDirectory() as folder:
            audit.report(Path(folder) / "page.html", compare=False, max_rows=20)
    copy = pickle.loads(pickle.dumps(audit))
    check_same(copy, audit)
    return "audited"


def series(labels: Array) -> Any:
    """Labels as a column, of objects: pandas cannot hold half a character as text."""
    return pd.Series(labels, dtype=object)


def results(audit: LabelAudit) -> tuple[Any, ...]:
    table = audit.issues_
    numbers = (audit.noise_matrix_, audit.class_prior_, audit.proba_)
    return (table, audit.noise_rate_, audit.noise_rate_interval_, *numbers)


def check_same(audit: LabelAudit, other: LabelAudit) -> None:
    """Both found the same, to the bit."""
    (table, *ours), (other_table, *theirs) = results(audit), results(other)
    pd.testing.assert_frame_equal(table, other_table, check_exact=True)
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, two)


def check(audit: LabelAudit) -> None:
    """What every audit must hold."""
    table, n_classes = audit.issues_, len(audit.classes_)
    n_rows = len(table)
    assert sorted(table["rank"]) == list(range(1, n_rows + 1))
    assert table["score"].between(0, 1).all()
    assert (table["is_issue"] == (table["given"] != table["suggested"])).all()
    assert audit.n_issues_ == table["is_issue"].sum()
    assert set(table["suggested"]) <= set(audit.classes_)
    undecided = table[~table["decided"]] if "decided" in table else table
    assert undecided.sort_values("rank")["score"].is_monotonic_decreasing
    low, high = audit.noise_rate_interval_
    assert 0 <= low <= high <= 1, (low, high)
    assert 0 <= audit.noise_rate_ <= 1
    for shares in (audit.noise_matrix_, audit.class_prior_[None], audit.proba_):
        assert shares.shape[1] == n_classes
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    interval = audit.noise_matrix_interval_
    if interval is not None:
        assert (interval[0] >= 0).all()
        assert (interval[0] <= interval[1]).all()
        assert (interval[1] <= 1).all()
    if not audit.can_tell_ and "decided" not in table:
        assert audit.n_issues_ == 0


def ask(audit: LabelAudit, rng: Rng) -> None:
    """All that an audit answers, with arguments right and wrong."""
    table = audit.issues_
    n_rows = len(table)
    decided = table["decided"].to_numpy() if "decided" in table else np.zeros(n_rows, dtype=bool)
    for k in (1, 5, n_rows + 3):
        rows = audit.next_rows(k, random_share=float(rng.choice([0, 0.025, 0.5, 1])))
        assert len(set(rows.tolist())) == len(rows) <= k
        assert not decided[rows].any()
    for target in (0.01, 0.0, 1.0, float(rng.random())):
        plan = audit.review_plan(target)
        assert plan["rows"].is_monotonic_increasing
        assert (plan["left_low"] <= plan["left_high"] + 1e-9).all()
        assert np.isfinite(plan.to_numpy(dtype=float)).all()
    trade_off = audit.trade_off()
    assert (trade_off["share"] <= 1 + 1e-9).all()
    for row in rng.integers(0, n_rows, 3):
        why = audit.explain(row, n_neighbors=int(rng.integers(1, n_rows + 5)))
        assert why.given == table["given"][row]
        assert len(why.votes) == len(audit.classes_)
        assert (why.neighbors["row"] != row).all()
        str(why)
    people = ("consensus_", "annotators_", "annotator_noise_matrices_", "annotator_agreement_")
    for name in people:
        assert hasattr(audit, name) == (audit._annotations is not None)
    wrong_calls = [
        lambda: audit.next_rows(usually(rng, [0, -1, 1.5, "all", True, None, np.nan])),
        lambda: audit.next_rows(3, random_share=usually(rng, [-0.1, 1.1, np.nan, "half", None])),
        lambda: audit.review_plan(usually(rng, [-0.1, 2, np.nan, np.inf, "few", None, [0.1]])),
        lambda: audit.explain(usually(rng, [-1, n_rows, 2**70, 0.0, "0", None, True])),
        lambda: audit.explain(0, n_neighbors=usually(rng, [0, -3, 2.0, None, "all"])),
        lambda: audit.clean(how=usually(rng, ["keep", None, 3])),
        lambda: audit.cleaning_gain(how="remove"),
    ]
    for call in wrong_calls:
        try:
            call()
        except REFUSED:
            continue
        raise AssertionError("a wrong argument was taken")


def review(audit: LabelAudit, rng: Rng) -> None:
    """Decisions in one call or in several, in any form; wrong ones change nothing."""
    n_rows, classes = len(audit.issues_), audit.classes_
    for _ in range(3):
        before = results(audit)
        decisions = draw_decisions(rng, n_rows, classes, audit.issues_["given"].to_numpy())
        try:
            audit.update(decisions)
        except OSError:
            assert isinstance(decisions, str)
            continue
        except REFUSED:
            after = results(audit)
            pd.testing.assert_frame_equal(after[0], before[0], check_exact=True)
            for one, two in zip(after[1:], before[1:], strict=True):
                np.testing.assert_array_equal(one, two)
            continue
        check(audit)
    rows = audit.next_rows(6)
    if len(rows) == 0:
        return
    labels = classes[rng.integers(0, len(classes), len(rows))]
    at_once, in_two, other_form = (pickle.loads(pickle.dumps(audit)) for _ in range(3))
    at_once.update({"row": rows, "label": labels})
    half = len(rows) // 2
    in_two.update({"row": rows[:half], "label": labels[:half]})
    in_two.update({"row": rows[half:], "label": labels[half:]})
    other_form.update(pd.DataFrame({"label": series(labels), "row": rows.astype(float)}))
    check(at_once)
    if audit.random_state is not None:  # else each forest is another
        check_same(in_two, at_once)
        check_same(other_form, at_once)
    decided = at_once.issues_
    assert decided["decided"][rows].all()
    assert (decided["suggested"][rows].to_numpy() == labels).all()
    ask(at_once, rng)


def clean(audit: LabelAudit, case: AuditCase, rng: Rng) -> None:
    """Every way of cleaning keeps what belongs together."""
    n_rows = len(audit.issues_)
    y = np.asarray(audit.issues_["given"])
    X = np.arange(n_rows)[:, None]
    how = usually(rng, ["drop", "relabel", "weight"])
    for rows, labels in ((X, y), (X.tolist(), y.tolist()), (pd.DataFrame(X), series(y))):
        clean_X, clean_y, weight = audit.clean(rows, labels, how, check=False)
        assert len(clean_X) == len(clean_y) <= n_rows
        assert type(clean_X) is type(rows)
        assert (weight is None) == (how != "weight")
        if weight is not None:
            assert ((weight >= 0) & (weight <= 1)).all()
        if how != "drop":
            assert len(clean_y) == n_rows
    if rng.random() < 0.03 and audit._can_retrain:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gain, error = audit.cleaning_gain(how)
        assert np.isnan(error) or (
            error >= 0 and np.isfinite(gain)
        )  # unbiased, so it may be above 1

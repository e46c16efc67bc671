"""What an audit refuses, and with which words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from hardwood import RobustForestClassifier
from hardwood.audit import LabelAudit, clean, find_label_issues
from hardwood.noise import estimate_noise_matrix

Y = np.array([0, 1, 0, 1])
PROBA = np.array([[0.6, 0.4], [0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
FUNCTIONS = [
    find_label_issues,
    estimate_noise_matrix,
    lambda y, proba: LabelAudit().fit(None, y, proba),
    lambda y, proba: clean(np.zeros((len(y), 1)), y, proba=proba),
]


def changed(row: int, values: list[float]) -> np.ndarray:
    proba = PROBA.copy()
    proba[row] = values
    return proba


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("y", "proba", "message"),
    [
        (Y, PROBA[:3], r"shape \(4, 2\), got \(3, 2\)"),
        (Y, PROBA[:, :1], r"shape \(4, 2\), got \(4, 1\)"),
        (Y, PROBA.ravel(), "one column for each of the 2 classes"),
        (Y, np.hstack([PROBA, np.zeros((4, 1))]), "knows a class that y lacks"),
        (Y, changed(2, [np.nan, 1]), "proba must be finite, but row 2"),
        (Y, changed(1, [np.inf, 1]), "proba must be finite, but row 1"),
        (Y, changed(1, [-0.5, 1.5]), "negative, but row 1"),
        (Y, changed(3, [0.6, 0.6]), "row 3 sums to 1.2"),
        (Y[:1], PROBA[:1], "at least two labels, got 1"),
        (Y * 0, PROBA[:, :1] * 0 + 1, "at least two classes"),
        ([0.0, 1.0, np.nan, 1.0], PROBA, "1 of 4 are missing, the first in row 2"),
        (np.array(["a", None, "b", "a"], dtype=object), PROBA, "the first in row 1"),
        (pd.Series(["a", "b", pd.NA, "a"], dtype="string"), PROBA, "the first in row 2"),
        ([0.5, 1.25, 0.1, 0.2], PROBA, "Unknown label type"),
        (np.array(["a", 1, "b", "a"], dtype=object), PROBA, "text and numbers|label type"),
        (np.zeros((4, 2), dtype=int), PROBA, "1d array|shape|at least two classes"),
    ],
)
def test_labels_and_probabilities(function, y, proba, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(y, proba)


def test_classes() -> None:
    with pytest.raises(ValueError, match="y holds 1, which is not in classes"):
        find_label_issues(Y, PROBA, classes=[0, 2])
    with pytest.raises(ValueError, match="Class 2 does not occur in y"):
        find_label_issues(Y, np.hstack([PROBA, np.zeros((4, 1))]), classes=[0, 1, 2])
    with pytest.raises(ValueError, match="distinct labels"):
        find_label_issues(Y, PROBA, classes=[0, 0])


def test_options() -> None:
    with pytest.raises(ValueError, match="detector must be one of posterior, self_confidence"):
        find_label_issues(Y, PROBA, detector="guess")
    with pytest.raises(ValueError, match="detector must be one of"):
        LabelAudit(detector="guess").fit(None, Y, PROBA)
    with pytest.raises(ValueError, match="how must be one of 'drop'"):
        clean(np.zeros((4, 1)), Y, how="burn", proba=PROBA)
    with pytest.raises(ValueError, match="noise_matrix must have one row and one column"):
        find_label_issues(Y, PROBA, noise_matrix=np.eye(3))
    with pytest.raises(ValueError, match="must sum to 1"):
        find_label_issues(Y, PROBA, noise_matrix=[[0.5, 0.4], [0, 1]])


def test_single_precision_is_close_enough() -> None:
    single, double = (find_label_issues(Y, PROBA.astype(t)) for t in (np.float32, np.float64))
    assert_allclose(single["score"], double["score"], atol=1e-4)


def test_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    with pytest.raises(ValueError, match="infinity"):
        LabelAudit().fit(np.where(X > 1.5, np.inf, X), y)
    with pytest.raises(ValueError, match="inconsistent"):
        LabelAudit().fit(X[:30], y)
    with pytest.raises(ValueError, match="X has 3 rows, but y has 4 labels"):
        LabelAudit().fit(np.zeros((3, 1)), Y, PROBA)
    audit = LabelAudit().fit(None, Y, PROBA)
    with pytest.raises(
        ValueError, match="X is required, because the audit was fitted without rows"
    ):
        audit.clean()
    with pytest.raises(ValueError, match="X must have the 4 rows that were audited, got 3"):
        audit.clean(np.zeros((3, 1)))


@pytest.mark.parametrize("detector", ["guess", None, ["margin"]])
def test_detectors_are_checked_for_labels_of_several_people_too(detector: Any) -> None:
    with pytest.raises(ValueError, match="detector must be one of"):
        LabelAudit(detector=detector).fit(None, np.c_[Y, Y], PROBA)


def test_no_labels_of_several_people() -> None:
    with pytest.raises(ValueError, match="y must hold at least two labels, got 0"):
        LabelAudit().fit(None, np.empty((0, 3)), PROBA)


@pytest.mark.parametrize("dtype", [object, "U"])
def test_class_names_with_half_a_character(dtype: Any) -> None:
    """pandas cannot hold them as text."""
    names = np.array(["a", "b\ud800"], dtype=dtype)
    y = names[Y]
    audit = LabelAudit().fit(None, y, PROBA).update({"row": [0], "label": [names[Y[0]]]})
    assert audit.issues_["given"].tolist() == y.tolist()
    assert audit.explain(0).votes.index.tolist() == names.tolist()
    labels = pd.Series(y, dtype=object)
    _, cleaned, _ = audit.clean(np.zeros((4, 1)), labels, "relabel", check=False)
    assert cleaned.dtype == object


def test_estimators() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    with pytest.raises(TypeError, match=r"got LogisticRegression.*proba"):
        LabelAudit(LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="got str"):
        LabelAudit("forest").fit(X, y)
    forest = RobustForestClassifier(30, oob_score=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="votes on 40 rows, but y has 39 labels"):
        LabelAudit(forest).fit(X[1:], y[1:])
    with pytest.raises(ValueError, match="other classes"):
        LabelAudit(forest).fit(X, y + 1)


def test_nothing_before_fit() -> None:
    for use in (lambda a: a.issues_, lambda a: a.clean(), lambda a: a.report("x.html")):
        with pytest.raises(NotFittedError):
            use(LabelAudit())


def test_a_fit_that_fails_leaves_nothing_behind() -> None:
    audit = LabelAudit().fit(None, Y, PROBA)
    with pytest.raises(ValueError, match="at least two"):
        audit.fit(None, Y[:1], PROBA)
    assert not hasattr(audit, "noise_matrix_")


def test_pandas_and_jinja2_are_loaded_on_use() -> None:
    code = (
        "import sys; sys.modules['pandas'] = sys.modules['jinja2'] = None\n"
        "from hardwood.audit import LabelAudit\n"
        "audit = LabelAudit().fit(None, [0, 1, 0, 1], [[.6, .4], [.5, .5], [.9, .1], [.2, .8]])\n"
        "audit.noise_rate_, audit.clean([[0]] * 4)\n"
        "try: audit.issues_\n"
        "except ImportError as error: print(error)\n"
        "try: audit.report('audit.html')\n"
        "except ImportError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.count("hardwood[report]") == 2


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says how much memory was used")
def test_class_names_of_any_length(tmp_path: Path) -> None:
    """They are kept as objects, not as an array with room for the longest name in each row."""
    page = tmp_path / "page.html"
    script = f"""
import re, numpy as np
from hardwood import RobustForestClassifier
from hardwood.audit import LabelAudit
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4))
names = ["a" * 200_000, "b" * 200_000 + "é"]
k = (X[:, 0] + rng.normal(size=1000) / 2 > 0).astype(int)
def megabytes():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
before = megabytes()
for y in (np.array(names, dtype=object)[k], [names[i] for i in k]):
    audit = LabelAudit(RobustForestClassifier(20), random_state=0).fit(X, y)
    assert set(audit.classes_) == set(names)
    assert set(audit.issues_["given"]) == set(names)
    audit.report({str(page)!r})
print(megabytes() - before)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 200  # megabytes; it took gigabytes
    assert page.stat().st_size < 10**6

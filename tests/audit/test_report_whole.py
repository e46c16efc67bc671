"""A real audit and its report, from the data to the file."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit import LabelAudit
from hardwood.datasets import load
from hardwood.noise import class_conditional, corrupt

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


@pytest.fixture(scope="module")
def mushrooms():
    data = load("mushrooms")
    rows = np.random.default_rng(0).permutation(len(data.X_train))[:1500]
    noisy, flipped = corrupt(data.y_train[rows], class_conditional([0.1, 0.3]), random_state=0)
    X = pd.DataFrame(data.X_train[rows], columns=data.feature_names)
    return X, np.asarray(data.classes)[noisy], flipped


def report(audit, path, **options):
    audit.report(path, **options)
    page = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    return " ".join(re.sub(r"<[^>]+>", "", page).split()), data


def test_a_manager_reads_what_is_true(mushrooms, tmp_path):
    X, y, flipped = mushrooms
    audit = LabelAudit(AdaptiveForestClassifier(100), random_state=0).fit(X, y)
    prose, data = report(audit, tmp_path / "report.html", title="Mushrooms")
    assert re.search(r"(About|Nearly|More than) 1 label in [56] looks wrong", prose)  # a fifth is
    more, less = (("edible", "poisonous"), ("poisonous", "edible"))
    wrong = {pair: np.sum((y == pair[1]) & flipped) for pair in (more, less)}
    first = max(wrong, key=wrong.get)
    assert f"Most often, {first[0]} is labelled as {first[1]}" in prose
    assert flipped[data["row"]].mean() > 0.97
    # Smell gives mushrooms away, and the reasons are the row's own values.
    names = [data["features"][reasons[0]] for reasons in data["reasons"] if reasons]
    assert np.mean([name.startswith(("odor", "spore", "gill")) for name in names]) > 0.5
    for row, reasons in list(zip(data["row"], data["reasons"], strict=True))[:50]:
        for name, value in zip(reasons[::2], reasons[1::2], strict=True):
            assert data["values"][value] == str(X.iloc[row][data["features"][name]])
    for words in ("Does cleaning help?", "How the forest chose its settings", "chosen"):
        assert words in prose


@pytest.mark.parametrize(
    "kind", ["fitted", "fitted, no rows", "unfitted", "probabilities", "probabilities alone"]
)
def test_every_kind_of_audit_has_a_report(kind, mushrooms, tmp_path):
    X, y, _ = (part[:400] for part in mushrooms)
    forest = RobustForestClassifier(40, random_state=0, oob_score=True)
    match kind:
        case "fitted":
            audit = LabelAudit(forest.fit(X, y)).fit(X, y)
        case "fitted, no rows":
            audit = LabelAudit(forest.fit(X, y)).fit(None, y)
        case "unfitted":
            audit = LabelAudit(AdaptiveForestClassifier(80), random_state=0).fit(X, y)
        case _:
            proba = forest.fit(X, y).oob_decision_function_
            audit = LabelAudit().fit(X if kind == "probabilities" else None, y, proba)
    prose, data = report(audit, tmp_path / "report.html")
    assert len(data["row"]) == audit.n_issues_
    assert (data["reasons"] is None) == (kind not in ("fitted", "unfitted"))
    assert ("How the forest chose" in prose) == (kind == "unfitted")
    assert ("has no model to train" in prose) == (audit.estimator_ is None)
    assert ("no rows to train" in prose) == (kind == "fitted, no rows")


def test_rare_classes_and_missing_values_do_no_harm(tmp_path, rng):
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 0, 1, 0)
    y[:2] = 2, 3
    X[rng.random(X.shape) < 0.2] = np.nan
    audit = LabelAudit(AdaptiveForestClassifier(60), random_state=0).fit(X, y)
    prose, _ = report(audit, tmp_path / "report.html")
    assert not re.search(r"\bnan\b", prose)
    assert "Does cleaning help?" in prose

"""``hardwood audit``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import facts, run, run_well
from tables import fruit, pd

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
from hardwood.tables import TableEncoder, read_table, write_table


@pytest.fixture(scope="module")
def table() -> Any:
    """A table of which one label in ten is wrong; `is_wrong` tells which."""
    rng = np.random.default_rng(0)
    table = fruit(600, rng).drop(columns=["number", "name"])
    is_wrong = rng.random(600) < 0.1
    flipped = table["ripe"].map({"yes": "no", "no": "yes"})
    return table.assign(ripe=table["ripe"].where(~is_wrong, flipped), is_wrong=is_wrong)


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    write_table(table.drop(columns="is_wrong"), path)
    return path


@pytest.fixture
def issues(tmp_path: Path) -> Path:
    return tmp_path / "issues.csv"


AUDIT = ("--label", "ripe", "--trees", "40", "--jobs", "1")


def test_issues_are_those_of_python(table: Any, data: Path, issues: Path) -> None:
    out = run_well("audit", data, *AUDIT, "--issues", issues)
    X, y = table.drop(columns=["ripe", "is_wrong"]), table["ripe"].to_numpy(dtype=object)
    numbers = TableEncoder().fit_transform(X)
    forest = AdaptiveForestClassifier(40, full_data=False)
    expected = LabelAudit(forest, random_state=0).fit(numbers, y).issues_
    written = read_table(issues)
    assert list(written.columns) == ["row", "given", "suggested", "score", "is_issue", "rank"]
    assert written["row"].tolist() == list(range(1, 601))
    for name in ("given", "suggested", "is_issue", "rank"):
        assert written[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(written["score"], expected["score"], rtol=1e-12)
    for words in ("wrong labels", "rows to look at", "text, 4 values", str(issues)):
        assert words in out


def test_it_finds_wrong_labels(table: Any, data: Path, issues: Path) -> None:
    run_well("audit", data, *AUDIT, "--issues", issues)
    written = read_table(issues).sort_values("rank")
    most_suspect = written["row"].to_numpy()[:40] - 1
    assert table["is_wrong"].to_numpy()[most_suspect].mean() > 0.7


def test_only_issues_and_keep(table: Any, data: Path, issues: Path) -> None:
    found = facts("audit", data, *AUDIT, "--issues", issues, "--only-issues", "--keep")
    written = read_table(issues)
    assert found["n_issues"] == len(written) > 0
    assert written["is_issue"].all()
    assert written["rank"].is_monotonic_increasing
    assert list(written.columns)[6:] == [name for name in table.columns if name != "is_wrong"]
    assert written["given"].tolist() == written["ripe"].tolist()
    assert written["ripe"].tolist() == table["ripe"].iloc[written["row"] - 1].tolist()


def test_json(data: Path) -> None:
    found = facts("audit", data, *AUDIT)
    assert found["rows"] == 600
    assert found["classes"] == ["no", "yes"]
    low, high = found["noise_rate_interval"]
    assert 0 <= low <= found["noise_rate"] <= high <= 1
    assert np.shape(found["noise_matrix"]) == (2, 2)
    assert found["report"] is None
    assert found["issues"] is None
    assert len(found["columns"]) == 5


def test_report(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    report = tmp_path / "audit.html"
    out = run_well("audit", data, *AUDIT, "--report", report, "--no-compare")
    page = report.read_text("utf-8")
    assert "Labels of fruit.csv" in page
    assert "yellow" in page  # a text, and not its code
    assert str(report) in out


def test_fail_above(data: Path) -> None:
    rate = facts("audit", data, *AUDIT)["noise_rate"]
    run_well("audit", data, *AUDIT, "--fail-above", rate + 0.01)
    code, out, err = run("audit", data, *AUDIT, "--fail-above", rate - 0.01, "--json")
    assert code == 3
    assert out.startswith("{")
    assert "of the labels seem wrong" in err


def test_names_that_are_in_use(table: Any, data: Path, issues: Path) -> None:
    write_table(table.assign(score=1.5 * np.arange(600)), data)
    issues.write_text("what was there\n")
    code, out, err = run("audit", data, *AUDIT, "--issues", issues, "--keep")
    assert (code, out) == (2, "")
    assert "columns of these names: 'score'" in err
    assert issues.read_text() == "what was there\n"


def test_a_class_of_one_row(table: Any, data: Path, issues: Path) -> None:
    write_table(table.assign(ripe=["once", *table["ripe"][1:]]), data)
    found = facts("audit", data, *AUDIT, "--issues", issues, "--drop", "is_wrong")
    assert found["classes"] == ["no", "once", "yes"]
    assert len(pd.read_csv(issues)) == 600


def test_whole_numbers_as_labels(data: Path, issues: Path, rng: np.random.Generator) -> None:
    x = rng.normal(size=300)
    write_table(pd.DataFrame({"x": x, "ripe": np.where(x > 0, 7, -1)}), data)
    run_well("audit", data, *AUDIT, "--issues", issues)
    assert set(read_table(issues)["suggested"]) == {7, -1}
    assert set(os.listdir(issues.parent)) == {data.name, issues.name}

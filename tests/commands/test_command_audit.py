"""``hardwood audit``."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from own_tables import fruit, pd

from hardwood import AdaptiveForestClassifier
from hardwood.audit import LabelAudit
from hardwood.tables import TableEncoder, read_table, write_table

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture(scope="module")
def table() -> Any:
    """A table of which one label in ten is wrong; `is_wrong` tells which."""
    rng = np.random.default_rng(0)
    table = fruit(600, rng).drop(columns=["number", "name"])
    is_wrong = rng.random(600) < 0.1
    flipped = table["ripe"].map({"yes": "no", "no": "yes"})
    return table.assign(ripe=table["ripe"].where(~is_wrong, flipped), is_wrong=is_wrong)


@pytest.fixture(scope="module")
def folder(table: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    write_table(table.drop(columns="is_wrong"), folder / "fruit.csv")
    return folder


@pytest.fixture(scope="module")
def audited(folder: Path) -> dict[str, Any]:
    """All that is written, and the JSON."""
    pytest.importorskip("jinja2")
    outputs = ("--issues", folder / "all.csv", "--report", folder / "all.html", "--no-compare")
    return facts("audit", folder / "fruit.csv", *AUDIT, *outputs, "--fail-above", "0.5")


@pytest.fixture
def data(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(folder / "fruit.csv", tmp_path))


@pytest.fixture
def issues(tmp_path: Path) -> Path:
    return tmp_path / "issues.csv"


AUDIT = ("--label", "ripe", "--trees", "40", "--jobs", "1")


def test_issues_are_those_of_python(table: Any, audited: dict[str, Any]) -> None:
    X, y = table.drop(columns=["ripe", "is_wrong"]), table["ripe"].to_numpy(dtype=object)
    numbers = TableEncoder().fit_transform(X)
    forest = AdaptiveForestClassifier(40, full_data=False, scoring="log_loss")
    expected = LabelAudit(forest, random_state=0).fit(numbers, y)
    written = read_table(audited["issues"])
    assert list(written.columns) == ["row", "given", "suggested", "score", "is_issue", "rank"]
    assert written["row"].tolist() == list(range(600))
    for name in ("given", "suggested", "is_issue", "rank"):
        assert written[name].tolist() == expected.issues_[name].tolist()
    np.testing.assert_allclose(written["score"], expected.issues_["score"], rtol=1e-12)
    assert audited["noise_rate"] == expected.noise_rate_
    assert audited["noise_matrix"] == expected.noise_matrix_.tolist()
    assert audited["n_issues"] == expected.n_issues_


def test_it_finds_wrong_labels(table: Any, audited: dict[str, Any]) -> None:
    written = read_table(audited["issues"]).sort_values("rank")
    most_suspect = written["row"].to_numpy()[:40]
    assert table["is_wrong"].to_numpy()[most_suspect].mean() > 0.7


def test_json(audited: dict[str, Any], folder: Path) -> None:
    assert audited["rows"] == 600
    assert audited["classes"] == ["no", "yes"]
    low, high = audited["noise_rate_interval"]
    assert 0 <= low <= audited["noise_rate"] <= high <= 1
    assert np.shape(audited["noise_matrix"]) == (2, 2)
    assert len(audited["columns"]) == 5
    assert audited["report"] == str(folder / "all.html")


def test_report(audited: dict[str, Any]) -> None:
    page = Path(audited["report"]).read_text("utf-8")
    assert "Labels of fruit.csv" in page
    assert "yellow" in page  # a text, and not its code


def test_what_people_see(data: Path) -> None:
    out = run_well("audit", data, *AUDIT)
    for words in ("labels that look wrong", "likely between", "if you review", "text, 4 values"):
        assert words in out
    assert os.listdir(data.parent) == [data.name]


def test_only_issues_and_keep(table: Any, data: Path, issues: Path) -> None:
    found = facts("audit", data, *AUDIT, "--issues", issues, "--only-issues", "--keep")
    written = read_table(issues)
    assert found["n_issues"] == len(written) > 0
    assert written["is_issue"].all()
    assert written["rank"].is_monotonic_increasing
    assert list(written.columns)[6:] == [name for name in table.columns if name != "is_wrong"]
    assert written["given"].tolist() == written["ripe"].tolist()
    assert written["ripe"].tolist() == table["ripe"].iloc[written["row"]].tolist()


def test_fail_above(data: Path) -> None:
    code, out, err = run("audit", data, *AUDIT, "--fail-above", 0.01, "--json")
    assert code == 3
    assert out.startswith("{")
    assert err == "Note: More than 1.0% of the labels look wrong.\n"


def test_names_that_are_in_use(table: Any, data: Path, issues: Path) -> None:
    write_table(table.assign(score=1.5 * np.arange(600)), data)
    issues.write_text("what was there\n")
    code, out, err = run("audit", data, *AUDIT, "--issues", issues, "--keep")
    assert (code, out) == (2, "")
    assert "columns with the names of the output: 'score'" in err
    assert issues.read_text() == "what was there\n"


def test_a_class_of_one_row(table: Any, data: Path, issues: Path) -> None:
    write_table(table.assign(ripe=["once", *table["ripe"][1:]]), data)
    found = facts("audit", data, *AUDIT, "--issues", issues, "--drop", "is_wrong")
    assert found["classes"] == ["no", "once", "yes"]
    assert len(pd.read_csv(issues)) == 600


def test_whole_numbers_as_labels(data: Path, issues: Path, rng: np.random.Generator) -> None:
    x = rng.normal(size=300)
    write_table(pd.DataFrame({"x": x, "ripe": np.where(x > 0, 7, -1)}), data)
    remarks = ["Column 'x' nearly determines the label: alone it predicts 99.6% of rows."]
    run_well("audit", data, *AUDIT, "--issues", issues, remarks=remarks)
    assert set(read_table(issues)["suggested"]) == {7, -1}
    assert set(os.listdir(issues.parent)) == {data.name, issues.name}


# --- tables that cannot tell ---------------------------------------------------------------------


@pytest.fixture(params=["two rows", "pure noise"])
def hopeless(request: pytest.FixtureRequest, tmp_path: Path, rng: np.random.Generator) -> Path:
    n_rows = 2 if request.param == "two rows" else 200
    labels = np.array(["no", "yes"])[rng.permutation(n_rows) % 2]
    path = tmp_path / "hopeless.csv"
    write_table(pd.DataFrame({"x": rng.normal(size=n_rows).round(3), "ripe": labels}), path)
    return path


def test_a_hopeless_table_cannot_tell(hopeless: Path, issues: Path) -> None:
    code, out, _ = run("audit", hopeless, *AUDIT, "--issues", issues, "--fail-above", 0)
    assert code == 0
    assert "labels that look wrong" in out
    assert "cannot tell" in out
    assert "%" not in out
    assert not read_table(issues)["is_issue"].any()


def test_a_hopeless_table_has_no_plan(hopeless: Path) -> None:
    out = " ".join(run_well("audit", hopeless, *AUDIT, "--target", "1%").split())
    assert "until at most 1.0% are wrong this table cannot tell how many rows to review" in out


def test_a_hopeless_table_cannot_tell_in_json(hopeless: Path) -> None:
    code, out, _ = run("audit", hopeless, *AUDIT, "--json", "--fail-above", 0)
    found = json.loads(out)
    assert code == 0
    assert found["can_tell"] is False
    assert found["n_issues"] == 0
    assert found["trade_off"] == []


def test_the_same_number_everywhere(audited: dict[str, Any], data: Path) -> None:
    assert audited["can_tell"] is True
    assert audited["n_issues"] == round(600 * audited["noise_rate"])
    assert audited["n_issues"] in [line["rows"] for line in audited["trade_off"]]
    out = run_well("audit", data, *AUDIT)
    assert f"{audited['n_issues']}, {100 * audited['noise_rate']:.1f}%" in out
    page = Path(audited["report"]).read_text("utf-8")
    assert f"{audited['n_issues']} labels look wrong" in page

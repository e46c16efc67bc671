"""Decisions on the command line: ``apply``, ``train --decisions`` and ``audit --decisions``."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import CliRunner, app, facts, run, run_well
from hypothesis import given, settings
from hypothesis import strategies as st
from own_tables import fruit, pd

import hardwood
from hardwood.tables import read_table, write_table
from hardwood.tables.relabel import relabel_file
from hardwood.tables.source import Source

HOSTILE = (
    '\ufeffid;"the ""name""";klass ;note\r\n'
    '01;"a; b";yes;"two\r\nlines"\r\n'
    '2,50; x ;"no";\'=1+1\r\n'
    "\r\n"
    '003;5" pipe;yes;"say ""hi"""\r\n'
    '4;é;"no";\n'
    "5;;yes;NA"
)


def decisions_file(path: Path, **columns: Any) -> Path:
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_bytes(HOSTILE.encode())
    return path


def test_every_other_cell_stays_as_it_is_written(data: Path, tmp_path: Path) -> None:
    decisions = decisions_file(
        tmp_path / "d.csv",
        row=[0, 2, 4, 3],
        given=["yes", "yes", "yes", "no"],
        label=["no", "yes", "no", None],
    )
    found = facts(
        *("apply", data, "--label", "klass ", "--decisions", decisions),
        *("-o", tmp_path / "fixed.csv"),
    )
    fixed = (tmp_path / "fixed.csv").read_bytes().decode()
    expected = HOSTILE.replace('"a; b";yes', '"a; b";"no"').replace("5;;yes;NA", '5;;"no";NA')
    assert fixed == expected
    assert data.read_bytes() == HOSTILE.encode()
    assert (found["decided"], found["changed"], found["undecided"]) == (3, 2, 1)


def test_conflicting_decisions_are_noted(data: Path, tmp_path: Path) -> None:
    columns = {"row": [0, 1, 0, 2, 2, 1], "label": ["no", "no", "yes", "no", "no", None]}
    options = ("--label", "klass ", "--decisions", decisions_file(tmp_path / "d.csv", **columns))
    code, _, err = run("apply", data, *options, "-o", tmp_path / "fixed.csv")
    assert code == 0
    assert "conflicting decisions on 2 rows; the first is row 0. The last line" in err
    assert read_table(tmp_path / "fixed.csv", text=["klass "])["klass "][:3].tolist() == [
        *("yes", "no", "no")
    ]


@pytest.mark.parametrize("command", ["apply", "train"])
def test_labels_are_in_one_column(command: str, data: Path, tmp_path: Path) -> None:
    """The last of several options would count, and the other labels become features."""
    decisions = decisions_file(tmp_path / "d.csv", row=[0], label=["no"])
    code, _, err = run(
        *(command, data, "--label", "klass ", "--label", "note"),
        *("--decisions", decisions, "-o", tmp_path / "out"),
    )
    assert code == 2
    assert "--label: name one column, not 'klass ', 'note'" in err
    assert "use hardwood audit" in err
    assert not (tmp_path / "out").exists()


def test_a_column_tells_what_changed(data: Path, tmp_path: Path) -> None:
    decisions = decisions_file(tmp_path / "d.csv", row=[1, 2], label=["yes", "yes"])
    run_well(
        *("apply", data, "--label", "klass ", "--decisions", decisions),
        *("-o", tmp_path / "fixed.csv", "--changes", "klass; before"),
    )
    table = read_table(tmp_path / "fixed.csv")
    assert table["klass; before"].tolist()[1] == "no"
    assert table["klass; before"].isna().tolist() == [True, False, True, True, True]
    code, _, err = run(
        *("apply", data, "--label", "klass ", "--decisions", decisions),
        *("-o", tmp_path / "other.csv", "--changes", "note"),
    )
    assert code == 2
    assert "already has a column 'note'" in err


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "parquet"])
def test_every_format(ending: str, tmp_path: Path, rng: np.random.Generator) -> None:
    table = fruit(40, rng)
    data, output = tmp_path / f"data.{ending}", tmp_path / f"fixed.{ending}"
    write_table(table, data)
    labels = np.where(table["ripe"][:5] == "yes", "no", "yes")
    decisions = decisions_file(tmp_path / "d.csv", row=range(5), label=labels)
    run_well("apply", data, "--label", "ripe", "--decisions", decisions, "-o", output)
    fixed, before = read_table(output), read_table(data)
    assert fixed["ripe"].tolist() == [*labels, *table["ripe"][5:]]
    pd.testing.assert_frame_equal(fixed.drop(columns="ripe"), before.drop(columns="ripe"))
    # Another format than that of the input.
    other = tmp_path / ("fixed.csv" if ending != "csv.gz" else "fixed.parquet")
    run_well(
        *("apply", data, "--label", "ripe", "--decisions", decisions, "-o", other),
        *("--changes", "was"),
    )
    assert read_table(other)["ripe"].tolist() == fixed["ripe"].tolist()
    assert read_table(other)["was"].notna().sum() == 5


def test_a_compressed_table_is_the_same_inside(data: Path, tmp_path: Path) -> None:
    decisions = decisions_file(tmp_path / "d.csv", row=[0], label=["yes"])
    run_well(
        *("apply", data, "--label", "klass ", "--decisions", decisions),
        *("-o", tmp_path / "fixed.csv.gz"),
    )
    assert gzip.decompress((tmp_path / "fixed.csv.gz").read_bytes()) == data.read_bytes()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_the_table_from_the_standard_input(ending: str, tmp_path: Path) -> None:
    """It can be read once only."""
    data, fixed = tmp_path / f"data.{ending}", tmp_path / f"fixed.{ending}"
    write_table(pd.DataFrame({"n": ["01", "2"], "y": ["a", "b"]}), data)
    decisions = decisions_file(tmp_path / "d.csv", row=[0], label=["b"])
    options = ["--label", "y", "--decisions", str(decisions), "-o"]
    run_well("apply", data, *options, fixed)
    expected = fixed.read_bytes()
    fixed.unlink()
    done = CliRunner().invoke(app, ["apply", "-", *options, str(fixed)], input=data.read_bytes())
    assert done.exit_code == 0, done.stderr
    assert fixed.read_bytes() == expected


def test_the_standard_output(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    decisions = decisions_file(tmp_path / "d.csv", row=[0], label=["no"])
    options = ["--label", "klass ", "--decisions", str(decisions)]
    run_well("apply", data, *options, "-o", "fixed.csv")
    done = CliRunner().invoke(app, ["apply", str(data), *options, "-o", "-"])
    assert done.stdout_bytes == Path("fixed.csv").read_bytes()
    assert "labels changed" in done.stderr
    assert not Path("-").exists()
    code, _, err = run("apply", data, *options, "-o", "-", "--json")
    assert code == 2
    assert "--json already writes to the standard output" in err
    code, _, err = run("apply", "-", "--label", "y", "--decisions", "-", "-o", "fixed.csv")
    assert code == 2
    assert "Only one file can be -" in err


CELLS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.tuples(CELLS, st.sampled_from("ab"), CELLS), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    seed=st.integers(0, 99),
)
def test_only_labels_change_in_any_csv(
    cells: Any, delimiter: str, end: str, seed: int, tmp_path_factory: Any
) -> None:
    import csv
    import io

    folder = tmp_path_factory.mktemp("csv")
    lines = [("first", "label", "last"), *cells]
    text = io.StringIO()
    # Of itself, Python's writer does not quote a carriage return, which ends a record.
    needs_quotes = any("\r" in cell for line in cells for cell in line)
    quoting = csv.QUOTE_ALL if needs_quotes else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(lines)
    (folder / "data.csv").write_bytes(text.getvalue().encode())
    name = "fixed.tsv" if delimiter == "\t" else "fixed.csv"
    sources = np.random.default_rng(seed).integers(len(cells), size=len(cells))
    relabel_file(Source(folder / "data.csv"), folder / name, "label", sources)
    content = io.StringIO((folder / name).read_bytes().decode(), newline="")
    found = [tuple(line) for line in csv.reader(content, delimiter=delimiter)]
    expected = [(a, cells[source][1], c) for (a, _, c), source in zip(cells, sources, strict=True)]
    assert found == [lines[0], *expected]


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ("row,label\n5,yes\n", "there is no row 5. The table has 5 rows, from 0 to 4."),
        (
            "row,label\n0,maybe\n",
            "the label 'maybe' of row 0 is not one of the classes: 'no', 'yes'.",
        ),
        ("row,given,label\n0,no,no\n", "Are these the decisions of another table?"),
        ("row,given\n0,no\n", "has no column 'label'"),
        ("line,label\n0,no\n", "has no column 'row'"),
        ("row,label\nx,no\n", "'x' is not the number of a row"),
        ("", "is empty"),
        (None, "No such file"),
    ],
)
@pytest.mark.parametrize("command", ["apply", "train", "audit"])
def test_wrong_decisions_are_refused(
    command: str, decisions: str | None, message: str, data: Path, tmp_path: Path
) -> None:
    if decisions is not None:
        (tmp_path / "d.csv").write_text(decisions)
    output = tmp_path / "out"
    flag = "--issues" if command == "audit" else "-o"
    code, out, err = run(
        *(command, data, "--label", "klass ", "--decisions", tmp_path / "d.csv", flag, output)
    )
    assert code == 2, err
    assert out == ""
    assert err.startswith("Error: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert not output.exists()


def test_the_input_is_never_overwritten(data: Path, tmp_path: Path) -> None:
    decisions = decisions_file(tmp_path / "d.csv", row=[0], label=["no"])
    (tmp_path / "link.csv").symlink_to(data)
    for output in (data, tmp_path / "link.csv", decisions):
        code, _, err = run("apply", data, "-l", "klass ", "--decisions", decisions, "-o", output)
        assert code == 2
        assert "is the input" in err
    assert data.read_bytes() == HOSTILE.encode()


# --- the whole way -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("fruit")
    table = fruit(500, rng).drop(columns=["name"])
    write_table(table, folder / "true.csv")
    wrong = rng.random(500) < 0.15
    flipped = table["ripe"].map({"yes": "no", "no": "yes"})
    write_table(table.assign(ripe=table["ripe"].where(~wrong, flipped)), folder / "fruit.csv")
    return folder


QUICK = ("--label", "ripe", "--trees", "40", "--jobs", "1")


def test_audit_decide_apply_and_train(folder: Path) -> None:
    """The way of the README, with the decisions of someone who knows the truth."""
    remark = ("Column 'number' looks like an id",)
    first = facts(
        *("audit", folder / "fruit.csv", *QUICK, "--issues", folder / "issues.csv"),
        *("--target", "2%"),
        remarks=remark,
    )
    last = first["review_plan"][-1]
    assert first["target"] == 0.02
    assert last["left"] <= 0.02 * 500
    truth = read_table(folder / "true.csv")["ripe"]
    issues = read_table(folder / "issues.csv").sort_values("rank")
    rows = issues["row"][: last["rows"]].to_numpy()
    decisions = decisions_file(
        folder / "decisions.csv",
        row=rows,
        id="",
        given=issues["given"][: last["rows"]],
        decision="other",
        label=truth[rows],
        time="2026-01-01T00:00:00Z",
    )
    run_well(
        *("apply", folder / "fruit.csv", "-l", "ripe", "--decisions", decisions),
        *("-o", folder / "fixed.csv"),
    )
    fixed = read_table(folder / "fixed.csv")["ripe"]
    assert (fixed != truth).mean() < 0.05
    for data, more in (("fixed.csv", ()), ("fruit.csv", ("--decisions", decisions))):
        run_well(
            *("train", folder / data, *QUICK, "-o", folder / f"{data}.hw", *more), remarks=remark
        )
    table = read_table(folder / "true.csv").drop(columns="ripe")
    for name in ("fixed", "fruit"):  # the latter also knows what the labels were before
        assert (hardwood.load(folder / f"{name}.csv.hw").predict(table) == truth).mean() > 0.9
    again = facts(
        *("audit", folder / "fruit.csv", *QUICK, "--decisions", decisions), remarks=remark
    )
    assert again["decided"] == len(rows)
    assert again["decided_wrong"] == (issues["given"][: len(rows)] != truth[rows].to_numpy()).sum()
    assert (first["decided"], first["decided_wrong"]) == (0, 0)
    low, high = again["noise_rate_interval"]
    first_low, first_high = first["noise_rate_interval"]
    assert high - low < first_high - first_low


def test_audit_tells_decided_labels_from_others(folder: Path) -> None:
    fruit, rows = read_table(folder / "fruit.csv"), [3, 5, 7]
    label = [{"yes": "no", "no": "yes"}[fruit["ripe"][3]], *fruit["ripe"][rows[1:]]]
    decisions = decisions_file(folder / "three.csv", row=rows, label=label)
    options = (*QUICK, "--drop", "number", "--decisions", decisions, "--issues", folder / "i.csv")
    out = " ".join(run_well("audit", folder / "fruit.csv", *options).split())
    n_open = read_table(folder / "i.csv")["is_issue"].sum() - 1
    assert f"decided 3, of which 1 was wrong others that look wrong {n_open};" in out
    assert f"if you review {n_open} you find about" in out


@pytest.mark.parametrize("target", ["2%", "0.02", " 2 %"])
def test_targets(target: str, folder: Path) -> None:
    out = run_well(*("audit", folder / "fruit.csv", *QUICK, "--target", target, "--drop", "number"))
    assert "until at most 2.0% are wrong" in out
    assert "review" in out


@pytest.mark.parametrize("target", ["two", "101%", "-1", "2"])
def test_targets_that_are_no_shares(target: str, folder: Path) -> None:
    code, _, err = run("audit", folder / "fruit.csv", *QUICK, "--target", target)
    assert code == 2
    assert "is not a share. Give one such as 1% or 0.01." in err


def test_rows_are_named_by_an_id(folder: Path) -> None:
    pytest.importorskip("jinja2")
    report = folder / "ids.html"
    run_well(
        *("audit", folder / "fruit.csv", *QUICK, "--id", "number", "--report", report),
        "--no-compare",
    )
    assert '"ids":["' in report.read_text("utf-8")
    code, _, err = run("audit", folder / "fruit.csv", *QUICK, "--id", "nummer")
    assert code == 2
    assert "--id: there is no column 'nummer'. Did you mean 'number'?" in err


def test_several_people(folder: Path) -> None:
    rng = np.random.default_rng(0)
    table = read_table(folder / "true.csv")
    truth = table.pop("ripe")
    for name, error in (("ann", 0.1), ("bo", 0.3), ("cy", 0.2)):
        flipped = truth.map({"yes": "no", "no": "yes"})
        table[name] = truth.where(rng.random(500) >= error, flipped).where(rng.random(500) > 0.2)
    table.loc[table[["ann", "bo", "cy"]].isna().all(axis=1), "ann"] = "yes"
    write_table(table, folder / "several.csv")
    labels = ("--label", "ann", "--label", "bo", "--label", "cy")
    quick = ("--trees", "40", "--jobs", "1", "--drop", "number")
    found = facts(
        *(
            "audit",
            folder / "several.csv",
            *labels,
            *quick,
            "--issues",
            folder / "several-issues.csv",
        )
    )
    assert [each["annotator"] for each in found["annotators"]] == ["ann", "bo", "cy"]
    accuracy = [each["accuracy"] for each in found["annotators"]]
    assert accuracy[0] > accuracy[2] > accuracy[1]
    consensus = read_table(folder / "several-issues.csv")["given"]
    assert (consensus == truth).mean() > 0.9
    out = run_well("audit", folder / "several.csv", *labels, *quick)
    assert "disagree most" in out
    assert "labels of bo" in out
    code, _, err = run("audit", folder / "several.csv", *labels, "--label", "ann", *quick)
    assert code == 2
    assert "named twice" in err

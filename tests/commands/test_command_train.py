"""``hardwood train``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from numpy.testing import assert_array_equal
from own_tables import fruit, pd

import hardwood
from hardwood.commands import _common
from hardwood.tables import TableModel, write_table

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture
def table_with_ids(rng: np.random.Generator) -> Any:
    return fruit(200, rng)


@pytest.fixture
def table(table_with_ids: Any) -> Any:
    return table_with_ids.drop(columns=["number", "name"])


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    write_table(table, path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tmp_path / "model.hw"


def test_the_model_is_that_of_python(table_with_ids: Any, data: Path, model: Path) -> None:
    table = table_with_ids
    write_table(table, data)
    options = ("--label", "ripe", "-o", model, "--trees", 40, "--seed", 3)
    out = run_well("train", data, *options, remarks=["Column 'number'", "Column 'name'"])
    expected = TableModel(40, random_state=3).fit(table.drop(columns="ripe"), table["ripe"])
    loaded = hardwood.load(model)
    assert_array_equal(loaded.predict_proba(table), expected.predict_proba(table))
    assert loaded.label_ == "ripe"
    for words in (
        "out-of-bag accuracy",
        "estimated noise",
        "settings",
        "decision",
        "left out: whole numbers that identify the rows",
        "text, 4 values",
        "left out: all values are the same",
        "columns used         4 of 7",
        f"Model: {model}",
    ):
        assert words in out


def test_json(table: Any, data: Path, model: Path) -> None:
    found = facts("train", data, "--label", "ripe", "-o", model, "--trees", 40)
    loaded = hardwood.load(model)
    assert found["rows"] == 200
    assert found["classes"] == ["no", "yes"]
    assert found["model"] == str(model)
    assert found["oob_accuracy"] == loaded.oob_score_
    assert found["noise_rate"] == loaded.forest_.noise_rate_
    assert found["decision"] == loaded.forest_.decision_
    assert found["settings"][0]["family"] in ("plain", "stop", "shrink")
    assert [column["name"] for column in found["columns"]] == list(table.columns[:-1])
    assert {column["kind"] for column in found["columns"]} == {"number", "date", "text", "unused"}


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet"])
def test_every_kind_of_file(name: str, table: Any, data: Path, model: Path) -> None:
    other = data.with_name(name)
    write_table(table, other)
    options = ("--label", "ripe", "--trees", "40", "--jobs", "1", "-o")
    run_well("train", data, *options, model)
    run_well("train", other, *options, model.with_name("other.hw"))
    assert_array_equal(
        hardwood.load(model.with_name("other.hw")).predict_proba(table),
        hardwood.load(model).predict_proba(table),
    )


def test_columns_as_told(table_with_ids: Any, data: Path, model: Path) -> None:
    write_table(table_with_ids.assign(number=np.arange(200) // 2), data)
    told = ("--category", "number", "--drop", "size", "--drop", "picked", "--missing", "red")
    options = ("--label", "ripe", "-o", model, "--trees", 40, *told)
    found = facts("train", data, *options, remarks=["Column 'name' looks like an id"])
    notes = {column["name"]: column["note"] for column in found["columns"]}
    assert notes["number"] == "text, 100 values"
    assert notes["size"] == notes["picked"] == "left out as requested"
    assert notes["hue"].startswith("text, 3 values, ")
    loaded = hardwood.load(model)
    assert loaded.missing == ["red"]


def test_the_default_number_of_trees_is_that_of_the_forest(data: Path, model: Path) -> None:
    run_well("train", data, "-l", "ripe", "-o", model)
    assert hardwood.load(model).n_estimators is None


def test_a_plain_forest(data: Path, model: Path) -> None:
    found = facts("train", data, "-l", "ripe", "-o", model, "--trees", 40, "--plain")
    assert type(hardwood.load(model).forest_) is hardwood.RobustForestClassifier
    assert "noise_rate" not in found
    assert "estimated noise" not in run_well(
        "train", data, "-l", "ripe", "-o", model, "--trees", 40, "--plain"
    )


def test_leading_zeros_of_a_declared_category(tmp_path: Path, model: Path) -> None:
    data = tmp_path / "zips.csv"
    lines = [f"{zip_code},{y}" for zip_code, y in [("01067", "a"), ("99084", "b")] * 30]
    data.write_text("\n".join(["zip,y", *lines]))
    options = ("-l", "y", "-o", model, "--trees", 40, "--category", "zip")
    facts("train", data, *options, remarks=["Column 'zip' repeats the label"])
    assert hardwood.load(model).columns_[0].categories.tolist() == ["01067", "99084"]
    data.write_text("zip\n01067\n")  # numbers alone, were it not told otherwise
    run_well("predict", model, data, "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "prediction\na\n"


def test_a_class_of_one_row(table: Any, tmp_path: Path, model: Path) -> None:
    table.loc[7, "ripe"] = "once"
    write_table(table, tmp_path / "once.csv")
    found = facts("train", tmp_path / "once.csv", "-l", "ripe", "-o", model, "--trees", 40)
    assert found["classes"] == ["no", "once", "yes"]


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (np.arange(10_000), "left out: text with 10,000 different values in 10,000 rows"),
        (
            np.arange(10_000) // 4,
            "text, 2,500 values (the 255 most frequent, all others together)",
        ),
    ],
)
def test_many_different_texts(values: Any, note: str, tmp_path: Path, model: Path) -> None:
    n = len(values)
    table = pd.DataFrame({"a": [f"v{v}" for v in values], "n": np.arange(n) % 7})
    write_table(table.assign(y=table["n"] > 3), tmp_path / "many.parquet")
    options = ("-l", "y", "-o", model, "--trees", 80)  # so that no row is in every bag
    remarks = ["Column 'a' looks like an id"] if note.startswith("left out") else []
    remarks += ["Column 'n' determines the label"]
    found = facts("train", tmp_path / "many.parquet", *options, remarks=remarks)
    assert found["columns"][0]["note"] == note
    assert found["classes"] == [False, True]


def test_too_few_trees_to_score_are_remarked(data: Path, model: Path) -> None:
    code, out, err = run("train", data, "-l", "ripe", "-o", model, "--trees", 2, "--json")
    assert code == 0
    assert err.startswith("Note: Some inputs do not have OOB scores.")
    assert out.startswith("{")


def test_a_wide_table(tmp_path: Path, model: Path, rng: np.random.Generator) -> None:
    table = pd.DataFrame(rng.normal(size=(30, 60))).rename(columns=lambda i: f"f{i}")
    write_table(table.assign(y=np.arange(30) % 2), tmp_path / "wide.csv")
    out = run_well("train", tmp_path / "wide.csv", "-l", "y", "-o", model, "--trees", 40)
    assert "… and 20 more" in out


def test_the_old_model_stays_if_the_new_one_cannot_be_saved(
    data: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_well("train", data, "-l", "ripe", "-o", model, "--trees", 40)
    before = model.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, out, err = run("train", data, "-l", "ripe", "-o", model, "--trees", 42)
    assert (code, out, err) == (2, "", "Error: No space left on device\n")
    assert model.read_bytes() == before
    assert set(os.listdir(model.parent)) == {data.name, model.name}


def test_progress_on_a_terminal(data: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    terminal = Console(stderr=True, force_terminal=True, width=100)
    monkeypatch.setattr(_common, "messages", terminal)
    code, out, err = run("train", data, "-l", "ripe", "-o", model, "--trees", 40, "--json")
    assert code == 0
    assert "Training" in err
    assert out.startswith("{")


def test_a_process(data: Path, model: Path) -> None:
    program = [sys.executable, "-c", "from hardwood.cli import main; main()"]
    well = subprocess.run(
        [*program, "train", data, "--label", "ripe", "-o", model, "--trees", "40", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert well.stdout.startswith("{")
    assert well.stderr == ""
    badly = subprocess.run(
        [*program, "train", data, "--label", "rype", "-o", model],
        capture_output=True,
        text=True,
        check=False,
    )
    assert badly.returncode == 2
    assert badly.stdout == ""
    assert badly.stderr == "Error: --label: there is no column 'rype'. Did you mean 'ripe'?\n"

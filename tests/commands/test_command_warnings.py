"""What ``train`` and ``audit`` say about ids, leaks and repeated columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from own_tables import fruit, pd

import hardwood
from hardwood.tables import write_table

BOTH = pytest.mark.parametrize("command", ["train", "audit"])
OPTIONS = ("--label", "ripe", "--trees", "40", "--jobs", "1")
IDS = ["Column 'number' looks like an id and is left out: whole", "Column 'name' looks like an id"]


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    return fruit(200, rng)


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    write_table(table, path)
    return path


def options(command: str, data: Path) -> tuple[Any, ...]:
    output = ("-o", data.with_name("model.hw")) if command == "train" else ()
    return (command, data, *OPTIONS, *output)


@BOTH
def test_each_kind_is_one_note(command: str, table: Any, data: Path) -> None:
    write_table(table.assign(eaten=table["ripe"].eq("yes"), inches=2.5 * table["size"]), data)
    code, out, err = run(*options(command, data))
    assert code == 0
    assert err.splitlines() == [
        "Note: Column 'number' looks like an id and is left out: whole numbers that identify the "
        "rows. If it is not, keep it (--use).",
        "Note: Column 'name' looks like an id or free text and is left out: text with 200 different values in "
        "200 rows. If it is not, keep it (--use).",
        "Note: Column 'eaten' repeats the label. It may be a leak. Check that it is known before "
        "the label is, or else leave it out (--drop).",
        "Note: Column 'inches' repeats column 'size': each value of one belongs to one value of the "
        "other.",
    ]
    assert "left out: whole numbers that identify the rows" in out
    assert "left out" not in out.partition("eaten")[2].splitlines()[0]  # said, but used


@BOTH
def test_json(command: str, data: Path) -> None:
    found = facts(*options(command, data), remarks=IDS)
    assert [(each["column"], each["kind"]) for each in found["warnings"]] == [
        ("number", "id"),
        ("name", "id"),
    ]
    assert found["warnings"][0]["text"].startswith(IDS[0])
    assert {each["name"] for each in found["columns"] if each["kind"] == "id"} == {"number", "name"}


@BOTH
def test_ids_can_be_used(command: str, table: Any, data: Path) -> None:
    twice = table["name"].where(table.index > 20, "fruit 50")
    write_table(table.assign(name=twice), data)
    used = ("--use", "number", "--use", "name")
    found = facts(*options(command, data), *used)
    notes = {each["name"]: each["note"] for each in found["columns"]}
    assert found["warnings"] == []
    assert notes["number"] == "numbers"
    assert notes["name"] == "text, 179 values (the 1 most frequent, all others together)"


def test_ids_are_no_features(table: Any, data: Path) -> None:
    run_well(*options("train", data), remarks=IDS)
    one = hardwood.load(data.with_name("model.hw"))
    assert one.forest_.feature_names_in_.tolist() == ["hue", "size", "bitten", "picked"]
    write_table(table.drop(columns=["number", "name"]), data)
    run_well(*options("train", data))
    other = hardwood.load(data.with_name("model.hw"))
    np.testing.assert_array_equal(one.predict_proba(table), other.predict_proba(table))


@pytest.mark.parametrize("use", [(), ("--use", "number")])
def test_predict_needs_ids_only_if_they_are_used(use: Any, table: Any, data: Path) -> None:
    model, output = data.with_name("model.hw"), data.with_name("out.csv")
    run_well(*options("train", data), *use, remarks=IDS[1:] if use else IDS)
    run_well("predict", model, data, "-o", output)
    with_ids = output.read_text()
    assert with_ids.splitlines()[1:] == hardwood.load(model).predict(table).tolist()
    # Texts or nothing instead of numbers, as ids are not read.
    without = table.drop(columns=["number", "name"])
    for other in (without, without.assign(number="none")):
        write_table(other, data)
        code, _, err = run("predict", model, data, "-o", output)
        if use:
            assert (code, "'number'" in err) == (2, True)
        else:
            assert (code, err, output.read_text()) == (0, "", with_ids)


def test_many_repeats_are_cut_short(table: Any, data: Path) -> None:
    copies = pd.DataFrame({f"copy {i}": table["hue"] for i in range(13)})
    write_table(table.drop(columns=["number", "name"]).join(copies), data)
    remarks = [f"Column 'copy {i}' repeats column 'hue'" for i in range(10)]
    remarks += ["… and 3 more repeats; --json prints all."]
    assert len(facts(*options("train", data), remarks=remarks)["warnings"]) == 13


def test_the_report_shows_them(table: Any, data: Path) -> None:
    pytest.importorskip("jinja2")
    page = data.with_name("audit.html")
    report = ("--report", page, "--no-compare")
    run_well(*options("audit", data), *report, remarks=IDS)
    text = page.read_text("utf-8")
    assert "looks like an id and is left out: whole numbers that identify the rows." in text
    write_table(table.drop(columns=["number", "name"]).rename(columns={"hue": "<b>"}), data)
    run_well(*options("audit", data), *report)
    assert "looks like" not in page.read_text("utf-8")
    write_table(table.assign(**{"<b>": table["ripe"]}), data)
    run_well(*options("audit", data), *report, remarks=[*IDS, "Column '<b>' repeats the label"])
    assert "&lt;b&gt;&#39; repeats the label" in page.read_text("utf-8")

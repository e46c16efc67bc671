"""``--group``, and what ``train`` and ``audit`` say of rows that are copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from numpy.testing import assert_array_equal
from own_tables import fruit

import hardwood
from hardwood.tables import TableModel, write_table

COMMANDS = ["train", "audit"]

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    """Fruit from forty trees, five of each."""
    some = fruit(200, rng).drop(columns=["number", "name"])  # which are ids
    return some.assign(tree=[f"tree {number % 40}" for number in range(200)])


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "fruit.csv"
    write_table(table, path)
    return path


def arguments(command: str, data: Path, *more: Any) -> list[Any]:
    output = ["-o", data.with_suffix(".hw")] if command == "train" else []
    return [command, data, "--label", "ripe", "--trees", 60, *output, *more]


def test_training_draws_whole_groups(table: Any, data: Path) -> None:
    out = run_well(*arguments("train", data, "--group", "tree"))
    assert "groups               40" in out
    model = hardwood.load(data.with_suffix(".hw"))
    expected = TableModel(60, drop=["tree"], random_state=0).fit(
        table.drop(columns="ripe"), table["ripe"], groups=table["tree"]
    )
    assert_array_equal(model.predict_proba(table), expected.predict_proba(table))
    assert "tree" not in model.encoder_.get_feature_names_out()
    model.check_columns(table)  # it may stay in the tables to predict


@pytest.mark.parametrize("command", COMMANDS)
def test_json_tells_the_number_of_groups_and_copies(command: str, data: Path) -> None:
    found = facts(*arguments(command, data, "--group", "tree"))
    assert (found["groups"], found["copies"]) == (40, 0)
    found = facts(*arguments(command, data, "--drop", "tree"))
    assert (found["groups"], found["copies"]) == (None, 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_copies_are_mentioned(command: str, table: Any, data: Path) -> None:
    assert "copies of other rows" not in run_well(*arguments(command, data))
    write_table(type(table)(table.loc[table.index.repeat(3)]), data)
    out = run_well(*arguments(command, data))
    assert "copies of other rows" in out
    assert "400, kept together" in out


def test_the_report_mentions_copies(table: Any, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    page = tmp_path / "report.html"
    run_well(*arguments("audit", data, "--report", page, "--no-compare"))
    assert "copies of other rows" not in page.read_text("utf-8")
    write_table(type(table)(table.loc[table.index.repeat(3)]), data)
    run_well(*arguments("audit", data, "--report", page, "--no-compare"))
    assert "<dt>copies of other rows</dt><dd>400</dd>" in page.read_text("utf-8")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("trees", "group: there is no column 'trees'. Did you mean 'tree'?"),
        ("ripe", "group: there is no column 'ripe'."),
        ("holes", "Group column 'holes' is missing in 3 of 200 rows, first in the 6th row."),
    ],
)
def test_wrong_groups(command: str, column: str, message: str, table: Any, data: Path) -> None:
    holes = np.where(np.isin(np.arange(200), [5, 6, 9]), "", "a")
    write_table(table.assign(holes=holes), data)
    code, _, err = run(*arguments(command, data, "--group", column))
    assert code == 2
    assert message in err

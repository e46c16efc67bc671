"""``hardwood predict``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from own_tables import fruit, pd

import hardwood
from hardwood import RobustTreeClassifier
from hardwood.tables import TableModel, read_table, write_table

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.hw"
    table = fruit(200, np.random.default_rng(0))
    fitted = TableModel(40, random_state=0).fit(table.drop(columns="ripe"), table["ripe"])
    hardwood.save(fitted, path)
    return path


@pytest.fixture
def table() -> Any:
    return fruit(50, np.random.default_rng(1)).drop(columns="ripe")


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    write_table(table, path)
    return path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"


def test_predictions_are_in_the_order_of_the_rows(
    model: Path, table: Any, data: Path, output: Path
) -> None:
    out = run_well("predict", model, data, "-o", output)
    written = pd.read_csv(output)
    assert list(written.columns) == ["prediction"]
    assert written["prediction"].tolist() == hardwood.load(model).predict(table).tolist()
    assert f"Predictions: {output}" in out


def test_probabilities(model: Path, table: Any, data: Path, output: Path) -> None:
    run_well("predict", model, data, "-o", output, "--proba")
    written = read_table(output)
    assert list(written.columns) == ["prediction", "proba_no", "proba_yes"]
    proba = written[["proba_no", "proba_yes"]].to_numpy()
    np.testing.assert_allclose(proba, hardwood.load(model).predict_proba(table), rtol=1e-15)


def test_keep(model: Path, table: Any, data: Path, output: Path) -> None:
    run_well("predict", model, data, "-o", output, "--keep")
    written = read_table(output)
    assert list(written.columns) == [*table.columns, "prediction"]
    assert written["name"].tolist() == table["name"].tolist()


@pytest.mark.parametrize("name", ["out.tsv", "out.csv.gz", "out.parquet"])
def test_every_kind_of_file(name: str, model: Path, table: Any, data: Path, tmp_path: Path) -> None:
    run_well("predict", model, data, "-o", tmp_path / name)
    written = read_table(tmp_path / name)
    assert written["prediction"].tolist() == hardwood.load(model).predict(table).tolist()


def test_json(model: Path, data: Path, output: Path) -> None:
    found = facts("predict", model, data, "-o", output)
    assert found["rows"] == 50
    assert sum(found["predicted"].values()) == 50
    assert found["unseen"] == {}


def test_texts_that_training_had_not(model: Path, table: Any, data: Path, output: Path) -> None:
    table["hue"] = ["purple", "pink"] * 25
    write_table(table, data)
    code, out, err = run("predict", model, data, "-o", output, "--json")
    assert code == 0
    assert err == (
        "Note: Column 'hue' has values that were not in the training table; they count as missing: "
        "'purple', 'pink'.\n"
    )
    assert '"purple"' in out
    table["hue"] = None
    expected = hardwood.load(model).predict(table)
    assert pd.read_csv(output)["prediction"].tolist() == expected.tolist()


def test_labels_and_columns_left_out_may_be_there_or_not(
    model: Path, table: Any, data: Path, output: Path
) -> None:
    expected = hardwood.load(model).predict(table).tolist()
    for other in (
        table.assign(ripe="yes"),
        table.drop(columns=["planet", "name"]),
        table[table.columns[::-1]],
    ):
        write_table(other, data)
        run_well("predict", model, data, "-o", output)
        assert pd.read_csv(output)["prediction"].tolist() == expected
    write_table(table.assign(more=1), data)
    run_well("predict", model, data, "-o", output, "--drop", "more")
    assert pd.read_csv(output)["prediction"].tolist() == expected


def test_whole_numbers_and_truth_values_as_classes(tmp_path: Path, output: Path) -> None:
    for labels in ([3, 1], [True, False]):
        table = pd.DataFrame({"x": [0, 1] * 40, "y": labels * 40})
        write_table(table, tmp_path / "data.csv")
        saved = tmp_path / "model.hw"
        options = ("-l", "y", "-o", saved, "--trees", 40)
        remarks = ["Column 'x' repeats the label"]
        run_well("train", tmp_path / "data.csv", *options, remarks=remarks)
        run_well("predict", saved, tmp_path / "data.csv", "-o", output)
        assert pd.read_csv(output)["prediction"].tolist() == labels * 40


# --- what is refused -----------------------------------------------------------------------------


def refused(match: str, output: Path, *arguments: Any) -> None:
    output.write_text("what was there\n")
    before = set(os.listdir(output.parent))
    code, out, err = run("predict", *arguments, "-o", output)
    assert code == 2, err
    assert out == ""
    assert err.startswith("Error: ")
    assert match in err
    assert "Traceback" not in err
    assert output.read_text() == "what was there\n"
    assert set(os.listdir(output.parent)) == before


def test_columns_that_training_had_not(model: Path, table: Any, data: Path, output: Path) -> None:
    write_table(table.assign(more=1, most=2), data)
    refused("columns that the training table did not have: 'more', 'most'", output, model, data)


def test_columns_that_are_missing(model: Path, table: Any, data: Path, output: Path) -> None:
    write_table(table.rename(columns={"size": "Size"}), data)
    refused("'Size'", output, model, data)
    write_table(table.drop(columns=["hue", "size"]), data)
    refused("The table lacks columns of the training table: 'hue', 'size'.", output, model, data)


def test_text_among_numbers(model: Path, table: Any, data: Path, output: Path) -> None:
    table["size"] = table["size"].astype(object)
    table.loc[3, "size"] = "large"
    write_table(table, data)
    refused(
        "'size' contains numbers, but also 'large' (in 1 of 50 rows, first in the 4th row)",
        output,
        model,
        data,
    )


def test_wrong_models(data: Path, output: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.hw"
    for content in (b"", b"hardwood", os.urandom(1000)):
        wrong.write_bytes(content)
        refused("is not a hardwood model", output, wrong, data)
    hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), wrong)
    refused("contains a RobustTreeClassifier, which does not take tables", output, wrong, data)
    refused("No such file", output, tmp_path / "none.hw", data)
    refused("irectory", output, tmp_path, data)


def test_a_damaged_model(model: Path, data: Path, output: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.hw"
    damaged.write_bytes(model.read_bytes()[:-100])
    refused("is not a hardwood model", output, damaged, data)


def test_names_that_are_in_use(model: Path, table: Any, data: Path, output: Path) -> None:
    write_table(table.assign(prediction="no"), data)
    refused(
        "the names of the output: 'prediction'",
        output,
        model,
        data,
        "--keep",
        "--drop",
        "prediction",
    )


def test_the_input_is_not_written_over(model: Path, data: Path) -> None:
    before = data.read_bytes()
    code, _, err = run("predict", model, data, "-o", data)
    assert code == 2
    assert "is the input" in err
    assert data.read_bytes() == before

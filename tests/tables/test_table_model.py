"""A forest for a table as it is, in Python and in files."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hw_files import Parts, put_together, saved, table_model, take_apart
from numpy.testing import assert_array_equal
from own_tables import fruit, pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hardwood
from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.tables import TableError, TableModel

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    return fruit(300, rng)


@pytest.fixture
def model(table: Any) -> TableModel:
    return TableModel(40, drop=["number"], random_state=0).fit(
        table.drop(columns="ripe"), table["ripe"]
    )


# --- fit and predict -----------------------------------------------------------------------------


def test_it_is_a_forest_behind_an_encoder(model: TableModel, table: Any) -> None:
    numbers = model.encoder_.transform(table)
    forest = AdaptiveForestClassifier(40, oob_score=True, random_state=0).fit(
        numbers, table["ripe"].to_numpy(dtype=object)
    )
    assert_array_equal(model.predict_proba(table), forest.predict_proba(numbers))
    assert_array_equal(model.predict(table), forest.predict(numbers))
    assert model.oob_score_ == forest.oob_score_
    assert model.label_ == "ripe"
    assert model.classes_.tolist() == ["no", "yes"]
    assert [column.name for column in model.columns_] == list(table.columns[:-1])


def test_it_learns(model: TableModel) -> None:
    other = fruit(500, np.random.default_rng(9)).dropna()
    assert model.score(other, other["ripe"]) > 0.9


def test_a_plain_forest(table: Any) -> None:
    model = TableModel(40, adaptive=False, random_state=0).fit(
        table.drop(columns="ripe"), table["ripe"]
    )
    assert type(model.forest_) is RobustForestClassifier
    assert model.forest_.n_estimators == 40
    assert model.forest_.criterion == "gini"


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_default_is_the_default_of_the_forest(adaptive: bool, table: Any) -> None:
    model = TableModel(adaptive=adaptive, random_state=0).fit(table, table["ripe"])
    assert model.forest_.n_estimators == type(model.forest_)().n_estimators


@pytest.mark.parametrize("labels", [np.arange(300) % 3, np.arange(300) % 2 == 0])
def test_labels_without_a_name(labels: Any, table: Any) -> None:
    model = TableModel(40, random_state=0).fit(table, labels)
    assert model.label_ is None
    assert model.predict(table).dtype == labels.dtype


def test_a_class_of_one_row(table: Any) -> None:
    labels = table["ripe"].to_numpy(dtype=object)
    labels[0] = "once"
    model = TableModel(40, random_state=0).fit(table.drop(columns="ripe"), labels)
    assert "once" in model.classes_


def test_frames_of_polars(model: TableModel, table: Any) -> None:
    polars = pytest.importorskip("polars")
    theirs = polars.from_pandas(table)
    other = clone(model).fit(theirs.drop("ripe"), theirs["ripe"])
    assert other.label_ == "ripe"
    assert_array_equal(other.predict_proba(theirs), model.predict_proba(table))


def test_new_columns(model: TableModel, table: Any) -> None:
    model.check_columns(table)
    model.check_columns(table.drop(columns=["planet", "ripe"]).assign(more=1), drop=["more"])
    with pytest.raises(TableError, match="columns that the training table did not have: 'more'"):
        model.check_columns(table.assign(more=1))


def test_unfitted() -> None:
    with pytest.raises(NotFittedError):
        TableModel().predict(pd.DataFrame({"x": [1]}))


def test_wrong_labels(table: Any) -> None:
    with pytest.raises(TableError, match="'size' is missing in"):
        TableModel().fit(table, table["size"])


# --- files ---------------------------------------------------------------------------------------


def stored(model: Any, path: Path) -> Any:
    hardwood.save(model, path)
    return hardwood.load(path)


def test_what_comes_back(model: TableModel, table: Any, tmp_path: Path) -> None:
    model.set_params(missing=("?", "-"), category=np.array(["hue"]), drop=["number"])
    other = stored(model, tmp_path / "model.hw")
    for again in (other, stored(other, tmp_path / "again.hw"), pickle.loads(pickle.dumps(other))):
        assert_array_equal(again.predict_proba(table), model.predict_proba(table))
        assert_array_equal(again.predict(table), model.predict(table))
        assert again.label_ == "ripe"
        assert again.oob_score_ == model.oob_score_
        assert again.forest_.noise_rate_ == model.forest_.noise_rate_
        assert [vars(a).keys() for a in again.columns_] == [vars(a).keys() for a in model.columns_]
        for ours, theirs in zip(again.columns_, model.columns_, strict=True):
            for name, value in vars(theirs).items():
                assert_array_equal(getattr(ours, name), value)
        assert again.missing == ("?", "-")
        assert again.category.tolist() == ["hue"]
        assert again.drop == ["number"]
    pd.testing.assert_frame_equal(other.encoder_.transform(table), model.encoder_.transform(table))
    assert not hasattr(other.forest_, "oob_votes_")
    assert hasattr(model.forest_, "oob_votes_")


def test_a_wide_table(tmp_path: Path, rng: np.random.Generator) -> None:
    """More columns than a file may have objects."""
    table = pd.DataFrame(rng.integers(0, 3, (40, 2000))).rename(columns=str)
    texts = table.replace({0: "a", 1: "b", 2: "ü"})
    model = TableModel(40, random_state=0).fit(texts, np.arange(40) % 2)
    other = stored(model, tmp_path / "model.hw")
    assert_array_equal(other.predict_proba(texts), model.predict_proba(texts))


def test_a_forest_of_its_own_can_be_taken_out(
    model: TableModel, table: Any, tmp_path: Path
) -> None:
    forest = stored(model.forest_, tmp_path / "forest.hw")
    numbers = model.encoder_.transform(table)
    assert_array_equal(forest.predict_proba(numbers), model.predict_proba(table))


def test_a_fresh_process_knows_the_class(model: TableModel, tmp_path: Path) -> None:
    hardwood.save(model, tmp_path / "model.hw")
    program = "import hardwood, sys; print(type(hardwood.load(sys.argv[1])).__name__)"
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model.hw"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "TableModel\n"


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_without_the_libraries_for_tables(library: str, tmp_path: Path) -> None:
    """Models of tables are known without them, and reading a table says what to install."""
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from hardwood.tables import read_table\n"
        "try: read_table(sys.argv[1])\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "table.csv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"Tables require {library}" in run.stdout
    assert "hardwood[report]" in run.stdout


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file() -> bytes:
    return saved(table_model(np.random.default_rng(0))[0])


def of_encoder(parts: Parts) -> dict[str, Any]:
    fields: dict[str, Any] = parts.header["state"]["encoder"]["object"][1]
    return fields


def field(name: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        parts.header["state"][name] = value

    return change


def encoder_field(name: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        of_encoder(parts)[name] = value

    return change


def parameter(owner: str, name: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        fields = parts.header["state"] if owner == "model" else of_encoder(parts)
        pairs = dict(fields["parameters"]["dict"])
        pairs[name] = value
        fields["parameters"]["dict"] = [list(pair) for pair in pairs.items()]

    return change


def fill(name: str, dtype: str, value: Any) -> Any:
    def change(parts: Parts) -> None:
        np.frombuffer(parts.arrays[of_encoder(parts)[name]["array"]], dtype=dtype)[:] = value

    return change


def same_texts(name: str) -> Any:
    """All bytes of the texts alike: where they are of one length, so are the texts."""

    def change(parts: Parts) -> None:
        text, ends = of_encoder(parts)[name]["strings"]
        n_texts = len(parts.arrays[ends]) // 8
        parts.arrays[text][:] = b"a" * len(parts.arrays[text])
        ends_of = np.frombuffer(parts.arrays[ends], dtype="<i8")
        ends_of[:-1] = np.arange(1, n_texts)

    return change


@pytest.mark.parametrize(
    ("match", "change"),
    [
        ("parameters of TableModel", field("parameters", {"dict": []})),
        ("parameters of TableModel", parameter("model", "extra", 1)),
        ("drop of TableModel", parameter("model", "drop", "number")),
        ("encoder of TableModel", field("encoder", None)),
        ("encoder of TableModel", field("encoder", {"object": ["criteria.Gini", {}]})),
        ("forest of TableModel", field("forest", {"object": ["criteria.Gini", {}]})),
        ("label of TableModel", field("label", 7)),
        ("oob_score of TableModel", field("oob_score", "good")),
        ("parameters of TableEncoder", parameter("encoder", "extra", 1)),
        ("missing of TableEncoder", parameter("encoder", "missing", [1])),
        ("category of TableEncoder", parameter("encoder", "category", {"tuple": [1]})),
        ("max_categories of TableEncoder", parameter("encoder", "max_categories", "many")),
        ("name of TableEncoder", encoder_field("name", ["a"])),
        ("name of TableEncoder", same_texts("name")),
        ("kind of TableEncoder", fill("kind", "u1", 9)),
        ("kind of TableEncoder", fill("kind", "u1", 3)),
        ("format of TableEncoder", fill("kind", "u1", 2)),
        ("n_categories of TableEncoder", fill("n_categories", "<i8", -1)),
        ("n_categories of TableEncoder", fill("n_categories", "<i8", 2**62)),
        ("category of TableEncoder", fill("n_categories", "<i8", 0)),
        ("category of TableEncoder", fill("n_categories", "<i8", 1)),
        ("category of TableEncoder", same_texts("category")),
        ("has_rest of TableEncoder", encoder_field("has_rest", [True])),
        ("note of TableEncoder", encoder_field("note", None)),
    ],
)
def test_every_check(match: str, change: Any, file: bytes, tmp_path: Path) -> None:
    parts = take_apart(file)
    change(parts)
    path = tmp_path / "model.hw"
    path.write_bytes(put_together(parts))
    with pytest.raises(ValueError, match=match):
        hardwood.load(path)

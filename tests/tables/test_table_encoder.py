"""Tables made into numbers, and what labels may be."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from own_tables import fruit, pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from hardwood.tables import TableEncoder, TableError
from hardwood.tables.labels import labels_of, split_label

NAN = float("nan")
pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


def kinds(encoder: TableEncoder) -> dict[str, str]:
    return {column.name: column.kind for column in encoder.columns_}


def notes(encoder: TableEncoder) -> dict[str, str]:
    return {column.name: column.note for column in encoder.columns_}


def made(values: Any, **parameters: Any) -> list[Any]:
    """One column as a feature, with None for missing values."""
    frame = pd.DataFrame({"x": values})
    column = TableEncoder(**parameters).fit_transform(frame)["x"]
    return [None if pd.isna(value) else value for value in column]


def fitted(values: Any, **parameters: Any) -> TableEncoder:
    return TableEncoder(**parameters).fit(pd.DataFrame({"x": values}))


# --- what columns are ----------------------------------------------------------------------------


def test_a_table_of_all_kinds(rng: np.random.Generator) -> None:
    encoder = TableEncoder().fit(fruit(100, rng))
    assert kinds(encoder) == {
        "number": "id",
        "hue": "text",
        "size": "number",
        "bitten": "number",
        "picked": "date",
        "name": "id",
        "planet": "unused",
        "ripe": "text",
    }
    said = notes(encoder)
    assert said["hue"].startswith("text, 4 values, ")
    assert said["hue"].endswith(" missing")
    assert said["number"] == "left out: whole numbers that identify the rows"
    assert said["name"] == "left out: text with 100 different values in 100 rows"
    assert said["planet"] == "left out: all values are the same"
    assert (
        encoder.get_feature_names_out().tolist()
        == [column.name for column in encoder.columns_ if column.is_used]
        == ["hue", "size", "bitten", "picked", "ripe"]
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([True, False, True], [1, 0, 1]),
        ([True, None, False], [1, NAN, 0]),
        (pd.array([1, None, 3], dtype="Int64"), [1, NAN, 3]),
        (pd.array([True, None, False], dtype="boolean"), [1, NAN, 0]),
        (np.array([1, 2, 3], dtype=np.float32), [1, 2, 3]),
        ([Decimal("0.5"), None, Decimal(2)], [0.5, NAN, 2]),
        (["1", " 2.5", "-1e3"], [1, 2.5, -1000]),
        ([1, None, 2.5], [1, NAN, 2.5]),
        (pd.to_datetime(["1970-01-02 00:00", None, "1969-12-31 12:00"]), [1, NAN, -0.5]),
        (pd.to_datetime(["1970-01-02", "1970-01-03"]).tz_localize("Asia/Tokyo"), [0.625, 1.625]),
        (np.array(["1970-01-02", "9999-12-31"], "datetime64[s]"), [1, 2932896]),
        ([datetime.date(1970, 1, 2), None, datetime.date(1970, 1, 4)], [1, NAN, 3]),
        ([datetime.time(12, 30), None, datetime.time(0)], [12.5, NAN, 0]),
        (["b", "a", "b"], ["b", "a", "b"]),
        (["b", "a", None, ""], ["b", "a", None, None]),
        (["b", "a", "NA", "NULL"], ["b", "a", None, None]),
        (pd.Categorical(["b", "a", "b"]), ["b", "a", "b"]),
        (pd.Categorical([3, 7, 3]), ["3", "7", "3"]),
        (pd.array(["b", None, "a", "b"], dtype="string"), ["b", None, "a", "b"]),
        ([" b", "b ", "a"], ["b", "b", "a"]),
        (["a", 1, "b", 1.0, True], ["a", "1", "b", "1", "1"]),
    ],
    ids=str,
)
def test_values(values: Any, expected: list[Any]) -> None:
    assert made(values) == [None if value != value else value for value in expected]


def test_durations_are_days_and_periods_are_dates() -> None:
    durations = pd.Series(pd.to_timedelta(["36 hours", None, "2 days"]))
    for values in (durations, durations.astype(object)):
        assert made(values) == [1.5, None, 2.0]
    assert made(pd.period_range("1970-01", periods=3, freq="M")) == [0.0, 31.0, 59.0]


def test_columns_of_no_type_are_missing() -> None:
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": pd.array([None] * 3, dtype=pd.ArrowDtype(pa.null())), "y": range(3)})
    assert "all values are missing" in TableEncoder().fit(frame).columns_[0].note


def test_nothing_is_lost_of_an_equal_true(rng: np.random.Generator) -> None:
    """True equals 1 in Python, and is the same object of a dictionary."""
    assert labels_of(["a", "True", "1"]).tolist() == ["a", "True", "1"]


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([5, 5, 5], "all values are the same"),
        (["a", "a"], "all values are the same"),
        ([None, None], "all values are missing"),
        ([NAN, NAN], "all values are missing"),
        (["", " "], "all values are missing"),
        ([[1], [2]], "contains objects"),
        ([b"a", b"b"], "contains objects"),
        ([1j, 2j], "contains values of type complex128"),
        (pd.interval_range(0, 2), "contains values of type interval"),
    ],
    ids=str,
)
def test_unused(values: Any, note: str) -> None:
    frame = pd.DataFrame({"x": values, "other": np.arange(len(values))})
    column = TableEncoder().fit(frame).columns_[0]
    assert column.kind == "unused"
    assert note in column.note


def test_one_value_and_missing_ones_are_two() -> None:
    assert made(["a", None, "a"]) == ["a", None, "a"]
    assert made([5, None, 5]) == [5, None, 5]


def test_names() -> None:
    frame = pd.DataFrame({"": [1, 2], 7: [3, 4], "b": [5, 6]})
    encoder = TableEncoder(drop=["b"]).fit(frame)
    assert kinds(encoder) == {"": "unused", "7": "number", "b": "unused"}
    assert notes(encoder)["b"] == "left out as requested"


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]})
    features = TableEncoder().fit_transform(frame)
    assert_array_equal(features["a"], [1, NAN, 3])
    assert features["b"].tolist()[:2] == ["x", "y"]
    assert features["b"].isna().tolist() == [False, False, True]


# --- text ----------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["a", "b", "cc", "d", "Ä", None]), min_size=2, max_size=30))
def test_categories_are_sorted_by_frequency(values: list[str | None]) -> None:
    counts = Counter(value for value in values if value is not None)
    if len(counts) < 2:
        return
    features = TableEncoder().fit_transform(pd.DataFrame({"x": values}))
    order = sorted(counts, key=lambda value: (-counts[value], value))
    assert features["x"].cat.categories.tolist() == order
    assert [None if pd.isna(value) else value for value in features["x"]] == values


def test_many_values(rng: np.random.Generator) -> None:
    """Ten thousand, each three times, and two that are frequent."""
    values = np.array([f"v{i % 10_000}" for i in range(30_000)] + ["often"] * 50 + ["seldom"] * 9)
    encoder = fitted(values)
    (column,) = encoder.columns_
    assert column.note == "text, 10,002 values (the 255 most frequent, all others together)"
    assert column.has_rest
    assert column.categories[:3].tolist() == ["often", "seldom", "v0"]
    table = pd.DataFrame({"x": ["often", "v0", "v9999", "new", None]})
    features = encoder.transform(table)["x"]
    assert features.tolist()[:4] == ["often", "v0", "other values", "other values"]
    assert features.isna().tolist() == [False] * 4 + [True]
    assert len(features.cat.categories) == 256
    assert encoder.unseen(pd.DataFrame({"x": ["new"]})) == {}


def test_values_of_a_single_row_are_one_category() -> None:
    """They say nothing about other rows."""
    values = [f"v{i // 4}" for i in range(200)] + [f"once {i}" for i in range(30)]
    values += ["other values"] * 5
    encoder = fitted(values)
    (column,) = encoder.columns_
    assert column.note == "text, 81 values (the 51 most frequent, all others together)"
    table = pd.DataFrame({"x": ["once 3", "never", "v7", "other values"]})
    assert encoder.transform(table)["x"].tolist() == [
        "(other values)",
        "(other values)",
        "v7",
        "other values",
    ]
    few = fitted(["a", "a", "b", "c"])  # of few values, each is one
    assert few.columns_[0].categories.tolist() == ["a", "b", "c"]
    frame = pd.DataFrame({"x": [f"v{i}" for i in range(30)], "n": np.arange(30) % 7})
    for parameter in ("category", "use"):
        (column, _) = TableEncoder(**{parameter: ["x"]}).fit(frame).columns_
        assert column.note == "left out: text with 30 different values, each in a single row"


def test_text_that_names_the_rows_is_left_out_unless_declared() -> None:
    values = [f"v{i}" for i in range(30)] + ["v0"] * 20
    assert fitted([*values, *values], drop=[]).columns_[0].kind == "text"  # 30 in 100 rows
    frame = pd.DataFrame({"x": values, "n": np.arange(50) % 7})
    assert TableEncoder().fit(frame).columns_[0].kind == "id"  # 30 in 50
    for parameter in ("category", "use"):
        assert TableEncoder(**{parameter: ["x"]}).fit(frame).columns_[0].kind == "text"
    assert fitted([f"v{i}" for i in range(20)]).columns_[0].kind == "text"  # few rows


def test_numbers_that_identify_the_rows_are_left_out_unless_used(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"n": range(50), "x": rng.normal(size=50)})
    assert kinds(TableEncoder().fit(frame)) == {"n": "id", "x": "number"}
    encoder = TableEncoder(use=["n"]).fit(frame)
    assert kinds(encoder) == {"n": "number", "x": "number"}
    assert notes(encoder)["n"] == "numbers"
    salaries = pd.DataFrame({"salary": rng.permutation(50) ** 3})
    assert notes(TableEncoder().fit(salaries))["salary"].startswith("numbers; all different: if")
    as_text = frame.assign(n=frame["n"].astype(str))
    assert kinds(TableEncoder().fit(as_text)) == {"n": "id", "x": "number"}
    with pytest.raises(TableError, match="no usable columns: 'n' left out: whole numbers that"):
        TableEncoder().fit(frame[["n"]])


def test_declared_categories() -> None:
    assert made([10, 20, 20], category=["x"]) == ["10", "20", "20"]
    assert made([10, None, 20, 20], category=["x"]) == ["10", None, "20", "20"]
    encoder = fitted([10, None, 20, 20], category=["x"])  # they are floats here
    assert encoder.columns_[0].categories.tolist() == ["20", "10"]
    new = pd.DataFrame({"x": ["10", "20", "30"]})
    assert encoder.transform(new)["x"].tolist()[:2] == ["10", "20"]
    assert encoder.unseen(new) == {"x": ["30"]}


def test_missing_texts() -> None:
    assert made(["1", "?", "3"], missing=["?"]) == [1, None, 3]
    assert made(["a", " ? ", "b", "-"], missing=["?", "-"]) == ["a", None, "b", None]


def test_labels_have_no_part_in_features(rng: np.random.Generator) -> None:
    table = fruit(60, rng)
    one = TableEncoder().fit_transform(table, rng.integers(0, 2, 60))
    pd.testing.assert_frame_equal(one, TableEncoder().fit_transform(table))


# --- other tables --------------------------------------------------------------------------------


def test_columns_may_change_their_order(rng: np.random.Generator) -> None:
    table = fruit(60, rng)
    encoder = TableEncoder().fit(table)
    numbers = encoder.transform(table)
    other = table[table.columns[::-1]].assign(more=1)
    pd.testing.assert_frame_equal(encoder.transform(other), numbers)
    pd.testing.assert_frame_equal(encoder.transform(table.drop(columns="planet")), numbers)
    pd.testing.assert_frame_equal(encoder.transform(table.iloc[5:9]), numbers.iloc[5:9])


def test_numbers_may_come_as_text_and_all_missing(rng: np.random.Generator) -> None:
    encoder = fitted([1.5, 2.5])
    for values in (["1.5", "7"], [1.5, 7]):
        assert encoder.transform(pd.DataFrame({"x": values}))["x"].tolist() == [1.5, 7]
    assert encoder.transform(pd.DataFrame({"x": [None, None]}))["x"].isna().all()
    dates = fitted(pd.to_datetime(["2020-01-01", "2020-01-02"]))
    assert dates.transform(pd.DataFrame({"x": [None, None]}))["x"].isna().all()


@pytest.mark.parametrize(
    ("trained", "values", "match"),
    [
        ([1, 2], ["1", "a", "b"], r"also 'a', 'b' \(in 2 of 3 rows, first in the 2nd row\)"),
        ([1, 2], pd.to_datetime(["2020-01-01"]), "contains dates, but contained numbers in"),
        ([1, 2], [[1]], "contains objects, but contained numbers in"),
        (["a", "b"], [[1]], "contains objects, but contained text in"),
        ([1, 2], [1, np.inf], "infinite number, first in the 2nd"),
        (
            pd.to_datetime(["2020-01-01", "2020-01-02"]),
            [1, 2],
            "contains numbers, but contained dates in",
        ),
        (
            pd.to_datetime(["2020-01-01", "2020-01-02"]),
            ["x"],
            "contains dates, but also 'x' .*The training table had only dates there",
        ),
    ],
    ids=str,
)
def test_columns_that_have_become_something_else(trained: Any, values: Any, match: str) -> None:
    with pytest.raises(TableError, match=match):
        fitted(trained).transform(pd.DataFrame({"x": values}))


def test_columns_that_are_not_there() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"size": [1, 2], "hue": ["a", "b"]}))
    with pytest.raises(TableError, match=r"training table: 'size'\. Did you mean 'Size'\?"):
        encoder.transform(pd.DataFrame({"Size": [1], "hue": ["a"]}))
    other = pd.DataFrame({"label": [1], "hue": ["a"]})
    with pytest.raises(TableError, match=r"'size'\. It has in addition 'label'\.$"):
        encoder.transform(other)
    with pytest.raises(TableError, match=r"lacks columns of the training table: 'size'\.$"):
        encoder.transform(pd.DataFrame({"hue": ["a"]}))


# --- what is refused -----------------------------------------------------------------------------


def test_numbers_with_text_among_them() -> None:
    values = [str(i % 50) for i in range(95)] + ["?", "unknown", "?", "n.a.", "-"]
    with pytest.raises(
        TableError, match=r"'x' contains numbers, but also '\?', 'unknown', 'n.a.' and 1"
    ):
        fitted(values)
    assert fitted(values, category=["x"]).columns_[0].kind == "text"
    missing = ["?", "unknown", "n.a.", "-"]
    assert fitted(values, missing=missing).columns_[0].kind == "number"
    assert fitted(values[80:]).columns_[0].kind == "text"  # 5 in 20 are words of their own


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity(value: float) -> None:
    with pytest.raises(TableError, match="'x' contains an infinite number, first in the 3rd"):
        fitted([1, 2, value])


def test_nothing_to_learn_from() -> None:
    with pytest.raises(TableError, match="no usable columns: 'x' left out: all"):
        fitted([1, 1])
    with pytest.raises(TableError, match="it is empty"):
        TableEncoder().fit(pd.DataFrame(index=range(3)))


def test_names_of_no_column(rng: np.random.Generator) -> None:
    with pytest.raises(
        TableError, match=r"category: there is no column 'hues'\. Did you mean 'hue'\?"
    ):
        TableEncoder(category=["hues"]).fit(fruit(30, rng))
    with pytest.raises(
        TableError, match=r"drop: there is no column 'zzz'\. The columns are 'number', 'hue'"
    ):
        TableEncoder(drop=["zzz"]).fit(fruit(30, rng))
    with pytest.raises(TableError, match="use: there is no column 'hues'"):
        TableEncoder(use=["hues"]).fit(fruit(30, rng))


@pytest.mark.parametrize("parameter", ["category", "date", "drop", "use", "missing"])
def test_a_name_in_the_place_of_a_list(parameter: str, rng: np.random.Generator) -> None:
    with pytest.raises(
        TypeError, match=rf"{parameter} must be a list, such as \['hue'\], got 'hue'"
    ):
        TableEncoder(**{parameter: "hue"}).fit(fruit(30, rng))


def test_columns_of_one_name(rng: np.random.Generator) -> None:
    table = fruit(30, rng)
    twice = pd.concat([table, table[["hue"]]], axis=1)
    with pytest.raises(TableError, match=r"more than one column named .hue.\. Give each"):
        TableEncoder().fit(twice)
    encoder = TableEncoder().fit(table)
    with pytest.raises(TableError, match=r"more than one column named .hue.\. Give each"):
        encoder.transform(twice)
    # Columns that are not used may share one, and so may columns without a name.
    others = pd.DataFrame(np.ones((30, 2)), columns=["", ""])
    TableEncoder().fit(pd.concat([table, others], axis=1))
    others.columns = ["other", "other"]
    encoder.transform(pd.concat([table, others], axis=1))


def test_frames_without_data() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X is a LazyFrame, .* pass X.collect\(\)"):
        TableEncoder().fit(polars.DataFrame({"x": [1, 2]}).lazy())


def test_no_frame_and_no_fit() -> None:
    with pytest.raises(TypeError, match="X must be a data frame, got ndarray"):
        TableEncoder().fit(np.ones((3, 2)))
    with pytest.raises(NotFittedError):
        TableEncoder().transform(pd.DataFrame({"x": [1]}))


@pytest.mark.parametrize("most", [0, 65_535, 2.5, "all"])
def test_numbers_of_categories_that_cannot_be(most: Any) -> None:
    with pytest.raises(ValueError, match="max_categories must be an integer from 1 to 65534"):
        fitted([1, 2], max_categories=most)


def test_a_clone_has_the_parameters() -> None:
    encoder = clone(TableEncoder(category=["a"], max_categories=3))
    assert encoder.category == ["a"]
    assert encoder.max_categories == 3


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected", "kind"),
    [
        (["b", "a ", "b"], ["b", "a", "b"], "O"),
        ([3, 1, 3], [3, 1, 3], "i"),
        ([1.0, 0.0, -1.0], [1, 0, -1], "i"),
        ([True, False], [True, False], "b"),
        (np.array([True, False], dtype=object), [True, False], "b"),
        (pd.Categorical(["x", "y"]), ["x", "y"], "O"),
        (pd.Categorical([3, 1, 3]), [3, 1, 3], "i"),
        (pd.array([1, 2], dtype="Int64"), [1, 2], "i"),
        (["1", "2", "x"], ["1", "2", "x"], "O"),
    ],
    ids=str,
)
def test_labels(labels: Any, expected: list[Any], kind: str) -> None:
    found = labels_of(pd.Series(labels))
    assert found.tolist() == expected
    assert found.dtype.kind == kind


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["a", "a"], "'y' has only one class, 'a'. Two are required"),
        ([1, 1], "only one class, '1'"),
        (
            [0.5, 1.25, 2.0],
            r"fractions \(0.5, 1.25, 2.0\), which do not look like classes.*bin the values",
        ),
        (["a", None, "b", ""], "missing in 2 of 4 rows, first in the 2nd row. Remove these rows"),
        ([1, None, 2], "missing in 1 of 3 rows, first in the 2nd"),
        ([None, None], "missing in 2 of 2 rows"),
        (["a", "?", "b"], "missing in 1 of 3 rows"),
        ([f"id {i}" for i in range(10_000)], "10,000 different values in 10,000 rows"),
        (np.arange(3000) % 1500, "1,500 different values in 3,000 rows.*the right column"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "must contain text or whole numbers"),
        ([[1], [2]], "must contain text or whole numbers"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_labels_that_are_refused(labels: Any, match: str) -> None:
    with pytest.raises(TableError, match=match):
        labels_of(pd.Series(labels, name="y"), missing=["?"])


@pytest.mark.parametrize("labels", [None, "hue"])
def test_no_labels(labels: Any) -> None:
    with pytest.raises(TableError, match=f"must be the labels, one for each row, got {labels!r}"):
        labels_of(labels)


@pytest.mark.parametrize(
    "labels", [pd.DataFrame({"y": [1, 2]}), [[1], [2]]], ids=["frame", "lists"]
)
def test_a_table_of_labels(labels: Any) -> None:
    with pytest.raises(TableError, match=r"shape \(2, 1\). If it has one column, pass that column"):
        labels_of(labels)


def test_a_class_of_one_row() -> None:
    assert labels_of(["a", "a", "b"]).tolist() == ["a", "a", "b"]


def test_the_column_of_labels(rng: np.random.Generator) -> None:
    table = fruit(20, rng)
    X, y = split_label(table, "ripe")
    assert "ripe" not in X
    assert y.tolist() == table["ripe"].tolist()
    with pytest.raises(
        TableError, match=r"label: there is no column 'Ripe'\. Did you mean 'ripe'\?"
    ):
        split_label(table, "Ripe")

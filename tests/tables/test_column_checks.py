"""Ids, leaks and repeats among the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_tables import fruit, pd

from hardwood.tables import TableEncoder
from hardwood.tables.column_checks import agreement, column_warnings, identifies_rows
from hardwood.tables.labels import labels_of

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


def warnings(table: Any, labels: Any, **parameters: Any) -> list[tuple[str, str]]:
    """The columns with warnings, and their kinds."""
    return [(each.column, each.kind) for each in found(table, labels, **parameters)]


def found(table: Any, labels: Any, **parameters: Any) -> Any:
    encoder = TableEncoder(**parameters).fit(table)
    return column_warnings(encoder.columns_, encoder.transform(table), np.asarray(labels))


def texts(table: Any, labels: Any) -> list[str]:
    return [each.text for each in found(table, labels)]


# --- ids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers",
    [
        np.arange(1, 22),
        np.arange(100)[::-1],
        np.random.default_rng(0).permutation(100) + 5_000_000,
        10 * np.random.default_rng(0).permutation(100),
        np.random.default_rng(0).choice(150, 100, replace=False),  # part of a table
        np.random.default_rng(0).choice(10**6, 5000, replace=False),
        np.random.default_rng(0).integers(1, 10**6, 30).cumsum(),  # in order, with large gaps
        np.append(np.random.default_rng(0).permutation(99), 7),  # one row twice
        np.append(np.random.default_rng(0).permutation(99), np.nan),
    ],
    ids=lambda numbers: str(numbers[:4]),
)
def test_ids(numbers: Any) -> None:
    assert identifies_rows("a", numbers.astype(float))


RNG = np.random.default_rng(0)
MEASUREMENTS = {
    "normal": RNG.normal(size=500),
    "sorted": np.sort(RNG.normal(size=500)),
    "salaries": RNG.integers(20_000, 90_000, 100),
    "populations": np.exp(RNG.normal(10, 2, 300)).round(),
    "large": RNG.random(300).round(2) * 1e20,
    "ages": RNG.integers(18, 90, 60),
    "years": 1900 + np.arange(300) // 3,
    "zip codes": RNG.choice(RNG.integers(501, 99_950, 400), 500),
    "few rows": np.arange(20),
    "constant": np.full(50, 3),
    "missing": np.full(50, np.nan),
    "mostly missing": np.where(np.arange(100) < 60, np.nan, np.arange(100)),
    "none": np.empty(0),
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measurements_are_no_ids(name: str) -> None:
    assert not identifies_rows(name, np.asarray(MEASUREMENTS[name], dtype=float))


@pytest.mark.parametrize(
    ("name", "is_id"),
    [
        ("id", True),
        ("ID", True),
        ("PassengerId", True),
        ("customerID", True),
        ("loan_id", True),
        ("id of person", True),
        ("Employee Number", True),
        ("salary", False),
        ("paid", False),
        ("number of visits", False),
        ("", False),
        ("…", False),
    ],
)
def test_names(name: str, is_id: bool) -> None:
    salaries = np.random.default_rng(0).choice(10**6, 100, replace=False).astype(float)
    assert identifies_rows(name, salaries) == is_id
    assert not identifies_rows(name, salaries + 0.5)
    assert not identifies_rows(name, np.repeat(salaries, 2))


@given(st.integers(0, 2**32 - 1), st.integers(21, 400), st.floats(1, 1000))
def test_random_whole_numbers_are_no_ids(seed: int, n_rows: int, spread: float) -> None:
    """Whatever their range, although all can differ."""
    numbers = np.random.default_rng(seed).integers(0, int(spread * n_rows), n_rows)
    assert not identifies_rows("x", numbers.astype(float))


@given(st.integers(0, 2**32 - 1), st.integers(21, 400), st.integers(-(10**9), 10**9))
def test_running_numbers_are_ids_in_any_order(seed: int, n_rows: int, start: int) -> None:
    assert identifies_rows("x", start + np.random.default_rng(seed).permutation(n_rows) * 1.0)


def test_ids_in_words(rng: np.random.Generator) -> None:
    table = fruit(100, rng)
    said = texts(table.drop(columns="ripe"), table["ripe"])
    assert said == [
        "Column 'number' looks like an id and is left out: whole numbers that identify the rows. "
        "If it is not, keep it (use).",
        "Column 'name' looks like an id or free text and is left out: text with 100 different values in 100 "
        "rows. If it is not, keep it (use).",
    ]
    ours = table.drop(columns="ripe").assign(name=table["name"].where(table.index > 9, "fruit 50"))
    assert warnings(ours, table["ripe"], use=["number", "name"]) == []


# --- leaks ---------------------------------------------------------------------------------------


@pytest.fixture
def labels(rng: np.random.Generator) -> Any:
    """Labels without any relation to features, as noise of 50 % would leave them."""
    return rng.integers(0, 3, 400)


@pytest.fixture
def honest(rng: np.random.Generator) -> Any:
    """Columns of all kinds that say nothing about the labels."""
    return fruit(400, rng).drop(columns=["number", "name", "ripe"])


def test_no_leaks(honest: Any, labels: Any) -> None:
    assert warnings(honest, labels) == []


LEAKS = {
    "copy": lambda y, rng: y,
    "words": lambda y, rng: np.array(["low", "middle", "high"])[y],
    "dates": lambda y, rng: pd.to_datetime(y, unit="D"),
    "many values": lambda y, rng: [f"{a}{b}" for a, b in zip(y, rng.integers(0, 9, 400), strict=True)],
    "score": lambda y, rng: y + rng.uniform(-0.4, 0.4, 400),
    "some wrong": lambda y, rng: np.where(rng.random(400) < 0.02, 0, y),
}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
def test_leaks(leak: str, honest: Any, labels: Any, rng: np.random.Generator) -> None:
    assert warnings(honest.assign(leak=LEAKS[leak](labels, rng)), labels) == [("leak", "leak")]


def test_missing_values_as_a_leak(honest: Any, rng: np.random.Generator) -> None:
    cured = rng.random(400) < 0.3
    died_on = np.where(cured, np.nan, rng.normal(size=400))
    assert warnings(honest.assign(died_on=died_on), cured) == [("died_on", "leak")]


def test_a_leak_among_rare_classes(honest: Any, rng: np.random.Generator) -> None:
    is_rare = np.arange(400) < 12
    assert warnings(honest, is_rare) == []
    assert warnings(honest.assign(leak=~is_rare), is_rare) == [("leak", "leak")]
    few = np.arange(400) < 9  # too few to tell
    assert warnings(honest.assign(leak=few), few) == []


def test_leaks_in_words(labels: Any, rng: np.random.Generator) -> None:
    ending = (
        "It may be a leak. Check that it is known before the label is, or else leave it out (drop)."
    )
    table = pd.DataFrame({"x": labels + 7})
    assert texts(table, labels) == [f"Column 'x' repeats the label. {ending}"]
    table["x"] = labels + 3 * rng.integers(0, 2, 400)
    assert texts(table, labels) == [
        f"Column 'x' determines the label: alone it predicts all rows. {ending}"
    ]
    table["x"] = np.append((labels[:3] + 1) % 3, labels[3:])
    assert texts(table, labels) == [
        f"Column 'x' nearly determines the label: alone it predicts 99.2% of rows. {ending}"
    ]


@pytest.mark.parametrize(
    ("values", "labels", "expected"),
    [
        ([1, 1, 2, 2], [0, 0, 1, 1], 1),
        ([1, 1, 2, 2], [0, 1, 1, 0], 0),
        ([1, 1, 1, 2, 2], [0, 0, 1, 1, 1], 3 / 5),  # a tie without the row itself
        ([1, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], 5 / 6),
        ([1, 2, 3, 4], [0, 0, 1, 1], 3 / 4),
        ([np.nan, np.nan, 1, 1], [0, 0, 1, 1], 1),
        ([5], [0], 1 / 2),
        ([5, 5, 5], [0, 0, 0], 1),
    ],
    ids=str,
)
def test_agreement(values: list[float], labels: list[int], expected: float) -> None:
    assert agreement(np.array(values, dtype=float), np.array(labels)) == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1))
def test_agreement_is_what_the_other_rows_predict(rows: list[tuple[int, int]]) -> None:
    """Against a loop, for values that occur more than once."""
    rows = rows + rows
    right = 0.0
    for i, (value, label) in enumerate(rows):
        others = [other for j, (same, other) in enumerate(rows) if same == value and j != i]
        counts = np.bincount(others, minlength=3)
        if counts[label] == counts.max():
            right += 1 / np.sum(counts == counts.max())
    values, labels = np.array(rows).T
    assert agreement(values.astype(float), labels) <= right / len(rows) + 1e-12
    is_pure = len({value for value, _ in rows}) == len(set(rows))
    assert (agreement(values.astype(float), labels) == 1) == is_pure


def test_large_tables_are_sampled(rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 150_000)
    table = pd.DataFrame(
        {"a": rng.normal(size=len(y)), "b": np.where(np.arange(len(y)) < 99, 0, y)}
    )
    assert warnings(table, y) == [("b", "leak")]


# --- repeats -------------------------------------------------------------------------------------


def test_repeats(rng: np.random.Generator, labels: Any) -> None:
    size = rng.normal(size=400)
    hue = rng.choice(["red", "green", "blue"], 400)
    table = pd.DataFrame(
        {
            "size": size,
            "hue": hue,
            "other": rng.normal(size=400),
            "inches": 2.54 * size,
            "shortness": -np.exp(size),
            "color": pd.Series(hue).map({"red": 3, "green": 1, "blue": 2}),
            "almost": np.where(np.arange(400) == 7, 0, size),
        }
    )
    assert texts(table, labels) == [
        f"Column {name!r} repeats column {other!r}: each value of one belongs to one value of the "
        "other."
        for name, other in [("inches", "size"), ("shortness", "size"), ("color", "hue")]
    ]
    table.loc[::5, ["size", "inches"]] = np.nan
    table.loc[::5, ["hue", "color"]] = None
    assert warnings(table, labels) == [("inches", "repeat"), ("color", "repeat")]


def test_few_rows_may_agree_by_chance(labels: Any, rng: np.random.Generator) -> None:
    for n_rows, expected in [(9, []), (10, [("b", "repeat")])]:
        rare = (np.arange(400) < n_rows) * 1
        assert warnings(pd.DataFrame({"a": rare, "b": 1 - rare}), labels) == expected


@given(st.integers(0, 2**32 - 1), st.integers(2, 300))
def test_recoded_columns_repeat_and_others_do_not(seed: int, n_values: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values, 300)
    values[:20] = values[20:40]
    recoded = np.cumsum(rng.integers(1, 5, n_values))[values] * rng.choice([-1, 1])
    table = pd.DataFrame({"a": values, "b": recoded, "c": rng.permutation(values)})
    assert warnings(table, rng.integers(0, 2, 300)) == [("b", "repeat")]


# --- small and odd tables ------------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [1, 2, 3, 19, 21])
def test_few_rows(n_rows: int, rng: np.random.Generator) -> None:
    y = np.arange(n_rows) % 2
    numbers = pd.DataFrame({"a": y * 1.0, "b": np.nan, "c": rng.normal(size=n_rows), "d": 1.0})
    found = column_warnings([], numbers, y)
    assert [each.column for each in found] == (["a"] if n_rows == 21 else [])


def test_one_class(honest: Any) -> None:
    assert warnings(honest, np.zeros(400)) == []


def test_columns_without_values(honest: Any, labels: Any) -> None:
    table = honest.assign(none=None, constant=1, nothing=np.nan)
    assert warnings(table, labels_of(labels)) == []

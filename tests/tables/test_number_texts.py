"""Numbers as people write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood.tables.number_texts import NumberFormat, find_number_format


def found(*texts: str) -> tuple[str, list[float]]:
    best, numbers = find_number_format(np.array(texts, dtype=object), [1] * len(texts))
    np.testing.assert_array_equal(best.read(np.array(texts, dtype=object)), numbers)
    assert NumberFormat.parse(str(best)) == best
    return best.words, numbers.tolist()


@pytest.mark.parametrize(
    ("texts", "words", "expected"),
    [
        (["1", "-2.5", "1e3", "+7", ".5", "0x1F"], "numbers", [1, -2.5, 1000, 7, 0.5, 31]),
        (["1,234", "999"], "numbers with thousands separated by commas", [1234, 999]),
        (["1,234.5", "1234.5"], "numbers with thousands separated by commas", [1234.5, 1234.5]),
        (["12,34,567", "1"], "numbers with thousands separated by commas", [1234567, 1]),
        (["0,125", "1,250"], "numbers with decimal commas", [0.125, 1.25]),
        (["1,234", "9,5", "3"], "numbers with decimal commas", [1.234, 9.5, 3]),
        (["1.234", "9,5"], "numbers with thousands separated by points and decimal commas", None),
        (["1.234.567", "1"], "numbers with thousands separated by points and decimal commas", None),
        (["1 234,5", "12"], "numbers with thousands separated by spaces and decimal commas", None),
        (["1\u00a0234.5", "1\u202f000"], "numbers with thousands separated by spaces", None),
        (["1'234.50", "7"], "numbers with thousands separated by apostrophes", [1234.5, 7]),
        (["12%", "-3.5 %"], "percent", [12, -3.5]),
        (["12,5 %", "3 %"], "percent with decimal commas", [12.5, 3]),
        (["$5", "-$1,000.50", "$-7"], "amounts in $ with thousands separated by commas", None),
        (["($5.00)", "$3"], "amounts in $", [-5, 3]),
        (["12,50 €", "€ 7"], "amounts in € with decimal commas", [12.5, 7]),
        (["EUR 12", "7 EUR"], "amounts in EUR", [12, 7]),
        (["−5", "3"], "numbers", [-5, 3]),
    ],
)
def test_formats(texts: list[str], words: str, expected: list[float] | None) -> None:
    said, numbers = found(*texts)
    assert said == words
    if expected is not None:
        np.testing.assert_array_equal(numbers, expected)
    assert not np.isnan(numbers[-1])


def test_values_of_grouped_numbers() -> None:
    assert found("1.234", "9,5")[1] == [1234, 9.5]
    assert found("1.234.567", "1")[1] == [1234567, 1]
    assert found("1 234,5", "12")[1] == [1234.5, 12]
    assert found("$5", "-$1,000.50", "$-7")[1] == [5, -1000.5, -7]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1-2",
        "1.2.3",
        "1,2,3",
        "1 2",
        "5kg",
        "$5€",
        "$$5",
        "(5",
        "--5",
        "1,23.4",
        "A1",
        "5#",
    ],
)
def test_what_is_no_number(text: str) -> None:
    assert np.isnan(found(text, "word")[1]).all()


def test_units_must_be_the_same() -> None:
    assert np.isnan(found("$5", "$6", "€7", "8")[1]).tolist() == [False, False, True, True]


@given(
    st.lists(st.floats(-1e12, 1e12).map(lambda x: round(x, 2)), min_size=1, max_size=20),
    st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (",", "")]),
    st.sampled_from(["", "%", "€"]),
)
def test_numbers_come_back(numbers: list[float], marks: tuple[str, str], unit: str) -> None:
    """Written with two decimals, so that the marks are clear."""
    decimal, group = marks
    written = [
        f"{x:,.2f}".translate(str.maketrans({",": group, ".": decimal})) + unit for x in numbers
    ]
    _, again = found(*written)
    np.testing.assert_array_equal(again, numbers)


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_none(text: str) -> None:
    found(text)


@pytest.mark.parametrize(
    "text", ["number", "number ..", "number ,,x", "number ._kg", "number ._%%"]
)
def test_formats_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="not a format of numbers"):
        NumberFormat.parse(text)

"""Columns of texts: what they are, in Python and in files alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_tables import pd

from hardwood.tables import TableEncoder, TableError, TableWarning, read_table, write_table
from hardwood.tables.reading import parse_format

pytestmark = pytest.mark.filterwarnings("ignore::hardwood.tables.TableWarning")


def encoder_of(values: Any, **parameters: Any) -> TableEncoder:
    return TableEncoder(**parameters).fit(pd.DataFrame({"x": values}))


def note(values: Any, **parameters: Any) -> str:
    return encoder_of(values, **parameters).columns_[0].note  # type: ignore[no-any-return]


def numbers(values: Any, **parameters: Any) -> list[float]:
    frame = pd.DataFrame({"x": values})
    return TableEncoder(**parameters).fit_transform(frame)["x"].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1.234,5", "7"], "numbers with thousands separated by points and decimal commas"),
        (["5 %", "7,5%"], "percent with decimal commas"),
        (["31.12.2020", "1.1.2021"], "dates, day first"),
        (["12/31/2020", "1/1/2021"], "dates, month first"),
        (["2020-12-31", "Jan 1, 2021", "1.1.2021"], "dates, day first"),
        (["12:30", "7:00"], "times of day, in hours"),
        (["true", "FALSE"], "true or false"),
        (["a", "b"], "text, 2 values"),
        (
            ["1/2/2020", "2/1/2020"],
            "dates, day first; read as dates, day first; '1/2/2020' could be month first as well",
        ),
        (
            ["13/1/2020", "1/13/2020"],
            "text, 2 values; kept as text: some of the dates are day first, others month first",
        ),
        (
            ["1.5", "1,5"],
            "text, 2 values; kept as text: the numbers are written in different ways, such as "
            "'1.5' and '1,5'",
        ),
        (
            ["1", "2", "3", "large"],
            "text, 4 values; kept as text: 75% of the values are numbers, but others are not, such "
            "as 'large'",
        ),
        (
            ["2020-01-01", "2020-01-02", "unknown"],
            "text, 3 values; kept as text: 67% of the values are dates, but others are not, such as "
            "'unknown'",
        ),
        (
            ["30.02.2020", "1.1.2020"],
            "text, 2 values; kept as text: some of the dates do not exist",
        ),
        (
            ["56 kg", "1,5kg"],
            "text, 2 values; kept as text: all values are numbers followed by 'kg'; without it, they "
            "would be numbers",
        ),
        (["56 kg", "20 lb"], "text, 2 values"),
        (["5 a b", "6 a b"], "text, 2 values"),
    ],
)
def test_notes(values: list[str], expected: str) -> None:
    assert note(values) == expected


def test_doubts_and_columns_left_out_are_warned_of() -> None:
    frame = pd.DataFrame({"a": ["1.5", "1,5"], "b": [1, 1], "c": [1, 2], "d": [1, 2]})
    with pytest.warns(TableWarning, match="'a' text.*such as '1.5' and '1,5'; 'b' left out: all"):
        TableEncoder(drop=["d"]).fit(frame)


@pytest.mark.filterwarnings("error")
def test_what_was_asked_for_is_not_warned_of() -> None:
    frame = pd.DataFrame({"a": ["1.5", "1,5"], "b": [1, 1], "c": [1, 2]})
    TableEncoder(drop=["b"], category=["a"]).fit(frame)


# --- declared dates ------------------------------------------------------------------------------


def test_declared_dates() -> None:
    assert numbers([19700102, 19700104], date=["x"]) == [1, 3]
    assert numbers(["02011970", "05011970"], date=["x=%d%m%Y"]) == [1, 4]
    assert numbers(["1/2/1970", "2/1/1970"], date=["x=%m/%d/%Y"]) == [1, 31]
    assert numbers(["02011970", "?"], date=["x=%d%m%Y"], missing=["?"])[0] == 1
    encoder = encoder_of(["02011970", "05011970"], date=["x=%d%m%Y"])
    assert encoder.transform(pd.DataFrame({"x": ["03011970"]}))["x"].tolist() == [2]
    compact = encoder_of([19700102, 19700104], date=["x"])
    assert compact.transform(pd.DataFrame({"x": [19700103]}))["x"].tolist() == [2]


@pytest.mark.parametrize(
    ("values", "date", "match"),
    [
        (["1/2/70", "soon"], ["x"], "declared as dates .date., but contains 'soon' .in 1 of 2"),
        (["1/2/70", "2/2/70"], ["x=%Y"], "Correct the format"),
        ([1, 2], ["x"], "Name the format, such as 'x=%d.%m.%Y'"),
        ([1, 2], ["y=%Y"], "date: there is no column 'y'"),
    ],
)
def test_declared_dates_that_are_none(values: Any, date: list[str], match: str) -> None:
    with pytest.raises(TableError, match=match):
        encoder_of(values, date=date)
    with pytest.raises(TableError, match="'x' cannot be both"):
        encoder_of(values, date=["x"], category=["x"])


# --- other tables --------------------------------------------------------------------------------


def test_other_tables_are_read_in_the_same_way() -> None:
    european = encoder_of(["1.234,5", "7,5"])
    assert european.transform(pd.DataFrame({"x": ["1.234", "2"]}))["x"].tolist() == [1234, 2]
    assert european.transform(pd.DataFrame({"x": [1.5]}))["x"].tolist() == [1.5]
    with pytest.raises(TableError, match=r"decimal commas, but also '1.5'"):
        european.transform(pd.DataFrame({"x": ["1.5"]}))
    american = encoder_of(["12/31/2020", "1/1/2021"])
    assert american.transform(pd.DataFrame({"x": ["1/2/1970"]}))["x"].tolist() == [1]
    assert encoder_of([True, False]).transform(pd.DataFrame({"x": ["true"]}))["x"].tolist() == [1]


def test_the_command_line_reads_texts_where_python_would(tmp_path: Path) -> None:
    """1.234 alone would be a fraction."""
    encoder = encoder_of(["1.234,5", "7,5"])
    texts = [column.name for column in encoder.columns_ if column.is_read_from_text]
    (tmp_path / "new.csv").write_text("x,n\n1.234,1\n")
    table = read_table(tmp_path / "new.csv", text=texts)
    assert encoder.transform(table)["x"].tolist() == [1234]


CELLS = st.one_of(
    st.sampled_from(
        ["1", "2.5", "-3", "1,234", "9,5", "1.234,5", "5%", "7 %", "$5", "€ 7", "true", "False", "a",
         "b c", "", "NA", "2020-01-31", "31.01.2020", "1/31/2020", "12:30", "2020-01-31 12:30:15",
         "2020-01-31T12:30:15.5Z", "0x1F", "+7", "1e5", "'=1", "=1", "01", "Jan 3, 2020"]
    ),
    st.text("0123456789.,-/: %abZT+", max_size=8),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_the_same_in_files_and_in_frames(data: st.DataObject, tmp_path: Path) -> None:
    """A column of a CSV file means what the same texts mean in a frame."""
    pool = data.draw(st.lists(CELLS, min_size=1, max_size=4))
    values = data.draw(st.lists(st.sampled_from(pool), min_size=2, max_size=12))
    frame = pd.DataFrame({"x": values, "n": np.arange(len(values)) % 2}, dtype=object)
    write_table(frame, tmp_path / "table.csv")
    outcomes: list[Any] = []
    for table in (frame, read_table(tmp_path / "table.csv")):
        try:
            encoder = TableEncoder(use=["x"]).fit(table)
            features = encoder.transform(table)
            columns = [(column.kind, column.note) for column in encoder.columns_[:1]]
            outcomes.append(
                (columns, features.astype(object).where(features.notna(), None).values.tolist())
            )
        except TableError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("text", ["", "x", "numbers", "times"])
def test_formats_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a format"):
        parse_format(text)

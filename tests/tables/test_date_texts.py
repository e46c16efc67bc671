"""Dates and times as people write them."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood.tables.date_texts import DateFormat, FoundDates, TimeFormat, find_date_format

EPOCH = datetime.datetime(1970, 1, 1)


def array(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


def found(*texts: str) -> FoundDates:
    dates = find_date_format(array(*texts), [1] * len(texts))
    np.testing.assert_array_equal(dates.format.read(array(*texts)), dates.days)
    assert DateFormat.parse(str(dates.format)) == dates.format
    return dates


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2020-12-31", "2020-12-31"),
        ("2020/12/31", "2020-12-31"),
        ("31.12.2020", "2020-12-31"),
        ("31/12/20", "2020-12-31"),
        ("31-12-1969", "1969-12-31"),
        ("12/31/2020", "2020-12-31"),
        ("31 Dec 2020", "2020-12-31"),
        ("31-Dec-99", "1999-12-31"),
        ("December 31, 2020", "2020-12-31"),
        ("Dec 31st, 2020", "2020-12-31"),
        ("20201231", "2020-12-31"),
        ("2020-12", "2020-12-01"),
        ("Dec 2020", "2020-12-01"),
        ("9999-12-31", "9999-12-31"),
        ("0001-01-01", "0001-01-01"),
        ("2020-12-31T12:00:00Z", "2020-12-31 12:00"),
        ("31.12.2020 13:30", "2020-12-31 13:30"),
        ("12/31/2020 1:30:00 PM", "2020-12-31 13:30"),
        ("2020-12-31 12:00+02:00", "2020-12-31 10:00"),
        ("2020-12-31 12:00:00.250", "2020-12-31 12:00:00.250"),
    ],
)
def test_dates(text: str, date: str) -> None:
    days = (datetime.datetime.fromisoformat(date) - EPOCH) / datetime.timedelta(1)
    assert found(text).days.tolist() == [days]


@pytest.mark.parametrize(
    "text",
    ["", "31.02.2020", "2020-13-01", "2020-00-01", "1.2.30", "10.4.11.1", "0/1/2020", "32 Dec 2020",
     "2020-01-01 25:00", "31 Dez 2020", "12:30", "2021/22", "1/2"],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert np.isnan(found(text).days).all()


def test_the_column_decides_what_comes_first() -> None:
    assert found("1/2/2020", "13/2/2020").format.order == "day"
    assert found("1/2/2020", "2/13/2020").format.order == "month"
    assert (
        found("1/2/2020", "2/13/2020").days.tolist()
        == found("2020-01-02", "2020-02-13").days.tolist()
    )
    unclear = found("1/2/2020", "3/4/2020")
    assert (unclear.format.order, unclear.is_ambiguous) == ("day", True)
    assert not found("1.2.2020", "3.4.2020").is_ambiguous  # with points, the day comes first
    assert not found("2/2/2020", "4/4/2020").is_ambiguous  # the same either way
    both = found("13/1/2020", "1/13/2020")
    assert both.are_both
    assert not both.is_ambiguous
    assert found("2020-01-02").format.order == ""


def test_formats_of_the_caller() -> None:
    days = DateFormat(pattern="%d%m%y %H").read(array("311270 12", "x"))
    assert days[0] == 364.5
    assert np.isnan(days[1])
    assert DateFormat.parse(str(DateFormat(pattern="%d %m %Y"))).pattern == "%d %m %Y"


@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%b %d, %Y"]))
def test_dates_come_back(date: datetime.date, pattern: str) -> None:
    text = date.strftime(pattern).replace(date.strftime("%Y"), f"{date.year:04d}")
    assert found(text).days[0] == (date - EPOCH.date()).days


@given(st.text(max_size=12))
def test_any_text_is_a_date_or_none(text: str) -> None:
    found(text)
    TimeFormat().read(array(text))


def test_times() -> None:
    hours = TimeFormat().read(
        array("0:00", "13:30", "1:30 pm", "12:00 AM", "23:59:59", "24:00", "13 pm")
    )
    np.testing.assert_allclose(hours, [0, 13.5, 13.5, 0, 24 - 1 / 3600, np.nan, np.nan])


@pytest.mark.parametrize("text", ["date", "date first", "date  "])
def test_formats_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="not a format of dates"):
        DateFormat.parse(text)

"""Numbers and values in words."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood.audit.report import words


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (0.0001, "Hardly any labels look wrong"),
        (0.0123, "About 1 label in 81 looks wrong"),
        (0.00123, "About 1 label in 810 looks wrong"),
        (0.125, "About 1 label in 8 looks wrong"),
        (0.2, "About 1 label in 5 looks wrong"),
        (0.282, "About 3 labels in 10 look wrong"),
        (0.34, "About 1 label in 3 looks wrong"),
        (0.4, "About 2 labels in 5 look wrong"),
        (0.5, "About 1 label in 2 looks wrong"),
        (0.99, "About 9 labels in 10 look wrong"),
        (float("nan"), "This table cannot tell which labels are wrong"),
    ],
)
def test_noise_is_said_as_people_say_it(rate, said):
    assert words.noise_in_words(rate, 0.9 * rate, 1.1 * rate).startswith(said)


@given(st.floats(0.001, 0.95))
def test_the_fraction_said_is_near_the_rate(rate):
    said = re.match(
        r"(About|More than|Nearly) (\d+) labels? in ([\d,]+)",
        words.noise_in_words(rate, 0.99 * rate, 1.01 * rate),
    )
    fraction = int(said[2]) / int(said[3].replace(",", ""))
    assert fraction == pytest.approx(rate, rel=0.13)
    if said[1] == "About":
        assert fraction == pytest.approx(rate, abs=0.015)  # the interval, rounded
    else:
        assert said[1] == ("More than" if fraction < rate else "Nearly")


@given(st.text() | st.floats() | st.integers() | st.none() | st.booleans() | st.dates())
def test_any_value_can_be_shown(value):
    text = words.as_text(value)
    text.encode()
    assert len(text) <= 120
    assert "\0" not in text


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")])
def test_missing_values_are_called_so(missing):
    assert words.as_text(missing) == "missing"

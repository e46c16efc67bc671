"""What new users meet first: text in arrays, and frames whose columns are not as they should be."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from estimators_list import ESTIMATORS, small
from numpy.testing import assert_array_equal

from hardwood import RobustTreeClassifier

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

EVERY_ESTIMATOR = pytest.mark.parametrize("cls", ESTIMATORS)
N = 60
NUMBERS = np.arange(float(N))
Y = np.arange(N) // 2 % 2
TEXT = ["a", "b", "c"] * (N // 3)
LARGE = 2**62

LIBRARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
EVERY_LIBRARY = pytest.mark.parametrize("frame", LIBRARIES.values(), ids=LIBRARIES)


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- arrays --------------------------------------------------------------------------------------


@EVERY_ESTIMATOR
@pytest.mark.parametrize(
    "X",
    [
        np.array(
            [[number, text] for number, text in zip(NUMBERS, TEXT, strict=True)], dtype=object
        ),
        np.array([["1.5", text] for text in TEXT]),
        [[1, text] for text in TEXT],
    ],
    ids=["objects", "strings", "lists"],
)
def test_text_in_an_array(cls: Any, X: Any) -> None:
    message = (
        r"'a' in row 0 of column 1 of X. If .* categorical_features=\[1\], or pass a data frame"
    )
    with pytest.raises(ValueError, match=message):
        small(cls, 2)().fit(X, Y)


def test_the_array_is_taken_as_the_message_says() -> None:
    X = np.array([[number, text] for number, text in zip(NUMBERS, TEXT, strict=True)], dtype=object)
    tree = RobustTreeClassifier(categorical_features=[1]).fit(X, Y)
    assert tree.categories_[1].tolist() == ["a", "b", "c"]


def test_text_beside_categories() -> None:
    X = np.array([[text, "b", 1, text] for text in TEXT], dtype=object)
    message = r"'a' in row 0 of column 3 of X. If .* categorical_features=\[0, 1, 3\]"
    with pytest.raises(ValueError, match=message):
        RobustTreeClassifier(categorical_features=[0, 1]).fit(X, Y)
    tree = RobustTreeClassifier(categorical_features=[0, 1, 3]).fit(X, Y)
    X[5, 2] = "five"
    message = r"'five' in row 5 of column 2 of X. The values of this column were numbers in the fit"
    with pytest.raises(ValueError, match=message):
        tree.predict(X)


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match=r"string to float: 'a'$"):
        RobustTreeClassifier().fit(TEXT, Y)
    with pytest.raises(ValueError, match="infinity"):
        RobustTreeClassifier().fit([[np.inf, 1.0]] * N, Y)


def test_numbers_written_as_text_are_not_to_blame() -> None:
    X = np.array([["1.5", "2"]] * N, dtype=object)
    X[7, 1] = "two"
    with pytest.raises(ValueError, match="'two' in row 7 of column 1"):
        RobustTreeClassifier().fit(X, Y)


def test_text_at_predict() -> None:
    tree = RobustTreeClassifier().fit(NUMBERS[:, None], Y)
    with pytest.raises(
        ValueError, match=r"'a' in row 1 of column 0 of X. The values of this column were"
    ):
        tree.predict(np.array([[1], ["a"]], dtype=object))


# --- columns of frames ---------------------------------------------------------------------------


def repeated(library: str) -> Any:
    if library == "pandas":
        return pd.DataFrame(np.ones((N, 3)), columns=["a", "b", "a"])
    return pa.Table.from_arrays([pa.array(NUMBERS)] * 3, names=["a", "b", "a"])


@EVERY_ESTIMATOR
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_one_name(cls: Any, library: str) -> None:
    message = "X has 2 columns with the name 'a'. Give each column a name of its own"
    with pytest.raises(ValueError, match=message):
        small(cls, 2)().fit(repeated(library), Y)
    model = small(cls, 2)().fit(pd.DataFrame({"a": NUMBERS}), Y)
    with pytest.raises(ValueError, match=message):
        model.predict(repeated(library))


@EVERY_LIBRARY
@pytest.mark.parametrize(
    "nested", [[[1], [2]] * (N // 2), [{"b": 1}] * N], ids=["lists", "structs"]
)
def test_lists_and_structs(frame: Callable[..., Any], nested: Any) -> None:
    """Lists of one number became this number."""
    message = "Column 'a' holds (lists or structs, which|values that cannot be categories)"
    with pytest.raises(ValueError, match=message):
        RobustTreeClassifier().fit(frame({"b": NUMBERS, "a": nested}), Y)


@EVERY_ESTIMATOR
def test_no_columns(cls: Any) -> None:
    message = (
        r"Found array with 0 feature\(s\) \(shape=\(60, 0\)\) while a minimum of 1 is required"
    )
    with pytest.raises(ValueError, match=message):
        small(cls, 2)().fit(pd.DataFrame(index=range(N)), Y)


@EVERY_LIBRARY
@pytest.mark.parametrize(
    "beside", [{}, {"b": NUMBERS}, {"b": TEXT}], ids=["alone", "number", "text"]
)
def test_whole_numbers_that_would_be_merged(frame: Callable[..., Any], beside: Any) -> None:
    """float64 merged them wherever a frame is not one array of whole numbers."""
    message = f"cannot tell apart: Column 'a' has {LARGE} and {LARGE + 1}"
    for numbers in ([LARGE, LARGE + 1] * (N // 2), [LARGE, LARGE + 1, None] * (N // 3)):
        column = pd.array(numbers, dtype="Int64") if frame is pd.DataFrame else numbers
        with pytest.raises(ValueError, match=message):
            RobustTreeClassifier().fit(frame({"a": column, **beside}), Y)
    RobustTreeClassifier().fit(frame({"a": [LARGE, LARGE + 2**20] * (N // 2), **beside}), Y)


def test_whole_numbers_are_told_apart_as_categories() -> None:
    X = pd.DataFrame({"a": [LARGE, LARGE + 1] * (N // 2)})
    tree = RobustTreeClassifier(categorical_features=["a"]).fit(X, np.arange(N) % 2)
    assert tree.score(X, np.arange(N) % 2) == 1


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2020, 1, 1) + datetime.timedelta(days) for days in range(N)],
        ["n/a", *range(1, N)],
    ],
    ids=["dates", "numbers"],
)
def test_objects_with_an_order(values: list[Any]) -> None:
    X = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    with pytest.warns(UserWarning, match="Column 'a' has the type object, so its 60 different"):
        RobustTreeClassifier().fit(X, Y)
    # Neither if they are meant to be categories,
    RobustTreeClassifier(categorical_features=["a"]).fit(X, Y)
    RobustTreeClassifier().fit(X.astype("category"), Y)
    # nor if they may be codes.
    RobustTreeClassifier().fit(pd.DataFrame({"a": pd.Series([1, "x"] * (N // 2))}), Y)


@EVERY_LIBRARY
def test_categories_of_another_type_at_predict(frame: Callable[..., Any]) -> None:
    tree = RobustTreeClassifier().fit(frame({"a": ["1", "2"] * (N // 2)}), np.arange(N) % 2)
    with pytest.warns(UserWarning, match="such as 1, have another type than .* such as '1'"):
        tree.predict(frame({"a": [1, 2]}))
    tree.predict(frame({"a": ["3", "4"]}))  # unknown, but of the same type
    tree.predict(frame({"a": pa.nulls(2).to_pylist()}))
    tree = RobustTreeClassifier(categorical_features=["a"]).fit(frame({"a": [1, 2] * (N // 2)}), Y)
    tree.predict(frame({"a": [0.5, 1.5]}))  # unknown numbers


# --- how columns of text are read ----------------------------------------------------------------

WORDS = ["b", None, "a", "ü", "a", "", None, "b", "c", "b"] * 6


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(WORDS, dtype="str"),
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype=pd.StringDtype("python")),
        pd.Series(WORDS, dtype=pd.StringDtype("pyarrow")),
        pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(pd.Categorical(WORDS, categories=["unused", "c", "b", "ü", "a", "", "none"])),
        pl.Series(WORDS),
        pl.Series(["unused", *WORDS], dtype=pl.Categorical)[1:],
        pl.Series(WORDS, dtype=pl.Enum(["unused", "c", "b", "ü", "a", "", "none"])),
        pa.array(WORDS),
        pa.array(WORDS, pa.large_string()),
        pa.array(["unused", *WORDS])[1:],
        pa.chunked_array([WORDS[:7], WORDS[7:8], [], WORDS[8:]]),
        pa.chunked_array([pa.array(each).dictionary_encode() for each in (WORDS[:7], WORDS[7:])]),
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2, 3, 4, 5, None, 6, 7, 0] * 6),
            pa.array(["b", None, "a", "ü", "a", "", "b", "c", "unused"]),
        ),
    ],
    ids=lambda column: (
        f"{type(column).__module__.partition('.')[0]}-{getattr(column, 'dtype', '')}"
    ),
)
def test_text_is_read_alike(column: Any) -> None:
    """Missing values, values of no row, chunks and repeated values of a dictionary included."""
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    X = frame[type(column).__module__.partition(".")[0]]({"a": column})
    y = [word in ("a", "c") for word in WORDS]
    tree = RobustTreeClassifier().fit(X, y)
    assert tree.categories_[0].tolist() == ["", "a", "b", "c", "ü"]
    assert_array_equal(tree.encode_categories(X)[:10, 0], [2, np.nan, 1, 4, 1, 0, np.nan, 2, 3, 2])
    assert_array_equal(tree.predict(X), y)


@pytest.mark.parametrize("dtype", ["str", object, "category"], ids=str)
def test_a_column_of_text_without_values(dtype: Any) -> None:
    X = pd.DataFrame({"a": pd.Series([None] * N, dtype=dtype), "b": NUMBERS})
    tree = RobustTreeClassifier().fit(X, Y)
    assert len(tree.categories_[0]) == 0
    for frame in (pl.DataFrame, pa.table):
        column = pl.Series([None] * N, dtype=pl.String) if frame is pl.DataFrame else pa.nulls(N)
        tree.predict(frame({"a": column, "b": NUMBERS}))

"""Tables with categories, as users have them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators_list import ESTIMATORS
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score
from sklearn.tree import export_text as export_text_of_sklearn

import hardwood
from hardwood import (
    AdaptiveForestClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.plotting import export_text, plot_tree

pd = pytest.importorskip("pandas")

EVERY_ESTIMATOR = pytest.mark.parametrize("cls", ESTIMATORS)
N_ROWS = 300


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    """Two columns of categories, of which the first one matters, and a number."""
    color = rng.choice(["red", "green", "blue", "cyan", "pink", "gray"], N_ROWS).astype(object)
    color[rng.random(N_ROWS) < 0.1] = None
    shape = pd.Categorical(rng.choice(["round", "square", "flat"], N_ROWS))
    return pd.DataFrame({"color": color, "size": rng.normal(size=N_ROWS), "shape": shape})


@pytest.fixture
def y(table: Any, rng: np.random.Generator) -> Any:
    warm = table["color"].isin(["red", "pink", "cyan"]) | table["color"].isna()
    return np.where(rng.random(N_ROWS) < 0.1, ~warm, warm).astype(int)


def small(cls: Any, **options: Any) -> Any:
    if "n_estimators" in cls().get_params():
        options["n_estimators"] = 8
    return cls(random_state=0, **options)


# --- data frames ---------------------------------------------------------------------------------


@EVERY_ESTIMATOR
def test_frames_are_taken_as_they_are(cls: Any, table: Any, y: Any) -> None:
    model = small(cls).fit(table, y)
    assert model.score(table, y) > 0.85
    assert_array_equal(model.is_categorical_, [True, False, True])
    assert_array_equal(model.feature_names_in_, ["color", "size", "shape"])
    assert model.n_features_in_ == 3
    categories = model.categories_
    assert categories[0].tolist() == sorted(set(table["color"].dropna()))
    assert categories[1] is None
    assert categories[2].tolist() == ["flat", "round", "square"]
    assert model.feature_importances_.argmax() == 0
    assert model.apply(table).shape[0] == N_ROWS
    paths = model.decision_path(table)
    indicator = paths[0] if isinstance(paths, tuple) else paths
    assert indicator.shape[0] == N_ROWS
    assert cross_val_score(small(cls), table, y, cv=2).mean() > 0.7


def as_strings(table: Any) -> Any:
    return table.astype({"color": "string", "shape": "string"})


def as_objects(table: Any) -> Any:
    return table.astype({"color": object, "shape": object})


def as_categories(table: Any) -> Any:
    return table.astype({"color": "category"})


def texts(column: Any) -> list[str | None]:
    return [None if missing else text for text, missing in zip(column, column.isna(), strict=True)]


def as_polars(table: Any) -> Any:
    polars = pytest.importorskip("polars")
    shape = polars.Series("shape", table["shape"].tolist(), dtype=polars.Categorical)
    return polars.DataFrame(
        {"color": texts(table["color"]), "size": table["size"].to_numpy(), "shape": shape}
    )


def as_polars_enum(table: Any) -> Any:
    polars = pytest.importorskip("polars")
    names = polars.Enum(["square", "round", "flat", "unused"])
    return as_polars(table).with_columns(polars.col("shape").cast(polars.String).cast(names))


def as_arrow(table: Any) -> Any:
    arrow = pytest.importorskip("pyarrow")
    return arrow.table(
        {
            "color": arrow.array(texts(table["color"])).dictionary_encode(),
            "size": table["size"].to_numpy(),
            "shape": arrow.array(table["shape"].tolist()),
        }
    )


@pytest.mark.parametrize(
    "convert", [as_strings, as_objects, as_categories, as_polars, as_polars_enum, as_arrow]
)
def test_the_kind_of_frame_does_not_matter(
    convert: Callable[[Any], Any], table: Any, y: Any
) -> None:
    expected = RobustForestClassifier(8, random_state=0).fit(table, y)
    other = convert(table)
    model = RobustForestClassifier(8, random_state=0).fit(other, y)
    assert_array_equal(model._compact.nodes, expected._compact.nodes)
    assert_array_equal(model.predict_proba(other), expected.predict_proba(table))
    assert_array_equal(expected.predict_proba(other), expected.predict_proba(table))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "objects", "NA"])
def test_nan_is_no_category(library: str) -> None:
    """In columns of polars and pyarrow each NaN was a category of its own, and the NA of pandas an error."""
    pd = pytest.importorskip("pandas")
    columns = {"a": [1.0, 2.0, np.nan, np.nan, 2.0, 1.0] * 5, "b": np.arange(30.0)}
    frame = pd.DataFrame(columns)
    X = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(columns),
        "objects": lambda: frame.to_numpy(dtype=object),
        "NA": lambda: frame.astype(object).where(frame.notna(), pd.NA).to_numpy(),
    }[library]()
    y = [0, 1, 0, 1, 1, 0] * 5
    tree = RobustTreeClassifier(categorical_features=[0], max_depth=2, random_state=0)
    expected = clone(tree).fit(frame.to_numpy(), y).predict_proba(frame.to_numpy())
    tree.fit(X, y)
    assert tree._categories.of_column == {0: [1.0, 2.0]}
    assert_array_equal(tree.predict_proba(X), expected)


def test_arrays_of_objects_become_numbers(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 2)).astype(object)
    model = RobustTreeClassifier().fit(X, X[:, 0].astype(float) > 0)
    assert not model.is_categorical_.any()
    with pytest.raises(ValueError, match="could not convert"):
        RobustTreeClassifier().fit(np.array([["a"], ["b"]], dtype=object), [0, 1])


# --- which columns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "chosen", [[True, False, True], [0, 2], np.array([2, 0]), ["color", "shape"]], ids=str
)
def test_masks_indices_and_names(chosen: Any, table: Any, y: Any) -> None:
    model = RobustTreeClassifier(categorical_features=chosen, random_state=0).fit(table, y)
    expected = RobustTreeClassifier(random_state=0).fit(table, y)
    assert_array_equal(model._compact.nodes, expected._compact.nodes)


def test_numbers_can_be_categories(rng: np.random.Generator) -> None:
    X = rng.choice([-7.5, 0.0, 3.0, 1e9, np.nan], (200, 1))
    y = np.isin(X[:, 0], [-7.5, 3.0])
    model = RobustTreeClassifier(categorical_features=[0]).fit(X, y)
    assert model.get_depth() == 1
    assert model.categories_[0].tolist() == [-7.5, 0.0, 3.0, 1e9]
    assert_array_equal(model.predict(X), y)
    assert_array_equal(model.predict([[-7.5], [0.0], [5.0]]), [True, False, False])


def test_arrays_of_objects_with_chosen_columns() -> None:
    X = np.array([["a", 1], ["b", 2], [None, 3], [float("nan"), 4]] * 10, dtype=object)
    model = RobustTreeClassifier(categorical_features=[0]).fit(X, [0, 1, 0, 0] * 10)
    assert model.categories_[0].tolist() == ["a", "b"]
    assert_array_equal(model.predict(X[:4]), [0, 1, 0, 0])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([True, False], "mask, must have the length 3"),
        ([3], "from 0 to n_features − 1 = 2"),
        ([-1], "from 0 to"),
        (["colour"], r"names \['colour'\]"),
        ([[0]], "one dimension"),
        ([0.5], "bool, int or str"),
    ],
    ids=str,
)
def test_wrong_columns(chosen: Any, words: str, table: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=words):
        RobustTreeClassifier(categorical_features=chosen).fit(table, y)


def test_names_need_a_frame() -> None:
    with pytest.raises(ValueError, match="X does not"):
        RobustTreeClassifier(categorical_features=["x"]).fit([[0.0], [1.0]], [0, 1])


def test_wrong_parameters(table: Any, y: Any) -> None:
    for wrong in ({"categorical_features": "all"}, {"category_smoothing": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RobustTreeClassifier(**wrong).fit(table, y)
    with pytest.raises(ValueError, match=r"must be 0 for features with categories.*\[0\]"):
        RobustTreeClassifier(monotonic_cst=[1, 1, 0]).fit(table, y)
    RobustTreeClassifier(monotonic_cst=[0, 1, 0]).fit(table, y)


def test_values_that_cannot_be_categories(y: Any) -> None:
    X = pd.DataFrame({"a": [[1]] * N_ROWS})
    with pytest.raises(ValueError, match="Column 'a' holds values that cannot be categories"):
        RobustTreeClassifier().fit(X, y)


def test_too_many_categories() -> None:
    X = pd.DataFrame({"id": [f"row {i}" for i in range(65_536)]})
    with pytest.raises(ValueError, match=r"Column 'id' has 65,536 categories; at most 65,535"):
        RobustTreeClassifier().fit(X, np.arange(len(X)) % 2)


def test_values_of_several_types() -> None:
    X = pd.DataFrame({"a": pd.Series([1, "1", True, None, 2.5] * 20, dtype=object)})
    y = [0, 1, 0, 1, 0] * 20
    model = RobustTreeClassifier().fit(X, y)
    assert_array_equal(model.predict(X), y)  # True is 1


# --- predictions ---------------------------------------------------------------------------------


def test_unknown_categories_go_where_missing_values_go(table: Any, y: Any) -> None:
    model = RobustForestClassifier(8, random_state=0).fit(table, y)
    unknown, missing = (table.assign(color=value) for value in ("mauve", None))
    assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))
    assert model.score(missing.assign(color=None), np.ones(N_ROWS)) > 0.8  # as learnt


def test_categories_that_are_absent_from_a_node_go_to_the_larger_child() -> None:
    X = pd.DataFrame({"a": ["u"] * 30 + ["v"] * 20, "b": ["x"] * 40 + ["y"] * 10})
    model = RobustTreeClassifier(criterion="gini", max_depth=1).fit(X, [0] * 30 + [1] * 20)
    other = pd.DataFrame({"a": ["w", None], "b": ["x", "x"]})
    assert_array_equal(model.predict(other), [0, 0])


@EVERY_ESTIMATOR
def test_copies_and_files(cls: Any, table: Any, y: Any, tmp_path: Path) -> None:
    model = small(cls).fit(table, y)
    hardwood.save(model, tmp_path / "model.hw")
    for copy in (
        pickle.loads(pickle.dumps(model)),
        hardwood.load(tmp_path / "model.hw"),
        clone(model).fit(table, y),
    ):
        assert_array_equal(copy.predict_proba(table), model.predict_proba(table))
        assert [c if c is None else c.tolist() for c in copy.categories_] == [
            c if c is None else c.tolist() for c in model.categories_
        ]


def test_trees_of_a_forest(table: Any, y: Any) -> None:
    for cls in (RobustForestClassifier, RobustExtraTreesClassifier):
        forest = cls(8, random_state=0).fit(table, y)
        mean = np.mean([tree.predict_proba(table) for tree in forest.estimators_], axis=0)
        np.testing.assert_allclose(mean, forest.predict_proba(table))


def test_warm_start(table: Any, y: Any) -> None:
    grown = RobustForestClassifier(4, warm_start=True, random_state=0).fit(table, y)
    grown.set_params(n_estimators=8).fit(table, y)
    at_once = RobustForestClassifier(8, random_state=0).fit(table, y)
    assert_array_equal(grown.predict_proba(table), at_once.predict_proba(table))


def test_pruning(table: Any, y: Any) -> None:
    tree = RobustTreeClassifier(criterion="gini", random_state=0).fit(table, y)
    path = tree.cost_complexity_pruning_path(table, y)
    pruned = clone(tree).set_params(ccp_alpha=path.ccp_alphas[-3]).fit(table, y)
    assert 1 < pruned.get_n_leaves() < tree.get_n_leaves()
    assert pruned._compact.has_sets
    assert pruned.score(table, y) > 0.8


def test_a_fit_without_categories_forgets_them(table: Any, y: Any) -> None:
    model = RobustTreeClassifier().fit(table, y)
    model.fit(table[["size"]], y)
    assert not model.is_categorical_.any()
    assert model.tree_.node_count > 1


def test_frames_must_match_the_fit(table: Any, y: Any) -> None:
    model = RobustTreeClassifier().fit(table, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["size", "color", "shape"]])
    with pytest.raises(ValueError, match="feature"):
        model.predict(table[["color", "size"]])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(table.assign(size=np.inf))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        RobustTreeClassifier().fit(table, y[:-1])


# --- numbers instead of categories ---------------------------------------------------------------


@pytest.mark.parametrize("cls", [RobustTreeClassifier, RobustForestClassifier])
def test_a_model_of_numbers(cls: Any, table: Any, y: Any) -> None:
    model = small(cls).fit(table, y)
    numbers = model.encode_categories(table)
    assert numbers.dtype == np.float64
    assert_array_equal(np.isnan(numbers[:, 0]), table["color"].isna())
    known = ~np.isnan(numbers[:, 0])
    names = model.categories_[0][numbers[known, 0].astype(int)]
    assert_array_equal(names, table["color"][known])
    assert_array_equal(
        model.without_categories().predict_proba(numbers), model.predict_proba(table)
    )
    with pytest.raises(NotFittedError):
        cls().encode_categories(table)


def test_shap(table: Any, y: Any) -> None:
    """The path that docs/categories.md tells."""
    shap = pytest.importorskip("shap")
    model = RobustForestClassifier(8, random_state=0).fit(table, y)
    numbers = model.encode_categories(table)
    explainer = shap.explainers.Exact(
        model.without_categories().predict_proba, shap.maskers.Independent(numbers, 50)
    )
    values = explainer(numbers[:5])
    total = values.base_values + values.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(table[:5]), atol=1e-9)
    assert np.abs(values.values[..., 1]).mean(axis=0).argmax() == 0


# --- what scikit-learn's trees cannot hold -------------------------------------------------------


def test_tree_and_to_sklearn_say_what_to_do(table: Any, y: Any) -> None:
    tree = RobustTreeClassifier().fit(table, y)
    with pytest.raises(AttributeError, match=r"hardwood\.plotting"):
        _ = tree.tree_
    assert not hasattr(tree, "tree_")
    forest = RobustForestClassifier(2, random_state=0).fit(table, y)
    for model in (tree, forest):
        with pytest.raises(ValueError, match="to_onnx"):
            model.to_sklearn()


# --- trees in words ------------------------------------------------------------------------------


def test_text_of_sets() -> None:
    X = pd.DataFrame({"a": ["u", "v", "w", "u"] * 5, "n": range(20)})
    y = np.array(["no", "yes", "no", "no"] * 5)
    tree = RobustTreeClassifier(random_state=0).fit(X, y)
    assert export_text(tree).splitlines() == [
        "|--- a not in {v}",
        "|   |--- class: no",
        "|--- a in {v}",
        "|   |--- class: yes",
    ]
    text = export_text(tree, feature_names=["b", "m"], class_names=["0", "1"], show_weights=True)
    assert text.splitlines()[1] == "|   |--- weights: [1.00, 0.00] class: 0"
    assert text.startswith("|--- b not in {v}")


def test_long_sets_are_cut() -> None:
    X = pd.DataFrame({"a": [f"{i:02}" for i in range(40)] * 3})
    tree = RobustTreeClassifier().fit(X, np.arange(120) % 2)
    assert ", … 17 more}" in export_text(tree, max_categories=3)


def test_text_of_numbers_is_that_of_scikit_learn(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 3))
    tree = RobustTreeClassifier(max_depth=3, random_state=0).fit(X, X[:, 0] > X[:, 1])
    assert export_text(tree) == export_text_of_sklearn(tree)


def test_wrong_trees_and_names(table: Any, y: Any) -> None:
    forest = RobustForestClassifier(2, random_state=0).fit(table, y)
    with pytest.raises(TypeError, match="decision tree of hardwood"):
        export_text(forest)
    assert export_text(forest.estimators_[0], max_depth=0).count("truncated branch") > 0
    with pytest.raises(ValueError, match="feature_names must have 3 names"):
        export_text(forest.estimators_[0], feature_names=["a"])


def test_drawing(table: Any, y: Any) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    tree = RobustTreeClassifier(max_depth=2, random_state=0).fit(table, y)
    ax = plot_tree(tree, ax=figure.Figure().subplots())
    assert len(ax.texts) == len(tree._compact.nodes)
    assert any("color" in text.get_text() and "{" in text.get_text() for text in ax.texts)
    shallow = plot_tree(tree, max_depth=1, ax=figure.Figure().subplots())
    assert len(shallow.texts) == 3


# --- importances ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        RobustForestClassifier(40, random_state=0),
        RobustForestClassifier(40, random_state=0, class_weight="balanced_subsample"),
        RobustExtraTreesClassifier(40, random_state=0, bootstrap=True),
        AdaptiveForestClassifier(40, random_state=0, full_data=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_permutation_importances(model: Any, rng: np.random.Generator) -> None:
    """A column of many categories that mean nothing looks important, but not out of bag."""
    table = pd.DataFrame(
        {
            "signal": rng.choice(["a", "b", "c"], N_ROWS),
            "id": [f"{i}" for i in rng.integers(0, 150, N_ROWS)],
            "noise": rng.normal(size=N_ROWS),
        }
    )
    y = np.where(rng.random(N_ROWS) < 0.25, rng.integers(0, 2, N_ROWS), table["signal"] == "a")
    model = clone(model).fit(table, y)
    found = model.oob_permutation_importances(table, y, random_state=0)
    assert found.importances.shape == (3, 5)
    assert found.importances_mean[0] > 0.15
    assert found.importances_mean[1] < 0.05
    again = model.oob_permutation_importances(table, y, random_state=0)
    assert_array_equal(again.importances, found.importances)
    seen = permutation_importance(model, table, y, n_repeats=2, random_state=0)
    assert seen.importances_mean[1] > found.importances_mean[1] - 0.01


def test_permutation_importances_need_rows_out_of_bag(table: Any, y: Any) -> None:
    forest = RobustForestClassifier(4, bootstrap=False).fit(table, y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        forest.oob_permutation_importances(table, y)
    forest = RobustForestClassifier(4).fit(table, y)
    with pytest.raises(ValueError, match="data of the fit"):
        forest.oob_permutation_importances(table, y + 1)


# --- dates and times -----------------------------------------------------------------------------


def temporal(kind: str) -> tuple[Any, Any]:
    """Return a frame of dates, durations and times of day, and what they are as numbers."""
    import datetime as dt

    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    n = 40
    moments = [dt.datetime(2020, 1, 1) + dt.timedelta(hours=6 * i) for i in range(n)]
    columns: dict[str, list[Any]] = {
        "moment": moments,
        "zone": [moment.replace(tzinfo=dt.UTC) for moment in moments],
        "day": [moment.date() for moment in moments],
        "time": [dt.time(i % 24, 30) for i in range(n)],
        "span": [dt.timedelta(hours=12 * i) for i in range(n)],
    }
    for name in columns:
        columns[name][3] = None
    days = 18262 + np.arange(n) / 4  # 2020-01-01 is 18,262 days after 1970-01-01
    numbers = np.column_stack(
        [days, days, np.floor(days), np.arange(n) % 24 + 0.5, np.arange(n) / 2]
    )
    numbers[3] = np.nan
    match kind:
        case "polars":
            return pl.DataFrame(columns), numbers
        case "pyarrow":
            return pa.table(columns), numbers
        case "pandas with pyarrow":
            return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype), numbers
        case _:
            kept = {name: columns[name] for name in ("moment", "zone", "span")}
            frame = pd.DataFrame(kept).assign(month=pd.Series(days // 30).astype("Int64"))
            frame["period"] = frame.pop("moment").dt.to_period("h")
            return frame[["period", "zone", "span"]], numbers[:, [0, 1, 4]]


@pytest.mark.parametrize("kind", ["pandas", "pandas with pyarrow", "polars", "pyarrow"])
def test_dates_and_times_are_numbers(kind: str) -> None:
    X, numbers = temporal(kind)
    y = np.arange(len(numbers)) // 7 % 2
    forest = RobustForestClassifier(5, random_state=0).fit(X, y)
    assert_array_equal(forest.encode_categories(X), numbers)
    assert not forest.is_categorical_.any()
    of_numbers = RobustForestClassifier(5, random_state=0).fit(numbers, y)
    assert_array_equal(forest.predict_proba(X), of_numbers.predict_proba(numbers))


def test_the_unit_of_dates_does_not_matter() -> None:
    """polars counts microseconds, pandas often nanoseconds."""
    pl = pytest.importorskip("polars")
    days = pd.DataFrame({"day": pd.date_range("2020", periods=60, unit="ns")})
    y = np.arange(60) // 20 % 2
    tree = RobustTreeClassifier(random_state=0).fit(days, y)
    for other in (
        days.astype("datetime64[s]"),
        pl.from_pandas(days),
        pl.from_pandas(days).cast(pl.Date),
    ):
        assert_array_equal(tree.predict(other), y)


def test_dates_can_be_categories_and_stand_beside_them() -> None:
    X = pd.DataFrame({"day": pd.date_range("2020", periods=40), "name": ["a", "b"] * 20})
    y = np.arange(40) % 2
    for chosen in (["day", "name"], "from_dtype"):
        tree = RobustTreeClassifier(categorical_features=chosen, random_state=0).fit(X, y)
        assert_array_equal(tree.is_categorical_, [chosen != "from_dtype", True])
        assert_array_equal(tree.predict(X), y)


# --- errors --------------------------------------------------------------------------------------


def test_pandas_columns_of_pyarrow_have_categories() -> None:
    pa = pytest.importorskip("pyarrow")
    names = pa.array(["a", "b"] * 20)
    columns = {
        "dictionary": names.dictionary_encode(),
        "view": names.cast(pa.string_view()),
        "number": pa.array(range(40)),
    }
    table = pa.table(columns)
    y = np.arange(40) % 2
    for X in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        forest = RobustForestClassifier(3, random_state=0).fit(X, y)
        assert_array_equal(forest.is_categorical_, [True, True, False])
        assert_array_equal(forest.categories_[0], ["a", "b"])
        assert_array_equal(forest.predict(X), y)


@pytest.mark.parametrize("has_categories", [True, False])
def test_errors_name_the_column(has_categories: bool, rng: np.random.Generator) -> None:
    X = pd.DataFrame({"size": rng.normal(size=40), "weight": rng.normal(size=40)})
    if has_categories:
        X["name"] = ["a", "b"] * 20
    y = np.arange(40) % 2
    forest = RobustForestClassifier(3, random_state=0).fit(X, y)
    for wrong in ("heavy", np.inf, 1j):
        other = X.assign(weight=wrong)
        with pytest.raises(ValueError, match=r"Column 'weight' is not a column of finite numbers"):
            forest.predict(other)
    with pytest.raises(ValueError, match=r"Column 'weight' .* to float: 'heavy'"):
        RobustTreeClassifier(categorical_features=None).fit(X.assign(weight="heavy"), y)
    # Other errors stay what they are.
    with pytest.raises(ValueError, match="names should match"):
        forest.predict(X.assign(weight="heavy").rename(columns={"size": "length"}))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        forest.predict(X[:0])


def test_lazy_frames_are_refused(table: Any, y: Any) -> None:
    pl, dd = pytest.importorskip("polars"), pytest.importorskip("dask.dataframe")
    forest = RobustForestClassifier(3, random_state=0).fit(table, y)
    for lazy, word in (
        (pl.from_pandas(table).lazy(), "collect"),
        (dd.from_pandas(table), "compute"),
    ):
        with pytest.raises(TypeError, match=word):
            forest.predict(lazy)
        with pytest.raises(TypeError, match=word):
            RobustForestClassifier(3).fit(lazy, y)

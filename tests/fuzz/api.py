"""Fuzz the public API: ``python -m tests.fuzz.api --seconds 60 --seed 1``.

Most cases are valid, some are slightly wrong, a few are nonsense. They may be refused with a
ValueError or a TypeError. What is fitted must agree with itself: leaves with probabilities, one
thread with several, files and pickles with the model, whole weights with repeated rows.
"""

from __future__ import annotations

import functools
import inspect
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone

import hardwood
from hardwood import (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    ANETreeClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.audit import LabelAudit
from hardwood.criteria import RECORDS, resolve
from hardwood.plotting import export_text
from tests.fuzz import audits, inputs, runner

ESTIMATORS = (
    AdaptiveForestClassifier,
    AdaptiveTreeClassifier,
    ANEForestClassifier,
    ANETreeClassifier,
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
Rng = np.random.Generator
Array = NDArray[Any]


class ScoreError(Exception):
    """What `raising` raises."""


def raising(y_true: Any, y_pred: Any) -> float:
    raise ScoreError


# Usual values first, odd ones last: the earlier in its list, the more often a value is drawn.
PARAMETERS: dict[str, list[Any]] = {
    "splitter": ["best", "random", "worst"],
    "max_depth": [None, 3, 1, 2**31, 2**70, 0],
    "min_samples_split": [2, 5, 0.1, 1.0, 10**6, 1, 2**70],
    "min_samples_leaf": [1, 3, 0.1, 0.5, 10**6, 0, 2**70],
    "min_weight_fraction_leaf": [0.0, 0.1, 0.5, 0.7, float("nan")],
    "max_features": [None, "sqrt", "log2", 1, 2, 0.5, 1e-9, 1.0, 10**6, 0, 2**70],
    "max_leaf_nodes": [None, 2, 5, 10**9, 2**70, 1],
    "min_impurity_decrease": [0.0, 1e-3, 1.0, 1e300, float("inf"), -1.0],
    "ccp_alpha": [0.0, 1e-3, 1e300, float("inf")],
    "class_weight": [None, "balanced", {0: 2.0}, {0: 0.0, 1: 1e300}, {0: -1.0}],
    "monotonic_cst": [None, [1], [1, -1], [0, 1, -1, 0], {"x0": 1}],
    "categorical_features": [None, [0], [True, False], [0, 1, 2], "from_dtype", ["x0"], [-1], []],
    "category_smoothing": [0.0, 10.0, 1e-300, 1e300, float("inf"), -1.0, float("nan")],
    "random_state": [0, None, 2**32 - 1, np.random.RandomState(1), 2**70, -1],
}
# Of forests, beside the others but the splitter. Their trees are few, as there is much to fuzz.
OF_FORESTS: dict[str, list[Any]] = {
    "n_estimators": [3, 1, 7, 0, 2**64],
    "bootstrap": [True, False],
    "max_samples": [None, 0.5, 20, 1, 500, 1.0, 1e-9, 2**40, 2**70, 0],
    "oob_score": [False, True, raising],
    "n_jobs": [None, 2, 5, -1, 0, 2**70],
    "warm_start": [False, True],
    "class_weight": [*PARAMETERS["class_weight"], "balanced_subsample"],
}
# Of the models that adapt. They choose what the others are told.
OF_ADAPTIVE: dict[str, list[Any]] = {
    "n_estimators": [12, 5, 1, 40],
    "full_data": [True, False],
    "splitter": ["auto", "best", "random"],
    "scoring": ["auto", "accuracy", "balanced_accuracy", "log_loss", "roc_auc", "guess"],
    "decision": ["accuracy", "balanced"],
    "noise_matrix": [None, [[0.8, 0.2], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]], [[1.0]]],
    "oob_score": [False, True],
    "n_jobs": [None, 2],
    "max_depth": PARAMETERS["max_depth"],
    "class_weight": PARAMETERS["class_weight"],
    "random_state": PARAMETERS["random_state"],
    "categorical_features": PARAMETERS["categorical_features"],
}
NAMED = [record for record in RECORDS.values() if record.class_name]
OF_TWO_CLASSES = [record.name for record in NAMED if record.two_classes_only]
NAMES = [record.name for record in NAMED if not record.two_classes_only]
WITH_PARAMETERS = [record for record in NAMED if record.parameters]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", "O", "c16"]
AUDITS = 0.08  # share of the cases
SPECIAL = [np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324, 2.0**53, 2.0**53 + 1, 1 + 2**-52]


def usually(rng: Rng, options: list[Any]) -> Any:
    return options[int(len(options) * rng.random() ** 3)]


def sometimes(rng: Rng, share: float) -> bool:
    return bool(rng.random() < share)


def criterion(rng: Rng) -> Any:
    edge = [0.0, 1.0, 1e-300, 1e-12, 1 - 2**-53, 0.5, 1 + 2**-52, 5.0, 1e300]
    if sometimes(rng, 0.5):
        record = WITH_PARAMETERS[rng.integers(len(WITH_PARAMETERS))]
        values = [
            float(rng.choice(edge)) if sometimes(rng, 0.5) else float(rng.random())
            for _ in record.parameters
        ]
        return type(resolve(record.name))(*values)
    names = OF_TWO_CLASSES if sometimes(rng, 0.1) else NAMES
    return names[rng.integers(len(names))]


def features(rng: Rng) -> Array:
    shape = (int(rng.integers(0, 200)), int(rng.integers(1, 10)))
    if sometimes(rng, 0.02):
        shape = (int(rng.integers(2000, 6000)), int(rng.integers(1, 5)))
    if sometimes(rng, 0.5):
        X = rng.integers(0, rng.integers(2, 300), shape).astype(float)
    else:
        X = rng.normal(scale=10.0 ** rng.integers(-5, 6), size=shape)
    if sometimes(rng, 0.4):
        odd = rng.random(shape) < rng.random() / 2
        X[odd] = rng.choice(SPECIAL, odd.sum())
    if sometimes(rng, 0.02):
        X[rng.random(shape) < 0.01] = np.inf
    with np.errstate(all="ignore"):
        X = X.astype(usually(rng, DTYPES))
    X = usually(rng, [X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1, ::-1]])
    if sometimes(rng, 0.02):
        X = X.ravel() if sometimes(rng, 0.5) else X[:, :0]
    X.flags.writeable = X.flags.writeable and sometimes(rng, 0.9)
    return X


def labels(rng: Rng, n_rows: int) -> Array:
    n_rows += int(sometimes(rng, 0.01))
    y = rng.integers(0, rng.choice([1, 2, 3, 7, 300], p=[0.1, 0.5, 0.2, 0.15, 0.05]), n_rows)
    text = y.astype(str)
    kinds = [y, y.astype(float), text, text.astype(object), y > 0, np.stack([y, y], axis=1)]
    y = usually(rng, kinds)
    if y.dtype == float and sometimes(rng, 0.05):
        y[:1] = np.nan
    return y


def weights(rng: Rng, n_rows: int) -> Array | None:
    kinds = [
        None,
        rng.integers(0, 4, n_rows),
        rng.random(n_rows),
        rng.exponential(size=n_rows) * (rng.random(n_rows) < 0.5),
        10.0 ** rng.integers(-300, 300, n_rows),
        np.full(n_rows, 5e-324),
        np.full(n_rows, 1e308),
        np.full(n_rows, 2.0**60),
        np.zeros(n_rows),
        rng.normal(size=n_rows),
        np.full(n_rows, np.nan),
    ]
    return usually(rng, kinds)


def more_of(rng: Rng, estimator: Any, y: Array) -> dict[str, Any]:
    """What else a fit may be told: which rows belong together, and labels before a review."""
    accepted = inspect.signature(estimator.fit).parameters
    n_rows = len(y)
    groups = rng.integers(0, max(1, n_rows // 3), n_rows)
    possible = {
        "groups": [groups, groups.astype(str), np.zeros(n_rows), groups[:-1], groups * np.nan],
        "observed": [rng.permutation(y), y, y[:-1], np.full(n_rows, "other")],
    }
    return {
        name: usually(rng, values)
        for name, values in possible.items()
        if name in accepted and sometimes(rng, 0.2)
    }


def table(rng: Rng, X: Array) -> Any:
    """X as people pass it: an array, a list, a sparse matrix, or a frame that may have text."""
    if X.ndim != 2 or X.dtype.kind == "c":
        return X
    kind = usually(rng, ["array", "frame", "text", "polars", "sparse", "list"])
    if kind == "sparse" and X.dtype.str in ("<f8", "<f4", "<i4", "|u1"):
        return usually(rng, [scipy.sparse.csr_array, scipy.sparse.csc_array])(X)
    if kind == "list":
        return X.tolist()
    if kind == "array":
        return X
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    if kind == "polars" and X.dtype.isnative and X.dtype.name not in ("float16", "object"):
        return pl.from_pandas(frame)
    if kind == "text" and X.shape[1] and X.dtype.kind in "iuf":
        with np.errstate(all="ignore"):
            codes = np.nan_to_num(X[:, 0].astype(float)).astype(np.int64) % 30
        names = [f"c{i}" if i else None for i in codes]
        frame["x0"] = pd.Series(names, dtype=usually(rng, ["category", object, "string"]))
    return frame


class Case(NamedTuple):
    """A fit, and the seed of what is done with it."""

    estimator: Any
    X: Any
    y: Array
    weight: Array | None
    seed: int
    more: dict[str, Any]


class Api:
    """Calls of the public API."""

    name = "api"
    n_calls = 0

    def __init__(self) -> None:
        self._is_inside = False
        for cls in (*ESTIMATORS, LabelAudit):
            for method in public_methods(cls):
                setattr(cls, method, self._counted(getattr(cls, method)))
        for function in ("save", "load"):
            setattr(hardwood, function, self._counted(getattr(hardwood, function)))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted when the fuzzer calls it, not when hardwood itself does."""

        @functools.wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            if self._is_inside:
                return function(*arguments, **options)
            self.n_calls += 1
            self._is_inside = True
            try:
                return function(*arguments, **options)
            finally:
                self._is_inside = False

        return counted

    def draw(self, seed: int) -> Case | audits.AuditCase:
        rng = np.random.default_rng(seed)
        if sometimes(rng, AUDITS):
            return audits.draw(rng, seed, table)
        values = features(rng)
        y = labels(rng, len(values))
        weight = weights(rng, len(values))
        estimator = usually(rng, [draw_tree, draw_forest, draw_adaptive, draw_ane])(rng)
        X = table(rng, values)
        if isinstance(X, pd.DataFrame) and X.dtypes.iloc[:1].ne(values.dtype).any():  # text
            categories = usually(rng, ["from_dtype", [0], ["x0"], None])
            estimator.set_params(categorical_features=categories)
        return Case(estimator, X, y, weight, seed, more_of(rng, estimator, y))

    def run(self, case: Case | audits.AuditCase) -> str:
        if isinstance(case, audits.AuditCase):
            return audits.run(case)
        model, X, y, weight = clone(case.estimator, safe=False), case.X, case.y, case.weight
        rng = np.random.default_rng([case.seed, 1])
        try:
            model.fit(X, y, weight, **case.more)
        except (ValueError, TypeError) as error:
            if "incompatible function arguments" in str(error):
                raise RuntimeError("this reached the engine") from error
            check_unfitted(model, X)
            return "refused"
        except ScoreError:
            check_unfitted(model, X)
            return "refused"
        agree(case, model, rng)
        if isinstance(model, RobustTreeClassifier):
            use(model, X, y, weight, rng)
        else:
            use_forest(model, case, rng)
        use_other_input(model, X, rng)
        return "fitted"

    def write(self, case: Case | audits.AuditCase) -> bytes:
        return pickle.dumps(case)

    def read(self, file: bytes) -> Case | audits.AuditCase:
        case: Case | audits.AuditCase = pickle.loads(file)
        return case


def public_methods(cls: type) -> list[str]:
    """The methods that do something: those that get or set parameters are left out."""
    return [
        name
        for name in dir(cls)
        if not name.startswith(("_", "get_params", "set_", "get_metadata"))
        and inspect.isfunction(inspect.getattr_static(cls, name))
    ]


def check_unfitted(model: Any, X: Any) -> None:
    """A fit that failed leaves a model that does not predict."""
    assert not hasattr(model, "_compact")
    assert not hasattr(model, "oob_score_")


def agree(case: Case, model: Any, rng: Rng) -> None:
    """What must be the same by another way."""
    X, y, weight = case.X, case.y, case.weight
    proba = model.predict_proba(X)
    parameters = model.get_params(deep=False)
    is_seeded = isinstance(parameters["random_state"], int)
    if is_seeded and "n_jobs" in parameters and sometimes(rng, 0.3):
        other = clone(case.estimator, safe=False).set_params(n_jobs=3)
        other.fit(X, y, weight, **case.more)
        np.testing.assert_array_equal(other.set_params(n_jobs=1).predict_proba(X), proba)
    if not callable(parameters.get("oob_score")) and sometimes(rng, 0.3):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.hw"
            try:
                hardwood.save(model, path)
            except (TypeError, ValueError) as error:
                if "stored" not in str(error) and "parameter" not in str(error):
                    raise  # no matter of what a file can hold
            else:
                loaded = hardwood.load(path, memory_map=sometimes(rng, 0.5))
                np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    is_whole = weight is not None and weight.dtype.kind == "i"
    if (
        type(model) is RobustTreeClassifier
        and is_whole
        and not case.more
        and isinstance(X, np.ndarray)
    ):
        compare_with_repeats(case)


def compare_with_repeats(case: Case) -> None:
    """The best split of all rows gains the same. Which one it is, and what follows, ties decide."""
    X, y, weight, options = case.X, case.y, case.weight, case.estimator.get_params()
    if options["class_weight"] is not None or options["splitter"] == "random":
        return
    if set(y) != set(y.repeat(weight)):  # a class of weight zero is still one of those there are
        return
    plain = RobustTreeClassifier(
        criterion=case.estimator.criterion,
        categorical_features=options["categorical_features"],
        max_depth=1,
        random_state=0,
    )
    gains = [
        clone(plain).fit(*data)._compact.expand()["gain"].max()
        for data in ((X, y, weight), (X.repeat(weight, 0), y.repeat(weight)))
    ]
    np.testing.assert_allclose(*gains, rtol=1e-6, atol=1e-12)


def draw_tree(rng: Rng) -> RobustTreeClassifier:
    return RobustTreeClassifier(criterion=criterion(rng), **options(rng, PARAMETERS))


def draw_forest(rng: Rng) -> Any:
    cls = [RobustForestClassifier, RobustExtraTreesClassifier][rng.integers(2)]
    parameters = {name: PARAMETERS[name] for name in PARAMETERS if name != "splitter"}
    return cls(criterion=criterion(rng), **options(rng, parameters | OF_FORESTS))


def draw_adaptive(rng: Rng) -> AdaptiveForestClassifier:
    return AdaptiveForestClassifier(**options(rng, OF_ADAPTIVE))


def draw_ane(rng: Rng) -> Any:
    cls = usually(rng, [AdaptiveTreeClassifier, ANETreeClassifier, ANEForestClassifier])
    known = {"max_depth", "max_leaf_nodes", "class_weight", "random_state", "min_samples_leaf"}
    parameters = {name: PARAMETERS[name] for name in known & set(cls._get_param_names())}
    if cls is ANEForestClassifier:
        parameters |= {"n_estimators": [3, 1]}
    return cls(**options(rng, dict(sorted(parameters.items()))))


def options(rng: Rng, parameters: dict[str, list[Any]]) -> dict[str, Any]:
    """The first value of each parameter, but of a few another one."""
    drawn = {name: values[0] for name, values in parameters.items()}
    for name in rng.choice(
        list(parameters), min(rng.integers(0, 7), len(parameters)), replace=False
    ):
        drawn[name] = usually(rng, parameters[name])
    return drawn


def other_rows(model: Any, rng: Rng) -> list[Array]:
    """Rows that were not in the fit. Models of tables with text want such."""
    if model.is_categorical_.any():
        return []
    return [rng.choice(SPECIAL, (20, model.n_features_in_))]


def n_rows_of(X: Any) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def use_forest(forest: Any, case: Case, rng: Rng) -> None:
    """Everything one can do with a fitted forest, and with its trees."""
    X, y = case.X, case.y
    votes = {"noisy": True} if isinstance(forest, AdaptiveForestClassifier) else {}
    for rows in (X, *other_rows(forest, rng)):
        proba = forest.predict_proba(rows, **votes)
        leaves = forest.apply(rows)
        assert leaves.shape == (n_rows_of(rows), len(forest))
        of_leaves = [tree._value[leaves[:, t]] for t, tree in enumerate(forest)]
        np.testing.assert_allclose(proba, np.mean(of_leaves, axis=0), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(forest.predict_proba(rows).sum(axis=1), 1, rtol=1e-6)
        assert np.isin(forest.predict(rows), forest.classes_).all()
    assert np.isfinite(forest.feature_importances_).all()
    assert np.isfinite(getattr(forest, "oob_decision_function_", 0)).all()
    copy = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(copy.predict_proba(X), forest.predict_proba(X))
    if not isinstance(forest, RobustForestClassifier):
        return
    for tree, rows in zip(forest, forest.estimators_samples_, strict=True):
        assert rows.max() < len(y)
        assert tree._expanded["n_node_samples"][0] == len(np.unique(rows))
    if forest.warm_start and sometimes(rng, 0.5):
        forest.set_params(n_estimators=forest.n_estimators + 2)
        forest.fit(X, y, case.weight, **case.more)
        assert np.isfinite(forest.predict_proba(X)).all()


def use(tree: RobustTreeClassifier, X: Any, y: Array, weight: Array | None, rng: Rng) -> None:
    """Everything one can do with a fitted tree."""
    for rows in (X, *other_rows(tree, rng)):
        proba = tree.predict_proba(rows)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
        assert np.isin(tree.predict(rows), tree.classes_).all()
        left, _ = tree._children
        assert (left[tree.apply(rows)] == -1).all()
        assert tree.decision_path(rows).shape == (n_rows_of(rows), len(left))
    importances = tree.feature_importances_
    assert np.isfinite(importances).all()
    assert (importances >= 0).all()
    assert (tree.get_n_leaves() == 1) == (tree.get_depth() == 0)
    copy = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy.predict(X), tree.predict(X))
    if not tree.is_categorical_.any():
        assert tree.to_sklearn().get_n_leaves() == tree.get_n_leaves()
    export_text(tree, max_depth=2)
    if type(tree) is RobustTreeClassifier and sometimes(rng, 0.2):
        path = tree.cost_complexity_pruning_path(X, y, weight)
        assert len(path.ccp_alphas) == len(path.impurities)


def use_other_input(model: Any, X: Any, rng: Rng) -> None:
    """The same rows in other forms predict the same; what is no such table is refused."""
    attributes = sorted(vars(model))
    names = list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None
    some = rows_of(X, rng.integers(0, n_rows_of(X), rng.integers(1, 12)))
    proba = model.predict_proba(some)
    has_categories = model.is_categorical_.any()
    if has_categories and hasattr(X, "columns"):
        frame = some if isinstance(some, pd.DataFrame) else some.to_pandas()
        pairs = [(some, form) for form in inputs.same_table(frame, rng)]
        plain = np.zeros((1, X.shape[1]))
    else:
        plain = as_floats(some)
        pairs = inputs.valid_forms(plain, names, rng, dense=has_categories)
        if not (has_categories and (np.abs(plain) >= 2**53).any()):  # other categories when rounded
            pairs.append((plain, some))
    expected: dict[tuple[int, str], Any] = {}
    for rows, form in pairs:
        for method in rng.choice(METHODS, 3, replace=False, p=SHARES):
            key = id(rows), method
            if key not in expected:
                expected[key] = comparable(getattr(model, method)(rows))
            np.testing.assert_array_equal(
                comparable(getattr(model, method)(form)), expected[key], err_msg=method
            )
    bad = inputs.refused_shapes(model.n_features_in_, names)
    if not has_categories:
        bad += inputs.refused_values(plain, names, rng)
    for rows in inputs.chosen(bad, 20, rng):
        method = METHODS[rng.integers(len(METHODS))]
        check_refused(getattr(model, method), rows)
    assert sorted(vars(model)) == attributes
    np.testing.assert_array_equal(model.predict_proba(some), proba)


SHARES = [0.24, 0.24, 0.24, 0.24, 0.04]  # paths of forests take long
METHODS = ["predict_proba", "predict_log_proba", "predict", "apply", "decision_path"]


def check_refused(method: Callable[[Any], Any], rows: Any) -> None:
    try:
        method(rows)
    except (ValueError, TypeError) as error:
        if "incompatible function arguments" in str(error):
            raise RuntimeError(f"this reached the engine: {rows!r}") from error
    else:
        raise AssertionError(f"{method.__name__} takes {rows!r}")


def comparable(result: Any) -> Array:
    """A result as one array. Paths of forests come with the start of each tree."""
    paths, *rest = result if isinstance(result, tuple) else (result,)
    if scipy.sparse.issparse(paths):
        parts = [np.array(paths.shape), paths.indptr, paths.indices, paths.data, *rest]
        return np.concatenate(parts)
    return np.asarray(paths)


def rows_of(X: Any, rows: Array) -> Any:
    if isinstance(X, pd.DataFrame):
        try:
            return X.iloc[rows]
        except ValueError:  # pandas does not take rows from numbers of the other byte order
            return X.iloc[: len(rows)]
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


def as_floats(X: Any) -> Array:
    """The same values in a plain array."""
    if scipy.sparse.issparse(X):
        X = X.toarray()
    if isinstance(X, pd.DataFrame):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(X, pl.DataFrame):
        return X.to_numpy().astype(np.float64)
    return np.asarray(X).astype(np.float64)


if __name__ == "__main__":
    from tests.fuzz import api  # so that cases are stored as those of this module, not of a program

    runner.main(api.Api())

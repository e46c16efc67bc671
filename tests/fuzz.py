"""Fuzz the public API: `python tests/fuzz.py --seconds 120 --seed 0`.

Every case is drawn from its own seed, written to ``--log`` before it runs: if the interpreter
dies, the last line of the log says which case did it, and `--only SEED` runs that one alone.
Most cases are valid, some are slightly wrong, a few are nonsense. They may be refused with a
ValueError or a TypeError; anything else ends the run.
"""

from __future__ import annotations

import argparse
import faulthandler
import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier, RobustTreeClassifier
from hardwood.criteria import RECORDS, resolve
from hardwood.plotting import export_text

Rng = np.random.Generator
Array = NDArray[Any]

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
    "n_estimators": [3, 1, 7, 0],
    "bootstrap": [True, False],
    "max_samples": [None, 0.5, 20, 1, 500, 1.0, 1e-9, 2**40, 2**70, 0],
    "oob_score": [False, True],
    "n_jobs": [None, 2, 5, -1, 0],
    "warm_start": [False, True],
    "class_weight": [*PARAMETERS["class_weight"], "balanced_subsample"],
}
NAMED = [record for record in RECORDS.values() if record.class_name]
OF_TWO_CLASSES = [record.name for record in NAMED if record.two_classes_only]
NAMES = [record.name for record in NAMED if not record.two_classes_only]
WITH_PARAMETERS = [record for record in NAMED if record.parameters]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8", "O", "c16"]
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
    if sometimes(rng, 0.05):
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


def run_case(seed: int) -> bool:
    """Draw a case and run it. False if it was refused."""
    rng = np.random.default_rng(seed)
    X = features(rng)
    y = labels(rng, len(X))
    weight = weights(rng, len(X))
    estimator = usually(rng, [draw_tree, draw_forest])(rng)
    try:
        estimator.fit(X, y, weight)
    except (ValueError, TypeError) as error:
        if "incompatible function arguments" in str(error):
            raise RuntimeError("this reached the engine") from error
        return False
    if isinstance(estimator, RobustTreeClassifier):
        use(estimator, X, y, weight, rng)
    else:
        use_forest(estimator, X, y, weight, rng)
    return True


def draw_tree(rng: Rng) -> RobustTreeClassifier:
    return RobustTreeClassifier(criterion=criterion(rng), **options(rng, PARAMETERS))


def draw_forest(rng: Rng) -> Any:
    cls = [RobustForestClassifier, RobustExtraTreesClassifier][rng.integers(2)]
    parameters = {name: PARAMETERS[name] for name in PARAMETERS if name != "splitter"}
    return cls(criterion=criterion(rng), **options(rng, parameters | OF_FORESTS))


def options(rng: Rng, parameters: dict[str, list[Any]]) -> dict[str, Any]:
    """The first value of each parameter, but of a few another one."""
    drawn = {name: values[0] for name, values in parameters.items()}
    for name in rng.choice(list(parameters), rng.integers(0, 7), replace=False):
        drawn[name] = usually(rng, parameters[name])
    return drawn


def use_forest(forest: Any, X: Array, y: Array, weight: Array | None, rng: Rng) -> None:
    """Everything one can do with a fitted forest, and with one of its trees."""
    for rows in (X, rng.choice(SPECIAL, (20, X.shape[1]))):
        proba = forest.predict_proba(rows)
        mean = np.mean([tree.predict_proba(rows) for tree in forest.estimators_], axis=0)
        np.testing.assert_allclose(proba, mean, rtol=1e-6, atol=1e-12)
        assert np.isin(forest.predict(rows), forest.classes_).all()
        assert forest.apply(rows).shape == (len(rows), len(forest.estimators_))
    assert np.isfinite(forest.feature_importances_).all()
    assert np.isfinite(getattr(forest, "oob_decision_function_", 0)).all()
    copy = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(copy.predict_proba(X), forest.predict_proba(X))
    if forest.warm_start and sometimes(rng, 0.5):
        forest.set_params(n_estimators=forest.n_estimators + 2).fit(X, y, weight)
        assert np.isfinite(forest.predict_proba(X)).all()


def use(tree: RobustTreeClassifier, X: Array, y: Array, weight: Array | None, rng: Rng) -> None:
    """Everything one can do with a fitted tree."""
    for rows in (X, rng.choice(SPECIAL, (20, X.shape[1]))):
        proba = tree.predict_proba(rows)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
        assert np.isin(tree.predict(rows), tree.classes_).all()
        left, _ = tree._children
        assert (left[tree.apply(rows)] == -1).all()
        assert tree.decision_path(rows).shape == (len(rows), len(left))
    importances = tree.feature_importances_
    assert np.isfinite(importances).all()
    assert (importances >= 0).all()
    assert (tree.get_n_leaves() == 1) == (tree.get_depth() == 0)
    copy = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy.predict(X), tree.predict(X))
    if not tree.is_categorical_.any():
        assert tree.to_sklearn().get_n_leaves() == tree.get_n_leaves()
    export_text(tree, max_depth=2)
    if sometimes(rng, 0.2):
        path = tree.cost_complexity_pruning_path(X, y, weight)
        assert len(path.ccp_alphas) == len(path.impurities)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this one case")
    parser.add_argument("--log", type=Path, default=Path("fuzz.log"))
    arguments = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if arguments.only is not None:
        print("fitted" if run_case(arguments.only) else "refused")
        return
    end = time.monotonic() + arguments.seconds
    seed, fitted = arguments.seed, 0
    with arguments.log.open("w") as log:
        while time.monotonic() < end:
            log.write(f"{seed}\n")
            log.flush()
            fitted += run_case(seed)
            seed += 1
    print(f"{seed - arguments.seed} cases, {fitted} fitted")


if __name__ == "__main__":
    main()

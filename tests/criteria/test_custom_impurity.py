"""Trees grown by an impurity that is a Python function of the user's."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from cases import SMALL, Maker, continuous, distinct, missing, name_of, real_weights, ties
from forests import assert_same_forest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator
from tree_check import check_tree
from trees import assert_same_splits, assert_same_tree

from hardwood import (
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
)
from hardwood.criteria import CustomImpurity, resolve

Array = NDArray[Any]


def gini(p: Array) -> Array:
    impurity: Array = (p * (1 - p)).sum(axis=1)
    return impurity


def entropy(p: Array) -> Array:
    impurity: Array = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)
    return impurity


def misclassification(p: Array) -> Array:
    """Linear in pieces, and rounded at the scale of 1."""
    impurity: Array = 1 - p.max(axis=1)
    return impurity


def negative_exponential(p: Array) -> Array:
    n_classes = p.shape[1]
    root = np.sqrt(gini(p) * (n_classes - 1) / n_classes) / 2
    return np.minimum(misclassification(p), root)


def half_of_the_first(p: Array) -> Array:
    """An impurity to which the classes are not alike."""
    return np.sqrt(p[:, 0] * (1 - p[:, 0])) + gini(p)


FUNCTIONS = [gini, entropy, misclassification, negative_exponential, half_of_the_first]
EVERY_FUNCTION = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)


def fit_tree(
    function: Any, maker: Maker, n_classes: int, seed: int = 0, **options: Any
) -> RobustTreeClassifier:
    X, y, weight = maker(n_classes, np.random.default_rng([seed, n_classes]))
    criterion = CustomImpurity(function) if callable(function) else function
    tree = RobustTreeClassifier(criterion=criterion, random_state=seed, **options)
    return tree.fit(X, y, weight)


# --- trees ---------------------------------------------------------------------------------------


@EVERY_FUNCTION
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_every_split_is_a_best_one(function: Any, n_classes: int, maker: Maker) -> None:
    X, y, weight = maker(n_classes, np.random.default_rng(1))
    tree = RobustTreeClassifier(criterion=CustomImpurity(function), random_state=0)
    check_tree(tree.fit(X, y, weight), X, y, weight, accuracy=1e-7 if n_classes == 2 else 1e-9)


@EVERY_FUNCTION
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 7},
        {"splitter": "random"},
        {"min_impurity_decrease": 0.004},
        {"min_samples_leaf": 10, "max_features": 2},
        {"min_weight_fraction_leaf": 0.08},
    ],
    ids=str,
)
@pytest.mark.parametrize("maker", [ties, missing], ids=name_of)
def test_limits(
    function: Any, limits: dict[str, Any], maker: Maker, rng: np.random.Generator
) -> None:
    X, y, _ = maker(3, rng)
    weight = rng.integers(1, 4, len(y))
    tree = RobustTreeClassifier(criterion=CustomImpurity(function), random_state=0, **limits)
    check_tree(tree.fit(X, y, weight), X, y, weight)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("function", [gini, entropy], ids=lambda f: f.__name__)
def test_formulas_and_functions_grow_the_same_trees(function: Any, n_classes: int) -> None:
    # Small nodes have ties, which rounding decides.
    options = {"max_depth": 7, "min_samples_split": 40}
    one = fit_tree(function, distinct, n_classes, **options)
    other = fit_tree(function.__name__, distinct, n_classes, **options)
    assert_same_splits(one, other)
    np.testing.assert_allclose(one.tree_.impurity, other.tree_.impurity, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)


def test_pruning_is_that_of_the_formula() -> None:
    X, y, _ = distinct(3, np.random.default_rng([0, 3]))
    trees = [
        RobustTreeClassifier(criterion=criterion, max_depth=7, random_state=0)
        for criterion in (CustomImpurity(gini), "gini")
    ]
    paths = [tree.cost_complexity_pruning_path(X, y) for tree in trees]
    np.testing.assert_allclose(*(path.ccp_alphas for path in paths), atol=1e-12)
    pruned = [tree.set_params(ccp_alpha=0.004).fit(X, y) for tree in trees]
    assert_same_splits(*pruned)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_impurity_that_is_convex_makes_no_splits(n_classes: int) -> None:
    assert fit_tree(lambda p: (p**2).sum(axis=1), ties, n_classes).tree_.node_count == 1


def test_splits_that_lose_are_not_made(rng: np.random.Generator) -> None:
    """Neither concave nor convex: where a split is made, it gains."""

    def wavy(p: Array) -> Array:
        return gini(p) + np.sin(20 * p[:, 0]) ** 2 / 20

    for n_classes in (2, 3):
        X, y, weight = ties(n_classes, rng)
        tree = RobustTreeClassifier(criterion=CustomImpurity(wavy)).fit(X, y, weight)
        check_tree(tree, X, y, weight, accuracy=1e-6)


# --- how the function is called ------------------------------------------------------------------


def test_all_cuts_of_a_feature_are_one_call(rng: np.random.Generator) -> None:
    shapes = []

    def watched(p: Array) -> Array:
        shapes.append(p.shape)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        return gini(p)

    X, y, _ = continuous(3, rng)
    RobustTreeClassifier(criterion=CustomImpurity(watched), max_depth=1).fit(X, y)
    cuts = (2 * (len(X) - 1), 3)  # both sides of each
    assert shapes.count(cuts) == X.shape[1]
    # The rest: the precision and the scale of the impurity, the gain of the split found, and what
    # the tree shows.
    others = [shape for shape in shapes if shape != cuts]
    assert sorted(others) == [(1, 3), (1, 3), (3, 3), (3, 3), (8, 3)]


def test_a_tabulated_function_is_called_a_few_times_whatever_the_data() -> None:
    n_calls = 0

    def counted(p: Array) -> Array:
        nonlocal n_calls
        n_calls += 1
        return np.sqrt(gini(p)) * 0.75

    fit_tree(counted, ties, 2)
    assert n_calls < 60
    n_calls = 0
    fit_tree(counted, distinct, 2)  # the table is still at hand
    assert n_calls == 2


def test_the_function_may_do_what_it_likes_with_its_argument(rng: np.random.Generator) -> None:
    kept = []

    def rough(p: Array) -> list[float]:
        values = gini(p).tolist()
        kept.append(p)
        p[:] = np.nan
        return values

    X, y, _ = ties(3, rng)
    one = RobustTreeClassifier(criterion=CustomImpurity(rough), random_state=0).fit(X, y)
    other = RobustTreeClassifier(criterion=CustomImpurity(gini), random_state=0).fit(X, y)
    assert_same_tree(one, other)
    assert len(kept) > 10


# --- forests, and as a parameter -----------------------------------------------------------------


@pytest.mark.parametrize("forest_class", [RobustForestClassifier, RobustExtraTreesClassifier])
@pytest.mark.parametrize("maker", [ties, real_weights], ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forests(forest_class: Any, maker: Maker, n_classes: int, rng: np.random.Generator) -> None:
    X, y, weight = maker(n_classes, rng)
    options = {"n_estimators": 6, "random_state": 0, "bootstrap": True}
    criterion = CustomImpurity(negative_exponential)
    forest = forest_class(criterion=criterion, **options).fit(X, y, weight)
    same = forest_class(criterion=criterion, n_jobs=3, **options).fit(X, y, weight)
    assert_same_forest(forest, same)
    assert forest.score(X, y) > 0.6
    assert forest.feature_importances_.sum() == pytest.approx(1)
    again = pickle.loads(pickle.dumps(forest))
    assert_same_forest(forest, again)
    np.testing.assert_array_equal(forest.predict_proba(X), again.predict_proba(X))


def test_it_is_a_parameter(rng: np.random.Generator) -> None:
    criterion = CustomImpurity(gini)
    assert resolve(criterion) is criterion
    assert criterion.get_params() == {"function": gini}
    assert clone(criterion).function is gini
    X, y, _ = ties(3, rng)
    tree = RobustTreeClassifier(criterion=criterion, random_state=0)
    search = GridSearchCV(tree, {"criterion__function": [gini, misclassification]}, cv=2).fit(X, y)
    assert search.best_params_["criterion__function"] in (gini, misclassification)
    loaded = pickle.loads(pickle.dumps(tree.fit(X, y)))
    assert_same_tree(loaded, tree)
    assert_same_tree(loaded.fit(X, y), tree)


@pytest.mark.parametrize("cls", [RobustTreeClassifier, RobustExtraTreesClassifier])
def test_checks_of_scikit_learn(cls: Any) -> None:
    check_estimator(cls(criterion=CustomImpurity(gini)), on_skip=None)


def test_one_class() -> None:
    tree = RobustTreeClassifier(criterion=CustomImpurity(gini)).fit([[0.0], [1.0]], [1, 1])
    assert tree.tree_.node_count == 1


# --- what can go wrong ---------------------------------------------------------------------------


class OwnError(Exception):
    """The function's own."""


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("error", [OwnError("as it is"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("when", [0, 40])
def test_exceptions_come_through(
    error: BaseException, when: int, n_jobs: int, rng: np.random.Generator
) -> None:
    calls = []

    def failing(p: Array) -> Array:
        calls.append(p)
        if len(calls) > when:
            raise error
        return gini(p)

    X, y, _ = ties(3, rng)
    forest = RobustForestClassifier(20, criterion=CustomImpurity(failing), n_jobs=n_jobs)
    with pytest.raises(type(error)) as raised:
        forest.fit(X, y)
    assert raised.value is error


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda p: np.where(p[:, 0] == 1, np.nan, gini(p)), "returned nan for p = .*1"),
        (lambda p: gini(p) - 0.1, r"returned the negative value -0\.1 for p = .*1"),
        (lambda p: gini(p) / np.where(p.max(axis=1) == 1, np.inf, 1) * -1, "negative value"),
        (
            lambda p: p,
            r"must be vectorised.*must return shape \(\d+,\), but returned shape \(\d+, ",
        ),
        (lambda p: 0.5, r"must be vectorised.*returned shape \(\)"),
        (lambda p: None, "returned (nan|shape)"),
        (lambda p: ["a"] * len(p), "must return real numbers"),
    ],
    ids=range(7),
)
def test_a_wrong_impurity_is_named(wrong: Any, message: str, n_classes: int) -> None:
    wrong.__name__ = "wrong"
    with pytest.raises(ValueError, match=f"(?s)The impurity wrong.*{message}"):
        fit_tree(wrong, ties, n_classes)


def test_rounding_below_zero_is_none() -> None:
    one = fit_tree(lambda p: gini(p) - 1e-15, ties, 3)
    assert one.get_n_leaves() > 5
    assert np.all(one.tree_.impurity >= 0)


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match=r"function must be a function.*'gini'"):
        RobustTreeClassifier(criterion=CustomImpurity("gini")).fit([[0.0], [1.0]], [0, 1])


def test_a_jump_is_named_for_two_classes() -> None:
    def jump(p: Array) -> Array:
        return np.where(p[:, 1] > 0.3, 0.5, p[:, 1])

    with pytest.raises(ValueError, match=r"The impurity jump must be continuous.*0\.29"):
        fit_tree(jump, ties, 2)


LONG_FIT = """
import signal, sys, time
import numpy as np
from hardwood import RobustForestClassifier
from hardwood.criteria import CustomImpurity

def gini(p):
    return (p * (1 - p)).sum(axis=1)

rng = np.random.default_rng(0)
X, y = rng.random((20_000, 20)), rng.integers(0, 5, 20_000)
forest = RobustForestClassifier(1000, criterion=CustomImpurity(gini), n_jobs=int(sys.argv[1]))
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
print("fitting", flush=True)
try:
    forest.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a single process")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_interrupt(n_jobs: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, n_jobs], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "fitting\n"
        time.sleep(1)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        word, _, when = process.communicate(timeout=60)[0].partition(" ")
    assert word == "interrupted"
    assert float(when) - sent < 5


# --- functions of fewer digits -------------------------------------------------------------------


def in_single(function: Any) -> Any:
    def single(p: Array) -> Array:
        return np.asarray(function(p.astype(np.float32)), dtype=np.float32)

    return single


def rounded(function: Any) -> Any:
    """Single precision that does not show in the type."""

    def single(p: Array) -> Array:
        return np.asarray(function(p).astype(np.float32), dtype=np.float64)

    return single


@EVERY_FUNCTION
@pytest.mark.parametrize("narrow", [in_single, rounded])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_precision(function: Any, narrow: Any, n_classes: int) -> None:
    X, y, weight = continuous(n_classes, np.random.default_rng(1))
    double, single = (
        RobustTreeClassifier(criterion=CustomImpurity(f), max_depth=1, random_state=0)
        for f in (function, narrow(function))
    )
    begin = time.process_time()
    single.fit(X, y, weight)
    assert time.process_time() - begin < 30  # it took forever
    double.fit(X, y, weight)
    gains = [tree._compact.expand()["gain"].sum() for tree in (double, single)]
    assert gains[1] == pytest.approx(gains[0], rel=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_split_is_made_for_rounding(n_classes: int, rng: np.random.Generator) -> None:
    """Where 1 − max p is linear, nothing is gained, in single precision as well."""
    X = rng.normal(size=(3000, 4))
    y = np.where(rng.random(3000) < 0.2, rng.integers(0, n_classes, 3000), 0)
    trees = [
        RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y)
        for criterion in (
            "misclassification",
            CustomImpurity(misclassification),
            CustomImpurity(in_single(misclassification)),
        )
    ]
    assert [tree.get_n_leaves() for tree in trees] == [trees[0].get_n_leaves()] * 3


@pytest.mark.parametrize(
    "function",
    [
        lambda p: gini(p).astype(np.float16),
        lambda p: np.floor(1000 * p.min(axis=1)) / 1000,
        lambda p: gini(p) + 1e-3 * np.abs(np.sin(1000 * p[:, 0])),
        lambda p: np.random.default_rng(len(p)).random(len(p)),
    ],
    ids=["half precision", "stairs", "saw", "noise"],
)
def test_refinement_ends(function: Any, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    begin = time.process_time()
    with pytest.raises(ValueError, match="must be continuous, with at most a kink here and there"):
        RobustTreeClassifier(criterion=CustomImpurity(function)).fit(X, y)
    assert time.process_time() - begin < 30


@pytest.mark.parametrize("n_classes", [2, 3])
def test_complex_numbers(n_classes: int, rng: np.random.Generator) -> None:
    X, y, _ = continuous(n_classes, rng)
    with pytest.raises(ValueError, match="must return real numbers"):
        RobustTreeClassifier(criterion=CustomImpurity(lambda p: gini(p) + 0j)).fit(X, y)

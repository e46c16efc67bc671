"""Trees grown by a loss of the user's own: the table is as good as a formula, and gains are strict."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import LARGE, SMALL, Maker, distinct, name_of, real_weights, ties, whole_weights
from forests import assert_same_forest, forest_digest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from sklearn_defects import failing_checks
from tree_check import check_tree
from trees import assert_same_splits, assert_same_tree, digest

from hardwood import (
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
    losses,
)
from hardwood._core import _engine
from hardwood.criteria import (
    CustomImpurity,
    FromLoss,
    Gini,
    Misclassification,
    NegativeExponential,
    resolve,
)

Array = NDArray[Any]

# How far a table may be from the impurity; the gain of a split must be within 1e-6 of the best.
ACCURACY = 1e-7


class Loss:
    """A loss that says nothing but its impurity. These work in extended precision, for the oracle."""

    def __repr__(self) -> str:
        return type(self).__name__


class Squared(Loss):
    def impurity(self, p: Array) -> Array:
        return 2 * p * (1 - p)


class SquaredAsUsuallyWritten(Loss):
    def impurity(self, p: Array) -> Array:
        return 1 - p**2 - (1 - p) ** 2


class Logarithmic(Loss):
    def impurity(self, p: Array) -> Array:
        q = 1 - p
        return -p * np.log(np.where(p > 0, p, 1)) - q * np.log(np.where(q > 0, q, 1))


class Exponential(Loss):
    def impurity(self, p: Array) -> Array:
        return 2 * np.sqrt(p * (1 - p))


class ZeroOne(Loss):
    def impurity(self, p: Array) -> Array:
        return np.minimum(p, 1 - p)


class Lopsided(Loss):
    """Linear on both sides of a kink that is no dyadic number."""

    def impurity(self, p: Array) -> Array:
        return np.minimum(p, 27 * (1 - p) / 10)


class Polygon(Loss):
    lines = ((0, 9), (1, 5), (25 / 10, 0), (62 / 10, -6), (13, -13))

    def impurity(self, p: Array) -> Array:
        return np.min([a + b * p for a, b in self.lines], axis=0) / 10


class ManySided(Loss):
    """A polygon with more kinks than cells can hold one each of: close, if not exact."""

    def __init__(self, n_lines: int) -> None:
        angle = np.sort(np.random.default_rng(n_lines).uniform(0, np.pi / 2, n_lines))
        self.a, self.b = 1 - np.cos(angle), 1 - np.sin(angle)

    def impurity(self, p: Array) -> Array:
        impurity: Array = np.min(np.outer(1 - p, self.a) + np.outer(p, self.b), axis=1)
        return impurity


class Capped(Loss):
    """The negative exponential: linear, then curved. λ is no dyadic number, nor are the kinks."""

    def impurity(self, p: Array) -> Array:
        lam = 7 / np.asarray(10, dtype=p.dtype)
        return np.minimum(np.minimum(p, 1 - p), lam * np.sqrt(p * (1 - p)))


class CappedWithKinks(Capped):
    def kinks(self) -> list[float]:
        return [0.49 / 1.49, 1 / 1.49]


class Soft(Loss):
    """Linear, then curved, with no kink between: only the second derivative jumps."""

    def impurity(self, p: Array) -> Array:
        q = np.minimum(p, 1 - p)
        return q - np.maximum(q - 0.25, 0) ** 2


CURVED = [Squared(), SquaredAsUsuallyWritten(), Logarithmic(), Exponential()]
LINEAR = [ZeroOne(), Lopsided(), Polygon()]
ALL = [*CURVED, *LINEAR, Capped(), CappedWithKinks(), Soft()]
STUDENT = losses.DistributionLoss(stats.t(df=3, loc=1))

EVERY_LOSS = pytest.mark.parametrize("loss", ALL, ids=repr)


def fit_tree(criterion: Any, maker: Maker, seed: int = 0, **options: Any) -> RobustTreeClassifier:
    X, y, weight = maker(2, np.random.default_rng([seed, 2]))
    tree = RobustTreeClassifier(criterion=criterion, random_state=seed, **options)
    return tree.fit(X, y, weight)


def stump(loss: Any, left: tuple[float, float], right: tuple[float, float]) -> Any:
    """A tree on one feature that parts these class weights."""
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    tree = RobustTreeClassifier(criterion=FromLoss(loss))
    return tree.fit(X, [0, 1, 0, 1], sample_weight=[*left, *right]).tree_


# --- trees against the oracle --------------------------------------------------------------------


@EVERY_LOSS
@pytest.mark.parametrize("maker", [*SMALL, *LARGE], ids=name_of)
def test_every_split_is_a_best_one(loss: Any, maker: Maker) -> None:
    X, y, weight = maker(2, np.random.default_rng(3))
    limits = {"max_depth": 6} if maker in LARGE else {}
    tree = RobustTreeClassifier(criterion=FromLoss(loss), random_state=0, **limits)
    check_tree(tree.fit(X, y, weight), X, y, weight, accuracy=ACCURACY)


@EVERY_LOSS
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 7},
        {"splitter": "random"},
        {"min_impurity_decrease": 0.004},
        {"min_samples_leaf": 10, "max_features": 2},
        {"min_weight_fraction_leaf": 0.08},
        {"monotonic_cst": [1, -1, 0, 0]},
    ],
    ids=str,
)
def test_limits(loss: Any, limits: dict[str, Any], rng: np.random.Generator) -> None:
    X, y, weight = whole_weights(2, rng)
    weight = weight + 1
    tree = RobustTreeClassifier(criterion=FromLoss(loss), random_state=0, **limits)
    check_tree(tree.fit(X, y, weight), X, y, weight, accuracy=ACCURACY)


@pytest.mark.parametrize("maker", [*SMALL, *LARGE], ids=name_of)
def test_a_student_t_loss(maker: Maker) -> None:
    X, y, weight = maker(2, np.random.default_rng(3))
    tree = RobustTreeClassifier(criterion=FromLoss(STUDENT), random_state=0)
    check_tree(tree.fit(X, y, weight), X, y, weight, accuracy=1e-6, noise=1e-9)
    assert 1 < tree.get_n_leaves() < len(X) / 2  # neither stuck nor grown to the end


@pytest.mark.parametrize(
    ("loss", "criterion"),
    [(Squared(), "gini"), (Logarithmic(), "entropy"), (Exponential(), "sqrt_gini")],
    ids=str,
)
def test_formulas_and_tables_grow_the_same_trees(loss: Any, criterion: str) -> None:
    # Small nodes have ties, which rounding decides: √(1·4) = √(2·2).
    one, other = (
        fit_tree(c, distinct, max_depth=6, min_samples_split=40)
        for c in (FromLoss(loss), criterion)
    )
    assert_same_splits(one, other)


@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_min_p_and_1_minus_p_is_misclassification_bit_for_bit(maker: Maker) -> None:
    """Every tie among whole-number gains is a tie for the table as well."""
    for seed in range(5):
        one = fit_tree(FromLoss(ZeroOne()), maker, seed)
        assert_same_tree(one, fit_tree("misclassification", maker, seed))


@pytest.mark.parametrize(
    "distribution",
    [stats.t(df=3), stats.cauchy(), stats.norm(), stats.uniform(-1, 2), stats.logistic()],
    ids=lambda d: d.dist.name,
)
def test_any_symmetric_distribution_gives_misclassification(distribution: Any) -> None:
    loss = losses.DistributionLoss(distribution)
    for maker in (ties, whole_weights):
        assert_same_tree(fit_tree(FromLoss(loss), maker), fit_tree("misclassification", maker))


# --- what a table must keep ----------------------------------------------------------------------

WEIGHT = st.one_of(st.integers(1, 40), st.integers(1, 60_000))
SIDE = st.tuples(WEIGHT, WEIGHT)


def true_gain(loss: Any, left: tuple[int, int], right: tuple[int, int]) -> tuple[float, float]:
    """The gain of a split, and the node's risk, in extended precision."""
    sides = np.array([left, right, np.add(left, right)], dtype=np.longdouble)
    n = sides.sum(axis=1)
    risk = n * loss.impurity(sides[:, 1] / n)
    return float(risk[2] - risk[0] - risk[1]), float(risk[2])


@EVERY_LOSS
@settings(max_examples=60, deadline=None)
@given(left=SIDE, right=SIDE)
def test_a_node_is_split_if_and_only_if_something_is_gained(
    loss: Any, left: tuple[int, int], right: tuple[int, int]
) -> None:
    gain, risk = true_gain(loss, left, right)
    tree = stump(loss, left, right)
    if gain > 1e-10 * risk:
        assert tree.node_count == 3
    elif gain < 1e-14 * risk:
        assert tree.node_count == 1
    impurity = loss.impurity(np.longdouble(left[1] + right[1]) / sum(left + right))
    assert tree.impurity[0] == pytest.approx(float(impurity), rel=ACCURACY)


@settings(max_examples=200, deadline=None)
@given(left=SIDE, right=SIDE)
def test_nothing_is_gained_within_a_line(left: tuple[int, int], right: tuple[int, int]) -> None:
    """In exact arithmetic: both children on one line of the polygon, or a gain."""
    lines = [(Fraction(a) / 10, Fraction(b) / 10) for a, b in [(0, 9), (1, 5), (2.5, 0)]]
    lines += [(Fraction(62, 100), Fraction(-6, 10)), (Fraction(13, 10), Fraction(-13, 10))]
    risks = [
        min(a * sum(side) + b * side[1] for a, b in lines)
        for side in (left, right, tuple(np.add(left, right).tolist()))
    ]
    gains = risks[2] > risks[0] + risks[1]
    assert stump(Polygon(), left, right).node_count == (3 if gains else 1)


@pytest.mark.parametrize("loss", CURVED, ids=repr)
@pytest.mark.parametrize("total", [100, 10_000, 1_000_000, 100_000_000])
def test_small_differences_gain_near_0_and_1(loss: Any, total: int) -> None:
    """The children differ by one sample, among few of a rare class."""
    if total > 1e6 and isinstance(loss, SquaredAsUsuallyWritten):
        pytest.skip("its rounding is larger than these gains")
    for rare in (1, 3, 10):
        left, right = (total - rare, rare), (total - rare - 1, rare + 1)
        for swap in (1, -1):
            weights = np.array([left[::swap], right[::swap]], dtype=float)
            # Weights of 65,536 and more are not whole numbers to the engine; the table is the same.
            assert stump(loss, *weights.tolist()).node_count == 3


@EVERY_LOSS
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_impurities_near_0_and_1(loss: Any, scale: float, rng: np.random.Generator) -> None:
    for rare in 10.0 ** -np.arange(1, 12):
        q = rare * rng.uniform(1, 10, 4)
        for p in (q, 1 - q):
            for share in p:
                tree = stump(loss, (scale * (1 - share), scale * share), (scale, 1e-290 * scale))
                n = np.array([1 - share + 1, share + 1e-290], dtype=np.longdouble)
                expected = float(loss.impurity(n[1] / n.sum()))
                assert tree.impurity[0] == pytest.approx(expected, rel=1e-6)


def test_tables_are_small(rng: np.random.Generator) -> None:
    """They go with every pickled model."""
    sizes = {repr(loss): len(pickle.dumps(FromLoss(loss)._for_engine(2))) for loss in ALL}
    assert sizes["ZeroOne"] < 1_000
    assert len(pickle.dumps(FromLoss(STUDENT)._for_engine(2).table)) < 50_000
    assert max(sizes.values()) < 200_000


@pytest.mark.parametrize("n_lines", [10, 40, 300])
def test_many_kinks(n_lines: int, rng: np.random.Generator) -> None:
    loss = ManySided(n_lines)
    for p in rng.random(50):
        n = (p, 1 - p)
        tree = stump(loss, n, n)
        expected = loss.impurity(np.array([1 - p]))[0]
        assert tree.impurity[0] == pytest.approx(expected, rel=1e-6 if n_lines > 100 else 1e-11)


# --- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("maker", SMALL, ids=name_of)
def test_the_negative_exponential_loss_is_the_criterion(maker: Maker, n_classes: int) -> None:
    X, y, weight = maker(n_classes, np.random.default_rng(0))
    one, other = (
        RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y, weight)
        for criterion in (FromLoss(losses.NegativeExponential(lam=0.5)), "ne")
    )
    assert_same_tree(one, other)


@pytest.mark.parametrize(
    ("loss", "criterion"),
    [
        (losses.MeanSquaredError(), Gini()),
        (losses.NegativeExponential(mu=0), NegativeExponential(lam=1.0)),
        (losses.Sigmoid(), Misclassification()),
    ],
    ids=repr,
)
def test_closed_forms(loss: Any, criterion: Any) -> None:
    assert not FromLoss(loss).two_classes_only
    assert_same_tree(fit_tree(FromLoss(loss), ties), fit_tree(criterion, ties))


def test_a_loss_over_the_simplex_without_a_closed_form() -> None:
    """1 − ŷ_j/‖ŷ‖ has the impurity 1 − ‖p‖."""

    def spherical(y: Array) -> Array:
        norm: Array = np.linalg.norm(y, axis=-1, keepdims=True)
        return 1 - y / norm

    class OneMinusNorm(Loss):
        def impurity(self, p: Array) -> Array:
            return 1 - np.sqrt(p**2 + (1 - p) ** 2)

    one = fit_tree(FromLoss(losses.CustomLoss(spherical)), distinct, max_depth=8)
    assert_same_splits(one, fit_tree(FromLoss(OneMinusNorm()), distinct, max_depth=8))


# --- in forests, and as a parameter --------------------------------------------------------------


@pytest.mark.parametrize("forest_class", [RobustForestClassifier, RobustExtraTreesClassifier])
@pytest.mark.parametrize("maker", [ties, real_weights], ids=name_of)
def test_forests(forest_class: Any, maker: Maker, rng: np.random.Generator) -> None:
    X, y, weight = maker(2, rng)
    options = {"n_estimators": 8, "random_state": 0, "criterion": FromLoss(Capped())}
    forest = forest_class(**options).fit(X, y, weight)
    assert_same_forest(forest, forest_class(n_jobs=3, **options).fit(X, y, weight))
    known = forest_class(**options | {"criterion": NegativeExponential(lam=0.7)}).fit(X, y, weight)
    np.testing.assert_allclose(forest.predict_proba(X), known.predict_proba(X), atol=0.2)
    np.testing.assert_allclose(forest.feature_importances_.sum(), 1)
    again = pickle.loads(pickle.dumps(forest))
    assert_same_forest(forest, again)
    np.testing.assert_array_equal(forest.feature_importances_, again.feature_importances_)


def test_importances_and_pruning_are_those_of_the_formula() -> None:
    one, other = fit_tree(FromLoss(Squared()), distinct), fit_tree("gini", distinct)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)
    X, y, _ = distinct(2, np.random.default_rng([0, 2]))
    paths = [tree.cost_complexity_pruning_path(X, y) for tree in (one, other)]
    np.testing.assert_allclose(*(path.ccp_alphas for path in paths), atol=1e-9)
    np.testing.assert_allclose(*(path.impurities for path in paths), atol=1e-6)
    pruned = [
        fit_tree(criterion, distinct, ccp_alpha=0.003) for criterion in (one.criterion, "gini")
    ]
    assert_same_splits(*pruned)


def test_it_is_a_parameter() -> None:
    criterion = FromLoss(Capped())
    assert resolve(criterion) is criterion
    copied = clone(RobustTreeClassifier(criterion=criterion)).criterion
    assert copied is not criterion
    assert isinstance(copied.loss, Capped)
    assert criterion.get_params(deep=False) == {"loss": criterion.loss}
    tree = RobustTreeClassifier(criterion=criterion).set_params(criterion__loss=ZeroOne())
    X, y, _ = ties(2, np.random.default_rng(0))
    known = RobustTreeClassifier(criterion="misclassification", random_state=0)
    assert_same_tree(tree.set_params(random_state=0).fit(X, y), known.fit(X, y))


def test_a_changed_loss_makes_a_new_tree() -> None:
    class Power(Loss):
        exponent = 0.5

        def impurity(self, p: Array) -> Array:
            return (p * (1 - p)) ** self.exponent

    loss = Power()
    first = fit_tree(FromLoss(loss), ties)
    loss.exponent = 0.9
    second = fit_tree(FromLoss(loss), ties)
    assert first.tree_.impurity[0] == pytest.approx(0.5, rel=1e-2)
    assert second.tree_.impurity[0] == pytest.approx(0.25**0.9, rel=1e-2)
    assert_same_tree(fit_tree(FromLoss(copy.deepcopy(loss)), ties), second)


def test_checks_of_scikit_learn() -> None:
    tree = RobustTreeClassifier(criterion=FromLoss(Capped()))
    check_estimator(
        tree, on_skip=None, expected_failed_checks=failing_checks(tree), on_fail="raise"
    )


def test_one_class() -> None:
    tree = RobustTreeClassifier(criterion=FromLoss(Capped())).fit([[0.0], [1.0]], ["a", "a"])
    assert tree.tree_.node_count == 1
    assert tree.tree_.impurity[0] == 0


# --- wrong ones ----------------------------------------------------------------------------------


class Wrong:
    def __init__(self, impurity: Any, kinks: Any = ()) -> None:
        self.impurity, self._kinks = impurity, kinks

    def __repr__(self) -> str:
        return "Wrong()"

    def kinks(self) -> Any:
        return self._kinks


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (Wrong(lambda p: np.where(p > 0.5, np.nan, p)), r"Wrong\(\) returned nan for p = 0\.5"),
        (Wrong(lambda p: p - 0.25), r"Wrong\(\) returned the negative value -0\.25 for p = 0\.0"),
        (Wrong(lambda p: np.where(p > 0, np.inf, 0)), "returned inf"),
        (Wrong(lambda p: p[:-1]), r"Wrong\(\) must be vectorised.*shape \(627,\).*\(626,\)"),
        (Wrong(lambda p: 0.1), r"must be vectorised.*returned shape \(\)"),
        (Wrong(lambda p: ["a"] * len(p)), "must return real numbers"),
        (Wrong(lambda p: (p > 0.3) * 1.0), r"Wrong\(\).*continuous.*p = 0\.(29|30)"),
        (Wrong(lambda p: np.minimum(p, 1 - p), kinks=[0.5, 1.5]), r"kinks\(\).*between 0 and 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_impurity_is_named(loss: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){message}"):
        fit_tree(FromLoss(loss), ties)


def test_what_is_no_loss() -> None:
    with pytest.raises(TypeError, match=r"impurity\(p\).*3"):
        fit_tree(FromLoss(3), ties)


def test_a_criterion_that_is_none() -> None:
    class Odd(Capped):
        def criterion(self) -> str:
            return "ne"

    with pytest.raises(TypeError, match=r"criterion\(\) of Odd must return a criterion.*'ne'"):
        fit_tree(FromLoss(Odd()), ties)


def test_two_classes_only() -> None:
    X, y, _ = ties(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"from_loss.*two classes.*3"):
        RobustTreeClassifier(criterion=FromLoss(Capped())).fit(X, y)


def test_an_exception_in_the_loss_comes_through() -> None:
    class OwnError(Exception):
        pass

    def fail(p: Array) -> Array:
        raise OwnError("as it is")

    with pytest.raises(OwnError, match="as it is"):
        fit_tree(FromLoss(Wrong(fail)), ties)


# --- the same bits everywhere --------------------------------------------------------------------


def digests() -> dict[str, str]:
    """A hash of the model for losses and data sets of all kinds, and of one with a function."""
    result = {}
    for i, loss in enumerate((*ALL, STUDENT)):
        for maker in (*SMALL, *LARGE):
            result[f"{i}-{name_of(maker)}"] = digest(fit_tree(FromLoss(loss), maker))
    X, y, _ = ties(3, np.random.default_rng(0))
    forest = RobustForestClassifier(3, criterion=CustomImpurity(gini_of_rows), random_state=0)
    result["custom"] = forest_digest(forest.fit(X, y), X)
    return result


def gini_of_rows(p: Array) -> Array:
    gini: Array = (p * (1 - p)).sum(axis=1)
    return gini


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digests()


@pytest.mark.parametrize("isa", [isa for isa in _engine.isa_available() if isa != _engine.isa()])
def test_every_instruction_set_gives_the_same_model(isa: str, here: dict[str, str]) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | {"HARDWOOD_ISA": isa, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    there = json.loads(run.stdout)
    assert [name for name in here if there[name] != here[name]] == []


if __name__ == "__main__":
    print(json.dumps(digests()))

"""What leaves predict: their class proportions, or what the criterion's loss is smallest for."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from cases import Maker, continuous, missing, name_of, real_weights, ties
from forests import bags
from numpy.typing import NDArray
from oracle import Criterion, gini, misclassification, shares
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from hardwood import (
    RobustExtraTreesClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
    losses,
)
from hardwood.criteria import (
    Credal,
    CustomImpurity,
    Entropy,
    FromLoss,
    GeneralizedCrossEntropy,
    Gini,
    Misclassification,
    NegativeExponential,
    Ranking,
    SqrtGini,
    Twoing,
)

Array = NDArray[Any]

PROPORTIONAL = [
    Gini(),
    Entropy(),
    SqrtGini(),
    NegativeExponential(lam=0.0),
    GeneralizedCrossEntropy(q=0.0),
]
ONE_HOT = [
    Misclassification(),
    NegativeExponential(lam=1.0),
    GeneralizedCrossEntropy(q=1.0),
    GeneralizedCrossEntropy(q=1.5),
]
BETWEEN = [
    *(NegativeExponential(lam=lam) for lam in (0.25, 0.5, 0.9)),
    *(GeneralizedCrossEntropy(q=q) for q in (0.3, 0.7, 0.95, 0.999)),
]
EVERY = pytest.mark.parametrize("criterion", [*PROPORTIONAL, *ONE_HOT, *BETWEEN], ids=repr)
FORESTS = pytest.mark.parametrize(
    "forest_class", [RobustForestClassifier, RobustExtraTreesClassifier]
)


def one_hot(p: Array) -> Array:
    return np.eye(p.shape[1])[p.argmax(axis=1)]


def optimal(criterion: Any, p: Array) -> Array:
    """Theorem 3 and the proofs of Theorems 1 and 6, by the letter."""
    name, parameter = (read := Criterion.of(criterion)).name, next(iter(read.parameters), 0.0)
    if name == "misclassification" or (name == "gce" and parameter >= 1):
        return one_hot(p)
    if name == "gce" and parameter > 0:
        p = np.asarray(p, np.longdouble)
        return shares((p / p.max(axis=1, keepdims=True)) ** (1 / (1 - np.longdouble(parameter))))
    if name == "ne" and parameter > 0:
        n_classes = p.shape[1]
        root = parameter * np.sqrt(gini(p) * (n_classes - 1) / n_classes)
        return np.where((misclassification(p) <= root)[:, np.newaxis], one_hot(p), p)
    return p


def fit_both(estimator: Any, maker: Maker, n_classes: int) -> tuple[Any, Any, Array]:
    """The estimator with either prediction, and the input."""
    X, y, weight = maker(n_classes, np.random.default_rng([5, n_classes]))
    best = clone(estimator).set_params(leaf_prediction="optimal").fit(X, y, weight)
    return clone(estimator).fit(X, y, weight), best, X


# --- trees ---------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("maker", [ties, real_weights, missing], ids=name_of)
def test_a_tree_predicts_by_the_formulas(criterion: Any, n_classes: int, maker: Maker) -> None:
    tree = RobustTreeClassifier(criterion=criterion, max_depth=3, random_state=0)
    plain, best, X = fit_both(tree, maker, n_classes)
    np.testing.assert_array_equal(plain.apply(X), best.apply(X))
    p = plain.predict_proba(X)
    np.testing.assert_allclose(best.predict_proba(X), optimal(criterion, p), atol=1e-12)
    np.testing.assert_allclose(best.predict_proba(X).sum(axis=1), 1)
    # The most probable class is the majority, whatever the loss.
    np.testing.assert_array_equal(plain.predict(X), best.predict(X))


@pytest.mark.parametrize("criterion", PROPORTIONAL, ids=repr)
def test_proper_losses_predict_the_proportions_bit_for_bit(criterion: Any) -> None:
    plain, best, X = fit_both(RobustTreeClassifier(criterion=criterion, max_depth=3), ties, 3)
    np.testing.assert_array_equal(plain.predict_proba(X), best.predict_proba(X))
    plain, best, X = fit_both(
        RobustForestClassifier(5, criterion=criterion, random_state=0), ties, 3
    )
    np.testing.assert_array_equal(plain.predict_proba(X), best.predict_proba(X))
    assert best._compact.vote_count is None


def test_ties_go_to_the_first_class() -> None:
    X, y = np.zeros((4, 1)), ["c", "b", "b", "c"]
    tree = RobustTreeClassifier(criterion="misclassification", leaf_prediction="optimal").fit(X, y)
    np.testing.assert_array_equal(tree.predict_proba(X[:1]), [[1, 0]])
    forest = RobustForestClassifier(
        3, criterion="misclassification", leaf_prediction="optimal", bootstrap=False
    ).fit(X, y)
    np.testing.assert_array_equal(forest.predict_proba(X[:1]), [[1, 0]])


@pytest.mark.parametrize(
    ("p", "lam", "certain"), [(0.1, 0.5, True), (0.3, 0.5, False), (0.3, 0.9, True)]
)
def test_the_negative_exponential_by_hand(p: float, lam: float, certain: bool) -> None:
    """One-hot below p = λ²/(1 + λ²), where p < λ √(p(1−p))."""
    X, y = np.zeros((10, 1)), np.arange(10) < round(10 * p)
    tree = RobustTreeClassifier(criterion=NegativeExponential(lam), leaf_prediction="optimal")
    expected = [1, 0] if certain else [1 - p, p]
    np.testing.assert_allclose(tree.fit(X, y).predict_proba(X[:1]), [expected])


def test_what_the_tree_shows_is_what_it_predicts(rng: np.random.Generator) -> None:
    X, y, _ = ties(3, rng)
    X = X.astype(np.float32)
    tree = RobustTreeClassifier(leaf_prediction="optimal", max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.tree_.value[tree.apply(X), 0], tree.predict_proba(X))
    np.testing.assert_array_equal(tree.to_sklearn().predict_proba(X), tree.predict_proba(X))


# --- the losses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [
        losses.MeanSquaredError(),
        losses.CrossEntropy(),
        losses.ZeroOne(),
        losses.MeanAbsoluteError(),
        losses.InfinityNorm(),
        *(losses.GeneralizedCrossEntropy(q) for q in (0.3, 0.7, 0.95, 1.0, 1.5)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_prediction_is_the_loss_s_own(loss: Any, n_classes: int) -> None:
    tree = RobustTreeClassifier(criterion=FromLoss(loss), max_depth=2, random_state=0)
    plain, best, X = fit_both(tree, real_weights, n_classes)
    p, prediction = plain.predict_proba(X), best.predict_proba(X)
    np.testing.assert_allclose(prediction, loss.optimal_prediction(p), atol=1e-12)
    np.testing.assert_allclose(loss.risk(prediction, p), loss.impurity(p), atol=1e-12)


@pytest.mark.parametrize("lam", [0.25, 0.5, 0.9, 1.0])
def test_the_negative_exponential_loss_s_own(lam: float) -> None:
    """ŷ = ½ log(p/(1−p)) stands for the proportions, ±∞ for a class."""
    loss = losses.NegativeExponential(lam=lam)
    tree = RobustTreeClassifier(criterion=FromLoss(loss), max_depth=3, random_state=0)
    plain, best, X = fit_both(tree, continuous, 2)
    p, prediction = plain.predict_proba(X)[:, 1], best.predict_proba(X)[:, 1]
    with np.errstate(divide="ignore"):
        score = (np.log(prediction) - np.log1p(-prediction)) / 2
    np.testing.assert_allclose(loss.risk(score, p), loss.impurity(p), atol=1e-12)


# --- forests -------------------------------------------------------------------------------------


@FORESTS
@EVERY
@pytest.mark.parametrize("maker", [real_weights, missing], ids=name_of)
def test_a_forest_averages_its_trees(forest_class: Any, criterion: Any, maker: Maker) -> None:
    forest = forest_class(5, criterion=criterion, max_depth=4, random_state=0)
    plain, best, X = fit_both(forest, maker, 3)
    for t, (tree, same) in enumerate(zip(plain.estimators_, best.estimators_, strict=True)):
        p = tree.predict_proba(X)
        np.testing.assert_allclose(same.predict_proba(X), optimal(criterion, p), atol=1e-12)
        assert best.estimators_[t].leaf_prediction == "optimal"
    mean = np.mean([tree.predict_proba(X) for tree in best.estimators_], axis=0)
    np.testing.assert_allclose(best.predict_proba(X), mean, atol=1e-14)
    np.testing.assert_array_equal(plain.feature_importances_, best.feature_importances_)
    if not np.isnan(X).any():
        X = X.astype(np.float32)
        np.testing.assert_allclose(best.to_sklearn().predict_proba(X), mean, atol=1e-12)


def test_out_of_bag_votes_are_optimal_ones(rng: np.random.Generator) -> None:
    X, y, _ = ties(3, rng)
    forest = RobustForestClassifier(
        50, criterion="misclassification", leaf_prediction="optimal", oob_score=True, random_state=0
    ).fit(X, y)
    outside = bags(forest, X) == 0
    votes = np.array([tree.predict_proba(X) for tree in forest.estimators_])
    mean = np.average(votes, axis=0, weights=np.repeat(outside[..., np.newaxis], 3, axis=2))
    np.testing.assert_allclose(forest.oob_decision_function_, mean, atol=1e-14)


@pytest.mark.parametrize("criterion", ["misclassification", "ne", "gce"])
def test_monotonic_constraints_hold(criterion: str, rng: np.random.Generator) -> None:
    X, y, _ = continuous(2, rng)
    forest = RobustForestClassifier(
        20,
        criterion=criterion,
        monotonic_cst=[1, 0, 0, 0],
        leaf_prediction="optimal",
        random_state=0,
    ).fit(X, y)
    mean = np.mean([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-14)
    grid = np.repeat(X[:20], 30, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 30), 20)
    rising = forest.predict_proba(grid)[:, 1].reshape(20, 30)
    assert np.all(np.diff(rising, axis=1) >= -1e-12)


def test_models_stay_compact() -> None:
    def size(forest: Any) -> int:
        return len(pickle.dumps(forest))

    for criterion in ("misclassification", "ne", "gce", "gini"):
        forest = RobustForestClassifier(30, criterion=criterion, max_depth=6, random_state=0)
        plain, best, X = fit_both(forest, continuous, 3)
        assert size(best) < 1.5 * size(plain)
        if criterion in ("misclassification", "ne"):
            assert best._compact.vote_count.dtype == best._compact.forest.entry_count.dtype
        again = pickle.loads(pickle.dumps(best))
        np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))


def test_a_warm_start_can_change_its_mind(rng: np.random.Generator) -> None:
    X, y, _ = ties(3, rng)
    options = {"criterion": "misclassification", "random_state": 0, "max_depth": 3}
    forest = RobustForestClassifier(4, warm_start=True, **options).fit(X, y)
    forest.set_params(n_estimators=8, leaf_prediction="optimal").fit(X, y)
    at_once = RobustForestClassifier(8, leaf_prediction="optimal", **options).fit(X, y)
    np.testing.assert_array_equal(forest.predict_proba(X), at_once.predict_proba(X))


def test_pruned_leaves_predict_optimally(rng: np.random.Generator) -> None:
    X, y, _ = continuous(3, rng)
    options = {"criterion": "misclassification", "ccp_alpha": 0.02, "random_state": 0}
    plain, best = (
        RobustForestClassifier(4, leaf_prediction=prediction, **options).fit(X, y)
        for prediction in ("distribution", "optimal")
    )
    expected = [one_hot(tree.predict_proba(X)) for tree in plain.estimators_]
    np.testing.assert_allclose(best.predict_proba(X), np.mean(expected, axis=0), atol=1e-14)


def test_the_parameter_takes_effect_in_fit(rng: np.random.Generator) -> None:
    X, y, _ = ties(3, rng)
    for estimator in (
        RobustTreeClassifier(criterion="misclassification", max_depth=2),
        RobustForestClassifier(3, criterion="misclassification", max_depth=2),
    ):
        before = estimator.fit(X, y).predict_proba(X)
        estimator.set_params(leaf_prediction="optimal")
        np.testing.assert_array_equal(estimator.predict_proba(X), before)
        assert not np.array_equal(estimator.fit(X, y).predict_proba(X), before)


@pytest.mark.parametrize("cls", [RobustTreeClassifier, RobustExtraTreesClassifier])
def test_checks_of_scikit_learn(cls: Any) -> None:
    check_estimator(cls(leaf_prediction="optimal"), on_skip=None)


# --- criteria without one ------------------------------------------------------------------------


class Margin:
    def impurity(self, p: Array) -> Array:
        return np.minimum(p, 1 - p)


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        (Twoing(), "scores splits"),
        (Credal(), "scores splits"),
        (Ranking(), "scores splits"),
        (CustomImpurity(lambda p: (p * (1 - p)).sum(axis=1)), "no class distribution"),
        (FromLoss(Margin()), "no class distribution"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("estimator", [RobustTreeClassifier(), RobustForestClassifier(2)], ids=repr)
def test_criteria_that_have_no_loss(estimator: Any, criterion: Any, reason: str) -> None:
    X, y, _ = ties(2, np.random.default_rng(0))
    estimator = clone(estimator).set_params(criterion=criterion, leaf_prediction="optimal")
    with pytest.raises(ValueError, match=f"leaf_prediction='optimal'.*{reason}"):
        estimator.fit(X, y)
    estimator.set_params(leaf_prediction="distribution").fit(X, y)


def test_custom_impurities_of_many_classes_have_none_either() -> None:
    X, y, _ = ties(3, np.random.default_rng(0))
    criterion = CustomImpurity(lambda p: (p * (1 - p)).sum(axis=1))
    with pytest.raises(ValueError, match="not the loss behind it"):
        RobustTreeClassifier(criterion=criterion, leaf_prediction="optimal").fit(X, y)


@pytest.mark.parametrize("wrong", ["best", None, 1])
def test_a_wrong_value(wrong: Any) -> None:
    for estimator in (RobustTreeClassifier(), RobustForestClassifier(2)):
        with pytest.raises(ValueError, match="leaf_prediction"):
            clone(estimator).set_params(leaf_prediction=wrong).fit([[0.0], [1.0]], [0, 1])

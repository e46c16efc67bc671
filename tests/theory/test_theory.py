"""The theorems, asked of losses, labels and trees."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from oracle import Criterion as OracleCriterion
from oracle import gain as oracle_gain
from scipy import stats
from small_tables import SHAPES, as_data, keeps_majority, same_distribution, tables

from hardwood import RobustExtraTreesClassifier, RobustTreeClassifier
from hardwood.criteria import (
    CustomImpurity,
    Entropy,
    FromLoss,
    GeneralizedCrossEntropy,
    Gini,
    Misclassification,
    NegativeExponential,
)
from hardwood.losses import (
    CrossEntropy,
    CustomLoss,
    DistributionLoss,
    InfinityNorm,
    MeanAbsoluteError,
    MeanSquaredError,
    Ramp,
    Sigmoid,
    ZeroOne,
    ZeroOneMargin,
)
from hardwood.losses import GeneralizedCrossEntropy as GceLoss
from hardwood.losses import NegativeExponential as NeLoss
from hardwood.noise import class_conditional, pair_flip, uniform
from hardwood.theory import (
    conservative_constant,
    earth_moving,
    explain_leaf,
    is_symmetric,
    majority_bound,
    majority_simulated,
    max_norm,
    noise_tolerant,
    samples_needed,
    theorem_2,
)
from hardwood.theory._gains import gains, resolved

Array = NDArray[np.float64]

CONSERVATIVE = [
    (MeanAbsoluteError(), 2.0),
    (ZeroOne(), 1.0),
    (InfinityNorm(), 1.0),
    (GceLoss(1.0), 1.0),
    (GceLoss(1.5), 1 / 1.5),
    (GceLoss(4.0), 0.25),
]
NOT_CONSERVATIVE = [
    (MeanSquaredError(), "a"),
    (CrossEntropy(), "b"),
    (GceLoss(0.0), "b"),
    (GceLoss(0.3), "a"),
    (GceLoss(0.9), "a"),
]


# --- Definition 1 and Theorem 2 ------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(("loss", "constant"), CONSERVATIVE, ids=str)
def test_corollary_1(loss: Any, constant: float, n_classes: int) -> None:
    answer = conservative_constant(loss, n_classes)
    assert answer
    assert answer.constant == pytest.approx(constant)
    assert answer.violated is None


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(("loss", "condition"), NOT_CONSERVATIVE, ids=str)
def test_other_losses_are_not_conservative(loss: Any, condition: str, n_classes: int) -> None:
    answer = conservative_constant(loss, n_classes)
    assert not answer
    assert answer.constant is None
    assert answer.violated == condition
    assert answer.reason.startswith(f"({condition}) fails at ")
    losses = loss.losses(answer.prediction)
    wrong = loss.losses(np.eye(n_classes))[0, 1]  # the only C that vertices leave
    if condition == "a":
        assert losses.sum() < wrong * (n_classes - 1)
    else:
        assert losses.max() == np.inf


@pytest.mark.parametrize(
    ("function", "condition"),
    [
        (lambda y: 1.1 - y, "c"),
        (lambda y: (1 - y) * np.array([1.0, 2.0, 2.0]), "a"),  # C differs between the vertices
        (lambda y: 1 - y + 5 * y.prod(axis=-1, keepdims=True), "b"),
        (lambda y: 1 - y - 2.9 * y.prod(axis=-1, keepdims=True), "a"),  # below 2 in the middle
        (lambda y: np.zeros_like(y), "a"),  # C must be greater than 0
        # Too large only in a small spot off the vertices, edges and centre.
        (lambda y: 1 - y + np.exp(-300 * ((y - [0.6, 0.3, 0.1]) ** 2).sum(-1, keepdims=True)), "b"),
    ],
)
def test_the_violated_condition_is_named(function: Any, condition: str) -> None:
    assert conservative_constant(CustomLoss(function), 3).violated == condition


@pytest.mark.parametrize("loss", [Sigmoid(), Ramp(), ZeroOneMargin(), NeLoss(lam=1), NeLoss(mu=0)])
def test_margin_losses_that_are_conservative(loss: Any) -> None:
    assert conservative_constant(loss).constant == pytest.approx(1)
    assert theorem_2(loss).holds


@pytest.mark.parametrize("lam", [0.1, 0.5, 0.99])
def test_the_negative_exponential_is_not_conservative_below_one(lam: float) -> None:
    answer = conservative_constant(NeLoss(lam=lam))
    assert answer.violated == "a"
    assert answer.prediction == pytest.approx(0, abs=1e-6)  # where ℓ(z) + ℓ(−z) = λ
    assert theorem_2(NeLoss(lam=lam)).holds


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", [loss for loss, _ in [*CONSERVATIVE, *NOT_CONSERVATIVE]], ids=str)
def test_theorem_2_and_its_converse(loss: Any, n_classes: int) -> None:
    check = theorem_2(loss, n_classes)
    assert check.holds
    assert check.impurity_constant == pytest.approx(check.conservative.constant)


def test_the_converse_of_theorem_2_gives_a_alone() -> None:
    above = CustomLoss(lambda y: 2 - 2 * y + 9 * y.prod(axis=-1, keepdims=True))
    check = theorem_2(above, 2)
    assert check.conservative.violated == "b"
    assert check.impurity_constant == pytest.approx(2)
    assert check.condition_a
    assert check.holds


losses_of_three = hnp.arrays(np.float64, 3, elements=st.floats(0, 2))


@given(losses_of_three, st.lists(st.floats(0.01, 1), min_size=3, max_size=3), st.floats(0.1, 2))
def test_the_earth_moving_lemma(losses: Array, weights: list[float], constant: float) -> None:
    p = np.array(weights) / np.sum(weights)
    assert earth_moving(p, losses, constant).holds


def test_the_earth_moving_lemma_where_it_applies(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.full(5, 0.5), 2000)
    losses = 1 - rng.dirichlet(np.full(5, 0.5), 2000) * rng.random((2000, 1))
    check = earth_moving(p, losses, 1.0)
    assert check.applies.all()
    assert check.holds
    assert not earth_moving([0.5, 0.5], [0.0, 0.5], 1.0).applies
    assert not earth_moving([0.5, 0.5], [2.0, 0.5], 1.0).applies


# --- symmetry and noise --------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_symmetric_losses(n_classes: int) -> None:
    mae = is_symmetric(MeanAbsoluteError(), n_classes)
    assert mae
    assert mae.constant == pytest.approx(2 * (n_classes - 1))
    assert is_symmetric(InfinityNorm(), n_classes).constant == pytest.approx(n_classes - 1)
    assert is_symmetric(GceLoss(1), n_classes)
    for loss in (ZeroOne(), GceLoss(2), MeanSquaredError(), GceLoss(0.5)):
        answer = is_symmetric(loss, n_classes)
        assert not answer
        assert answer.where == "vertices"
        assert loss.losses(answer.prediction).sum() != pytest.approx(answer.constant)
    assert is_symmetric(CrossEntropy(), n_classes).where == "nowhere"
    lopsided = CustomLoss(lambda y: (1 - y) * np.arange(1, n_classes + 1))
    assert is_symmetric(lopsided, n_classes).where == "nowhere"


def test_symmetric_losses_of_a_margin() -> None:
    for loss in (Sigmoid(), Ramp(), DistributionLoss(stats.cauchy())):
        assert is_symmetric(loss)
        assert is_symmetric(loss).constant == pytest.approx(1)
    for loss in (NeLoss(lam=0.5), NeLoss(lam=1), DistributionLoss(stats.norm(1)), ZeroOneMargin()):
        assert is_symmetric(loss).where == "vertices"  # 01: both classes are wrong at ŷ = 0


TOLERANT = [MeanAbsoluteError(), ZeroOne(), InfinityNorm(), GceLoss(1), GceLoss(2)]


@pytest.mark.parametrize("loss", TOLERANT, ids=str)
def test_noise_that_is_tolerated(loss: Any) -> None:
    answer = noise_tolerant(loss, uniform(4, 0.7))
    assert answer
    assert (answer.noise, answer.provided) == ("uniform", None)
    assert ("vertices" in answer.reason) == (not is_symmetric(loss, 4))
    answer = noise_tolerant(loss, pair_flip(4, 0.45))
    assert answer
    assert answer.noise == "class-conditional"
    assert "risk 0" in str(answer.provided)


@pytest.mark.parametrize("loss", TOLERANT, ids=str)
def test_noise_that_is_too_strong(loss: Any) -> None:
    for T in (uniform(4, 0.75), uniform(4, 0.8), pair_flip(4, 0.5), class_conditional([0.1, 0.6])):
        answer = noise_tolerant(loss, T)
        assert not answer
        assert "most often" in answer.reason


@pytest.mark.parametrize("loss", [MeanSquaredError(), CrossEntropy(), GceLoss(0.7)], ids=str)
def test_losses_without_a_condition(loss: Any) -> None:
    for T in (uniform(3, 0.2), pair_flip(3, 0.2)):
        answer = noise_tolerant(loss, T)
        assert not answer
        assert answer.reason == "the loss is not symmetric"
    assert noise_tolerant(loss, np.eye(3)).noise == "none"


def test_noise_and_margins() -> None:
    T = class_conditional([0.1, 0.3])
    for loss in (Sigmoid(), ZeroOneMargin(), NeLoss(lam=1)):
        assert noise_tolerant(loss, T)
        assert noise_tolerant(loss, uniform(2, 0.3))
    assert not noise_tolerant(NeLoss(lam=0.5), T)


def test_a_symmetric_loss_that_is_not_evenly_bounded() -> None:
    lopsided = CustomLoss(lambda y: 2 * np.roll(y, 1, axis=-1))
    assert is_symmetric(lopsided, 3).constant == pytest.approx(2)
    assert noise_tolerant(lopsided, uniform(3, 0.3))
    answer = noise_tolerant(lopsided, pair_flip(3, 0.3))
    assert not answer
    assert "exceeds S/(K − 1) = 1" in answer.reason


def test_tolerance_is_what_it_says(rng: np.random.Generator) -> None:
    """Under uniform noise the best prediction of a tolerant loss keeps its class."""
    for n_classes, rate in ((2, 0.45), (5, 0.75)):
        T = uniform(n_classes, rate)
        p = rng.dirichlet(np.ones(n_classes), 200)
        for loss in TOLERANT:
            assert noise_tolerant(loss, T)
            clean, noisy = loss.optimal_prediction(p), loss.optimal_prediction(p @ T)
            assert np.array_equal(clean.argmax(axis=1), noisy.argmax(axis=1))


# --- Theorem 4 -----------------------------------------------------------------------------------


def test_the_bound_is_never_above_the_simulated_probability(seed: int) -> None:
    """2,000 random settings; a strict comparison, but for the error of the simulation itself."""
    rng = np.random.default_rng([seed, 4])
    informative = 0
    for _ in range(2000):
        n_classes = int(rng.integers(2, 7))
        n = int(rng.integers(1, 300))
        counts = rng.multinomial(n, rng.dirichlet(np.full(n_classes, 0.7)))
        rate = rng.random() * (n_classes - 1) / n_classes
        bound = majority_bound(counts / n, n, rate)
        simulated = majority_simulated(counts / n, n, rate, n_draws=1000, random_state=rng)
        error = np.sqrt(bound * (1 - bound) / 1000)
        assert bound <= simulated + 3 * error
        informative += bound > 0.05
    assert informative > 500


def exact_probability(counts: list[int], rate: float) -> float:
    """Two classes: k* stays k* if at least half of the noisy labels are its own."""
    most, least = max(counts), min(counts)
    stay = np.arange(most + 1)
    enter = np.ceil(sum(counts) / 2) - stay  # how many of the other class must come over
    weight = stats.binom.pmf(stay, most, 1 - rate)
    return float(weight @ stats.binom.sf(enter - 1, least, rate))


@pytest.mark.parametrize("counts", [[3, 1], [7, 6], [40, 10], [120, 100]], ids=str)
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.45])
def test_the_simulation_against_the_exact_probability(counts: list[int], rate: float) -> None:
    n = sum(counts)
    p = np.array(counts) / n
    exact = exact_probability(counts, rate)
    assert majority_bound(p, n, rate) <= exact + 1e-12
    simulated = majority_simulated(p, n, rate, n_draws=20_000, random_state=0)
    assert simulated == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-12)


def test_the_margin_is_the_one_after_the_noise() -> None:
    """γ = (1 − Kη/(K−1))·min(p_k* − p_k)."""
    p, n, rate = np.array([0.5, 0.3, 0.2]), 500, 0.3
    noisy = p @ uniform(3, rate)
    gamma = noisy[0] - noisy[1]
    assert majority_bound(p, n, rate) == pytest.approx(1 - 2 * np.exp(-n * gamma**2 / 2))


@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.floats(0, 0.45),
    st.sampled_from([0, 0.5, 0.9, 0.99, 0.999999]),
)
def test_samples_needed_is_the_smallest_number(
    weights: list[float], rate: float, confidence: float
) -> None:
    p = np.array(weights) / np.sum(weights)
    second, first = np.sort(p)[-2:]
    if first - second < 1e-3:
        return
    n = samples_needed(p, rate, confidence)
    assert majority_bound(p, n, rate) >= confidence
    assert n == 1 or majority_bound(p, n - 1, rate) < confidence


def test_ties_are_never_settled() -> None:
    assert majority_bound([0.5, 0.5], 10_000, 0.1) == 0
    with pytest.raises(ValueError, match="single largest"):
        samples_needed([0.5, 0.5], 0.1, 0.9)


# --- Theorem 5 -----------------------------------------------------------------------------------


def test_the_max_norm_lemma_on_all_small_vectors() -> None:
    vectors = np.array(list(product(range(4), repeat=3)))
    check = max_norm(vectors[:, None], vectors[None])
    assert check.holds
    assert 0 < check.norms_add.mean() < 1


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("criterion", [Misclassification(), GeneralizedCrossEntropy(q=2)], ids=str)
def test_5a_a_root_that_stops_is_explained_by_its_majority(
    criterion: Any, shape: tuple[int, int, int]
) -> None:
    for table in tables(*shape):
        X, y = as_data(table)
        tree = RobustTreeClassifier(criterion=criterion).fit(X, y)
        if tree.get_n_leaves() == 1:
            assert explain_leaf(tree, X, y, 0).reason == "same majority"
        assert (tree.get_n_leaves() == 1) == keeps_majority(table)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("criterion", [Gini(), Entropy(), GeneralizedCrossEntropy(q=0.7)], ids=str)
def test_5b_a_root_that_stops_is_explained_by_its_distribution(
    criterion: Any, shape: tuple[int, int, int]
) -> None:
    for table in tables(*shape):
        X, y = as_data(table)
        tree = RobustTreeClassifier(criterion=criterion).fit(X, y)
        if tree.get_n_leaves() == 1:
            assert explain_leaf(tree, X, y, 0).reason == "same distribution"
        assert (tree.get_n_leaves() == 1) == same_distribution(table)


NAMES = [
    "gini",
    "entropy",
    "misclassification",
    "sqrt_gini",
    "ne",
    "gce",
    "twoing",
    "credal",
    "ranking",
]


@pytest.mark.parametrize(
    "criterion",
    [*NAMES, Misclassification(2.5), NegativeExponential(lam=0), GeneralizedCrossEntropy(q=2)],
    ids=str,
)
def test_gains_are_those_of_brute_force(criterion: Any, rng: np.random.Generator) -> None:
    n_classes = 2 if criterion == "ranking" else 4
    left, right = rng.integers(0, 9, (2, 50, n_classes)) + np.eye(n_classes, dtype=int)[0]
    expected = oracle_gain(OracleCriterion.of(criterion), left, right, 500.0)
    found = gains(resolved(criterion), left.astype(float), right.astype(float), 500.0)
    assert_allclose(found, expected.astype(float), atol=1e-14)


STOPPED = {"pure", "no varying feature", "same majority", "same distribution", "no gain"}


@pytest.mark.parametrize(
    "criterion",
    [
        *NAMES,
        NegativeExponential(lam=0),
        NegativeExponential(lam=1),
        FromLoss(NeLoss(lam=0.3)),
        FromLoss(MeanSquaredError()),
        FromLoss(DistributionLoss(stats.t(df=3, loc=0.5))),
        FromLoss(CustomLoss(lambda y: (1 - y) ** 2)),
        CustomImpurity(lambda p: 1 - (p**2).sum(axis=1)),
    ],
    ids=lambda criterion: str(criterion).split("(function")[0],
)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_leaf_of_an_unlimited_tree_has_a_reason_of_its_own(
    criterion: Any, missing: float, weighted: bool, rng: np.random.Generator
) -> None:
    n_classes = 2 if criterion == "ranking" or isinstance(criterion, FromLoss) else 3
    X = rng.integers(0, 5, (150, 3)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    y = np.array(["a", "b", "c"])[rng.integers(n_classes, size=150)]
    weight = rng.integers(0, 3, 150) * 0.7 if weighted else None
    tree = RobustTreeClassifier(criterion=criterion, random_state=0).fit(X, y, weight)
    rows = slice(None) if weight is None else weight > 0
    for leaf in np.unique(tree.apply(X[rows])):
        answer = explain_leaf(tree, X, y, leaf, weight)
        assert answer.reason in STOPPED
        assert str(answer).startswith(f"Leaf {leaf} (")
        if answer.reason == "pure":
            assert np.count_nonzero(answer.class_weights) == 1


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_depth": 2}, "max_depth=2"),
        ({"min_samples_split": 0.5}, "min_samples_split"),
        ({"min_samples_leaf": 60}, "fewer than 60"),
        ({"min_weight_fraction_leaf": 0.3}, "less weight than"),
        ({"min_impurity_decrease": 0.01}, "min_impurity_decrease=0.01"),
        ({"max_leaf_nodes": 3}, "max_leaf_nodes=3"),
        ({"ccp_alpha": 0.01}, "ccp_alpha=0.01"),
        ({"max_features": 1}, "max_features=1 left"),
    ],
    ids=str,
)
def test_a_limit_is_named(limit: dict[str, Any], words: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    tree = RobustTreeClassifier(criterion="gini", random_state=0, **limit).fit(X, y)
    name = next(iter(limit))
    reasons = {}
    for leaf in np.unique(tree.apply(X)):
        answer = explain_leaf(tree, X, y, leaf)
        reasons[answer.reason] = answer
    assert set(reasons) <= {name, "pure"}
    if name in reasons:
        assert words in reasons[name].text
        assert reasons[name].gain > 0
        assert reasons[name].feature in range(3)
    assert name in reasons or name == "max_features"  # which may have been of no consequence


def test_the_constant_of_misclassification_scales_the_gain() -> None:
    X, y = [[0], [0], [1], [1], [1]], [0, 0, 1, 1, 0]
    for constant in (1, 2):
        tree = RobustTreeClassifier(
            criterion=Misclassification(constant), min_impurity_decrease=0.5
        ).fit(X, y)
        answer = explain_leaf(tree, X, y, 0)
        assert (answer.reason, answer.gain) == (
            "min_impurity_decrease",
            pytest.approx(0.2 * constant),
        )


def test_a_criterion_without_a_formula_is_refused() -> None:
    class Unknown(Gini):  # type: ignore[misc]
        name = "unknown"

    tree = RobustTreeClassifier(criterion="gini", max_depth=1).fit([[0], [1], [2]], [0, 1, 0])
    tree.criterion = Unknown()
    with pytest.raises(ValueError, match="does not know the impurity of criterion=Unknown"):
        explain_leaf(tree, [[0], [1], [2]], [0, 1, 0], 2)


def test_an_order_that_forbids_the_split_is_named() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    tree = RobustTreeClassifier(monotonic_cst=[-1]).fit(X, y)
    answer = explain_leaf(tree, X, y, 0)
    assert (answer.reason, answer.feature, answer.threshold) == ("monotonic_cst", 0, 0.5)


def test_random_cuts_are_named() -> None:
    X = np.arange(30.0)[:, None]
    y = np.repeat([0, 1], [20, 10])
    reasons = set()
    for seed in range(20):
        tree = RobustTreeClassifier(
            criterion="misclassification", splitter="random", random_state=seed
        ).fit(X, y)
        reasons |= {explain_leaf(tree, X, y, leaf).reason for leaf in np.unique(tree.apply(X))}
    assert "splitter" in reasons
    assert reasons <= {*STOPPED, "splitter"}


def test_the_reason_of_the_negative_exponential() -> None:
    """Where both children keep the majority, and the impurity is that of misclassification."""
    X, y = np.repeat([0, 1], 50)[:, None], np.array(([0] * 48 + [1] * 2) + ([0] * 46 + [1] * 4))
    assert explain_leaf(RobustTreeClassifier().fit(X, y), X, y, 0).reason == "same majority"
    tree = RobustTreeClassifier(criterion="gini").fit(X, y)
    assert tree.get_n_leaves() == 2
    answer = explain_leaf(tree, X, y, int(tree.apply([[0]])[0]))
    assert answer.reason == "no varying feature"
    assert_allclose(answer.class_weights, [48, 2])


def test_trees_of_a_forest_without_bootstrap(rng: np.random.Generator) -> None:
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    forest = RobustExtraTreesClassifier(n_estimators=2, random_state=0).fit(X, y)
    tree = forest.estimators_[0]
    for leaf in np.unique(tree.apply(X)):
        assert explain_leaf(tree, X, y, leaf).text


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: conservative_constant(ZeroOne(), 1), "n_classes must be at least 2"),
        (lambda: conservative_constant(Sigmoid(), 3), "two classes, got n_classes=3"),
        (lambda: is_symmetric(Sigmoid(), 3), "two classes"),
        (lambda: noise_tolerant(Sigmoid(), uniform(3, 0.1)), "two classes"),
        (lambda: noise_tolerant(ZeroOne(), [[0.9, 0.2], [0, 1]]), "T must sum to 1"),
        (lambda: noise_tolerant(ZeroOne(), [[0.9, 0.1]]), "square"),
        (lambda: conservative_constant(CustomLoss(lambda y: y * np.nan), 3), "returned NaN"),
        (lambda: conservative_constant(CustomLoss(lambda y: y - 1), 3), "negative value"),
        (lambda: conservative_constant(CustomLoss(lambda y: y[..., :1]), 3), "for each class"),
        (lambda: majority_bound([0.6, 0.5], 10, 0.1), "p must sum to 1"),
        (lambda: majority_bound([1.0], 10, 0.1), "two or more classes"),
        (lambda: majority_bound([0.6, 0.4], 0, 0.1), "n must be at least 1"),
        (lambda: majority_bound([0.6, 0.4], 10, 0.5), r"rate must be .*0\.5"),
        (lambda: majority_bound([0.6, 0.4], 10, -0.1), "rate must be"),
        (lambda: samples_needed([0.6, 0.4], 0.1, 1.0), "confidence must be"),
        (lambda: majority_simulated([0.6, 0.4], 7, 0.1), "n \\* p must be integers"),
        (lambda: max_norm([1, -1], [0, 1]), "negative"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_loss() -> None:
    with pytest.raises(TypeError, match="CustomLoss"):
        conservative_constant("mse", 2)  # type: ignore[arg-type]


def test_explain_leaf_needs_the_training_data(rng: np.random.Generator) -> None:
    X, y = rng.integers(0, 4, (50, 2)).astype(float), rng.integers(2, size=50)
    tree = RobustTreeClassifier(criterion="gini").fit(X, y)
    leaf = int(tree.apply(X)[0])
    with pytest.raises(ValueError, match="number of a leaf"):
        explain_leaf(tree, X, y, 0)
    with pytest.raises(ValueError, match="number of a leaf"):
        explain_leaf(tree, X, y, 10_000)
    with pytest.raises(ValueError, match="rows of X end in leaf"):
        explain_leaf(tree, X[:-30], y[:-30], int(tree.apply(X[-1:])[0]))
    with pytest.raises(ValueError, match="not fitted with"):
        explain_leaf(tree, X, y + 5, leaf)
    stump = RobustTreeClassifier(criterion="misclassification").fit(X, np.r_[0, np.ones(49)])
    with pytest.raises(ValueError, match="must be those"):
        explain_leaf(stump, X, X[:, 0] > 1, int(stump.apply(X)[-1]))

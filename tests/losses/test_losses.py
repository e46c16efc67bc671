"""The losses: formulas, impurities and best predictions against numerical minimisation."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize, minimize_scalar

from hardwood import RobustTreeClassifier, criteria
from hardwood.losses import (
    CrossEntropy,
    CustomLoss,
    DistributionLoss,
    GeneralizedCrossEntropy,
    InfinityNorm,
    MeanAbsoluteError,
    MeanSquaredError,
    NegativeExponential,
    Ramp,
    Sigmoid,
    SimplexLoss,
    ZeroOne,
    ZeroOneMargin,
)

Array = NDArray[np.float64]

SIMPLEX = [
    MeanSquaredError(),
    CrossEntropy(),
    ZeroOne(),
    MeanAbsoluteError(),
    InfinityNorm(),
    *(GeneralizedCrossEntropy(q) for q in (0.0, 1e-9, 0.2, 0.5, 0.7, 0.99, 1.0, 2.5)),
]
ONE_HOT = [
    ZeroOne(),
    MeanAbsoluteError(),
    InfinityNorm(),
    GeneralizedCrossEntropy(1.0),
    GeneralizedCrossEntropy(3.0),
]
SYMMETRIC = [ZeroOneMargin(), Sigmoid(), Ramp()]
LAMBDAS = [0.01, 0.2, 0.5, 0.8, 1.0, 1.5, 2.0]


def distributions(n_classes: int, n_random: int, seed: int) -> Array:
    """Random ones, corners, ties of two and of all, and one class nearly absent."""
    rng = np.random.default_rng([seed, n_classes])
    corners = np.eye(n_classes)
    tie = (corners[0] + corners[-1]) / 2
    nearly = np.append(np.full(n_classes - 1, (1 - 1e-9) / (n_classes - 1)), 1e-9)
    centre = np.full(n_classes, 1 / n_classes)
    random = rng.dirichlet(np.full(n_classes, 0.7), n_random)
    return np.vstack([random, corners[:2], tie, nearly, centre])


# --- over the simplex: formulas ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        (MeanSquaredError(), lambda y, e: np.sum((y - e) ** 2)),
        (CrossEntropy(), lambda y, e: -np.log(y @ e)),
        (ZeroOne(), lambda y, e: float(np.any(y != e))),
        (MeanAbsoluteError(), lambda y, e: np.abs(y - e).sum()),
        (InfinityNorm(), lambda y, e: np.abs(y - e).max()),
        (GeneralizedCrossEntropy(0.7), lambda y, e: (1 - (y @ e) ** 0.7) / 0.7),
        (GeneralizedCrossEntropy(2), lambda y, e: (1 - (y @ e) ** 2) / 2),
        (GeneralizedCrossEntropy(0), lambda y, e: -np.log(y @ e)),
    ],
    ids=lambda value: "formula" if callable(value) else str(value),
)
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_loss_is_the_papers_formula(loss: SimplexLoss, formula: Any, n_classes: int) -> None:
    one_hot = np.eye(n_classes)
    predictions = np.vstack([distributions(n_classes, 10, 0), one_hot])
    with np.errstate(divide="ignore"):
        expected = np.array([[formula(y, e) for e in one_hot] for y in predictions])
    assert_allclose(loss.losses(predictions), expected, atol=1e-14)
    for label in range(n_classes):
        assert_allclose(loss.loss(predictions, label), expected[:, label], atol=1e-14)


@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
def test_everything_is_vectorised_over_the_last_axis(
    loss: SimplexLoss, rng: np.random.Generator
) -> None:
    p = rng.dirichlet(np.ones(4), (5, 3))
    prediction = rng.dirichlet(np.ones(4), (5, 3))
    label = rng.integers(4, size=(5, 3))
    assert loss.impurity(p).shape == loss.risk(prediction, p).shape == (5, 3)
    assert loss.optimal_prediction(p).shape == loss.losses(prediction).shape == (5, 3, 4)
    assert loss.loss(prediction, label).shape == (5, 3)
    for i in np.ndindex(5, 3):
        assert_allclose(loss.impurity(p)[i], loss.impurity(p[i]))
        assert_allclose(loss.risk(prediction, p)[i], loss.risk(prediction[i], p[i]))
        assert_allclose(loss.optimal_prediction(p)[i], loss.optimal_prediction(p[i]))
        assert_allclose(loss.loss(prediction, label)[i], loss.losses(prediction[i])[label[i]])


# --- over the simplex: Theorems 1 and 3 ----------------------------------------------------------


def minimised_risk(loss: SimplexLoss, p: Array) -> float:
    """The smallest risk that vertices and descents from several starts reach.

    Descends over x, where the prediction is x²/‖x‖², by differences of the risk alone.
    """
    n_classes = len(p)
    step = 1e-6 * np.vstack([np.eye(n_classes), -np.eye(n_classes)])

    def risk(x: Array) -> Array:
        return loss.risk(x**2 / (x**2).sum(axis=-1, keepdims=True), p)

    def risk_and_slope(x: Array) -> tuple[float, Array]:
        ahead, behind = risk(x + step).reshape(2, n_classes)
        return float(risk(x)), (ahead - behind) / 2e-6

    best = min(float(loss.risk(vertex, p)) for vertex in np.eye(n_classes))
    for start in (np.full(n_classes, 1 / n_classes), 0.9 * p + 0.1 / n_classes):
        found = minimize(
            risk_and_slope, np.sqrt(start), jac=True, method="L-BFGS-B", options={"ftol": 1e-13}
        )
        best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("n_classes", [2, 3, 7, 20])
@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
def test_the_impurity_is_the_smallest_risk(loss: SimplexLoss, n_classes: int) -> None:
    for p in distributions(n_classes, 3, 1):
        impurity = float(loss.impurity(p))
        assert impurity == pytest.approx(float(loss.risk(loss.optimal_prediction(p), p)), abs=1e-9)
        assert impurity == pytest.approx(minimised_risk(loss, p), abs=1e-6)


@pytest.mark.parametrize("n_classes", range(2, 21))
@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
def test_no_prediction_has_a_smaller_risk(loss: SimplexLoss, n_classes: int, seed: int) -> None:
    p = distributions(n_classes, 30, seed)
    rng = np.random.default_rng(seed)
    impurity = loss.impurity(p)
    assert_allclose(loss.risk(loss.optimal_prediction(p), p), impurity, atol=1e-9)
    near = loss.optimal_prediction(p)
    for scale in (1e-4, 1e-2, 1.0):
        other = (1 - scale) * near + scale * rng.dirichlet(np.ones(n_classes), len(p))
        assert np.all(loss.risk(other, p) >= impurity - 1e-12)
    for vertex in np.eye(n_classes):
        assert np.all(loss.risk(vertex, p) >= impurity - 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_theorem_3(n_classes: int) -> None:
    p = distributions(n_classes, 20, 2)
    one_hot = np.eye(n_classes)[p.argmax(axis=1)]  # the first of equals
    for loss in ONE_HOT:
        assert_array_equal(loss.optimal_prediction(p), one_hot)
    for proper in (MeanSquaredError(), CrossEntropy(), GeneralizedCrossEntropy(0)):
        assert_allclose(proper.optimal_prediction(p), p)
    powers = p ** (1 / (1 - 0.7))
    expected = powers / powers.sum(axis=1, keepdims=True)
    assert_allclose(GeneralizedCrossEntropy(0.7).optimal_prediction(p), expected, atol=1e-15)


@pytest.mark.parametrize("q", [1e-3, 1e-6, 1e-9, 1e-12, 1e-300])
def test_generalized_cross_entropy_of_a_small_q_is_nearly_entropy(q: float) -> None:
    p = distributions(4, 20, 0)
    loss = GeneralizedCrossEntropy(q)
    assert_allclose(loss.impurity(p), CrossEntropy().impurity(p), rtol=2 * q + 1e-12, atol=1e-15)


@pytest.mark.parametrize("q", [1 - 1e-3, 1 - 1e-6, 1 - 1e-12])
def test_generalized_cross_entropy_near_one_is_nearly_misclassification(q: float) -> None:
    p = distributions(4, 20, 0)
    error = np.abs(GeneralizedCrossEntropy(q).impurity(p) - (1 - p.max(axis=1)))
    assert error.max() < 5 * (1 - q) + 1e-12


# --- of a margin: Lemmas 1 and 2 -----------------------------------------------------------------


def test_lemmas_1_and_2() -> None:
    z = np.linspace(-4, 4, 81)
    off_zero = z[z != 0]
    assert_allclose(ZeroOneMargin().margin_loss(off_zero), (1 - np.sign(off_zero)) / 2)
    assert_allclose(Sigmoid().margin_loss(z), 1 / (1 + np.exp(z)))
    assert_allclose(Ramp().margin_loss(z), np.maximum(0, np.minimum(1, (1 - z) / 2)))
    for mu in (0.0, 0.3, 2.0):
        loss = NegativeExponential(mu=mu)
        assert_allclose(loss.margin_loss(z), np.minimum(1, np.exp(-z - mu)))
        assert loss.lam == pytest.approx(2 * np.exp(-mu))
    for loss, twin in [
        (ZeroOneMargin(), stats.bernoulli(0)),
        (Sigmoid(), stats.logistic(0, 1)),
        (Ramp(), stats.uniform(-1, 2)),
    ]:
        assert_allclose(loss.cdf(z), twin.cdf(z), atol=1e-15)
    shifted = stats.expon()  # Z = μ − X: P(Z ≤ z) = P(X ≥ μ − z)
    assert_allclose(NegativeExponential(mu=0.7).cdf(z), shifted.sf(0.7 - z))


@pytest.mark.parametrize("loss", [*SYMMETRIC, NegativeExponential(lam=0.5)], ids=str)
def test_a_distribution_loss_is_bounded_and_has_its_limits(loss: DistributionLoss) -> None:
    assert_array_equal(loss.margin_loss([-np.inf, np.inf]), [1, 0])
    assert_array_equal(loss.losses([-np.inf, np.inf]), [[0, 1], [1, 0]])
    prediction = np.linspace(-5, 5, 11)
    assert_array_equal(loss.loss(prediction, 1), loss.margin_loss(prediction))
    assert_array_equal(loss.loss(prediction, -1), loss.margin_loss(-prediction))
    assert_allclose(loss.risk(prediction, 1.0), loss.loss(prediction, 1))
    assert_allclose(loss.risk(prediction, 0.0), loss.loss(prediction, -1))


# --- of a margin: impurities ---------------------------------------------------------------------

P = np.concatenate([np.linspace(0, 1, 201), [1e-9, 1e-4, 1 - 1e-4, 1 - 1e-9]])


@pytest.mark.parametrize(
    "cdf",
    [
        stats.cauchy(),
        stats.norm(scale=3),
        stats.t(df=2),
        stats.laplace(),
        stats.uniform(-0.001, 0.002),
        lambda z: (stats.norm.cdf(z, 2, 0.1) + stats.norm.cdf(z, -2, 0.1)) / 2,
        *SYMMETRIC,
    ],
    ids=lambda cdf: str(cdf).split(" at 0x")[0],
)
def test_distributions_symmetric_about_zero_give_min_p(cdf: Any) -> None:
    """F(z) + F(−z) = 1, so the risk is between those of −∞ and +∞."""
    loss = DistributionLoss(cdf)
    assert_allclose(loss.impurity(P), np.minimum(P, 1 - P), atol=1e-12)
    assert_allclose(loss.kinks(), [0.5])


@pytest.mark.parametrize("loss", SYMMETRIC, ids=str)
def test_sigmoid_ramp_and_01_in_closed_form(loss: DistributionLoss) -> None:
    assert_array_equal(loss.impurity(P), np.minimum(P, 1 - P))
    assert_allclose(loss.risk(loss.optimal_prediction(P), P), loss.impurity(P))
    assert_array_equal(loss.kinks(), [0.5])


@pytest.mark.parametrize("loss", [*SYMMETRIC, DistributionLoss(stats.norm(1))], ids=str)
def test_the_impurity_at_class_distributions(loss: DistributionLoss) -> None:
    p = np.stack([1 - P, P], axis=1)
    assert_array_equal(loss.impurity_multiclass(p), loss.impurity(P))
    assert_array_equal(MeanSquaredError().impurity_multiclass(p), MeanSquaredError().impurity(p))


@pytest.mark.parametrize("lam", LAMBDAS)
def test_theorem_6(lam: float) -> None:
    loss = NegativeExponential(lam=lam)
    expected = np.minimum(np.minimum(P, 1 - P), lam * np.sqrt((1 - P**2 - (1 - P) ** 2) / 2))
    assert_allclose(loss.impurity(P), expected, atol=1e-12)
    assert_allclose(loss.risk(loss.optimal_prediction(P), P), expected, atol=1e-12)
    numerical = DistributionLoss(loss.cdf)
    assert_allclose(numerical.impurity(P), expected, atol=1e-9)
    assert_allclose(numerical.kinks(), loss.kinks(), atol=1e-9)


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_negative_exponential_of_many_classes(lam: float, n_classes: int) -> None:
    loss = NegativeExponential(lam=lam)
    p = distributions(n_classes, 50, 3)
    gini = 1 - (p**2).sum(axis=1)
    expected = np.minimum(1 - p.max(axis=1), lam * np.sqrt(gini * (n_classes - 1) / n_classes))
    assert_allclose(loss.impurity_multiclass(p), expected, atol=1e-7)  # √ of what cancels
    if n_classes == 2:
        assert_allclose(loss.impurity_multiclass(p), loss.impurity(p[:, 1]), atol=1e-15)
    largest = loss.impurity_multiclass(np.full(n_classes, 1 / n_classes))
    assert largest == pytest.approx(min(lam, 1) * (1 - 1 / n_classes))


def minimised_margin_risk(loss: DistributionLoss, p: float, jumps: Array) -> float:
    """The smallest risk on a fine grid, at jumps and beside them, and by descent from the best."""
    z = np.concatenate(
        [np.linspace(-30, 30, 12_001), np.tan(np.linspace(-1.57, 1.57, 3999)), jumps]
    )
    z = np.unique(np.concatenate([z, -z, np.nextafter(z, np.inf), -np.nextafter(z, np.inf)]))
    risks = loss.risk(z, p)
    best = int(np.argmin(risks))
    around = z[best] + np.array([-0.01, 0.01]) * max(1, abs(z[best]))
    descent = minimize_scalar(
        lambda x: float(loss.risk(x, p)), bounds=around, method="bounded", options={"xatol": 1e-7}
    )
    return min(float(risks[best]), float(descent.fun), p, 1 - p)


ATOMS = np.sort(np.random.default_rng(0).normal(0.4, 1, 300))
GENERAL = {
    "Student t": stats.t(df=3, loc=1),
    "Cauchy": stats.cauchy(loc=2),
    "normal": stats.norm(loc=1),
    "normal, wrong side": stats.norm(loc=-1),
    "normal, narrow": stats.norm(loc=0.05, scale=0.02),
    "lognormal": stats.lognorm(2, loc=-3),
    "exponential": stats.expon(loc=-0.2),
    "uniform": stats.uniform(-1, 3),
    "Laplace": stats.laplace(loc=0.3),
    "Poisson": stats.poisson(3, loc=-2),
    "two humps": lambda z: stats.norm.cdf(z, -3, 0.3) / 2 + stats.norm.cdf(z, 4, 0.3) / 2,
    "three humps": lambda z: (
        0.2 * stats.norm.cdf(z, -1, 0.2)
        + 0.3 * stats.norm.cdf(z, 0.7, 0.1)
        + 0.5 * stats.norm.cdf(z, 2, 0.2)
    ),
    "a jump": lambda z: stats.norm.cdf(z) / 2 + (z >= 0.3) / 2,
    "a hidden step": lambda z: 0.9 * stats.norm.cdf(z, 1) + 0.1 * stats.norm.cdf(z, 0.321, 1e-6),
    "atoms": lambda z: np.searchsorted(ATOMS, z, side="right") / len(ATOMS),
}
JUMPS = np.concatenate([[0.3, 0.321], np.arange(-20, 21), ATOMS, 0.321 + np.linspace(0, 5e-6, 500)])


@pytest.mark.parametrize("name", GENERAL)
def test_the_impurity_of_any_distribution(name: str) -> None:
    loss = DistributionLoss(GENERAL[name])
    p = np.concatenate([np.random.default_rng(0).random(6), [0, 1e-6, 0.03, 0.5, 0.97, 1]])
    impurity = loss.impurity(p)
    brute = np.array([minimised_margin_risk(loss, x, JUMPS) for x in p])
    assert np.all(impurity <= brute + 2e-10)  # never worse than what brute force finds,
    assert_allclose(loss.risk(loss.optimal_prediction(p), p), impurity, atol=1e-15)  # and reached
    assert_allclose(impurity, brute, atol=1e-6)


@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.floats(0, 2), st.floats(0.05, 1)), min_size=1, max_size=4
    )
)
def test_an_impurity_is_a_concave_smallest_risk(humps: list[tuple[float, float, float]]) -> None:
    """For any mixture of normals and steps."""
    total = sum(weight for *_, weight in humps)

    def cdf(z: Array) -> Array:
        parts = [
            weight * (stats.norm.cdf(z, at, width) if width > 0.01 else (z >= at))
            for at, width, weight in humps
        ]
        return np.asarray(sum(parts) / total, dtype=np.float64)

    loss = DistributionLoss(cdf)
    p = np.linspace(0, 1, 101)
    impurity = loss.impurity(p)
    assert np.all((impurity >= 0) & (impurity <= np.minimum(p, 1 - p) + 1e-15))
    assert np.all(np.diff(impurity, 2) <= 1e-12)
    assert_allclose(impurity, impurity[::-1], atol=1e-9)  # p and 1 − p: ŷ and −ŷ
    z = np.linspace(-6, 6, 1001)
    assert np.all(loss.risk(z[:, None], p) >= impurity - 1e-9)
    assert_allclose(loss.risk(loss.optimal_prediction(p), p), impurity, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e9, 1e200])
def test_the_scale_of_margins_does_not_matter(scale: float) -> None:
    one = DistributionLoss(stats.norm(loc=1))
    other = DistributionLoss(stats.norm(loc=scale, scale=scale))
    assert_allclose(other.impurity(P), one.impurity(P), atol=2e-10)


def test_kinks_are_where_two_predictions_are_equally_good() -> None:
    loss = DistributionLoss(stats.t(df=3, loc=1))
    low, high = loss.kinks()
    assert low + high == pytest.approx(1)
    below, above = loss.impurity([low - 1e-6, low + 1e-6])
    left = (loss.impurity(low) - below) / 1e-6
    right = (above - loss.impurity(low)) / 1e-6
    assert left == pytest.approx(1, abs=1e-6)  # −∞ is best below it, at risk p
    assert right < 0.9
    assert DistributionLoss(stats.norm(loc=1)).kinks().size == 0


# --- the engine has the same impurities ----------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
def test_the_engines_nodes_have_the_impurity(
    loss: SimplexLoss, n_classes: int, rng: np.random.Generator
) -> None:
    X = rng.integers(0, 6, (200, 4))
    y = rng.integers(n_classes, size=200)
    tree = RobustTreeClassifier(criterion=loss.criterion(), max_depth=4).fit(X, y).tree_
    assert_allclose(loss.impurity(tree.value[:, 0]), tree.impurity, atol=1e-12)


@pytest.mark.parametrize(
    "loss", [*SYMMETRIC, *(NegativeExponential(lam=v) for v in LAMBDAS)], ids=str
)
def test_the_engines_nodes_have_the_impurity_of_a_margin(
    loss: DistributionLoss, rng: np.random.Generator
) -> None:
    X = rng.integers(0, 6, (200, 4))
    y = rng.integers(2, size=200)
    tree = RobustTreeClassifier(criterion=loss.criterion(), max_depth=4).fit(X, y).tree_
    assert_allclose(loss.impurity(np.clip(tree.value[:, 0, 1], 0, 1)), tree.impurity, atol=1e-12)


def test_the_engines_criteria() -> None:
    assert isinstance(MeanSquaredError().criterion(), criteria.Gini)
    assert isinstance(CrossEntropy().criterion(), criteria.Entropy)
    for loss in (ZeroOne(), MeanAbsoluteError(), InfinityNorm(), *SYMMETRIC):
        assert isinstance(loss.criterion(), criteria.Misclassification)
    assert GeneralizedCrossEntropy(0.3).criterion().get_params() == {"q": 0.3}
    assert NegativeExponential(lam=0.3).criterion().get_params() == {"lam": 0.3}
    assert NegativeExponential(mu=0).criterion().get_params() == {"lam": 1.0}  # clipped from 2
    for loss in (DistributionLoss(stats.norm(1)), CustomLoss(lambda y: 1 - y)):
        criterion = loss.criterion()
        assert isinstance(criterion, criteria.FromLoss)
        assert criterion.loss is loss


# --- a loss of one's own -------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
def test_a_custom_loss_of_two_classes_finds_the_closed_form(loss: SimplexLoss) -> None:
    custom = CustomLoss(loss.losses)
    p = np.stack([1 - P, P], axis=1)
    assert_allclose(custom.impurity(p), loss.impurity(p), atol=1e-9)
    assert_allclose(custom.risk(custom.optimal_prediction(p), p), custom.impurity(p), atol=1e-12)
    assert_allclose(custom.kinks(), loss.kinks(), atol=1e-9)


@pytest.mark.parametrize("loss", SIMPLEX, ids=str)
@pytest.mark.parametrize("n_classes", [3, 6])
def test_a_custom_loss_of_many_classes_finds_the_closed_form(
    loss: SimplexLoss, n_classes: int
) -> None:
    custom = CustomLoss(loss.losses)
    p = distributions(n_classes, 2, 4)
    assert_allclose(custom.impurity(p), loss.impurity(p), atol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [*SIMPLEX[:6], Sigmoid(), NegativeExponential(mu=1), DistributionLoss(stats.norm(1))],
    ids=str,
)
def test_losses_can_be_copied_and_stored(loss: Any) -> None:
    loss.impurity([0.25, 0.75])
    assert copy.deepcopy(loss) is loss
    stored = pickle.dumps(loss)
    assert len(stored) < 100_000  # without what it has cached
    assert_array_equal(pickle.loads(stored).impurity([0.25, 0.75]), loss.impurity([0.25, 0.75]))


def test_a_loss_that_is_infinite_between() -> None:
    def barred(y: Array) -> Array:
        return np.where(np.abs(y - 0.5) < 0.3, np.inf, 1 - y)

    loss = CustomLoss(barred)
    assert_allclose(loss.impurity([[0.3, 0.7], [1, 0], [0.5, 0.5]]), [0.3, 0, 0.5], atol=1e-9)


def test_a_noisy_cdf_comes_to_an_end() -> None:
    """Errors as those of quadrature, above the tolerance at every scale."""

    def noisy(z: Array) -> Array:
        return np.clip(stats.norm.cdf(z, 1) + 3e-9 * np.sin(1e9 * z), 0, 1)

    exact = DistributionLoss(stats.norm(1)).impurity(P)
    assert_allclose(DistributionLoss(noisy).impurity(P), exact, atol=1e-8)


def test_names() -> None:
    assert repr(GeneralizedCrossEntropy(0.5)) == "GeneralizedCrossEntropy(q=0.5)"
    assert repr(NegativeExponential(lam=0.25)) == "NegativeExponential(lam=0.25)"
    assert repr(MeanSquaredError()) == "MeanSquaredError()"
    assert repr(Ramp()) == "Ramp()"
    assert repr(DistributionLoss(stats.t(3, loc=1))) == "DistributionLoss(t(3, loc=1))"
    assert repr(DistributionLoss(stats.norm.cdf)) == "DistributionLoss(cdf)"
    assert repr(CustomLoss(spherical)) == "CustomLoss(spherical)"


def spherical(y: Array) -> Array:
    return np.asarray(1 - y / np.linalg.norm(y, axis=-1, keepdims=True))


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GeneralizedCrossEntropy(-0.1), "q must be a finite number >= 0"),
        (lambda: GeneralizedCrossEntropy(float("nan")), "q must be"),
        (lambda: NegativeExponential(lam=0), "lam must be greater than 0.*SqrtGini"),
        (lambda: NegativeExponential(lam=2.1), "at most 2"),
        (lambda: NegativeExponential(mu=-0.1), "mu must be"),
        (lambda: NegativeExponential(mu=float("inf")), "mu must be"),
        (lambda: NegativeExponential(mu=1, lam=0.5), "lam or mu, not both"),
        (lambda: ZeroOne().impurity([0.5, 0.6]), "p must sum to 1.*1.1"),
        (lambda: ZeroOne().impurity([1.5, -0.5]), "p must hold probabilities"),
        (lambda: ZeroOne().impurity([np.nan, 1]), "p must hold probabilities"),
        (lambda: ZeroOne().impurity(0.5), "last axis"),
        (lambda: ZeroOne().losses([0.4, 0.4]), "prediction must sum to 1"),
        (lambda: ZeroOne().loss([0.5, 0.5], 2), "label must hold class indices.*0 to 1"),
        (lambda: ZeroOne().loss([0.5, 0.5], 0.5), "label must hold class indices"),
        (lambda: ZeroOne().risk([0.5, 0.5], [0.2, 0.3, 0.5]), "same number of classes.*2 and 3"),
        (lambda: Sigmoid().impurity(1.2), "p is the probability.*1.2"),
        (lambda: Sigmoid().impurity([0.5, np.nan]), "p is the probability"),
        (lambda: Sigmoid().loss(0.3, 0), "label must be −1 or"),
        (lambda: Sigmoid().impurity_multiclass([0.2, 0.3, 0.5]), "two classes, but p has 3"),
        (lambda: DistributionLoss(lambda z: np.full_like(z, np.nan)), "cdf returned NaN at z"),
        (lambda: DistributionLoss(lambda z: stats.norm.sf(z)), "never decrease.*falls from"),
        (
            lambda: DistributionLoss(lambda z: 2 * stats.norm.cdf(z)),
            "cdf returned .*outside 0 to 1",
        ),
        (lambda: DistributionLoss(lambda z: stats.norm.cdf(z) - 0.5), "outside 0 to 1"),
        (lambda: DistributionLoss(lambda z: stats.norm.cdf(z) / 2), "from 0 at −∞ to 1 at"),
        (lambda: DistributionLoss(lambda z: np.full_like(z, 0.5)), "from 0 at −∞ to 1 at"),
        (lambda: DistributionLoss(lambda z: 0.5), "cdf must be vectorised"),
        (lambda: DistributionLoss(lambda z: stats.norm.cdf(z[:1])), "cdf must be vectorised"),
        (lambda: CustomLoss(lambda y: y[..., 0]).impurity([0.5, 0.5]), "one loss for each class"),
        (lambda: CustomLoss(lambda y: y * np.nan).losses([0.5, 0.5]), "returned NaN"),
        (lambda: CustomLoss(lambda y: -y).losses([0.5, 0.5]), "negative value -0.5"),
        (lambda: CustomLoss(lambda y: y - 0.1).impurity([0.2, 0.3, 0.5]), "negative value"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_cdf_that_dips_only_between_powers_of_two_is_found() -> None:
    def dips(z: Array) -> Array:
        return np.asarray(stats.norm.cdf(z) - 0.05 * np.exp(-(((z - 1.5) / 0.1) ** 2)))

    with pytest.raises(ValueError, match="never decrease"):
        DistributionLoss(dips).impurity(0.5)


@pytest.mark.parametrize("make", [DistributionLoss, CustomLoss])
@pytest.mark.parametrize("wrong", [None, 3, "norm"])
def test_what_is_no_function(make: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="function of"):
        make(wrong)

"""Conservative losses: Definition 1, Theorem 2, and the lemma behind it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.losses._checks import Array, distributions
from hardwood.losses._impurities import Impurity, misclassification
from hardwood.losses._loss import Loss
from hardwood.theory._predictions import TOLERANCE, Predictions


@dataclass(frozen=True)
class Conservativeness:
    """Whether a loss is conservative. True in a condition if it is.

    Attributes
    ----------
    constant : float or None
        The constant C, or None for a loss that is not conservative.
    violated : {"a", "b", "c"} or None
        The condition of Definition 1 that fails.
    prediction : ndarray or None
        A prediction at which it fails.
    reason : str
        The same in words.
    """

    constant: float | None
    violated: str | None
    prediction: Array | None
    reason: str

    def __bool__(self) -> bool:
        return self.constant is not None


def conservative_constant(loss: Loss, n_classes: int = 2) -> Conservativeness:
    """Find the constant C of a conservative loss, or the condition that fails (Definition 1).

    A loss is C-conservative, C > 0, if for all predictions ŷ and classes j

    (a) Σ_j ℓ(ŷ, e_j) ≥ C (K − 1),  (b) ℓ(ŷ, e_j) ≤ C,  (c) ℓ(e_j, e_j) = 0.

    The vertices allow only one C: the cost of predicting one class where the label is another. For
    this C, (a) and (b) are checked at the vertices, along all edges, at random points, and by
    descent from the worst of these. The relative tolerance is 1e-6. For a margin loss the vertices
    are −∞ and +∞, and a grid covers the predictions between them.

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss.
    n_classes : int, default=2
        Number of classes K, at least 2. Margin losses have two.

    Returns
    -------
    Conservativeness
        The constant, or what fails and where.

    Examples
    --------
    >>> from hardwood.losses import CrossEntropy, MeanAbsoluteError, MeanSquaredError
    >>> from hardwood.theory import conservative_constant
    >>> conservative_constant(MeanAbsoluteError(), 3).constant
    2.0
    >>> print(conservative_constant(MeanSquaredError(), 4).reason)
    (a) fails at [0.25 0.25 0.25 0.25]: the losses sum to 3, less than C (K − 1) = 6
    >>> print(conservative_constant(CrossEntropy(), 2).reason)
    (b) fails at [1. 0.]: a loss is inf, more than any C
    """
    predictions = Predictions(loss, n_classes)
    at_vertices = loss.losses(predictions.vertices)  # one row per vertex
    is_right = np.eye(n_classes, dtype=bool)
    right, wrong = at_vertices[is_right], np.where(is_right, 0.0, at_vertices).max(axis=1)
    constant = float(wrong.max())
    tolerance = TOLERANCE * constant

    if np.isinf(constant):
        return _fails("b", predictions.vertices[wrong.argmax()], "a loss is inf, more than any C")
    if right.max() > tolerance:
        vertex = predictions.vertices[right.argmax()]
        return _fails("c", vertex, f"the right prediction costs {right.max():.6g}, not 0")
    prediction, total = predictions.smallest_total()
    if constant == 0:
        reason = f"the losses sum to {total:.6g}, so no C > 0 is small enough"
        return _fails("a", prediction, reason)
    least = constant * (n_classes - 1)
    if total < least * (1 - TOLERANCE):
        reason = f"the losses sum to {total:.6g}, less than C (K − 1) = {least:.6g}"
        return _fails("a", prediction, reason)
    prediction, largest = predictions.largest_loss()
    if largest > constant + tolerance:
        reason = f"a loss is {largest:.6g}, more than C = {constant:.6g}"
        return _fails("b", prediction, reason)
    return Conservativeness(constant, None, None, f"conservative with C = {constant:.6g}")


def _fails(condition: str, prediction: Array, reason: str) -> Conservativeness:
    where = np.array2string(np.asarray(prediction), precision=4, suppress_small=True)
    text = f"({condition}) fails at {where}: {reason}"
    return Conservativeness(None, condition, prediction, text)


@dataclass(frozen=True)
class Theorem2:
    """A check of Theorem 2 on a loss.

    Attributes
    ----------
    conservative : Conservativeness
        Whether the loss is conservative.
    impurity_constant : float or None
        The C for which the impurity is C (1 − max p) at every p tried, or None.
    condition_a : bool
        Whether (a) of Definition 1 holds for that C.
    """

    conservative: Conservativeness
    impurity_constant: float | None
    condition_a: bool

    @property
    def holds(self) -> bool:
        """Conservative losses have the misclassification impurity, and that impurity implies (a)."""
        implied = self.impurity_constant is not None or not self.conservative
        return implied and (self.condition_a or self.impurity_constant is None)


def theorem_2(loss: Loss, n_classes: int = 2) -> Theorem2:
    """Check Theorem 2 and its converse on a loss.

    A C-conservative loss has the impurity C (1 − max p). Conversely, a loss with that impurity
    satisfies (a) of Definition 1, but not necessarily (b).

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss.
    n_classes : int, default=2
        Number of classes, at least 2.

    Returns
    -------
    Theorem2
        Both sides of the theorem. The impurity is compared at the centre and at 40 random p.

    Examples
    --------
    A loss that exceeds C between the vertices is not conservative, but still has the
    misclassification impurity:

    >>> from hardwood.losses import CustomLoss
    >>> from hardwood.theory import theorem_2
    >>> check = theorem_2(CustomLoss(lambda y: 1 - y + 3 * y.prod(axis=-1, keepdims=True)))
    >>> check.conservative.violated, check.impurity_constant, check.condition_a, check.holds
    ('b', 1.0, True, True)
    """
    predictions = Predictions(loss, n_classes)
    conservative = conservative_constant(loss, n_classes)
    constant = misclassification_constant(loss.impurity_multiclass, n_classes)
    if constant is None:
        return Theorem2(conservative, None, False)
    _, total = predictions.smallest_total()
    condition_a = total >= constant * (n_classes - 1) * (1 - TOLERANCE)
    return Theorem2(conservative, round(constant, 9), bool(condition_a))


def misclassification_constant(impurity: Impurity, n_classes: int) -> float | None:
    """Return the C for which an impurity is C (1 − max p), at the centre and 40 random p."""
    centre = np.full((1, n_classes), 1 / n_classes)
    p = np.concatenate([centre, np.random.default_rng(0).dirichlet(np.ones(n_classes), 40)])
    impurities, shape = impurity(p), misclassification(p)
    constant = float(impurities[0] / shape[0])
    same = np.allclose(impurities, constant * shape, rtol=TOLERANCE, atol=TOLERANCE)
    return constant if same else None


@dataclass(frozen=True)
class EarthMoving:
    """Both sides of the inequality Σ p_j ℓ_j ≥ C (1 − max p), and where the lemma promises it.

    Attributes
    ----------
    applies : ndarray of bool
        Where Σ ℓ_j ≥ C (K − 1) and all 0 ≤ ℓ_j ≤ C.
    left, right : ndarray
        The two sides.
    """

    applies: NDArray[np.bool_]
    left: Array
    right: Array

    @property
    def holds(self) -> bool:
        """Whether the inequality is true wherever the lemma applies, up to rounding."""
        return bool(np.all(~self.applies | (self.left >= self.right - 1e-12)))


def earth_moving(p: ArrayLike, losses: ArrayLike, constant: float) -> EarthMoving:
    """Evaluate the lemma behind Theorem 2.

    Parameters
    ----------
    p : array-like of shape (..., K)
        Class distributions. Unlike in the paper, they need not be sorted.
    losses : array-like of shape (..., K)
        Losses ℓ_j on the classes.
    constant : float
        The constant C.

    Returns
    -------
    EarthMoving
        Where the lemma applies, and both sides of its inequality.

    Examples
    --------
    >>> from hardwood.theory import earth_moving
    >>> check = earth_moving([0.2, 0.3, 0.5], [1.0, 0.9, 0.1], 1.0)
    >>> bool(check.applies), round(float(check.left), 3), float(check.right), check.holds
    (True, 0.52, 0.5, True)
    """
    p = distributions("p", p)
    losses = np.asarray(losses, dtype=np.float64)
    rounding = 1e-13 * abs(constant)
    enough = losses.sum(axis=-1) >= constant * (losses.shape[-1] - 1) - rounding
    bounded = ((losses >= 0) & (losses <= constant)).all(axis=-1)
    left = np.asarray((p * losses).sum(axis=-1))
    right = np.asarray(constant * misclassification(p))
    return EarthMoving(np.asarray(enough & bounded), left, right)

"""Symmetric losses, and the label noise that they tolerate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hardwood.losses._checks import Array, distributions
from hardwood.losses._loss import Loss
from hardwood.theory._predictions import TOLERANCE, Predictions
from hardwood.theory.conservative import conservative_constant


@dataclass(frozen=True)
class Symmetry:
    """Whether the losses on all classes sum to a constant. True in a condition if they do.

    Attributes
    ----------
    where : {"everywhere", "vertices", "nowhere"}
        At all predictions, or only at one-hot ones (−∞ and +∞ for a margin loss).
    constant : float or None
        The sum there.
    prediction : ndarray or None
        A prediction with another sum.
    """

    where: str
    constant: float | None
    prediction: Array | None

    def __bool__(self) -> bool:
        return self.where == "everywhere"


def is_symmetric(loss: Loss, n_classes: int = 2) -> Symmetry:
    """Test whether Σ_j ℓ(ŷ, e_j) is the same for all predictions ŷ.

    The paper calls the 01 loss symmetric. That holds at the vertices only: any other ŷ is wrong
    for all K classes, not K − 1.

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss to test.
    n_classes : int, default=2
        Number of classes K; 2 for a margin loss.

    Returns
    -------
    Symmetry
        Where the loss is symmetric, up to a relative tolerance of 1e-6, and the constant.

    Examples
    --------
    >>> from hardwood.losses import MeanAbsoluteError, ZeroOne
    >>> from hardwood.theory import is_symmetric
    >>> is_symmetric(MeanAbsoluteError(), 3)
    Symmetry(where='everywhere', constant=4.0, prediction=None)
    >>> answer = is_symmetric(ZeroOne(), 3)
    >>> answer.where, answer.constant, bool(answer)
    ('vertices', 2.0, False)
    """
    predictions = Predictions(loss, n_classes)
    at_vertices = loss.losses(predictions.vertices).sum(axis=-1)
    constant = float(at_vertices[0])
    tolerance = TOLERANCE * abs(constant)
    if not np.isfinite(at_vertices).all() or np.ptp(at_vertices) > tolerance:
        return Symmetry("nowhere", None, predictions.vertices[int(np.argmax(at_vertices))])
    prediction, least = predictions.smallest_total()
    if least < constant - tolerance:
        return Symmetry("vertices", constant, prediction)
    prediction, most = predictions.largest_total()
    if most > constant + tolerance:
        return Symmetry("vertices", constant, prediction)
    return Symmetry("everywhere", constant, None)


@dataclass(frozen=True)
class NoiseTolerance:
    """Whether a known condition makes a loss tolerate a noise. True in a condition if so.

    Attributes
    ----------
    tolerant : bool
        Whether one of the conditions holds. They are sufficient, not necessary.
    noise : {"none", "uniform", "class-conditional"}
        The kind of noise.
    provided : str or None
        What the condition also requires of the data.
    reason : str
        The condition, or what is missing.
    """

    tolerant: bool
    noise: str
    provided: str | None
    reason: str

    def __bool__(self) -> bool:
        return self.tolerant


def noise_tolerant(loss: Loss, T: ArrayLike) -> NoiseTolerance:
    """Test whether risk minimisation with a loss tolerates label noise.

    It does if the minimisers of the risk on noisy and on clean data have the same 01 risk on clean
    data. Sufficient conditions, from Ghosh et al. (2015; 2017) as cited in the paper:

    - uniform noise: the loss is symmetric and the rate is below (K − 1)/K;
    - class-conditional noise: the loss is symmetric with constant S, no loss exceeds S/(K − 1),
      some classifier has risk 0 on clean data, and each T[i, i] is the largest entry of its row.
      (The paper asks for diagonal dominance; the cited work only for this weaker condition.)

    A conservative loss that is symmetric only at the vertices, such as the 01 loss, counts as
    symmetric: its optimal predictions are vertices (Theorem 3), on clean and on noisy labels.

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss.
    T : array-like of shape (n_classes, n_classes)
        Noise matrix, ``T[i, j] = P(observed j | true i)``.

    Returns
    -------
    NoiseTolerance
        Whether it does, and by which condition.

    Examples
    --------
    >>> from hardwood.losses import CrossEntropy, ZeroOne
    >>> from hardwood.noise import class_conditional, uniform
    >>> from hardwood.theory import noise_tolerant
    >>> answer = noise_tolerant(ZeroOne(), class_conditional([0.1, 0.3]))
    >>> bool(answer), answer.noise, answer.provided
    (True, 'class-conditional', 'some classifier has risk 0 on clean data')
    >>> print(noise_tolerant(CrossEntropy(), uniform(2, 0.3)).reason)
    the loss is not symmetric
    """
    T = distributions("T", T)
    n_classes = len(T)
    if T.shape != (n_classes, n_classes):
        raise ValueError(f"T must be a square matrix, got shape {T.shape}.")
    predictions = Predictions(loss, n_classes)
    stay = np.diagonal(T)
    leave = T[~np.eye(n_classes, dtype=bool)].reshape(n_classes, n_classes - 1)
    if np.allclose(stay, 1):
        return NoiseTolerance(True, "none", None, "there is no noise")
    is_uniform = np.allclose(leave, leave[0, 0])
    noise = "uniform" if is_uniform else "class-conditional"

    symmetry = is_symmetric(loss, n_classes)
    conservative = conservative_constant(loss, n_classes)
    if not symmetry and (symmetry.where == "nowhere" or not conservative):
        return NoiseTolerance(False, noise, None, "the loss is not symmetric")
    at = "" if symmetry else " at the vertices, where a conservative loss has its best predictions"
    excess = leave.max(axis=1) - stay
    if not np.all(excess < 0):
        reason = f"a label of class {np.argmax(excess)} is not most often observed as itself"
        return NoiseTolerance(False, noise, None, reason)
    if is_uniform:
        limit = f"{1 - stay[0]:.4g} is below (K − 1)/K = {1 - 1 / n_classes:.4g}"
        return NoiseTolerance(True, noise, None, f"the loss is symmetric{at}, and the rate {limit}")
    _, largest = predictions.largest_loss()
    most = float(symmetry.constant or 0.0) / (n_classes - 1)
    if largest > most * (1 + TOLERANCE):
        reason = f"a loss of {largest:.4g} exceeds S/(K − 1) = {most:.4g}"
        return NoiseTolerance(False, noise, None, reason)
    return NoiseTolerance(
        True,
        noise,
        "some classifier has risk 0 on clean data",
        f"the loss is symmetric{at}, bounded by S/(K − 1), and labels are most often right",
    )

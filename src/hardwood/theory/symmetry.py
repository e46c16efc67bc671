"""Symmetric losses, and the label noise that they tolerate."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hardwood.losses._checks import Array, distributions
from hardwood.theory._predictions import TOLERANCE, Loss, Predictions
from hardwood.theory.conservative import conservative_constant


@dataclass(frozen=True)
class Symmetry:
    """Whether the losses on all classes add up to a constant; true as a condition if they do.

    Attributes
    ----------
    where : {"everywhere", "vertices", "nowhere"}
        At which predictions: all, or one-hot ones only (−∞ and +∞ for a loss of a margin).
    constant : float or None
        What they add up to there.
    prediction : ndarray or None
        A prediction at which they do not.
    """

    where: str
    constant: float | None
    prediction: Array | None

    def __bool__(self) -> bool:
        return self.where == "everywhere"


def is_symmetric(loss: Loss, n_classes: int = 2) -> Symmetry:
    """Find whether Σ_j ℓ(ŷ, e_j) is the same for all predictions ŷ.

    The paper calls the 01 loss symmetric. It is so at the vertices only: at any other ŷ it is wrong
    about all K classes, not K − 1.

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss.
    n_classes : int, default=2
        Number of classes K, at least 2. Losses of a margin have two.

    Returns
    -------
    Symmetry
        Where it is symmetric, up to a relative tolerance of 1e-6, and the constant.

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
    prediction, least = predictions.minimise(lambda ŷ: loss.losses(ŷ).sum(axis=-1))
    if least < constant - tolerance:
        return Symmetry("vertices", constant, prediction)
    prediction, most = predictions.minimise(lambda ŷ: -loss.losses(ŷ).sum(axis=-1))
    if -most > constant + tolerance:
        return Symmetry("vertices", constant, prediction)
    return Symmetry("everywhere", constant, None)


@dataclass(frozen=True)
class NoiseTolerance:
    """Whether a cited condition makes a loss tolerant of a noise; true as a condition if so.

    Attributes
    ----------
    tolerant : bool
        Whether one of the conditions applies. They suffice; where none applies, nothing is said.
    noise : {"none", "uniform", "class-conditional"}
        What the noise matrix is.
    provided : str or None
        What the condition also asks of the data, which a loss and a noise matrix do not show.
    reason : str
        The condition, or what it misses.
    """

    tolerant: bool
    noise: str
    provided: str | None
    reason: str

    def __bool__(self) -> bool:
        return self.tolerant


def noise_tolerant(loss: Loss, T: ArrayLike) -> NoiseTolerance:
    """Find whether risk minimisation with a loss tolerates a label noise.

    It does if the risk's minimisers on noisy and on clean data have the same 01 risk on clean data.
    Conditions that suffice, from Ghosh et al. (2015; 2017) as the paper cites them:

    - uniform noise: the loss is symmetric and the rate is below (K − 1)/K;
    - class-conditional noise: the loss is symmetric with constant S, no loss exceeds S/(K − 1),
      some classifier has risk 0 on clean data, and each T[i, i] is the largest entry of its row
      (what the paper calls diagonally dominant is this weaker demand in the cited work).

    A conservative loss that is symmetric at the vertices only, such as the 01 loss, counts as
    symmetric: its best predictions are vertices (Theorem 3), on clean and on noisy labels.

    Parameters
    ----------
    loss : SimplexLoss or DistributionLoss
        The loss.
    T : array-like of shape (n_classes, n_classes)
        Noise matrix, ``T[i, j] = P(observed j | true i)``.

    Returns
    -------
    NoiseTolerance
        Whether it does, and which condition says so.

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
    if not np.all(leave.max(axis=1) < stay):
        reason = f"a label of class {int(np.argmax(leave.max(axis=1) - stay))} is "
        return NoiseTolerance(False, noise, None, reason + "not most often observed as itself")
    if is_uniform:
        limit = f"{1 - stay[0]:.4g} is below (K − 1)/K = {1 - 1 / n_classes:.4g}"
        return NoiseTolerance(True, noise, None, f"the loss is symmetric{at}, and the rate {limit}")
    _, negative = predictions.minimise(lambda ŷ: -loss.losses(ŷ).max(axis=-1))
    most = float(symmetry.constant or 0.0) / (n_classes - 1)
    if -negative > most * (1 + TOLERANCE):
        reason = f"a loss of {-negative:.4g} exceeds S/(K − 1) = {most:.4g}"
        return NoiseTolerance(False, noise, None, reason)
    return NoiseTolerance(
        True,
        noise,
        "some classifier has risk 0 on clean data",
        f"the loss is symmetric{at}, bounded by S/(K − 1), and labels are most often right",
    )

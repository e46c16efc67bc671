"""Distribution losses: losses of a margin, made from a cumulative distribution function.

Two classes, −1 and +1. A prediction ŷ is a real number, also −∞ or +∞, and z = y·ŷ is its margin.
For a cumulative distribution function F the loss is ℓ(z) = F(−z): near 0 for a large margin, and
never more than 1 for a label however wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from hardwood.losses import _checks
from hardwood.losses._checks import Array
from hardwood.losses._envelope import Envelope, monotone_grid, trace
from hardwood.losses._fixed import Fixed

if TYPE_CHECKING:
    from hardwood.criteria import Criterion

__all__ = ["DistributionLoss", "NegativeExponential", "Ramp", "Sigmoid", "ZeroOneMargin"]

# Quadrature, by which some distributions compute F, is no better than this.
_CDF_TOLERANCE = 1e-8
# F may still be this far from its limit at the largest float: tails can be very heavy.
_LIMIT_TOLERANCE = 0.01
_SATURATED = 1e-16


class DistributionLoss(Fixed):
    """The loss ℓ(z) = F(−z) of a margin z, for a cumulative distribution function F.

    Parameters
    ----------
    cdf : scipy.stats distribution or callable
        A frozen distribution, or F itself as a vectorised function of real numbers.

    Notes
    -----
    The impurity min over ŷ of p F(−ŷ) + (1 − p) F(ŷ) is computed to 1e-10, with any number of local
    minima and its limits ŷ → ±∞, from the lower convex hull of the curve (F(ŷ), F(−ŷ)). The hull is
    made at first use, from some hundred thousand values of F: in tenths of a second, unless F itself
    is slow or no more exact than that.

    Any F that is symmetric about 0 has F(ŷ) + F(−ŷ) = 1, and its impurity is min(p, 1 − p): all
    such losses grow the same trees.

    Examples
    --------
    >>> from scipy import stats
    >>> from hardwood.losses import DistributionLoss
    >>> loss = DistributionLoss(stats.norm(loc=1))
    >>> loss
    DistributionLoss(norm(loc=1))
    >>> loss.impurity([0.0, 0.1, 0.5]).round(6)
    array([0.      , 0.070061, 0.158655])
    >>> DistributionLoss(stats.cauchy()).impurity([0.1, 0.5, 0.8]).round(6)
    array([0.1, 0.5, 0.2])
    """

    def __init__(self, cdf: Any) -> None:
        self._cdf: Callable[[Array], Any] = getattr(cdf, "cdf", cdf)
        if not callable(self._cdf):
            raise TypeError(
                "cdf must be a frozen scipy.stats distribution or a function of real numbers, "
                f"got {cdf!r}."
            )
        self.distribution = cdf
        self._check_cdf()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self.distribution)})"

    def cdf(self, z: ArrayLike) -> Array:
        """Return F at real numbers, −∞ and +∞ included.

        Parameters
        ----------
        z : array-like
            Real numbers.

        Returns
        -------
        ndarray of the shape of `z`
            Values from 0 to 1.
        """
        z = np.asarray(z, dtype=np.float64)
        finite = np.clip(z, -np.finfo(np.float64).max, np.finfo(np.float64).max)
        with np.errstate(all="ignore"):  # exp may overflow on its way to a limit
            values = np.asarray(self._cdf(finite), dtype=np.float64)
        if values.shape != z.shape:
            raise ValueError(
                f"cdf must be vectorised: for an array of shape {z.shape} it returned "
                f"shape {values.shape}."
            )
        values = np.where(np.isinf(z), (z > 0).astype(np.float64), values)  # by definition
        inside = (values >= -_CDF_TOLERANCE) & (values <= 1 + _CDF_TOLERANCE)
        if not inside.all():
            at = z[~inside].flat[0]
            value = values[~inside].flat[0]
            what = "NaN" if np.isnan(value) else f"{value:g}, outside 0 to 1,"
            raise ValueError(f"cdf returned {what} at z = {at:g}; it must return probabilities.")
        return np.clip(values, 0.0, 1.0)

    def margin_loss(self, z: ArrayLike) -> Array:
        """Return ℓ(z) = F(−z).

        Parameters
        ----------
        z : array-like
            Margins y·ŷ.

        Returns
        -------
        ndarray of the shape of `z`
            Losses from 0 to 1.
        """
        return self.cdf(-np.asarray(z, dtype=np.float64))

    def loss(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        """Return the loss of predictions ŷ on labels −1 and +1.

        Parameters
        ----------
        prediction : array-like
            Real numbers; positive predicts the class +1.
        label : array-like
            −1 or +1, of a shape that broadcasts with `prediction`.

        Returns
        -------
        ndarray
            F(−y·ŷ).
        """
        return self.margin_loss(_checks.signs(label) * np.asarray(prediction, dtype=np.float64))

    def losses(self, prediction: ArrayLike) -> Array:
        """Return the loss of predictions on each of the two classes.

        Parameters
        ----------
        prediction : array-like
            Real numbers ŷ.

        Returns
        -------
        ndarray of the shape of `prediction`, and 2
            F(ŷ), the loss on the negative class, and F(−ŷ), that on the positive one.
        """
        prediction = np.asarray(prediction, dtype=np.float64)
        return self.cdf(np.stack([prediction, -prediction], axis=-1))

    def risk(self, prediction: ArrayLike, p: ArrayLike) -> Array:
        """Return the average loss where a share p of the labels is positive.

        Parameters
        ----------
        prediction : array-like
            Real numbers ŷ.
        p : array-like
            Probabilities of the positive class, of a shape that broadcasts with `prediction`.

        Returns
        -------
        ndarray
            p F(−ŷ) + (1 − p) F(ŷ).
        """
        p = _checks.probabilities("p", p)
        negative, positive = np.moveaxis(self.losses(prediction), -1, 0)
        return np.asarray((1 - p) * negative + p * positive)

    def impurity(self, p: ArrayLike) -> Array:
        """Return the smallest risk of any prediction.

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class.

        Returns
        -------
        ndarray of the shape of `p`
            min over ŷ of p F(−ŷ) + (1 − p) F(ŷ).
        """
        return self._envelope.impurity(_checks.probabilities("p", p))

    def optimal_prediction(self, p: ArrayLike) -> Array:
        """Return a prediction of smallest risk.

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class.

        Returns
        -------
        ndarray of the shape of `p`
            Real numbers, −∞ or +∞; the most negative of equals.
        """
        return self._envelope.prediction(_checks.probabilities("p", p))

    def kinks(self) -> Array:
        """Return where the slope of the impurity jumps.

        Returns
        -------
        ndarray
            The p in (0, 1), in ascending order; found numerically where no closed form is known.
        """
        return self._envelope.kinks()

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity, to grow trees of two classes with.

        Returns
        -------
        Criterion
            The engine's own where it has one, otherwise `hardwood.criteria.FromLoss` of this loss.
        """
        from hardwood.criteria import FromLoss

        return FromLoss(self)

    @cached_property
    def grid(self) -> Array:
        """Predictions, −∞ and +∞ included, dense enough that no dip of the risk hides between."""
        return monotone_grid(self.losses, self._powers_of_two())

    @cached_property
    def _envelope(self) -> Envelope:
        self._check_increasing(self.grid)
        return trace(self.losses, self.grid)

    def _powers_of_two(self) -> Array:
        """Return ±2^k from the smallest float to where F has reached its limits, with 0 and ±∞."""
        exponent = 0
        while exponent < 1023:
            at_left, at_right = self.cdf(np.array([-(2.0**exponent), 2.0**exponent]))
            if at_left <= _SATURATED and at_right >= 1 - _SATURATED:
                break
            exponent += 1
        positive = 2.0 ** np.arange(-1074, exponent + 1)
        return np.concatenate([[-np.inf], -positive[::-1], [0.0], positive, [np.inf]])

    def _check_cdf(self) -> None:
        """Raise if F is not a cumulative distribution function, as far as a coarse grid shows."""
        grid = self._powers_of_two()
        self._check_increasing(grid)
        largest = np.finfo(np.float64).max if np.abs(grid[1]) == 2.0**1023 else grid[-2]
        at_left, at_right = self.cdf(np.array([-largest, largest]))
        if at_left > _LIMIT_TOLERANCE or at_right < 1 - _LIMIT_TOLERANCE:
            raise ValueError(
                "cdf must go from 0 at −∞ to 1 at +∞, but goes "
                f"from {at_left:g} at {-largest:g} to {at_right:g} at {largest:g}."
            )

    def _check_increasing(self, grid: Array) -> None:
        values = self.cdf(grid)
        falls = np.flatnonzero(np.diff(values) < -_CDF_TOLERANCE)
        if len(falls):
            i = falls[0]
            raise ValueError(
                f"cdf must never decrease, but falls from {values[i]:g} at z = {grid[i]:g} "
                f"to {values[i + 1]:g} at z = {grid[i + 1]:g}."
            )


def _name(distribution: Any) -> str:
    """Return "t(3, loc=1)" for a frozen distribution, and the name of a function."""
    family = getattr(getattr(distribution, "dist", None), "name", None)
    if family is None:
        return getattr(distribution, "__name__", None) or repr(distribution)
    arguments = [f"{value!r}" for value in distribution.args]
    arguments += [f"{name}={value!r}" for name, value in distribution.kwds.items()]
    return f"{family}({', '.join(arguments)})"


class _Symmetric(DistributionLoss):
    """A distribution symmetric about 0: its impurity is min(p, 1 − p)."""

    def __init__(self) -> None:
        super().__init__(type(self)._function)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @staticmethod
    def _function(z: Array) -> Array:
        raise NotImplementedError

    def impurity(self, p: ArrayLike) -> Array:
        """Return the smallest risk of any prediction, min(p, 1 − p).

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class.

        Returns
        -------
        ndarray of the shape of `p`
            F(ŷ) + F(−ŷ) = 1, so risks are between those of ŷ → ±∞, which are p and 1 − p.
        """
        p = _checks.probabilities("p", p)
        return np.minimum(p, 1 - p)

    def optimal_prediction(self, p: ArrayLike) -> Array:
        """Return a prediction of smallest risk, −∞ or +∞.

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class.

        Returns
        -------
        ndarray of the shape of `p`
            +∞ where p > ½, otherwise −∞.
        """
        return np.where(_checks.probabilities("p", p) > 0.5, np.inf, -np.inf)

    def kinks(self) -> Array:
        """Return where the slope of the impurity jumps: at ½.

        Returns
        -------
        ndarray
            ½ alone.
        """
        return np.array([0.5])

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity.

        Returns
        -------
        Misclassification
            For two classes, 1 − max{p, 1 − p} = min{p, 1 − p}.
        """
        from hardwood.criteria import Misclassification

        return Misclassification()


class ZeroOneMargin(_Symmetric):
    """The 01 loss of a margin, ℓ(z) = 1 for z ≤ 0, else 0: F is that of Bernoulli(0) (Lemma 1).

    The paper's (1 − sign z)/2 is the same but at z = 0, where sign is 0 and the CDF 1.

    Examples
    --------
    >>> from hardwood.losses import ZeroOneMargin
    >>> ZeroOneMargin().margin_loss([-1.0, 0.0, 1.0])
    array([1., 1., 0.])
    """

    @staticmethod
    def _function(z: Array) -> Array:
        return (z >= 0).astype(np.float64)


class Sigmoid(_Symmetric):
    """The sigmoid loss ℓ(z) = 1/(1 + exp z): F is that of Logistic(0, 1) (Lemma 1).

    Examples
    --------
    >>> from hardwood.losses import Sigmoid
    >>> Sigmoid().margin_loss([-2.0, 0.0, 2.0]).round(3)
    array([0.881, 0.5  , 0.119])
    """

    @staticmethod
    def _function(z: Array) -> Array:
        values: Array = expit(z)
        return values


class Ramp(_Symmetric):
    """The ramp loss ℓ(z) = max{0, min{1, (1 − z)/2}}: F is that of Uniform(−1, 1) (Lemma 1).

    Examples
    --------
    >>> from hardwood.losses import Ramp
    >>> Ramp().margin_loss([-2.0, 0.0, 0.5, 2.0])
    array([1.  , 0.5 , 0.25, 0.  ])
    """

    @staticmethod
    def _function(z: Array) -> Array:
        return np.clip(0.5 + z / 2, 0.0, 1.0)


class NegativeExponential(DistributionLoss):
    """The negative exponential loss ℓ(z) = min{1, exp(−z − μ)} (Lemma 2).

    The paper's own: the margin μ − X for an exponential X. With λ = 2·exp(−μ) its impurity is
    min{p, 1 − p, λ √(p(1 − p))} (Theorem 6).

    Parameters
    ----------
    lam : float, optional
        Robustness λ, greater than 0 and at most 2. Everything above 1 gives the impurity of 1,
        which is misclassification. By default 0.5.
    mu : float, optional
        Shift μ ≥ 0, in place of `lam`.

    Examples
    --------
    >>> from hardwood.losses import NegativeExponential
    >>> loss = NegativeExponential(lam=0.5)
    >>> loss.impurity([0.1, 0.5])
    array([0.1 , 0.25])
    >>> round(loss.mu, 4)
    1.3863
    >>> loss.criterion()
    NegativeExponential()
    >>> NegativeExponential(mu=0).lam
    2.0
    """

    _parameters = ("lam",)

    def __init__(self, *, lam: float | None = None, mu: float | None = None) -> None:
        if lam is not None and mu is not None:
            raise ValueError("Give lam or mu, not both: lam = 2·exp(−mu).")
        if mu is not None:
            if not 0 <= mu < np.inf:
                raise ValueError(f"mu must be a finite number >= 0, got {mu}.")
            lam = 2 * float(np.exp(-mu))
        else:
            lam = 0.5 if lam is None else lam
            if not 0 < lam <= 2:
                raise ValueError(
                    f"lam must be greater than 0 and at most 2 (lam = 2·exp(−mu), mu >= 0), "
                    f"got {lam}. The limit 0 is the criterion hardwood.criteria.SqrtGini()."
                )
            mu = float(np.log(2 / lam))
        self.lam = float(lam)
        self.mu = float(mu)
        super().__init__(self._function)

    def __repr__(self) -> str:
        return f"NegativeExponential(lam={self.lam:g})"

    def _function(self, z: Array) -> Array:
        return np.exp(np.minimum(z - self.mu, 0.0))

    def impurity(self, p: ArrayLike) -> Array:
        """Return the smallest risk of any prediction, min{p, 1 − p, λ √(p(1 − p))} (Theorem 6).

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class; for class distributions of any number of classes
            see `impurity_multiclass`.

        Returns
        -------
        ndarray of the shape of `p`
            Impurities.
        """
        p = _checks.probabilities("p", p)
        return np.minimum(np.minimum(p, 1 - p), self.lam * np.sqrt(p * (1 - p)))

    def impurity_multiclass(self, p: ArrayLike) -> Array:
        """Return the generalisation to K classes, min{1 − max pₖ, λ √((1 − Σ pₖ²)(K−1)/K)}.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Class distributions.

        Returns
        -------
        ndarray of shape (...)
            Impurities; for two classes those of `impurity`.

        Examples
        --------
        >>> from hardwood.losses import NegativeExponential
        >>> NegativeExponential(lam=0.5).impurity_multiclass([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]])
        array([0.1       , 0.33166248])
        """
        p = _checks.distributions("p", p)
        n_classes = p.shape[-1]
        gini = (p * (1 - p)).sum(axis=-1)  # 1 − Σ p², and exactly 0 for a pure node
        root = self.lam * np.sqrt(gini * (n_classes - 1) / n_classes)
        return np.asarray(np.minimum(1 - p.max(axis=-1), root))

    def optimal_prediction(self, p: ArrayLike) -> Array:
        """Return a prediction of smallest risk.

        Parameters
        ----------
        p : array-like
            Probabilities of the positive class.

        Returns
        -------
        ndarray of the shape of `p`
            ½ log(p/(1 − p)) between the kinks, −∞ below and +∞ above them.
        """
        p = _checks.probabilities("p", p)
        kinks = self.kinks()
        with np.errstate(divide="ignore"):
            balanced = (np.log(p) - np.log1p(-p)) / 2
        return np.where(p <= kinks[0], -np.inf, np.where(p > kinks[-1], np.inf, balanced))

    def kinks(self) -> Array:
        """Return where the slope of the impurity jumps.

        Returns
        -------
        ndarray
            p and 1 − p for p = λ²/(1 + λ²), where both terms are equal; ½ for λ ≥ 1.
        """
        if self.lam >= 1:
            return np.array([0.5])
        square = self.lam**2
        return np.array([square / (1 + square), 1 / (1 + square)])

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity, for any number of classes.

        Returns
        -------
        hardwood.criteria.NegativeExponential
            With λ clipped at 1.
        """
        from hardwood import criteria

        return criteria.NegativeExponential(lam=min(self.lam, 1.0))

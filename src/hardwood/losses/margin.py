"""Distribution losses: losses of a margin, made from a cumulative distribution function.

There are two classes, −1 and +1. A prediction ŷ is a real number, −∞ and +∞ included, and z = y·ŷ
is its margin. For a cumulative distribution function F the loss is ℓ(z) = F(−z): near 0 for a
large margin, and never more than 1, however wrong the label.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from hardwood._io.storing import storable
from hardwood.losses import _checks, _impurities
from hardwood.losses._checks import Array
from hardwood.losses._envelope import Envelope, monotone_grid, trace
from hardwood.losses._loss import Loss

_CDF_TOLERANCE = 1e-8  # some distributions compute F by quadrature, which is no better
_LIMIT_TOLERANCE = 0.01  # heavy tails may be this far from their limit at the largest float
_SATURATED = 1e-16
_LARGEST = np.finfo(np.float64).max


class DistributionLoss(Loss):
    """The loss ℓ(z) = F(−z) of a margin z, for a cumulative distribution function F.

    Parameters
    ----------
    cdf : scipy.stats distribution or callable
        A frozen distribution, or F itself as a vectorised function of real numbers.

    Notes
    -----
    The impurity, min over ŷ of p F(−ŷ) + (1 − p) F(ŷ), is accurate to 1e-10, whatever the number of
    local minima. It comes from the lower convex hull of the curve (F(ŷ), F(−ŷ)). The hull is
    computed on first use from about a hundred thousand values of F. That takes tenths of a second,
    unless F itself is slow or inaccurate.

    If F is symmetric about 0, then F(ŷ) + F(−ŷ) = 1 and the impurity is min(p, 1 − p). All such
    losses grow the same trees.

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
        """Return F at real numbers.

        Parameters
        ----------
        z : array-like
            Real numbers, −∞ and +∞ included.

        Returns
        -------
        ndarray of the same shape as `z`
            Values from 0 to 1.
        """
        z = np.asarray(z, dtype=np.float64)
        with np.errstate(all="ignore"):  # exp may overflow on its way to a limit
            values = np.asarray(self._cdf(np.clip(z, -_LARGEST, _LARGEST)), dtype=np.float64)
        if values.shape != z.shape:
            raise ValueError(
                f"cdf must be vectorised: for an array of shape {z.shape} it returned "
                f"shape {values.shape}."
            )
        values = np.where(np.isinf(z), (z > 0).astype(np.float64), values)  # by definition
        inside = (values >= -_CDF_TOLERANCE) & (values <= 1 + _CDF_TOLERANCE)
        if not inside.all():
            at, value = z[~inside].flat[0], values[~inside].flat[0]
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
        ndarray of the same shape as `z`
            Losses from 0 to 1.
        """
        return self.cdf(-np.asarray(z, dtype=np.float64))

    @cached_property
    def grid(self) -> Array:
        """Predictions from −∞ to +∞, dense enough that the risk has no hidden dip in between."""
        return monotone_grid(self.losses, self._powers_of_two())

    @cached_property
    def _envelope(self) -> Envelope:
        self._check_increasing(self.grid)
        return trace(self.losses, self.grid)

    def _checked_prediction(self, prediction: ArrayLike) -> Array:
        return np.asarray(prediction, dtype=np.float64)

    def _class_index(self, label: ArrayLike, n_classes: int) -> NDArray[np.intp]:
        return _checks.sign_indices(label)

    def _class_shares(self, p: ArrayLike) -> Array:
        p = _checks.probabilities("p", p)
        return np.stack([1 - p, p], axis=-1)

    def _losses(self, prediction: Array) -> Array:
        return self.cdf(np.stack([prediction, -prediction], axis=-1))

    def _impurity(self, p: Array) -> Array:
        if p.shape[-1] != 2:
            raise ValueError(f"{self!r} is for two classes, but p has {p.shape[-1]}.")
        return self._binary_impurity(p[..., 1])

    def _binary_impurity(self, p: Array) -> Array:
        return self._envelope.impurity(p)

    def _optimal_prediction(self, p: Array) -> Array:
        return self._envelope.prediction(p[..., 1])

    def _kinks(self) -> Array:
        return self._envelope.kinks()

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
        """Raise if a coarse grid shows that F is not a cumulative distribution function."""
        grid = self._powers_of_two()
        self._check_increasing(grid)
        largest = _LARGEST if np.abs(grid[1]) == 2.0**1023 else grid[-2]
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
    """A distribution symmetric about 0.

    F(ŷ) + F(−ŷ) = 1, so every risk lies between those of ŷ → ±∞, which are p and 1 − p.
    """

    __repr__ = Loss.__repr__

    def __init__(self) -> None:
        super().__init__(type(self)._function)

    @staticmethod
    def _function(z: Array) -> Array:
        raise NotImplementedError

    def _binary_impurity(self, p: Array) -> Array:
        return np.minimum(p, 1 - p)

    def _optimal_prediction(self, p: Array) -> Array:
        return np.where(p[..., 1] > 0.5, np.inf, -np.inf)

    def _kinks(self) -> Array:
        return np.array([0.5])

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "Misclassification", {}


@storable("losses.ZeroOneMargin")
class ZeroOneMargin(_Symmetric):
    """The 01 loss of a margin, ℓ(z) = 1 for z ≤ 0, else 0: F is that of Bernoulli(0) (Lemma 1).

    The paper's (1 − sign z)/2 differs at z = 0 only, where it is ½.

    Examples
    --------
    >>> from hardwood.losses import ZeroOneMargin
    >>> ZeroOneMargin().margin_loss([-1.0, 0.0, 1.0])
    array([1., 1., 0.])
    """

    @staticmethod
    def _function(z: Array) -> Array:
        return (z >= 0).astype(np.float64)


@storable("losses.Sigmoid")
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
        return np.asarray(expit(z))


@storable("losses.Ramp")
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


@storable("losses.NegativeExponential")
class NegativeExponential(DistributionLoss):
    """The paper's negative exponential loss, ℓ(z) = min{1, exp(−z − μ)} (Lemma 2).

    F is the distribution of μ − X for an exponential X. With λ = 2·exp(−μ) the impurity is
    min{p, 1 − p, λ √(p(1 − p))} (Theorem 6), and for K classes, by `impurity_multiclass`,
    min{1 − max pₖ, λ √((1 − Σ pₖ²)(K−1)/K)}.

    Parameters
    ----------
    lam : float, optional
        Robustness λ, greater than 0 and at most 2. Values of 1 and above all give the
        misclassification impurity. By default 0.5.
    mu : float, optional
        Shift μ ≥ 0, instead of `lam`.

    Examples
    --------
    >>> from hardwood.losses import NegativeExponential
    >>> loss = NegativeExponential(lam=0.5)
    >>> loss.impurity([0.1, 0.5])
    array([0.1 , 0.25])
    >>> loss.impurity_multiclass([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]])
    array([0.1       , 0.33166248])
    >>> round(loss.mu, 4)
    1.3863
    >>> loss.criterion()
    NegativeExponential()
    >>> NegativeExponential(mu=0).lam
    2.0
    """

    _parameters = ("lam",)
    __repr__ = Loss.__repr__

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
                    f"got {lam}. For the limit 0, use hardwood.criteria.SqrtGini()."
                )
            mu = float(np.log(2 / lam))
        self.lam = float(lam)
        self.mu = float(mu)
        super().__init__(self._function)

    def _function(self, z: Array) -> Array:
        return np.exp(np.minimum(z - self.mu, 0.0))

    def _impurity(self, p: Array) -> Array:
        if p.shape[-1] != 2:
            return _impurities.negative_exponential(p, self.lam)
        return super()._impurity(p)

    def _binary_impurity(self, p: Array) -> Array:
        return np.minimum(np.minimum(p, 1 - p), self.lam * np.sqrt(p * (1 - p)))

    def _optimal_prediction(self, p: Array) -> Array:
        # ½ log(p/(1 − p)) between the kinks, and ±∞ outside them.
        p, kinks = p[..., 1], self._kinks()
        with np.errstate(divide="ignore"):
            balanced = (np.log(p) - np.log1p(-p)) / 2
        return np.where(p <= kinks[0], -np.inf, np.where(p > kinks[-1], np.inf, balanced))

    def _kinks(self) -> Array:
        # min(p, 1 − p) = λ √(p(1 − p)) where p or 1 − p is λ²/(1 + λ²)
        if self.lam >= 1:
            return np.array([0.5])
        square = self.lam**2
        return np.array([square / (1 + square), 1 / (1 + square)])

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        return "NegativeExponential", {"lam": min(self.lam, 1.0)}

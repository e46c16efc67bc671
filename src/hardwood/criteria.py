"""What a tree greedily improves: the criteria, as parameter objects.

An estimator takes a criterion by name, ``criterion="ne"``, or as an object,
``criterion=NegativeExponential(lam=0.3)``. Objects have ``get_params`` and ``set_params``, so that
a grid search reaches their parameters as ``criterion__lam``.
"""

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from hardwood._compat import Interval

__all__ = [
    "Credal",
    "Criterion",
    "Entropy",
    "GeneralizedCrossEntropy",
    "Gini",
    "Misclassification",
    "NegativeExponential",
    "Ranking",
    "SqrtGini",
    "Twoing",
]


class Criterion(BaseEstimator):  # type: ignore[misc]
    """Base of all criteria: a name that the engine knows, and at most one parameter."""

    name: ClassVar[str]
    two_classes_only: ClassVar[bool] = False
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {}

    def _engine_arguments(self) -> tuple[str, float]:
        """Return name and parameter as the engine takes them; a wrong parameter is a ValueError."""
        self._validate_params()
        values = [float(getattr(self, parameter)) for parameter in self._parameter_constraints]
        return self.name, values[0] if values else 0.0


class Gini(Criterion):
    """Gini impurity, 1 − Σ pₖ²: the risk of the squared error (Theorem 1a).

    Examples
    --------
    >>> from hardwood.criteria import Gini
    >>> Gini()
    Gini()
    """

    name = "gini"


class Entropy(Criterion):
    """Entropy, −Σ pₖ log pₖ with the natural logarithm: the risk of the cross entropy (Theorem 1b).

    Examples
    --------
    >>> from hardwood.criteria import Entropy
    >>> Entropy().name
    'entropy'
    """

    name = "entropy"


class Misclassification(Criterion):
    """Misclassification impurity, 1 − max pₖ: the risk of every conservative loss (Theorem 2).

    A node is split only if some child has another majority class than the node: growth stops early,
    which is what makes it robust.

    Examples
    --------
    >>> from hardwood.criteria import Misclassification
    >>> Misclassification().name
    'misclassification'
    """

    name = "misclassification"


class SqrtGini(Criterion):
    """Square root of the Gini impurity: the limit of the negative exponential as λ → 0.

    Examples
    --------
    >>> from hardwood.criteria import SqrtGini
    >>> SqrtGini().name
    'sqrt_gini'
    """

    name = "sqrt_gini"


class NegativeExponential(Criterion):
    """Negative exponential impurity, min{1 − max pₖ, λ √((1 − Σ pₖ²)(K−1)/K)} (Theorem 6).

    Parameters
    ----------
    lam : float, default=0.5
        Robustness λ in [0, 1]. 1 is misclassification, the most robust; 0 stands for the limit
        λ → 0, the square root of Gini, the least.

    Examples
    --------
    >>> from hardwood.criteria import NegativeExponential
    >>> NegativeExponential(lam=0.25).get_params()
    {'lam': 0.25}
    """

    name = "ne"
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {
        "lam": [Interval(Real, 0, 1, closed="both")]
    }

    def __init__(self, lam: float = 0.5) -> None:
        self.lam = lam


class GeneralizedCrossEntropy(Criterion):
    """Generalised cross entropy impurity, (1 − ‖p‖₁/₍₁₋q₎) / q (Theorem 1d).

    Parameters
    ----------
    q : float, default=0.7
        At least 0. 0 is entropy, 1 and above misclassification / q.

    Examples
    --------
    >>> from hardwood.criteria import GeneralizedCrossEntropy
    >>> GeneralizedCrossEntropy().q
    0.7
    """

    name = "gce"
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {
        "q": [Interval(Real, 0, None, closed="left")]
    }

    def __init__(self, q: float = 0.7) -> None:
        self.q = q


class Twoing(Criterion):
    """Twoing (Breiman et al., 1984), (|L||R|/|S|²)/4 · (Σ |pₖ(L) − pₖ(R)|)².

    It scores splits, and its scale is its own for ``min_impurity_decrease``. For two classes the
    tree is Gini's; for more, a cut costs time in proportion to the number of classes.

    Examples
    --------
    >>> from hardwood.criteria import Twoing
    >>> Twoing().name
    'twoing'
    """

    name = "twoing"


class Credal(Criterion):
    """Imprecise information gain (Mantas & Abellán, 2014): entropy with a mass ``s`` in doubt.

    It scores splits, and its scale is its own for ``min_impurity_decrease``. A cut costs time in
    proportion to the number of classes.

    Parameters
    ----------
    s : float, default=1.0
        Mass of the imprecise Dirichlet model, greater than 0, in units of ``sample_weight``.

    Examples
    --------
    >>> from hardwood.criteria import Credal
    >>> Credal(s=2.0)
    Credal(s=2.0)
    """

    name = "credal"
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {
        "s": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, s: float = 1.0) -> None:
        self.s = s


class Ranking(Criterion):
    """Ranking (Yang, Gao & Li, 2019), |n_L0 n_R1 − n_L1 n_R0| / 2; two classes only.

    It scores splits, and its scale is its own for ``min_impurity_decrease``: pairs of samples, as a
    share of the data's squared.

    Examples
    --------
    >>> from hardwood.criteria import Ranking
    >>> Ranking().two_classes_only
    True
    """

    name = "ranking"
    two_classes_only = True


_ALIASES: dict[str, type[Criterion]] = {
    "gini": Gini,
    "mse": Gini,
    "entropy": Entropy,
    "ce": Entropy,
    "log_loss": Entropy,
    "misclassification": Misclassification,
    "conservative": Misclassification,
    "sqrt_gini": SqrtGini,
    "ne": NegativeExponential,
    "gce": GeneralizedCrossEntropy,
    "twoing": Twoing,
    "credal": Credal,
    "ranking": Ranking,
}

NAMES = frozenset(_ALIASES)


def resolve(criterion: str | Criterion) -> Criterion:
    """Return the criterion of that name, or the object itself.

    Examples
    --------
    >>> from hardwood.criteria import resolve
    >>> resolve("ne")
    NegativeExponential()
    """
    if isinstance(criterion, Criterion):
        return criterion
    if criterion not in _ALIASES:
        raise ValueError(f"Unknown criterion {criterion!r}; it is one of {sorted(NAMES)}.")
    return _ALIASES[criterion]()

"""What a tree greedily improves: the criteria, as parameter objects.

An estimator takes a criterion by name, ``criterion="ne"``, or as an object,
``criterion=NegativeExponential(lam=0.3)``. Objects have ``get_params`` and ``set_params``, so that
a grid search reaches their parameters as ``criterion__lam``. `FromLoss` makes a criterion of a loss
of your own, and `CustomImpurity` of any impurity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hardwood._compat import Interval
from hardwood._core.impurity_table import ImpurityTable, tabulate
from hardwood._io.storing import Stored, storable

__all__ = [
    "Credal",
    "Criterion",
    "CustomImpurity",
    "Entropy",
    "FromLoss",
    "GeneralizedCrossEntropy",
    "Gini",
    "Misclassification",
    "NegativeExponential",
    "Ranking",
    "SqrtGini",
    "Twoing",
]


@storable("EngineCriterion")
@dataclass(frozen=True)
class EngineCriterion:
    """A criterion as the engine takes it."""

    name: str
    parameter: float = 0.0
    table: ImpurityTable | None = None
    function: "_CheckedImpurity | None" = None

    @property
    def arguments(self) -> tuple[str, float, ImpurityTable | None, "_CheckedImpurity | None"]:
        """What the engine's functions take."""
        return self.name, self.parameter, self.table, self.function

    def _to_stored(self) -> dict[str, Any]:
        if self.name not in _NAMED:
            raise TypeError(
                "A model that was grown by an impurity of your own cannot be stored: it would have "
                "to be run again when the model is loaded. `to_sklearn` and `to_onnx` keep its "
                "predictions."
            )
        return {"name": self.name, "parameter": self.parameter}

    @classmethod
    def _from_stored(cls, stored: Stored) -> "EngineCriterion":
        name = stored.instance("name", str)
        if name not in _NAMED:
            raise stored.wrong("name", f"one of {sorted(_NAMED)}")
        parameters = dict.fromkeys(_NAMED[name]._parameter_constraints, stored.number("parameter"))
        return _NAMED[name](**parameters)._for_engine(n_classes=2)


class Criterion(BaseEstimator):  # type: ignore[misc]
    """Base of all criteria: a name that the engine knows, and at most one parameter."""

    name: ClassVar[str]
    two_classes_only: ClassVar[bool] = False
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {}

    def _for_engine(self, n_classes: int) -> EngineCriterion:
        """Return the criterion as the engine takes it; a wrong parameter is a ValueError."""
        self._validate_params()
        values = [float(getattr(self, parameter)) for parameter in self._parameter_constraints]
        return EngineCriterion(self.name, values[0] if values else 0.0)

    def _to_stored(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        if not stored.keys() <= set(cls._get_param_names()):
            raise ValueError(f"{cls.__name__} has no parameters {sorted(stored)}")
        criterion = cls(**stored)
        criterion._validate_params()
        return criterion


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
    """Misclassification impurity, C (1 − max pₖ): the risk of every conservative loss (Theorem 2).

    A node is split only if some child has another majority class than the node: growth stops early,
    which is what makes it robust.

    Parameters
    ----------
    constant : float, default=1.0
        The loss's constant C, greater than 0; 2 for the absolute error. It multiplies impurities and
        gains, and so changes what ``min_impurity_decrease`` and ``ccp_alpha`` mean, but no split.

    Examples
    --------
    >>> from hardwood.criteria import Misclassification
    >>> Misclassification().name
    'misclassification'
    """

    name = "misclassification"
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {
        "constant": [Interval(Real, 0, None, closed="neither")]
    }

    def __init__(self, constant: float = 1.0) -> None:
        self.constant = constant


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
    """Twoing (Breiman et al., 1984), ``(|L||R|/|S|²)/4 · (Σ |pₖ(L) − pₖ(R)|)²``.

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

    It scores splits, and its scale is its own for ``min_impurity_decrease``. With ``s <= 1`` and
    whole-number weights, the cost of a cut does not depend on the number of classes; otherwise it
    is proportional to that number.

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
    """Ranking (Yang, Gao & Li, 2019), ``|n_L0 n_R1 − n_L1 n_R0| / 2``; two classes only.

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


class FromLoss(Criterion):
    """The impurity of a loss of your own, for two classes.

    Where the engine knows the loss's impurity, ``loss.criterion()`` says so, and the tree is that
    criterion's, for any number of classes. Otherwise the impurity is tabulated, and the tree grows
    at about the speed of the engine's own criteria.

    Parameters
    ----------
    loss : object
        A loss of :mod:`hardwood.losses`, or any object with a method ``impurity(p)`` that takes an
        array of probabilities of the second class and returns the smallest risk that a prediction
        reaches at each: continuous, not negative, accurate to 1e-10 or so. Two more methods are
        used if it has them: ``kinks()``, the p where the slope of the impurity jumps (others are
        found), and ``criterion()``, the engine's criterion of the same impurity.

    Notes
    -----
    The impurity of a loss is concave. Where it is strictly concave, the smallest difference between
    two children is a gain; where it is linear, no split inside gains anything. The table keeps
    both: it is within 1e-8 of the impurity between its knots, which are denser towards p = 0 and
    1 and lie at kinks, and a linear stretch is one piece of it.

    Examples
    --------
    >>> import numpy as np
    >>> from hardwood import RobustTreeClassifier
    >>> from hardwood.criteria import FromLoss
    >>> class Exponential:
    ...     def impurity(self, p):
    ...         return 2 * np.sqrt(p * (1 - p))
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> tree = RobustTreeClassifier(criterion=FromLoss(Exponential())).fit(X, y)
    >>> tree.tree_.impurity
    array([1., 0., 0.])
    """

    name = "from_loss"

    def __init__(self, loss: Any) -> None:
        self.loss = loss

    @property
    def two_classes_only(self) -> bool:  # type: ignore[override]
        """Whether the impurity is tabulated."""
        closed_form = self._closed_form()
        return closed_form is None or closed_form.two_classes_only

    def _closed_form(self) -> Criterion | None:
        """Return the engine's own criterion, if it has one of this loss."""
        criterion = getattr(self.loss, "criterion", None)
        if not callable(criterion):
            return None
        closed_form = criterion()
        if not isinstance(closed_form, Criterion):
            raise TypeError(
                f"criterion() of {self.loss!r} must return a criterion of hardwood.criteria, "
                f"but returned {closed_form!r}."
            )
        if isinstance(closed_form, FromLoss):
            return closed_form._closed_form() if closed_form.loss is not self.loss else None
        return closed_form

    def _for_engine(self, n_classes: int) -> EngineCriterion:
        closed_form = self._closed_form()
        if closed_form is not None:
            return closed_form._for_engine(n_classes)
        if not callable(getattr(self.loss, "impurity", None)):
            raise TypeError(
                "loss must be one of hardwood.losses, or have a method impurity(p), "
                f"but got {self.loss!r}."
            )
        kinks = self.loss.kinks() if callable(getattr(self.loss, "kinks", None)) else ()
        name = f"impurity(p) of {self.loss!r}"
        table = tabulate(_CheckedImpurity(self._impurity, name), _checked_kinks(kinks), name)
        return EngineCriterion("tabulated", table=table)

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        criterion = cls(stored["loss"])
        if criterion._closed_form() is None:
            raise stored.wrong("loss", "a loss that the engine knows")
        return criterion

    def _impurity(self, p: NDArray[np.float64]) -> Any:
        from hardwood.losses import SimplexLoss

        if isinstance(self.loss, SimplexLoss):  # these take class distributions
            return self.loss.impurity(np.stack([1 - p, p], axis=-1))
        return self.loss.impurity(p)


class CustomImpurity(Criterion):
    """An impurity of your own, for any number of classes.

    Parameters
    ----------
    function : callable
        From an array of class proportions of shape (m, n_classes) to m impurities, none negative.
        It should be a function of each row alone, concave, and zero for pure rows.

    Notes
    -----
    For two classes the function is tabulated as in `FromLoss`, and then no longer called: a fit takes
    one to about two times as long as with Gini. It must be continuous. For more classes the engine
    calls it once for all cuts of a feature in a node, from one thread at a time: a fit takes 8 to 25
    times as long as with Gini (``docs/criteria.md`` has the figures).

    If the function is not concave, some splits gain less than nothing. They are not made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import RobustTreeClassifier
    >>> from hardwood.criteria import CustomImpurity
    >>> def gini(p):
    ...     return 1 - (p**2).sum(axis=1)
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = RobustTreeClassifier(criterion=CustomImpurity(gini), random_state=0).fit(X, y)
    >>> same = RobustTreeClassifier(criterion="gini", random_state=0).fit(X, y)
    >>> bool((tree.apply(X) == same.apply(X)).all())
    True
    """

    name = "custom"

    def __init__(self, function: Callable[[NDArray[np.float64]], Any]) -> None:
        self.function = function

    def _for_engine(self, n_classes: int) -> EngineCriterion:
        if not callable(self.function):
            raise TypeError(
                "function must be a function of class proportions of shape (m, n_classes), "
                f"but got {self.function!r}."
            )
        name = f"The impurity {getattr(self.function, '__name__', repr(self.function))}"
        checked = _CheckedImpurity(self.function, name)
        if n_classes > 2:
            return EngineCriterion("custom", function=checked)

        def of_second(p: NDArray[np.float64]) -> NDArray[np.float64]:
            return checked(np.column_stack([1 - p, p]))

        return EngineCriterion("tabulated", table=tabulate(of_second, np.empty(0), name))


@dataclass(frozen=True)
class _CheckedImpurity:
    """A user's function, with an error that names it if what it returns is no impurity."""

    function: Callable[[NDArray[np.float64]], Any]
    name: str

    def __call__(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one impurity for each entry, or row, of p."""
        returned = self.function(p)
        try:
            values = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} must return numbers, but returned {returned!r}.") from (
                error
            )
        if values.shape != p.shape[:1]:
            raise ValueError(
                f"{self.name} must be vectorised: for an array of shape {p.shape} it must return "
                f"shape {p.shape[:1]}, but returned shape {values.shape}."
            )
        if len(values) and not (values.min() >= 0 and values.max() < np.inf):  # NaN fails as well
            values = self._clipped(values, p)
        return np.ascontiguousarray(values)

    def _clipped(self, values: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values with what rounding left below 0 put right."""
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise ValueError(f"{self.name} returned {values[wrong[0]]} for p = {p[wrong[0]]}.")
        lowest = int(np.argmin(values))
        if values[lowest] < -_ROUNDING * max(1.0, float(values.max())):
            raise ValueError(
                f"{self.name} returned the negative value {values[lowest]:g} for p = {p[lowest]}; "
                "an impurity is at least 0."
            )
        return np.maximum(values, 0.0)


_ROUNDING = 1e-12  # 1 − Σ p² can be a little below 0


def _checked_kinks(kinks: Any) -> NDArray[np.float64]:
    checked = np.unique(np.asarray(kinks, dtype=np.float64).ravel())
    if not np.all((checked > 0) & (checked < 1)):  # NaN fails as well
        raise ValueError(f"kinks() must return probabilities between 0 and 1, but got {kinks!r}.")
    return checked


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

# Those whose only data are their names and numbers, by the engine's names.
_NAMED = {criterion.name: criterion for criterion in _ALIASES.values()}
for _criterion in (*_NAMED.values(), FromLoss):
    storable(f"criteria.{_criterion.__name__}")(_criterion)


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

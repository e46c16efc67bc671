"""The criteria that splits improve, as objects with parameters.

An estimator takes a criterion by name, ``criterion="ne"``, or as an object,
``criterion=NegativeExponential(lam=0.3)``. Objects have ``get_params`` and ``set_params``, so that
a grid search reaches their parameters as ``criterion__lam``. `FromLoss` makes a criterion from a
loss of your own, and `CustomImpurity` from any impurity.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from numbers import Real
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hardwood._compat import Interval
from hardwood._core import _engine
from hardwood._core.impurity_table import ImpurityTable, precision_of, tabulate
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


RECORDS: Final = {record.name: record for record in _engine.criteria()}
"""What the engine says about each criterion: names, parameters and their ranges, limits."""


@storable("EngineCriterion")
@dataclass(frozen=True)
class EngineCriterion:
    """A criterion as the engine takes it: one of `RECORDS`, its parameters in the record's order."""

    name: str
    parameters: tuple[float, ...] = ()
    table: ImpurityTable | None = None
    function: "_CheckedImpurity | None" = None

    def handle(self) -> _engine.Criterion:
        """Return the engine's own object."""
        return _engine.Criterion(self.name, self.parameters, self.table, self.function)

    def check_optimal_leaf(self) -> None:
        """Raise a ValueError if leaves have no prediction of smallest risk by this criterion."""
        record = RECORDS[self.name]
        if not record.has_optimal_leaf:
            raise ValueError(
                "leaf_prediction='optimal' cannot be used with the criterion "
                f"{record.class_name or record.name!r}, which {record.why_no_optimal_leaf}. Use "
                "leaf_prediction='distribution'."
            )

    def _to_stored(self) -> dict[str, Any]:
        if self.name not in _NAMED:
            raise TypeError(
                "A model that was grown with your own impurity cannot be stored: loading it would "
                "have to run your function. `to_sklearn` and `to_onnx` keep its predictions."
            )
        return {"name": self.name, "parameters": np.array(self.parameters, dtype=np.float64)}

    @classmethod
    def _from_stored(cls, stored: Stored) -> "EngineCriterion":
        name = stored.instance("name", str)
        if name not in _NAMED:
            raise stored.wrong("name", f"one of {sorted(_NAMED)}")
        names = [parameter.name for parameter in RECORDS[name].parameters]
        values = stored.array("parameters", "f8", (len(names),))
        criterion = _NAMED[name](**dict(zip(names, values.tolist(), strict=True)))
        return criterion._for_engine(n_classes=2)


class Criterion(BaseEstimator):  # type: ignore[misc]
    """Base class of all criteria.

    A subclass with ``name=`` is one of the engine's own: its parameters, their ranges and its
    docstring come from the engine's record.
    """

    name: ClassVar[str]
    two_classes_only: ClassVar[bool] = False
    _parameter_constraints: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, name: str | None = None) -> None:
        if name is None:
            return
        record = RECORDS[name]
        cls.name = name
        cls.two_classes_only = record.two_classes_only
        cls.__doc__ = _docstring(record)
        cls._parameter_constraints = {p.name: [_interval(p)] for p in record.parameters}
        cls.__init__ = _initializer(record)  # type: ignore[method-assign]

    def __init__(self, *values: float, **parameters: float) -> None:
        raise TypeError("Criterion is abstract: use one of its subclasses.")

    def _for_engine(self, n_classes: int) -> EngineCriterion:
        """Return the criterion as the engine takes it; a wrong parameter is a ValueError."""
        self._validate_params()
        values = [float(getattr(self, parameter)) for parameter in self._parameter_constraints]
        return EngineCriterion(self.name, tuple(values))

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


def _initializer(record: _engine.CriterionRecord) -> Any:
    """Return an ``__init__`` with the record's parameters, as scikit-learn expects of an object."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature(
        [Parameter("self", kind)]
        + [Parameter(p.name, kind, default=p.default) for p in record.parameters]
    )

    def initialize(self: Any, *values: float, **parameters: float) -> None:
        bound = signature.bind(self, *values, **parameters)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    initialize.__signature__ = signature  # type: ignore[attr-defined]
    return initialize


def _interval(parameter: _engine.CriterionParameter) -> Interval:
    closed = {(True, True): "both", (True, False): "left", (False, True): "right"}
    low, high = (None if np.isinf(end) else end for end in (parameter.low, parameter.high))
    ends = (
        parameter.includes_low and low is not None,
        parameter.includes_high and high is not None,
    )
    return Interval(Real, low, high, closed=closed.get(ends, "neither"))


def _docstring(record: _engine.CriterionRecord) -> str:
    """Return a numpydoc docstring of what the record says."""
    lines = [record.doc, "", f"Its formula is ``{record.formula}``."]
    if record.scores_splits:
        lines += ["It scores splits, and has its own scale for ``min_impurity_decrease``."]
    if record.two_classes_only:
        lines += ["It takes two classes only."]
    if record.parameters:
        lines += ["", "Parameters", "----------"]
    for p in record.parameters:
        lines += [f"{p.name} : float, default={p.default}", f"    {p.doc} {_range(p)}", ""]
    return "\n".join(lines)


def _range(p: _engine.CriterionParameter) -> str:
    """Return the range of a parameter in words."""
    if np.isinf(p.high):
        return f"At least {p.low:g}." if p.includes_low else f"Greater than {p.low:g}."
    return f"In {'[' if p.includes_low else '('}{p.low:g}, {p.high:g}{']' if p.includes_high else ')'}."


class Gini(Criterion, name="gini"): ...


class Entropy(Criterion, name="entropy"): ...


class Misclassification(Criterion, name="misclassification"): ...


class SqrtGini(Criterion, name="sqrt_gini"): ...


class NegativeExponential(Criterion, name="ne"):
    lam: float


class GeneralizedCrossEntropy(Criterion, name="gce"):
    q: float


class Twoing(Criterion, name="twoing"): ...


class Credal(Criterion, name="credal"):
    s: float


class Ranking(Criterion, name="ranking"): ...


class FromLoss(Criterion):
    """The impurity of a loss of your own, for two classes.

    If ``loss.criterion()`` returns a criterion of the engine, the tree is grown with that criterion,
    for any number of classes. Otherwise the impurity is tabulated, and the tree grows at about the
    speed of the engine's own criteria.

    Parameters
    ----------
    loss : object
        A loss of :mod:`hardwood.losses`, or any object with a method ``impurity(p)``. It takes an
        array of probabilities of the second class and returns the smallest risk that a prediction
        can reach at each: continuous, not negative, and accurate to about 1e-10. Two more methods
        are used if the loss has them: ``kinks()`` returns the p where the slope of the impurity
        jumps (any others are found), and ``criterion()`` the engine's criterion with the same
        impurity.

    Notes
    -----
    The impurity of a loss is concave. Where it is strictly concave, the smallest difference between
    two children is a gain; where it is linear, no split within gains anything. The table keeps
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
        return EngineCriterion("from_loss", table=table)

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
        Takes an array of class proportions of shape (m, n_classes) and returns m impurities, none of
        them negative. Each must depend on its own row alone. The function should be concave, and
        zero for pure rows. In single precision, gains below a millionth of the largest impurity
        cannot be told from rounding.

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

    name = "custom_impurity"

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
            precision = precision_of(checked(_probes(n_classes)))
            return EngineCriterion("custom_impurity", (precision,), function=checked)

        def of_second(p: NDArray[np.float64]) -> NDArray[np.float64]:
            return checked(np.column_stack([1 - p, p]))

        return EngineCriterion("from_loss", table=tabulate(of_second, np.empty(0), name))


@dataclass(frozen=True)
class _CheckedImpurity:
    """A user's function, with an error that names it if what it returns is no impurity."""

    function: Callable[[NDArray[np.float64]], Any]
    name: str

    def __call__(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one impurity for each entry, or row, of p."""
        returned = self.function(p)
        try:
            values = np.asarray(returned)
            if values.dtype.kind == "c":
                raise TypeError("complex numbers have no order")
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.name} must return real numbers, but returned {returned!r}."
            ) from (error)
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


def _probes(n_classes: int) -> NDArray[np.float64]:
    """Return class proportions of many digits: a function of few digits shows by its values."""
    weights = np.modf(np.arange(1, 8 * n_classes + 1) * np.sqrt(2))[0].reshape(8, n_classes)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _checked_kinks(kinks: Any) -> NDArray[np.float64]:
    checked = np.unique(np.asarray(kinks, dtype=np.float64).ravel())
    if not np.all((checked > 0) & (checked < 1)):  # NaN fails as well
        raise ValueError(f"kinks() must return probabilities between 0 and 1, but got {kinks!r}.")
    return checked


# The engine's own, by its names. Their only data are names and numbers, so they can be stored.
_NAMED: dict[str, type[Criterion]] = {
    record.name: globals()[record.class_name] for record in RECORDS.values() if record.class_name
}
for _criterion in (*_NAMED.values(), FromLoss):
    storable(f"criteria.{_criterion.__name__}")(_criterion)

_BY_NAME = _NAMED | {
    alias: criterion for name, criterion in _NAMED.items() for alias in RECORDS[name].aliases
}
NAMES = frozenset(_BY_NAME)


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
    if criterion not in _BY_NAME:
        raise ValueError(f"Unknown criterion {criterion!r}; use one of {sorted(NAMES)}.")
    return _BY_NAME[criterion]()

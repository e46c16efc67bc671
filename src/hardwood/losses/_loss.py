"""What all losses share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.losses import _checks
from hardwood.losses._checks import Array

if TYPE_CHECKING:
    from hardwood._io.storing import Stored
    from hardwood.criteria import Criterion


class Loss(ABC):
    """Base of all losses.

    A loss over the simplex takes class distributions of shape (..., K), both as `prediction` and
    as `p`. A margin loss takes real numbers as `prediction`, and as `p` the probability of the
    positive class. Everything is vectorised.

    Losses never change. A copy is the object itself, so that cloning an estimator is cheap, and
    cached values are not pickled.
    """

    _parameters: ClassVar[tuple[str, ...]] = ()  # the numbers that define the loss

    def __repr__(self) -> str:
        arguments = [f"{name}={getattr(self, name):g}" for name in self._parameters]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def loss(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        """Return the loss of predictions on labels.

        Parameters
        ----------
        prediction : array-like
            Predictions ŷ.
        label : array-like of int
            Class indices, or −1 and +1 for a margin loss. Broadcasts with the predictions.

        Returns
        -------
        ndarray
            ℓ(ŷ, y) for the labels y.
        """
        losses = self.losses(prediction)
        index = self._class_index(label, losses.shape[-1])
        shape = np.broadcast_shapes(losses.shape[:-1], index.shape)
        losses = np.broadcast_to(losses, (*shape, losses.shape[-1]))
        index = np.broadcast_to(index, shape)
        return np.take_along_axis(losses, index[..., None], axis=-1)[..., 0]

    def losses(self, prediction: ArrayLike) -> Array:
        """Return the loss of predictions on each class.

        Parameters
        ----------
        prediction : array-like
            Predictions ŷ.

        Returns
        -------
        ndarray of shape (..., K)
            ℓ(ŷ, j) for every class j; for a margin loss the negative class, then the positive.
        """
        return self._losses(self._checked_prediction(prediction))

    def risk(self, prediction: ArrayLike, p: ArrayLike) -> Array:
        """Return the average loss of predictions on labels drawn from a distribution.

        Parameters
        ----------
        prediction : array-like
            Predictions ŷ.
        p : array-like
            Class distributions of the labels. Broadcasts with the predictions.

        Returns
        -------
        ndarray
            Σ p_j ℓ(ŷ, j). A class of probability 0 costs nothing, even if its loss is infinite.
        """
        shares = self._class_shares(p)
        losses = self.losses(prediction)
        if losses.shape[-1] != shares.shape[-1]:
            raise ValueError(
                "prediction and p must have the same number of classes along their last axis, "
                f"got {losses.shape[-1]} and {shares.shape[-1]}."
            )
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(shares > 0, shares * losses, 0.0).sum(axis=-1))

    def impurity(self, p: ArrayLike) -> Array:
        """Return the smallest risk any prediction can reach.

        Parameters
        ----------
        p : array-like
            Class distributions; for a margin loss, probabilities of the positive class.

        Returns
        -------
        ndarray
            Impurities.
        """
        return self._impurity(self._class_shares(p))

    def impurity_multiclass(self, p: ArrayLike) -> Array:
        """Return the impurity at class distributions, for a margin loss as well.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Class distributions.

        Returns
        -------
        ndarray of shape (...)
            Impurities.
        """
        return self._impurity(_checks.distributions("p", p))

    def optimal_prediction(self, p: ArrayLike) -> Array:
        """Return a prediction of smallest risk.

        Parameters
        ----------
        p : array-like
            As in `impurity`.

        Returns
        -------
        ndarray
            Class distributions, or real numbers for a margin loss. Ties go to the first class.
        """
        return self._optimal_prediction(self._class_shares(p))

    def kinks(self) -> Array:
        """Return where the slope of the two-class impurity jumps.

        Returns
        -------
        ndarray
            Probabilities of the second class in (0, 1), in ascending order. They are found
            numerically where no closed form is known.
        """
        return self._kinks()

    def criterion(self) -> Criterion:
        """Return the criterion of the same impurity, to grow trees with.

        Returns
        -------
        Criterion
            The engine's own criterion where it has one. Otherwise `hardwood.criteria.FromLoss` of
            this loss, which is for two classes.
        """
        from hardwood import criteria

        name, parameters = self._criterion()
        criterion: Criterion = getattr(criteria, name)(**parameters)
        return criterion

    # Subclasses check users' input, and compute with class distributions of shape (..., K).

    @abstractmethod
    def _checked_prediction(self, prediction: ArrayLike) -> Array: ...

    @abstractmethod
    def _class_index(self, label: ArrayLike, n_classes: int) -> NDArray[np.intp]: ...

    @abstractmethod
    def _class_shares(self, p: ArrayLike) -> Array: ...

    @abstractmethod
    def _losses(self, prediction: Array) -> Array: ...

    @abstractmethod
    def _impurity(self, p: Array) -> Array: ...

    @abstractmethod
    def _optimal_prediction(self, p: Array) -> Array: ...

    def _kinks(self) -> Array:
        return np.empty(0)

    def _criterion(self) -> tuple[str, dict[str, Any]]:
        """Return the name of a class in `hardwood.criteria`, and its parameters."""
        return "FromLoss", {"loss": self}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        def is_cache(name: str) -> bool:
            return isinstance(getattr(type(self), name, None), cached_property)

        return {name: value for name, value in vars(self).items() if not is_cache(name)}

    def _to_stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameters}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        return cls(**{name: stored.number(name) for name in cls._parameters})

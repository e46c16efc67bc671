"""The input of a detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hardwood.noise.checks import Array, Labels
from hardwood.noise.label_model import LabelModel


@dataclass(frozen=True)
class Evidence:
    """What is known about a set of labels.

    Attributes
    ----------
    labels : ndarray of int of shape (n_rows,)
        The observed labels, as positions among the classes.
    proba : ndarray of shape (n_rows, n_classes)
        Out-of-sample probabilities of the observed labels.
    model : LabelModel
        How noise produced the labels, with the noise matrix.
    """

    labels: Labels
    proba: Array
    model: LabelModel

    @cached_property
    def truth(self) -> Array:
        """P(true | x) by the model, an ndarray of shape (n_rows, n_classes)."""
        return self.model.truth(self.proba)

    @cached_property
    def wrong(self) -> Array:
        """The probability that each label is wrong, an ndarray of shape (n_rows,)."""
        return self.model.wrong(self.proba, self.labels)


Detector = Callable[[Evidence], Array]
"""Returns a number for each label: the higher, the more suspect."""

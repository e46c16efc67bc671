"""The input of a detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    again : ndarray of shape (n_rows, n_classes), optional
        The same probabilities by trees that drew rows the more often the more likely their label is
        right.
    """

    labels: Labels
    proba: Array
    model: LabelModel
    again: Array | None = None

    @cached_property
    def truth(self) -> Array:
        """P(true | x) by the model, an ndarray of shape (n_rows, n_classes)."""
        return self.model.truth(self.proba)

    @cached_property
    def right(self) -> Array:
        """The probability that each label is right, an ndarray of shape (n_rows,)."""
        return self.model.right(self.proba, self.labels)

    @cached_property
    def wrong(self) -> Array:
        """The probability that each label is wrong, an ndarray of shape (n_rows,).

        Where the probabilities know nothing about the labels, as in a table of two rows, the mean is
        at most the high estimate of the noise rate.
        """
        wrong = (1 - self.model.clean) * (1 - self.right)
        if self.model.can_tell:
            return wrong
        high = self.model.rate_interval[1]
        return wrong * min(1.0, high / max(float(wrong.mean()), np.finfo(np.float64).tiny))

    @cached_property
    def noise_rate(self) -> float:
        """The expected share of wrong labels."""
        return float(self.wrong.mean())

    @property
    def noise_rate_interval(self) -> tuple[float, float]:
        """A low and a high estimate of that share."""
        low, high = self.model.rate_interval
        return min(low, self.noise_rate), max(high, self.noise_rate)


Detector = Callable[[Evidence], Array]
"""Returns a number for each label: the higher, the more suspect."""

"""What a detector sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from hardwood.noise.checks import Array, Labels
from hardwood.noise.estimation import NoiseModel

# Out-of-bag votes are few. Where they are spread over many classes, that a label had none is no
# proof against it; an exponent of at least this much lets labels speak up where votes agree.
LEAST_EXPONENT = 4.0


@dataclass(frozen=True)
class Evidence:
    """What is known of a set of labels.

    Attributes
    ----------
    labels : ndarray of int of shape (n_rows,)
        The labels observed, as places among the classes.
    proba : ndarray of shape (n_rows, n_classes)
        Out-of-sample probabilities of the observed labels.
    model : NoiseModel
        How the labels came about, with the noise matrix.
    """

    labels: Labels
    proba: Array
    model: NoiseModel

    @cached_property
    def truth(self) -> Array:
        """P(true | x) by the model, an ndarray of shape (n_rows, n_classes)."""
        return self.model.truth(self.proba, LEAST_EXPONENT)


Detector = Callable[[Evidence], Array]
"""From the evidence to a number for each label, the higher the more suspect."""

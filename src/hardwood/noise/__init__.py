"""Label noise: make it, estimate it, and allow for it in decisions.

A noise matrix ``T`` has one row per true class and one column per observed class:
``T[i, j]`` is the probability that a label of class ``i`` is observed as ``j``. Its rows sum to 1.
Noise that depends on the features has one such row per sample instead.

Nothing in this package depends on an estimator.
"""

from hardwood.noise.corruption import corrupt
from hardwood.noise.estimation import estimate_noise_matrix
from hardwood.noise.from_features import instance_dependent, mahalanobis
from hardwood.noise.matrices import (
    NoiseSummary,
    class_conditional,
    describe,
    pair_flip,
    uniform,
)

__all__ = [
    "NoiseSummary",
    "class_conditional",
    "corrupt",
    "describe",
    "estimate_noise_matrix",
    "instance_dependent",
    "mahalanobis",
    "pair_flip",
    "uniform",
]

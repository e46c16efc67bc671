"""The paper's definitions and theorems, as questions you can ask of a loss, a node or a tree.

Each function returns a small object that holds the answer and the reason. Nothing here needs the
engine, and the losses are those of `hardwood.losses`. Theorem numbers refer to Wilton & Ye, "Robust
Loss Functions for Training Decision Trees with Noisy Labels" (AAAI 2024).
"""

from hardwood.theory.conservative import (
    Conservativeness,
    EarthMoving,
    Theorem2,
    conservative_constant,
    earth_moving,
    theorem_2,
)
from hardwood.theory.majority import majority_bound, majority_simulated, samples_needed
from hardwood.theory.stopping import LeafExplanation, MaxNorm, explain_leaf, max_norm
from hardwood.theory.symmetry import NoiseTolerance, Symmetry, is_symmetric, noise_tolerant

__all__ = [
    "Conservativeness",
    "EarthMoving",
    "LeafExplanation",
    "MaxNorm",
    "NoiseTolerance",
    "Symmetry",
    "Theorem2",
    "conservative_constant",
    "earth_moving",
    "explain_leaf",
    "is_symmetric",
    "majority_bound",
    "majority_simulated",
    "max_norm",
    "noise_tolerant",
    "samples_needed",
    "theorem_2",
]

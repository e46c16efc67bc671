"""The paper's losses, their risks and their impurities, in plain NumPy.

A *loss* says what a prediction costs. Its *risk* is the average over labels, and its *impurity* the
smallest risk that a constant prediction can reach. A tree lowers the impurity by splitting.

In losses over the simplex, a prediction is a class distribution: `MeanSquaredError`,
`CrossEntropy`, `ZeroOne`, `MeanAbsoluteError`, `GeneralizedCrossEntropy`, `InfinityNorm`, and
`CustomLoss` for your own. In losses of a margin, a prediction is a real number, and there are two
classes: `DistributionLoss` for any distribution, `ZeroOneMargin`, `Sigmoid`, `Ramp` and
`NegativeExponential`.

Nothing here needs the engine. Call ``criterion()`` to grow trees with a loss.
"""

from hardwood.losses.margin import (
    DistributionLoss,
    NegativeExponential,
    Ramp,
    Sigmoid,
    ZeroOneMargin,
)
from hardwood.losses.simplex import (
    CrossEntropy,
    CustomLoss,
    GeneralizedCrossEntropy,
    InfinityNorm,
    MeanAbsoluteError,
    MeanSquaredError,
    SimplexLoss,
    ZeroOne,
)

__all__ = [
    "CrossEntropy",
    "CustomLoss",
    "DistributionLoss",
    "GeneralizedCrossEntropy",
    "InfinityNorm",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "NegativeExponential",
    "Ramp",
    "Sigmoid",
    "SimplexLoss",
    "ZeroOne",
    "ZeroOneMargin",
]

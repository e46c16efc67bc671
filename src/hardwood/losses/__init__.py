"""The paper's losses, their risks and their impurities, as plain NumPy.

A loss says what a prediction costs; its *risk* is the average over labels; its *impurity* the
smallest risk that a constant prediction reaches, which is what a tree lowers by splitting. Over the
simplex (a prediction is a class distribution): `MeanSquaredError`, `CrossEntropy`, `ZeroOne`,
`MeanAbsoluteError`, `GeneralizedCrossEntropy`, `InfinityNorm`, and your own by `CustomLoss`. Of a
margin (a prediction is a real number, and there are two classes): `DistributionLoss` of any
distribution, with `ZeroOneMargin`, `Sigmoid`, `Ramp` and `NegativeExponential`.

Nothing here needs the engine. ``criterion()`` hands a loss over to it.
"""

from hardwood._io.storing import storable
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

# Those that are made of numbers alone, and not of a user's function.
for _loss in (
    CrossEntropy,
    GeneralizedCrossEntropy,
    InfinityNorm,
    MeanAbsoluteError,
    MeanSquaredError,
    NegativeExponential,
    Ramp,
    Sigmoid,
    ZeroOne,
    ZeroOneMargin,
):
    storable(f"losses.{_loss.__name__}")(_loss)

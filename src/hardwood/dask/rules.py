"""What the nodes of a tree need that is grown on several workers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood._core import _engine
from hardwood._core.grow import Growth
from hardwood.criteria import EngineCriterion
from hardwood.dask.tables import Table


@dataclass(frozen=True)
class Rules:
    """What all nodes of a forest share."""

    tables: list[Table]
    criterion: EngineCriterion
    n_classes: int
    growth: Growth
    total_weight: float
    largest_total: float

    def options(self) -> "_engine.GrowOptions":
        """Return the engine's options."""
        return _engine.GrowOptions(**self.growth.options(self.total_weight))


@dataclass(frozen=True)
class Root:
    """What a tree draws: distinct rows, their weight by class, and whether all weigh 1."""

    n_rows: int
    counts: NDArray[np.float64]
    unit_weights: bool

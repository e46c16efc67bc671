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
    min_weight_leaf: float
    largest_total: float

    def options(self) -> "_engine.GrowOptions":
        """Return the engine's options."""
        growth = self.growth
        return _engine.GrowOptions(
            max_features=growth.max_features,
            random_cuts=growth.random_cuts,
            monotonic_cst=growth.monotonic_cst,
            max_depth=growth.max_depth,
            min_rows_split=growth.min_rows_split,
            min_rows_leaf=growth.min_rows_leaf,
            min_weight_leaf=self.min_weight_leaf,
            min_gain=growth.min_gain,
            category_smoothing=growth.category_smoothing,
        )


@dataclass(frozen=True)
class Root:
    """What a tree draws: distinct rows, their weight by class, and whether all weigh 1."""

    n_rows: int
    counts: NDArray[np.float64]
    unit_weights: bool

"""Rows that judge the trees that did not draw them, wherever these rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood._core.grow import TrainingSet
from hardwood.noise.checks import Array


class Judged(Protocol):
    """Rows that judge the trees that did not draw them."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def sample(self, rows: NDArray[np.uint32]) -> None:
        """Say which rows will be asked for."""

    def votes(
        self,
        trees: CompactForest,
        first_tree: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32],
        shrinkages: Array,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the sums of votes on rows that trees did not draw, and how many voted."""

    def labels(self, rows: NDArray[np.uint32]) -> NDArray[np.uint16]:
        """Return the labels of some rows."""

    def relative_weights(self, rows: NDArray[np.uint32]) -> Array:
        """Return the weights of some rows, of which the largest of all is about 1."""


@dataclass(frozen=True)
class JudgedHere:
    """Rows on this machine that judge the trees that did not draw them."""

    data: TrainingSet
    n_draws: int
    seed: int
    n_threads: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.data.n_rows

    def sample(self, rows: NDArray[np.uint32]) -> None:
        """Do nothing, as all rows are here."""

    def votes(
        self,
        trees: CompactForest,
        first_tree: int,
        rows: NDArray[np.uint32],
        stops: NDArray[np.uint32],
        shrinkages: Array,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the sums of votes on rows that trees did not draw, and how many voted."""
        return trees.oob_smoothed(
            self.data.X,
            self.data.weights,
            self.n_draws,
            self.seed,
            first_tree=first_tree,
            rows=rows,
            stops=stops,
            shrinkages=shrinkages,
            n_threads=self.n_threads,
            groups=self.data.groups,
        )

    def labels(self, rows: NDArray[np.uint32]) -> NDArray[np.uint16]:
        """Return the labels of some rows."""
        return self.data.labels[rows]

    def relative_weights(self, rows: NDArray[np.uint32]) -> Array:
        """Return the weights of some rows, of which the largest of all is about 1."""
        return self.data.relative_weights[rows]

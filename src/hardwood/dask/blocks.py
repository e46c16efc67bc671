"""The user's data as blocks of rows, partitioned alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import Delayed

Block = Any
"""Something that Dask computes: a delayed object."""


@dataclass(frozen=True)
class Blocks:
    """X, y, weights and groups, block by block: lists of delayed objects, or None."""

    X: list[Block]
    y: list[Block]
    weights: list[Block] | None
    groups: list[Block] | None

    def __len__(self) -> int:
        return len(self.X)

    def block(self, i: int) -> tuple[Block, Block, Block, Block]:
        """Return X, y, weights and groups of one block."""
        weights = None if self.weights is None else self.weights[i]
        groups = None if self.groups is None else self.groups[i]
        return self.X[i], self.y[i], weights, groups


def check_blocks(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Blocks:
    """Return the blocks of what a fit is given, or raise if they are not partitioned alike."""
    blocks = to_blocks(X, "X")
    others: list[list[Block] | None] = []
    for name, values in (("y", y), ("sample_weight", sample_weight), ("groups", groups)):
        if values is None and name != "y":
            others.append(None)
            continue
        found = to_blocks(values, name)
        if len(found) != len(blocks):
            raise ValueError(
                f"X and {name} must be partitioned alike, but X has {len(blocks)} blocks of rows "
                f"and {name} has {len(found)}. Rechunk {name} as X: "
                f"{name}.rechunk(X.chunks[0]) for arrays, {name}.repartition for data frames."
            )
        others.append(found)
        _check_chunks(X, values, name)
    of_y, of_weights, of_groups = others
    assert of_y is not None
    return Blocks(blocks, of_y, of_weights, of_groups)


def to_blocks(values: Any, name: str) -> list[Block]:
    """Return the blocks of rows of a dask array, a dask data frame or a list of delayed blocks."""
    if isinstance(values, list | tuple) and values and all(isinstance(v, Delayed) for v in values):
        return list(values)
    if hasattr(values, "to_delayed"):
        if getattr(values, "ndim", 1) == 2 and hasattr(values, "chunks"):
            values = values.rechunk({1: -1}) if len(values.chunks[1]) > 1 else values
        blocks = values.to_delayed()
        if len(blocks) != getattr(values, "npartitions", len(blocks)) and hasattr(
            values, "columns"
        ):
            # Dask joins small partitions of files: other ones for few columns than for many.
            blocks = values.to_delayed(optimize_graph=False)
        return list(np.ravel(np.asarray(blocks, dtype=object)))
    raise TypeError(
        f"{name} must be a dask array, a dask data frame or series, or a list of delayed blocks, "
        f"but is a {type(values).__name__}. For data on one machine use the estimators of hardwood."
    )


def _check_chunks(X: Any, values: Any, name: str) -> None:
    """Raise if the sizes of blocks are known and differ; unknown ones are compared later."""
    sizes, of_X = _known_sizes(values), _known_sizes(X)
    if sizes is not None and of_X is not None and sizes != of_X:
        raise ValueError(
            f"X and {name} must be partitioned alike, but the blocks of X have {_few(of_X)} rows "
            f"and those of {name} {_few(sizes)}. Use {name}.rechunk(({list(of_X)[:3]}…,))."
        )


def _known_sizes(values: Any) -> tuple[int, ...] | None:
    chunks = getattr(values, "chunks", None)
    if not chunks or any(np.isnan(size) for size in chunks[0]):
        return None
    return tuple(chunks[0])


def _few(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")

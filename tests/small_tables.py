"""Every small table of class counts, and the conditions of Theorem 5 on it.

A table has a row for each distinct value of a single feature and a column for each class. Its data
set has that many rows of each kind. Counts are integers, so the conditions are decided exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

# (distinct values, classes, largest count)
SHAPES = [(2, 2, 4), (3, 2, 2), (2, 3, 2), (3, 3, 1)]


def tables(n_values: int, n_classes: int, most: int) -> Iterator[Table]:
    """Every table in which each value and each class occurs."""
    for counts in product(range(most + 1), repeat=n_values * n_classes):
        table = np.reshape(counts, (n_values, n_classes))
        if table.any(axis=0).all() and table.any(axis=1).all():
            yield table


def as_data(table: Table) -> tuple[Table, Table]:
    """The data set with that many rows of each kind."""
    value, label = np.indices(table.shape)
    return np.repeat(value, table.ravel())[:, None], np.repeat(label, table.ravel())


def children(table: Table) -> Iterator[tuple[Table, Table]]:
    """The class counts on both sides of every split."""
    for cut in range(1, len(table)):
        yield table[:cut].sum(axis=0), table[cut:].sum(axis=0)


def majority(n: Table) -> set[int]:
    return set(np.flatnonzero(n == n.max()).tolist())


def keeps_majority(table: Table) -> bool:
    """The node's majority classes are the ones that both children share, for all splits."""
    whole = majority(table.sum(axis=0))
    return all(majority(left) & majority(right) == whole for left, right in children(table))


def same_distribution(table: Table) -> bool:
    """Both children have the node's label distribution, for all splits."""
    return all((left * right.sum() == right * left.sum()).all() for left, right in children(table))

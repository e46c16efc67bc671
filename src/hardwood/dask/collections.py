"""Tables that lie on a cluster, and collections of their blocks."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from scipy.sparse import vstack

from hardwood._compat import safe_indexing
from hardwood._core.far import FarTable
from hardwood._core.sparse import is_sparse
from hardwood.dask.blocks import Block, to_blocks
from hardwood.dask.tasks import Tasks


class ClusterTable(FarTable):
    """A table in blocks on a cluster. Rows that are asked for come to the client, as they are.

    Attributes
    ----------
    blocks : list
        The blocks.
    n_rows_of : list of int
        Their numbers of rows.
    shape : (int, int)
        Number of rows and columns of the table.
    columns : list of str
        The names of the columns. Tables without names do not have the attribute.
    """

    labels: tuple[Any, list[Block]]  # of the rows: here, and in blocks

    def __init__(
        self, X: Any, client: Any, name: str = "X", n_rows_of: list[int] | None = None
    ) -> None:
        """Find out about a table. If its numbers of rows are known, this may need no pass over it."""
        self.given, self.client = X, client
        self.blocks = to_blocks(X, name)
        if n_rows_of is not None and getattr(X, "ndim", None) == 2:
            self.n_rows_of = n_rows_of
            self.shape = (sum(n_rows_of), X.shape[1])
            if hasattr(X, "columns"):
                self.columns = list(X.columns)
            return
        with Tasks(client) as tasks:
            facts = tasks.gather(tasks.blocks("check", _facts, [(b,) for b in self.blocks]))
        self.n_rows_of = [n_rows for n_rows, _, _ in facts]
        widths = [n_columns for n_rows, n_columns, _ in facts if n_rows]
        self.shape = (sum(self.n_rows_of), widths[0] if widths else 0)
        names = next((names for n_rows, _, names in facts if n_rows), None)
        if names is not None:
            self.columns = names

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each block, and the number of all rows."""
        return [0, *np.cumsum(self.n_rows_of).tolist()]

    def fetch(self, rows: NDArray[np.intp]) -> Any:
        """Return some rows, in any order, as a table that is here."""
        wanted, places = np.unique(rows, return_inverse=True)
        parts = np.split(wanted, np.searchsorted(wanted, self.starts[1:-1]))
        calls = [
            (block, part - start)
            for block, part, start in zip(self.blocks, parts, self.starts, strict=False)
            if len(part)
        ]
        if not calls:
            calls = [(self.blocks[int(np.argmax(self.n_rows_of))], wanted)]
        with Tasks(self.client) as tasks:
            found = tasks.gather(tasks.blocks("rows", safe_indexing, calls))
        return safe_indexing(_joined(found), places)

    def split(self, values: Any) -> list[Block]:
        """Return an array of the client, a value for each row, in blocks of the same rows."""
        return [
            delayed(values[first:last], traverse=False) for first, last in pairwise(self.starts)
        ]

    def collect(self) -> Any:
        """Return all of it, here."""
        with Tasks(self.client) as tasks:
            found = tasks.gather(tasks.blocks("collect", _as_it_is, [(b,) for b in self.blocks]))
        filled = [part for part, n_rows in zip(found, self.n_rows_of, strict=True) if n_rows]
        return _joined(filled or found[:1])


def collection_like(given: Any, blocks: Sequence[Block], sizes: Sequence[int]) -> Any:
    """Return blocks as a collection of the kind that the user gave."""
    if hasattr(given, "map_partitions"):
        import dask.dataframe as dd

        return dd.from_delayed(list(blocks), meta=given._meta)
    if hasattr(given, "map_blocks"):
        import dask.array as da

        parts = [
            da.from_delayed(block, (size, *given.shape[1:]), dtype=given.dtype)
            for block, size in zip(blocks, sizes, strict=True)
        ]
        return da.concatenate(parts)  # without those that are empty
    return list(blocks)


def weights_like(given: Any, weights: NDArray[np.float64], sizes: Sequence[int]) -> Any:
    """Return weights of the client as a fit takes them, together with a collection."""
    if isinstance(given, list | tuple):
        return split_rows(weights, sizes)
    import dask.array as da

    kept = [size for size in sizes if size or hasattr(given, "map_partitions")]
    return da.from_array(weights, chunks=(tuple(kept),))


def split_rows(values: Any, sizes: Sequence[int]) -> list[Block]:
    """Return values of the client in blocks of so many rows."""
    starts = np.cumsum([0, *sizes]).tolist()
    return [delayed(values[first:last], traverse=False) for first, last in pairwise(starts)]


def each_block(function: Callable[..., Any], *blocks: Sequence[Any]) -> list[Block]:
    """Return a function of blocks, delayed."""
    call = delayed(function, pure=False)
    return [call(*each) for each in zip(*blocks, strict=True)]


def _facts(X: Any) -> tuple[int, int, list[str] | None]:
    """Return the numbers of rows and columns, and the names of the columns, if there are any."""
    shape: tuple[int, ...] = X.shape if hasattr(X, "shape") else (len(X),)
    names = getattr(X, "columns", None)
    return shape[0], shape[1] if len(shape) > 1 else 1, None if names is None else list(names)


def _as_it_is(block: Any) -> Any:
    return block


def _joined(parts: Sequence[Any]) -> Any:
    """Return blocks one after the other."""
    if is_sparse(parts[0]):
        return vstack(parts, format="csr")
    if hasattr(parts[0], "iloc"):
        from dask.dataframe.dispatch import concat  # categories may differ

        return concat(list(parts))
    return np.concatenate([np.asarray(part) for part in parts])

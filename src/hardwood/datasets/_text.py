"""Tables of numbers in text files: comma-separated, and OpenML's ARFF."""

from __future__ import annotations

import gzip
import itertools
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed or not; a byte order mark is passed over."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def read_table(lines: Iterable[str], dtype: npt.DTypeLike, **options: Any) -> npt.NDArray[Any]:
    """Return comma-separated values as a matrix of at least one row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are none; the error below says it
        table = np.loadtxt(lines, dtype, delimiter=",", comments=None, ndmin=2, **options)
    if not table.size:
        raise ValueError("it holds no rows")
    return table


def read_arff(path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the features of a dense ARFF file, and its last column, which holds the labels.

    float32 holds whole numbers up to 16 million exactly, and OpenML's three files of the paper
    have no others.
    """
    with open_text(path) as file:
        n_attributes = 0
        for line in file:
            keyword = line.split(maxsplit=1)[0].lower() if line.strip() else ""
            if keyword == "@data":
                break
            n_attributes += keyword == "@attribute"
        rows = (line for line in file if line.strip() and not line.startswith("%"))
        first = next(rows, "")
        if first.startswith("{"):
            raise ValueError("it is a sparse ARFF file; only dense ones are read")
        table = read_table(itertools.chain([first], rows), np.float32, quotechar="'")
    if table.shape[1] != n_attributes:
        raise ValueError(f"it has {n_attributes} attributes but {table.shape[1]} columns")
    if (table != np.floor(table)).any():
        raise ValueError("its values are not whole numbers, so it is another version of the data")
    return table[:, :-1], table[:, -1].astype(np.int64)

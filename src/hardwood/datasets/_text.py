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

Bytes = npt.NDArray[np.uint8]


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed or not, and skip its byte order mark."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def read_table(lines: Iterable[str], dtype: npt.DTypeLike, **options: Any) -> npt.NDArray[Any]:
    """Return comma-separated values as a matrix of at least one row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about empty input; the error below covers it
        table = np.loadtxt(lines, dtype, delimiter=",", comments=None, ndmin=2, **options)
    if not table.size:
        raise ValueError("it has no rows")
    return table


def read_arff(path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the features of a dense ARFF file, and the labels in its last column.

    float32 holds integers up to 16 million exactly, and the three OpenML files have no others.
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
            raise ValueError("it is a sparse ARFF file, but only dense ones can be read")
        table = read_table(itertools.chain([first], rows), np.float32, quotechar="'")
    if table.shape[1] != n_attributes:
        raise ValueError(f"it has {n_attributes} attributes but {table.shape[1]} columns")
    if (table != np.floor(table)).any():
        raise ValueError("its values are not integers, so it is another version of the data")
    return table[:, :-1], table[:, -1].astype(np.int64)


def read_arff_images(path: Path, test_share: int) -> tuple[Bytes, Bytes, Bytes, Bytes]:
    """Return X_train, y_train, X_test, y_test of an ARFF file of bytes, with labels from 0 to 9.

    One row in `test_share` is a test row; they come last.
    """
    X, y = read_arff(path)
    n_train = len(y) - len(y) // test_share
    X_train, X_test = np.split(X.astype(np.uint8), [n_train])
    y_train, y_test = np.split(checked_labels(y, 10), [n_train])
    return X_train, y_train, X_test, y_test


def checked_labels(y: npt.NDArray[Any], n_classes: int) -> Bytes:
    """Return labels that index the classes, as bytes."""
    if y.dtype.kind not in "iu" or not y.size or not 0 <= y.min() <= y.max() < n_classes:
        raise ValueError(f"labels must be integers from 0 to {n_classes - 1}")
    return y.astype(np.uint8)

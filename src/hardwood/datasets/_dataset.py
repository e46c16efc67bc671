"""What a data set is, and its file format."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardwood._io.files import replacing

REQUIRED_ARRAYS = ("X_train", "y_train", "X_test", "y_test", "classes")
# What np.load raises for a file that is cut short or has another format.
_UNREADABLE = (EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


class Dataset(NamedTuple):
    """A data set, split into training and test rows.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_features)
        The features, in the precision they are stored in.
    y_train, y_test : ndarray of shape (n_samples,)
        Integer labels that index `classes`.
    classes : ndarray of str of shape (n_classes,)
        The names of the classes.
    feature_names : ndarray of str of shape (n_features,)
        The names of the columns, ``x0, x1, …`` if unknown.
    """

    X_train: npt.NDArray[Any]
    y_train: npt.NDArray[np.uint8]
    X_test: npt.NDArray[Any]
    y_test: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.str_]
    feature_names: npt.NDArray[np.str_]


def save(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Save a data set as a compressed ``.npz`` file, which `load` reads faster than originals.

    Parameters
    ----------
    dataset : Dataset
        The data set, with multiclass labels. `load` derives the binary ones.
    path : path-like
        The file. Call it ``<name>.npz`` for `load` to find it. Its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from hardwood.datasets import find, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(load("mushrooms"), f"{folder}/mushrooms.npz")
    ...     find("mushrooms", data_home=folder) is not None
    True
    """
    with replacing(path) as file:
        np.savez_compressed(file, **dataset._asdict())


def read_npz(path: Path) -> Dataset:
    """Return the data set in a ``.npz`` file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in Dataset._fields if key in stored}
    except _UNREADABLE as error:
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    missing = [key for key in REQUIRED_ARRAYS if key not in arrays]
    if missing:
        raise ValueError(f"{path} lacks the array(s) {', '.join(missing)}.")
    arrays.setdefault("feature_names", _numbered(arrays["X_train"].shape[1]))
    return Dataset(**arrays)


def with_features(dataset: Dataset, path: str | os.PathLike[str]) -> Dataset:
    """Return the data set with the features of a ``.npy`` file instead of its own."""
    try:
        with Path(path).open("rb") as file:
            X = np.load(file, allow_pickle=False)
    except _UNREADABLE as error:
        raise ValueError(f"features: {path} is not a readable .npy file: {error}") from error
    n_train, n_test = len(dataset.y_train), len(dataset.y_test)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"features: {path} must hold one matrix of numbers, in .npy format.")
    if len(X) != n_train + n_test:
        raise ValueError(
            f"features: {path} must have {n_train + n_test} rows, the {n_train} training rows "
            f"before the {n_test} test rows, but has {len(X)}."
        )
    names = _numbered(X.shape[1])
    return dataset._replace(X_train=X[:n_train], X_test=X[n_train:], feature_names=names)


def _numbered(n_features: int) -> npt.NDArray[np.str_]:
    """Return names for unnamed features."""
    return np.array([f"x{column}" for column in range(n_features)])

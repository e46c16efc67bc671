"""What a data set is, and how its rows are kept in a file."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

REQUIRED_ARRAYS = ("X_train", "y_train", "X_test", "y_test", "classes")
# What np.load and the arrays' decompression raise for a file that is cut short or something else.
_UNREADABLE = (EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


class Dataset(NamedTuple):
    """A data set, split into training and test rows.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_features)
        The feature values, in the precision they are stored in.
    y_train, y_test : ndarray of shape (n_samples,)
        Whole-number labels that index `classes`.
    classes : ndarray of str of shape (n_classes,)
        What each label stands for.
    feature_names : ndarray of str of shape (n_features,)
        The columns' names, ``x0, x1, …`` where unknown.
    """

    X_train: npt.NDArray[Any]
    y_train: npt.NDArray[np.uint8]
    X_test: npt.NDArray[Any]
    y_test: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.str_]
    feature_names: npt.NDArray[np.str_]


def save(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a data set to a compressed ``.npz`` file, which `load` reads faster than originals.

    Parameters
    ----------
    dataset : Dataset
        With multiclass labels: binary ones are derived from them by `load`.
    path : path-like
        The file, named ``<name>.npz`` for `load` to find it. Its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> from hardwood.datasets import find, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(load("mushrooms"), f"{folder}/mushrooms.npz")
    ...     find("mushrooms", data_home=folder) is not None
    True
    """
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **dataset._asdict())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_npz(path: Path) -> Dataset:
    """Return the data set that a ``.npz`` file holds."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in Dataset._fields if key in stored}
    except _UNREADABLE as error:
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    missing = [key for key in REQUIRED_ARRAYS if key not in arrays]
    if missing:
        raise ValueError(f"{path} lacks the array(s) {', '.join(missing)}.")
    arrays.setdefault("feature_names", numbered(arrays["X_train"].shape[1]))
    return Dataset(**arrays)


def with_features(dataset: Dataset, path: str | os.PathLike[str]) -> Dataset:
    """Return the data set with the features of a ``.npy`` file in place of its own."""
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
            f"features: {path} must hold {n_train + n_test} rows, the {n_train} for training "
            f"before the {n_test} for testing, but holds {len(X)}."
        )
    return dataset._replace(
        X_train=X[:n_train], X_test=X[n_train:], feature_names=numbered(X.shape[1])
    )


def numbered(n_features: int) -> npt.NDArray[np.str_]:
    """Return names for features that have none."""
    return np.array([f"x{column}" for column in range(n_features)])

"""The paper's data sets, with its splits and its binary tasks.

A data set is a file ``<name>.npz`` of the arrays ``X_train, y_train, X_test, y_test`` (labels are
whole numbers that index ``classes``), ``classes``, and ``feature_names`` where known. It is looked
for in the folders of `search_path`; Mushrooms comes with the package.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["NAMES", "Dataset", "find", "load", "search_path"]


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


class _BinaryTask(NamedTuple):
    """How the paper makes two classes of many: label 0 is its first-listed group."""

    classes: tuple[str, str]
    is_first: Callable[[str], bool]


_BINARY_TASKS = {
    "mnist": _BinaryTask(("even", "odd"), lambda digit: int(digit) % 2 == 0),
    "20news": _BinaryTask(
        ("alt, comp, misc, rec", "sci, soc, talk"),
        lambda group: group.split(".")[0] in {"alt", "comp", "misc", "rec"},
    ),
    "unsw_nb15": _BinaryTask(("attack", "benign"), lambda category: category != "Normal"),
    "covertype": _BinaryTask(("Lodgepole Pine", "others"), lambda tree: tree == "Lodgepole Pine"),
    "mushrooms": _BinaryTask(("poisonous", "edible"), lambda kind: kind == "poisonous"),
}

NAMES: tuple[str, ...] = tuple(_BINARY_TASKS)
"""The data sets that `load` knows."""

_EMBEDDED = Path(__file__).parent / "data"
_REQUIRED_ARRAYS = ("X_train", "y_train", "X_test", "y_test", "classes")
# What np.load and the arrays' decompression raise for a file that is cut short or something else.
_UNREADABLE = (EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


def load(
    name: str,
    task: Literal["multiclass", "binary"] = "multiclass",
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a data set of the paper.

    Parameters
    ----------
    name : {"mnist", "20news", "unsw_nb15", "covertype", "mushrooms"}
        Which data set. Mushrooms comes with the package and has two classes in both tasks.
    task : {"multiclass", "binary"}, default="multiclass"
        The labels as they are, or the paper's two groups of them, of which the first-listed
        is label 0: even digits (MNIST); alt, comp, misc and rec (20 Newsgroups); attacks
        (UNSW-NB15); lodgepole pine (Covertype); poisonous (Mushrooms).
    data_home : path-like, optional
        A folder to look in before those of `search_path`.

    Returns
    -------
    Dataset
        Training and test rows, class names and feature names.

    Raises
    ------
    FileNotFoundError
        If no folder holds the file; the message names the file and the folders.

    Examples
    --------
    >>> from hardwood.datasets import load
    >>> mushrooms = load("mushrooms")
    >>> mushrooms.X_train.shape
    (6499, 112)
    >>> mushrooms.classes.tolist()
    ['poisonous', 'edible']
    """
    if name not in NAMES:
        raise ValueError(f"Unknown data set {name!r}; known are {', '.join(NAMES)}.")
    if task not in ("multiclass", "binary"):
        raise ValueError(f"task must be 'multiclass' or 'binary', got {task!r}.")
    path = find(name, data_home)
    if path is None:
        raise FileNotFoundError(_how_to_provide(name, data_home))
    dataset = _read_npz(path)
    return _binarise(dataset, _BINARY_TASKS[name]) if task == "binary" else dataset


def find(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file that `load` would read, or None if there is none.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    data_home : path-like, optional
        A folder to look in first.

    Returns
    -------
    Path or None
        The first match in `search_path`.

    Examples
    --------
    >>> from hardwood.datasets import find
    >>> find("mushrooms").name
    'mushrooms.npz'
    """
    candidates = (folder / f"{name}.npz" for folder in search_path(data_home))
    return next((path for path in candidates if path.is_file()), None)


def search_path(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders that data sets are looked for in, in that order.

    Parameters
    ----------
    data_home : path-like, optional
        A folder to look in first.

    Returns
    -------
    list of Path
        `data_home` if given, the folder named by the environment variable ``HARDWOOD_DATA``
        if set, the user's cache folder, and the package's own.

    Examples
    --------
    >>> from hardwood.datasets import search_path
    >>> search_path("my_data")[0].name
    'my_data'
    """
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folders = [
        data_home,
        os.environ.get("HARDWOOD_DATA"),
        Path(cache_home) / "hardwood",
        _EMBEDDED,
    ]
    return [Path(folder).expanduser() for folder in folders if folder]


def _read_npz(path: Path) -> Dataset:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in Dataset._fields if key in stored}
    except _UNREADABLE as error:
        raise ValueError(f"{path} is not a readable .npz file: {error}") from error
    missing = [key for key in _REQUIRED_ARRAYS if key not in arrays]
    if missing:
        raise ValueError(f"{path} lacks the array(s) {', '.join(missing)}.")
    n_features = arrays["X_train"].shape[1]
    arrays.setdefault("feature_names", np.array([f"x{column}" for column in range(n_features)]))
    return Dataset(**arrays)


def _binarise(dataset: Dataset, task: _BinaryTask) -> Dataset:
    label_of = np.array([not task.is_first(name) for name in dataset.classes], dtype=np.uint8)
    return dataset._replace(
        y_train=label_of[dataset.y_train],
        y_test=label_of[dataset.y_test],
        classes=np.array(task.classes),
    )


def _how_to_provide(name: str, data_home: str | os.PathLike[str] | None) -> str:
    own_folders = [folder for folder in search_path(data_home) if folder != _EMBEDDED]
    return (
        f"{name}.npz was not found. Put it into one of these folders: "
        f"{', '.join(map(str, own_folders))}; or give its folder as data_home or in the "
        f"environment variable HARDWOOD_DATA. It holds the arrays {', '.join(_REQUIRED_ARRAYS)} "
        f"and, where known, feature_names."
    )

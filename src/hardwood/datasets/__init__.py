"""The paper's data sets, with its preprocessing, its splits and its binary tasks.

`load` searches the folders of `search_path`. In each it looks first for a file ``<name>.npz`` with
the arrays ``X_train, y_train, X_test, y_test``, ``classes`` (which the integer labels index) and
optionally ``feature_names``, then for the original files. Mushrooms comes with the package.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Literal

from hardwood.datasets import _cifar10, _covertype, _mnist, _mushrooms, _newsgroups, _unsw_nb15
from hardwood.datasets._dataset import REQUIRED_ARRAYS, Dataset, read_npz, save, with_features
from hardwood.datasets._download import download as _download
from hardwood.datasets._mushrooms import EMBEDDED as _EMBEDDED
from hardwood.datasets._source import Shape, Source

__all__ = ["NAMES", "SHAPES", "Dataset", "Shape", "find", "load", "save", "search_path"]

_SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        _mnist.SOURCE,
        _cifar10.SOURCE,
        _newsgroups.SOURCE,
        _unsw_nb15.SOURCE,
        _covertype.SOURCE,
        _mushrooms.SOURCE,
        _cifar10.VGG11,
    )
}

NAMES: tuple[str, ...] = tuple(_SOURCES)
"""The names of the data sets."""

SHAPES: dict[str, Shape] = {name: source.shape for name, source in _SOURCES.items()}
"""The size of each data set when read from its complete originals, as in the paper's Table 1."""

_PathLike = str | os.PathLike[str]

# What the readers raise for a file that is cut short or has another format.
_UNREADABLE = (
    EOFError,
    ValueError,
    gzip.BadGzipFile,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


def load(
    name: str,
    task: Literal["multiclass", "binary"] = "multiclass",
    data_home: _PathLike | None = None,
    *,
    features: _PathLike | None = None,
    download: bool | None = None,
) -> Dataset:
    """Load one of the paper's data sets.

    Parameters
    ----------
    name : {"mnist", "cifar10", "20news", "unsw_nb15", "covertype", "mushrooms", "cifar10_vgg11"}
        The data set. Mushrooms comes with the package and has two classes in both tasks. The last
        one is CIFAR-10 with features of a VGG11 network instead of pixels; you provide its file.
    task : {"multiclass", "binary"}, default="multiclass"
        The original labels, or the paper's two groups of them. Label 0 is the group it lists
        first: even digits (MNIST); airplane, automobile, ship and truck (CIFAR-10); alt, comp,
        misc and rec (20 Newsgroups); attacks (UNSW-NB15); lodgepole pine (Covertype); poisonous
        (Mushrooms).
    data_home : path-like, optional
        A folder to search first.
    features : path-like, optional
        A ``.npy`` file with features to use instead of the data set's own, such as the output of
        a pre-trained network: one row for each training row, then one for each test row.
    download : bool, optional
        Whether to download missing files to the cache folder. By default only if the environment
        variable ``HARDWOOD_DOWNLOAD`` is 1.

    Returns
    -------
    Dataset
        Training and test rows, class names and feature names.

    Raises
    ------
    FileNotFoundError
        If no folder has the data set. The message names the files and the folders.
    ValueError
        If a file does not have the expected contents.
    OSError
        If a download fails.

    Examples
    --------
    >>> from hardwood.datasets import load
    >>> mushrooms = load("mushrooms")
    >>> mushrooms.X_train.shape
    (6499, 112)
    >>> mushrooms.classes.tolist()
    ['poisonous', 'edible']
    """
    source = _source(name)
    if task not in ("multiclass", "binary"):
        raise ValueError(f"task must be 'multiclass' or 'binary', got {task!r}.")
    if download is None:
        download = os.environ.get("HARDWOOD_DOWNLOAD") == "1"
    paths = _find_all(source, data_home)
    if paths is None and download and source.remotes:
        for remote in source.remotes:
            _download(remote, _cache_folder() / name)
        paths = _find_all(source, data_home)
    if paths is None:
        raise FileNotFoundError(_how_to_provide(source, data_home))
    dataset = _read(source, paths)
    if features is not None:
        dataset = with_features(dataset, features)
    return source.binary_task.apply(dataset) if task == "binary" else dataset


def find(name: str, data_home: _PathLike | None = None) -> Path | None:
    """Return the file that `load` would read, or None if there is none.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    data_home : path-like, optional
        A folder to search first.

    Returns
    -------
    Path or None
        The first match in `search_path`. If there are several original files, the first of them.

    Examples
    --------
    >>> from hardwood.datasets import find
    >>> find("mushrooms").name
    'mushrooms.npz'
    """
    paths = _find_all(_source(name), data_home)
    return paths[0] if paths else None


def search_path(data_home: _PathLike | None = None) -> list[Path]:
    """Return the folders that `load` searches, in order.

    Parameters
    ----------
    data_home : path-like, optional
        A folder to search first.

    Returns
    -------
    list of Path
        `data_home` if given, the folder in the environment variable ``HARDWOOD_DATA`` if set,
        the user's cache folder, and the package's own folder.

    Examples
    --------
    >>> from hardwood.datasets import search_path
    >>> search_path("my_data")[0].name
    'my_data'
    """
    folders = [data_home, os.environ.get("HARDWOOD_DATA"), _cache_folder(), _EMBEDDED]
    return [Path(folder).expanduser() for folder in folders if folder]


def _source(name: str) -> Source:
    if name not in _SOURCES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}.")
    return _SOURCES[name]


def _cache_folder() -> Path:
    cache_home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache_home).expanduser() / "hardwood"


def _find_all(source: Source, data_home: _PathLike | None) -> list[Path] | None:
    """Return the files to read: one ``.npz``, or the originals."""
    for folder in search_path(data_home):
        stored = folder / f"{source.name}.npz"
        if stored.is_file():
            return [stored]
        for place in (folder, folder / source.name):
            paths = source.find(place)
            if paths:
                return paths
    return None


def _read(source: Source, paths: list[Path]) -> Dataset:
    if paths[0].suffix == ".npz":
        return read_npz(paths[0])
    try:
        return source.read(paths)
    except _UNREADABLE as error:
        files = ", ".join(map(str, paths))
        raise ValueError(f"{source.name} could not be read from {files}: {error}.") from error


def _how_to_provide(source: Source, data_home: _PathLike | None) -> str:
    own_folders = [str(folder) for folder in search_path(data_home) if folder != _EMBEDDED]
    message = (
        f"{source.name} was not found. Put its files into one of these folders, or a subfolder "
        f"{source.name}: {', '.join(own_folders)}. Or pass their folder as data_home or in the "
        f"environment variable HARDWOOD_DATA. You need {source.name}.npz with the arrays "
        f"{', '.join(REQUIRED_ARRAYS)} and optionally feature_names"
        + (f"; or the original files: {source.originals}." if source.originals else ".")
    )
    if source.remotes:
        files = ", ".join(remote.file for remote in source.remotes)
        message += f" load({source.name!r}, download=True) downloads {files}."
    return message

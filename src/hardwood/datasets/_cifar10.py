"""CIFAR-10: its Python batches, packed or not, or OpenML's ``CIFAR_10``."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source
from hardwood.datasets._text import checked_labels, read_arff_images

_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_ARCHIVES = ("cifar-10-python.tar.gz", "cifar-10-python.tar")
_ARFF = ("CIFAR_10.arff", "CIFAR_10.arff.gz")
_CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip
_THINGS = {"airplane", "automobile", "ship", "truck"}
_SIDE = 32
_N_PIXELS = 3 * _SIDE * _SIDE


def _read(paths: list[Path]) -> Dataset:
    if paths[0].name in _ARFF:
        X_train, y_train, X_test, y_test = read_arff_images(paths[0], test_share=6)
        if X_train.shape[1] != _N_PIXELS:
            raise ValueError(f"it has {X_train.shape[1]} pixels per image instead of {_N_PIXELS}")
        # The test set has equally many rows of each class; rows in another order would not.
        if len(y_test) == SOURCE.shape.n_test and np.ptp(np.bincount(y_test, minlength=10)):
            raise ValueError("its last 10,000 rows are not the test rows")
    else:
        *training, (X_test, y_test) = map(_read_batch, _batches(paths))
        X_train = np.concatenate([X for X, _ in training])
        y_train = np.concatenate([y for _, y in training])
    pixels = [
        f"{colour}_{row}_{column}"
        for colour in ("red", "green", "blue")
        for row in range(_SIDE)
        for column in range(_SIDE)
    ]
    return Dataset(X_train, y_train, X_test, y_test, np.array(_CLASSES), np.array(pixels))


def _batches(paths: list[Path]) -> list[bytes]:
    """Return the contents of the batches, the test batch last."""
    if len(paths) > 1:
        return [path.read_bytes() for path in paths]
    contents = {}
    with tarfile.open(paths[0]) as archive:
        for member in archive:
            file = archive.extractfile(member)
            name = member.name.rpartition("/")[2]
            if file and name in _BATCHES:
                contents[name] = file.read()
    missing = [batch for batch in _BATCHES if batch not in contents]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    return [contents[batch] for batch in _BATCHES]


class _ArrayUnpickler(pickle.Unpickler):
    """Loads arrays in lists and dictionaries, and nothing that could run code."""

    # NumPy refers to its array constructor by a private module, which NumPy 2 renamed.
    _array_maker = np.empty(0).__reduce__()[0]
    _allowed: ClassVar = {
        ("numpy.core.multiarray", "_reconstruct"): _array_maker,
        ("numpy._core.multiarray", "_reconstruct"): _array_maker,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._allowed[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}, not to data") from None


def _read_batch(content: bytes) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    try:
        batch = _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a broken pickle can raise anything
        raise ValueError(f"a batch is not a pickle of arrays: {error}") from error
    if not isinstance(batch, dict) or not {b"data", b"labels"} <= set(batch):
        raise ValueError("a batch lacks its data or its labels")
    X, y = np.asarray(batch[b"data"]), np.asarray(batch[b"labels"])
    if X.dtype != np.uint8 or X.shape != (len(y), _N_PIXELS):
        raise ValueError(f"a batch holds {X.dtype} of shape {X.shape} for {len(y)} labels")
    return X, checked_labels(y, len(_CLASSES))


_BINARY_TASK = BinaryTask(("things", "animals"), lambda kind: kind in _THINGS)

SOURCE = Source(
    name="cifar10",
    shape=Shape(50_000, 10_000, _N_PIXELS, 10),
    binary_task=_BINARY_TASK,
    layouts=(
        Layout(tuple((batch,) for batch in _BATCHES), ("cifar-10-batches-py", ".")),
        Layout(((*_ARCHIVES, *_ARFF),)),
    ),
    read=_read,
    originals=(
        "cifar-10-python.tar.gz or the folder cifar-10-batches-py in it "
        "(https://www.cs.toronto.edu/~kriz/cifar.html), or CIFAR_10.arff from OpenML"
    ),
    remotes=(
        Remote(
            _ARCHIVES[0],
            ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
            "sha256",
            "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        ),
    ),
)

# The input of a VGG11 network's classifier module for each image, in the order of the images. Networks
# differ, so there is no original to read.
VGG11 = Source(
    name="cifar10_vgg11",
    shape=Shape(50_000, 10_000, 512, 10),
    binary_task=_BINARY_TASK,
    layouts=(),
    read=_read,
    originals="",
)

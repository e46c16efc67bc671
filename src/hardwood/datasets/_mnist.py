"""MNIST: the four idx files of its authors, or OpenML's ``mnist_784``."""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source
from hardwood.datasets._text import read_arff_images

_FILES = {  # in the order they are read, with their MD5
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_UNSIGNED_BYTE = 8


def _read(paths: list[Path]) -> Dataset:
    if len(paths) == 1:
        images_train, y_train, images_test, y_test = read_arff_images(paths[0], test_share=7)
        n_columns = math.isqrt(images_train.shape[1])
    else:
        images_train, y_train, images_test, y_test = map(_read_idx, paths)
        n_columns = images_train.shape[-1]
    if (len(images_train), len(images_test)) != (len(y_train), len(y_test)):
        raise ValueError("the numbers of images and labels differ")
    X_train, X_test = (images.reshape(len(images), -1) for images in (images_train, images_test))
    names = [f"pixel_{pixel // n_columns}_{pixel % n_columns}" for pixel in range(X_train.shape[1])]
    digits = np.array([str(digit) for digit in range(10)])
    return Dataset(X_train, y_train, X_test, y_test, digits, np.array(names))


def _read_idx(path: Path) -> npt.NDArray[Any]:
    """Return the array of an idx file.

    The header holds two zeros, the type of the values, the number of dimensions, and the length of
    each dimension as a big-endian integer of four bytes.
    """
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        content = file.read()
    end_of_header = 4 + 4 * content[3] if len(content) > 3 else 0
    if content[:3] != bytes([0, 0, _UNSIGNED_BYTE]) or not 4 < end_of_header <= len(content):
        raise ValueError(f"{path.name} does not start like an idx file of unsigned bytes")
    shape = np.frombuffer(content[4:end_of_header], dtype=">u4").tolist()
    values = np.frombuffer(content[end_of_header:], dtype=np.uint8)
    if len(values) != math.prod(shape):
        raise ValueError(f"{path.name} should hold {math.prod(shape)} values, holds {len(values)}")
    return values.reshape(shape).copy()  # a writeable array


SOURCE = Source(
    name="mnist",
    shape=Shape(60_000, 10_000, 784, 10),
    binary_task=BinaryTask(("even", "odd"), lambda digit: int(digit) % 2 == 0),
    layouts=(
        Layout(
            # Some unpackers turn the hyphen before "idx" into a dot.
            tuple((file, f"{file}.gz", file.replace("-idx", ".idx")) for file in _FILES),
            (".", "MNIST/raw", "raw"),  # torchvision's folders
        ),
        Layout((("mnist_784.arff", "mnist_784.arff.gz"),)),
    ),
    read=_read,
    originals=f"{', '.join(_FILES)} (each uncompressed or .gz), or mnist_784.arff from OpenML",
    remotes=tuple(
        Remote(f"{file}.gz", tuple(f"{mirror}{file}.gz" for mirror in _MIRRORS), "md5", md5)
        for file, md5 in _FILES.items()
    ),
)

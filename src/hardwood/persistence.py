"""Models in files that are safe to load: `save` and `load`.

A ``.hw`` file is a header and arrays, all of it little-endian::

    bytes  0 to 7     "hardwood"
           8 to 11    the protocol's number
          12 to 15    CRC-32 of the header
          16 to 23    the header's length in bytes
          24 …        the header, JSON in UTF-8
                      the arrays, each from a multiple of 64 bytes on, zeros between

The header is an object of ``protocol``, ``class`` and ``versions`` (of what wrote the file, for people
to read), ``state`` (parameters and what was fitted; `hardwood._io.storing` tells how values are written)
and ``arrays``, for each its ``dtype``, ``shape``, ``offset`` from the end of the header, rounded up
to 64, and ``crc32``.

Nothing in a file is ever run. Before a model is returned, everything is checked that its predictor
relies on, also where the checksums are right.
"""

import importlib
import json
import mmap
import os
import platform
import sys
import zlib
from importlib.metadata import version
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.files import replacing
from hardwood._io.storing import ARRAY_DTYPES, Decoder, Encoder, is_storable

__all__ = ["load", "save"]

PROTOCOL = 1  # what `save` writes; `load` reads this and all before it

_MAGIC = b"hardwood"
_PREFIX = Struct("<8sIIQ")
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 2**24
_MOST_DIMENSIONS = 8


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model in a file that is safe to load.

    The file is written beside its place and moved there when it is complete: whatever happens,
    `path` is the old file or the new one.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of hardwood.

    path : str or path-like
        Where to save it, by custom with the ending ``.hw``.

    Raises
    ------
    TypeError
        If the model is not hardwood's, or a parameter cannot be stored: a function, as in
        `CustomImpurity` or ``oob_score=f1_score``.

    See Also
    --------
    load : Load the model again.

    Examples
    --------
    >>> import hardwood, tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = hardwood.RobustForestClassifier(random_state=0).fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.hw"
    >>> hardwood.save(forest, path)
    >>> bool((hardwood.load(path).predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    if sys.byteorder != "little":  # trees are kept as they are in memory
        raise NotImplementedError("Models can only be saved on little-endian machines.")
    if not is_storable(model):
        raise TypeError(f"model must be an estimator of hardwood, but got {model!r}.")
    encoder = Encoder()
    name, state = encoder.encode(model, "")["object"]
    offset = 0
    arrays = []
    for array in encoder.arrays:
        arrays.append(
            {
                "dtype": array.dtype.str,
                "shape": array.shape,
                "offset": offset,
                "crc32": zlib.crc32(_bytes_of(array)),
            }
        )
        offset = _aligned(offset + array.nbytes)
    content = {
        "protocol": PROTOCOL,
        "class": name,
        "versions": {
            "hardwood": version("hardwood"),
            "numpy": version("numpy"),
            "scikit-learn": version("scikit-learn"),
            "python": platform.python_version(),
        },
        "state": state,
        "arrays": arrays,
    }
    header = json.dumps(content, allow_nan=False, ensure_ascii=True).encode()
    if len(header) > _MOST_HEADER_BYTES:
        raise ValueError(
            f"The parameters of the model take {len(header)} bytes; at most {_MOST_HEADER_BYTES} "
            "can be stored."
        )
    with replacing(path) as file:
        file.write(_PREFIX.pack(_MAGIC, PROTOCOL, zlib.crc32(header), len(header)))
        file.write(header)
        for array in encoder.arrays:
            file.write(bytes(_aligned(file.tell()) - file.tell()))
            file.write(_bytes_of(array))


def load(path: str | os.PathLike[str], *, memory_map: bool = True) -> Any:
    """Load a model that `save` has saved, from any source: nothing in the file is run.

    Parameters
    ----------
    path : str or path-like
        The file.

    memory_map : bool, default=True
        Whether the model's arrays stay in the file and are read from there by the operating system,
        which processes that load the same file share. Such a file must not be changed in place
        while the model is in use; `save` never does that. False reads them into memory.

    Returns
    -------
    model : estimator
        The fitted model.

    Raises
    ------
    ValueError
        If the file is not one that `save` has made, or has been damaged since, or was made by a
        later version in a way that this one does not know.

    See Also
    --------
    save : Save a model.

    Examples
    --------
    >>> import hardwood, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.hw"
    >>> _ = path.write_bytes(b"something else")
    >>> hardwood.load(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: ...model.hw is no model of hardwood: it does not begin as one.
    """
    for module in ("losses", "tables"):  # these register what criteria are made of, and models
        importlib.import_module(f"hardwood.{module}")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        is_mapped = memory_map and size > 0  # an empty file cannot be mapped
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else file.read()
    try:
        return _decoded(memoryview(buffer))
    except (ValueError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{os.fspath(path)} is no model of hardwood: {reason}.") from error


def _decoded(file: memoryview) -> Any:
    if len(file) < _PREFIX.size or file[: len(_MAGIC)] != _MAGIC:
        raise ValueError("it does not begin as one")
    _, protocol, checksum, n_bytes = _PREFIX.unpack_from(file)
    if protocol != PROTOCOL:
        raise ValueError(
            f"its protocol is {protocol}, and this version of hardwood reads {PROTOCOL}; "
            "files of later protocols need a later version"
        )
    if n_bytes > min(len(file) - _PREFIX.size, _MOST_HEADER_BYTES):
        raise ValueError("its header is longer than it can be")
    end = _PREFIX.size + n_bytes
    raw_header = file[_PREFIX.size : end]
    if zlib.crc32(raw_header) != checksum:
        raise ValueError("its header is damaged")
    header = json.loads(bytes(raw_header))
    if not isinstance(header, dict) or not {"class", "state", "arrays"} <= header.keys():
        raise ValueError("its header is incomplete")
    arrays = _arrays(header["arrays"], file, _aligned(end))
    return Decoder(arrays).decode({"object": [header["class"], header["state"]]})


def _arrays(described: Any, file: memoryview, start: int) -> list[NDArray[Any]]:
    """Return the arrays that the header describes; they stay in the file's memory."""
    if not isinstance(described, list):
        raise ValueError("its header has no list of arrays")
    arrays = []
    for i, each in enumerate(described):
        match each:
            case {
                "dtype": str(dtype),
                "shape": [*shape],
                "offset": int(offset),
                "crc32": int(checksum),
            } if (
                dtype in ARRAY_DTYPES
                and len(shape) <= _MOST_DIMENSIONS
                and all(type(n) is int and 0 <= n <= len(file) for n in shape)
                and offset >= 0
                and offset % _ALIGNMENT == 0
            ):
                # Python's whole numbers: no product of sizes wraps around.
                n_values = int(np.prod(shape, dtype=object))
                first = start + offset
                end = first + n_values * np.dtype(dtype).itemsize
            case _:
                raise ValueError(f"array {i} is of an unknown form")
        if end > len(file):
            raise ValueError(f"array {i} would end behind the end of the file")
        if zlib.crc32(file[first:end]) != checksum:
            raise ValueError(f"array {i} is damaged")
        array = np.frombuffer(file[first:end], dtype=dtype)
        arrays.append(array.reshape(shape))
    return arrays


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data

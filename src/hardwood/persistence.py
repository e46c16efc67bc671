"""Model files that are safe to load: `save` and `load`.

A ``.hw`` file consists of a header and arrays, all little-endian::

    bytes  0 to 7     "hardwood"
           8 to 11    protocol number
          12 to 15    CRC-32 of the header
          16 to 23    length of the header in bytes
          24 …        the header, JSON in UTF-8
                      the arrays, each aligned to 64 bytes, zeros in between

The header has the keys ``protocol``, ``class``, ``versions`` (of the libraries that wrote the file,
for people to read), ``state`` (parameters and fitted attributes, encoded by `hardwood._io.storing`)
and ``arrays``. Each array has a ``dtype``, a ``shape``, a ``crc32`` and an ``offset`` from the end of
the header, rounded up to 64. No two arrays overlap.

Loading never runs code from the file. It checks everything that prediction relies on, even if the
checksums are right. A header has at most 1 MB and nests to a limited depth, so that the time and
memory of a load are in proportion to the size of the file, whatever is in it.
"""

import importlib
import json
import mmap
import os
import platform
import re
import sys
import zlib
from functools import cache
from importlib.metadata import version
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._io.files import replacing
from hardwood._io.storing import ARRAY_DTYPES, Decoder, Encoder, is_storable

__all__ = ["load", "save"]

PROTOCOL = 1  # the version of the format; `load` reads no other

_MAGIC = b"hardwood"
_PREFIX = Struct("<8sIIQ")
_ALIGNMENT = 64
_MAX_HEADER_BYTES = 2**20
_MAX_NESTING = 100  # brackets within brackets in the header
_MAX_DIGITS = 40
_MAX_DIMENSIONS = 8


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to a file that is safe to load.

    The file is written under a temporary name and renamed when it is complete, so `path` is always
    either the old file or the new one.

    Parameters
    ----------
    model : object
        A fitted hardwood model.

    path : str or path-like
        The file to write, usually ending in ``.hw``.

    Raises
    ------
    TypeError
        If this is not a hardwood model, or if a parameter is a function, as in `CustomImpurity` or
        ``oob_score=f1_score``.

    See Also
    --------
    load : Load the model.

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
    if sys.byteorder != "little":  # trees are stored as they are in memory
        raise NotImplementedError("Models can only be saved on little-endian machines.")
    if not is_storable(model):
        raise TypeError(f"model must be a hardwood model, but got {model!r}.")
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
        "versions": _versions(),
        "state": state,
        "arrays": arrays,
    }
    header = json.dumps(content, allow_nan=False, ensure_ascii=True).encode()
    if len(header) > _MAX_HEADER_BYTES:
        raise ValueError(
            f"The parameters of the model take {len(header)} bytes; the maximum is "
            f"{_MAX_HEADER_BYTES}."
        )
    with replacing(path) as file:
        file.write(_PREFIX.pack(_MAGIC, PROTOCOL, zlib.crc32(header), len(header)))
        file.write(header)
        for array in encoder.arrays:
            file.write(bytes(_aligned(file.tell()) - file.tell()))
            file.write(_bytes_of(array))


def load(path: str | os.PathLike[str], *, memory_map: bool = True) -> Any:
    """Load a model saved by `save`. This is safe for files from any source.

    Parameters
    ----------
    path : str or path-like
        The file.

    memory_map : bool, default=True
        Whether to map the file instead of reading it into memory. Processes that load the same file
        then share it. A mapped file must not be changed in place while the model is in use; `save`
        never does that.

    Returns
    -------
    model : object
        The fitted model.

    Raises
    ------
    ValueError
        If the file was not written by `save`, is damaged, or has another protocol.

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
    ValueError: ...model.hw is not a hardwood model: it does not start with "hardwood".
    """
    for module in ("losses", "tables"):  # importing them makes their classes storable
        importlib.import_module(f"hardwood.{module}")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        is_mapped = memory_map and size > 0  # an empty file cannot be mapped
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if is_mapped else file.read()
    try:
        return _decoded(memoryview(buffer))
    except (ValueError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{os.fspath(path)} is not a hardwood model: {reason}.") from error


@cache  # they are read from files
def _versions() -> dict[str, str]:
    libraries = ("hardwood", "numpy", "scikit-learn")
    return {name: version(name) for name in libraries} | {"python": platform.python_version()}


def _decoded(file: memoryview) -> Any:
    if len(file) < _PREFIX.size or file[: len(_MAGIC)] != _MAGIC:
        raise ValueError('it does not start with "hardwood"')
    _, protocol, checksum, n_bytes = _PREFIX.unpack_from(file)
    if protocol != PROTOCOL:
        raise ValueError(
            f"it has protocol {protocol}, but this version of hardwood reads protocol {PROTOCOL}"
        )
    if n_bytes > min(len(file) - _PREFIX.size, _MAX_HEADER_BYTES):
        raise ValueError("its header is too long")
    end = _PREFIX.size + n_bytes
    raw_header = file[_PREFIX.size : end]
    if zlib.crc32(raw_header) != checksum:
        raise ValueError("its header is damaged")
    header = _parsed(bytes(raw_header))
    if not isinstance(header, dict) or not {"class", "state", "arrays"} <= header.keys():
        raise ValueError("its header is incomplete")
    arrays = _arrays(header["arrays"], file, _aligned(end))
    return Decoder(arrays).decode({"object": [header["class"], header["state"]]})


def _parsed(raw_header: bytes) -> Any:
    """Return the JSON of a header, which must not be nested so deeply that parsing is a risk."""
    brackets = np.frombuffer(_STRING.sub(b"", raw_header), dtype=np.uint8)
    opened, closed = np.isin(brackets, list(b"[{")), np.isin(brackets, list(b"]}"))
    depth = np.cumsum(opened.astype(np.int32) - closed, dtype=np.int32)
    if len(depth) and depth.max() > _MAX_NESTING:
        raise ValueError("its header is nested too deeply")
    return json.loads(raw_header, parse_int=_integer, parse_constant=_no_constant)


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError("its header has a number of too many digits")
    return int(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"its header has the number {name}, which JSON does not know")


def _arrays(described: Any, file: memoryview, start: int) -> list[NDArray[Any]]:
    """Return the arrays that the header describes, as views of the file."""
    if not isinstance(described, list):
        raise ValueError("its header has no list of arrays")
    arrays = []
    places = []
    for i, each in enumerate(described):
        match each:
            case {
                "dtype": str(dtype),
                "shape": [*shape],
                "offset": int(offset),
                "crc32": int(checksum),
            } if (
                dtype in ARRAY_DTYPES
                and len(shape) <= _MAX_DIMENSIONS
                and all(type(n) is int and 0 <= n <= len(file) for n in shape)
                and offset >= 0
                and offset % _ALIGNMENT == 0
            ):
                # Python integers, so that the product cannot overflow.
                n_values = int(np.prod(shape, dtype=object))
                first = start + offset
                end = first + n_values * np.dtype(dtype).itemsize
            case _:
                raise ValueError(f"the description of array {i} is invalid")
        if end > len(file):
            raise ValueError(f"array {i} ends after the end of the file")
        places.append((first, end, i, checksum))
        arrays.append(np.frombuffer(file[first:end], dtype=dtype).reshape(shape))
    last = 0
    for first, end, i, checksum in sorted(places):  # no byte is read twice
        if first < last:
            raise ValueError(f"array {i} overlaps with another one")
        if zlib.crc32(file[first:end]) != checksum:
            raise ValueError(f"array {i} is damaged")
        last = max(last, end)
    return arrays


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // _ALIGNMENT) * _ALIGNMENT


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data

"""Converts objects to what a file can hold, and back.

A class can be stored if it is registered with `storable` and has two methods::

    def _to_stored(self) -> Mapping[str, Any]:
        Return the values, by name, from which the object can be rebuilt.

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        Rebuild the object. Raise a ValueError if a value is invalid.

Values are None, booleans, numbers, strings, lists, tuples, dictionaries, arrays of numbers or strings,
``numpy.random.RandomState``, and objects that can be stored. Everything else is refused, functions in
particular, as loading must never run code from a file.

Values are JSON in the header. What JSON lacks becomes an object with one key, the kind: ``{"tuple":
[…]}``, ``{"dict": [[key, value], …]}``, ``{"float": "nan"}``, ``{"array": i}`` for array i of the
file, ``{"characters": i}`` for an array of NumPy strings as code points, ``{"strings": [i, j]}`` for
Python strings (UTF-8 text and end positions), ``{"random_state": […]}`` and ``{"object": [class,
{name: value, …}]}``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ARRAY_DTYPES",
    "Decoder",
    "Encoder",
    "Stored",
    "can_be_written",
    "is_storable",
    "is_too_large",
    "storable",
]

ARRAY_DTYPES = frozenset(
    np.dtype(name).newbyteorder("<").str
    for name in ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")
)

_MAX_LEVELS = 32
_MAX_OBJECTS = 1000  # a model has a handful
# A Python string takes about 50 bytes more than its text: many short ones would flood the memory.
_MAX_STRINGS = 2**20
_MAX_TEXT = 2**24  # bytes of memory
# Larger keys of a dictionary could be chosen such that all have the same hash.
_LARGEST_KEY = 2**64 - 1
_LARGEST_CODE_POINT = 0x10FFFF
_MT19937_WORDS = 624

_names: dict[type, str] = {}
_classes: dict[str, Any] = {}

Class = TypeVar("Class", bound=type)
Instance = TypeVar("Instance")


def storable(name: str) -> Callable[[Class], Class]:
    """Register a class as one that can be stored, under the name that files use for it.

    Examples
    --------
    >>> from hardwood._io.storing import Decoder, Encoder, storable
    >>> @storable("examples.Point")
    ... class Point:
    ...     def __init__(self, x):
    ...         self.x = x
    ...     def _to_stored(self):
    ...         return {"x": self.x}
    ...     @classmethod
    ...     def _from_stored(cls, stored):
    ...         return cls(stored.number("x"))
    >>> Encoder().encode(Point(1.5))
    {'object': ['examples.Point', {'x': 1.5}]}
    >>> Decoder([]).decode({"object": ["examples.Point", {"x": 1.5}]}).x
    1.5
    """

    def register(cls: Class) -> Class:
        if name in _classes:
            raise ValueError(f"{name!r} is already the stored name of {_classes[name]}.")
        _classes[name] = cls
        _names[cls] = name
        return cls

    return register


def is_storable(value: Any) -> bool:
    """Return whether a value's class is registered."""
    return type(value) in _names


class Encoder:
    """Converts values to JSON and a list of arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._texts = _Strings()

    def encode(self, value: Any, where: str = "value") -> Any:
        """Return the value as JSON; `where` is what an error calls it."""
        match value:
            case None | bool() | str():
                return value
            case np.bool_():
                return bool(value)
            case int() | np.integer():
                return int(value)
            case float() | np.floating():
                number = float(value)
                return number if isfinite(number) else {"float": str(number)}
            case list():
                return self._all(value, where)
            case tuple():
                return {"tuple": self._all(value, where)}
            case dict():
                pairs = ([self._key(k, where), v] for k, v in value.items())
                return {"dict": [[k, self.encode(v, f"{where}[{k!r}]")] for k, v in pairs]}
            case np.ndarray():
                return self._array(value, where)
            case np.random.RandomState():
                return {"random_state": self._all(tuple(value.get_state(legacy=True)), where)}
        if not is_storable(value):
            raise TypeError(
                f"{where} cannot be stored: {value!r}. A file can hold numbers, strings, arrays and "
                "hardwood's own objects, but no functions or objects of other classes, since "
                "loading never runs code."
            )
        fields = {
            name: self.encode(field, f"{name} of {where}" if where else name)
            for name, field in value._to_stored().items()
        }
        return {"object": [_names[type(value)], fields]}

    def _all(self, values: Sequence[Any], where: str) -> list[Any]:
        return [self.encode(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def _key(self, key: Any, where: str) -> Any:
        encoded = self.encode(key, f"a key of {where}")
        if isinstance(encoded, list | dict):
            raise TypeError(
                f"{where} cannot be stored: keys must be numbers or strings, got {key!r}."
            )
        if is_too_large(encoded):
            raise ValueError(f"{where} cannot be stored: the key {key} is larger than 2**64 - 1.")
        return encoded

    def _array(self, array: NDArray[Any], where: str) -> dict[str, Any]:
        if array.dtype.kind == "U":
            width = array.dtype.itemsize // 4
            points = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
            return {"characters": self._add(points.view("<u4").reshape(*array.shape, width))}
        if array.dtype.kind == "O" and array.ndim == 1 and all(isinstance(s, str) for s in array):
            encoded = [s.encode("utf-8", "surrogatepass") for s in array]
            text = np.frombuffer(b"".join(encoded), dtype=np.uint8)
            if reason := self._texts.refused(len(array), text):
                raise ValueError(f"{where} cannot be stored: {reason}.")
            ends = np.cumsum([len(s) for s in encoded], dtype=np.int64)
            return {"strings": [self._add(text), self._add(ends)]}
        little = array.dtype.newbyteorder("<")
        if little.str not in ARRAY_DTYPES:
            raise TypeError(
                f"{where} cannot be stored: it is an array of {array.dtype}. A file can hold arrays "
                "of numbers, booleans and strings."
            )
        return {"array": self._add(array.astype(little, copy=False))}

    def _add(self, array: NDArray[Any]) -> int:
        self.arrays.append(np.asarray(array, order="C"))
        return len(self.arrays) - 1


class Decoder:
    """Converts JSON and a list of arrays back to values, or raises a ValueError."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        # Each is used once. Otherwise a short header could ask for any number of copies.
        self._arrays = dict(enumerate(arrays))
        self._n_objects = 0
        self._texts = _Strings()

    def decode(self, value: Any, level: int = 0) -> Any:
        """Return the value that `Encoder` encoded."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if level > _MAX_LEVELS:
            raise ValueError("the header is nested too deeply")
        if isinstance(value, list):
            return [self.decode(each, level + 1) for each in value]
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError("the header has a value of no known kind")
        ((kind, content),) = value.items()
        decode = _KINDS.get(kind)
        if decode is None:
            raise ValueError(f"the header has a value of the unknown kind {kind!r}")
        return decode(self, content, level + 1)

    def _float(self, content: Any, level: int) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise ValueError("the header has an invalid number")
        return float(content)

    def _tuple(self, content: Any, level: int) -> tuple[Any, ...]:
        return tuple(self.decode(_checked(content, list), level))

    def _dict(self, content: Any, level: int) -> dict[Any, Any]:
        pairs = [_checked(pair, list, 2) for pair in _checked(content, list)]
        if any(isinstance(key, list | dict) or is_too_large(key) for key, _ in pairs):
            raise ValueError("the header has a dictionary with an invalid key")
        return {key: self.decode(value, level) for key, value in pairs}

    def _array(self, content: Any, level: int = 0) -> NDArray[Any]:
        if isinstance(content, bool) or not isinstance(content, int):
            raise ValueError("the header refers to an array by something other than its index")
        if content not in self._arrays:
            raise ValueError(
                f"the header refers to array {content}, which is missing or already used"
            )
        return self._arrays.pop(content)

    def _characters(self, content: Any, level: int) -> NDArray[np.str_]:
        points = self._array(content)
        if points.dtype != np.dtype("<u4") or points.ndim < 1 or points.shape[-1] < 1:
            raise ValueError("an array of strings has the wrong type")
        if points.size and points.max() > _LARGEST_CODE_POINT:
            raise ValueError("a string has an invalid character")
        texts = points.view(f"<U{points.shape[-1]}")[..., 0]
        return texts.astype(texts.dtype.newbyteorder("="), copy=False)

    def _strings(self, content: Any, level: int) -> NDArray[np.object_]:
        text, ends = (self._array(each) for each in _checked(content, list, 2))
        if text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
            raise ValueError("an array of strings has the wrong type")
        if reason := self._texts.refused(len(ends), text):
            raise ValueError(reason)
        last = ends[-1] if len(ends) else 0
        if np.any(ends[1:] < ends[:-1]) or np.any(ends[:1] < 0) or last != len(text):
            raise ValueError("the end positions of strings are invalid")
        strings = np.empty(len(ends), dtype=object)
        characters = text.data
        start = 0
        for i, end in enumerate(map(int, ends)):  # one by one: a list of them would be large
            strings[i] = str(characters[start:end], "utf-8", "surrogatepass")
            start = end
        return strings

    def _random_state(self, content: Any, level: int) -> np.random.RandomState:
        name, key, position, has_gauss, gauss = self.decode(_checked(content, list, 5), level)
        if (
            name != "MT19937"
            or not isinstance(key, np.ndarray)
            or key.dtype != np.uint32
            or key.shape != (_MT19937_WORDS,)
            or not isinstance(position, int)
            or not 0 <= position <= _MT19937_WORDS
            or has_gauss not in (0, 1)
            or not isinstance(gauss, float)
        ):
            raise ValueError("the header has an invalid random state")
        state = np.random.RandomState(0)
        state.set_state((name, key, position, has_gauss, gauss))
        return state

    def _object(self, content: Any, level: int) -> Any:
        name, fields = _checked(content, list, 2)
        if not isinstance(name, str) or name not in _classes:
            raise ValueError(f"the header has an object of the unknown class {name!r}")
        self._n_objects += 1
        if self._n_objects > _MAX_OBJECTS:
            raise ValueError("the header has too many objects")
        values = {k: self.decode(v, level) for k, v in _checked(fields, dict).items()}
        return _classes[name]._from_stored(Stored(name, values))


class _Strings:
    """Keeps count of the strings of a file, and of the memory that their text takes."""

    def __init__(self) -> None:
        self._number = 0
        self._memory = 0

    def refused(self, number: int, text: NDArray[np.uint8]) -> str:
        """Count more strings and their UTF-8. Return why these are too many, or nothing."""
        largest = int(text.max(initial=0))
        # Python keeps a string in one, two or four bytes a character, as its largest one needs.
        of_byte = 1 if largest < 0x80 else 2 if largest < 0xF0 else 4
        self._number += number
        self._memory += of_byte * len(text)
        if self._number > _MAX_STRINGS:
            return f"there are more than {_MAX_STRINGS} strings"
        if self._memory > _MAX_TEXT:
            return f"the text of the strings takes more than {_MAX_TEXT} bytes of memory"
        return ""


def is_too_large(key: Any) -> bool:
    """Return whether a key of a dictionary is an integer that may not be one in a file."""
    return isinstance(key, int) and abs(key) > _LARGEST_KEY


_KINDS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "float": Decoder._float,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "array": Decoder._array,
    "characters": Decoder._characters,
    "strings": Decoder._strings,
    "random_state": Decoder._random_state,
    "object": Decoder._object,
}


def _checked(content: Any, kind: type, length: int | None = None) -> Any:
    if not isinstance(content, kind) or (length is not None and len(content) != length):  # type: ignore[arg-type]
        raise ValueError("the header has a malformed value")
    return content


def can_be_written(texts: Iterable[str]) -> bool:
    """Return whether strings can be encoded as UTF-8: Python's may contain lone surrogates."""
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Stored(Mapping[str, Any]):
    """The values of an object from a file, with getters that raise a ValueError if one is invalid."""

    def __init__(self, owner: str, values: dict[str, Any]) -> None:
        self._owner = owner
        self._values = values

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"{name} of {self._owner} is missing")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def integer(self, name: str, least: int, most: int) -> int:
        """Return an integer within bounds."""
        value: int = self.instance(name, int)
        if isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(name, f"an integer from {least} to {most}")
        return value

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self.instance(name, int | float)
        if isinstance(value, bool) or not -1e308 <= value <= 1e308:
            raise self.wrong(name, "a finite number")
        return float(value)

    def array(self, name: str, dtypes: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array of one of the types, such as "u2 f8". None in the shape means any size."""
        array: NDArray[Any] = self.instance(name, np.ndarray)
        if array.dtype not in [np.dtype(dtype) for dtype in dtypes.split()]:
            raise self.wrong(name, f"an array of {dtypes.replace(' ', ' or ')}")
        if array.ndim != len(shape) or any(
            wanted not in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
        ):
            raise self.wrong(name, f"an array of shape {shape}")
        return array

    def texts(self, name: str, shape: tuple[int | None]) -> NDArray[np.object_]:
        """Return an array of strings that can be encoded as UTF-8."""
        texts = self.array(name, "O", shape)
        if not can_be_written(texts):
            raise self.wrong(name, "text without lone surrogates")
        return texts

    def instance(self, name: str, kind: Any) -> Any:
        """Return a value of the given type."""
        if not isinstance(self[name], kind):
            raise self.wrong(name, f"of type {getattr(kind, '__name__', kind)}")
        return self[name]

    def wrong(self, name: str, right: str) -> ValueError:
        """Return the error for an invalid value."""
        return ValueError(f"{name} of {self._owner} must be {right}")

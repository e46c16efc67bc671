"""Objects that never change once they are made."""

from functools import cached_property
from typing import Any, ClassVar, Self

from hardwood._io.storing import Stored


class Fixed:
    """Base of such objects: a copy is the object itself, and what it has cached is not stored.

    Estimators are cloned often, and what losses compute on first use is costly and large.
    """

    _parameters: ClassVar[tuple[str, ...]] = ()  # numbers, for losses that can be stored

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        def is_cache(name: str) -> bool:
            return isinstance(getattr(type(self), name, None), cached_property)

        return {name: value for name, value in vars(self).items() if not is_cache(name)}

    def _to_stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameters}

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        return cls(**{name: stored.number(name) for name in cls._parameters})

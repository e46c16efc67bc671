"""Where a table is read from."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO, Any

from hardwood.tables.errors import TableError
from hardwood.tables.frames import pyarrow


class Source:
    """A file that is opened more than once; what cannot be, such as a pipe, is read into memory.

    Parameters
    ----------
    path : str or path-like
        The file; "-" for the standard input.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._place = Path(path)
        self._name = "The standard input" if os.fspath(path) == "-" else str(self._place)
        self._content: bytes | None = None
        if os.fspath(path) == "-":
            self._content = sys.stdin.buffer.read()
        elif self._place.is_dir():
            raise TableError(f"{self._place} is a directory, not a file.")
        elif self._place.exists() and not self._place.is_file():
            with open(self._place, "rb") as file:
                self._content = file.read()

    def __str__(self) -> str:
        return self._name

    def open(self) -> IO[bytes]:
        """Return a file of the content, at its start."""
        if self._content is not None:
            return io.BytesIO(self._content)
        return open(self._place, "rb")

    def for_arrow(self) -> Any:
        """Return a path, which pyarrow reads faster than a file, or the content."""
        if self._content is None:
            return os.fspath(self._place)
        return pyarrow().BufferReader(self._content)

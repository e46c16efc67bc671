"""Files that are written completely or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it is complete and on disk."""
    place = Path(os.path.realpath(path))  # follows links
    unfinished = place.with_name(f".{place.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(unfinished, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, place)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # sync the directory entry, too
        directory = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

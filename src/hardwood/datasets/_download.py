"""Downloads, with a progress bar. A file is kept only if its checksum matches."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple
from urllib.request import urlopen

from hardwood._io.files import replacing

_CHUNK = 1 << 18
_TIMEOUT_SECONDS = 30


class Remote(NamedTuple):
    """A file to download."""

    file: str
    urls: tuple[str, ...]  # tried in this order
    algorithm: str  # of hashlib
    checksum: str


def download(remote: Remote, folder: Path) -> Path:
    """Download a file into a folder, unless it is already there, and return its path.

    If no address provides the file with the right checksum, raise an OSError and leave nothing.
    """
    path = folder / remote.file
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in remote.urls:
        try:
            with replacing(path) as file:
                _fetch(url, file, remote)
            return path
        except (OSError, ValueError) as error:  # ValueError: url is not an address
            failures.append(f"{url}: {error}")
    raise OSError(f"{remote.file} could not be downloaded ({'; '.join(failures)}).")


def _fetch(url: str, file: IO[bytes], remote: Remote) -> None:
    """Write the file at an address, and raise if its digest is wrong."""
    digest = hashlib.new(remote.algorithm, usedforsecurity=False)
    with urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
        length = int(response.headers.get("Content-Length") or 0)
        for chunk in _read_with_progress(response, remote.file, length):
            file.write(chunk)
            digest.update(chunk)
    if digest.hexdigest() != remote.checksum:
        raise OSError(f"{remote.algorithm} is {digest.hexdigest()}, not {remote.checksum}")


def _read_with_progress(response: BinaryIO, title: str, total: int) -> Iterator[bytes]:
    """Yield the response in chunks, and show progress. `total` is 0 if unknown."""
    try:
        from rich.console import Console
        from rich.progress import wrap_file
    except ImportError:
        done = 0
        out_of = f" of {total / 2**20:.1f}" if total else ""
        while chunk := response.read(_CHUNK):
            yield chunk
            done += len(chunk)
            text = f"\r{title}: {done / 2**20:.1f}{out_of} MB"
            print(text, end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return
    console = Console(stderr=True)
    with wrap_file(response, total, description=title, console=console) as reader:
        while chunk := reader.read(_CHUNK):
            yield chunk

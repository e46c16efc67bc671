"""Downloads, with a progress bar. A file is kept only if its checksum matches."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple
from urllib.request import urlopen

from hardwood._io.files import replacing

_CHUNK = 1 << 16
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
        with _progress_bar(remote.file, length) as advance:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                advance(len(chunk))
    if digest.hexdigest() != remote.checksum:
        raise OSError(f"{remote.algorithm} is {digest.hexdigest()}, not {remote.checksum}")


@contextmanager
def _progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of bytes received. `total` is 0 if unknown."""
    try:
        from rich import console, progress
    except ImportError:
        with _plain_progress_bar(title, total) as advance:
            yield advance
        return
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console.Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total or None)
        yield lambda n_bytes: bar.advance(task, n_bytes)


@contextmanager
def _plain_progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    done, shown = 0, -1

    def advance(n_bytes: int) -> None:
        nonlocal done, shown
        done += n_bytes
        if done >> 20 != shown:
            shown = done >> 20
            out_of = f" of {total / 2**20:.1f}" if total else ""
            print(f"\r{title}: {done / 2**20:.1f}{out_of} MB", end="", file=sys.stderr, flush=True)

    yield advance
    print(file=sys.stderr)

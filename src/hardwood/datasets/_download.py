"""Files from the internet: fetched with a progress bar, kept only if their checksum is right."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

_CHUNK = 1 << 16
_TIMEOUT_SECONDS = 30


class Remote(NamedTuple):
    """A file to fetch.

    Attributes
    ----------
    file : str
        The name it is kept under.
    urls : tuple of str
        Where it is, to be tried in this order.
    algorithm, checksum : str
        A name that `hashlib.new` knows, and the digest the file must have.
    """

    file: str
    urls: tuple[str, ...]
    algorithm: str
    checksum: str


def download(remote: Remote, folder: Path) -> Path:
    """Fetch a file into a folder, unless it is there, and return its path.

    Raises
    ------
    OSError
        If no address gives the file with the right checksum; nothing is left behind then.
    """
    path = folder / remote.file
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    failures = []
    for url in remote.urls:
        try:
            digest = _fetch(url, unfinished, remote)
            if digest != remote.checksum:
                raise OSError(f"{remote.algorithm} is {digest}, not {remote.checksum}")
            unfinished.replace(path)
        except (OSError, ValueError) as error:  # ValueError for what is not an address
            failures.append(f"{url}: {error}")
        else:
            return path
        finally:
            unfinished.unlink(missing_ok=True)
    raise OSError(f"{remote.file} could not be downloaded ({'; '.join(failures)}).")


def _fetch(url: str, path: Path, remote: Remote) -> str:
    """Write what is at the address to the file, and return its digest."""
    digest = hashlib.new(remote.algorithm, usedforsecurity=False)
    with urlopen(url, timeout=_TIMEOUT_SECONDS) as response, path.open("wb") as file:
        length = int(response.headers.get("Content-Length") or 0)
        with _progress_bar(remote.file, length) as advance:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                advance(len(chunk))
    return digest.hexdigest()


@contextmanager
def _progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of bytes that came; `total` is 0 where unknown."""
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

"""Files that are written completely or not at all."""

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO

STANDARD_OUTPUT = "/dev/stdout"
_STANDARD_OUTPUT = {STANDARD_OUTPUT, "/dev/fd/1", "/proc/self/fd/1"}


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is the standard output, under a name of the system."""
    return os.fspath(path) in _STANDARD_OUTPUT


def check_replaceable(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file, or none yet; False if it is to be written through.

    Raises
    ------
    OSError
        If it is something that cannot be written, such as a directory, a disk or a socket.
    """
    if is_standard_output(path):
        return False
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISREG(mode):
        return not os.path.abspath(path).startswith(("/dev/fd/", "/proc/"))
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory, not a file", os.fspath(path))
    what = "socket" if stat.S_ISSOCK(mode) else "device"
    raise OSError(
        errno.EINVAL,
        f"Is a {what}. Only files, pipes and terminals can be written",
        os.fspath(path),
    )


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` once it is complete and on disk.

    It gets the permissions of the file that it replaces. Pipes and devices such as /dev/stdout are not
    replaced: what is written goes into them once it is complete.
    """
    if not check_replaceable(path):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with _opened(path) as through:
                shutil.copyfileobj(file, through)
                through.flush()
        return
    # Plain strings: where memory runs out, system calls take a Path for something of the wrong type.
    place = os.path.realpath(path)  # follows links
    folder, name = os.path.split(place)
    unfinished = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(unfinished, "xb", opener=_opener(place)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
        raise
    if os.name == "posix":  # sync the directory entry, too
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _opened(path: str | os.PathLike[str]) -> AbstractContextManager[IO[bytes]]:
    if is_standard_output(path):
        sys.stdout.flush()
        return nullcontext(sys.stdout.buffer)
    return open(path, "wb")


def _opener(place: str) -> Callable[[str, int], int]:
    """Return an opener that gives a new file the owner and the permissions of the old one."""

    def opener(path: str, flags: int) -> int:
        try:
            old = os.stat(place)
        except FileNotFoundError:
            return os.open(path, flags, 0o666)  # without those that the umask takes away
        descriptor = os.open(path, flags, 0o600)
        if os.name == "posix":
            with suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode) & 0o777)
        return descriptor

    return opener

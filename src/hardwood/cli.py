"""The entry point of the ``hardwood`` command.

The commands are in ``hardwood.commands``, which requires typer and rich. This module requires neither,
so that it can say how to install them.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["main"]

_RETRY = 0.02  # seconds


def main() -> None:
    """Run the command line."""
    with _ends_quietly():
        try:
            from hardwood.commands import app
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in {"typer", "rich"}:
                raise
            sys.exit(
                f"The hardwood command requires {missing}, which is not installed: "
                f"pip install 'hardwood[cli]'"
            )
        app()


class _Terminated(SystemExit):
    """What SIGTERM raises. A command that is told to end cleans up after itself, as after Ctrl-C."""


@contextmanager
def _ends_quietly() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end a command without a traceback, wherever they come.

    Both raise an exception, so that unfinished files are removed. That is not enough in two places.
    Libraries turn an exception in an import or a callback into another one: the exit code is then still
    the signal's. Python ignores exceptions in destructors: the signal is then sent again.
    """
    told: list[int] = []
    retries: list[threading.Timer] = []

    def end(number: int, frame: Any) -> NoReturn:
        told.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise _Terminated(128 + number)

    def ignored(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt | _Terminated):
            hook_before(unraisable)
            return
        retries.append(threading.Timer(_RETRY, signal.raise_signal, told[-1:]))
        retries[-1].daemon = True
        retries[-1].start()

    hook_before, sys.unraisablehook = sys.unraisablehook, ignored
    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException as error:
        if not told or (isinstance(error, SystemExit) and error.code == 0):
            raise
        raise SystemExit(128 + told[-1]) from None
    finally:
        for retry in retries:
            retry.cancel()
        for each, handler in before.items():
            signal.signal(each, handler)
        sys.unraisablehook = hook_before


if __name__ == "__main__":
    main()

"""The entry point of the ``hardwood`` command.

The commands are in ``hardwood.commands``, which requires typer and rich. This module requires neither,
so that it can say how to install them.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    # A command that is told to end cleans up after itself, as it does after Ctrl-C.
    signal.signal(signal.SIGTERM, _end)
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


def _end(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)

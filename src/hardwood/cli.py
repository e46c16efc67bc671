"""The entry point of the ``hardwood`` command.

The commands themselves are in ``hardwood.commands``, which needs typer and rich. This module needs
neither, so that it can say how to get them.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from hardwood.commands import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in {"typer", "rich"}:
            raise
        sys.exit(
            f"The hardwood command needs {missing}, which is not installed: "
            f"pip install 'hardwood[cli]'"
        )
    app()

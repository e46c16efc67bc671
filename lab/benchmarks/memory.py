"""How much memory this process takes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["memory", "reset_peak"]


def reset_peak() -> float | None:
    """Return the memory in use, and reset the peak that loading the data caused."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(field: str) -> float | None:
    """Return this process's memory in bytes: in use (VmRSS) or at its peak (VmHWM).

    Without Linux's /proc, it is always the peak since the start, or None if that is unknown too.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        try:
            import resource
        except ModuleNotFoundError:
            return None
        unit = 1 if sys.platform == "darwin" else 1024
        return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    line = next(line for line in status.splitlines() if line.startswith(field))
    return 1024 * float(line.split()[1])

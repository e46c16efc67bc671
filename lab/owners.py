"""Which process owns a claim in the store, and whether it is still alive."""

from __future__ import annotations

import os
import socket
import time
import uuid
from pathlib import Path

__all__ = ["STALE_SECONDS", "is_stale", "this_process"]

STALE_SECONDS = 180.0


def this_process() -> str:
    """Return a name for this process that no other process on any machine has."""
    return f"{_host()}:{os.getpid()}:{_birth(os.getpid())}:{uuid.uuid4().hex}"


def is_stale(owner: str, heartbeat: float) -> bool:
    """Tell whether the owner of a claim is dead or has been silent for too long."""
    if time.time() - heartbeat > STALE_SECONDS:
        return True
    host, process, birth, _ = owner.rsplit(":", 3)
    return host == _host() and _birth(int(process)) != birth


def _host() -> str:
    """Name the machine or the container, within which process numbers are unique."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return socket.gethostname() + namespace.replace(":", "")


def _birth(process: int) -> str:
    """Return when a process started, in the system's units; empty if it is dead.

    The process number alone is not enough, because numbers are reused. Where the system does not
    tell the start time, the answer is the same for every process and the heartbeat alone decides.
    """
    if not Path("/proc/self/stat").exists():
        return "unknown"
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # After the command, which is in brackets and may contain anything, comes the state; the start
    # time is the 22nd field overall. A zombie has ended although nobody has waited for it.
    state, *others = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else others[18]

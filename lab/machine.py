"""What machine a benchmark ran on: processor, cores, caches."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

__all__ = ["machine"]

_CPUINFO = Path("/proc/cpuinfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def machine() -> str:
    """Name the processor, the cores and, where Linux tells them, the caches.

    Examples
    --------
    >>> from lab.machine import machine
    >>> machine()  # doctest: +ELLIPSIS
    '... of ...'
    """
    cores = os.cpu_count() or 1
    named = [f"{cores} core{'s' if cores > 1 else ''} of {processor()}"]
    if found := caches():
        named.append("caches " + ", ".join(f"{name} {size}" for name, size in found.items()))
    return ", ".join(named)


def processor() -> str:
    """Return the processor's name, with its family and model where Linux tells them."""
    text = _CPUINFO.read_text() if _CPUINFO.exists() else ""
    found: dict[str, str] = dict(
        re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.M)
    )
    if "model name" not in found:
        return platform.processor() or platform.machine() or "an unknown processor"
    name = found["model name"].removesuffix(" Processor")
    if "cpu family" in found and "model" in found:
        name += f" (family {found['cpu family']}, model {found['model']})"
    return name


def caches() -> dict[str, str]:
    """Return the sizes of the first core's caches for data, by their levels."""
    sizes: dict[str, str] = {}
    for cache in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = (
                (cache / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction":
            sizes[f"L{level}"] = _readable(size)
    return sizes


def _readable(size: str) -> str:
    kilobytes = re.fullmatch(r"(\d+)K", size)
    if kilobytes is None:
        return size
    number = int(kilobytes[1])
    return f"{number // 1024} MB" if number >= 1024 and number % 1024 == 0 else f"{number} KB"

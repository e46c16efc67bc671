"""Fair timing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

__all__ = ["Timing", "interleaved", "timed"]


class Timing(NamedTuple):
    """Seconds by the clock, and seconds of processor time summed over threads."""

    wall: float
    cpu: float


def timed(call: Callable[[], object]) -> Timing:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Timing(time.perf_counter() - wall, time.process_time() - cpu)


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time each call once per round and return the medians.

    Taking turns (A, B, A, B, …) makes a slow spell of the machine affect all alike.
    """
    timings: dict[str, list[Timing]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            timings[name].append(timed(call))
    return {
        name: Timing(*(statistics.median(column) for column in zip(*taken, strict=True)))
        for name, taken in timings.items()
    }

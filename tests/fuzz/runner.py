"""What all fuzzers share: they run for some time from a seed, and keep what they find.

``--seconds`` says how long, ``--number`` how many cases, or how many calls of the API. Every case is
drawn from its own seed, written to ``--log`` before it runs: if the interpreter dies, the last line
of the log says which case did it. ``--only SEED`` runs that one alone, and ``--keep SEED`` stores it
in ``tests/fuzz/found``. The tests run everything in there, so that what was found once is never
lost. A case that fails by itself is stored at once.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

FOUND = Path(__file__).parent / "found"
MOST_SECONDS = 10.0  # for one case: more is a hang


class Fuzzer(Protocol):
    """Draws cases and runs them."""

    name: str

    def draw(self, seed: int) -> Any:
        """Return a case, the same for the same seed."""

    def run(self, case: Any) -> str:
        """Return what came of the case in a word, or raise if it is a bug."""

    def write(self, case: Any) -> bytes:
        """Return the case as a file that `read` understands."""

    def read(self, file: bytes) -> Any:
        """Return the case."""


def keep(fuzzer: Fuzzer, seed: int) -> Path:
    """Store a case for the tests."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{fuzzer.name}-{seed}.case"
    path.write_bytes(fuzzer.write(fuzzer.draw(seed)))
    return path


def found(fuzzer: Fuzzer) -> Iterator[Path]:
    """Return the files of the cases that were found."""
    yield from sorted(FOUND.glob(f"{fuzzer.name}-*.case"))


def run_case(fuzzer: Fuzzer, seed: int) -> str:
    """Run a case, which must not take long."""
    case = fuzzer.draw(seed)
    begin = time.process_time()
    outcome = fuzzer.run(case)
    seconds = time.process_time() - begin
    if seconds > MOST_SECONDS:
        raise RuntimeError(f"case {seed} took {seconds:.1f} s")
    return outcome


class Watch:
    """Ends the process if a case hangs, and shows where it was."""

    def __init__(self) -> None:
        self._began = -np.inf

    def begin(self) -> None:
        """Begin a case. To start the watch costs more than most cases, so it is started once a second."""
        now = time.monotonic()
        if now > self._began + 1:
            faulthandler.dump_traceback_later(6 * MOST_SECONDS, exit=True)
            self._began = now


def main(fuzzer: Fuzzer) -> None:
    """Run a fuzzer from the command line."""
    parser = argparse.ArgumentParser(description=type(fuzzer).__doc__)
    parser.add_argument("--seconds", type=float, help="60, if there is no --number")
    parser.add_argument("--number", type=int, help="of cases; of calls, if the fuzzer counts them")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--only", type=int, help="run this one case")
    parser.add_argument("--keep", type=int, help="store this case, without running it")
    parser.add_argument("--go-on", action="store_true", help="after a case that fails")
    parser.add_argument("--log", type=Path, default=Path("fuzz.log"))
    arguments = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    if arguments.keep is not None:
        print(keep(fuzzer, arguments.keep))
        return
    if arguments.only is not None:
        print(run_case(fuzzer, arguments.only))
        return
    counts: Counter[str] = Counter()
    number = np.inf if arguments.number is None else arguments.number
    seconds = arguments.seconds or (60 if arguments.number is None else np.inf)
    begin = time.monotonic()
    seed = arguments.seed
    watch = Watch()
    with arguments.log.open("w") as log, suppress(KeyboardInterrupt):
        while time.monotonic() < begin + seconds and n_done(fuzzer, counts) < number:
            log.write(f"{seed}\n")
            log.flush()
            watch.begin()
            try:
                counts[run_case(fuzzer, seed)] += 1
            except Exception:
                traceback.print_exc()
                print(f"case {seed} failed, and is kept as {keep(fuzzer, seed)}", file=sys.stderr)
                counts["failed"] += 1
                if not arguments.go_on:
                    break
            seed += 1
    faulthandler.cancel_dump_traceback_later()
    total = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    calls = f", {fuzzer.n_calls} calls" if hasattr(fuzzer, "n_calls") else ""
    print(f"{counts.total()} cases: {total}{calls}, {time.monotonic() - begin:.0f} s")
    if counts["failed"]:
        raise SystemExit(1)


def n_done(fuzzer: Fuzzer, counts: Counter[str]) -> int:
    """Return the number of calls, or else of cases."""
    return getattr(fuzzer, "n_calls", counts.total())

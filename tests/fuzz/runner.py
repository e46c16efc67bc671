"""What all fuzzers share: they run for some seconds from a seed, and keep what they find.

Every case is drawn from its own seed, written to ``--log`` before it runs: if the interpreter dies,
the last line of the log says which case did it. ``--only SEED`` runs that one alone, and ``--keep
SEED`` stores it in ``tests/fuzz/found``. The tests run everything in there, so that what was found
once is never lost. A case that fails by itself is stored at once.
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
from pathlib import Path
from typing import Any, Protocol

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
    """Run a case. One that hangs ends the process, and shows where it was."""
    case = fuzzer.draw(seed)
    faulthandler.dump_traceback_later(6 * MOST_SECONDS, exit=True)
    begin = time.process_time()
    try:
        outcome = fuzzer.run(case)
    finally:
        faulthandler.cancel_dump_traceback_later()
    seconds = time.process_time() - begin
    if seconds > MOST_SECONDS:
        raise RuntimeError(f"case {seed} took {seconds:.1f} s")
    return outcome


def main(fuzzer: Fuzzer) -> None:
    """Run a fuzzer from the command line."""
    parser = argparse.ArgumentParser(description=type(fuzzer).__doc__)
    parser.add_argument("--seconds", type=float, default=60)
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
    end = time.monotonic() + arguments.seconds
    seed = arguments.seed
    with arguments.log.open("w") as log:
        while time.monotonic() < end:
            log.write(f"{seed}\n")
            log.flush()
            try:
                counts[run_case(fuzzer, seed)] += 1
            except Exception:
                traceback.print_exc()
                print(f"case {seed} failed, and is kept as {keep(fuzzer, seed)}", file=sys.stderr)
                counts["failed"] += 1
                if not arguments.go_on:
                    break
            seed += 1
    total = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()))
    calls = f", {fuzzer.n_calls} calls" if hasattr(fuzzer, "n_calls") else ""
    print(f"{counts.total()} cases: {total}{calls}")
    if counts["failed"]:
        raise SystemExit(1)

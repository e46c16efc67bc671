"""A progress bar with the time left, for `verbose` fits."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(n_trees: int, verbose: int) -> Iterator[Callable[[int], None] | None]:
    """Give a function to call with the number of trees grown so far; None when not asked for."""
    if not verbose:
        yield None
        return
    start = time.monotonic()
    shown = -1.0

    def show(done: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done < n_trees and now - shown < 0.2:
            return
        shown = now
        left = f"{(now - start) / done * (n_trees - done):.0f} s left" if done else "starting"
        filled = 30 * done // n_trees
        bar = "#" * filled + "." * (30 - filled)
        print(f"\r[{bar}] {done}/{n_trees} trees, {left} ", end="", file=sys.stderr, flush=True)

    yield show
    show(n_trees)
    print(f"\rgrew {n_trees} trees in {time.monotonic() - start:.1f} s{' ' * 40}", file=sys.stderr)

"""The progress of `verbose` fits, as a text bar or on a display of the caller's choice."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Show = Callable[[int], None]
Display = Callable[[int], AbstractContextManager[Show]]

_display: ContextVar[Display | None] = ContextVar("display", default=None)


@contextmanager
def displayed_by(display: Display) -> Iterator[None]:
    """Show the progress of all fits inside on another display, made for a number of trees."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def progress_bar(n_trees: int, verbose: int) -> Iterator[Show | None]:
    """Yield a function to call with the number of trees grown so far, or None if not `verbose`."""
    display = _display.get()
    if display is not None:
        with display(n_trees) as show_trees:
            yield show_trees
        return
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

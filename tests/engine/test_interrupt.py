"""Ctrl-C in a long fit raises KeyboardInterrupt soon and leaves the estimator unfitted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

LONG_FIT = """
import signal, time
import numpy as np
from hardwood import RobustTreeClassifier
from sklearn.exceptions import NotFittedError

rng = np.random.default_rng(0)
X = rng.integers(0, 256, (1_500_000, 60), dtype=np.uint8)
y = rng.integers(0, 2, len(X))  # nothing to learn: a tree of a million leaves
tree = RobustTreeClassifier(criterion="gini", random_state=0)
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
print("fitting", flush=True)
try:
    tree.fit(X, y)
except KeyboardInterrupt:
    interrupted = time.monotonic()
    try:
        tree.predict(X[:1])
    except NotFittedError:
        print("interrupted", interrupted, flush=True)
else:
    print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a single process")
@pytest.mark.parametrize("seconds", [0.2, 1.5, pytest.param(5, marks=pytest.mark.slow)])
# While it checks, codes and grows.
def test_interrupt(seconds: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "fitting\n"
        time.sleep(seconds)
        sent = time.monotonic()  # the same clock in both processes
        process.send_signal(signal.SIGINT)
        word, _, when = process.communicate(timeout=60)[0].partition(" ")
    assert word == "interrupted"
    # A second is what we promise; the rest is for busy machines.
    assert float(when) - sent < 5

"""R's ranger, which ``ranger.R`` measures in a process of R."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.store import Measured

if TYPE_CHECKING:
    from lab.benchmarks.peers import Settings

__all__ = ["measure", "version"]

_SCRIPT = Path(__file__).with_suffix(".R")


@cache
def version() -> str | None:
    """Return ranger's version, or None if R or ranger is not installed."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    asked = subprocess.run(
        [rscript, "-e", 'cat(as.character(packageVersion("ranger")))'],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() if asked.returncode == 0 else None


def measure(
    arrays: dict[str, NDArray[Any]], settings: Settings, n_repeats: int, n_latency_calls: int
) -> Measured:
    """Fit a forest in R and return what the worker measures of the others.

    Parameters
    ----------
    arrays : dict of str to ndarray
        ``X_train``, ``X_many`` and ``X_test``, and the labels ``y_train`` and ``y_test``.
    settings : Settings
        The forest's parameters.
    n_repeats, n_latency_calls : int
        How often to predict the many rows, and a single row.
    """
    numbers = (
        *(settings.n_trees, settings.max_features, settings.n_threads, settings.seed),
        *(n_repeats, n_latency_calls),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, array in arrays.items():
            array.astype(np.float32 if key[0] == "X" else np.int32).tofile(folder / key)
        (folder / "n_features").write_text(str(arrays["X_train"].shape[1]))
        finished = subprocess.run(
            ["Rscript", "--vanilla", str(_SCRIPT), str(folder), *map(str, numbers)],
            capture_output=True,
            text=True,
            check=False,
        )
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip().splitlines()[-1])
    measured: Measured = json.loads(finished.stdout)
    return measured

"""The forest of R's ranger, measured by ``ranger.R`` in a process of R's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["measure", "version"]

_SCRIPT = Path(__file__).with_suffix(".R")


@cache
def version() -> str | None:
    """Return ranger's version, or None if there is no R or no ranger in it."""
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
    arrays: dict[str, NDArray[np.float32] | NDArray[np.int64]],
    *,
    n_trees: int,
    max_features: int,
    n_threads: int,
    seed: int,
    n_repeats: int,
    n_latency_calls: int,
) -> dict[str, float]:
    """Fit a forest in R and return what the worker would have measured.

    Parameters
    ----------
    arrays : dict of str to ndarray
        ``X_train``, ``X_many`` and ``X_test``, and the labels ``y_train`` and ``y_test``.
    n_trees, max_features, n_threads, seed : int
        The forest's parameters.
    n_repeats : int
        How often the many rows are predicted.
    n_latency_calls : int
        How often one row is.

    Returns
    -------
    dict of str to float
        Seconds, bytes, accuracy and nodes.
    """
    settings = (n_trees, max_features, n_threads, seed, n_repeats, n_latency_calls)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for key, array in arrays.items():
            array.astype(np.float32 if key[0] == "X" else np.int32).tofile(folder / key)
        (folder / "n_features").write_text(str(arrays["X_train"].shape[1]))
        finished = subprocess.run(
            ["Rscript", "--vanilla", str(_SCRIPT), str(folder), *map(str, settings)],
            capture_output=True,
            text=True,
            check=False,
        )
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip().splitlines()[-1])
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured

"""The parts of hardwood, beyond its plain estimators, that the laboratory relies on."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import AdaptiveForestClassifier
from hardwood._core import _engine
from lab.machine import machine as describe_machine

__all__ = ["adaptive_forest", "code", "instruction_set", "n_nodes", "version_of", "versions"]


def adaptive_forest(n_drawn: int, *, full_data: bool = True, **parameters: Any) -> Any:
    """Return an adaptive forest with `n_drawn` trees grown from drawn rows.

    With `full_data` it has as many again, grown from all rows.
    """
    n_trees = 2 * n_drawn if full_data else n_drawn
    return AdaptiveForestClassifier(n_trees, full_data=full_data, **parameters)


def n_nodes(forest: Any) -> int:
    """Return the number of nodes, leaves included, of one of hardwood's forests."""
    return int(forest._compact.node_start[-1])


def instruction_set() -> str:
    """Return the instruction set that the engine uses on this machine."""
    return _engine.isa()


def code(X: NDArray[np.float32], n_threads: int) -> object:
    """Turn the columns of X into rank codes, the first step of every fit."""
    return _engine.code(X, n_threads)


def version_of(library: str) -> str | None:
    """Return the version of an installed library, or None if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def versions(libraries: Iterable[str], *, machine: bool = True) -> str:
    """Name the versions of libraries and Python and, for timings, the instruction set and the machine.

    Examples
    --------
    >>> from lab.library import versions
    >>> versions(["numpy"], machine=False)  # doctest: +ELLIPSIS
    'numpy ..., Python ...'
    """
    named = [f"{library} {version(library)}" for library in libraries]
    named.append(f"Python {platform.python_version()}")
    return ", ".join([*named, instruction_set(), describe_machine()] if machine else named)

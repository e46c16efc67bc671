"""``hardwood info``: versions, threads, and data."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import joblib

from hardwood import datasets
from hardwood._core import _engine
from hardwood.commands import _common as common


def info(as_json: common.AsJson = False) -> None:
    """Show versions, threads, the instruction set in use, and where data sets are found."""
    libraries = ("hardwood", "numpy", "scipy", "scikit-learn")
    facts: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in libraries},
        },
        "threads": joblib.cpu_count(),
        "instruction_set": _engine.isa(),
        "instruction_sets_available": _engine.isa_available(),
        "data_search_path": [str(folder) for folder in datasets.search_path()],
        "data_sets": {
            name: str(path) if (path := datasets.find(name)) else None for name in datasets.NAMES
        },
    }
    if as_json:
        common.print_json(facts)
    else:
        common.print_facts(
            {topic.replace("_", " "): _as_text(fact) for topic, fact in facts.items()}
        )


def _as_text(fact: Any) -> str:
    if isinstance(fact, dict):
        return "\n".join(f"{key}: {value or 'not found'}" for key, value in fact.items())
    return "\n".join(map(str, fact)) if isinstance(fact, list) else str(fact)

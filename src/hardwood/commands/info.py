"""``hardwood info``: what is installed, and what of the machine is used."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version

import joblib
import typer
from rich.table import Table

from hardwood import datasets
from hardwood._core import _engine
from hardwood.commands._common import AsJson, console


def info(as_json: AsJson = False) -> None:
    """Show versions, threads, the instruction set in use and where data is looked for."""
    facts = _facts()
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    table = Table(show_header=False, box=None)
    for topic, fact in facts.items():
        table.add_row(topic.replace("_", " "), _as_text(fact))
    console.print(table)


def _facts() -> dict[str, object]:
    libraries = ("hardwood", "numpy", "scipy", "scikit-learn")
    return {
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


def _as_text(fact: object) -> str:
    if isinstance(fact, dict):
        return "\n".join(f"{key}: {value or 'not found'}" for key, value in fact.items())
    if isinstance(fact, list):
        return "\n".join(map(str, fact))
    return str(fact)

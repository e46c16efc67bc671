"""The paper's mathematics knows nothing of the engine, so that each can check the other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hardwood

ROOT = Path(hardwood.__file__).parent
FILES = sorted([*(ROOT / "losses").glob("*.py"), *(ROOT / "theory").glob("*.py")])
# Criteria are the words in which estimators are asked for a tree; they are imported when needed.
ALLOWED = {"losses", "theory", "noise", "_io", "criteria"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_import_of_the_engine(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    rooms, at_module_level = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hardwood":
            parts = f"{node.module}.{node.names[0].name}".split(".")
            rooms.add(parts[1])
            if node in tree.body:
                at_module_level.add(parts[1])
    assert rooms <= ALLOWED
    assert "criteria" not in at_module_level

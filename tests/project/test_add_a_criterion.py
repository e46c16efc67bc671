"""The page on adding a criterion, followed to the letter in a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "add-a-criterion.md"


class Edit(NamedTuple):
    """Code to write to a file: a new one, or behind a line that starts like `after`."""

    path: str
    after: str | None
    code: str


def edits() -> list[list[Edit]]:
    """Return the numbered edits of the page, each of one file."""
    page = PAGE.read_text(encoding="utf-8")
    numbered = re.split(r"^### \d+\. ", page, flags=re.M)[1:]
    return [list(parts(section)) for section in numbered]


def parts(section: str) -> list[Edit]:
    title, _, rest = section.partition("\n")
    path = re.findall("`(.*?)`", title)[0]
    found = []
    for text, code in re.findall(r"(.*?)```\w+\n(.*?)```", rest, flags=re.S):
        if "(new)" in title:
            return [Edit(path, None, code)]
        after = re.findall(r"fter (?:the one that starts with )?(`+) ?(.*?)\1", text, flags=re.S)
        found.append(Edit(path, after[-1][1].strip(), code))
    return found


def apply(edit: Edit, tree: Path) -> None:
    path = tree / edit.path
    if edit.after is None:
        assert not path.exists(), edit.path
        path.write_text(edit.code, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if line.strip() == edit.after] or [
        i for i, line in enumerate(lines) if line.startswith(edit.after)
    ]
    assert places, f"{edit.path} has no line {edit.after!r}"
    lines.insert(places[0] + 1, edit.code)
    path.write_text("".join(lines), encoding="utf-8")


def test_the_page_has_at_most_seven_edits_of_files_that_exist() -> None:
    assert 1 <= len(edits()) <= 7
    for edit in (edit for of_file in edits() for edit in of_file):
        assert (ROOT / edit.path).exists() == (edit.after is not None), edit


@pytest.mark.slow
def test_the_edits_add_a_criterion(tmp_path: Path) -> None:
    tree, site = tmp_path / "tree", tmp_path / "site"
    left_out = shutil.ignore_patterns(".*", "build", "*.so", "__pycache__", "site", "reproduction")
    shutil.copytree(ROOT, tree, ignore=left_out)
    for edit in (edit for of_file in edits() for edit in of_file):
        apply(edit, tree)

    def run(*command: str) -> str:
        path = os.pathsep.join([str(site), str(tree / "tests")])
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, *command], cwd=tree, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
        return done.stdout

    one_isa = "-Ccmake.define.HARDWOOD_ISAS=baseline"
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), one_isa, ".")
    assert run("-c", "from hardwood.criteria import GiniPower; print(GiniPower())").strip() == (
        "GiniPower()"
    )
    tests = run("-m", "pytest", "-q", "-k", "GiniPower", "tests/engine/test_oracle.py")
    assert int(re.findall(r"(\d+) passed", tests)[0]) >= 10
    run("-c", "from tests.fuzz import api; assert 'gini_power' in api.NAMES")
    run("-m", "tests.fuzz.api", "--seconds", "3", "--seed", "0")
    run("-m", "pytest", "-q", "-k", "table_of_criteria", "tests/project/test_documents.py")

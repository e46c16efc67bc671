"""README and docs: their code runs or is checked, their links lead somewhere, their drawings are current."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="the documents are not with the tests"
)


class Block(NamedTuple):
    document: str
    language: str
    code: str


def blocks(*languages: str) -> list[Block]:
    """Return the fenced code blocks of all documents in some languages, or in all."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for match in re.finditer(
            r"^( *)```([^\n]*)\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL
        ):
            indent, language, code = match.groups()
            lines = [line.removeprefix(indent) for line in code.splitlines()]
            found.append(Block(document.name, language, "\n".join(lines)))
    return [block for block in found if not languages or block.language in languages]


def test_every_language_is_checked_by_some_test():
    checked = {"python", "toml", "cpp", "bash", "bibtex", "{toctree}"}
    pictures_in_characters = {""}
    languages = {block.language for block in blocks()}
    assert languages <= checked | pictures_in_characters, languages


def test_python_blocks_are_doctests():
    for block in blocks("python"):
        assert block.code.startswith(">>> "), block
        assert "+SKIP" not in block.code, block


def test_specs_load(tmp_path):
    from lab.paper import load_spec

    for block in blocks("toml"):
        path = tmp_path / "spec.toml"
        path.write_text(block.code, encoding="utf-8")
        assert list(load_spec(str(path)).cells())


def test_cpp_blocks_are_the_engines_own():
    sources = [
        path.read_text(encoding="utf-8") for path in (ROOT / "cpp" / "include").rglob("*.hpp")
    ]
    for block in blocks("cpp"):
        assert any(block.code in source for source in sources), block


def commands() -> list[list[str]]:
    """Return the `hardwood` commands of all shell blocks."""
    found = []
    for block in blocks("bash"):
        for line in re.split(r"\n|&&|;", block.code):
            words = shlex.split(line, comments=True)
            if words[:1] == ["hardwood"]:
                found.append([word.replace("$study", "lambda") for word in words[1:]])
    return found


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_commands_have_these_options(arguments):
    import typer

    from hardwood.commands import app

    command = typer.main.get_command(app)
    context = command.make_context("hardwood", list(arguments))
    while rest := [*context._protected_args, *context.args]:
        name, command, rest = context.command.resolve_command(context, rest)
        if command is None:
            break
        context = command.make_context(name, rest, parent=context)
        if not hasattr(command, "resolve_command"):
            break


def links() -> list[tuple[Path, str]]:
    pattern = re.compile(r"\]\(([^()\s]+)\)")
    return [
        (document, target)
        for document in DOCUMENTS
        for target in pattern.findall(
            re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.S)
        )
        if not target.startswith(("http:", "https:"))
    ]


def anchors(document: Path) -> set[str]:
    """Return the names of the headings, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"`", "", heading).lower()).replace(" ", "-")
        for heading in headings
    }


def test_links_lead_somewhere():
    assert links()
    for document, target in links():
        path, _, anchor = target.partition("#")
        goal = document if not path else (document.parent / path)
        assert goal.exists(), (document.name, target)
        if anchor:
            assert anchor in anchors(goal), (document.name, target)


def test_pages_are_in_a_table_of_contents():
    listed = "\n".join(block.code for block in blocks("{toctree}"))
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert page.stem == "index" or re.search(
            rf"^{page.stem}\*?$", listed, flags=re.MULTILINE
        ), page


def test_the_drawings_are_current(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "drawings"))
    for name in ("svg", "engine"):
        sys.modules.pop(name, None)
    drawings = importlib.import_module("engine")
    for name, draw in drawings.DRAWINGS.items():
        stored = (drawings.IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert draw().svg() == stored, f"python docs/drawings/engine.py makes another {name}.svg"
    for name in ("svg", "engine"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "module",
    [
        "",
        ".criteria",
        ".losses",
        ".theory",
        ".noise",
        ".audit",
        ".datasets",
        ".plotting",
        ".experiments",
        ".tables",
    ],
)
def test_the_api_page_lists_every_public_name(module):
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    _, _, section = page.partition(f".. currentmodule:: hardwood{module}\n")
    section, _, _ = section.partition(".. currentmodule::")
    public = importlib.import_module(f"hardwood{module}").__all__
    # Constants and errors are in the modules' own words; Criterion is what the others share.
    expected = {name for name in public if not name.isupper() and not name.endswith("Error")}
    expected -= {"__version__", "Criterion", "Shape"}
    listed = set(re.findall(r"^   (\w+)$", section, flags=re.MULTILINE))
    assert expected <= listed, expected - listed

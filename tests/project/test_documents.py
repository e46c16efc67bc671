"""README and docs: code, commands, links and paths are right, and drawings are current."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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


# It adds files that do not exist; test_add_a_criterion.py follows it.
HYPOTHETICAL = "add-a-criterion.md"


def test_every_language_is_checked_by_some_test():
    checked = {"python", "toml", "cpp", "bash", "bibtex", "{toctree}"}
    checked |= {"text", "markdown"}  # of add-a-criterion.md, by test_add_a_criterion.py
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
        if block.document == HYPOTHETICAL:
            continue
        assert any(block.code in source for source in sources), block


def inline_code() -> list[tuple[str, str]]:
    """Return the documents' names and code spans; the changelog may name what is gone."""
    return [
        (document.name, code)
        for document in DOCUMENTS
        if document != CHANGELOG
        for code in re.findall(
            r"`([^`\n]+)`",
            re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL),
        )
    ]


def shell_lines() -> list[str]:
    """Return what the documents tell people to type: lines of shell blocks and code spans."""
    lines = [line for block in blocks("bash") for line in re.split(r"\n|&&|;", block.code)]
    return [*lines, *(code for _, code in inline_code())]


def commands() -> list[tuple[str, ...]]:
    """Return the commands of `hardwood` and of `python -m lab`, each once."""
    found = set()
    for line in shell_lines():
        if not re.match(r"\s*(hardwood|python -m lab) \S", line):
            continue
        words = shlex.split(line.replace("$study", "lambda"), comments=True)
        left_open = [place for place, word in enumerate(words) if word == "|" or "…" in word]
        found.add(tuple(words[: min(left_open, default=len(words))]))
    return sorted(found)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_commands_have_these_options(words):
    import typer

    program, arguments = (words[0], words[1:]) if words[0] == "hardwood" else (words[2], words[3:])
    app = importlib.import_module({"hardwood": "hardwood.commands", "lab": "lab.command"}[program])
    command = typer.main.get_command(app.app)
    context = command.make_context(program, list(arguments))
    while rest := [*context._protected_args, *context.args]:
        name, command, rest = context.command.resolve_command(context, rest)
        if command is None:
            break
        try:
            context = command.make_context(name, rest, parent=context)
        except Exception as error:
            # Prose may name a command without its arguments, as in "`hardwood train` writes …".
            if type(error).__name__ == "MissingParameter" and len(words) == words.index(name) + 1:
                break
            raise
        if not hasattr(command, "resolve_command"):
            break


def test_every_kind_of_command_is_found():
    starts = {words[:2] for words in commands()}
    assert {("hardwood", "demo"), ("hardwood", "train"), ("python", "-m")} <= starts


def paths() -> list[tuple[str, str]]:
    """Return the files and folders that documents name, alone or as what Python is to run."""
    folders = r"(?:src|hardwood|cpp|lab|tests|docs|examples|benchmarks|recipe|\.ci|\.github)/"
    pattern = re.compile(rf"(?:python )?({folders}[\w.*/-]*)(?: .*)?")
    lines = [
        (block.document, line.strip())
        for block in blocks("bash", "")
        for line in block.code.splitlines()
    ]
    return [
        (document, match[1])
        for document, code in [*inline_code(), *lines]
        if (match := pattern.fullmatch(code))
    ]


def test_paths_that_documents_name_exist():
    assert paths()
    for document, path in paths():
        inside = f"src/{path}" if path.startswith("hardwood/") else path
        is_new = document == HYPOTHETICAL and "gini_power" in path
        assert is_new or list(ROOT.glob(inside.rstrip("/"))), (document, path)


def test_the_table_of_criteria_has_every_name_and_default():
    from hardwood.criteria import NAMES, resolve

    page = (ROOT / "docs" / "criteria.md").read_text(encoding="utf-8")
    listed = {}
    for names, criterion in re.findall(r'^\| (`"[^|]+) \| `(\w+\([^|]*\))` \|', page, flags=re.M):
        for name in re.findall(r'`"(\w+)"`', names):
            listed[name] = criterion
    assert set(listed) == set(NAMES)
    for name, written in listed.items():
        criterion = resolve(name)
        parameters = ", ".join(f"{key}={value}" for key, value in criterion.get_params().items())
        assert written == f"{type(criterion).__name__}({parameters})"


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
        ".tables",
        ".dask",
    ],
)
def test_the_api_page_lists_every_public_name(module):
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    _, _, section = page.partition(f".. currentmodule:: hardwood{module}\n")
    section, _, _ = section.partition(".. currentmodule::")
    imported = importlib.import_module(f"hardwood{module}")
    # Constants and errors are in the modules' own words; Criterion is what the others share.
    errors = {
        name
        for name in imported.__all__
        if isinstance(getattr(imported, name), type)
        and issubclass(getattr(imported, name), Exception)
    }
    expected = {name for name in imported.__all__ if not name.isupper()} - errors
    expected -= {"__version__", "Criterion", "Shape"}
    listed = set(re.findall(r"^   (\w+)$", section, flags=re.MULTILINE))
    assert expected == listed, expected ^ listed

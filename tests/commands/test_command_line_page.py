"""The commands of the page on tables, and of the README, one after the other, as a reader runs them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from command_runs import run

from hardwood.commands._mushrooms import LABEL, mushrooms
from hardwood.tables import write_table

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "command-line.md", ROOT / "README.md"]
pytestmark = pytest.mark.skipif(
    not PAGES[0].exists(), reason="the documents are not with the tests"
)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text("utf-8"), flags=re.M | re.S)


def commands(text: str) -> list[list[str]]:
    """The `hardwood` commands for tables in a shell block, and the demo that makes one."""
    lines = [shlex.split(line, comments=True) for line in re.split(r"\n|&&", text)]
    return [
        words[1:]
        for words in lines
        if words[:1] == ["hardwood"]
        and (words[1] in ("train", "predict", "audit", "apply") or "--table" in words)
    ]


def is_alike(one: str, other: str) -> bool:
    """Whether two lines have the same words, and nearly the same numbers."""
    number = r"\d[\d,.]*"
    if re.sub(number, "#", one).split() != re.sub(number, "#", other).split():
        return False
    a, b = (
        [float(found.replace(",", "").rstrip(".")) for found in re.findall(number, line)]
        for line in (one, other)
    )
    return a == pytest.approx(b, rel=0.03)


def accept_suggestions(report: Path, path: Path) -> None:
    """Write the decisions of a reader who accepts the first 50 suggestions of a report."""
    page = report.read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    lines = ["row,id,given,decision,label,time"]
    for row, given, suggested in list(
        zip(data["row"], data["given"], data["suggested"], strict=True)
    )[:50]:
        labels = data["classes"]
        lines.append(f"{row},,{labels[given]},accept,{labels[suggested]},2026-01-01T00:00:00.000Z")
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_page(few: bool, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command ends well, and every line of output that is shown is printed.

    With a few trees, the numbers are others, so that only the first is checked.
    """
    monkeypatch.chdir(tmp_path)
    printed = ""
    for language, text in blocks(page):
        if language == "bash":
            for arguments in commands(text):
                if arguments[0] == "demo":  # another test runs it
                    data = mushrooms(noise_rate=0.3, seed=0)
                    write_table(data.train.assign(**{LABEL: data.labels}), arguments[-1])
                    continue
                if "--decisions" in arguments and not Path("decisions.csv").exists():
                    accept_suggestions(Path("audit.html"), Path("decisions.csv"))
                options = ["--trees", "8"] if few and arguments[0] in ("train", "audit") else []
                code, printed, err = run(*arguments, *options)
                assert code == 0, (arguments, err)
        elif language == "" and printed and not few:
            for line in text.splitlines():
                assert any(is_alike(line, other) for other in printed.splitlines()), (line, printed)

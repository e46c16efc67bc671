"""The three figures at the top of the README are those of the benchmark pages it links to."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "benchmarks"
pytestmark = pytest.mark.skipif(not PAGES.is_dir(), reason="the documents are not with the tests")


def in_readme(pattern: str) -> tuple[str, ...]:
    """Return the groups of a pattern in the README, whose lines are joined."""
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    match = re.search(pattern, readme)
    assert match, pattern
    return match.groups()


def rows(page: str, *columns: str) -> list[dict[str, str]]:
    """Return the rows of all tables of a page that have these columns."""
    found = []
    header: list[str] = []
    lines = (PAGES / page).read_text(encoding="utf-8").splitlines()
    for line, following in pairwise([*lines, ""]):
        cells = [
            cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
        ]
        if following.startswith("| ---"):
            header = cells
        elif not line.startswith("|"):
            header = []
        elif header and set(columns) <= set(header) and not line.startswith("| ---"):
            found.append(dict(zip(header, cells, strict=True)))
    assert found, (page, columns)
    return found


def test_accuracy():
    ours, same_rows, theirs = "hardwood, adaptive", "the same, 50,000 rows", "scikit-learn"
    compared = [row for row in rows("accuracy.md", ours, same_rows, theirs) if row[theirs] != "–"]
    for row in compared:  # the peers have 50,000 rows where there are many more
        if row[same_rows] != "–":
            row[ours] = row[same_rows]
    (settings,) = in_readme(
        r"In none of the benchmark's (\d+) settings is the adaptive forest less accurate"
    )
    assert int(settings) == len(compared)
    assert all(float(row[ours]) >= float(row[theirs]) for row in compared)

    shown = next(row for row in compared if (row["data"], row["noise"]) == ("UNSW-NB15", "0.4"))
    assert in_readme(
        r"\*\*(\d+) % accurate instead of (\d+) %\*\* with 40 % of the training labels flipped: "
        r"[^:]* on UNSW-NB15\."
    ) == (f"{float(shown[ours]):.0f}", f"{float(shown[theirs]):.0f}")


def test_finding_wrong_labels():
    compared = rows("audit.md", "difference", "cleanlab (s)", "hardwood (s)")
    better, settings = in_readme(
        r"\*\*(\d+) of (\d+) benchmark settings\*\*: the label audit finds"
    )
    assert int(settings) == len(compared)
    assert int(better) == sum(float(row["difference"]) > 0 for row in compared)
    in_readme(r"in a fifth of the time on average")
    shares = [float(row["hardwood (s)"]) / float(row["cleanlab (s)"]) for row in compared]
    assert mean(shares) == pytest.approx(0.2, abs=0.02)


def test_speed_and_size():
    ours = [
        row for row in rows("forest.md", "× as fast", "model (MB)") if row[""] == "hardwood, gini"
    ]
    times = [float(row["× as fast"].removesuffix("×")) for row in ours]
    assert in_readme(r"\*\*([\d.]+) to ([\d.]+) times as fast\*\* as scikit-learn's forest") == (
        f"{min(times):.1f}",
        f"{max(times):.1f}",
    )
    in_readme(r"The model takes at most an eighth of the bytes")
    for row in ours:
        share = re.search(r"\(([\d.]+)\)", row["model (MB)"])
        assert share
        assert float(share[1]) <= 1 / 8

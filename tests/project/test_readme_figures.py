"""The three figures at the top of the README are those of the benchmark pages it links to."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

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


def held_out(family: str) -> dict[str, dict[str, str]]:
    """Return what the models reach on the held-out half of a family of tables, by their names."""
    both = [
        row
        for row in rows("tables.md", "model", "Accuracy (%)", "our log loss ÷ its")
        if row["tables"] == "held-out half"
    ]
    n_models = len(both) // 2
    chosen = both[:n_models] if family == "balanced" else both[n_models:]
    return {row["model"]: row for row in chosen}


def test_accuracy():
    rare, balanced = in_readme(
        r"\*\*More accurate than scikit-learn's random forest\*\*: by ([\d.]+) points on 13 real tables with "
        r"a rare class and by ([\d.]+) points on 10 balanced tables"
    )
    over_tuned_rare, over_tuned_balanced = in_readme(r"still ([\d.]+) and ([\d.]+) points ahead")
    of_rare, of_balanced = in_readme(r"its log loss is ([\d.]+) and ([\d.]+) times as high")
    for family, gain, over_tuned, ratio in (
        ("imbalanced", float(rare), float(over_tuned_rare), of_rare),
        ("balanced", float(balanced), float(over_tuned_balanced), of_balanced),
    ):
        models = held_out(family)
        ours, theirs = (
            float(models[name]["Accuracy (%)"]) for name in ("hardwood", "scikit-learn")
        )
        assert ours - theirs == pytest.approx(gain, abs=0.11)
        tuned = models["scikit-learn, tuned leaf"]
        assert ours - float(tuned["Accuracy (%)"]) == pytest.approx(over_tuned, abs=0.11)
        assert tuned["our log loss ÷ its"] == ratio


def test_finding_wrong_labels():
    compared = {
        row["family"]: float(row["difference"])
        for row in rows("tables.md", "difference", "missed by cleanlab (%)")
        if (row["tables"], row["noise"]) == ("held-out half", "all")
    }
    rare, balanced = in_readme(
        r"(\d+) points more average precision on the same tables with a rare class and (\d+) points more"
    )
    assert round(compared["Imbalanced"]) == int(rare)
    assert round(compared["Balanced"]) == int(balanced)
    (share,) = in_readme(r"An earlier version was ahead in (\d+) % of the settings")
    page = (PAGES / "tables.md").read_text(encoding="utf-8")
    assert f"in at least 80 % of cells | {share} % |" in page


def test_speed_and_size():
    ours = [
        row for row in rows("forest.md", "× as fast", "model (MB)") if row[""] == "hardwood, gini"
    ]
    times = [float(row["× as fast"].removesuffix("×")) for row in ours]
    assert in_readme(r"trains ([\d.]+) to ([\d.]+) times as fast as in scikit-learn") == (
        f"{min(times):.1f}",
        f"{max(times):.1f}",
    )
    in_readme(r"takes at most an eighth of the space")
    for row in ours:
        share = re.search(r"\(([\d.]+)\)", row["model (MB)"])
        assert share
        assert float(share[1]) <= 1 / 8

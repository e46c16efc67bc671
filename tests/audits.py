"""For the tests of audits: forests to audit with, made-up findings, and readers of reports."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit.report import Findings, write_report

FORESTS = (AdaptiveForestClassifier, RobustForestClassifier, RandomForestClassifier)
"""Kinds of forests that an audit takes."""

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "\"quoted\" & 'so', {{ 7 * 7 }}",
    "two\nlines, \u202eturned\u202c, \u2028, nul \0, lone \ud800",
    "=HYPERLINK(1)",
    "@SUM(1)",
    "-1+2",
    "日本語 🍄 żółć",
)


def made_up_findings(
    n_rows: int = 400,
    classes: Any = ("ash", "beech", "oak"),
    *,
    n_issues: int | None = None,
    forest: Any = None,
    seed: int = 0,
    **known: Any,
) -> Findings:
    """Random findings, with the trees and settings of a forest; `known` sets other attributes."""
    rng = np.random.default_rng(seed)
    classes = np.asarray(classes, dtype=object if isinstance(classes[0], str) else None)
    n_classes = len(classes)
    n_issues = n_rows // 8 if n_issues is None else n_issues
    given = rng.integers(n_classes, size=n_rows)
    suggested = given.copy()
    score = rng.uniform(0, 0.5, size=n_rows)
    wrong = rng.choice(n_rows, n_issues, replace=False)
    suggested[wrong] = (given[wrong] + rng.integers(1, n_classes, size=n_issues)) % n_classes
    score[wrong] = rng.uniform(0.5, 1, size=n_issues)
    made_up = {
        "classes": classes,
        "given": given,
        "suggested": suggested,
        "score": score,
        "is_issue": np.isin(np.arange(n_rows), wrong),
        "rank": np.argsort(np.argsort(-score)) + 1,
        "noise_matrix": random_noise(n_classes, rng),
        "noise_rate": 0.124,
        "noise_rate_interval": (0.11, 0.14),
        "class_prior": np.full(n_classes, 1 / n_classes),
        "trees": getattr(forest, "estimators_", None),
        "adaptation": getattr(forest, "adaptation_", None),
        "decision_reason": getattr(forest, "decision_reason_", ""),
    }
    return Findings(**(made_up | known))


def issues_of(findings: Findings) -> Any:
    """The issues alone, the most suspect first, as a data frame."""
    table = pd.DataFrame(
        {
            "given": findings.classes[findings.given],
            "suggested": findings.classes[findings.suggested],
            "score": findings.score,
            "rank": findings.rank,
        }
    )
    return table[findings.is_issue].sort_values("rank")


def random_noise(n_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    T = rng.dirichlet(np.full(n_classes, 0.5), size=n_classes) * 0.124
    np.fill_diagonal(T, 0)
    np.fill_diagonal(T, 1 - T.sum(axis=1))
    return T


def write(findings: Findings, folder: Path, **options: Any) -> str:
    """Write a report and return its text."""
    path = folder / "report.html"
    write_report(findings, path, **options)
    return path.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """All text and attributes of a page, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: dict[str, list[str]] = {"": []}
        self._raw = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attributes]
        self._raw = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._raw = ""

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self._raw, []).append(data)

    @property
    def data(self) -> Any:
        return json.loads(self.text["script"][-1])

    @property
    def prose(self) -> str:
        return " ".join(" ".join(self.text[""]).split())

"""Findings of audits for the tests of the report, made up at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hardwood.audit.report import Findings

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

"""Audits for the tests of the report: what it relies on, without the work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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


def made_up_audit(
    n_rows: int = 400,
    classes: Any = ("ash", "beech", "oak"),
    *,
    n_issues: int | None = None,
    estimator: Any = None,
    X: Any = None,
    feature_names: Any = None,
    seed: int = 0,
) -> Any:
    """An audit with the attributes of a fitted one, their values drawn at random."""
    rng = np.random.default_rng(seed)
    classes = np.asarray(classes, dtype=object if isinstance(classes[0], str) else None)
    n_classes = len(classes)
    n_issues = n_rows // 8 if n_issues is None else n_issues
    given = rng.integers(n_classes, size=n_rows)
    suggested = given.copy()
    scores = rng.uniform(0, 0.5, size=n_rows)
    wrong = rng.choice(n_rows, n_issues, replace=False)
    suggested[wrong] = (given[wrong] + rng.integers(1, n_classes, size=n_issues)) % n_classes
    scores[wrong] = rng.uniform(0.5, 1, size=n_issues)
    issues = pd.DataFrame(
        {
            "given": pd.Series(classes[given], dtype=classes.dtype),
            "suggested": pd.Series(classes[suggested], dtype=classes.dtype),
            "score": scores,
            "is_issue": np.isin(np.arange(n_rows), wrong),
            "rank": np.argsort(np.argsort(-scores)) + 1,
        }
    )
    return SimpleNamespace(
        issues_=issues,
        n_issues_=n_issues,
        classes_=classes,
        noise_matrix_=random_noise(n_classes, rng),
        noise_rate_=0.124,
        noise_rate_interval_=(0.11, 0.14),
        class_prior_=np.full(n_classes, 1 / n_classes),
        estimator_=estimator,
        proba_=None,
        feature_names_in_=feature_names,
        random_state=0,
        _X=X,
    )


def random_noise(n_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    T = rng.dirichlet(np.full(n_classes, 0.5), size=n_classes) * 0.124
    np.fill_diagonal(T, 0)
    np.fill_diagonal(T, 1 - T.sum(axis=1))
    return T

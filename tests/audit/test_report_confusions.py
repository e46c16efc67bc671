"""Which classes are confused."""

import numpy as np
import pytest
from audits import Reader, issues_of, made_up_findings, write

from hardwood.audit.report.confusions import confused_pairs, heat_map

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


def test_pairs_are_ranked_by_the_wrong_labels_expected():
    findings = made_up_findings(
        1000,
        class_prior=np.array([0.5, 0.3, 0.2]),
        noise_matrix=np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.4, 0.6]]),
    )
    found = confused_pairs(findings)
    assert [(pair.true, pair.given, pair.expected) for pair in found] == [
        ("ash", "beech", "100"),
        ("oak", "beech", "80"),
        ("beech", "ash", "30"),
        ("beech", "oak", "30"),
    ]
    assert sum(pair.share for pair in found) == pytest.approx(1)
    issues = issues_of(findings)
    for pair in found:
        assert (pair.true, pair.given) == tuple(findings.classes[list(pair.places)])
        of_pair = (issues.given == pair.given) & (issues.suggested == pair.true)
        assert pair.flagged == of_pair.sum()


def test_labels_already_decided_are_not_to_review():
    decided = np.arange(1000) % 2 == 0
    findings = made_up_findings(1000, decided=decided)
    assert 0 < findings.is_issue[decided].sum() < findings.is_issue.sum()
    issues = issues_of(findings)
    issues = issues[~decided[issues.index]]
    for pair in confused_pairs(findings):
        of_pair = (issues.given == pair.given) & (issues.suggested == pair.true)
        assert pair.flagged == of_pair.sum()


def test_many_classes_are_cut_to_the_noisiest():
    T = np.eye(50)
    T[7, [7, 31]] = 0.6, 0.4
    heat = heat_map(made_up_findings(1000, np.arange(50), noise_matrix=T))
    assert len(heat.classes) == 20
    assert heat.n_left_out == 30
    assert {"7", "31"} <= set(heat.classes)
    assert heat.rows[heat.classes.index("7")][heat.classes.index("31")].darkness == 1


def test_an_unknown_noise_matrix_is_said_to_be_unknown(tmp_path):
    unknown = made_up_findings(
        noise_matrix=np.full((3, 3), np.nan),
        noise_rate=float("nan"),
        noise_rate_interval=(float("nan"),) * 2,
    )
    page = Reader(write(unknown, tmp_path))
    assert "This table cannot tell which labels are wrong." in page.prose
    assert "This cannot be estimated from this data." in page.prose
    assert "nan" not in page.prose
